#include "emul/cuda/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define MEMORY_ALIGNMENT 256

/* Of what is that large: a copy of 256 MiB would wait for 65,536 pages otherwise. */
#define LARGE_PAGE (UINT64_C(2) << 20)

/* The number of blocks that start at or before this address. Mutex held. */
static uint32_t count_up_to(const struct memory_list *list, uintptr_t address)
{
    uint32_t low = 0, high = list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list->blocks[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool make_room(struct memory_list *list)
{
    if (list->count < list->capacity)
        return true;
    uint32_t capacity = list->capacity > 0 ? 2 * list->capacity : 64;
    struct memory_block *blocks = realloc(list->blocks, capacity * sizeof *blocks);
    if (blocks == NULL)
        return false;
    list->blocks = blocks;
    list->capacity = capacity;
    return true;
}

void *memory_list_new(struct memory_list *list, uint64_t bytes, void *owner)
{
    void *start;
    bool large = bytes >= LARGE_PAGE;
    if (posix_memalign(&start, large ? LARGE_PAGE : MEMORY_ALIGNMENT, bytes) != 0)
        return NULL;
    /* A computer without such pages has only more of the others to make. */
    if (large)
        madvise(start, bytes - bytes % LARGE_PAGE, MADV_HUGEPAGE);
    pthread_mutex_lock(&list->mutex);
    bool room = make_room(list);
    if (room) {
        uint32_t at = count_up_to(list, (uintptr_t)start);
        memmove(list->blocks + at + 1, list->blocks + at,
                (list->count - at) * sizeof *list->blocks);
        list->blocks[at] = (struct memory_block){(uintptr_t)start, bytes, owner};
        list->count++;
    }
    pthread_mutex_unlock(&list->mutex);
    if (!room) {
        free(start);
        return NULL;
    }
    return start;
}

bool memory_list_free(struct memory_list *list, const void *start, uint64_t *bytes, void **owner)
{
    pthread_mutex_lock(&list->mutex);
    uint32_t after = count_up_to(list, (uintptr_t)start);
    bool found = after > 0 && list->blocks[after - 1].start == (uintptr_t)start;
    if (found) {
        *bytes = list->blocks[after - 1].bytes;
        *owner = list->blocks[after - 1].owner;
        memmove(list->blocks + after - 1, list->blocks + after,
                (list->count - after) * sizeof *list->blocks);
        list->count--;
    }
    pthread_mutex_unlock(&list->mutex);
    if (found)
        free((void *)(uintptr_t)start);
    return found;
}

/* Mutex held. */
static const struct memory_block *find(const struct memory_list *list, uintptr_t address,
                                       uint64_t bytes)
{
    uint32_t after = count_up_to(list, address);
    if (after == 0)
        return NULL;
    const struct memory_block *block = &list->blocks[after - 1];
    uint64_t offset = address - block->start;
    return offset <= block->bytes && bytes <= block->bytes - offset ? block : NULL;
}

bool memory_list_holds(struct memory_list *list, const void *start, uint64_t bytes)
{
    pthread_mutex_lock(&list->mutex);
    bool holds = find(list, (uintptr_t)start, bytes) != NULL;
    pthread_mutex_unlock(&list->mutex);
    return holds;
}

void *memory_list_owner(struct memory_list *list, const void *start, uint64_t bytes)
{
    pthread_mutex_lock(&list->mutex);
    const struct memory_block *block = find(list, (uintptr_t)start, bytes);
    void *owner = block != NULL ? block->owner : NULL;
    pthread_mutex_unlock(&list->mutex);
    return owner;
}

void memory_list_clear(struct memory_list *list, const void *owner)
{
    uint32_t kept = 0;
    pthread_mutex_lock(&list->mutex);
    for (uint32_t i = 0; i < list->count; i++)
        if (list->blocks[i].owner == owner)
            free((void *)list->blocks[i].start);
        else
            list->blocks[kept++] = list->blocks[i];
    list->count = kept;
    if (kept == 0) {
        free(list->blocks);
        list->blocks = NULL;
        list->capacity = 0;
    }
    pthread_mutex_unlock(&list->mutex);
}
