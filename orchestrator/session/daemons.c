/* The MPS daemons of a session: one for all its GPUs, or one for each. */
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "mps/control.h"
#include "orchestrator/session/session.h"

/* Processes that an error names. */
#define NAMES_MOST 8

/* Daemons go by the number of the GPU that they are for, or of the first of them. */
static unsigned daemon_of(const struct session *session, unsigned gpu)
{
    return session->mps_per_gpu && gpu < DEVICE_LIST_MAX ? gpu : 0;
}

static struct mps_controller *controller_at(const struct session *session, unsigned daemon)
{
    return daemon ? session->more_mps[daemon] : session->mps;
}

struct mps_controller *session_mps(const struct session *session, unsigned gpu)
{
    return controller_at(session, daemon_of(session, gpu));
}

void session_taint(struct session *session, unsigned gpu)
{
    session->mps_tainted[daemon_of(session, gpu)] = true;
}

bool session_is_tainted(const struct session *session)
{
    for (unsigned i = 0; i < DEVICE_LIST_MAX; i++)
        if (session->mps_tainted[i])
            return true;
    return false;
}

void session_note_unended(struct session *session, unsigned gpu, pid_t pid)
{
    if (session->unended_count == SESSION_UNENDED_MOST)
        return;
    session->unended[session->unended_count++] =
        (struct session_unended){.pid = pid, .daemon = daemon_of(session, gpu)};
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

/* All of them, or those that are tainted. One that does not stop keeps no other from it. */
static enum status stop_daemons(struct session *session, bool all)
{
    enum status status = STATUS_OK;
    char text[512] = "";
    for (unsigned i = 0; i < DEVICE_LIST_MAX; i++) {
        struct mps_controller *mps = controller_at(session, i);
        if (!mps || !(all || session->mps_tainted[i]))
            continue;
        enum status stopped = mps_controller_daemon_stop(mps);
        session->mps_tainted[i] = stopped != STATUS_OK;
        if (stopped == STATUS_OK || status != STATUS_OK)
            continue;
        status = stopped;
        snprintf(text, sizeof text, "%s", status_text());
    }
    return status == STATUS_OK ? status : status_set(status, "%s", text);
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
    char uuids[MPS_GPUS_TEXT], name[SESSION_GPU_TEXT];
    bool differs = session->mps_gpus != gpus || session->mps_per_gpu != per_gpu;
    /* One that is still there would be for other GPUs than what is asked for. */
    enum status status = stop_daemons(session, gpus == 0 || differs);
    if (status != STATUS_OK)
        return status;
    session->mps_gpus = gpus;
    session->mps_per_gpu = per_gpu;
    if (gpus == 0)
        return STATUS_OK;
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
            status = status_prefix(status, "%s: ", session_gpu_name(session, i, name));
    }
    return status;
}

enum status session_set_mps(struct session *session, bool on)
{
    return session_set_daemons(session, on ? 1 : 0, false);
}

enum status session_check_daemons(const struct session *session)
{
    unsigned daemons = session->mps_per_gpu && session->mps_gpus > 1 ? session->mps_gpus : 1;
    char name[SESSION_GPU_TEXT];
    for (unsigned i = 0; i < daemons; i++) {
        /* Those after one that did not start were never made. */
        struct mps_controller *mps = session_mps(session, i);
        enum status status = mps ? mps_controller_check(mps) : STATUS_OK;
        if (status != STATUS_OK && daemons > 1)
            return status_prefix(status, "%s: ", session_gpu_name(session, i, name));
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* Clients of a daemon that could not be ended keep it, and it goes when they are gone. Adds what is
 * to be said of it. */
static void keep_daemon(struct session *session, unsigned daemon, struct text *text)
{
    struct mps_controller *mps = controller_at(session, daemon);
    char names[256] = "";
    struct text listed = {.at = names, .size = sizeof names};
    unsigned kept = 0;
    if (!mps || mps_controller_is_external(mps))
        return;
    for (unsigned i = 0; i < session->unended_count; i++) {
        if (session->unended[i].daemon != daemon)
            continue;
        mps_controller_set_interrupt(mps, -1);
        if (mps_controller_detach(mps, session->unended[i].pid) != STATUS_OK)
            continue;
        if (kept < NAMES_MOST)
            text_append(&listed, "%s%d", kept ? ", " : "", (int)session->unended[i].pid);
        kept++;
    }
    if (kept == 0)
        return;
    if (kept > NAMES_MOST)
        text_append(&listed, " and %u more", kept - NAMES_MOST);
    text_append(text,
                "%sprocess%s %s could not be ended: %s MPS daemon stays in '%s' until %s gone "
                "('mpsweep mps stop --force --dir %s' ends it now)",
                text->length ? "; " : "", kept == 1 ? "" : "es", names, kept == 1 ? "its" : "their",
                mps_controller_directory(mps), kept == 1 ? "it is" : "they are",
                mps_controller_directory(mps));
}

enum status session_close_daemons(struct session *session)
{
    char what[1024] = "";
    struct text text = {.at = what, .size = sizeof what};
    for (unsigned i = 0; i < DEVICE_LIST_MAX && session->unended_count > 0; i++)
        keep_daemon(session, i, &text);
    session->unended_count = 0;
    enum status status = text.length ? STATUS_TIMEOUT : STATUS_OK;
    for (unsigned i = 0; i < DEVICE_LIST_MAX; i++) {
        struct mps_controller **mps = i == 0 ? &session->mps : &session->more_mps[i];
        enum status freed = mps_controller_free(*mps);
        *mps = NULL;
        if (freed == STATUS_OK)
            continue;
        status = freed;
        text_append(&text, "%s%s", text.length ? "; " : "", status_text());
    }
    return status == STATUS_OK ? status : status_set(status, "%s", what);
}
