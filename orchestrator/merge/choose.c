#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "orchestrator/merge/internal.h"
#include "orchestrator/results/number_ranges.h"

/* Sets of points: a flag each. */
struct sets {
    bool *settled;   /* a file has it, or a row of what is missing names it */
    bool *reference; /* every shard should measure it */
    bool *twice;     /* two runs have it without being asked to */
    bool *lacked;    /* of the row that is being made */
};

static int by_point(const void *a, const void *b)
{
    const struct merge_entry *x = a, *y = b;
    if (x->id != y->id)
        return x->id < y->id ? -1 : 1;
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

size_t merge_find(const struct merge *merge, size_t point)
{
    size_t low = 0, high = merge->entry_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (merge->entries[middle].id < point)
            low = middle + 1;
        else
            high = middle;
    }
    return low < merge->entry_count && merge->entries[low].id == point ? low : merge->entry_count;
}

static bool is_worse(const struct merge_entry *entry, const struct merge_entry *before)
{
    /* A record of some rounds does not stand beside that of all. */
    return !before->early && entry->rank < before->rank;
}

/* A run that was resumed, or had several rounds, has a point more than once: as when it is read,
 * the last one counts, unless it is worse. */
static void drop_repeated(struct merge_entry *first, struct merge_entry *end)
{
    for (struct merge_entry *entry = first; entry + 1 < end; entry++) {
        if (entry->source != entry[1].source)
            continue;
        /* The better one moves on, to be compared with what follows. */
        if (is_worse(&entry[1], entry)) {
            struct merge_entry worse = entry[1];
            entry[1] = *entry;
            *entry = worse;
        }
        entry->repeated = entry->dropped = true;
    }
}

static struct merge_entry *best_of(struct merge_entry *first, struct merge_entry *end)
{
    struct merge_entry *best = NULL;
    for (struct merge_entry *entry = first; entry < end; entry++)
        if (!entry->dropped && (!best || entry->rank > best->rank))
            best = entry;
    return best;
}

static int by_log_ips(const void *a, const void *b)
{
    double x = (*(struct merge_entry *const *)a)->log_ips;
    double y = (*(struct merge_entry *const *)b)->log_ips;
    return (x > y) - (x < y);
}

/* The node in the middle stands for the fleet. */
static struct merge_entry *middle_of(struct merge_entry *first, struct merge_entry *end,
                                     struct merge_entry **room)
{
    size_t count = 0;
    for (struct merge_entry *entry = first; entry < end; entry++)
        if (!entry->dropped && isfinite(entry->log_ips))
            room[count++] = entry;
    if (count == 0)
        return best_of(first, end);
    qsort(room, count, sizeof *room, by_log_ips);
    return room[(count - 1) / 2];
}

/* The lines of one point. */
static void choose_point(struct merge *merge, struct merge_entry *first, struct merge_entry *end,
                         struct merge_entry **room, struct sets *sets)
{
    size_t finished = 0;
    drop_repeated(first, end);
    struct merge_entry *kept = merge->fleet ? middle_of(first, end, room) : best_of(first, end);
    for (struct merge_entry *entry = first; entry < end; entry++) {
        finished += !entry->dropped && entry->rank > MERGE_INTERRUPTED;
        if (entry != kept && !merge->fleet)
            entry->dropped = true;
    }
    kept->kept = true;
    merge->counts[kept->rank]++;
    sets->settled[first->id] = kept->rank > MERGE_INTERRUPTED;
    sets->twice[first->id] = finished > 1 && !sets->reference[first->id];
}

/* Adds a row of what is missing, unless no point is lacked; the points are settled then. Takes over
 * the row. */
static enum status add_missing(struct merge *merge, struct sets *sets, json_t *row)
{
    enum status status = row ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
    size_t count = 0;
    for (size_t i = 0; i < merge->plan; i++) {
        count += sets->lacked[i];
        sets->settled[i] |= sets->lacked[i];
    }
    if (status == STATUS_OK && count > 0) {
        char *points = number_ranges_text(sets->lacked, merge->plan);
        if (!points)
            status = status_set(STATUS_MEMORY, "out of memory");
        json_object_set_new(row, "points", json_string(points ? points : ""));
        json_object_set_new(row, "count", json_integer((json_int_t)count));
        json_array_append(merge->missing, row);
        merge->missing_count += count;
        free(points);
    }
    json_decref(row);
    return status;
}

static const char *why(const struct merge_file *file)
{
    if (file->torn)
        return "the file ends within a line";
    return file->finished ? "the run ended without them" : "the run did not end";
}

static json_t *row_of_file(const struct merge_file *file)
{
    return json_pack("{s:s, s:s}", "file", file->path, "why", why(file));
}

/* Each file's part of the plan; without a shard that is all of it. */
static enum status find_missing(struct merge *merge, struct sets *sets)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < merge->file_count && status == STATUS_OK; i++) {
        const struct merge_file *file = &merge->files[i];
        const json_t *shard = json_object_get(file->header, "shard");
        size_t found;
        if (!file->header)
            continue;
        memset(sets->lacked, !shard, merge->plan);
        if (!number_ranges_read(text_at(shard, "points"), merge->plan, sets->lacked, &found))
            return status_set(
                STATUS_USAGE,
                "'%s': the points of its shard are not a valid range list (e.g. 0-4,9)",
                file->path);
        for (size_t j = 0; j < merge->plan; j++)
            sets->lacked[j] &= !sets->settled[j];
        status = add_missing(merge, sets, row_of_file(file));
    }
    return status;
}

