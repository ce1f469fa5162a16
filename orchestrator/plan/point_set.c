#include <stdlib.h>

#include "orchestrator/plan/internal.h"
#include "orchestrator/plan/settings.h"

/* The slot of a point, or the free one where it belongs. */
static size_t find(struct point_set *set, const struct point *points, const struct point *point,
                   uint64_t hash)
{
    size_t slot = (size_t)hash & (set->room - 1);
    for (; set->places[slot]; slot = (slot + 1) & (set->room - 1)) {
        if (set->hashes[slot] != hash)
            continue;
        set->compared++;
        if (point_equal(&points[set->places[slot] - 1], point))
            break;
    }
    return slot;
}

static enum status grow(struct point_set *set)
{
    struct point_set larger = {.room = set->room ? set->room * 2 : 256, .compared = set->compared};
    larger.places = calloc(larger.room, sizeof *larger.places);
    larger.hashes = calloc(larger.room, sizeof *larger.hashes);
    if (!larger.places || !larger.hashes) {
        point_set_release(&larger);
        return status_set(STATUS_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < set->room; i++) {
        size_t slot = (size_t)set->hashes[i] & (larger.room - 1);
        if (!set->places[i])
            continue;
        while (larger.places[slot])
            slot = (slot + 1) & (larger.room - 1);
        larger.places[slot] = set->places[i];
        larger.hashes[slot] = set->hashes[i];
    }
    point_set_release(set);
    *set = larger;
    return STATUS_OK;
}

enum status point_set_add(struct point_set *set, const struct point *points, size_t count,
                          const struct point *point, size_t *at, bool *added)
{
    uint64_t hash = point_hash(point);
    if (count * 2 >= set->room) {
        enum status status = grow(set);
        if (status != STATUS_OK)
            return status;
    }
    size_t slot = find(set, points, point, hash);
    *added = set->places[slot] == 0;
    if (*added) {
        set->places[slot] = count + 1;
        set->hashes[slot] = hash;
    }
    *at = set->places[slot] - 1;
    return STATUS_OK;
}

void point_set_release(struct point_set *set)
{
    free(set->places);
    free(set->hashes);
    *set = (struct point_set){0};
}
