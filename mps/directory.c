#include "mps/directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/paths.h"
#include "files/remove_tree.h"

#include "files/atomic_file.h"

/* Of making a directory where others clear up. */
#define TRIES 8

/* Of a directory that is still being made, or already being removed, under a name of its own.
 * A process killed then left it empty, with a lock that has not got its name yet, or without one.
 */
static bool is_unfinished(const char *name)
{
    return name[0] == '.';
}

static bool has_our_name(const char *name)
{
    name += is_unfinished(name);
    return strlen(name) == MPS_DIRECTORY_NAME_LENGTH &&
           strncmp(name, MPS_DIRECTORY_PREFIX, sizeof MPS_DIRECTORY_PREFIX - 1) == 0;
}

/* What is being removed has the name of an unfinished one, so that what a kill leaves of it is
 * known for what it is. Returns the name that it has then. */
static const char *hide(int parent, const char *path, char hidden[PATH_MAX])
{
    const char *name = path_file_name(path);
    if (!has_our_name(name) || is_unfinished(name))
        return path;
    snprintf(hidden, PATH_MAX, "%.*s.%s", (int)(name - path), path, name);
    return renameat(parent, path, parent, hidden) == 0 ? hidden : path;
}

/* Removes the tree at path, hidden first. */
static enum status remove_path(const char *path)
{
    char hidden[PATH_MAX];
    if (remove_tree_at(AT_FDCWD, hide(AT_FDCWD, path, hidden)) != 0)
        return status_set(STATUS_SYSTEM, "cannot remove '%s': %s", path, strerror(errno));
    return STATUS_OK;
}

static bool is_same_file(int directory, const char *name, int fd)
{
    struct stat opened, found;
    return fstat(fd, &opened) == 0 && fstatat(directory, name, &found, AT_SYMLINK_NOFOLLOW) == 0 &&
           same_file(&opened, &found);
}

