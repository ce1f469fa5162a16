#include "orchestrator/emit/choose.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "job/rate.h"
#include "orchestrator/emit/deployment.h"
#include "orchestrator/results/best.h"
#include "orchestrator/results/point.h"

/* Numbers of points that an error lists. */
#define IDS_SHOWN 8

/* What candidates are held against. */
struct search {
    const struct results *results;
    const char *path;
    double max_p99_us;   /* 0: no limit */
    const json_t *goal;  /* of the rates that were searched: only these are taken; or NULL */
    bool limit_is_tuned; /* that of a tuning, not of these rules */
    bool no_advice;
    bool or_unconverged;    /* where no point is ok */
    bool takes_unconverged; /* these points beside those that are ok */
};

/* -- a limit of the latency -------------------------------------------------------------------- */

static const json_t *bounds_of(const json_t *point)
{
    return json_object_get(point_latency(point), "bounds");
}

static double p99_of(const json_t *point)
{
    return point_latency_us(point, "p99");
}

/* As 'mpsweep tune' decides: the upper end of the interval counts, and one without an end may be
 * anything. Older records have no intervals. */
static bool meets(const json_t *point, double limit_us)
{
    if (limit_us <= 0.0)
        return true;
    const json_t *bounds = bounds_of(point);
    double high = bounds && isfinite(p99_of(point)) ? number_in(bounds, "p99", 1) : p99_of(point);
    return high > 0.0 && high <= limit_us;
}

/* "p99 of 65.3 ms (95%: 61.9 to 69.2 ms)" */
static const char *p99_text(const json_t *point, char *out, size_t size)
{
    const json_t *bounds = bounds_of(point);
    double low = number_in(bounds, "p99", 0), high = number_in(bounds, "p99", 1);
    char value[24], from[24], to[24];
    struct text text = {.at = out, .size = size};
    *out = '\0';
    if (isnan(p99_of(point))) {
        text_append(&text, "p99 is not known");
        return out;
    }
    if (isinf(p99_of(point))) {
        text_append(&text, "p99 later than any, since %.2g%% of the requests failed",
                    100.0 * point_failed_share(point));
        return out;
    }
    text_append(&text, "p99 of %s", rate_time_text(1e3 * p99_of(point), value, sizeof value));
    if (high > 0.0)
        text_append(&text, " (95%%: %s to %s)", rate_time_text(1e3 * low, from, sizeof from),
                    rate_time_text(1e3 * high, to, sizeof to));
    else if (bounds)
        text_append(&text, ", an upper end of its interval is not known");
    return out;
}

/* -- candidates -------------------------------------------------------------------------------- */

static const json_t *goal_of(const json_t *point)
{
    return json_object_get(json_object_get(point, "rate"), "goal");
}

/* Why a measured point is not taken; NULL: it may be. */
static const char *reason_against(const struct search *search, const json_t *point,
                                  char out[EMIT_REASON_BYTES])
{
    char limit[24], p99[96];
    const char *obstacle = deployment_obstacle(point);
    if (obstacle)
        return obstacle;
    if (!best_is_ok(point) && !(search->takes_unconverged && best_is_unconverged(point))) {
        snprintf(out, EMIT_REASON_BYTES, "is %s", text_at(point, "status"));
        return out;
    }
    if (search->goal && !goal_of(point)) {
        snprintf(out, EMIT_REASON_BYTES, "was not found under a limit: %s",
                 p99_text(point, p99, sizeof p99));
        return out;
    }
    if (meets(point, search->max_p99_us))
        return NULL;
    snprintf(out, EMIT_REASON_BYTES, "has a p99 not surely below %s: %s",
             rate_time_text(1e3 * search->max_p99_us, limit, sizeof limit),
             p99_text(point, p99, sizeof p99));
    return out;
}

/* A file with rates that were searched has its own limit, unless one is given. STATUS_USAGE: it has
 * several. */
