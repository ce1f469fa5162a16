/*
 * A client for tests of the watcher: it attaches to `shm`, which the test creates, and its one
 * handle is in the window from its first iteration on. The test has the rest: client_open_next(),
 * mpsweep_end() and mpsweep_fail().
 */
#pragma once

#include <stdbool.h>

#include "client/internal.h"

static struct shm shm;
static struct mpsweep handle;

bool client_attach(void)
{
    return true;
}

const struct shm *client_shm(void)
{
    return &shm;
}

unsigned client_process(void)
{
    return 0;
}

bool client_is_in_window(const struct mpsweep *worker)
{
    return worker->recorder.in_window;
}

void client_fail_process(const char *text)
{
    shm_slot_fail(shm_slot_at(&shm, 0, 0), STATUS_WORKER, 0, text);
}

int mpsweep_begin(struct mpsweep *worker)
{
    worker->recorder.in_window = true;
    return 1;
}
