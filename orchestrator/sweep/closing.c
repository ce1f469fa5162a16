/* What a sweep ends with: the best of each work, the file, and what to type next. */
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/console/closing.h"
#include "orchestrator/results/best.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/settings.h"
#include "orchestrator/sweep/internal.h"

/* Iterations of different work cannot be compared: each kind has a line, up to this number. */
#define MOST_WORKS 4

/* A point that may be the best. */
struct entry {
    json_t *record;
    char *work; /* what its iterations do; owned */
};

/* What an iteration does, as text; the caller frees it, NULL: no memory. */
static char *work_of(const json_t *record)
{
    struct text_stream out;
    char value[1024];
    if (!text_stream_open(&out))
        return NULL;
    for (const struct option_row *row = NULL; (row = settings_recorded(row));)
        if (row->id >= OPTION_WORKLOAD && row->id <= OPTION_DELAY_CYCLES)
            fprintf(out.file, "%s|", settings_text(record, row, false, value, sizeof value));
    return text_stream_close(&out);
}

/* "hybrid 8×2, pinned: 3218 iterations/s ±0.1%, p99 5.01 ms; 2 others may do as much" */
static void write_best(const struct campaign *campaign, const json_t *best, size_t others,
                       FILE *out)
{
    char what[POINT_DESCRIPTION], text[32], half[POINT_HALF_BYTES];
    const char *status = text_at(best, "status");
    point_describe(&campaign->plan.points[integer_at(best, "id")], what, sizeof what);
    fprintf(out, "%s: %s iterations/s", what,
            text_number(number_at(best, "throughput_ips"), text, sizeof text));
    if (*point_half_width(best, half))
        fprintf(out, " ±%s", half);
    fprintf(out, ", p99 %s ms",
            text_number(number_at(json_object_get(best, "latency_us"), "p99") / 1e3, text,
                        sizeof text));
    if (strcmp(status, "ok") != 0)
        fprintf(out, ", %s", status);
    if (others > 0)
        fprintf(out, "; %zu other%s may do as much", others, others == 1 ? "" : "s");
    fputc('\n', out);
}

/* One that is not precise enough to be the best. */
static void write_faster(const struct campaign *campaign, const json_t *point, FILE *out)
{
    char what[POINT_DESCRIPTION], text[32], half[POINT_HALF_BYTES];
    point_describe(&campaign->plan.points[integer_at(point, "id")], what, sizeof what);
    fprintf(out, "%s may do more, %s iterations/s", what,
            text_number(number_at(point, "throughput_ips"), text, sizeof text));
    if (*point_half_width(point, half))
        fprintf(out, " ±%s", half);
    fprintf(out, ", but is %s\n", text_at(point, "status"));
}

/* Writes the best of points with the same work. */
static void write_work(const struct campaign *campaign, const json_t *points, FILE *out)
{
    json_t *point, *best = best_of(points), *faster = NULL;
    size_t index, others = 0;
    json_array_foreach(points, index, point)
    {
        if (best_value(point) > best_value(best) &&
            (!faster || best_value(point) > best_value(faster)))
            faster = point;
    }
    json_array_foreach(points, index, point)
    {
        others += point != best && point != faster && best_high(point) >= best_low(best);
    }
    write_best(campaign, best, others, out);
    if (faster)
        write_faster(campaign, faster, out);
}

/* The points that have the work of entries[first], to be released; NULL: an earlier entry has it,
 * too, or there is no memory. */
static json_t *same_work(const struct entry *entries, size_t count, size_t first)
{
    for (size_t i = 0; i < first; i++)
        if (strcmp(entries[i].work, entries[first].work) == 0)
            return NULL;
    json_t *points = json_array();
    for (size_t i = first; i < count; i++)
        if (strcmp(entries[i].work, entries[first].work) == 0)
            json_array_append(points, entries[i].record);
    return points;
}

static bool has_load(const json_t *points)
{
    const json_t *point;
    size_t index;
    json_array_foreach(points, index, point)
    {
        if (json_object_get(point, "rate"))
            return true;
    }
    return false;
}

