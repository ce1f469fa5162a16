#include "orchestrator/round/fixed.h"

#include <stdlib.h>
#include <string.h>

#include "statistics/statistics.h"

enum status fixed_check_options(const struct options *options)
{
    static const enum option_id windows[] = {OPTION_DURATION, OPTION_PRECISION,
                                             OPTION_MAX_DURATION};
    if (options_integer(options, OPTION_ITERATIONS) == 0)
        return STATUS_OK;
    /* On the command line it overrides what a job file says about the window. */
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
        if (options->values[windows[i]].rank >= options->values[OPTION_ITERATIONS].rank)
            return status_set(STATUS_USAGE,
                              "iterations of %lld end a point when they are done: leave out %s, or "
                              "give 0 iterations",
                              (long long)options_integer(options, OPTION_ITERATIONS),
                              option_table[windows[i]].name);
    for (size_t i = 0; i < options->values[OPTION_RATE].count; i++)
        if (strcmp(options->values[OPTION_RATE].items[i].text, "closed") != 0)
            return status_set(STATUS_USAGE,
                              "iterations of %lld are for a closed loop: leave out rate, or give "
                              "0 iterations",
                              (long long)options_integer(options, OPTION_ITERATIONS));
    return STATUS_OK;
}

double fixed_throughput_ips(double iterations_each, const double *elapsed_s, unsigned workers)
{
    double mean_s = statistics_mean(elapsed_s, workers);
    return mean_s > 0.0 ? iterations_each * (double)workers / mean_s : 0.0;
}

enum status fixed_collect(const struct shm *shm, struct round_result *result)
{
    unsigned threads = shm->header->threads, workers = shm->header->processes * threads;
    uint64_t first_ns = UINT64_MAX, last_ns = 0;
    double *elapsed_s = calloc(workers, sizeof *elapsed_s);
    if (!elapsed_s)
        return status_set(STATUS_MEMORY, "out of memory for the results");
    for (unsigned i = 0; i < workers; i++) {
        const struct shm_slot *slot = shm_slot_at(shm, i / threads, i % threads);
        first_ns = slot->work_begin_ns < first_ns ? slot->work_begin_ns : first_ns;
        last_ns = slot->work_end_ns > last_ns ? slot->work_end_ns : last_ns;
        elapsed_s[i] = (double)(slot->work_end_ns - slot->work_begin_ns) / 1e9;
        result->workers[i].elapsed_s = elapsed_s[i];
    }
    double each = (double)shm->header->settings.iterations;
    result->fixed = (struct round_fixed){
        .seconds = (double)(last_ns - first_ns) / 1e9,
        .elapsed_s = statistics_mean(elapsed_s, workers),
        .throughput_ips = fixed_throughput_ips(each, elapsed_s, workers),
    };
    free(elapsed_s);
    return STATUS_OK;
}

json_t *fixed_object(const struct point *point, const struct round_fixed *rounds, unsigned count)
{
    const struct round_fixed *best = &rounds[0];
    double each = (double)point->work.iterations;
    json_t *all = json_array();
    for (unsigned i = 0; i < count; i++) {
        best = rounds[i].throughput_ips > best->throughput_ips ? &rounds[i] : best;
        json_array_append_new(all, json_real(rounds[i].throughput_ips));
    }
    return json_pack("{s:I, s:f, s:f, s:f, s:f, s:o}", "iterations_per_worker",
                     (json_int_t)point->work.iterations, "seconds", best->seconds, "elapsed_mean_s",
                     best->elapsed_s, "throughput_ips", best->throughput_ips, "latency_mean_us",
                     best->elapsed_s / each * 1e6, "rounds_ips", all);
}
