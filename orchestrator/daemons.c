/* The MPS daemons of a session: one for all its GPUs, or one for each. */
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "mps/control.h"
#include "orchestrator/session.h"

struct mps_controller *session_mps(const struct session *session, unsigned gpu)
{
    unsigned own = session->mps_per_gpu && gpu < DEVICE_LIST_MAX ? gpu : 0;
    return own ? session->more_mps[own] : session->mps;
}

/* Of the GPU's own daemon, with a guard and a private directory of its own. */
static enum status make_controller(struct session *session, unsigned gpu)
{
    const struct mps_controller_options options = {
        .guard_program = session->guard_program,
        .control_program = session->control_program,
        .probe_program = session->worker_program,
        .probe_driver = *session->driver_path ? session->driver_path : NULL,
    };
    if (gpu == 0 || session->more_mps[gpu])
        return STATUS_OK;
    enum status status = mps_controller_new(&options, &session->more_mps[gpu]);
    if (status == STATUS_OK)
        mps_controller_set_interrupt(session->more_mps[gpu], session->signal_fd);
    return status;
}

static enum status stop_all(struct session *session)
{
    enum status status = mps_controller_daemon_stop(session->mps);
    for (unsigned i = 0; i < DEVICE_LIST_MAX && status == STATUS_OK; i++)
        if (session->more_mps[i])
            status = mps_controller_daemon_stop(session->more_mps[i]);
    return status;
}

/* The UUIDs of the first GPUs, for CUDA_VISIBLE_DEVICES. */
static void list_gpus(const struct session *session, unsigned gpus, char out[MPS_GPUS_TEXT])
{
    struct text text = {.at = out, .size = MPS_GPUS_TEXT};
    for (unsigned i = 0; i < gpus; i++)
        text_append(&text, "%s%s", i ? "," : "", session->devices[i].uuid);
}

enum status session_set_daemons(struct session *session, unsigned gpus, bool per_gpu)
{
    char uuids[MPS_GPUS_TEXT];
    bool differs = session->mps_gpus != gpus || session->mps_per_gpu != per_gpu;
    enum status status = STATUS_OK;
    if (gpus == 0 || session->mps_tainted || differs)
        status = stop_all(session);
    session->mps_tainted = false;
    session->mps_gpus = gpus;
    session->mps_per_gpu = per_gpu;
    if (gpus == 0 || status != STATUS_OK)
        return status;
    if (!per_gpu) {
        list_gpus(session, gpus, uuids);
        return mps_controller_daemon_start(session->mps, uuids, NULL);
    }
    for (unsigned i = 0; i < gpus && status == STATUS_OK; i++) {
        status = make_controller(session, i);
        if (status == STATUS_OK)
            status = mps_controller_daemon_start(session_mps(session, i), session->devices[i].uuid,
                                                 NULL);
        if (status != STATUS_OK && status != STATUS_INTERRUPTED)
            status = status_prefix(status, "GPU %u: ", i);
    }
    return status;
}

enum status session_set_mps(struct session *session, bool on)
{
    return session_set_daemons(session, on ? 1 : 0, false);
}

enum status session_check_daemons(const struct session *session)
{
    enum status status = mps_controller_check(session->mps);
    /* Those after one that did not start were never made. */
    for (unsigned i = 1; i < session->mps_gpus && session->mps_per_gpu && status == STATUS_OK; i++)
        if (session->more_mps[i])
            status = mps_controller_check(session->more_mps[i]);
    return status;
}

/* A client that could not be ended keeps its daemon, which goes when that process is gone. */
static enum status keep_daemon(struct session *session)
{
    struct mps_controller *mps = session_mps(session, session->unended_on);
    pid_t unended = session->unended;
    session->unended = 0;
    mps_controller_set_interrupt(mps, -1);
    if (mps_controller_is_external(mps) || mps_controller_detach(mps, unended) != STATUS_OK)
        return STATUS_OK;
    return status_set(
        STATUS_TIMEOUT,
        "process %d could not be ended: its MPS daemon stays in '%s' until it is gone "
        "('mpsweep mps stop --force --dir %s' ends it now)",
        (int)unended, mps_controller_directory(mps), mps_controller_directory(mps));
}

enum status session_close_daemons(struct session *session)
{
    char text[512];
    enum status status = session->unended && session->mps ? keep_daemon(session) : STATUS_OK;
    snprintf(text, sizeof text, "%s", status_text());
    for (unsigned i = 0; i < DEVICE_LIST_MAX; i++) {
        struct mps_controller **mps = i == 0 ? &session->mps : &session->more_mps[i];
        enum status freed = mps_controller_free(*mps);
        *mps = NULL;
        if (freed == STATUS_OK)
            continue;
        status = freed;
        snprintf(text, sizeof text, "%s", status_text());
    }
    if (status != STATUS_OK)
        return status_set(status, "%s", text);
    return STATUS_OK;
}
