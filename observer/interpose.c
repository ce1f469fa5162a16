/*
 * What stands in the place of the driver's functions in a program that does not report its
 * iterations, because LD_PRELOAD names this library. What is linked with the driver finds our
 * functions first. dlsym() and cuGetProcAddress(), by which the CUDA runtime and frameworks look
 * the driver's up, are ours, too.
 *
 * Ours call the driver's and hand what was called to the calling thread's watcher. That costs
 * nanoseconds; CUPTI slows a program of large graphs down by a tenth and more once it has a
 * subscriber (docs/results/h200-observed.txt).
 *
 * The library also comes into programs that use no GPU: it does nothing before the first of these
 * calls or lookups.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "device/cuda_abi.h"
#include "observer/calls.h"
#include "observer/has_client.h"
#include "observer/watcher.h"
#include "wire/program.h"

#define EXPORT __attribute__((visibility("default")))

typedef void (*function)(void);

/* -- functions of ours and of the driver ------------------------------------------------------- */

#define NUMBER_TWICE(name, added, thread, ...) PLAIN_##name, THREAD_##name,
#define NUMBER_ONCE(name, ...) PLAIN_##name,
enum number {
    CALLS_OF_STREAMS(NUMBER_TWICE) CALLS_OF_CONTEXTS(NUMBER_ONCE) PLAIN_cuGetProcAddress,
    PLAIN_cuGetProcAddress_v2,
    NUMBERS
};

