#include "emul/model/model.h"

/*
 * A claim packs slice number, generation and group into one word, so that it is written whole even
 * if the writer is killed. Number 0 is never claimed: a zeroed ring is empty.
 */
#define CLAIM_GROUP_BITS 8
#define CLAIM_GENERATION_BITS 16
_Static_assert(MODEL_GROUPS <= 1 << CLAIM_GROUP_BITS, "a claim holds the group's number");

static uint64_t claim_of(const struct model *model, uint32_t group, uint64_t slice)
{
    uint64_t generation = model->groups[group].generation & ((1U << CLAIM_GENERATION_BITS) - 1);
    return (slice << (CLAIM_GROUP_BITS + CLAIM_GENERATION_BITS)) | generation << CLAIM_GROUP_BITS |
           group;
}

static bool is_own(const struct model *model, uint32_t group, uint64_t slice)
{
    return model->slices[slice % MODEL_SLICES] == claim_of(model, group, slice);
}

/* Free: never claimed, claimed for another time, or by a group that is gone. */
static bool is_free(const struct model *model, uint64_t slice)
{
    uint64_t claim = model->slices[slice % MODEL_SLICES];
    uint32_t group = claim & (MODEL_GROUPS - 1);
    return claim != claim_of(model, group, slice) || model->groups[group].contexts == 0;
}

static uint64_t count_active(const struct model *model, uint32_t self, uint64_t now_ns)
{
    uint64_t active = 1;
    for (uint32_t i = 0; i < model->groups_end; i++)
        if (i != self && model->groups[i].contexts > 0 &&
            (model->groups[i].holds > 0 ||
             (model->busy_until_ns[i] + MODEL_LINGER_NS > now_ns && model->busy_until_ns[i] > 0)))
            active++;
    return active;
}

/* With n active groups, a group leaves n-1 slices to the others on both sides of each of its own.
 */
static bool may_claim(const struct model *model, uint32_t group, uint64_t slice, uint64_t active)
{
    if (!is_free(model, slice))
        return false;
    for (uint64_t distance = 1; distance < active; distance++)
        if (is_own(model, group, slice + distance) ||
            (slice > distance && is_own(model, group, slice - distance)))
            return false;
    return true;
}

/* The other group whose kernel holds the GPU, or MODEL_GROUPS. */
static uint32_t find_holder(const struct model *model, uint32_t self)
{
    for (uint32_t i = 0; model->holds > 0 && i < model->groups_end; i++)
        if (i != self && model->groups[i].contexts > 0 && model->groups[i].holds > 0)
            return i;
    return MODEL_GROUPS;
}

bool model_is_held_by_other(const struct model *model, uint32_t group)
{
    return find_holder(model, group) != MODEL_GROUPS;
}

/* When work may begin beside a kernel that holds the GPU: at once while the group is there already,
 * or else when a time slice of the holder ends. Its slices count from when it got the GPU. */
static uint64_t admission(const struct model *model, uint32_t group, uint32_t holder,
                          uint64_t ready_ns)
{
    const uint64_t slice_ns = model->machine.slice_ns;
    uint64_t since_ns = model->groups[holder].held_since_ns;
    if (model->busy_until_ns[group] >= ready_ns)
        return ready_ns;
    if (model->away_until_ns > since_ns)
        since_ns = model->away_until_ns;
    if (ready_ns <= since_ns)
        return since_ns + slice_ns;
    return since_ns + ((ready_ns - since_ns - 1) / slice_ns + 1) * slice_ns;
}

uint64_t model_slices_walk(struct model *model, uint32_t group, uint64_t now_ns, uint64_t from_ns,
                           uint64_t work_ns, bool claim, uint64_t *begin_ns)
{
    const uint64_t slice_ns = model->machine.slice_ns;
    uint64_t active = 0; /* counted when first needed: most work lies in slices already claimed */
    uint64_t horizon = now_ns / slice_ns + MODEL_SLICES - MODEL_GROUPS;
    uint64_t last = 0; /* claimed in a dry walk */
    bool begun = false;

    uint32_t holder = find_holder(model, group);
    if (holder != MODEL_GROUPS) {
        *begin_ns = admission(model, group, holder, from_ns);
        uint64_t end = *begin_ns + work_ns;
        if (claim && end > model->away_until_ns)
            model->away_until_ns = end;
        return end;
    }
    for (uint64_t slice = from_ns / slice_ns;; slice++) {
        uint64_t start = slice * slice_ns;
        /* Beyond the ring claims would collide with nearer ones: assume no competition there. */
        bool own = slice >= horizon || is_own(model, group, slice);
        if (!own) {
            if (active == 0)
                active = count_active(model, group, now_ns);
            bool near_last = last > 0 && slice - last < active;
            own = !near_last && may_claim(model, group, slice, active);
            if (own && claim)
                model->slices[slice % MODEL_SLICES] = claim_of(model, group, slice);
            if (own)
                last = slice;
        }
        if (!own)
            continue;
        if (start < from_ns)
            start = from_ns;
        if (!begun)
            *begin_ns = start;
        begun = true;
        uint64_t room = (slice + 1) * slice_ns - start;
        if (work_ns <= room)
            return start + work_ns;
        work_ns -= room;
    }
}
