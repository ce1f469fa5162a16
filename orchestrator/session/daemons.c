#include "orchestrator/session/daemons.h"

#include <stdlib.h>

#include "common/text.h"
#include "mps/control.h"

#define UNENDED_MOST 64

/* Processes that an error names. */
#define NAMES_MOST 8

/* Daemons go by the number of the GPU that they are for, or of the first of them. */
struct daemons {
    struct mps_controller_options options;
    const struct gpu_set *gpus;
    int interrupt;
    unsigned gpu_count; /* that they are for now; 0: none runs */
    bool per_gpu;
    struct mps_controller *controllers[DEVICE_LIST_MAX]; /* NULL: not needed yet */
    bool tainted[DEVICE_LIST_MAX];
    struct {
        pid_t pid;
        unsigned daemon;
    } unended[UNENDED_MOST];
    unsigned unended_count;
};

static unsigned daemon_of(const struct daemons *daemons, unsigned gpu)
{
    return daemons->per_gpu && gpu < DEVICE_LIST_MAX ? gpu : 0;
}

struct mps_controller *daemons_at(const struct daemons *daemons, unsigned gpu)
{
    return daemons->controllers[daemon_of(daemons, gpu)];
}

void daemons_taint(struct daemons *daemons, unsigned gpu)
{
    daemons->tainted[daemon_of(daemons, gpu)] = true;
}

bool daemons_tainted(const struct daemons *daemons)
{
    for (unsigned i = 0; i < DEVICE_LIST_MAX; i++)
        if (daemons->tainted[i])
            return true;
    return false;
}

void daemons_note_unended(struct daemons *daemons, unsigned gpu, pid_t pid)
{
    if (daemons->unended_count == UNENDED_MOST)
        return;
    daemons->unended[daemons->unended_count].pid = pid;
    daemons->unended[daemons->unended_count++].daemon = daemon_of(daemons, gpu);
}

static enum status make_controller(struct daemons *daemons, unsigned daemon)
{
    struct mps_controller_options options = daemons->options;
    if (daemons->controllers[daemon])
        return STATUS_OK;
    /* Of the GPU's own daemon, with a guard and a private directory of its own. */
    if (daemon)
        options.directory = options.external = NULL;
    enum status status = mps_controller_new(&options, &daemons->controllers[daemon]);
    if (status == STATUS_OK)
        mps_controller_set_interrupt(daemons->controllers[daemon], daemons->interrupt);
    return status;
}

enum status daemons_new(const struct mps_controller_options *options, struct daemons **out)
{
    struct daemons *daemons = calloc(1, sizeof *daemons);
    if (!daemons)
        return status_set(STATUS_MEMORY, "out of memory");
    daemons->options = *options;
    daemons->interrupt = -1;
    enum status status = make_controller(daemons, 0);
    if (status == STATUS_OK)
        *out = daemons;
    else
        free(daemons);
    return status;
}

void daemons_serve(struct daemons *daemons, const struct gpu_set *gpus)
{
    daemons->gpus = gpus;
}

void daemons_set_interrupt(struct daemons *daemons, int fd)
{
    daemons->interrupt = fd;
    for (unsigned i = 0; i < DEVICE_LIST_MAX; i++)
        if (daemons->controllers[i])
            mps_controller_set_interrupt(daemons->controllers[i], fd);
}

/* Stops all of them, or those that are tainted. A daemon that fails to stop does not keep the
 * others from being stopped; the first error is returned. */
static enum status stop(struct daemons *daemons, bool all)
{
    struct status_saved first = {.code = STATUS_OK};
    for (unsigned i = 0; i < DEVICE_LIST_MAX; i++) {
        struct mps_controller *mps = daemons->controllers[i];
        if (!mps || !(all || daemons->tainted[i]))
            continue;
        enum status stopped = mps_controller_daemon_stop(mps);
        daemons->tainted[i] = stopped != STATUS_OK;
        if (stopped != STATUS_OK && first.code == STATUS_OK)
            status_save(stopped, &first);
    }
    return first.code == STATUS_OK ? STATUS_OK : status_restore(&first);
}