static enum status find_reference(const struct merge *merge, struct sets *sets)
{
    for (size_t i = 0; i < merge->source_count; i++) {
        const json_t *shard = json_object_get(merge->sources[i].header, "shard");
        size_t found;
        if (!number_ranges_read(text_at(shard, "reference_points"), merge->plan, sets->reference,
                                &found))
            return status_set(STATUS_USAGE,
                              "'%s': its points for reference are no list like '0-4,9'",
                              merge->files[merge->sources[i].file].path);
    }
    return STATUS_OK;
}

/* Indices of shards of which there is no file, as text; to be freed. */
static char *absent_shards(const struct merge *merge)
{
    size_t count = 0;
    for (size_t i = 0; i < merge->file_count; i++) {
        const json_t *shard = json_object_get(merge->files[i].header, "shard");
        json_int_t of = integer_at(shard, "count");
        if (of > (json_int_t)count && of <= MERGE_MOST_SOURCES)
            count = (size_t)of;
    }
    bool *absent = malloc(count + 1);
    char *text = NULL;
    if (absent)
        memset(absent, true, count + 1);
    for (size_t i = 0; absent && i < merge->file_count; i++) {
        json_int_t index = merge_shard_index(merge->files[i].header);
        if (index >= 0 && index < (json_int_t)count)
            absent[index] = false;
    }
    if (absent)
        text = number_ranges_text(absent, count);
    free(absent);
    return text;
}

static enum status find_absent(struct merge *merge, struct sets *sets)
{
    char *shards = absent_shards(merge);
    if (!shards)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = STATUS_OK;
    for (size_t i = 0; i < merge->plan; i++)
        sets->lacked[i] = !sets->settled[i];
    if (!merge->fleet)
        status = add_missing(
            merge, sets,
            json_pack("{s:s, s:s}", "shards", shards, "why", "no file of their shards"));
    else if (*shards)
        json_array_append_new(merge->missing, json_pack("{s:s, s:s}", "nodes", shards, "why",
                                                        "no file of these nodes"));
    free(shards);
    return status;
}

/* Each node of a fleet is to have all points. The entries are in the order of the files. */
static enum status find_missing_of_nodes(struct merge *merge, struct sets *sets)
{
    enum status status = STATUS_OK;
    size_t next = 0;
    for (size_t f = 0; f < merge->file_count && status == STATUS_OK; f++) {
        if (!merge->files[f].header)
            continue;
        memset(sets->lacked, true, merge->plan);
        for (; next < merge->entry_count; next++) {
            const struct merge_entry *entry = &merge->entries[next];
            if (merge->sources[entry->source].file != f)
                break;
            if (entry->rank > MERGE_INTERRUPTED)
                sets->lacked[entry->id] = false;
        }
        status = add_missing(merge, sets, row_of_file(&merge->files[f]));
    }
    return status;
}

/* Keeps a line of each point. */
static void choose_points(struct merge *merge, struct merge_entry **room, struct sets *sets)
{
    if (merge->entry_count > 0)
        qsort(merge->entries, merge->entry_count, sizeof *merge->entries, by_point);
    for (size_t i = 0, end; i < merge->entry_count; i = end) {
        for (end = i + 1;
             end < merge->entry_count && merge->entries[end].id == merge->entries[i].id;)
            end++;
        choose_point(merge, &merge->entries[i], &merge->entries[end], room, sets);
    }
}

enum status merge_choose(struct merge *merge)
{
    bool *flags = calloc(merge->plan + 1, 4);
    struct sets sets = {.settled = flags};
    struct merge_entry **room = calloc(merge->entry_count + 1, sizeof *room);
    enum status status = STATUS_OK;
    merge->missing = json_array();
    if (!flags || !room || !merge->missing) {
        status = status_set(STATUS_MEMORY, "out of memory");
        goto out;
    }
    sets.reference = sets.settled + merge->plan;
    sets.twice = sets.reference + merge->plan;
    sets.lacked = sets.twice + merge->plan;
    status = merge->fleet ? find_missing_of_nodes(merge, &sets) : find_reference(merge, &sets);
    choose_points(merge, room, &sets);
    if (status == STATUS_OK && !merge->fleet) {
        status = find_missing(merge, &sets);
        merge->duplicates = number_ranges_text(sets.twice, merge->plan);
        if (status == STATUS_OK && !merge->duplicates)
            status = status_set(STATUS_MEMORY, "out of memory");
    }
    if (status == STATUS_OK)
        status = find_absent(merge, &sets);
out:
    free(flags);
    free(room);
    return status;
}

bool merge_is_whole(const struct merge *merge)
{
    return json_array_size(merge->missing) == 0 && json_array_size(merge->same_node) == 0;
}
