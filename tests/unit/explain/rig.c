#include "tests/unit/explain/rig.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "explain/derive.h"
#include "explain/predict.h"

double truth_s(unsigned workers, bool mps, bool asleep)
{
    double beside_s = ALONE_S + EACH_S * (workers - 1) + (asleep ? ASLEEP_S : 0.0);
    return fmax(beside_s, workers * KERNELS / (mps ? 2.0 * LAUNCHES : LAUNCHES));
}

void add_run(struct calibration *calibration, struct calibration_run run, double seconds)
{
    run.streams = run.streams ? run.streams : 1;
    run.ips = run.processes * run.threads * run.streams / seconds;
    calibration->runs[calibration->run_count++] = run;
}

struct calibration example(void)
{
    struct calibration calibration = {
        .work = {.kernels = KERNELS, .bytes = 1024},
        .process_launches_per_s = LAUNCHES,
        .gpu_launches_per_s = 2.0 * LAUNCHES,
        .arithmetic_ips = 40000.0,
        .polled_graphs_per_s = 15000.0,
        .cpus = CPUS,
    };
    static const unsigned threads[] = {1, 4, 16}, processes[] = {6, 12, 24};
    for (size_t i = 0; i < 3; i++) {
        add_run(&calibration, (struct calibration_run){.processes = 1, .threads = threads[i]},
                truth_s(threads[i], false, false));
        add_run(
            &calibration,
            (struct calibration_run){
                .mps = true, .processes = processes[i], .threads = 1, .schedule = SCHEDULE_BLOCK},
            truth_s(processes[i], true, true));
    }
    add_run(&calibration,
            (struct calibration_run){.processes = 1, .threads = 1, .schedule = SCHEDULE_BLOCK},
            truth_s(1, false, true));
    add_run(&calibration,
            (struct calibration_run){.processes = 1, .threads = 1, .launch = LAUNCH_GRAPH},
            0.9 * ALONE_S);
    add_run(&calibration, (struct calibration_run){.processes = 2, .threads = 1}, 2.5 * ALONE_S);
    derive_figures(&calibration);
    return calibration;
}

struct explain_point point_of(bool mps, unsigned processes, unsigned threads)
{
    return (struct explain_point){
        .mps = mps,
        .processes = processes,
        .threads = threads,
        .connections = 32,
        .work = {.kernels = KERNELS, .bytes = 1024},
    };
}

void assert_near_by(const struct explain_point *point, const struct calibration *calibration,
                    double ips, double tolerance)
{
    double predicted = predict_ips(point, calibration);
    if (fabs(predicted / ips - 1.0) > tolerance)
        fail_msg("%ux%ux%u: %.1f instead of %.1f", point->processes, point->threads, point->streams,
                 predicted, ips);
}