static enum status find_goal(struct search *search)
{
    const json_t *point;
    size_t index;
    json_array_foreach(search->results->points, index, point)
    {
        const json_t *goal = goal_of(point);
        if (search->max_p99_us > 0.0 || !goal || !best_is_ok(point))
            continue;
        if (search->goal && !json_equal(search->goal, goal))
            return status_set(STATUS_USAGE,
                              "'%s' has rates that were searched under different limits: choose "
                              "with --max-p99 or --point",
                              search->path);
        search->goal = goal;
    }
    return STATUS_OK;
}

/* -- one that was asked for -------------------------------------------------------------------- */

/* "0, 485, 487": the least numbers of points, with " and 4 others" where there are more. */
static void append_ids(struct text *text, const json_t *points)
{
    int64_t least[IDS_SHOWN];
    size_t count = 0, index;
    const json_t *point;
    json_array_foreach(points, index, point)
    {
        int64_t id = integer_at(point, "id");
        size_t at = count < IDS_SHOWN ? count : IDS_SHOWN;
        for (; at > 0 && id < least[at - 1]; at--)
            if (at < IDS_SHOWN)
                least[at] = least[at - 1];
        if (at < IDS_SHOWN)
            least[at] = id;
        count++;
    }
    for (size_t i = 0; i < count && i < IDS_SHOWN; i++)
        text_append(text, "%s%" PRId64, i ? ", " : "", least[i]);
    if (count > IDS_SHOWN)
        text_append(text, " and %zu other%s", count - IDS_SHOWN, count - IDS_SHOWN == 1 ? "" : "s");
}

static enum status refuse_id(const struct search *search, int64_t id)
{
    size_t count = json_array_size(search->results->points);
    char ids[24 * IDS_SHOWN + 40] = "";
    append_ids(&(struct text){.at = ids, .size = sizeof ids}, search->results->points);
    return status_set(STATUS_USAGE, "'%s' has no point %" PRId64 ": %s%s", search->path, id,
                      count == 0   ? "it has none"
                      : count == 1 ? "its only point is "
                                   : "its points are ",
                      ids);
}

static enum status pick_by_id(const struct search *search, int64_t id, const json_t **out)
{
    const json_t *point, *found = NULL;
    size_t index;
    char p99[96], limit[24];
    json_array_foreach(search->results->points, index, point)
    {
        if (integer_at(point, "id") == id)
            found = point;
    }
    if (!found)
        return refuse_id(search, id);
    if (!point_is_measured(found))
        return status_set(STATUS_USAGE, "point %" PRId64 " of '%s' is %s and has no measurement",
                          id, search->path, text_at(found, "status"));
    /* What else keeps it from being deployed is seen when it is. */
    if (!meets(found, search->max_p99_us))
        return status_set(
            STATUS_USAGE, "point %" PRId64 " of '%s' has a p99 that is not surely below %s: %s", id,
            search->path, rate_time_text(1e3 * search->max_p99_us, limit, sizeof limit),
            p99_text(found, p99, sizeof p99));
    *out = found;
    return STATUS_OK;
}

/* -- the best one ------------------------------------------------------------------------------ */

/* Without a point that is ok there is none, unless search->takes_unconverged. */
static const json_t *find_best(const struct search *search)
{
    char reason[EMIT_REASON_BYTES];
    struct search wider = *search;
    const json_t *best = NULL;
    json_t *point, *candidates = json_array();
    size_t index;
    bool any = search->takes_unconverged;
    wider.takes_unconverged = true;
    json_array_foreach(search->results->points, index, point)
    {
        if (!point_is_measured(point) || reason_against(&wider, point, reason))
            continue;
        any |= best_is_ok(point);
        json_array_append(candidates, point);
    }
    if (any)
        best = best_of(candidates);
    json_decref(candidates);
    return best;
}

/* The best of those that only their latency keeps out; for the limit of a tuning the one that it
 * named, since others may be outside of what it was to search. */
