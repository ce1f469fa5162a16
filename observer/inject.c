/*
 * What the CUDA driver loads into a program that does not report its iterations, because
 * CUDA_INJECTION64_PATH names this library: at the program's first call of the driver it calls
 * InitializeInjection(). From then on CUPTI calls us back after the calls that observer/calls.h
 * lists, in the thread that made them. Where the process is traced, it records that, too, whether
 * the program reports its iterations or not.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "client/internal.h"
#include "device/cupti.h"
#include "observer/calls.h"
#include "observer/watcher.h"
#include "tracing/injected.h"
#include "wire/program.h"

#define EXPORT __attribute__((visibility("default")))

/* Numbers of the driver's calls: CUPTI counts them from 1. */
#define CALLBACKS_MOST 2048

static struct {
    struct cupti cupti;
    cupti_subscriber subscriber;
    struct tick tick;
    uint8_t kinds[CALLBACKS_MOST]; /* enum call_kind of each call */
    sem_t over;
} inject;

static struct call read_call(enum call_kind kind, const struct cupti_callback_data *data)
{
    struct call call = {.kind = kind};
    if (kind == CALL_COPY_IN || kind == CALL_COPY_OUT || kind == CALL_COPY_OUT_WAIT)
        call.bytes = ((const struct cupti_copy_parameters *)data->parameters)->bytes;
    if (kind != CALL_LAUNCH || !data->symbol)
        return call;
    /* CUPTI has one text for a kernel. */
    call.what = (uintptr_t)data->symbol;
    call.named = inject.tick.kind == TICK_KERNEL && strstr(data->symbol, inject.tick.name);
    return call;
}

static void on_call(void *unused, cupti_callback_domain domain, uint32_t callback, const void *data)
{
    const struct cupti_callback_data *made = data;
    (void)unused;
    if (domain != CUPTI_DOMAIN_DRIVER || callback >= CALLBACKS_MOST ||
        made->site != CUPTI_SITE_EXIT || *(const cuda_result *)made->result != CUDA_SUCCESS_)
        return;
    struct watcher *watcher = watcher_of_thread();
    if (watcher) {
        const struct call call = read_call((enum call_kind)inject.kinds[callback], made);
        watcher_take(watcher, &call);
    } else if (watcher_is_over()) {
        sem_post(&inject.over);
    }
}

/* A program that reports its iterations itself is left alone: its calls are fast again. Not in a
 * callback, where CUPTI does not take it. */
static void *await_end(void *unused)
{
    (void)unused;
    while (sem_wait(&inject.over) != 0)
        ;
    inject.cupti.unsubscribe(inject.subscriber);
    return NULL;
}

static enum status start_thread(void)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    sem_init(&inject.over, 0, 0);
    /* Signals are the program's. */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, NULL, await_end, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return status_set(STATUS_SYSTEM, "cannot start a thread: %s", strerror(error));
    pthread_detach(thread);
    return STATUS_OK;
}

static enum status enable_calls(void)
{
    const struct cupti *cupti = &inject.cupti;
    for (uint32_t i = 1; i < CALLBACKS_MOST; i++) {
        const char *name = NULL;
        if (cupti->get_callback_name(CUPTI_DOMAIN_DRIVER, i, &name) != CUPTI_SUCCESS_ || !name)
            continue;
        inject.kinds[i] = (uint8_t)call_kind_of(name);
        if (inject.kinds[i] == CALL_OTHER)
            continue;
        enum status status =
            cupti_check(cupti, cupti->enable_callback(1, inject.subscriber, CUPTI_DOMAIN_DRIVER, i),
                        "cuptiEnableCallback");
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

static enum status subscribe(void)
{
    const struct cupti *cupti = &inject.cupti;
    enum status status = cupti_load(getenv(OBSERVER_CUPTI_VARIABLE), &inject.cupti);
    if (status != STATUS_OK)
        return status;
    if (!cupti->subscribe || !cupti->unsubscribe || !cupti->enable_callback)
        return status_set(STATUS_UNSUPPORTED, "'%s' has no callbacks", cupti->name);
    cupti_result result = cupti->subscribe(&inject.subscriber, on_call, NULL);
    if (result == CUPTI_MULTIPLE_SUBSCRIBERS || result == CUPTI_MAX_LIMIT_REACHED)
        return status_set(STATUS_UNSUPPORTED,
                          "the program uses CUPTI itself, as profilers do, and CUPTI serves one at "
                          "a time: stop its profiler, or let the program report its iterations");
    status = cupti_check(cupti, result, "cuptiSubscribe");
    if (status == STATUS_OK)
        status = start_thread();
    return status == STATUS_OK ? enable_calls() : status;
}

/* Where the process is traced. One that cannot be fails. */
static void begin_trace(void)
{
    if (!client_attach() || !client.trace.header ||
        injected_begin(&client.trace, client.process, &client.shm) == STATUS_OK)
        return;
    shm_slot_fail(shm_slot_at(&client.shm, client.process, 0), STATUS_WORKER, 0, status_text());
    client_tell_orchestrator();
}

static size_t padded(size_t bytes)
{
    return (bytes + 3) & ~(size_t)3;
}

/* Whether there is the client's note among those of an object. */
static bool has_note(const char *notes, size_t bytes)
{
    for (size_t at = 0; at + sizeof(ElfW(Nhdr)) <= bytes;) {
        const ElfW(Nhdr) *note = (const void *)(notes + at);
        const char *name = notes + at + sizeof *note;
        if (note->n_type == CLIENT_NOTE && note->n_namesz == sizeof CLIENT_NOTE_NAME &&
            memcmp(name, CLIENT_NOTE_NAME, sizeof CLIENT_NOTE_NAME) == 0)
            return true;
        at += sizeof *note + padded(note->n_namesz) + padded(note->n_descsz);
    }
    return false;
}

/* In the program itself, which comes first: the client may be linked into it. */
static int look_into(struct dl_phdr_info *object, size_t bytes, void *found)
{
    (void)bytes;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        if (part->p_type == PT_NOTE && part->p_align <= 4 &&
            has_note((const char *)object->dlpi_addr + part->p_vaddr, part->p_filesz))
            *(bool *)found = true;
    }
    return 1;
}

/* A program that has the client will report its iterations. */
static bool has_client(void)
{
    bool found = false;
    void *library = dlopen(CLIENT_LIBRARY, RTLD_NOW | RTLD_NOLOAD);
    if (library)
        dlclose(library);
    dl_iterate_phdr(look_into, &found);
    return library || found;
}

/* The driver's. 1: it went well; the driver does not care. */
EXPORT int InitializeInjection(void);
int InitializeInjection(void)
{
    begin_trace();
    const char *text = getenv(OBSERVER_TICK_VARIABLE);
    if (!text || !tick_parse(text, &inject.tick) || has_client() || !watcher_open(&inject.tick))
        return 1;
    if (inject.tick.kind != TICK_NVTX && subscribe() != STATUS_OK)
        watcher_refuse(status_text());
    return 1;
}
