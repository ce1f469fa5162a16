#include "orchestrator/capture/share.h"

#include <math.h>

/* How near to either end of what is left a line between the ends may lead. */
#define INSIDE 0.15

/* One end of what is left to search, in logarithms. */
struct end {
    double scale, ratio;
    bool known; /* its ratio was measured */
};

/* `unknown`: how far to go towards an end that was not measured. */
static double between(const struct end *from, const struct end *to, double unknown)
{
    double share = unknown;
    if (to->known && from->ratio * to->ratio < 0.0)
        share = fmin(fmax(from->ratio / (from->ratio - to->ratio), INSIDE), 1.0 - INSIDE);
    return from->scale + share * (to->scale - from->scale);
}

/* How far it is from doing as much. */
static double off(const struct share *share)
{
    return fabs(log(share->ratio));
}

static bool is_near(const struct share_search *search, const struct share *share)
{
    return fabs(share->ratio - 1.0) <= search->near_rel + fmin(share->error, search->near_rel);
}

/* The nearest of one kind. */
static enum status find(const struct share_search *search, bool cached, struct share *out)
{
    struct share best = {.cached = cached, .scale = 1.0};
    enum status status = search->measure(search->data, &best);
    if (status != STATUS_OK)
        return status;
    double beyond = log(best.ratio > 1.0 ? search->most : search->least);
    /* The answer lies from `from`, where the ratio is on the side that it has at 1, to `to`. */
    struct end from = {.ratio = log(best.ratio), .known = true}, to = {.scale = beyond};
    const bool above = from.ratio > 0.0;
    for (unsigned i = 1; i < search->tries && !is_near(search, &best); i++) {
        /* At first by as much as it is off: blocks that are nearly right need few more. */
        double unknown = i == 1 ? fmin(0.5, fabs(from.ratio)) : 0.5;
        struct end at = {.scale = between(&from, &to, unknown), .known = true};
        struct share now = {.cached = cached, .scale = exp(at.scale)};
        if (fabs(to.scale - from.scale) < 1e-3)
            break;
        status = search->measure(search->data, &now);
        if (status == STATUS_UNSUPPORTED) {
            to = (struct end){.scale = at.scale};
            continue;
        }
        if (status != STATUS_OK)
            return status;
        at.ratio = log(now.ratio);
        if (off(&now) < off(&best))
            best = now;
        if ((at.ratio > 0.0) == above)
            from = at;
        else
            to = at;
    }
    *out = best;
    return STATUS_OK;
}

enum status share_find(const struct share_search *search, struct share *out)
{
    struct share loads;
    enum status status = find(search, false, out);
    /* Kernels that wait for a cache do less than those that compute. */
    if (status != STATUS_OK || out->ratio < 1.0 || !search->can_load || is_near(search, out))
        return status;
    status = find(search, true, &loads);
    if (status == STATUS_UNSUPPORTED)
        return STATUS_OK;
    if (status == STATUS_OK && off(&loads) <= (1.0 - SHARE_HELPS_REL) * off(out))
        *out = loads;
    return status;
}
