#include "orchestrator/bind/internal.h"

#include <stdlib.h>

/*
 * Whose cores are whose, where GPUs are near the same ones.
 *
 * Cores that are near the same GPUs are a class; how many of each class a GPU gets is counted
 * first, and only then which. One core after the other goes to the GPU that has fewest, and where
 * none of its own is left, others move to where only they can go, so that no GPU lacks a core as
 * long as any division gives it one.
 */

struct class
{
    uint64_t gpus;             /* that its cores are near; bit n: GPU n */
    unsigned left;             /* cores that no GPU has */
    unsigned given[BIND_GPUS]; /* cores that each has */
};

struct division {
    const struct bind_topology *topology;
    enum bind_policy policy;
    const unsigned *workers; /* of each GPU */
    unsigned *cores;         /* a CPU of each, in the order in which they are handed out */
    unsigned *class_of;      /* of each core */
    unsigned core_count;
    struct class *classes;
    unsigned class_count;
    unsigned held[BIND_GPUS]; /* cores that each GPU has */
};

static uint64_t bit(unsigned gpu)
{
    return UINT64_C(1) << gpu;
}

/* All allowed cores, and the class of each. GPUs without workers take no part. */
static enum status classify(struct division *d)
{
    const struct bind_topology *t = d->topology;
    d->core_count = bind_cores_in(t->topology, t->allowed);
    d->cores = calloc(d->core_count, sizeof *d->cores);
    d->class_of = calloc(d->core_count, sizeof *d->class_of);
    d->classes = calloc(d->core_count, sizeof *d->classes);
    if (!d->cores || !d->class_of || !d->classes)
        return status_set(STATUS_MEMORY, "cannot allocate the division of %u cores", d->core_count);
    enum status status =
        bind_order(t, t->allowed, d->policy == BIND_SCATTER, d->cores, &d->core_count);
    for (unsigned i = 0; i < d->core_count && status == STATUS_OK; i++) {
        hwloc_obj_t core = bind_core_of(t->topology, d->cores[i]);
        uint64_t gpus = 0;
        for (unsigned gpu = 0; gpu < t->gpus; gpu++)
            if (d->workers[gpu] &&
                hwloc_bitmap_intersects(core->cpuset, bind_set_of(t, d->policy, gpu)))
                gpus |= bit(gpu);
        unsigned c = 0;
        while (c < d->class_count && d->classes[c].gpus != gpus)
            c++;
        if (c == d->class_count)
            d->classes[d->class_count++].gpus = gpus;
        d->classes[c].left++;
        d->class_of[i] = c;
    }
    return status;
}

/* The class with cores left that suits the GPU and fewest others. */
static struct class *open_class(const struct division *d, unsigned gpu)
{
    struct class *best = NULL;
    for (struct class *class = d->classes; class < d->classes + d->class_count; class ++)
        if ((class->gpus & bit(gpu)) && class->left > 0 &&
            (!best || __builtin_popcountll(class->gpus) < __builtin_popcountll(best->gpus)))
            best = class;
    return best;
}

/* One more core for the GPU: one that is left, or one of another GPU's, which gets another in its
 * place, perhaps in the same way. False: no division gives it more without taking from others. */
static bool grant(struct division *d, unsigned gpu)
{
    unsigned queue[BIND_GPUS], count = 0, asks[BIND_GPUS] = {0};
    struct class *through[BIND_GPUS] = {NULL};
    uint64_t seen = bit(gpu);
    queue[count++] = gpu;
    for (unsigned i = 0; i < count; i++) {
        unsigned giver = queue[i];
        struct class *open = open_class(d, giver);
        if (open) {
            open->left--;
            open->given[giver]++;
            for (; giver != gpu; giver = asks[giver]) {
                through[giver]->given[giver]--;
                through[giver]->given[asks[giver]]++;
            }
            d->held[gpu]++;
            return true;
        }
        for (struct class *class = d->classes; class < d->classes + d->class_count; class ++)
            for (unsigned other = 0; class->gpus & bit(giver) && other < d->topology->gpus; other++)
                if (class->given[other] && !(seen & bit(other))) {
                    seen |= bit(other);
                    asks[other] = giver;
                    through[other] = class;
                    queue[count++] = other;
                }
    }
    return false;
}

/* One core after the other to the GPU that has fewest. needed: only as many as it has workers. */
static void hand_out(struct division *d, bool needed)
{
    uint64_t done = 0;
    for (;;) {
        unsigned next = BIND_GPUS;
        for (unsigned gpu = 0; gpu < d->topology->gpus; gpu++)
            if (d->workers[gpu] && !(done & bit(gpu)) &&
                (!needed || d->held[gpu] < d->workers[gpu]) &&
                (next == BIND_GPUS || d->held[gpu] < d->held[next]))
                next = gpu;
        if (next == BIND_GPUS)
            return;
        if (!grant(d, next))
            done |= bit(next);
    }
}

/* Which cores: of each class, every GPU gets neighbours in the order of cores. */
static void choose(struct division *d, hwloc_bitmap_t *own)
{
    const struct bind_topology *t = d->topology;
    for (unsigned i = 0; i < d->core_count; i++) {
        struct class *class = &d->classes[d->class_of[i]];
        unsigned gpu = 0;
        while (gpu < t->gpus && class->given[gpu] == 0)
            gpu++;
        if (gpu == t->gpus)
            continue;
        class->given[gpu]--;
        hwloc_bitmap_or(own[gpu], own[gpu], bind_core_of(t->topology, d->cores[i])->cpuset);
    }
    for (unsigned gpu = 0; gpu < t->gpus; gpu++)
        hwloc_bitmap_and(own[gpu], own[gpu], bind_set_of(t, d->policy, gpu));
}

/* The GPUs whose workers share: those with more of them than CPUs of their own, and all that have
 * cores where these belong. What is left over has its cores for itself. owners: of each class, from
 * before its cores were chosen. */
static uint64_t crowded(const struct division *d, const uint64_t *owners, hwloc_bitmap_t *own)
{
    uint64_t crowd = 0, before;
    for (unsigned gpu = 0; gpu < d->topology->gpus; gpu++)
        if (d->workers[gpu] > (unsigned)hwloc_bitmap_weight(own[gpu]))
            crowd |= bit(gpu);
    do {
        before = crowd;
        for (unsigned c = 0; c < d->class_count; c++)
            if (d->classes[c].gpus & crowd)
                crowd |= owners[c];
    } while (crowd != before);
    return crowd;
}

enum status bind_divide(const struct bind_topology *topology, enum bind_policy policy,
                        const unsigned *workers, hwloc_bitmap_t *own, uint64_t *crowd)
{
    struct division d = {.topology = topology, .policy = policy, .workers = workers};
    uint64_t *owners = NULL;
    enum status status = classify(&d);
    if (status != STATUS_OK)
        goto out;
    owners = calloc(d.class_count, sizeof *owners);
    if (!owners) {
        status =
            status_set(STATUS_MEMORY, "cannot allocate the division of %u cores", d.core_count);
        goto out;
    }
    hand_out(&d, true);
    /* What no GPU needs is divided, too, so that a GPU's cores do not depend on how many workers
     * the others have. */
    hand_out(&d, false);
    for (unsigned c = 0; c < d.class_count; c++)
        for (unsigned gpu = 0; gpu < topology->gpus; gpu++)
            owners[c] |= d.classes[c].given[gpu] ? bit(gpu) : 0;
    choose(&d, own);
    *crowd = crowded(&d, owners, own);
out:
    free(owners);
    free(d.classes);
    free(d.class_of);
    free(d.cores);
    return status;
}
