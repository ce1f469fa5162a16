#include "emul/cuda/copies.h"

#include <string.h>

#include "common/clock.h"
#include "emul/cuda/deferred.h"

/* Threads that copy pinned memory at the same time; of more, those of one place count as one. */
#define PINNED_PLACES 64

static struct copy_under_way *under_way; /* as what follows, under the deferred mutex */
static uint64_t counted;

static _Atomic uint32_t pageable_to_host, launch_holders;

static _Atomic uint32_t threads_counted;
static _Thread_local uint32_t thread_number; /* 0: none yet */

/* By the thread's place. Ends to the host by themselves, since only they delay launches. */
static _Atomic uint64_t pinned_ends_ns[PINNED_PLACES], pinned_to_host_ends_ns[PINNED_PLACES];

static uint32_t own_place(void)
{
    if (thread_number == 0)
        thread_number = atomic_fetch_add(&threads_counted, 1) + 1;
    return thread_number % PINNED_PLACES;
}

void copies_begin(struct copy_under_way *copy, enum model_direction direction)
{
    *copy = (struct copy_under_way){.to_host = direction == MODEL_TO_HOST};
    deferred_lock();
    copy->number = ++counted;
    copy->next = under_way;
    under_way = copy;
    deferred_unlock();
    if (copy->to_host)
        atomic_fetch_add(&pageable_to_host, 1);
}

void copies_end(struct copy_under_way *copy)
{
    copies_free_launches(copy);
    if (copy->to_host)
        atomic_fetch_sub(&pageable_to_host, 1);
    deferred_lock();
    struct copy_under_way **link = &under_way;
    while (*link != copy)
        link = &(*link)->next;
    *link = copy->next;
    deferred_notify();
    deferred_unlock();
}

void copies_note_pinned(enum model_direction direction, uint64_t end_ns)
{
    uint32_t place = own_place();
    atomic_store(&pinned_ends_ns[place], end_ns);
    if (direction == MODEL_TO_HOST)
        atomic_store(&pinned_to_host_ends_ns[place], end_ns);
}

void copies_hold_launches(struct copy_under_way *copy)
{
    copy->holds_launches = true;
    atomic_fetch_add(&launch_holders, 1);
}

void copies_free_launches(struct copy_under_way *copy)
{
    if (!copy->holds_launches)
        return;
    copy->holds_launches = false;
    deferred_lock();
    atomic_fetch_sub(&launch_holders, 1);
    deferred_notify();
    deferred_unlock();
}

void copies_wait_launch(void)
{
    if (atomic_load(&launch_holders) == 0)
        return;
    deferred_lock();
    while (atomic_load(&launch_holders) > 0)
        deferred_sleep();
    deferred_unlock();
}

/* The latest end among other threads' pinned copies. */
static uint64_t last_pinned_end(_Atomic uint64_t ends_ns[PINNED_PLACES])
{
    uint64_t last = 0;
    uint32_t own = own_place();
    for (uint32_t i = 0; i < PINNED_PLACES; i++) {
        uint64_t end = i != own ? atomic_load(&ends_ns[i]) : 0;
        last = end > last ? end : last;
    }
    return last;
}

enum copies_beside copies_beside(void)
{
    if (atomic_load(&pageable_to_host) > 0)
        return COPIES_PAGEABLE;
    return last_pinned_end(pinned_to_host_ends_ns) > clock_now_ns() ? COPIES_PINNED : COPIES_NONE;
}

static bool is_under_way(uint64_t up_to)
{
    for (const struct copy_under_way *copy = under_way; copy != NULL; copy = copy->next)
        if (copy->number <= up_to)
            return true;
    return false;
}

void copies_wait_others(void)
{
    uint64_t pinned_ns = last_pinned_end(pinned_ends_ns);
    deferred_lock();
    uint64_t up_to = counted;
    while (is_under_way(up_to))
        deferred_sleep();
    deferred_unlock();
    process_sleep_until(pinned_ns);
}

cuda_result copy_run(const struct copy_call *copy, bool corrupt)
{
    const void *on_device = copy->direction == MODEL_TO_DEVICE ? copy->to : copy->from;
    if (!memory_list_holds(&process.device_memory, on_device, copy->bytes))
        return CUDA_INVALID_VALUE;
    memcpy(copy->to, copy->from, copy->bytes);
    if (corrupt && copy->bytes > 0)
        *(unsigned char *)copy->to ^= 0x55;
    return CUDA_SUCCESS_;
}