static const json_t *find_closest(const struct search *search)
{
    const json_t *best = NULL, *point, *named = NULL;
    size_t index;
    if (search->limit_is_tuned)
        named = json_object_get(json_object_get(search->results->tune, "closest"), "point");
    json_array_foreach(search->results->points, index, point)
    {
        if (json_equal(named, json_object_get(point, "id")) && point_is_measured(point) &&
            !deployment_obstacle(point) && !isnan(p99_of(point)))
            return point;
        if (best_is_ok(point) && !deployment_obstacle(point) && !isnan(p99_of(point)) &&
            (!best || p99_of(point) < p99_of(best)))
            best = point;
    }
    return best;
}

/* The best of those that only their precision keeps out. */
static const json_t *find_unconverged(const struct search *search)
{
    struct search wider = *search;
    wider.takes_unconverged = true;
    return find_best(&wider);
}

static enum status refuse_all(const struct search *search)
{
    char limit[24], p99[96], advice[96] = "";
    const json_t *closest = search->max_p99_us > 0.0 ? find_closest(search) : NULL;
    int64_t id = integer_at(closest, "id");
    const json_t *unconverged = closest ? NULL : find_unconverged(search);
    if (unconverged && !search->no_advice)
        return status_set(STATUS_USAGE,
                          "'%s' has no point that is ok and can be deployed: --point %" PRId64
                          " takes the best one, which is unconverged; more --rounds or a longer "
                          "--max-duration measure it precisely",
                          search->path, (int64_t)integer_at(unconverged, "id"));
    if (!closest)
        return status_set(STATUS_USAGE, "'%s' has no point that is ok and can be deployed%s",
                          search->path,
                          search->no_advice ? "" : ": measure one, or name another with --point");
    if (!search->no_advice)
        snprintf(advice, sizeof advice, "; --point %" PRId64 "%s takes it", id,
                 search->limit_is_tuned ? "" : " without --max-p99");
    return status_set(STATUS_USAGE,
                      "'%s' has no point whose p99 is surely below %s: point %" PRId64
                      " comes closest, with a %s%s",
                      search->path, rate_time_text(1e3 * search->max_p99_us, limit, sizeof limit),
                      id, p99_text(closest, p99, sizeof p99), advice);
}

/* Of the better points that are not taken the best three, by rank. */
static size_t find_skipped(const struct search *search, const json_t *best,
                           const json_t *out[EMIT_SKIPPED_MOST])
{
    size_t count = 0, index;
    const json_t *point;
    json_array_foreach(search->results->points, index, point)
    {
        if (point == best || !point_is_measured(point) || !best_is_better(point, best))
            continue;
        size_t at = count < EMIT_SKIPPED_MOST ? count : EMIT_SKIPPED_MOST;
        for (; at > 0 && best_is_better(point, out[at - 1]); at--)
            if (at < EMIT_SKIPPED_MOST)
                out[at] = out[at - 1];
        if (at < EMIT_SKIPPED_MOST)
            out[at] = point;
        count++;
    }
    return count;
}

static size_t note_skipped(const struct search *search, struct emit_choice *choice)
{
    const json_t *skipped[EMIT_SKIPPED_MOST];
    size_t count = find_skipped(search, choice->point, skipped);
    struct search wider = *search;
    wider.takes_unconverged = best_is_unconverged(choice->point);
    for (size_t i = 0; i < count && i < EMIT_SKIPPED_MOST; i++) {
        struct emit_skipped *one = &choice->skipped[choice->skipped_count++];
        char reason[EMIT_REASON_BYTES];
        const char *against = reason_against(&wider, skipped[i], reason);
        one->point = skipped[i];
        snprintf(one->reason, sizeof one->reason, "%s",
                 against ? against : "is unconverged and may do less than one that is ok");
    }
    choice->skipped_more = count - choice->skipped_count;
    return count;
}

