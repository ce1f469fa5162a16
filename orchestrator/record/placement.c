#include <stdio.h>
#include <string.h>

#include "orchestrator/record/internal.h"
#include "orchestrator/plan/settings.h"

/* "auto" spins unless one process has more contexts than the machine has CPUs, and ours have one
 * unless each thread has its own. A yielding wait gives its CPU away when another thread wants it,
 * but uses up time all the same. */
void warn_cores(json_t *warnings, const struct point *point, const struct cores *cores)
{
    unsigned threads = point_processes(point) * point->threads;
    enum work_schedule schedule = (enum work_schedule)point->work.schedule;
    if (cores->cpus == 0 || schedule == SCHEDULE_BLOCK)
        return;
    if (cores->quota > 0.0 && cores->quota < cores->cpus && threads > cores->quota)
        warnings_add(
            warnings, "few-cores",
            "more threads than the CPU quota of %.3g, and waiting with schedule %s takes a "
            "CPU each; give '--schedule block', fewer threads or a larger quota",
            cores->quota, setting_word(OPTION_SCHEDULE, point));
    else if (schedule != SCHEDULE_YIELD && threads > cores->cpus)
        warnings_add(
            warnings, "few-cores",
            "more threads than the %u CPU%s that they may use, and waiting with schedule %s "
            "takes a CPU each; give '--schedule block' or fewer threads",
            cores->cpus, cores->cpus == 1 ? "" : "s", setting_word(OPTION_SCHEDULE, point));
}

/* A program that waits for a CPU for this share of its time does clearly less than it could. */
#define STARVED_SHARE 0.25

void warn_starved(json_t *warnings, const struct point *point, const struct shm_cpu *cpu)
{
    double waited = cpu->wall_ns ? (double)cpu->delay_ns / (double)cpu->wall_ns : 0.0;
    if (waited >= STARVED_SHARE)
        warnings_add(warnings, "few-cores",
                     "its threads waited for a CPU for %.0f%% of the time; give fewer processes or "
                     "threads, %s",
                     100.0 * waited,
                     point->bind == BIND_NONE ? "or more CPUs"
                                              : "more CPUs, or '--bind none' if others are idle");
}

/* Why memory may be elsewhere, and what to do about it. */
static const char *cause(const struct numa *numa, char *text, size_t size)
{
    if (numa->policy == SHM_POLICY_REFUSED)
        snprintf(text, size,
                 "the system refused the memory policy (%s): in a container, allow set_mempolicy, "
                 "as --cap-add SYS_NICE does",
                 strerror(numa->policy_errno));
    else if (numa->policy == SHM_POLICY_INHERITED)
        snprintf(text, size, "there was a memory policy already, as from numactl, and it was kept");
    else
        snprintf(text, size, "there was no room, or the driver chose another place");
    return text;
}

void record_add_numa(json_t *record, const struct numa *numa)
{
    if (numa->policy == SHM_POLICY_REFUSED)
        json_object_set_new(record, "memory_policy",
                            json_sprintf("refused: %s", strerror(numa->policy_errno)));
    else if (numa->policy == SHM_POLICY_INHERITED)
        json_object_set_new(record, "memory_policy", json_string("inherited"));
}

void warn_numa(json_t *warnings, const struct numa *numa)
{
    char why[256];
    if (numa->far)
        warnings_add(
            warnings, "far-memory",
            "host buffers of %u of %u workers lie on NUMA node %s, and not on %s near their "
            "GPU; %s",
            numa->far, numa->workers, numa->found, numa->wanted, cause(numa, why, sizeof why));
}
