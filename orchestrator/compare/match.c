#include "orchestrator/compare/match.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "orchestrator/results/settings.h"
#include "orchestrator/results/point.h"

/* A point in the order of its file's plan. */
struct entry {
    json_t *point;
    char *key; /* all settings, as text */
    size_t place;
    bool taken;
};

struct entries {
    struct entry *at;
    size_t count;
};

static int compare_plan(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    json_int_t first = integer_at(a->point, "id"), second = integer_at(b->point, "id");
    return (first > second) - (first < second);
}

static int compare_key(const void *left, const void *right)
{
    const struct entry *const *a = left, *const *b = right;
    int order = strcmp((*a)->key, (*b)->key);
    return order != 0 ? order : ((*a)->place > (*b)->place) - ((*a)->place < (*b)->place);
}

static void entries_release(struct entries *entries)
{
    for (size_t i = 0; i < entries->count; i++)
        free(entries->at[i].key);
    free(entries->at);
    *entries = (struct entries){0};
}

static enum status no_memory(void)
{
    return status_set(STATUS_MEMORY, "out of memory for a comparison");
}

static enum status entries_make(const json_t *points, struct entries *out)
{
    struct entries entries = {.at = calloc(json_array_size(points) + 1, sizeof *entries.at)};
    if (entries.at == NULL)
        return no_memory();
    for (; entries.count < json_array_size(points); entries.count++) {
        struct entry *entry = &entries.at[entries.count];
        entry->point = json_array_get(points, entries.count);
        entry->key = settings_key(entry->point, 0);
        if (entry->key == NULL) {
            entries_release(&entries);
            return no_memory();
        }
    }
    qsort(entries.at, entries.count, sizeof *entries.at, compare_plan);
    for (size_t i = 0; i < entries.count; i++)
        entries.at[i].place = i;
    *out = entries;
    return STATUS_OK;
}

/* Entries by key, the same ones in plan order. The caller frees it. */
static struct entry **sorted(const struct entries *entries)
{
    struct entry **order = calloc(entries->count + 1, sizeof *order);
    if (order == NULL)
        return NULL;
    for (size_t i = 0; i < entries->count; i++)
        order[i] = &entries->at[i];
    qsort(order, entries->count, sizeof *order, compare_key);
    return order;
}

static size_t run_length(struct entry **order, size_t from, size_t count)
{
    size_t end = from + 1;
    while (end < count && strcmp(order[end]->key, order[from]->key) == 0)
        end++;
    return end - from;
}

/* Pairs two runs of points that share all settings. partners[place in base] is set. */
static void pair_runs(struct entry **base, size_t bases, struct entry **change, size_t changes,
                      json_t **partners, size_t *repeated)
{
    for (int by_section = 1; by_section >= 0; by_section--)
        for (size_t b = 0; b < bases; b++)
            for (size_t c = 0; c < changes && !base[b]->taken; c++) {
                bool alike = strcmp(text_at(base[b]->point, "section"),
                                    text_at(change[c]->point, "section")) == 0;
                if (change[c]->taken || (by_section && !alike))
                    continue;
                base[b]->taken = change[c]->taken = true;
                partners[base[b]->place] = change[c]->point;
                *repeated += bases > 1 || changes > 1;
            }
}

static void pair_all(const struct entries *base, struct entry **base_order,
                     const struct entries *change, struct entry **change_order, json_t **partners,
                     size_t *repeated)
{
    size_t b = 0, c = 0;
    while (b < base->count && c < change->count) {
        int order = strcmp(base_order[b]->key, change_order[c]->key);
        size_t bases = run_length(base_order, b, base->count);
        size_t changes = run_length(change_order, c, change->count);
        if (order == 0)
            pair_runs(base_order + b, bases, change_order + c, changes, partners, repeated);
        b += order <= 0 ? bases : 0;
        c += order >= 0 ? changes : 0;
    }
}

static json_t *rest_of(const struct entries *entries)
{
    json_t *rest = json_array();
    for (size_t i = 0; i < entries->count; i++)
        if (!entries->at[i].taken)
            json_array_append(rest, entries->at[i].point);
    return rest;
}

enum status compare_match(const json_t *base, const json_t *change, struct compare_match *out)
{
    struct entries bases = {0}, changes = {0};
    struct entry **base_order = NULL, **change_order = NULL;
    json_t **partners = NULL;
    struct compare_match match = {0};

    enum status status = entries_make(base, &bases);
    if (status == STATUS_OK)
        status = entries_make(change, &changes);
    if (status != STATUS_OK)
        goto out;
    base_order = sorted(&bases);
    change_order = sorted(&changes);
    partners = calloc(bases.count + 1, sizeof *partners);
    match.pairs = calloc(bases.count + 1, sizeof *match.pairs);
    if (base_order == NULL || change_order == NULL || partners == NULL || match.pairs == NULL) {
        status = no_memory();
        goto out;
    }
    pair_all(&bases, base_order, &changes, change_order, partners, &match.repeated);
    for (size_t i = 0; i < bases.count; i++)
        if (partners[i] != NULL)
            match.pairs[match.count++] = (struct compare_pair){bases.at[i].point, partners[i]};
    match.only_base = rest_of(&bases);
    match.only_change = rest_of(&changes);
    *out = match;
    match = (struct compare_match){0};
out:
    compare_match_release(&match);
    free(partners);
    free(base_order);
    free(change_order);
    entries_release(&bases);
    entries_release(&changes);
    return status;
}

void compare_match_release(struct compare_match *match)
{
    free(match->pairs);
    json_decref(match->only_base);
    json_decref(match->only_change);
    *match = (struct compare_match){0};
}
