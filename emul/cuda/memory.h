/* Allocations of the process: device memory is host memory that only the driver's calls know. */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct memory_block {
    uintptr_t start;
    uint64_t bytes;
    void *owner;
};

/* In order of address. Usable when its mutex is initialised and the rest zero. */
struct memory_list {
    pthread_mutex_t mutex;
    uint32_t count, capacity;
    struct memory_block *blocks;
};

/* A new block of this owner, its contents undefined; NULL: no memory. */
void *memory_list_new(struct memory_list *list, uint64_t bytes, void *owner);

/* Frees the block that starts at this address, and gives its length and owner; false: there is
 * none. */
bool memory_list_free(struct memory_list *list, const void *start, uint64_t *bytes, void **owner);

/* Whether one block holds all these bytes. */
bool memory_list_holds(struct memory_list *list, const void *start, uint64_t bytes);

/* The owner of the block that holds all these bytes, or NULL. */
void *memory_list_owner(struct memory_list *list, const void *start, uint64_t bytes);

/* Frees all blocks of this owner. */
void memory_list_clear(struct memory_list *list, const void *owner);
