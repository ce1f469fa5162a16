#include "explain/binding.h"

#include <stddef.h>

#include "explain/network.h"
#include "explain/predict.h"

/* Less than this share of a ceiling lost by waiting does not make another one the limit. */
#define MUCH_LOST 0.15

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

void binding_find(const struct explain_point *point, const struct calibration *calibration,
                  const struct ceilings *ceilings, struct binding *out)
{
    enum ceiling_kind lowest = ceilings_lowest(ceilings);
    struct binding binding = {.kind = lowest, .waits_for = CEILING_KINDS};
    double expected = predict_ips(point, calibration);
    if (lowest != CEILING_KINDS && expected > 0.0)
        binding.waits_for = find_line(point, calibration, ceilings);
    if (binding.waits_for != CEILING_KINDS) {
        double limit = ceilings->ips[lowest], line = ceilings->ips[binding.waits_for];
        bool of_those_who_never_wait = lowest == CEILING_WORKERS || lowest == CEILING_QUEUES;
        binding.lost = 1.0 - expected / limit;
        if (of_those_who_never_wait && binding.lost > MUCH_LOST && line / limit < limit / expected)
            binding.kind = binding.waits_for;
    }
    binding.next = ceilings_next(ceilings, binding.kind);
    *out = binding;
}
