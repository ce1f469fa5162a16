#include "client/internal.h"

#include <stdlib.h>
#include <unistd.h>

bool client_take_slot(unsigned number)
{
    uint32_t free_slot = SHM_OPENED_NOT;
    struct shm_slot *slot = shm_slot_at(&client.shm, client.process, number);
    return atomic_compare_exchange_strong(&slot->opened, &free_slot, SHM_OPENED_TAKEN);
}

static struct thread *find_thread(unsigned number)
{
    struct thread *thread = client.threads;
    while (thread && thread->number != number)
        thread = thread->next;
    return thread;
}

int client_take_next_slot(void)
{
    unsigned streams = shm_streams(client.shm.header);
    unsigned threads = client.shm.header->slots_most / streams;
    pid_t caller = gettid();
    for (const struct thread *thread = client.threads; thread; thread = thread->next)
        for (unsigned i = 0; i < streams && thread->owner == caller; i++)
            if (client_take_slot(thread->number * streams + i))
                return (int)(thread->number * streams + i);
    for (unsigned t = 0; t < threads; t++)
        if (!find_thread(t) && client_take_slot(t * streams))
            return (int)(t * streams);
    return -1;
}

static struct thread *add_thread(unsigned number)
{
    unsigned count = shm_streams(client.shm.header);
    struct thread *thread = calloc(1, sizeof *thread + count * sizeof *thread->handles);
    if (!thread)
        return NULL;
    thread->number = number;
    thread->owner = gettid();
    thread->count = count;
    thread->next = client.threads;
    client.threads = thread;
    return thread;
}

struct mpsweep *client_make_handle(unsigned number)
{
    unsigned streams = shm_streams(client.shm.header);
    struct thread *thread = find_thread(number / streams);
    if (!thread)
        thread = add_thread(number / streams);
    if (!thread)
        return NULL;
    thread->open++;
    struct mpsweep *handle = &thread->handles[number % streams];
    *handle = (struct mpsweep){.slot = shm_slot_at(&client.shm, client.process, number),
                               .header = client.shm.header,
                               .thread = thread,
                               .number = number,
                               .forks = client.forks,
                               .opener = client.same_pid_namespace ? getpid() : 0};
    client_take_on_first(handle);
    return handle;
}

void client_free_handle(const struct mpsweep *handle)
{
    struct thread *thread = handle->thread, **link = &client.threads;
    pthread_mutex_lock(&client.mutex);
    if (--thread->open == 0) {
        while (*link != thread)
            link = &(*link)->next;
        *link = thread->next;
        free(thread);
    }
    pthread_mutex_unlock(&client.mutex);
}
