#include "common/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum status memory_file_create(const char *name, size_t bytes, int *fd, void **map)
{
    int file = memfd_create(name, MFD_CLOEXEC);
    if (file < 0)
        return status_set(STATUS_SYSTEM, "cannot make shared memory: %s", strerror(errno));
    void *at = MAP_FAILED;
    if (ftruncate(file, (off_t)bytes) == 0)
        at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        int error = errno;
        close(file);
        return status_set(STATUS_SYSTEM, "cannot map %zu bytes of shared memory: %s", bytes,
                          strerror(error));
    }
    *fd = file;
    *map = at;
    return STATUS_OK;
}

enum status memory_file_attach(int fd, size_t least, void **map, size_t *bytes)
{
    struct stat file;
    if (fstat(fd, &file) != 0)
        return status_set(STATUS_SYSTEM, "descriptor %d is not shared memory: %s", fd,
                          strerror(errno));
    if (file.st_size < (off_t)least)
        return status_set(STATUS_PROTOCOL, "shared memory of %lld bytes is too short",
                          (long long)file.st_size);
    void *at = mmap(NULL, (size_t)file.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return status_set(STATUS_SYSTEM, "cannot map shared memory: %s", strerror(errno));
    *map = at;
    *bytes = (size_t)file.st_size;
    return STATUS_OK;
}

bool memory_file_is(int fd, const char *name)
{
    char path[40], target[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, target, sizeof target - 1);
    if (length < 0)
        return false;
    target[length] = '\0';
    return strncmp(target, name, strlen(name)) == 0;
}

int memory_file_find(int fd, const char *name, pid_t pid)
{
    char path[48];
    if (memory_file_is(fd, name))
        return fcntl(fd, F_DUPFD_CLOEXEC, 3);
    snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
    return open(path, O_RDWR | O_CLOEXEC);
}

void memory_file_release(int fd, void *map, size_t bytes)
{
    if (map)
        munmap(map, bytes);
    if (fd >= 0)
        close(fd);
}
