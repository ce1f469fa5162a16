#include "common/memory_file.h"

#include <errno.h>
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

void memory_file_release(int fd, void *map, size_t bytes)
{
    if (map)
        munmap(map, bytes);
    if (fd >= 0)
        close(fd);
}
