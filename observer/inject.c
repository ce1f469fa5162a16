/*
 * What the CUDA driver loads into a program that is traced, because CUDA_INJECTION64_PATH names
 * this library: at the program's first call of the driver it calls InitializeInjection().
 */
#include "client/attachment.h"
#include "tracing/injected.h"

#define EXPORT __attribute__((visibility("default")))

/* One that cannot be traced fails. */
static void begin_trace(void)
{
    if (!client_attach() || !client_trace() ||
        injected_begin(client_trace(), client_process(), client_shm()) == STATUS_OK)
        return;
    shm_slot_fail(shm_slot_at(client_shm(), client_process(), 0), STATUS_WORKER, 0, status_text());
    client_wake_orchestrator();
}

/* The driver's. 1: it went well; the driver does not care. */
EXPORT int InitializeInjection(void);
int InitializeInjection(void)
{
    begin_trace();
    return 1;
}