#define DECLARE(symbol, parameters) EXPORT cuda_result symbol parameters;
#define DECLARE_TWICE(name, added, thread, kind, parameters, ...)                                  \
    DECLARE(name##added, parameters) DECLARE(name##added##thread, parameters)
#define DECLARE_ONCE(name, kind, parameters, ...) DECLARE(name, parameters)
CALLS_OF_STREAMS(DECLARE_TWICE)
CALLS_OF_CONTEXTS(DECLARE_ONCE)
DECLARE(cuGetProcAddress, (const char *name, void **out, int version, uint64_t flags))
DECLARE(cuGetProcAddress_v2,
        (const char *name, void **out, int version, uint64_t flags, void *status))

#define ROW(number, called, symbol_, thread)                                                       \
    [number] = {#called, #symbol_, (function)(symbol_), thread},
#define ROWS_TWICE(name, added, thread, ...)                                                       \
    ROW(PLAIN_##name, name, name##added, false)                                                    \
    ROW(THREAD_##name, name, name##added##thread, true)
#define ROW_ONCE(name, ...) ROW(PLAIN_##name, name, name, false)
static const struct {
    const char *name; /* for cuGetProcAddress() */
    const char *symbol;
    function ours;
    bool thread; /* for the default streams of threads */
} functions[NUMBERS] = {
    /* clang-format off */
    CALLS_OF_STREAMS(ROWS_TWICE)
    CALLS_OF_CONTEXTS(ROW_ONCE)
    ROW(PLAIN_cuGetProcAddress, , cuGetProcAddress, false)
    ROW(PLAIN_cuGetProcAddress_v2, cuGetProcAddress, cuGetProcAddress_v2, false)
    /* clang-format on */
};

/* The driver's. */
static _Atomic(function) theirs[NUMBERS];

static struct {
    pthread_once_t once, once_named, once_pointers;
    bool watches;
    struct tick tick;
    _Atomic(void *) driver; /* RTLD_DEFAULT: the program is linked with it */
    cuda_result (*function_name)(const char **name, const void *kernel);
    cuda_result (*kernel_name)(const char **name, const void *kernel);
    cuda_result (*pointer_attribute)(void *out, int attribute, uint64_t pointer);
} interposer = {
    .once = PTHREAD_ONCE_INIT, .once_named = PTHREAD_ONCE_INIT, .once_pointers = PTHREAD_ONCE_INIT};

static uint64_t read_number(const char *variable)
{
    const char *text = getenv(variable);
    return text ? strtoull(text, NULL, 10) : 0;
}

static void decide(void)
{
    const char *text = getenv(OBSERVER_TICK_VARIABLE);
    interposer.watches =
        text && tick_parse(text, &interposer.tick) && interposer.tick.kind != TICK_NVTX &&
        !has_client() &&
        watcher_open(&interposer.tick, (unsigned)read_number(OBSERVER_KNOWN_VARIABLE),
                     read_number(OBSERVER_COLD_VARIABLE) * NS_PER_MS);
}

static bool watches(void)
{
    pthread_once(&interposer.once, decide);
    return interposer.watches;
}

/* Ours in the place of the driver's. Of several versions of a function the first is watched. */
static function replace(enum number number, function found)
{
    function none = NULL;
    if (!found || found == functions[number].ours || !watches())
        return found;
    bool is_first = atomic_compare_exchange_strong(&theirs[number], &none, found);
    return is_first || none == found ? functions[number].ours : found;
}

/* -- lookups ----------------------------------------------------------------------------------- */

/* Sanitizers look functions up before they are ready for calls of instrumented code. */
#define EARLY __attribute__((no_sanitize("address", "thread", "undefined")))

typedef void *(*lookup)(void *library, const char *name);

/* The C library's dlsym(). */
EARLY static lookup find_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    static _Atomic(lookup) own;
    lookup found = atomic_load_explicit(&own, memory_order_relaxed);
    for (size_t i = 0; !found && i < sizeof versions / sizeof versions[0]; i++)
        found = (lookup)dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    if (!found)
        abort();
    atomic_store_explicit(&own, found, memory_order_relaxed);
    return found;
}

static void *look_up(void *library, const char *name)
{
    void *found = find_dlsym()(library, name);
    for (int i = 0; i < NUMBERS; i++) {
        if (strcmp(functions[i].symbol, name) != 0)
            continue;
        atomic_store(&interposer.driver, library);
        return (void *)replace((enum number)i, (function)found);
    }
    return found;
}

/* What RTLD_NEXT means depends on who calls the C library's: the call must replace ours, as the
 * last thing that an optimised function does. What wraps the driver's functions, as we do, asks for
 * the next ones, and gets those of the driver. */
EXPORT EARLY __attribute__((optimize("O2"))) void *dlsym(void *restrict library,
                                                         const char *restrict name)
{
    lookup next = find_dlsym();
    if (library != RTLD_NEXT && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' &&
        name[2] <= 'Z')
        next = look_up;
    return next(library, name);
}

#define PER_THREAD 2 /* CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM */
/* From which versions on there are cuGetProcAddress_v2 and cuCtxSynchronize_v2. */
#define CUDA_12 12000
#define CUDA_13 13000

/* A function without a variant for threads is the same for both. */
static int number_of(const char *name, int version, bool thread)
{
    int number = -1;
    if (strcmp(name, "cuGetProcAddress") == 0)
        return version >= CUDA_12 ? PLAIN_cuGetProcAddress_v2 : PLAIN_cuGetProcAddress;
    if (strcmp(name, "cuCtxSynchronize") == 0 && version >= CUDA_13)
        return PLAIN_cuCtxSynchronize_v2;
    for (int i = 0; i < NUMBERS; i++)
        if (strcmp(functions[i].name, name) == 0 && (number < 0 || functions[i].thread == thread))
            number = i;
    return number;
}

static cuda_result replace_found(cuda_result result, const char *name, void **out, int version,
                                 uint64_t flags)
{
    int number = result == CUDA_SUCCESS_ ? number_of(name, version, flags & PER_THREAD) : -1;
    if (number >= 0)
        *out = (void *)replace((enum number)number, (function)*out);
    return result;
}

/* -- calls ------------------------------------------------------------------------------------- */

static cuda_result is_missing(void)
{
    return CUDA_NOT_INITIALIZED;
}

/* The driver's function, which nothing has looked up where the program is linked with it. */
static function find(enum number number)
{
    function found = atomic_load_explicit(&theirs[number], memory_order_relaxed);
    if (found)
        return found;
    watches();
    found = (function)find_dlsym()(RTLD_NEXT, functions[number].symbol);
    if (!found)
        found = (function)is_missing;
    atomic_store(&theirs[number], found);
    return found;
}

static void find_names(void)
{
    void *driver = atomic_load(&interposer.driver);
    *(void **)&interposer.function_name = find_dlsym()(driver, "cuFuncGetName");
    *(void **)&interposer.kernel_name = find_dlsym()(driver, "cuKernelGetName");
    if (!interposer.function_name)
        watcher_refuse("the driver does not report the names of kernels, as those since CUDA 12.3 "
                       "do: give another --tick (" TICK_FORMS ")");
}

/* Whether it is the kernel that was asked for. The runtime's handles are those of kernels, which
 * launches take as functions. */
static bool is_named(const void *kernel)
{
    const char *name = NULL;
    pthread_once(&interposer.once_named, find_names);
    if (!interposer.function_name)
        return false;
    if (interposer.function_name(&name, kernel) != CUDA_SUCCESS_ && interposer.kernel_name)
        interposer.kernel_name(&name, kernel);
    return name && strstr(name, interposer.tick.name);
}

static void find_pointer_attribute(void)
{
    *(void **)&interposer.pointer_attribute =
        find_dlsym()(atomic_load(&interposer.driver), "cuPointerGetAttribute");
}

/* The driver knows its own memory; of malloc()'s it knows nothing. */
static bool is_host(uint64_t pointer)
{
    unsigned memory = CUDA_MEMORY_HOST;
    pthread_once(&interposer.once_pointers, find_pointer_attribute);
    return !interposer.pointer_attribute ||
           interposer.pointer_attribute(&memory, CUDA_POINTER_MEMORY_TYPE, pointer) !=
               CUDA_SUCCESS_ ||
           memory == CUDA_MEMORY_HOST;
}

static enum call_kind kind_between(bool to_host, bool from_host, bool waits)
{
    if (to_host == from_host)
        return CALL_OTHER;
    if (from_host)
        return CALL_COPY_IN;
    return waits ? CALL_COPY_OUT_WAIT : CALL_COPY_OUT;
}

static enum call_kind copy_kind(uint64_t to, uint64_t from, bool waits)
{
    return interposer.watches ? kind_between(is_host(to), is_host(from), waits) : CALL_OTHER;
}

static bool is_host_end(const cuda_copy_end *end)
{
    return end->memory == CUDA_MEMORY_UNIFIED ? is_host(end->device)
                                              : end->memory == CUDA_MEMORY_HOST;
}

static enum call_kind copy_area_kind(const cuda_copy_area *area, bool waits)
{
    return interposer.watches
               ? kind_between(is_host_end(&area->to), is_host_end(&area->from), waits)
               : CALL_OTHER;
}

static cuda_result take(cuda_result result, enum call_kind kind, const void *kernel, uint64_t bytes)
{
    bool counts = result == CUDA_SUCCESS_ && kind != CALL_OTHER && interposer.watches;
    struct watcher *watcher = counts ? watcher_of_thread() : NULL;
    if (!watcher)
        return result;
    const struct call call = {
        .kind = kind,
        .named = kernel && interposer.tick.kind == TICK_KERNEL && is_named(kernel),
        .bytes = bytes,
        .what = (uintptr_t)kernel,
    };
    watcher_take(watcher, &call);
    return result;
}

/* NOLINTNEXTLINE(bugprone-macro-parentheses): a list of parameters, and one of arguments */
#define CALL(number, parameters, arguments) ((cuda_result(*) parameters)find(number)) arguments
#define DEFINE(number, symbol, kind, parameters, arguments, kernel, bytes)                         \
    cuda_result symbol parameters                                                                  \
    {                                                                                              \
        /* It may be the first one, which decides whether kinds are looked at. */                  \
        cuda_result result = CALL(number, parameters, arguments);                                  \
        return take(result, kind, kernel, bytes);                                                  \
    }
#define DEFINE_TWICE(name, added, thread, ...)                                                     \
    DEFINE(PLAIN_##name, name##added, __VA_ARGS__)                                                 \
    DEFINE(THREAD_##name, name##added##thread, __VA_ARGS__)
#define DEFINE_ONCE(name, ...) DEFINE(PLAIN_##name, name, __VA_ARGS__, NULL, 0)
CALLS_OF_STREAMS(DEFINE_TWICE)
CALLS_OF_CONTEXTS(DEFINE_ONCE)

cuda_result cuGetProcAddress(const char *name, void **out, int version, uint64_t flags)
{
    return replace_found(CALL(PLAIN_cuGetProcAddress, (const char *, void **, int, uint64_t),
                              (name, out, version, flags)),
                         name, out, version, flags);
}

cuda_result cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags,
                                void *status)
{
    return replace_found(CALL(PLAIN_cuGetProcAddress_v2,
                              (const char *, void **, int, uint64_t, void *),
                              (name, out, version, flags, status)),
                         name, out, version, flags);
}
