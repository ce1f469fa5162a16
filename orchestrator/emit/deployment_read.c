/* Reads a deployment's layout, shares, GPUs and CPUs from the records of its point. */
#include "orchestrator/emit/deployment.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/settings.h"

static enum status bad_point(const struct deployment *deployment, const char *what)
{
    return status_set(STATUS_USAGE, "point %lld of '%s' %s",
                      (long long)integer_at(deployment->request->point, "id"),
                      deployment->request->results, what);
}

static enum status bad_field(const struct deployment *deployment, const char *field)
{
    return status_set(STATUS_USAGE, "point %lld of '%s' has an invalid '%s'",
                      (long long)integer_at(deployment->request->point, "id"),
                      deployment->request->results, field);
}

const char *deployment_obstacle(const json_t *point)
{
    if (point_is_overloaded(point))
        return "is overloaded: it was offered more than it serves, so its figures show only how "
               "long its queue grew";
    if (strcmp(text_at(point, "contexts"), "own") == 0)
        return "has a context for each thread, which a program must make by itself";
    if (json_object_get(point, "sm_partition"))
        return "has a partition for each thread, which a program must make by itself";
    return NULL;
}

/* What may stand in every syntax without quotes. */
static bool is_gpu(const char *uuid)
{
    if (strncmp(uuid, "GPU-", 4) != 0 && strncmp(uuid, "MIG-", 4) != 0)
        return false;
    size_t length = strlen(uuid);
    for (size_t i = 4; i < length; i++)
        if (!isalnum((unsigned char)uuid[i]) && uuid[i] != '-')
            return false;
    return length > 4 && length < 80;
}

static const struct {
    enum option_id id;
    const char *field;
    int64_t unit;
    double least, most;
} shares[DEPLOYMENT_SHARES] = {
    [SHARE_PERCENTAGE] = {OPTION_ACTIVE_THREAD_PERCENTAGE, "active_thread_percentage", 1, 1, 100},
    [SHARE_PRIORITY] = {OPTION_PRIORITY, "priority", 1, 0, 1},
    [SHARE_MEMORY_MIB] = {OPTION_MEMORY_LIMIT, "memory_limit", 1 << 20, 1 << 20, 0x1p50},
};

int64_t deployment_share(const struct deployment *deployment, unsigned process,
                         const struct option_row *row)
{
    for (int share = 0; share < DEPLOYMENT_SHARES && deployment->mps; share++) {
        int64_t value = deployment->process[process].share[share];
        if (shares[share].id == row->id && value >= 0)
            return value * shares[share].unit;
    }
    return OPTION_SHARE_DEFAULT;
}

/* The default of an external daemon, for processes without a share; -1: everything. */
static int64_t external_default(const struct deployment *deployment, enum deployment_share share)
{
    static const double without[] = {[SHARE_PERCENTAGE] = 100, [SHARE_PRIORITY] = 0};
    const json_t *external = json_object_get(deployment->request->header, "external_mps");
    double value = number_at(external, shares[share].field);
    if (!deployment->mps || !(value >= shares[share].least && value <= shares[share].most) ||
        (share != SHARE_MEMORY_MIB && value == without[share]))
        return -1;
    return (int64_t)value / shares[share].unit;
}

/* A setting that is absent, a number for all processes, or an array of one for each. */
static enum status read_share(struct deployment *deployment, enum deployment_share share)
{
    const json_t *value = json_object_get(deployment->request->point, shares[share].field);
    bool any_without = false;
    int64_t most = -1;
    if (json_is_array(value) &&
        json_array_size(value) != deployment->processes / deployment->gpu_count)
        return bad_point(deployment, "has a different number of shares than processes");
    for (unsigned p = 0; p < deployment->processes; p++) {
        const json_t *item =
            json_is_array(value) ? json_array_get(value, p / deployment->gpu_count) : value;
        int64_t *out = &deployment->process[p].share[share];
        double number = json_is_integer(item) ? (double)json_integer_value(item) : -1;
        if (!item || json_is_null(item))
            *out = external_default(deployment, share);
        else if (number >= shares[share].least && number <= shares[share].most)
            *out = json_integer_value(item) / shares[share].unit;
        else
            return bad_field(deployment, shares[share].field);
        any_without |= *out < 0;
        most = *out > most ? *out : most;
    }
    deployment->most[share] = any_without ? -1 : most;
    return STATUS_OK;
}

