#include "emul/model/visible.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "emul/model/device_names.h"

/* All but the last byte of a UUID, in which they differ. */
#define SAME (sizeof DEVICE_UUID - 3)

/* The number of the device that a word names, or -1. */
static int find(const char *word, size_t length, uint32_t devices)
{
    char *end, last[3] = "";
    if (length != sizeof DEVICE_UUID - 1 || strncasecmp(word, DEVICE_UUID, SAME) != 0)
        return -1;
    memcpy(last, word + SAME, 2);
    long device = strtol(last, &end, 16) - strtol(&DEVICE_UUID[SAME], NULL, 16);
    return *end == '\0' && device >= 0 && device < (long)devices ? (int)device : -1;
}

struct visible visible_parse(const char *text, uint32_t devices)
{
    struct visible out = {0};
    const char *at = text != NULL ? text : "";
    while (out.count < devices) {
        size_t length = strcspn(at, ",");
        int device = find(at, length, devices);
        if (device < 0)
            break;
        out.devices[out.count++] = (uint32_t)device;
        if (at[length] == '\0')
            break;
        at += length + 1;
    }
    out.chosen = out.count > 0;
    if (!out.chosen)
        for (; out.count < devices; out.count++)
            out.devices[out.count] = out.count;
    return out;
}
