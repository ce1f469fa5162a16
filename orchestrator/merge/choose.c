#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "orchestrator/merge/internal.h"
#include "orchestrator/results/number_ranges.h"

/* What is known of a point. */
enum {
    HAVE = 1,      /* some file has it */
    REFERENCE = 2, /* every shard should measure it */
    TWICE = 4,     /* two runs have it without being asked to */
    NAMED = 8,     /* a file or shard is named that lacks it */
    LACKS = 16,    /* it is the file that is looked at */
};

struct state {
    unsigned char *flags; /* a point each */
    unsigned char wanted, unwanted;
};

static bool has_flags(const void *set, size_t number)
{
    const struct state *state = set;
    unsigned char flags = state->flags[number];
    return (flags & state->wanted) == state->wanted && !(flags & state->unwanted);
}

static void expect(void *set, size_t number)
{
    unsigned char *flags = set;
    if (!(flags[number] & (HAVE | NAMED)))
        flags[number] |= NAMED | LACKS;
}

static void set_reference(void *set, size_t number)
{
    ((unsigned char *)set)[number] |= REFERENCE;
}

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

/* A run that was resumed has a point more than once: as when it is read, the last one counts,
 * unless it is worse. */
static void drop_repeated(struct merge_entry *first, struct merge_entry *end)
{
    for (struct merge_entry *entry = first; entry + 1 < end; entry++) {
        if (entry->source != entry[1].source)
            continue;
        /* The better one moves on, to be compared with what follows. */
        if (entry[1].rank < entry->rank) {
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
                         struct merge_entry **room, unsigned char *flags)
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
    if (kept->rank > MERGE_INTERRUPTED)
        flags[first->id] |= HAVE;
    if (finished > 1)
        flags[first->id] |= TWICE;
}

/* Adds a row of what is missing: the points with these flags and without those. */
static enum status add_missing(struct merge *merge, unsigned char *flags, unsigned char wanted,
                               unsigned char unwanted, json_t *row)
{
    const struct state state = {flags, wanted, unwanted};
    enum status status = row ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory");
    size_t count = 0;
    for (size_t i = 0; i < merge->plan; i++)
        count += has_flags(&state, i);
    if (status == STATUS_OK && count > 0) {
        char *points = shard_ranges_text(has_flags, &state, merge->plan);
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

/* Marks the points that the file should have and that no file has. */
static enum status expect_points(const struct merge *merge, const struct merge_file *file,
                                 unsigned char *flags)
{
    const json_t *shard = json_object_get(file->header, "shard");
    const char *points = json_string_value(json_object_get(shard, "points"));
    for (size_t i = 0; i < merge->plan && !shard; i++)
        expect(flags, i);
    if (shard_ranges_read(points, merge->plan, expect, flags))
        return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "'%s': the points of its shard are not a valid range list (e.g. 0-4,9)",
                      file->path);
}

static enum status find_reference(const struct merge *merge, unsigned char *flags)
{
    for (size_t i = 0; i < merge->source_count; i++) {
        const json_t *shard = json_object_get(merge->sources[i].header, "shard");
        const char *points = json_string_value(json_object_get(shard, "reference_points"));
        if (!shard_ranges_read(points, merge->plan, set_reference, flags))
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
        json_int_t of = json_integer_value(json_object_get(shard, "count"));
        if (of > (json_int_t)count && of <= MERGE_MOST_SOURCES)
            count = (size_t)of;
    }
    unsigned char *flags = calloc(count + 1, 1);
    char *text = NULL;
    for (size_t i = 0; flags && i < merge->file_count; i++) {
        const json_t *shard = json_object_get(merge->files[i].header, "shard");
        json_int_t index = json_integer_value(json_object_get(shard, "index"));
        if (shard && index >= 0 && index < (json_int_t)count)
            flags[index] |= HAVE;
    }
    const struct state state = {flags, 0, HAVE};
    if (flags)
        text = shard_ranges_text(has_flags, &state, count);
    free(flags);
    return text;
}

/* Which file lacks what it was to have. */
static enum status find_missing(struct merge *merge, unsigned char *flags)
{
    enum status status = STATUS_OK;
    for (size_t i = 0; i < merge->file_count && status == STATUS_OK; i++) {
        const struct merge_file *file = &merge->files[i];
        if (!file->header)
            continue;
        size_t before = json_array_size(merge->missing);
        bool lacks = false;
        status = expect_points(merge, file, flags);
        for (size_t j = 0; j < merge->plan && !lacks; j++)
            lacks = flags[j] & LACKS;
        if (status == STATUS_OK && lacks)
            status = add_missing(merge, flags, LACKS, 0,
                                 json_pack("{s:s, s:s}", "file", file->path, "why", why(file)));
        for (size_t j = 0; j < merge->plan && json_array_size(merge->missing) > before; j++)
            flags[j] &= (unsigned char)~LACKS;
    }
    return status;
}

static enum status find_absent(struct merge *merge, unsigned char *flags)
{
    char *shards = absent_shards(merge);
    if (!shards)
        return status_set(STATUS_MEMORY, "out of memory");
    enum status status = STATUS_OK;
    if (!merge->fleet)
        status = add_missing(
            merge, flags, 0, HAVE | NAMED,
            json_pack("{s:s, s:s}", "shards", shards, "why", "no file of their shards"));
    else if (*shards)
        json_array_append_new(merge->missing, json_pack("{s:s, s:s}", "nodes", shards, "why",
                                                        "no file of these nodes"));
    free(shards);
    return status;
}

/* Each node of a fleet is to have all points. */
static enum status find_missing_of_nodes(struct merge *merge, unsigned char *flags)
{
    enum status status = STATUS_OK;
    size_t *first = calloc(merge->file_count + 1, sizeof *first);
    size_t *next = calloc(merge->entry_count + 1, sizeof *next);
    if (!first || !next) {
        free(first);
        free(next);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    /* The entries of each file, as a list: they are sorted by point. */
    for (size_t i = merge->entry_count; i-- > 0;) {
        size_t file = merge->sources[merge->entries[i].source].file;
        next[i] = first[file];
        first[file] = i + 1;
    }
    for (size_t f = 0; f < merge->file_count && status == STATUS_OK; f++) {
        const struct merge_file *file = &merge->files[f];
        if (!file->header)
            continue;
        for (size_t i = 0; i < merge->plan; i++)
            flags[i] &= (unsigned char)~HAVE;
        for (size_t i = first[f]; i > 0; i = next[i - 1])
            if (merge->entries[i - 1].rank > MERGE_INTERRUPTED)
                flags[merge->entries[i - 1].id] |= HAVE;
        status = add_missing(merge, flags, 0, HAVE,
                             json_pack("{s:s, s:s}", "file", file->path, "why", why(file)));
    }
    free(first);
    free(next);
    return status;
}

enum status merge_choose(struct merge *merge)
{
    unsigned char *flags = calloc(merge->plan + 1, 1);
    struct merge_entry **room = calloc(merge->entry_count + 1, sizeof *room);
    enum status status = STATUS_OK;
    merge->missing = json_array();
    if (!flags || !room || !merge->missing) {
        status = status_set(STATUS_MEMORY, "out of memory");
        goto out;
    }
    if (merge->entry_count > 0)
        qsort(merge->entries, merge->entry_count, sizeof *merge->entries, by_point);
    for (size_t i = 0, end; i < merge->entry_count; i = end) {
        for (end = i + 1;
             end < merge->entry_count && merge->entries[end].id == merge->entries[i].id;)
            end++;
        choose_point(merge, &merge->entries[i], &merge->entries[end], room, flags);
    }
    if (merge->fleet) {
        status = find_missing_of_nodes(merge, flags);
    } else {
        const struct state twice = {flags, TWICE, REFERENCE};
        status = find_reference(merge, flags);
        if (status == STATUS_OK)
            status = find_missing(merge, flags);
        merge->duplicates = shard_ranges_text(has_flags, &twice, merge->plan);
        if (status == STATUS_OK && !merge->duplicates)
            status = status_set(STATUS_MEMORY, "out of memory");
    }
    if (status == STATUS_OK)
        status = find_absent(merge, flags);
out:
    free(flags);
    free(room);
    return status;
}

bool merge_is_whole(const struct merge *merge)
{
    return json_array_size(merge->missing) == 0 && json_array_size(merge->same_node) == 0;
}