static enum status read_shares(struct deployment *deployment)
{
    enum status status = STATUS_OK;
    for (int share = 0; share < DEPLOYMENT_SHARES && status == STATUS_OK; share++)
        status = read_share(deployment, (enum deployment_share)share);
    return status;
}

/* Whether text is a list such as "0-3,8" of numbers below DEPLOYMENT_CPUS. */
static bool is_list(const char *text)
{
    bool valid = text[0] && text[strspn(text, "0123456789,-")] == '\0';
    char *end = NULL;
    for (const char *at = text; valid && *at; at = end + strspn(end, ",-"))
        valid = strtoul(at, &end, 10) < DEPLOYMENT_CPUS;
    return valid;
}

/* Adds "0-3,8" to cpus. False: text is not such a list, or was cut. */
static bool add_cpus(const char *text, hwloc_bitmap_t cpus)
{
    hwloc_bitmap_t more = hwloc_bitmap_alloc();
    bool valid = more && is_list(text) && hwloc_bitmap_list_sscanf(more, text) == 0 &&
                 hwloc_bitmap_last(more) >= 0 && hwloc_bitmap_last(more) < DEPLOYMENT_CPUS;
    if (valid)
        hwloc_bitmap_or(cpus, cpus, more);
    hwloc_bitmap_free(more);
    return valid;
}

/* Adds the CPUs of each worker to its process. False: a list of them is not known. */
static bool read_lists(struct deployment *deployment)
{
    const json_t *worker;
    size_t index;
    json_array_foreach(json_object_get(deployment->request->point, "per_worker"), index, worker)
    {
        json_int_t process = integer_at(worker, "process");
        const char *cpus = text_at(worker, "cpus");
        if (process >= 0 && process < deployment->processes && *cpus && strcmp(cpus, "none") != 0 &&
            !add_cpus(cpus, deployment->process[process].cpus))
            return false;
    }
    return true;
}

/* CPUs' worth of time that the machine grants; NAN: not known. */
static double granted_cpus(const struct deployment *deployment)
{
    const json_t *header = deployment->request->header;
    double cpus = number_at(header, "cpus"), quota = number_at(header, "cpu_quota");
    double granted = quota > 0.0 ? fmin(cpus, quota) : cpus;
    return granted > 0.0 && granted <= DEPLOYMENT_CPUS ? granted : NAN;
}

/* CPUs of a process, of which those that others have, too, count as its part alone. */
static double share_of(hwloc_const_bitmap_t cpus, const unsigned *sharers)
{
    double share = 0.0;
    int cpu;
    hwloc_bitmap_foreach_begin(cpu, cpus) share += 1.0 / sharers[cpu];
    hwloc_bitmap_foreach_end();
    return share;
}

/* What each process had of the CPUs: of those that it is bound to, or else of all. A quota of less
 * time than the bound ones have is divided alike. */
static void divide_cpus(struct deployment *deployment)
{
    unsigned sharers[DEPLOYMENT_CPUS] = {0};
    int cpu;
    double granted = granted_cpus(deployment), all = deployment->cpus_all;
    double kept = granted < all ? granted / all : 1.0;
    for (unsigned p = 0; p < deployment->processes; p++) {
        hwloc_bitmap_foreach_begin(cpu, deployment->process[p].cpus) sharers[cpu]++;
        hwloc_bitmap_foreach_end();
    }
    for (unsigned p = 0; p < deployment->processes; p++) {
        struct deployment_process *process = &deployment->process[p];
        double share = deployment->cpus_all ? kept * share_of(process->cpus, sharers)
                                            : granted / deployment->processes;
        if (share > 0.0)
            process->millicpus = (unsigned)fmax(1.0, floor(1e3 * share + 1e-6));
    }
}

/* A process is bound to the CPUs of all its workers: which of them a thread takes is the program's
 * own matter. */
static enum status read_cpus(struct deployment *deployment)
{
    hwloc_bitmap_t all = hwloc_bitmap_alloc();
    int total = 0, have;
    bool done = all != NULL;
    for (unsigned p = 0; p < deployment->processes && done; p++)
        done = (deployment->process[p].cpus = hwloc_bitmap_alloc()) != NULL;
    if (done && strcmp(text_at(deployment->request->point, "bind"), "none") != 0)
        deployment->cpus_unknown = !read_lists(deployment);
    for (unsigned p = 0; p < deployment->processes && done; p++) {
        struct deployment_process *process = &deployment->process[p];
        if (deployment->cpus_unknown)
            hwloc_bitmap_zero(process->cpus);
        hwloc_bitmap_or(all, all, process->cpus);
        total += hwloc_bitmap_weight(process->cpus);
        done = hwloc_bitmap_list_asprintf(&process->cpus_text, process->cpus) >= 0;
    }
    have = done ? hwloc_bitmap_weight(all) : 0;
    hwloc_bitmap_free(all);
    if (!done)
        return status_set(STATUS_MEMORY, "out of memory");
    deployment->cpus_all = (unsigned)have;
    divide_cpus(deployment);
    if (have == 0 || deployment->processes == 0)
        return STATUS_OK;
    /* Processes that share their CPUs have a part of them each. */
    unsigned each = (unsigned)(total > have ? have : total) / deployment->processes;
    deployment->cpus_each = each > 0 ? each : 1;
    return STATUS_OK;
}

