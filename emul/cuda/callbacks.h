/*
 * CUPTI's callbacks around the calls of the emulated driver, at entry and at exit, for one
 * subscriber at a time. A call's identifier is its number in device/cuda_abi.h's table, from 1.
 *
 * OBSERVE() in process.h is the first statement of every entry point. Where the call is enabled it
 * makes the callbacks, in the calling thread, around a second call of the entry point, which then
 * does the work. So they come outside of all that the driver does, and under no lock of its: one
 * that blocks holds up its own thread only. What a callback itself calls gives none. While nothing
 * is enabled an entry point costs one relaxed load more.
 *
 * A callback that another thread is in may outlive the end of its subscription.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/cuda_abi.h"
#include "emul/cuda/fault.h"

struct callbacks_call {
    enum entry entry;
    const void *parameters; /* as the toolkit's generated_cuda_meta.h lays them out */
    const char *symbol;     /* the kernel that is launched, or NULL */
    uint32_t correlation;
    uint64_t shared;
};

/* The entry points by their fields. */
struct callbacks_entries {
#define CALLBACKS_ENTRY(field, symbol, version, need, parameters) cuda_result(*field) parameters;
    CUDA_DRIVER_SYMBOLS(CALLBACKS_ENTRY)
#undef CALLBACKS_ENTRY
};
extern const struct callbacks_entries callbacks_entries;

/* How many calls are enabled. */
extern _Atomic uint32_t callbacks_enabled;

/* Whether this one is, and the calling thread is not in a call that has its callbacks already. */
bool callbacks_include(enum entry entry);

static inline bool callbacks_want(enum entry entry)
{
    return atomic_load_explicit(&callbacks_enabled, memory_order_relaxed) != 0 &&
           callbacks_include(entry);
}

/* Entry and exit, with the thread's current context; the latter returns the result. */
void callbacks_enter(struct callbacks_call *call, cuda_context context);
cuda_result callbacks_exit(struct callbacks_call *call, cuda_context context, cuda_result result);

/* A member for each parameter, of its name and type; 11 are the most that a call has. */
#define CALLBACKS_MEMBERS(...)                                                                     \
    CALLBACKS_PICK(0, ##__VA_ARGS__, MEMBERS_11, MEMBERS_10, MEMBERS_9, MEMBERS_8, MEMBERS_7,      \
                   MEMBERS_6, MEMBERS_5, MEMBERS_4, MEMBERS_3, MEMBERS_2, MEMBERS_1, MEMBERS_0, )  \
    (__VA_ARGS__)
#define CALLBACKS_PICK(zero, a, b, c, d, e, f, g, h, i, j, k, members, ...) members
#define MEMBER(name) __typeof__(name) name;
#define MEMBERS_0()
#define MEMBERS_1(name) MEMBER(name)
#define MEMBERS_2(name, ...) MEMBER(name) MEMBERS_1(__VA_ARGS__)
#define MEMBERS_3(name, ...) MEMBER(name) MEMBERS_2(__VA_ARGS__)
#define MEMBERS_4(name, ...) MEMBER(name) MEMBERS_3(__VA_ARGS__)
#define MEMBERS_5(name, ...) MEMBER(name) MEMBERS_4(__VA_ARGS__)
#define MEMBERS_6(name, ...) MEMBER(name) MEMBERS_5(__VA_ARGS__)
#define MEMBERS_7(name, ...) MEMBER(name) MEMBERS_6(__VA_ARGS__)
#define MEMBERS_8(name, ...) MEMBER(name) MEMBERS_7(__VA_ARGS__)
#define MEMBERS_9(name, ...) MEMBER(name) MEMBERS_8(__VA_ARGS__)
#define MEMBERS_10(name, ...) MEMBER(name) MEMBERS_9(__VA_ARGS__)
#define MEMBERS_11(name, ...) MEMBER(name) MEMBERS_10(__VA_ARGS__)
