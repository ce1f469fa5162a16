/*
 * Does the first launch of a kernel wait for a copy of another thread? With lazy loading the driver
 * loads a kernel when it is first used, and may have to wait for what runs in the context. Loading
 * eagerly should help; drivers were seen where the first launch waits all the same, and only a
 * kernel that was launched before does not.
 */
#include <sched.h>

#include "common/clock.h"
#include "kernels/image.h"
#include "probes/experiments/copier.h"
#include "probes/rows.h"
#include "probes/experiments/waiting_copy.h"
#include "probes/watchdog.h"

/* A sample needs a kernel that was never used, and so a module of its own. */
#define MODULES 8

#define BOUND_NS (50 * NS_PER_MS)

enum variant {
    ALONE = 0,
    COPYING = 1, /* another thread copies again and again */
    WAITING = 2, /* another thread is in a copy that waits for a host function */
    WARM = 4,    /* the kernel was launched before that */
};

struct lazy {
    struct probe_run *run;
    struct probe_gpu gpu;
    cuda_module modules[MODULES];
    cuda_stream stream;
    struct copier copier;
    struct waiting_copy waiting;
    struct probe_watchdog *watchdog;
};

/* A copy that has just begun lasts longest. */
static void await_new_copy(struct lazy *lazy)
{
    uint64_t seen = atomic_load(&lazy->copier.copies);
    while (atomic_load(&lazy->copier.copies) == seen && !copier_has_ended(&lazy->copier) &&
           !probe_is_over(lazy->run))
        sched_yield();
}

static cuda_result launch(const struct lazy *lazy, cuda_module module, cuda_function *function)
{
    const struct cuda_driver *driver = &lazy->run->driver;
    cuda_result result = CUDA_SUCCESS_;
    if (!*function)
        result = driver->module_get_function(function, module, KERNELS_EMPTY);
    return result != CUDA_SUCCESS_
               ? result
               : driver->launch_kernel(*function, 1, 1, 1, 1, 1, 1, 0, lazy->stream, NULL, NULL);
}

static enum status warm_up(struct lazy *lazy, cuda_module module, cuda_function *function)
{
    enum status status =
        cuda_check(&lazy->run->driver, launch(lazy, module, function), "the launch before");
    return status != STATUS_OK ? status : probe_synchronize(lazy->run, lazy->stream);
}

static enum status sample(struct lazy *lazy, cuda_module module)
{
    struct probe_run *run = lazy->run;
    const struct cuda_driver *driver = &run->driver;
    bool waits = run->arm->variant & WAITING;
    cuda_function function = NULL;
    enum status status = run->arm->variant & WARM ? warm_up(lazy, module, &function) : STATUS_OK;
    if (status == STATUS_OK && waits)
        status = waiting_copy_begin(&lazy->waiting);
    if (status != STATUS_OK)
        return status;
    if (run->arm->variant & COPYING)
        await_new_copy(lazy);
    probe_watchdog_arm(lazy->watchdog, clock_now_ns() + BOUND_NS);
    uint64_t begin_ns = clock_now_ns();
    cuda_result result = launch(lazy, module, &function);
    uint64_t end_ns = clock_now_ns();
    bool blocked = probe_watchdog_disarm(lazy->watchdog);
    enum status ended = waits ? waiting_copy_end(&lazy->waiting) : STATUS_OK;
    status = cuda_check(driver, result, "first launch");
    if (status == STATUS_OK)
        status = ended;
    if (status == STATUS_OK)
        status = probe_synchronize(run, lazy->stream);
    if (status != STATUS_OK)
        return status;
    probe_sample(run, 0, end_ns - begin_ns);
    if (blocked && waits)
        probe_blocked(run, 0);
    return STATUS_OK;
}

/* A driver that loads another way than its setting measures something else. */
static enum status check_mode(const struct probe_run *run)
{
    cuda_loading_mode mode = CUDA_LOADING_EAGER;
    if (!run->driver.module_get_loading_mode)
        return status_set(STATUS_UNSUPPORTED,
                          "this driver has no lazy loading: it needs CUDA 11.7");
    enum status status = PROBE_CALL(run, module_get_loading_mode, &mode);
    bool wanted = run->arm->number == CUDA_LOADING_LAZY;
    if (status == STATUS_OK && wanted != (mode == CUDA_LOADING_LAZY))
        return status_set(STATUS_UNSUPPORTED, "the driver loads %s in spite of %s",
                          wanted ? "eagerly" : "lazily", run->arm->environment);
    return status;
}

