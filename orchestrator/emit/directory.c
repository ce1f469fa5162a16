#include "orchestrator/emit/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/paths.h"
#include "files/remove_tree.h"
#include "files/ending_signals.h"
#include "files/written.h"

static enum status cannot(const char *directory, int error)
{
    return status_set(STATUS_SYSTEM, "cannot write '%s': %s", directory, strerror(error));
}

static void block_signals(struct emit_output *output)
{
    sigset_t set;
    ending_signals_set(&set);
    output->blocked = pthread_sigmask(SIG_BLOCK, &set, &output->unblocked) == 0;
}

/* Takes signals that came meanwhile, so that the command can end in its own way; but not those that
 * the caller had blocked, and looks for. */
static void restore_signals(const struct emit_output *output)
{
    const struct timespec now = {0};
    sigset_t one;
    if (!output->blocked)
        return;
    for (int i = 0; i < ENDING_SIGNALS; i++) {
        sigemptyset(&one);
        sigaddset(&one, ending_signals[i]);
        if (!sigismember(&output->unblocked, ending_signals[i]))
            sigtimedwait(&one, NULL, &now);
    }
    pthread_sigmask(SIG_SETMASK, &output->unblocked, NULL);
}

/* STATUS_OK: there is nothing, or an empty directory. */
static enum status check_place(const char *path, const char *directory)
{
    struct stat info;
    if (lstat(path, &info) != 0)
        return errno == ENOENT ? STATUS_OK : cannot(directory, errno);
    DIR *stream = S_ISDIR(info.st_mode) ? opendir(path) : NULL;
    bool empty = stream != NULL;
    const struct dirent *entry;
    while (stream && (entry = readdir(stream)))
        empty &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (stream)
        closedir(stream);
    if (empty)
        return STATUS_OK;
    return status_set(STATUS_USAGE, "'%s' exists: give a directory that is new or empty",
                      directory);
}

static enum status make_temporary(struct emit_output *output)
{
    const char *name = path_file_name(output->path);
    int length = snprintf(output->temporary, sizeof output->temporary, "%.*s.%.100s.XXXXXX",
                          (int)(name - output->path), output->path, name);
    if (length >= (int)sizeof output->temporary)
        return cannot(output->directory, ENAMETOOLONG);
    if (!mkdtemp(output->temporary))
        return cannot(output->directory, errno);
    output->fd = open(output->temporary, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (output->fd >= 0)
        return STATUS_OK;
    int error = errno;
    rmdir(output->temporary);
    return cannot(output->directory, error);
}

/* The path without slashes at its end, if it can be a deployment's. */
static enum status find_place(const char *directory, char path[PATH_MAX])
{
    size_t length = strlen(directory);
    while (length > 1 && directory[length - 1] == '/')
        length--;
    if (length >= PATH_MAX)
        return cannot(directory, ENAMETOOLONG);
    memcpy(path, directory, length);
    path[length] = '\0';
    const char *name = path_file_name(path);
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 || strcmp(path, "-") == 0)
        return status_set(STATUS_USAGE,
                          "'%s' cannot be a deployment's directory: give it a name of its own",
                          directory);
    return check_place(path, directory);
}

enum status emit_output_check(const char *directory)
{
    char path[PATH_MAX], parent[PATH_MAX];
    enum status status = find_place(directory, path);
    if (status != STATUS_OK)
        return status;
    size_t length = (size_t)(path_file_name(path) - path);
    snprintf(parent, sizeof parent, "%.*s", length ? (int)length : 1, length ? path : ".");
    return access(parent, W_OK | X_OK) == 0 ? STATUS_OK : cannot(directory, errno);
}

enum status emit_output_open(const char *directory, struct emit_output *out)
{
    struct emit_output output = {.directory = directory, .fd = -1};
    enum status status = find_place(directory, output.path);
    if (status != STATUS_OK)
        return status;
    block_signals(&output);
    status = make_temporary(&output);
    if (status != STATUS_OK) {
        restore_signals(&output);
        return status;
    }
    *out = output;
    return STATUS_OK;
}

static enum status check_signals(const struct emit_output *output)
{
    return ending_signals_pend() ? status_set(STATUS_INTERRUPTED,
                                              "interrupted: '%s' is not written", output->directory)
                                 : STATUS_OK;
}

/* Makes the folder of a name that has one. */
static bool make_folder(const struct emit_output *output, const char *name)
{
    char folder[PATH_MAX];
    size_t length = (size_t)(path_file_name(name) - name);
    snprintf(folder, sizeof folder, "%.*s", (int)length, name);
    return length == 0 || mkdirat(output->fd, folder, 0777) == 0 || errno == EEXIST;
}

enum status emit_output_file(const struct emit_output *output, const char *name, bool executable,
                             const char *text)
{
    enum status status = check_signals(output);
    if (status != STATUS_OK)
        return status;
    if (!make_folder(output, name))
        return cannot(output->directory, errno);
    int fd =
        openat(output->fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, executable ? 0777 : 0666);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (!file) {
        status = cannot(output->directory, errno);
        if (fd >= 0)
            close(fd);
        return status;
    }
    if (fputs(text, file) == EOF || fflush(file) != 0 || fsync(fd) != 0)
        status = cannot(output->directory, errno);
    if (fclose(file) != 0 && status == STATUS_OK)
        status = cannot(output->directory, errno);
    return status;
}

/* It was made for its owner only; a directory gets the rights that a new one would. */
static void open_up(const struct emit_output *output)
{
    mode_t mask = umask(0);
    umask(mask);
    fchmod(output->fd, 0777 & ~mask);
}

enum status emit_output_close(struct emit_output *output, enum status status)
{
    struct status_saved saved;
    if (status == STATUS_OK)
        status = check_signals(output);
    if (status == STATUS_OK) {
        open_up(output);
        /* Over nothing, or over an empty directory: anything else is refused. */
        if (fsync(output->fd) != 0 || rename(output->temporary, output->path) != 0)
            status = cannot(output->directory, errno);
        else
            written_note(output->directory);
    }
    close(output->fd);
    if (status != STATUS_OK) {
        /* What went wrong is known already. */
        status_save(status, &saved);
        bool is_removed = remove_tree(output->temporary) == STATUS_OK;
        status_restore(&saved);
        if (!is_removed)
            status_record("%s; and '%s' cannot be removed", saved.text, output->temporary);
    }
    restore_signals(output);
    return status;
}