/* The UUIDs of the first GPUs, for CUDA_VISIBLE_DEVICES. */
static void list_gpus(const struct gpu_set *gpus, unsigned count, char out[MPS_GPUS_TEXT])
{
    struct text text = {.at = out, .size = MPS_GPUS_TEXT};
    for (unsigned i = 0; i < count; i++)
        text_append(&text, "%s%s", i ? "," : "", gpu_at(gpus, i)->uuid);
}

enum status daemons_set(struct daemons *daemons, unsigned gpus, bool per_gpu)
{
    char uuids[MPS_GPUS_TEXT], name[GPU_NAME_TEXT];
    bool differs = daemons->gpu_count != gpus || daemons->per_gpu != per_gpu;
    /* One that still runs would be for other GPUs than the caller asks for. */
    enum status status = stop(daemons, gpus == 0 || differs);
    if (status != STATUS_OK)
        return status;
    daemons->gpu_count = gpus;
    daemons->per_gpu = per_gpu;
    if (gpus == 0)
        return STATUS_OK;
    if (!per_gpu) {
        list_gpus(daemons->gpus, gpus, uuids);
        return mps_controller_daemon_start(daemons->controllers[0], uuids, NULL);
    }
    for (unsigned i = 0; i < gpus && status == STATUS_OK; i++) {
        status = make_controller(daemons, i);
        if (status == STATUS_OK)
            status = mps_controller_daemon_start(daemons->controllers[i],
                                                 gpu_at(daemons->gpus, i)->uuid, NULL);
        if (status != STATUS_OK && status != STATUS_INTERRUPTED)
            status = status_prefix(status, "%s: ", gpu_name(daemons->gpus, i, name));
    }
    return status;
}

enum status daemons_check(const struct daemons *daemons)
{
    unsigned count = daemons->per_gpu && daemons->gpu_count > 1 ? daemons->gpu_count : 1;
    char name[GPU_NAME_TEXT];
    for (unsigned i = 0; i < count; i++) {
        /* Those after one that did not start were never made. */
        struct mps_controller *mps = daemons->controllers[i];
        enum status status = mps ? mps_controller_check(mps) : STATUS_OK;
        if (status != STATUS_OK && count > 1)
            return status_prefix(status, "%s: ", gpu_name(daemons->gpus, i, name));
        if (status != STATUS_OK)
            return status;
    }
    return STATUS_OK;
}

/* A daemon with clients that could not be ended stays until they are gone. Appends the error. */
static void keep_daemon(struct daemons *daemons, unsigned daemon, struct text *text)
{
    struct mps_controller *mps = daemons->controllers[daemon];
    char names[256] = "";
    struct text listed = {.at = names, .size = sizeof names};
    unsigned kept = 0;
    if (!mps || mps->options.external)
        return;
    for (unsigned i = 0; i < daemons->unended_count; i++) {
        if (daemons->unended[i].daemon != daemon)
            continue;
        mps_controller_set_interrupt(mps, -1);
        if (mps_controller_detach(mps, daemons->unended[i].pid) != STATUS_OK)
            continue;
        if (kept < NAMES_MOST)
            text_append(&listed, "%s%d", kept ? ", " : "", (int)daemons->unended[i].pid);
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
                mps->directory, kept == 1 ? "it is" : "they are", mps->directory);
}

enum status daemons_free(struct daemons *daemons)
{
    char what[STATUS_TEXT_BYTES] = "";
    struct text text = {.at = what, .size = sizeof what};
    if (!daemons)
        return STATUS_OK;
    for (unsigned i = 0; i < DEVICE_LIST_MAX && daemons->unended_count > 0; i++)
        keep_daemon(daemons, i, &text);
    enum status status = text.length ? STATUS_TIMEOUT : STATUS_OK;
    for (unsigned i = 0; i < DEVICE_LIST_MAX; i++) {
        enum status freed = mps_controller_free(daemons->controllers[i]);
        if (freed == STATUS_OK)
            continue;
        status = freed;
        text_append(&text, "%s%s", text.length ? "; " : "", status_text());
    }
    free(daemons);
    return status == STATUS_OK ? status : status_set(status, "%s", what);
}
