#include "orchestrator/doctor/internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/paths.h"
#include "common/text.h"
#include "mps/directory.h"
#include "mps/kept.h"
#include "mps/state.h"

#define PROGRAM "nvidia-cuda-mps-control"
#define VARIABLE "CUDA_MPS_PIPE_DIRECTORY="

/* -- reading ----------------------------------------------------------------------------------- */

/* The beginning of a process's file, ended by NUL; "" if it cannot be read. */
static void read_text(int process, const char *name, char *text, size_t size)
{
    ssize_t got = -1;
    int fd = openat(process, name, O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        got = read(fd, text, size - 1);
        close(fd);
    }
    text[got > 0 ? got : 0] = '\0';
}

static bool is_program(const char *path)
{
    const char *name = path_file_name(path);
    /* A driver that was replaced while its daemon runs. */
    return strcmp(name, PROGRAM) == 0 || strcmp(name, PROGRAM " (deleted)") == 0;
}

/* The name in /proc/PID/comm ends after 15 letters, which the daemon shares with its server. */
static bool runs_program(int process)
{
    char text[PATH_MAX];
    read_text(process, "cmdline", text, sizeof text);
    if (is_program(text))
        return true;
    ssize_t length = readlinkat(process, "exe", text, sizeof text - 1);
    text[length > 0 ? length : 0] = '\0';
    return is_program(text);
}

static bool read_user(int process, uid_t *user)
{
    char text[4096];
    unsigned effective;
    read_text(process, "status", text, sizeof text);
    const char *line = strstr(text, "\nUid:");
    if (!line || sscanf(line, " Uid: %*u %u", &effective) != 1)
        return false;
    *user = (uid_t)effective;
    return true;
}

/* The text is printed, also between quotes for a shell to read. */
static bool is_printable(const char *text)
{
    for (; *text; text++)
        if (*text < ' ' || *text > '~' || *text == '\'')
            return false;
    return true;
}

static void read_pipe(int process, struct doctor_daemon *daemon)
{
    int fd = openat(process, "environ", O_RDONLY | O_CLOEXEC);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (!file) {
        if (fd >= 0)
            close(fd);
        return;
    }
    char *entry = NULL;
    size_t size = 0;
    bool given = false;
    while (!given && getdelim(&entry, &size, '\0', file) > 0)
        given = strncmp(entry, VARIABLE, sizeof VARIABLE - 1) == 0;
    if (given) {
        const char *value = entry + sizeof VARIABLE - 1;
        if (!*value) {
            daemon->pipe = DOCTOR_PIPE_DEFAULT;
        } else if (strlen(value) < sizeof daemon->pipe_directory && is_printable(value)) {
            daemon->pipe = DOCTOR_PIPE_NAMED;
            strcpy(daemon->pipe_directory, value);
        }
    } else if (!ferror(file)) {
        daemon->pipe = DOCTOR_PIPE_DEFAULT;
    }
    free(entry);
    fclose(file);
}

/* Whether a directory on the way to the pipes is one that an mpsweep of this user made. */
static bool is_ours(const char *root, const struct doctor_daemon *daemon)
{
    const char *path = daemon->pipe_directory;
    if (daemon->pipe != DOCTOR_PIPE_NAMED || daemon->user != geteuid())
        return false;
    for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
        const char *name = slash + 1;
        char whole[2 * PATH_MAX];
        struct stat info;
        if (strcspn(name, "/") != MPS_DIRECTORY_NAME_LENGTH ||
            strncmp(name, MPS_DIRECTORY_PREFIX, sizeof MPS_DIRECTORY_PREFIX - 1) != 0)
            continue;
        snprintf(whole, sizeof whole, "%s%.*s", root,
                 (int)(name - path + (ptrdiff_t)MPS_DIRECTORY_NAME_LENGTH), path);
        if (lstat(whole, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid())
            return true;
    }
    /* Or the directory of 'mpsweep mps start --dir'. */
    size_t length = strlen(path);
    char parent[2 * PATH_MAX];
    struct mps_state state;
    if (length <= 4 || strcmp(path + length - 4, "/mps") != 0)
        return false;
    snprintf(parent, sizeof parent, "%s%.*s", root, (int)length - 4, path);
    return mps_state_read(parent, &state) == STATUS_OK && state.daemon.pid == daemon->pid;
}

static int by_pid(const void *a, const void *b)
{
    pid_t first = ((const struct doctor_daemon *)a)->pid;
    pid_t second = ((const struct doctor_daemon *)b)->pid;
    return (first > second) - (first < second);
}

