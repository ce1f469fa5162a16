/*
 * What a test has left: processes with its TMPDIR in their environment, and files there. One
 * program, since each test ends with it, and a shell would take ten processes for the same.
 *
 *   marked list DIRECTORY            prints their process IDs
 *   marked none DIRECTORY            status 1 if there are any
 *   marked left DIRECTORY SECONDS    waits for their end; status 1, a report on standard error and
 *                                    SIGKILL if any stay, or files outside DIRECTORY/work
 *   marked clear DIRECTORY SECONDS   the same, and then removes the directory
 *
 * Call it with another TMPDIR: the mark in its own environment would count.
 */
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ENVIRONMENT_MOST (1 << 20)
#define FOUND_MOST 1024

/* A whole file of /proc, with a null byte behind it; its length, or -1 if it cannot be read. */
static ssize_t read_proc(const char *pid, const char *name, char *text, size_t size)
{
    char path[300];
    snprintf(path, sizeof path, "/proc/%s/%s", pid, name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = 0, got = fd < 0 ? -1 : 0;
    while (fd >= 0 && (size_t)length + 1 < size &&
           (got = read(fd, text + length, size - 1 - (size_t)length)) > 0)
        length += got;
    if (fd >= 0)
        close(fd);
    text[got < 0 ? 0 : length] = '\0';
    return got < 0 ? -1 : length;
}

/* Below the directory, too: a test may give parts of itself directories of their own. */
static bool is_marked(const char *pid, const char *mark)
{
    static char environment[ENVIRONMENT_MOST];
    size_t wanted = strlen(mark);
    ssize_t length = read_proc(pid, "environ", environment, sizeof environment);
    for (ssize_t at = 0; at < length; at += (ssize_t)strlen(environment + at) + 1) {
        const char *variable = environment + at;
        if (strncmp(variable, mark, wanted) == 0 &&
            (variable[wanted] == '\0' || variable[wanted] == '/'))
            return true;
    }
    return false;
}

static size_t find_marked(const char *directory, pid_t found[FOUND_MOST])
{
    char mark[4200];
    size_t count = 0;
    snprintf(mark, sizeof mark, "TMPDIR=%s", directory);
    DIR *proc = opendir("/proc");
    const struct dirent *entry;
    while (proc && count < FOUND_MOST && (entry = readdir(proc)))
        if (isdigit((unsigned char)entry->d_name[0]) && is_marked(entry->d_name, mark))
            found[count++] = (pid_t)strtol(entry->d_name, NULL, 10);
    if (proc)
        closedir(proc);
    return count;
}

static void print_command(pid_t pid)
{
    char name[16], words[4096];
    snprintf(name, sizeof name, "%d", (int)pid);
    ssize_t length = read_proc(name, "cmdline", words, sizeof words);
    for (ssize_t i = 0; i + 1 < length; i++)
        if (words[i] == '\0')
            words[i] = ' ';
    fprintf(stderr, "%d %s\n", (int)pid, words);
}

static bool await_none(const char *directory, double seconds)
{
    pid_t found[FOUND_MOST];
    time_t until = time(NULL) + (time_t)seconds;
    struct timespec pause = {.tv_nsec = 10000000};
    size_t count;
    while ((count = find_marked(directory, found)) > 0 && time(NULL) <= until) {
        nanosleep(&pause, NULL);
        if (pause.tv_nsec < 100000000)
            pause.tv_nsec *= 2;
    }
    if (count > 0)
        fprintf(stderr, "processes are left over:\n");
    for (size_t i = 0; i < count; i++) {
        print_command(found[i]);
        kill(found[i], SIGKILL);
    }
    return count == 0;
}

static int print_file(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    fprintf(stderr, "%s\n", path);
    return 0;
}

/* A process that is killed while ThreadSanitizer starts leaves a file of the latter's behind. */
static bool has_no_files(const char *directory)
{
    bool none = true;
    DIR *files = opendir(directory);
    const struct dirent *entry;
    while (files && (entry = readdir(files))) {
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(name, "work") == 0 ||
            fnmatch("tsan.rodata.*", name, 0) == 0)
            continue;
        if (none)
            fprintf(stderr, "files are left over:\n");
        none = false;
        char path[4600];
        snprintf(path, sizeof path, "%s/%s", directory, name);
        nftw(path, print_file, 16, FTW_PHYS);
    }
    if (files)
        closedir(files);
    return none;
}

static int remove_file(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
    (void)status, (void)kind, (void)walk;
    return remove(path);
}

int main(int argc, char **argv)
{
    pid_t found[FOUND_MOST];
    const char *command = argc > 2 ? argv[1] : "";
    if (argc == 3 && strcmp(command, "list") == 0) {
        size_t count = find_marked(argv[2], found);
        for (size_t i = 0; i < count; i++)
            printf("%d\n", (int)found[i]);
        return 0;
    }
    if (argc == 3 && strcmp(command, "none") == 0)
        return find_marked(argv[2], found) > 0;
    bool clears = strcmp(command, "clear") == 0;
    if (argc != 4 || (!clears && strcmp(command, "left") != 0)) {
        fputs("usage: marked list|none DIRECTORY, or marked left|clear DIRECTORY SECONDS\n",
              stderr);
        return 64;
    }
    bool gone = await_none(argv[2], strtod(argv[3], NULL));
    bool whole = has_no_files(argv[2]) && gone;
    if (clears && nftw(argv[2], remove_file, 16, FTW_DEPTH | FTW_PHYS) != 0) {
        fprintf(stderr, "cannot remove '%s'\n", argv[2]);
        return 1;
    }
    return whole ? 0 : 1;
}
