/*
 * The emulated GPU's CUPTI as an older one would be: it takes no clock of a tracer's, and its own
 * is not the one that mpsweep has. MPSWEEP_FAKE_CUPTI_BEHIND names the library that it hands all
 * else to; MPSWEEP_FAKE_CUPTI_VERSION is the version that it reports, or "abort" instead; with
 * MPSWEEP_FAKE_CUPTI_DROPPED it has dropped that many records once all buffers are back.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "device/cupti_abi.h"

/* What the other clock is ahead of ours. */
#define OTHER_EPOCH_NS UINT64_C(1700000000000000000)

#define EXPORT __attribute__((visibility("default")))

#define DECLARE(field, symbol, version, need, parameters) EXPORT cupti_result symbol parameters;
CUPTI_SYMBOLS(DECLARE)

/* As fast as ours, unlike the time of day, which the system corrects while a trace runs. */
static uint64_t other_clock(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return OTHER_EPOCH_NS + (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void *behind(const char *name)
{
    static void *library;
    const char *path = getenv("MPSWEEP_FAKE_CUPTI_BEHIND");
    if (!library)
        library = dlopen(path ? path : "", RTLD_NOW | RTLD_LOCAL);
    void *symbol = library ? dlsym(library, name) : NULL;
    if (!symbol) {
        fprintf(stderr, "MPSWEEP_FAKE_CUPTI_BEHIND has no %s\n", name);
        abort();
    }
    return symbol;
}

#define BEHIND(symbol) ((__typeof__(&(symbol)))(uintptr_t)behind(#symbol))

cupti_result cuptiGetVersion(uint32_t *version)
{
    const char *text = getenv("MPSWEEP_FAKE_CUPTI_VERSION");
    if (text && strcmp(text, "abort") == 0)
        abort();
    *version = text ? (uint32_t)strtoul(text, NULL, 10) : 16;
    return CUPTI_SUCCESS_;
}

cupti_result cuptiGetResultString(cupti_result result, const char **text)
{
    return BEHIND(cuptiGetResultString)(result, text);
}

cupti_result cuptiGetCallbackName(cupti_callback_domain domain, uint32_t callback,
                                  const char **name)
{
    return BEHIND(cuptiGetCallbackName)(domain, callback, name);
}

cupti_result cuptiGetTimestamp(uint64_t *nanoseconds)
{
    *nanoseconds = other_clock();
    return CUPTI_SUCCESS_;
}

cupti_result cuptiSetThreadIdType(cupti_thread_id_type type)
{
    return BEHIND(cuptiSetThreadIdType)(type);
}

/* The first that is called: from here on times are those of the other clock. */
cupti_result cuptiActivityRegisterCallbacks(cupti_buffer_requested requested,
                                            cupti_buffer_completed completed)
{
    BEHIND(cuptiActivityRegisterTimestampCallback)(other_clock);
    return BEHIND(cuptiActivityRegisterCallbacks)(requested, completed);
}

cupti_result cuptiActivityEnable(cupti_activity_kind kind)
{
    return BEHIND(cuptiActivityEnable)(kind);
}

cupti_result cuptiActivityDisable(cupti_activity_kind kind)
{
    return BEHIND(cuptiActivityDisable)(kind);
}

cupti_result cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid_bytes,
                                        cupti_activity **record)
{
    return BEHIND(cuptiActivityGetNextRecord)(buffer, valid_bytes, record);
}

static size_t dropped_last;

cupti_result cuptiActivityGetNumDroppedRecords(cuda_context context, uint32_t stream,
                                               size_t *dropped)
{
    cupti_result result = BEHIND(cuptiActivityGetNumDroppedRecords)(context, stream, dropped);
    *dropped += dropped_last;
    dropped_last = 0;
    return result;
}

cupti_result cuptiActivityFlushAll(uint32_t flags)
{
    const char *dropped = getenv("MPSWEEP_FAKE_CUPTI_DROPPED");
    cupti_result result = BEHIND(cuptiActivityFlushAll)(flags);
    dropped_last = dropped ? strtoul(dropped, NULL, 10) : 0;
    return result;
}