/* False if the process is not a daemon, or has ended. */
static bool look_at(const char *root, int proc, const char *number, struct doctor_daemon *out)
{
    int process = openat(proc, number, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (process < 0)
        return false;
    *out = (struct doctor_daemon){.pid = (pid_t)strtol(number, NULL, 10)};
    bool found = runs_program(process) && read_user(process, &out->user);
    if (found) {
        read_pipe(process, out);
        out->ours = is_ours(root, out);
    }
    close(process);
    return found;
}

enum status doctor_daemons_find(const char *root, struct doctor_daemons *out)
{
    static struct doctor_daemon one;
    char path[PATH_MAX] = "";
    int proc = -1;
    if (snprintf(path, sizeof path, "%s/proc", root) < (int)sizeof path)
        proc = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = proc < 0 ? NULL : fdopendir(proc);
    if (!stream) {
        int error = errno;
        if (proc >= 0)
            close(proc);
        return status_set(STATUS_SYSTEM, "cannot read '%s': %s", path, strerror(error));
    }
    out->count = 0;
    out->hidden = faccessat(proc, "1", F_OK, 0) != 0;
    struct dirent *entry;
    while ((entry = readdir(stream))) {
        if (entry->d_name[strspn(entry->d_name, "0123456789")] != '\0' ||
            !look_at(root, proc, entry->d_name, &one))
            continue;
        if (out->count < DOCTOR_DAEMONS_MOST)
            out->found[out->count] = one;
        out->count++;
    }
    closedir(stream);
    qsort(out->found, out->count < DOCTOR_DAEMONS_MOST ? out->count : DOCTOR_DAEMONS_MOST,
          sizeof out->found[0], by_pid);
    return STATUS_OK;
}

static void add_kept(void *data, const char *directory, const struct mps_state *state)
{
    struct doctor_daemons *daemons = data;
    size_t known = daemons->count < DOCTOR_DAEMONS_MOST ? daemons->count : DOCTOR_DAEMONS_MOST;
    struct doctor_daemon *daemon = &daemons->found[known];
    for (size_t i = 0; i < known; i++)
        if (daemons->found[i].pid == state->daemon.pid)
            return;
    daemons->count++;
    if (known == DOCTOR_DAEMONS_MOST)
        return;
    *daemon = (struct doctor_daemon){
        .pid = state->daemon.pid, .user = geteuid(), .pipe = DOCTOR_PIPE_NAMED, .ours = true};
    snprintf(daemon->pipe_directory, sizeof daemon->pipe_directory, "%s/mps", directory);
    text_printable(daemon->pipe_directory, strlen(daemon->pipe_directory), daemon->pipe_directory,
                   sizeof daemon->pipe_directory);
}

void doctor_daemons_add_kept(struct doctor_daemons *daemons)
{
    mps_kept_each(add_kept, daemons);
}

/* -- judging ----------------------------------------------------------------------------------- */

/* Writes the command that shows whether a daemon has clients. */
static const char *look_text(const struct doctor_daemon *daemon, char *text, size_t size)
{
    if (daemon->pipe == DOCTOR_PIPE_NAMED)
        snprintf(text, size,
                 "echo get_server_list | CUDA_MPS_PIPE_DIRECTORY='%s' nvidia-cuda-mps-control",
                 daemon->pipe_directory);
    else if (daemon->pipe == DOCTOR_PIPE_DEFAULT)
        snprintf(text, size,
                 "echo get_server_list | env -u CUDA_MPS_PIPE_DIRECTORY nvidia-cuda-mps-control");
    else
        snprintf(text, size, "tr '\\0' '\\n' </proc/%d/environ | grep -a CUDA_MPS",
                 (int)daemon->pid);
    return text;
}

static void report_foreign(struct doctor *doctor, const struct doctor_daemon *daemon)
{
    char user[64], look[PATH_MAX + 128], whose[256], advice[PATH_MAX + 512];
    machine_user_name(daemon->user, user, sizeof user);
    if (daemon->user == geteuid())
        snprintf(whose, sizeof whose, "look at it with");
    else
        snprintf(whose, sizeof whose,
                 "MPS serves one user at a time: measure when it is gone; %s looks at it with",
                 user);
    snprintf(advice, sizeof advice,
             "mpsweep leaves it alone, but its clients on the same GPU disturb a measurement; "
             "%s: %s",
             whose, look_text(daemon, look, sizeof look));
    doctor_report(doctor, FINDING_WARNING, advice, "MPS daemon of %s: PID %d, %s%s%s", user,
                  (int)daemon->pid,
                  daemon->pipe == DOCTOR_PIPE_NAMED     ? "pipe directory '"
                  : daemon->pipe == DOCTOR_PIPE_DEFAULT ? "the default pipe directory"
                                                        : "its pipe directory cannot be read",
                  daemon->pipe_directory, daemon->pipe == DOCTOR_PIPE_NAMED ? "'" : "");
}

void doctor_check_daemons(struct doctor *doctor, const struct doctor_daemons *daemons)
{
    size_t shown = daemons->count < DOCTOR_DAEMONS_MOST ? daemons->count : DOCTOR_DAEMONS_MOST;
    for (size_t i = 0; i < shown; i++) {
        if (daemons->found[i].ours)
            doctor_report(doctor, FINDING_OK, NULL,
                          "MPS daemon of another mpsweep of yours: PID %d, pipe directory '%s'",
                          (int)daemons->found[i].pid, daemons->found[i].pipe_directory);
        else
            report_foreign(doctor, &daemons->found[i]);
    }
    if (shown < daemons->count)
        doctor_report(doctor, FINDING_WARNING, "pgrep -af " PROGRAM, "MPS daemons: %zu more",
                      daemons->count - shown);
    const char *hidden = daemons->hidden ? "; /proc hides the processes of other users here" : "";
    if (!daemons->count)
        doctor_report(doctor, FINDING_OK, NULL, "MPS daemons: none runs%s", hidden);
    else if (*hidden)
        doctor_report(doctor, FINDING_OK, NULL, "MPS daemons: there may be more%s", hidden);
}
