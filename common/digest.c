#include "common/digest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

uint64_t digest_add(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): copied whole */
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

enum status digest_file(const char *path, uint64_t *out)
{
    unsigned char buffer[1 << 16];
    uint64_t hash = DIGEST_EMPTY;
    size_t bytes;
    FILE *file = fopen(path, "re");
    if (!file)
        return status_set(STATUS_SYSTEM, "cannot open '%s': %s", path, strerror(errno));
    while ((bytes = fread(buffer, 1, sizeof buffer, file)) > 0)
        hash = digest_add(hash, buffer, bytes);
    int error = ferror(file) ? errno : 0;
    fclose(file);
    if (error != 0)
        return status_set(STATUS_SYSTEM, "cannot read '%s': %s", path, strerror(error));
    *out = hash;
    return STATUS_OK;
}