/* A point lists its GPUs; one of one GPU had the first of the run. */
static enum status read_gpus(struct deployment *deployment)
{
    const json_t *point = deployment->request->point, *header = deployment->request->header;
    const json_t *per_gpu = json_object_get(point, "per_gpu");
    unsigned gpus = point_gpus_of(point);
    if (gpus > DEPLOYMENT_GPUS)
        return bad_point(deployment, "has more GPUs than a machine can have");
    for (unsigned g = 0; g < gpus; g++) {
        const json_t *gpu = gpus == 1 ? json_object_get(header, "gpu") : json_array_get(per_gpu, g);
        deployment->gpus[g] = text_at(gpu, "uuid");
        if (!is_gpu(deployment->gpus[g]))
            return gpus == 1
                       ? status_set(STATUS_USAGE, "the header of '%s' names no GPU by its UUID",
                                    deployment->request->results)
                       : bad_point(deployment, "does not name each of its GPUs by its UUID");
    }
    deployment->gpu_count = gpus;
    if (deployment->mps)
        deployment->daemons =
            gpus > 1 && strcmp(text_at(point, "mps_daemons"), "per-gpu") == 0 ? gpus : 1;
    return STATUS_OK;
}

/* The environment carries them as they are. */
static enum status check_variables(const struct deployment *deployment)
{
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        if (!row->setting.variable || row->setting.type == SETTING_SHARES)
            continue;
        char key[SETTING_KEY_BYTES];
        double value = (double)settings_number(deployment->request->point, row);
        if (value != 0 && (value < row->min || value > row->max))
            return bad_field(deployment, setting_key(row, key));
    }
    return STATUS_OK;
}

static enum status read_layout(struct deployment *deployment)
{
    const json_t *point = deployment->request->point;
    json_int_t processes = integer_at(point, "processes");
    json_int_t threads = integer_at(point, "threads");
    json_int_t streams = integer_at(point, "streams");
    if (!point_is_measured(point))
        return bad_point(deployment, "has no measurement");
    if (processes < 1 || threads < 1 || processes > DEPLOYMENT_PROCESSES ||
        threads > DEPLOYMENT_PROCESSES)
        return bad_point(deployment, "has no numbers of processes and threads");
    if (streams < 0 || streams > DEPLOYMENT_PROCESSES)
        return bad_field(deployment, "streams");
    json_int_t openmp_threads = integer_at(point, "omp_num_threads");
    if (openmp_threads < 0 || openmp_threads > DEPLOYMENT_CPUS)
        return bad_field(deployment, "omp_num_threads");
    const char *obstacle = deployment_obstacle(point);
    if (obstacle)
        return bad_point(deployment, obstacle);
    deployment->threads = (unsigned)threads;
    deployment->openmp_threads = (unsigned)openmp_threads;
    deployment->streams = streams > 1 ? (unsigned)streams : 1;
    deployment->mps = json_is_true(json_object_get(point, "mps"));
    deployment->emulated = origin_is_emulated(deployment->request->header);
    enum status status = check_variables(deployment);
    if (status == STATUS_OK)
        status = read_gpus(deployment);
    if (status != STATUS_OK)
        return status;
    deployment->processes = (unsigned)processes * deployment->gpu_count;
    if (deployment->processes < 1 || deployment->processes > DEPLOYMENT_PROCESSES)
        return bad_point(deployment, "has more processes than a deployment can have");
    deployment->process = calloc(deployment->processes, sizeof *deployment->process);
    if (!deployment->process)
        return status_set(STATUS_MEMORY, "out of memory");
    return read_shares(deployment);
}

enum status deployment_read(struct deployment *deployment)
{
    enum status status = read_layout(deployment);
    return status == STATUS_OK ? read_cpus(deployment) : status;
}
