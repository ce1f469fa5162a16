#include "orchestrator/compare/match.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "job/options.h"
#include "orchestrator/results/settings.h"
#include "orchestrator/results/point.h"

/* A point in the order of its file's plan. Places count from 1; 0 is none. */
struct entry {
    json_t *point;
    size_t kind;     /* its settings: points of both files that share them are of one kind */
    size_t next;     /* place of the next one of its kind */
    json_t *partner; /* in the other file */
};

struct entries {
    struct entry *at;
    size_t count;
    size_t *first; /* of each kind: the place of its first point */
};

static int compare_plan(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    json_int_t first = integer_at(a->point, "id"), second = integer_at(b->point, "id");
    return (first > second) - (first < second);
}

static void entries_release(struct entries *entries)
{
    free(entries->at);
    free(entries->first);
}

/* kinds: the numbers of settings_key()s in both files, of which there are kinds_most. */
static enum status entries_make(const json_t *points, json_t *kinds, size_t kinds_most,
                                struct entries *out)
{
    size_t count = json_array_size(points);
    struct entries entries = {.at = calloc(count + 1, sizeof *entries.at),
                              .count = count,
                              .first = calloc(kinds_most + 1, sizeof *entries.first)};
    bool done = entries.at != NULL && entries.first != NULL;
    for (size_t i = 0; i < count && done; i++) {
        json_t *point = json_array_get(points, i);
        char *key = settings_key(point, 0);
        json_int_t kind =
            key != NULL ? json_place(kinds, key, (json_int_t)json_object_size(kinds)) : -1;
        entries.at[i] = (struct entry){.point = point, .kind = (size_t)kind};
        done = kind >= 0;
        free(key);
    }
    if (!done) {
        entries_release(&entries);
        return status_set(STATUS_MEMORY, "out of memory for a comparison");
    }
    qsort(entries.at, count, sizeof *entries.at, compare_plan);
    for (size_t place = count; place > 0; place--) {
        struct entry *entry = &entries.at[place - 1];
        entry->next = entries.first[entry->kind];
        entries.first[entry->kind] = place;
    }
    *out = entries;
    return STATUS_OK;
}

static bool are_several(const struct entries *entries, size_t kind)
{
    return entries->at[entries->first[kind] - 1].next > 0;
}

/* Pairs points that share all settings and have no partner yet. */
static void pair_all(struct entries *base, struct entries *change, bool by_section,
                     size_t *repeated)
{
    for (size_t b = 0; b < base->count; b++) {
        struct entry *own = &base->at[b];
        size_t place = change->first[own->kind];
        for (; place > 0 && own->partner == NULL; place = change->at[place - 1].next) {
            struct entry *other = &change->at[place - 1];
            bool alike =
                strcmp(text_at(own->point, "section"), text_at(other->point, "section")) == 0;
            if (other->partner != NULL || (by_section && !alike))
                continue;
            own->partner = other->point;
            other->partner = own->point;
            *repeated += are_several(base, own->kind) || are_several(change, own->kind);
        }
    }
}

static json_t *rest_of(const struct entries *entries)
{
    json_t *rest = json_array();
    for (size_t i = 0; i < entries->count; i++)
        if (entries->at[i].partner == NULL)
            json_array_append(rest, entries->at[i].point);
    return rest;
}

enum status compare_match(const json_t *base, const json_t *change, struct compare_match *out)
{
    struct entries bases = {0}, changes = {0};
    struct compare_match match = {0};
    json_t *kinds = json_object();
    size_t kinds_most = json_array_size(base) + json_array_size(change);

    enum status status = entries_make(base, kinds, kinds_most, &bases);
    if (status == STATUS_OK)
        status = entries_make(change, kinds, kinds_most, &changes);
    if (status != STATUS_OK)
        goto out;
    match.pairs = calloc(bases.count + 1, sizeof *match.pairs);
    if (match.pairs == NULL) {
        status = status_set(STATUS_MEMORY, "out of memory for a comparison");
        goto out;
    }
    pair_all(&bases, &changes, true, &match.repeated);
    pair_all(&bases, &changes, false, &match.repeated);
    for (size_t i = 0; i < bases.count; i++)
        if (bases.at[i].partner != NULL)
            match.pairs[match.count++] =
                (struct compare_pair){bases.at[i].point, bases.at[i].partner};
    match.only_base = rest_of(&bases);
    match.only_change = rest_of(&changes);
    *out = match;
    match = (struct compare_match){0};
out:
    compare_match_release(&match);
    entries_release(&bases);
    entries_release(&changes);
    json_decref(kinds);
    return status;
}

/* -- why no points match ----------------------------------------------------------------------- */

/* Values of a setting that are shown. */
#define VALUES_SHOWN 3

static const char *value_of(const json_t *point, const struct option_row *row, char text[1024])
{
    char name[POINT_TEXT_BYTES];
    if (row)
        return settings_text(point, row, true, text, 1024);
    point_name(point, name);
    snprintf(text, 1024, "%s", name);
    return text;
}

/* The different values of a setting (NULL: the layout), as the keys of an object. */
static json_t *values_of(const json_t *points, const struct option_row *row)
{
    json_t *values = json_object();
    const json_t *point;
    size_t index;
    char text[1024];
    json_array_foreach(points, index, point)
    {
        json_object_set_new(values, value_of(point, row, text), json_true());
    }
    return values;
}

static void add_values(struct text *out, json_t *values)
{
    size_t count = 0;
    json_t *one;
    const char *value;
    json_object_foreach(values, value, one)
    {
        if (count < VALUES_SHOWN)
            text_append(out, "%s%s", count > 0 ? ", " : "", *value ? value : "none");
        count++;
    }
    if (count > VALUES_SHOWN)
        text_append(out, ", ...");
}

/* Appends a setting of which the files share no value. */
static void add_unlike(struct text *out, const json_t *base, const json_t *change,
                       const struct option_row *row)
{
    json_t *own = values_of(base, row), *other = values_of(change, row), *one;
    const char *value;
    bool shared = json_object_size(own) == 0 || json_object_size(other) == 0;
    json_object_foreach(own, value, one)
    {
        shared = shared || json_object_get(other, value);
    }
    if (!shared) {
        text_append(out, "; --%s: ", row ? row->name : option_table[OPTION_LAYOUT].name);
        add_values(out, own);
        text_append(out, " in BASE, ");
        add_values(out, other);
        text_append(out, " in NEW");
    }
    json_decref(own);
    json_decref(other);
}

void compare_match_unlike(const json_t *base, const json_t *change, struct text *out)
{
    add_unlike(out, base, change, NULL);
    for (const struct option_row *row = NULL; (row = settings_recorded(row));)
        add_unlike(out, base, change, row);
}

void compare_match_release(struct compare_match *match)
{
    free(match->pairs);
    json_decref(match->only_base);
    json_decref(match->only_change);
    *match = (struct compare_match){0};
}