/* "the highest throughput of the file" is claimed only where that is so, and the file whole. */
static void write_why(const struct search *search, size_t skipped, struct emit_choice *choice)
{
    struct text text = {.at = choice->why, .size = sizeof choice->why};
    char limit[24];
    if (search->goal) {
        text_append(&text, "the highest rate found with a %.8s under %s",
                    text_at(search->goal, "percentile"),
                    rate_time_text(1e3 * number_at(search->goal, "us"), limit, sizeof limit));
        return;
    }
    size_t count = json_array_size(search->results->points);
    size_t missing = results_missing_points(search->results);
    size_t lacking = results_lacking_points(search->results);
    bool cut = results_are_of_cut_tune(search->results), whole = missing + lacking == 0 && !cut;
    text_append(&text, "the highest throughput%s",
                skipped == 0 && whole      ? " of the file"
                : skipped == 0             ? " so far"
                : search->max_p99_us > 0.0 ? ""
                                           : " of the points that qualify");
    if (cut)
        text_append(&text, ", of a tuning that was cut off before its finals");
    if (missing + lacking > 0)
        text_append(&text, ", of a sweep that has %zu of its %zu points", count - lacking,
                    count + missing);
    if (search->max_p99_us > 0.0)
        text_append(&text, " with a p99 surely below %s",
                    rate_time_text(1e3 * search->max_p99_us, limit, sizeof limit));
    if (best_is_unconverged(choice->point))
        text_append(&text, "; unconverged, but surely more than those that are ok");
}

static enum status pick_best(struct search *search, struct emit_choice *choice)
{
    enum status status = find_goal(search);
    if (status != STATUS_OK)
        return status;
    choice->point = find_best(search);
    if (!choice->point && search->or_unconverged && search->max_p99_us <= 0.0) {
        choice->point = find_unconverged(search);
        if (choice->point) {
            snprintf(choice->why, sizeof choice->why,
                     "the highest throughput, but unconverged, and no point is ok: more --rounds "
                     "or a longer --max-duration measure it precisely");
            return STATUS_OK;
        }
    }
    if (!choice->point)
        return refuse_all(search);
    write_why(search, note_skipped(search, choice), choice);
    if (search->results->tune && !json_is_object(json_object_get(search->results->tune, "winner")))
        strncat(choice->why, ": the tuning has no winner",
                sizeof choice->why - strlen(choice->why) - 1);
    return STATUS_OK;
}

enum status emit_choose(const struct results *results, const char *path,
                        const struct emit_rules *rules, struct emit_choice *out)
{
    struct search search = {.results = results,
                            .path = path,
                            .max_p99_us = rules->max_p99_us,
                            .no_advice = rules->no_advice,
                            .or_unconverged = rules->or_unconverged};
    struct emit_choice choice = {0};
    const json_t *winner = json_object_get(json_object_get(results->tune, "winner"), "point");
    bool unfinished = strcmp(text_at(results->tune, "verdict"), "unfinished") == 0;
    /* What a tuning found no layout for, none of its layouts is deployed for, unless by its number.
     */
    double tuned_us = number_at(json_object_get(results->tune, "constraints"), "max_p99_us");
    search.limit_is_tuned = rules->point < 0 && !json_is_integer(winner) &&
                            !(search.max_p99_us > 0.0) && tuned_us > 0.0;
    if (search.limit_is_tuned)
        search.max_p99_us = tuned_us;
    const char *why = unfinished ? "the best so far of a tuning that is not finished"
                                 : "the winner of the tuning";
    enum status status = STATUS_USAGE;
    if (rules->point >= 0) {
        why = "asked for by its number";
        status = pick_by_id(&search, rules->point, &choice.point);
    } else if (json_is_integer(winner)) {
        status = pick_by_id(&search, json_integer_value(winner), &choice.point);
    }
    if (choice.point)
        snprintf(choice.why, sizeof choice.why, "%s", why);
    else if (rules->point < 0 && (!json_is_integer(winner) || rules->max_p99_us > 0.0))
        status = pick_best(&search, &choice);
    if (status == STATUS_OK)
        *out = choice;
    return status;
}
