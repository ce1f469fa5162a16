#include "explain/binding.h"

#include <math.h>
#include <stddef.h>

#include "explain/internal.h"
#include "explain/network.h"
#include "explain/predict.h"

/* Less than this share of a ceiling lost by waiting does not make another one the limit. */
#define MUCH_LOST 0.15

/* Where it is not known what one worker does alone, a point that reaches less than this of its
 * ceilings may be limited by that. */
#define NEAR_CEILING 0.5

/* A line is worth a word where twice as fast a one gives at least this. */
#define LEAST_RELIEF 1.01

/* Where workers wait most; of lines that are relieved together the one with the lower ceiling. */
static enum ceiling_kind find_line(const struct explain_point *point,
                                   const struct calibration *calibration,
                                   const struct ceilings *ceilings)
{
    double most = LEAST_RELIEF * network_ips(point, calibration, CEILING_KINDS);
    enum ceiling_kind found = CEILING_KINDS;
    for (int i = 0; i < CEILING_KINDS; i++) {
        enum ceiling_kind kind = (enum ceiling_kind)i;
        double ceiling = ceilings->ips[kind];
        if (ceiling_line(kind) == NULL || ceiling <= 0.0)
            continue;
        double relieved = network_ips(point, calibration, kind);
        bool lower = found != CEILING_KINDS && ceiling < ceilings->ips[found];
        if (relieved < most || (relieved == most && !lower))
            continue;
        most = relieved;
        found = kind;
    }
    return found;
}

/* Some of an iteration may go on outside of what limits it, as copies do beside full queues: what
 * is predicted of the point has that, and may be a little above the ceiling. */
static bool passes(const struct explain_point *point, double ceiling_ips, double expected_ips)
{
    double most_ips = fmax(ceiling_ips, expected_ips);
    return ceiling_ips > 0.0 && point->measured_ips >= BINDING_PASSED * most_ips &&
           point->measured_low_ips > most_ips;
}

/* The ceilings without those that the point passes. But where it is less above the highest of these
 * than it is below what is left, they limit it, with figures that are too low. */
static void find_holding(const struct explain_point *point, const struct ceilings *ceilings,
                         double expected_ips, struct ceilings *out)
{
    enum ceiling_kind nearest = CEILING_KINDS;
    *out = *ceilings;
    for (int i = 0; i < CEILING_KINDS; i++) {
        if (i == CEILING_TIME_SLICING || !passes(point, out->ips[i], expected_ips))
            continue;
        out->ips[i] = 0.0;
        if (nearest == CEILING_KINDS || ceilings->ips[i] > ceilings->ips[nearest])
            nearest = (enum ceiling_kind)i;
    }
    if (nearest == CEILING_KINDS)
        return;
    enum ceiling_kind lowest = ceilings_lowest(out);
    double above = point->measured_ips / ceilings->ips[nearest];
    if (lowest == CEILING_KINDS || above < out->ips[lowest] / point->measured_ips)
        *out = *ceilings;
}

void binding_find(const struct explain_point *point, const struct calibration *calibration,
                  const struct ceilings *ceilings, struct binding *out)
{
    struct ceilings holding;
    double expected = predict_ips(point, calibration);
    find_holding(point, ceilings, expected, &holding);
    enum ceiling_kind lowest = ceilings_lowest(&holding), of_all = ceilings_lowest(ceilings);
    struct binding binding = {
        .kind = lowest, .lowest = lowest, .passed = CEILING_KINDS, .waits_for = CEILING_KINDS};
    if (of_all != CEILING_KINDS && passes(point, ceilings->ips[of_all], expected))
        binding.passed = of_all;
    /* How long workers wait follows from figures of which one is wrong. */
    else if (lowest != CEILING_KINDS && expected > 0.0)
        binding.waits_for = find_line(point, calibration, &holding);
    if (binding.waits_for != CEILING_KINDS) {
        double limit = holding.ips[lowest], line = holding.ips[binding.waits_for];
        bool of_those_who_never_wait = lowest == CEILING_WORKERS || lowest == CEILING_QUEUES;
        binding.lost = fmax(1.0 - fmax(expected, point->measured_ips) / limit, 0.0);
        if (of_those_who_never_wait && binding.lost > MUCH_LOST && line / limit < limit / expected)
            binding.kind = binding.waits_for;
    }
    if (ceilings->ips[CEILING_WORKERS] <= 0.0 && lowest != CEILING_KINDS &&
        point->measured_ips < NEAR_CEILING * holding.ips[lowest])
        binding = (struct binding){.kind = CEILING_KINDS,
                                   .lowest = CEILING_KINDS,
                                   .passed = CEILING_KINDS,
                                   .waits_for = CEILING_KINDS};
    binding.next = ceilings_next(&holding, binding.kind);
    *out = binding;
}
