#include "worker/engines/sampling.h"

#include <math.h>

#include "common/clock.h"
#include "statistics/histogram.h"

#define COST_BATCHES 5

void sampling_init(struct sampling *sampling, unsigned calls_per_iteration, double cost_ns)
{
    *sampling = (struct sampling){
        .of = calls_per_iteration,
        .cost_ns = cost_ns,
        .fastest_ns = UINT64_MAX,
        .every = 1,
    };
}

double sampling_measure_cost_ns(void)
{
    static _Thread_local struct histogram scratch;
    uint64_t moments[SAMPLING_CALLS_MOST + 1];
    uint64_t least_ns = UINT64_MAX;
    /* The fastest of some: a worker may be put off its CPU meanwhile. */
    for (unsigned batch = 0; batch < COST_BATCHES; batch++) {
        for (unsigned i = 0; i <= SAMPLING_CALLS_MOST; i++)
            moments[i] = clock_now_ns();
        for (unsigned i = 0; i < SAMPLING_CALLS_MOST; i++)
            histogram_record(&scratch, moments[i + 1] - moments[i]);
        uint64_t took_ns = clock_now_ns() - moments[0];
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    return (double)least_ns / (SAMPLING_CALLS_MOST + 1);
}

void sampling_set_fastest(struct sampling *sampling, uint64_t took_ns)
{
    sampling->fastest_ns = took_ns;
    if (sampling->of < 2)
        return;
    /* A run of calls needs one moment more than it has calls. */
    double affordable = SAMPLING_SHARE * (double)took_ns / sampling->cost_ns;
    if (affordable >= 2.0) {
        unsigned most = sampling->of < SAMPLING_CALLS_MOST ? sampling->of : SAMPLING_CALLS_MOST;
        sampling->calls = affordable > most ? most : (unsigned)affordable - 1;
        sampling->every = 1;
    } else {
        sampling->calls = 1;
        sampling->every = (unsigned)ceil(fmin(2.0 / affordable, 1e6));
    }
    if (sampling->left >= sampling->every)
        sampling->left = sampling->every - 1;
}

bool sampling_next(struct sampling *sampling, unsigned *from, unsigned *to)
{
    if (sampling->calls == 0)
        return false;
    if (sampling->left > 0) {
        sampling->left--;
        return false;
    }
    sampling->left = sampling->every - 1;
    unsigned rest = sampling->of - sampling->first;
    *from = sampling->first;
    *to = sampling->first + (sampling->calls < rest ? sampling->calls : rest);
    sampling->first = *to % sampling->of;
    return true;
}
