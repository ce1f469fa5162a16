/*
 * The effects of a real driver that the emulated one has, each of which can be switched off, so
 * that an experiment can be seen to find it and to miss it: the environment variable
 * EMUL_EFFECTS_VARIABLE holds -NAME,+NAME,...; the last word on a name counts. It is read when the
 * machine's state is made (emul/model/state.h). docs/emulated.md describes each effect.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"

#define EMUL_EFFECTS_VARIABLE "MPSWEEP_EMUL_EFFECTS"

enum effect {
    EFFECT_LAUNCH_DELAY,
    EFFECT_COPY_BLOCK,
    EFFECT_CONTEXT_ADMISSION,
    EFFECT_PEER_STALL,
    EFFECT_LAZY_LOAD,
    EFFECT_LAUNCH_CONTENTION,
    EFFECT_COUNT
};

/* A set of effects that are switched off; 0: all are on. */
typedef uint32_t effects_off;

static inline bool effect_is_on(effects_off off, enum effect effect)
{
    return (off >> effect & 1) == 0;
}

/* NULL or "": all are on. STATUS_USAGE: an unknown name, or one without a sign; *out is set only on
 * success. */
enum status effects_parse(const char *text, effects_off *out);
