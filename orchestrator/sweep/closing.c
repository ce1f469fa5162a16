/* What a sweep ends with: the best of each work, the file, and what to type next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/console/closing.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/settings.h"
#include "orchestrator/sweep/internal.h"

/* Iterations of different work cannot be compared: each kind has a line, up to this number. */
#define MOST_WORKS 4

/* A point that may be the best. */
struct entry {
    const json_t *record;
    const char *work; /* what its iterations do */
    double value, low, high;
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

/* Iterations a second; of an open loop what it was offered, and kept up with: what a window had is
 * that by chance. One without an interval is taken by its value. */
static struct entry entry_of(const json_t *record, const char *work)
{
    double offered = number_at(json_object_get(record, "rate"), "offered_ips");
    double value = number_at(record, "throughput_ips"), half = number_at(record, "ci95_rel");
    if (!isnan(offered))
        return (struct entry){record, work, offered, offered, offered};
    half = isnan(half) ? 0.0 : half;
    return (struct entry){record, work, value, value * (1.0 - half), value * (1.0 + half)};
}

static bool is_ok(const struct entry *entry)
{
    return strcmp(text_at(entry->record, "status"), "ok") == 0;
}

/* As emit chooses: what is not precise enough comes last, however much it seems to do. */
static bool is_better(const struct entry *a, const struct entry *b)
{
    if (is_ok(a) != is_ok(b))
        return is_ok(a);
    if (a->value != b->value)
        return a->value > b->value;
    return number_at(json_object_get(a->record, "latency_us"), "p99") <
           number_at(json_object_get(b->record, "latency_us"), "p99");
}

/* "hybrid 8×2, pinned: 3218 iterations/s ±0.1%, p99 5.01 ms; 2 others may do as much" */
static void write_best(const struct campaign *campaign, const struct entry *best, size_t others,
                       FILE *out)
{
    char what[POINT_DESCRIPTION], text[32], half[POINT_HALF_BYTES];
    const char *status = text_at(best->record, "status");
    point_describe(&campaign->plan.points[integer_at(best->record, "id")], what, sizeof what);
    fprintf(out, "%s: %s iterations/s", what,
            text_number(number_at(best->record, "throughput_ips"), text, sizeof text));
    if (*point_half_width(best->record, half))
        fprintf(out, " ±%s", half);
    fprintf(out, ", p99 %s ms",
            text_number(number_at(json_object_get(best->record, "latency_us"), "p99") / 1e3, text,
                        sizeof text));
    if (strcmp(status, "ok") != 0)
        fprintf(out, ", %s", status);
    if (others > 0)
        fprintf(out, "; %zu other%s may do as much", others, others == 1 ? "" : "s");
    fputc('\n', out);
}

/* One that is not precise enough to be the best. */
static void write_faster(const struct campaign *campaign, const struct entry *best,
                         const struct entry *entry, FILE *out)
{
    char what[POINT_DESCRIPTION], text[32], half[POINT_HALF_BYTES];
    bool known = *point_half_width(entry->record, half);
    point_describe(&campaign->plan.points[integer_at(entry->record, "id")], what, sizeof what);
    fprintf(out, "%s %s more, %s iterations/s", what,
            known && entry->low > best->high ? "does" : "may do",
            text_number(number_at(entry->record, "throughput_ips"), text, sizeof text));
    if (known)
        fprintf(out, " ±%s", half);
    fprintf(out, ", but is %s\n", text_at(entry->record, "status"));
}

static bool is_surely_better(const struct entry *entry, const struct entry *best)
{
    return entry->low > best->high;
}

/* Of two that seem to be better than the best that is precise enough the one to name. */
static bool is_named_before(const struct entry *a, const struct entry *b, const struct entry *best)
{
    if (is_surely_better(a, best) != is_surely_better(b, best))
        return is_surely_better(a, best);
    return a->value > b->value;
}

/* Writes the best of the work that entries[first] has, unless an earlier entry has that, too. */
static bool write_work(const struct campaign *campaign, const struct entry *entries, size_t count,
                       size_t first, FILE *out)
{
    const struct entry *best = &entries[first], *faster = NULL;
    size_t others = 0;
    for (size_t i = 0; i < first; i++)
        if (strcmp(entries[i].work, best->work) == 0)
            return false;
    for (size_t i = first + 1; i < count; i++)
        if (strcmp(entries[i].work, best->work) == 0 && is_better(&entries[i], best))
            best = &entries[i];
    for (size_t i = first; i < count; i++)
        if (strcmp(entries[i].work, best->work) == 0 && entries[i].value > best->value &&
            (!faster || is_named_before(&entries[i], faster, best)))
            faster = &entries[i];
    for (size_t i = first; i < count; i++)
        others += &entries[i] != best && &entries[i] != faster &&
                  strcmp(entries[i].work, best->work) == 0 && entries[i].high >= best->low;
    if (out)
        write_best(campaign, best, others, out);
    if (out && faster)
        write_faster(campaign, best, faster, out);
    return true;
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
    if (done < all)
        fprintf(out, "%zu of %zu points lack rounds: --resume measures these anew, in all rounds\n",
                all - done, all);
}

static char *best_text(const struct campaign *campaign, const json_t *points,
                       const struct entry *entries, size_t count, bool interrupted)
{
    struct text_stream out;
    size_t works = 0;
    if (!text_stream_open(&out))
        return NULL;
    for (size_t i = 0; i < count; i++)
        works += write_work(campaign, entries, count, i, works < MOST_WORKS ? out.file : NULL);
    if (works > MOST_WORKS)
        fprintf(out.file, "%zu further kinds of iterations: see the table\n", works - MOST_WORKS);
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

/* emit chooses among points that are ok; where none is, the best of the others is named. */
static void add_emit(const struct campaign *campaign, const struct entry *entries, size_t count,
                     struct closing *closing)
{
    const struct entry *best = entries;
    for (size_t i = 1; i < count; i++)
        if (is_better(&entries[i], best))
            best = &entries[i];
    closing_take(closing, campaign_emit_words(campaign, closing->saved,
                                              is_ok(best) ? -1 : integer_at(best->record, "id")));
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

/* Takes the points of which one may be the best, and what their iterations do. */
static size_t find_entries(const json_t *points, struct entry *entries, char **works)
{
    const json_t *point;
    size_t index, count = 0;
    json_array_foreach(points, index, point)
    {
        if (!point_is_measured(point) || point_is_overloaded(point))
            continue;
        works[count] = work_of(point);
        if (works[count]) {
            entries[count] = entry_of(point, works[count]);
            count++;
        }
    }
    return count;
}

void sweep_print_closing(const struct campaign *campaign, const char *program, const json_t *points,
                         bool interrupted)
{
    size_t most = json_array_size(points) + 1;
    struct entry *entries = calloc(most, sizeof *entries);
    char **works = calloc(most, sizeof *works);
    struct closing closing = {.program = program};
    char *published = NULL;
    if (entries && works) {
        size_t count = find_entries(points, entries, works);
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
            free(works[i]);
    }
    free(published);
    free(entries);
    free(works);
}
