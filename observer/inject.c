/*
 * What the CUDA driver loads into a program that is traced, because CUDA_INJECTION64_PATH names this
 * library: at the program's first call of the driver it calls InitializeInjection().
 */
#include "client/internal.h"
#include "tracing/injected.h"

#define EXPORT __attribute__((visibility("default")))

/* One that cannot be traced fails. */
static void begin_trace(void)
{
    if (!client_attach() || !client.trace.header ||
        injected_begin(&client.trace, client.process, &client.shm) == STATUS_OK)
        return;
    shm_slot_fail(shm_slot_at(&client.shm, client.process, 0), STATUS_WORKER, 0, status_text());
    client_tell_orchestrator();
}

/* The driver's. 1: it went well; the driver does not care. */
EXPORT int InitializeInjection(void);
int InitializeInjection(void)
{
    begin_trace();
    return 1;
}
