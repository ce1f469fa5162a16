#include <stdlib.h>

#include "orchestrator/plan/internal.h"
#include "orchestrator/plan/settings.h"

static struct point_slot *next(const struct point_set *set, struct point_slot *slot)
{
    return ++slot < set->slots + set->room ? slot : set->slots;
}

static struct point_slot *first(const struct point_set *set, uint64_t hash)
{
    return set->slots + ((size_t)hash & (set->room - 1));
}

/* The slot of a point, or the free one where it belongs. */
static struct point_slot *find(struct point_set *set, const struct point *points,
                               const struct point *point, uint64_t hash)
{
    struct point_slot *slot = first(set, hash);
    for (; slot->place; slot = next(set, slot)) {
        if (slot->hash != hash)
            continue;
        set->compared++;
        if (point_equal(&points[slot->place - 1], point))
            break;
    }
    return slot;
}

static enum status grow(struct point_set *set)
{
    struct point_set larger = {.room = set->room ? set->room * 2 : 256, .compared = set->compared};
    larger.slots = calloc(larger.room, sizeof *larger.slots);
    if (!larger.slots)
        return status_set(STATUS_MEMORY, "out of memory");
    for (size_t i = 0; i < set->room; i++) {
        struct point_slot *slot = first(&larger, set->slots[i].hash);
        while (slot->place)
            slot = next(&larger, slot);
        *slot = set->slots[i];
    }
    free(set->slots);
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
    struct point_slot *slot = find(set, points, point, hash);
    *added = slot->place == 0;
    if (*added)
        *slot = (struct point_slot){.place = count + 1, .hash = hash};
    *at = slot->place - 1;
    return STATUS_OK;
}

void point_set_release(struct point_set *set)
{
    free(set->slots);
    *set = (struct point_set){0};
}