/* What --resume measures: the rounds of a point are one measurement. */
static void write_lacking(const struct campaign *campaign, const json_t *points, FILE *out)
{
    size_t all = campaign_own_count(campaign), done = 0;
    for (size_t i = 0; i < json_array_size(points); i++) {
        const json_t *point = json_array_get(points, i);
        done += !json_object_get(point, "rounds_left") &&
                strcmp(text_at(point, "status"), "interrupted") != 0;
    }
    bool one = all - done == 1;
    if (done < all)
        fprintf(out, "%zu of %zu point%s rounds: --resume measures %s anew, in all rounds\n",
                all - done, all,
                all == 1 ? " lacks"
                : one    ? "s lacks"
                         : "s lack",
                one ? "it" : "these");
}

static char *best_text(const struct campaign *campaign, const json_t *points,
                       const struct entry *entries, size_t count, bool interrupted)
{
    struct text_stream out;
    size_t works = 0;
    if (!text_stream_open(&out))
        return NULL;
    for (size_t i = 0; i < count; i++) {
        json_t *same = same_work(entries, count, i);
        if (json_array_size(same) > 0 && works++ < MOST_WORKS)
            write_work(campaign, same, out.file);
        json_decref(same);
    }
    if (works > MOST_WORKS)
        fprintf(out.file, "%zu further kind%s of iterations: see the table\n", works - MOST_WORKS,
                works - MOST_WORKS == 1 ? "" : "s");
    if (works == 0)
        fprintf(out.file, "none: no point has a number%s\n",
                has_load(points) ? ", or kept up with its load" : "");
    if (interrupted)
        write_lacking(campaign, points, out.file);
    return text_stream_close(&out);
}

/* Whether 'mpsweep explain' has something to report of a point. */
static bool is_explained(const struct campaign *campaign, const json_t *record)
{
    const struct point *point = &campaign->plan.points[integer_at(record, "id")];
    bool apart = point->contexts != 0 || point->sm_partition.count > 0;
    return point_is_closed(record) && !point_is_server(point) &&
           !(point_is_builtin(point) && apart);
}

/* Without a point that is ok emit chooses none, and the best of the others is named. */
static void add_emit(const struct campaign *campaign, const struct entry *entries, size_t count,
                     struct closing *closing)
{
    json_t *points = json_array();
    bool any = false;
    for (size_t i = 0; i < count; i++) {
        json_array_append(points, entries[i].record);
        any |= best_is_ok(entries[i].record);
    }
    closing_take(closing, campaign_emit_words(campaign, closing->saved,
                                              any ? -1 : integer_at(best_of(points), "id")));
    json_decref(points);
}

static void add_next(const struct campaign *campaign, const struct entry *entries, size_t count,
                     struct closing *closing)
{
    bool explained = false;
    for (size_t i = 0; i < count; i++)
        explained |= is_explained(campaign, entries[i].record);
    if (explained)
        closing_add(closing, "explain", closing->saved, "");
    if (count > 0)
        closing_add(closing, "plot", closing->saved, " --output picture.svg");
    if (count > 0 && campaign->shard.count == 0)
        add_emit(campaign, entries, count, closing);
}

/* Takes the points of which one may be the best. */
static size_t find_entries(const json_t *points, struct entry *entries)
{
    json_t *point;
    size_t index, count = 0;
    json_array_foreach(points, index, point)
    {
        if (!point_is_measured(point) || point_is_overloaded(point))
            continue;
        entries[count] = (struct entry){point, work_of(point)};
        count += entries[count].work != NULL;
    }
    return count;
}

void sweep_print_closing(const struct campaign *campaign, const char *program, const json_t *points,
                         bool interrupted)
{
    size_t most = json_array_size(points) + 1;
    struct entry *entries = calloc(most, sizeof *entries);
    struct closing closing = {.program = program};
    char *published = NULL;
    if (entries) {
        size_t count = find_entries(points, entries);
        char *best = best_text(campaign, points, entries, count, interrupted);
        closing.best = best ? best : "";
        closing.saved = campaign->writer.fd >= 0 ? campaign_output(campaign) : NULL;
        /* The name that the file gets when all is done. */
        if (!interrupted && options_text(campaign->options, OPTION_PUBLISH) &&
            sweep_final_name(campaign, &published) == STATUS_OK)
            closing.saved = published;
        if (interrupted)
            closing_take(&closing, campaign_resume_words(campaign, "sweep", OPTION_SWEEP));
        else if (campaign->writer.regular)
            add_next(campaign, entries, count, &closing);
        closing_print(stdout, &closing);
        free(best);
        for (size_t i = 0; i < count; i++)
            free(entries[i].work);
    }
    free(published);
    free(entries);
}
