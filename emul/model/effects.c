#include "emul/model/effects.h"

#include <stdio.h>
#include <string.h>

static const char *const names[EFFECT_COUNT] = {
    [EFFECT_LAUNCH_DELAY] = "launch-delay",
    [EFFECT_COPY_BLOCK] = "copy-block",
    [EFFECT_CONTEXT_ADMISSION] = "context-admission",
    [EFFECT_PEER_STALL] = "peer-stall",
    [EFFECT_LAZY_LOAD] = "lazy-load",
    [EFFECT_LAUNCH_CONTENTION] = "launch-contention",
};

static enum status unknown_name(const char *name, size_t length)
{
    char known[EFFECT_COUNT * 24] = "";
    for (int i = 0; i < EFFECT_COUNT; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", names[i]);
    }
    return status_set(STATUS_USAGE, EMUL_EFFECTS_VARIABLE ": unknown effect '%.*s'; there are %s",
                      (int)length, name, known);
}

static enum status parse_item(const char *item, size_t length, effects_off *off)
{
    if (length == 0 || (*item != '-' && *item != '+'))
        return status_set(STATUS_USAGE, EMUL_EFFECTS_VARIABLE ": '%.*s' is not -NAME or +NAME",
                          (int)length, item);
    for (int i = 0; i < EFFECT_COUNT; i++) {
        if (strlen(names[i]) != length - 1 || memcmp(names[i], item + 1, length - 1) != 0)
            continue;
        if (*item == '-')
            *off |= 1U << i;
        else
            *off &= ~(1U << i);
        return STATUS_OK;
    }
    return unknown_name(item + 1, length - 1);
}

enum status effects_parse(const char *text, effects_off *out)
{
    effects_off off = 0;
    const char *at = text != NULL ? text : "";
    while (*at != '\0') {
        size_t length = strcspn(at, ",");
        enum status status = parse_item(at, length, &off);
        if (status != STATUS_OK)
            return status;
        at += length;
        if (*at == ',' && *++at == '\0')
            return status_set(STATUS_USAGE, EMUL_EFFECTS_VARIABLE " ends with a comma");
    }
    *out = off;
    return STATUS_OK;
}
