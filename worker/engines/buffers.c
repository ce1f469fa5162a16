#include "worker/engines/buffers.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "worker/engines/memory.h"

struct spare {
    struct spare *next;
    void *memory;
    size_t bytes;
    bool used; /* by this assignment */
};

struct worker_buffers {
    pthread_mutex_t lock;
    struct spare *spares;
    bool keeps;
};

struct worker_buffers *worker_buffers_new(void)
{
    struct worker_buffers *buffers = calloc(1, sizeof *buffers);
    if (!buffers)
        return NULL;
    pthread_mutex_init(&buffers->lock, NULL);
    buffers->keeps = worker_memory_is_one_node();
    return buffers;
}

static bool is_pinned(const struct worker_process *process)
{
    return process->shm.header->settings.memory == MEMORY_PINNED;
}

/* What belongs to another context ends with that. */
static bool is_kept(const struct worker_process *process)
{
    return process->buffers && process->buffers->keeps && is_pinned(process) &&
           process->shm.header->settings.contexts == CONTEXTS_SHARED && !process->parts;
}

static void *take_spare(struct worker_buffers *buffers, size_t bytes)
{
    void *memory = NULL;
    pthread_mutex_lock(&buffers->lock);
    struct spare **at = &buffers->spares;
    while (*at && (*at)->bytes != bytes)
        at = &(*at)->next;
    struct spare *spare = *at;
    if (spare) {
        *at = spare->next;
        memory = spare->memory;
    }
    pthread_mutex_unlock(&buffers->lock);
    free(spare);
    return memory;
}

static bool keep_spare(struct worker_buffers *buffers, void *memory, size_t bytes)
{
    struct spare *spare = calloc(1, sizeof *spare);
    if (!spare)
        return false;
    *spare = (struct spare){.memory = memory, .bytes = bytes, .used = true};
    pthread_mutex_lock(&buffers->lock);
    spare->next = buffers->spares;
    buffers->spares = spare;
    pthread_mutex_unlock(&buffers->lock);
    return true;
}

enum status worker_buffer_new(const struct worker_process *process, size_t bytes, int **out)
{
    void *memory = NULL;
    enum status status = STATUS_OK;
    if (bytes == 0)
        return STATUS_OK;
    if (is_kept(process))
        memory = take_spare(process->buffers, bytes);
    if (!memory && is_pinned(process))
        status = CUDA_CALL(&process->driver, mem_host_alloc, &memory, bytes, 0);
    else if (!memory && !(memory = worker_memory_new(bytes)))
        status = status_set(STATUS_MEMORY, "out of host memory for a buffer of %zu bytes", bytes);
    if (status == STATUS_OK) {
        memset(memory, 0, bytes); /* first touch by the bound thread: near memory */
        *out = memory;
    }
    return status;
}

void worker_buffer_free(const struct worker_process *process, int *memory, size_t bytes)
{
    if (!memory || (is_kept(process) && keep_spare(process->buffers, memory, bytes)))
        return;
    if (is_pinned(process))
        process->driver.mem_free_host(memory);
    else
        worker_memory_free(memory, bytes);
}

void worker_buffers_renew(const struct worker_process *process)
{
    if (!process->buffers)
        return;
    for (struct spare **at = &process->buffers->spares; *at;) {
        struct spare *spare = *at;
        if (spare->used) {
            spare->used = false;
            at = &spare->next;
            continue;
        }
        *at = spare->next;
        process->driver.mem_free_host(spare->memory);
        free(spare);
    }
}