static enum status open_all(struct lazy *lazy)
{
    struct probe_run *run = lazy->run;
    const struct copier_options options = {.bytes = (size_t)256 << 20};
    unsigned variant = run->arm->variant;
    /* The waiting copy has a module of its own where a copy before it needs a kernel. */
    enum status status = probe_gpu_open(run, 0, false, &lazy->gpu);
    if (status == STATUS_OK)
        status = check_mode(run);
    if (status == STATUS_OK)
        status = probe_new_stream(run, &lazy->stream);
    if (status == STATUS_OK && variant & COPYING)
        status = copier_open(run, &lazy->gpu, &options, &lazy->copier);
    if (status == STATUS_OK && variant & WAITING)
        status = waiting_copy_open(run, &lazy->gpu, 4, false, WAITING_COPY_OWN, &lazy->waiting);
    if (status == STATUS_OK)
        status = probe_watchdog_new(waiting_copy_release, &lazy->waiting, &lazy->watchdog);
    for (unsigned i = 0; i < MODULES && status == STATUS_OK; i++)
        status = probe_module_load(run, &lazy->modules[i]);
    return status;
}

static void close_all(struct lazy *lazy)
{
    copier_close(&lazy->copier);
    waiting_copy_close(&lazy->waiting);
    probe_watchdog_free(lazy->watchdog);
    for (unsigned i = 0; i < MODULES; i++)
        if (lazy->modules[i])
            lazy->run->driver.module_unload(lazy->modules[i]);
    probe_destroy_stream(lazy->run, lazy->stream);
    probe_gpu_close(lazy->run, &lazy->gpu);
}

static enum status run_arm(struct probe_run *run)
{
    struct lazy lazy = {.run = run};
    enum status status = open_all(&lazy);
    if (status == STATUS_OK)
        status = probe_begin(run);
    if (status == STATUS_OK && run->arm->variant & COPYING)
        status = copier_start(&lazy.copier);
    for (unsigned i = 0; i < MODULES && status == STATUS_OK && !probe_is_over(run); i++)
        status = sample(&lazy, lazy.modules[i]);
    if (run->arm->variant & COPYING) {
        enum status copied = copier_stop(&lazy.copier);
        status = status == STATUS_OK ? copied : status;
    }
    close_all(&lazy);
    return status;
}

#define ARM(given_name, given_what, given_control, given_variant, given_mode)                      \
    {                                                                                              \
        .name = (given_name), .what = (given_what), .control = (given_control),                    \
        .environment = "CUDA_MODULE_LOADING=" #given_mode, .variant = (given_variant),             \
        .number = CUDA_LOADING_##given_mode, .run = run_arm                                        \
    }

static const struct probe_arm arms[] = {
    ARM("lazy-copy", "lazy loading, another thread copies 256 MiB", "lazy-alone", COPYING, LAZY),
    ARM("lazy-waiting", "lazy loading, a copy waits for the host", "lazy-alone", WAITING, LAZY),
    ARM("eager-copy", "eager loading, another thread copies", "eager-alone", COPYING, EAGER),
    ARM("eager-waiting", "eager loading, a copy waits for the host", "eager-alone", WAITING, EAGER),
    ARM("warm-copy", "lazy, launched before the copy of 256 MiB", "warm-alone", COPYING | WARM,
        LAZY),
    ARM("warm-waiting", "lazy, launched before the copy that waits", "warm-alone", WAITING | WARM,
        LAZY),
    ARM("lazy-alone", "lazy loading, nothing else runs", NULL, ALONE, LAZY),
    ARM("eager-alone", "eager loading, nothing else runs", NULL, ALONE, EAGER),
    ARM("warm-alone", "lazy, launched before, nothing else runs", NULL, WARM, LAZY),
};

static const char *const remedies[] = {"warm-waiting", "eager-waiting", NULL};

const struct probe probe_lazy_load = {
    .name = "lazy-load",
    .question = "does the first launch of a kernel under lazy module loading wait for a copy that "
                "another thread is making?",
    .method = "Eight modules are loaded; in each, thread B asks for a kernel and launches it for "
              "the first time, while thread A copies 256 MiB of pageable memory to the host, or is "
              "in a copy that waits for a host function. CUDA_MODULE_LOADING of the arm's process "
              "sets how the driver loads; in the warm arms the kernel was launched once before.",
    .metrics = {"first launch"},
    .gpus = 1,
    .rounds = 3,
    .measure_ns = 200 * NS_PER_MS,
    .arms = arms,
    .arm_count = sizeof arms / sizeof *arms,
    .subject = "lazy-waiting",
    .matters_ratio = 1.5,
    .matters_ns = 100 * NS_PER_US,
    .remedy =
        "launch every kernel once before other threads copy; whether CUDA_MODULE_LOADING=EAGER "
        "is enough differs among drivers: see eager-waiting",
    .remedies = remedies,
};
