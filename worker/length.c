#include "worker/length.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#define TRIES 40

/* One disturbed measurement can mislead a search, so what is not found is searched for up to this
 * often. */
#define SEARCHES 3

/* Beyond what is known, the most by which an amount grows at once: the first amounts may have shown
 * next to nothing. */
#define GROWTH 64.0

struct bracket {
    struct length low, high;          /* takes less, takes more */
    double too_short_ns, too_long_ns; /* by how much, or less: see note() */
    bool has_high, was_high;
    unsigned tries;
};

static double off(const struct length_search *search, double ns)
{
    return fabs(ns / search->asked_ns - 1.0);
}

static uint64_t whole(const struct length_search *search, double amount)
{
    if (amount >= (double)search->most)
        return search->most;
    uint64_t number = amount <= (double)search->least ? search->least : (uint64_t)(amount + 0.5);
    return number / search->unit * search->unit;
}

/* Inside the bracket by a straight line (regula falsi); beyond it by the line through the last two,
 * as long as only less is known. */
static uint64_t next_amount(const struct length_search *search, const struct bracket *bracket,
                            const struct length *before)
{
    const struct length *low = &bracket->low, *high = &bracket->high;
    double from = (double)low->amount;
    if (bracket->has_high) {
        double width = (double)(high->amount - low->amount);
        double share = bracket->too_short_ns / (bracket->too_short_ns + bracket->too_long_ns);
        uint64_t amount = whole(search, from + width * share);
        if (amount <= low->amount)
            amount = low->amount + search->unit;
        if (amount >= high->amount)
            amount = high->amount - search->unit;
        return amount;
    }
    double most = GROWTH * fmax(from, (double)search->first);
    double slope = (low->got_ns - before->got_ns) / (from - (double)before->amount);
    double step = slope > 0.0 ? (search->asked_ns - low->got_ns) / slope : most;
    uint64_t amount = whole(search, fmin(from + step, most));
    return amount > low->amount ? amount : low->amount + search->unit;
}

/* Where one end of the bracket stays for a second time, the line is drawn as if that end were only
 * half as far away (the Illinois rule): so it cannot stay for long. */
static void note(const struct length_search *search, struct bracket *bracket, struct length *before,
                 const struct length *tried)
{
    bool is_high = tried->got_ns >= search->asked_ns;
    bool again = bracket->tries > 0 && is_high == bracket->was_high;
    if (is_high) {
        bracket->high = *tried;
        bracket->has_high = true;
        bracket->too_long_ns = tried->got_ns - search->asked_ns;
        if (again)
            bracket->too_short_ns /= 2.0;
    } else {
        *before = bracket->low;
        bracket->low = *tried;
        bracket->too_short_ns = search->asked_ns - tried->got_ns;
        if (again && bracket->has_high)
            bracket->too_long_ns /= 2.0;
    }
    bracket->was_high = is_high;
    bracket->tries++;
}

/* One search; *best is the nearest that it came to. */
static enum status approach(const struct length_search *search, struct length *best)
{
    struct bracket bracket = {.low.amount = search->least};
    struct length before, tried = {0};
    enum status status = search->measure(search->data, search->least, &bracket.low.got_ns);
    if (status != STATUS_OK)
        return status;
    *best = before = bracket.low;
    bracket.too_short_ns = search->asked_ns - best->got_ns;
    if (best->got_ns > search->asked_ns * (1.0 + LENGTH_TOLERANCE))
        return STATUS_OK;
    tried.amount = search->first;
    while (off(search, best->got_ns) > LENGTH_AIM && bracket.tries < TRIES) {
        status = search->measure(search->data, tried.amount, &tried.got_ns);
        if (status != STATUS_OK)
            return status;
        if (off(search, tried.got_ns) < off(search, best->got_ns))
            *best = tried;
        note(search, &bracket, &before, &tried);
        bool at_end = !bracket.has_high && bracket.low.amount >= search->most;
        bool is_narrow =
            bracket.has_high && bracket.high.amount <= bracket.low.amount + search->unit;
        if (at_end || is_narrow)
            break;
        tried.amount = next_amount(search, &bracket, &before);
    }
    return STATUS_OK;
}

enum status length_find(const struct length_search *search, struct length *out)
{
    struct length best = {0};
    for (unsigned i = 0; i < SEARCHES; i++) {
        struct length found;
        enum status status = approach(search, &found);
        if (status != STATUS_OK)
            return status;
        if (i == 0 || off(search, found.got_ns) < off(search, best.got_ns))
            best = found;
        double enough = i + 1 < SEARCHES ? LENGTH_TOLERANCE : LENGTH_COARSE_TOLERANCE;
        if (off(search, best.got_ns) <= enough) {
            *out = best;
            return STATUS_OK;
        }
    }
    bool too_long = best.amount == search->least && best.got_ns > search->asked_ns;
    return status_set(STATUS_UNSUPPORTED,
                      too_long ? "the shortest takes %.3g us here"
                               : "the nearest that it comes to is %.3g us",
                      best.got_ns / 1e3);
}