/* The lock file, locked; -1 with errno set. */
static int lock_at(int directory, const char *name, int flags)
{
    int fd = openat(directory, name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | flags, 0600);
    if (fd < 0)
        return -1;
    int error = flock(fd, LOCK_EX | LOCK_NB) != 0 ? errno : 0;
    /* Its owner may have removed it, and another process made another, between the two calls. */
    if (!error && !is_same_file(directory, name, fd))
        error = EWOULDBLOCK;
    if (error) {
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* Makes the lock file under another name first: under its own it is never seen unlocked, which
 * would look as if its owner had died. A link, since that fails where there is one already. */
static int make_lock(int directory)
{
    int fd = lock_at(directory, "lock.new", O_CREAT | O_EXCL);
    if (fd < 0)
        return -1;
    int error = linkat(directory, "lock.new", directory, "lock", 0) != 0 ? errno : 0;
    unlinkat(directory, "lock.new", 0);
    if (error) {
        close(fd);
        errno = error;
        return -1;
    }
    return fd;
}

/* What a directory of ours holds: folders, and files, of which the lock goes last. */
static const char *const our_folders[] = {"mps", "log", "off"};
static const char *const our_files[] = {"state", "state.new", "guard", "lock.new", "lock"};
#define OUR_FOLDERS (sizeof our_folders / sizeof *our_folders)
#define OUR_FILES (sizeof our_files / sizeof *our_files)

static bool is_ours(const char *name)
{
    bool ours = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    for (size_t i = 0; i < OUR_FOLDERS; i++)
        ours |= strcmp(our_folders[i], name) == 0;
    for (size_t i = 0; i < OUR_FILES; i++)
        ours |= strcmp(our_files[i], name) == 0;
    return ours;
}

enum content { CONTENT_NONE, CONTENT_OURS, CONTENT_OTHER };

/* Whether it holds nothing, nothing but what we make, or something else. */
static enum content look_inside(int directory)
{
    int fd = openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream) {
        if (fd >= 0)
            close(fd);
        return CONTENT_OTHER;
    }
    enum content content = CONTENT_NONE;
    struct dirent *entry;
    while (content != CONTENT_OTHER && (entry = readdir(stream)))
        if (!is_ours(entry->d_name))
            content = CONTENT_OTHER;
        else if (entry->d_name[0] != '.')
            content = CONTENT_OURS;
    closedir(stream);
    return content;
}

static bool is_private(int fd)
{
    struct stat info;
    return fstat(fd, &info) == 0 && info.st_uid == geteuid() && (info.st_mode & 0777) == 0700;
}

/* Removes a directory whose owner is gone: ours in every respect, and its lock is there and free.
 * Whatever else has a name like ours is left alone. */
static void remove_if_abandoned(int base, const char *name)
{
    int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    int lock = -1;
    enum content content = is_private(fd) ? look_inside(fd) : CONTENT_OTHER;
    if (content == CONTENT_OURS)
        lock = lock_at(fd, "lock", 0);
    bool unlocked = content == CONTENT_OURS && lock < 0 && errno == ENOENT && is_unfinished(name);
    if (unlocked)
        lock = lock_at(fd, "lock.new", 0);
    /* Its maker may have renamed the lock between the two looks. */
    if (unlocked && lock < 0 && errno == ENOENT)
        lock = lock_at(fd, "lock", 0);
    /* What is being made has one of the two locks from its first file on: this is a rest. */
    bool rest = unlocked && lock < 0 && errno == ENOENT;
    /* Held while removing, so that two that start at once do not meet. */
    if (lock >= 0 || rest) {
        char hidden[PATH_MAX];
        remove_tree_at(base, hide(base, name, hidden));
    }
    if (lock >= 0)
        close(lock);
    /* Its maker, if it lives, makes another one. */
    if (content == CONTENT_NONE && is_unfinished(name))
        unlinkat(base, name, AT_REMOVEDIR);
    close(fd);
}

/* Calls visit for each entry of a place that has a name like ours. */
static void visit_ours(const char *base, void (*visit)(int base, const char *name, void *argument),
                       void *argument)
{
    int fd = open(base, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *stream = fd < 0 ? NULL : fdopendir(fd);
    if (!stream) {
        if (fd >= 0)
            close(fd);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(stream)))
        if (has_our_name(entry->d_name))
            visit(fd, entry->d_name, argument);
    closedir(stream);
}

static void visit_abandoned(int base, const char *name, void *argument)
{
    (void)argument;
    remove_if_abandoned(base, name);
}

/* With these rights, also under a umask that takes some of the owner. */
static bool make_folder(int directory, const char *name, mode_t mode)
{
    return mkdirat(directory, name, mode) == 0 && fchmodat(directory, name, mode, 0) == 0;
}

/* Fills a new, empty, private directory; its descriptor is in the struct. On failure what was made
 * in it is removed again, and the descriptor is closed. */
static enum status fill(struct mps_directory *made)
{
    made->lock_fd = make_lock(made->fd);
    if (made->lock_fd < 0) {
        int error = errno;
        close(made->fd);
        /* It goes if it is empty: its content is that of another process, which was faster. */
        if (!made->was_there)
            rmdir(made->path);
        if (error == EEXIST || error == EWOULDBLOCK || error == ENOENT)
            return status_set(STATUS_BUSY, "another mpsweep is just taking '%s'", made->path);
        return status_set(STATUS_SYSTEM, "cannot lock '%s': %s", made->path, strerror(error));
    }
    bool good = make_folder(made->fd, "mps", 0700) && make_folder(made->fd, "log", 0700) &&
                make_folder(made->fd, "off", 0500);
    if (good)
        return STATUS_OK;
    int error = errno;
    mps_directory_remove(made);
    return status_set(error == ENOENT ? STATUS_BUSY : STATUS_SYSTEM, "cannot fill '%s': %s",
                      made->path, strerror(error));
}

/* Gives a directory that is complete its name; -1 with errno set. */
static int finish(struct mps_directory *made, const char *base)
{
    char path[sizeof made->path];
    snprintf(path, sizeof path, "%s/%s", base, strrchr(made->path, '/') + 2);
    if (atomic_rename_new(made->path, path) != 0)
        return -1;
    memcpy(made->path, path, sizeof path);
    return 0;
}

/* STATUS_BUSY: another process that cleared up was in the way; try again. */
static enum status try_under(const char *base, struct mps_directory *out)
{
    struct mps_directory made = {.fd = -1, .lock_fd = -1};
    snprintf(made.path, sizeof made.path, "%s/." MPS_DIRECTORY_PREFIX "XXXXXX", base);
    if (!mkdtemp(made.path))
        return status_set(STATUS_SYSTEM, "cannot make a directory in '%s': %s", base,
                          strerror(errno));
    if (chmod(made.path, 0700) == 0)
        made.fd = open(made.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (made.fd < 0) {
        int error = errno;
        rmdir(made.path);
        return status_set(error == ENOENT ? STATUS_BUSY : STATUS_SYSTEM, "cannot open '%s': %s",
                          made.path, strerror(error));
    }
    enum status status = fill(&made);
    if (status != STATUS_OK)
        return status;
    if (finish(&made, base) != 0) {
        int error = errno;
        mps_directory_remove(&made);
        return status_set(error == EEXIST || error == ENOENT ? STATUS_BUSY : STATUS_SYSTEM,
                          "cannot name a directory in '%s': %s", base, strerror(error));
    }
    *out = made;
    return STATUS_OK;
}

/* A user who may write a directory, or owns it, can put another one in the place of ours. A sticky
 * one, as /tmp, is made for all users; in a user namespace its owner may have no number. */
static enum status check_place(const char *path)
{
    struct stat info;
    if (stat(path, &info) != 0)
        return status_set(STATUS_USAGE, "cannot look at '%s': %s", path, strerror(errno));
    if (info.st_mode & S_ISVTX)
        return STATUS_OK;
    if (info.st_mode & 0022)
        return status_set(STATUS_USAGE,
                          "others may write '%s' (mode %04o): a private directory in it would not "
                          "be safe",
                          path, (unsigned)info.st_mode & 07777);
    if (info.st_uid != 0 && info.st_uid != geteuid())
        return status_set(STATUS_USAGE,
                          "'%s' belongs to user %u: a private directory in it would not be safe",
                          path, (unsigned)info.st_uid);
    return STATUS_OK;
}

static enum status make_under(const char *base, struct mps_directory *out)
{
    /* A dot while it is made, then "/mps", which is what the daemon is given. */
    if (strlen(base) + 1 + MPS_DIRECTORY_NAME_LENGTH + 4 > MPS_DIRECTORY_MOST)
        return status_set(STATUS_UNSUPPORTED, "'%s' is too long for a socket's path", base);
    enum status status = check_place(base);
    if (status != STATUS_OK)
        return status;
    status = STATUS_BUSY;
    visit_ours(base, visit_abandoned, NULL);
    for (int i = 0; i < TRIES && status == STATUS_BUSY; i++)
        status = try_under(base, out);
    return status;
}

size_t mps_directory_bases(const char *bases[MPS_DIRECTORY_BASES])
{
    const char *const all[MPS_DIRECTORY_BASES] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"),
                                                  "/tmp", "/dev/shm", "/var/tmp"};
    size_t count = 0;
    for (size_t i = 0; i < MPS_DIRECTORY_BASES; i++)
        if (all[i] && all[i][0] == '/')
            bases[count++] = all[i];
    return count;
}

enum status mps_directory_make(struct mps_directory *out)
{
    const char *bases[MPS_DIRECTORY_BASES];
    size_t count = mps_directory_bases(bases);
    enum status status = STATUS_OK;
    for (size_t i = 0; i < count; i++) {
        status = make_under(bases[i], out);
        if (status == STATUS_OK)
            return STATUS_OK;
    }
    return status_prefix(status, "no place for a private directory, as TMPDIR can name: ");
}

/* The absolute path of a directory that may not be there yet, without following a link in its last
 * part; short enough for the daemon's socket. */
static enum status make_absolute(const char *path, char out[MPS_DIRECTORY_MOST + 1])
{
    char whole[PATH_MAX], parent[PATH_MAX];
    char working[PATH_MAX] = "";
    if (!*path)
        return status_set(STATUS_USAGE, "'' is not a name of a directory");
    if (path[0] != '/' && !getcwd(working, sizeof working))
        return status_set(STATUS_SYSTEM, "cannot find the working directory: %s", strerror(errno));
    int length = snprintf(whole, sizeof whole, "%s%s%s", working, *working ? "/" : "", path);
    while (length > 1 && length < (int)sizeof whole && whole[length - 1] == '/')
        whole[--length] = '\0';
    char *slash = strrchr(whole, '/');
    if (length >= (int)sizeof whole || !slash || !slash[1] || strcmp(slash + 1, ".") == 0 ||
        strcmp(slash + 1, "..") == 0)
        return status_set(STATUS_USAGE,
                          "'%s' cannot be a private directory: give it a name of its "
                          "own",
                          path);
    *slash = '\0';
    if (!realpath(*whole ? whole : "/", parent))
        return status_set(STATUS_USAGE, "cannot use '%s': %s: %s", path, whole, strerror(errno));
    length = snprintf(out, MPS_DIRECTORY_MOST + 1, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent,
                      slash + 1);
    if (length + 4 > MPS_DIRECTORY_MOST)
        return status_set(STATUS_USAGE,
                          "'%s' has %d characters: at most %d are allowed, since the daemon's "
                          "socket has its path from it",
                          path, length, MPS_DIRECTORY_MOST - 4);
    return STATUS_OK;
}

static enum status check_parent(const char *path)
{
    char parent[MPS_DIRECTORY_MOST + 1];
    snprintf(parent, sizeof parent, "%s", path);
    char *slash = strrchr(parent, '/');
    slash[slash == parent] = '\0';
    return check_place(parent);
}

static enum status open_at(const char *path, int *out)
{
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return status_set(errno == ENOENT ? STATUS_NOT_FOUND : STATUS_USAGE, "cannot use '%s': %s",
                          path,
                          errno == ELOOP || errno == ENOTDIR ? "it is a link, or not a directory"
                                                             : strerror(errno));
    *out = fd;
    return STATUS_OK;
}

enum status mps_directory_adopt(const char *path, struct mps_directory *out)
{
    struct mps_directory found = {.fd = -1, .lock_fd = -1};
    enum status status = make_absolute(path, found.path);
    if (status == STATUS_OK)
        status = open_at(found.path, &found.fd);
    if (status != STATUS_OK)
        return status;
    if (!is_private(found.fd) || look_inside(found.fd) != CONTENT_OURS) {
        status = status_set(STATUS_USAGE,
                            "'%s' is not a directory that mpsweep has made: it is left "
                            "alone",
                            path);
    } else {
        found.lock_fd = lock_at(found.fd, "lock", 0);
        if (found.lock_fd < 0)
            status = errno == EWOULDBLOCK
                         ? status_set(STATUS_BUSY, "an MPS daemon of mpsweep's lives in '%s'", path)
                         : status_set(STATUS_USAGE, "cannot lock '%s': %s", path, strerror(errno));
    }
    if (status != STATUS_OK) {
        close(found.fd);
        return status;
    }
    *out = found;
    return STATUS_OK;
}

/* What is at the path already: made empty if it was ours and is abandoned. */
static enum status use_existing(struct mps_directory *made)
{
    switch (look_inside(made->fd)) {
    case CONTENT_NONE:
        if (is_private(made->fd))
            return STATUS_OK;
        return status_set(STATUS_USAGE,
                          "'%s' exists, and it is not yours alone: chmod 700 it, or give "
                          "another name",
                          made->path);
    case CONTENT_OURS: {
        struct mps_directory old;
        enum status status = mps_directory_adopt(made->path, &old);
        if (status != STATUS_OK)
            return status;
        old.was_there = true;
        return mps_directory_remove(&old);
    }
    case CONTENT_OTHER:
        break;
    }
    return status_set(STATUS_USAGE,
                      "'%s' is not empty, and what is in it is not mpsweep's: give "
                      "another name",
                      made->path);
}

enum status mps_directory_make_at(const char *path, struct mps_directory *out)
{
    struct mps_directory made = {.fd = -1, .lock_fd = -1};
    enum status status = make_absolute(path, made.path);
    if (status == STATUS_OK)
        status = check_parent(made.path);
    if (status != STATUS_OK)
        return status;
    made.was_there = !make_folder(AT_FDCWD, made.path, 0700);
    if (made.was_there && errno != EEXIST)
        return status_set(STATUS_USAGE, "cannot make '%s': %s", made.path, strerror(errno));
    status = open_at(made.path, &made.fd);
    if (status == STATUS_OK && made.was_there)
        status = use_existing(&made);
    if (status != STATUS_OK) {
        if (made.fd >= 0)
            close(made.fd);
        return status;
    }
    status = fill(&made);
    if (status == STATUS_OK)
        *out = made;
    return status;
}

struct kept {
    const char *base;
    char (*paths)[MPS_DIRECTORY_MOST + 1];
    size_t capacity, count;
};

static void visit_kept(int base, const char *name, void *argument)
{
    struct kept *kept = argument;
    struct stat info;
    int fd = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return;
    if (is_private(fd) && look_inside(fd) == CONTENT_OURS &&
        fstatat(fd, "state", &info, AT_SYMLINK_NOFOLLOW) == 0) {
        char path[PATH_MAX];
        int length = snprintf(path, sizeof path, "%s/%s", kept->base, name);
        /* None of ours has a longer one. */
        if (length <= MPS_DIRECTORY_MOST && kept->count++ < kept->capacity)
            memcpy(kept->paths[kept->count - 1], path, (size_t)length + 1);
    }
    close(fd);
}

void mps_directory_find_kept(char (*paths)[MPS_DIRECTORY_MOST + 1], size_t capacity, size_t *count)
{
    const char *bases[MPS_DIRECTORY_BASES];
    struct kept kept = {.paths = paths, .capacity = capacity};
    size_t places = mps_directory_bases(bases);
    for (size_t i = 0; i < places; i++) {
        bool again = false;
        for (size_t j = 0; j < i; j++)
            again |= same_file_at(bases[i], bases[j]);
        kept.base = bases[i];
        if (!again)
            visit_ours(bases[i], visit_kept, &kept);
    }
    *count = kept.count;
}

/* Everything in it; the directory itself is still there. */
static int empty(int directory)
{
    int result = 0;
    for (size_t i = 0; i < OUR_FOLDERS; i++)
        if (remove_tree_at(directory, our_folders[i]) != 0)
            result = -1;
    for (size_t i = 0; i < OUR_FILES; i++)
        if (unlinkat(directory, our_files[i], 0) != 0 && errno != ENOENT)
            result = -1;
    return result;
}

/* Another process removed it: nothing of it is left. */
static bool is_gone(const struct mps_directory *directory)
{
    struct stat opened;
    return fstat(directory->fd, &opened) == 0 && opened.st_nlink == 0;
}

enum status mps_directory_remove(struct mps_directory *directory)
{
    enum status status = STATUS_OK;
    if (is_gone(directory)) {
        /* What has its name now is not ours. */
    } else if (!is_same_file(AT_FDCWD, directory->path, directory->fd)) {
        empty(directory->fd);
        status = status_set(STATUS_SYSTEM,
                            "'%s' is no longer the directory that mpsweep made: mpsweep leaves "
                            "it alone",
                            directory->path);
    } else if (directory->was_there) {
        if (empty(directory->fd) != 0)
            status = status_set(STATUS_SYSTEM, "cannot empty '%s': %s", directory->path,
                                strerror(errno));
    } else {
        status = remove_path(directory->path);
    }
    if (directory->lock_fd >= 0)
        close(directory->lock_fd);
    if (directory->fd >= 0)
        close(directory->fd);
    directory->lock_fd = directory->fd = -1;
    return status;
}
