#include "probes/shm.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/memory_file.h"

/* Limits a wait, since only one of two words can be waited for, and a waker may have died. */
#define RECHECK_NS (20 * NS_PER_MS)

static size_t parts_offset(void)
{
    return (sizeof(struct probe_shm_header) + 4095) & ~(size_t)4095;
}

static size_t length_of(unsigned processes)
{
    return parts_offset() + processes * sizeof(struct probe_shm_process);
}

enum status probe_shm_create(unsigned processes, struct probe_shm *out)
{
    size_t length = length_of(processes);
    int fd;
    void *map;
    enum status status = memory_file_create("mpsweep-probe", length, &fd, &map);
    if (status != STATUS_OK)
        return status;
    struct probe_shm_header *header = map;
    header->version = PROBE_SHM_VERSION;
    header->processes = processes;
    header->length = length;
    header->process_bytes = sizeof(struct probe_shm_process);
    header->magic = PROBE_SHM_MAGIC;
    *out = (struct probe_shm){.fd = fd, .header = header};
    return STATUS_OK;
}

static enum status check(const struct probe_shm_header *header, size_t bytes)
{
    if (header->magic != PROBE_SHM_MAGIC)
        return status_set(STATUS_PROTOCOL, "shared memory does not start with a probe's magic");
    if (header->version != PROBE_SHM_VERSION)
        return status_set(STATUS_PROTOCOL, "shared memory is version %u, this program speaks %d",
                          header->version, PROBE_SHM_VERSION);
    if (header->processes == 0 || header->processes > PROBE_PROCESSES)
        return status_set(STATUS_PROTOCOL, "shared memory claims %u processes", header->processes);
    if (header->process_bytes != sizeof(struct probe_shm_process) || header->length != bytes ||
        header->length != length_of(header->processes) || header->gpus > PROBE_GPUS)
        return status_set(STATUS_PROTOCOL, "shared memory was laid out by another build");
    return STATUS_OK;
}

enum status probe_shm_attach(int fd, struct probe_shm *out)
{
    void *map;
    size_t length;
    enum status status = memory_file_attach(fd, sizeof(struct probe_shm_header), &map, &length);
    if (status != STATUS_OK)
        return status;
    status = check(map, length);
    if (status != STATUS_OK) {
        memory_file_release(-1, map, length);
        return status;
    }
    *out = (struct probe_shm){.fd = fd, .header = map};
    return STATUS_OK;
}

void probe_shm_release(struct probe_shm *shm)
{
    memory_file_release(shm->fd, shm->header, shm->header ? shm->header->length : 0);
    *shm = (struct probe_shm)PROBE_SHM_NONE;
}

struct probe_shm_process *probe_shm_process(const struct probe_shm *shm, unsigned process)
{
    char *base = (char *)shm->header + parts_offset();
    return (struct probe_shm_process *)(void *)base + process;
}

size_t probe_shm_count(const struct probe_shm *shm, unsigned process, unsigned metric)
{
    uint64_t count = atomic_load(&probe_shm_process(shm, process)->counts[metric]);
    return count < PROBE_SAMPLES ? (size_t)count : PROBE_SAMPLES;
}

void probe_shm_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void probe_shm_open_gate(const struct probe_shm *shm)
{
    atomic_store(&shm->header->gate, 1);
    probe_shm_wake(&shm->header->gate);
}

void probe_shm_end(const struct probe_shm *shm)
{
    struct probe_shm_header *header = shm->header;
    atomic_store(&header->over, 1);
    probe_shm_wake(&header->over);
    probe_shm_wake(&header->gate);
    for (unsigned i = 0; i < PROBE_WORDS; i++)
        probe_shm_wake(&header->words[i]);
}

bool probe_shm_wait(const struct probe_shm *shm, _Atomic uint32_t *word, uint32_t least)
{
    const struct timespec recheck = {.tv_nsec = (long)RECHECK_NS};
    uint32_t seen;
    while ((seen = atomic_load(word)) < least) {
        if (atomic_load(&shm->header->over))
            return false;
        syscall(SYS_futex, word, FUTEX_WAIT, seen, &recheck, NULL, 0);
    }
    return !atomic_load(&shm->header->over);
}
