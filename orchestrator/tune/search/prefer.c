#include "orchestrator/tune/search/internal.h"

/* What differs by less is equal: CPU time moves from window to window, and a percentile is known to
 * the width of its bin. */
#define SAME_CPUS 0.1
#define SAME_P99 0.02

static double cpus_of(const struct tune_search *search, size_t point)
{
    return search->states[point].seen.cpus;
}

/* One that is held to a share of the GPU does less when it could have more. */
static double shares_of(const struct tune_search *search, size_t point)
{
    uint32_t share = search->candidates[point].axes[TUNE_AXIS_SHARE];
    return share == 0 || share == 100 ? 1.0 : 2.0;
}

static double p99_of(const struct tune_search *search, size_t point)
{
    return search->states[point].seen.p99_us;
}

static double processes_of(const struct tune_search *search, size_t point)
{
    return search->candidates[point].processes;
}

/* One more than there are: 0 would be an amount that is not known. */
static double daemons_of(const struct tune_search *search, size_t point)
{
    return 1.0 + search->candidates[point].axes[TUNE_AXIS_MPS];
}

static const struct {
    enum tune_reason reason;
    double (*amount)(const struct tune_search *search, size_t point);
    double same;
} wishes[] = {
    {TUNE_FEWER_CPUS, cpus_of, SAME_CPUS}, {TUNE_WHOLE_GPU, shares_of, 0.0},
    {TUNE_LOWER_P99, p99_of, SAME_P99},    {TUNE_FEWER_PROCESSES, processes_of, 0.0},
    {TUNE_NO_DAEMON, daemons_of, 0.0},
};

size_t tune_prefer(const struct tune_search *search, const size_t *points, size_t count,
                   enum tune_reason *reason)
{
    size_t left[TUNE_EQUAL_MOST] = {0};
    for (size_t i = 0; i < count; i++)
        left[i] = points[i];
    *reason = TUNE_MORE;
    for (size_t wish = 0; wish < sizeof wishes / sizeof *wishes; wish++) {
        double least = wishes[wish].amount(search, left[0]);
        for (size_t i = 1; i < count; i++) {
            double amount = wishes[wish].amount(search, left[i]);
            least = amount < least ? amount : least;
        }
        /* Where an amount is not known, the wish does not count. */
        size_t kept = 0;
        for (size_t i = 0; i < count; i++)
            if (least <= 0.0 ||
                wishes[wish].amount(search, left[i]) <= (1.0 + wishes[wish].same) * least)
                left[kept++] = left[i];
        count = kept;
        if (*reason == TUNE_MORE && left[0] != points[0])
            *reason = wishes[wish].reason;
    }
    return left[0];
}
