#include "shm/shm.h"

#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/memory_file.h"
#include "common/text.h"

/* The last part of the wait is spent awake: a sleeper on an idle CPU wakes hundreds of
 * microseconds late. */
#define SPIN_NS (20 * NS_PER_MS)

#define RECHECK_NS (100 * NS_PER_MS)

static size_t aligned(size_t bytes)
{
    return (bytes + 4095) & ~(size_t)4095;
}

static size_t processes_offset(void)
{
    return aligned(sizeof(struct shm_header));
}

static size_t slots_offset(unsigned processes)
{
    return processes_offset() + aligned(processes * sizeof(struct shm_process));
}

static size_t total_length(unsigned processes, unsigned slots)
{
    return slots_offset(processes) + (size_t)processes * slots * sizeof(struct shm_slot);
}

enum status shm_create(const struct shm_settings *settings, unsigned processes, unsigned slots,
                       struct shm *out)
{
    size_t length = total_length(processes, slots);
    int fd;
    void *map;
    enum status status = memory_file_create("mpsweep", length, &fd, &map);
    if (status != STATUS_OK)
        return status;
    struct shm_header *header = map;
    header->version = SHM_VERSION;
    header->processes_most = processes;
    header->slots_most = slots;
    atomic_store(&header->slots_usable, slots);
    header->length = length;
    header->slot_bytes = sizeof(struct shm_slot);
    header->process_bytes = sizeof(struct shm_process);
    header->header_bytes = sizeof(struct shm_header);
    *out = (struct shm){.fd = fd, .header = header};
    shm_reset(out, settings, processes, settings->streams > 1 ? slots / settings->streams : slots);
    header->magic = SHM_MAGIC;
    return STATUS_OK;
}

/* A handle that was opened stays so. */
static void slot_reset(struct shm_slot *slot)
{
    bool taken = atomic_load(&slot->opened) != SHM_OPENED_NOT;
    memset(slot, 0, sizeof *slot);
    atomic_store(&slot->opened, taken ? SHM_OPENED_TAKEN : SHM_OPENED_NOT);
}

void shm_reset(const struct shm *shm, const struct shm_settings *settings, unsigned processes,
               unsigned threads)
{
    struct shm_header *header = shm->header;
    header->settings = *settings;
    memset(&header->plugin, 0, sizeof header->plugin);
    header->processes = processes;
    header->threads = threads;
    header->keeps = 0;
    atomic_store(&header->gate, SHM_GATE_CLOSED);
    atomic_store(&header->start_ns, 0);
    atomic_store(&header->window_begin_ns, settings->warmup_ns);
    atomic_store(&header->window_end_ns, UINT64_MAX);
    atomic_store(&header->stop, 0);
    for (unsigned p = 0; p < processes; p++) {
        struct shm_process *process = shm_process_at(shm, p);
        atomic_store(&process->kept_device, 0);
        atomic_store(&process->kept_host, 0);
        atomic_store(&process->mps, -1);
        atomic_store(&process->sms, 0);
        atomic_store(&process->memory_free, 0);
        atomic_store(&process->cut_off, 0);
        atomic_store(&process->asking, 0);
        atomic_store(&process->observer.uncounted, 0);
        memset(&process->last_words, 0, sizeof process->last_words);
        memset(process->cpus, 0, sizeof process->cpus);
        memset(process->nodes, 0, sizeof process->nodes);
        /* Before the first assignment they are untouched, and stay so: the first to touch a page
         * decides on which memory node it lies. */
        for (unsigned i = 0; i < shm_slots(header) && atomic_load(&header->assignment) != 0; i++)
            slot_reset(shm_slot_at(shm, p, i));
    }
}

static enum status check_header(const struct shm_header *header, size_t file_bytes)
{
    if (header->magic != SHM_MAGIC)
        return status_set(STATUS_PROTOCOL, "shared memory does not start with mpsweep's magic");
    if (header->version != SHM_VERSION)
        return status_set(STATUS_PROTOCOL, "shared memory is version %u, this program speaks %u",
                          header->version, SHM_VERSION);
    if (header->header_bytes != sizeof(struct shm_header) ||
        header->process_bytes != sizeof(struct shm_process) ||
        header->slot_bytes != sizeof(struct shm_slot))
        return status_set(STATUS_PROTOCOL, "shared memory was laid out by another build: use "
                                           "mpsweep and libmpsweep-client from the same release");
    unsigned processes = header->processes_most, slots = header->slots_most;
    if (processes == 0 || processes > 65536 || slots == 0 || slots > 65536)
        return status_set(STATUS_PROTOCOL, "shared memory claims %u processes of %u workers",
                          processes, slots);
    if (header->length != total_length(processes, slots) || header->length != file_bytes)
        return status_set(STATUS_PROTOCOL,
                          "shared memory is %zu bytes, its header claims %llu for %u x %u workers",
                          file_bytes, (unsigned long long)header->length, processes, slots);
    if (header->processes == 0 || header->processes > processes || header->threads == 0 ||
        header->threads > slots || shm_streams(header) > slots || shm_slots(header) > slots)
        return status_set(
            STATUS_PROTOCOL, "shared memory assigns %u x %u x %u workers and has room for %u x %u",
            header->processes, header->threads, shm_streams(header), processes, slots);
    return STATUS_OK;
}

enum status shm_attach(int fd, struct shm *out)
{
    void *map;
    size_t length;
    enum status status = memory_file_attach(fd, sizeof(struct shm_header), &map, &length);
    if (status != STATUS_OK)
        return status;
    status = check_header(map, length);
    if (status != STATUS_OK) {
        memory_file_release(-1, map, length);
        return status;
    }
    *out = (struct shm){.fd = fd, .header = map};
    return STATUS_OK;
}

void shm_release(struct shm *shm)
{
    memory_file_release(shm->fd, shm->header, shm->header ? shm->header->length : 0);
    *shm = (struct shm){.fd = -1};
}

void shm_text_publish(struct shm_text *text, const char *line)
{
    uint32_t next = atomic_load_explicit(&text->at, memory_order_relaxed) + 1;
    text_printable(line, strlen(line), text->texts[next % 2], SHM_TEXT_BYTES);
    atomic_store_explicit(&text->at, next, memory_order_release);
}

void shm_text_read(const struct shm_text *text, char out[SHM_TEXT_BYTES])
{
    uint32_t at = atomic_load_explicit(&text->at, memory_order_acquire);
    const char *last = text->texts[at % 2];
    /* It may be written while we read it: any bytes are fine. */
    text_printable(last, strnlen(last, SHM_TEXT_BYTES), out, SHM_TEXT_BYTES);
}

struct shm_process *shm_process_at(const struct shm *shm, unsigned process)
{
    char *base = (char *)shm->header + processes_offset();
    return (struct shm_process *)(void *)base + process;
}

struct shm_slot *shm_slot_at(const struct shm *shm, unsigned process, unsigned slot)
{
    const struct shm_header *header = shm->header;
    char *base = (char *)shm->header + slots_offset(header->processes_most);
    return (struct shm_slot *)(void *)base + ((size_t)process * header->slots_most + slot);
}

void shm_cpus(const struct shm *shm, unsigned process, uint64_t cpus[WORK_CPUS / 64])
{
    memset(cpus, 0, WORK_CPUS / 8);
    for (unsigned slot = 0; slot < shm_slots(shm->header); slot++)
        for (unsigned i = 0; i < WORK_CPUS / 64; i++)
            cpus[i] |= shm_slot_at(shm, process, slot)->cpus[i];
}

static void futex_wait(_Atomic uint32_t *word, uint32_t seen, const struct timespec *timeout)
{
    syscall(SYS_futex, word, FUTEX_WAIT, seen, timeout, NULL, 0);
}

static void futex_wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void shm_assign(const struct shm *shm)
{
    atomic_fetch_add(&shm->header->assignment, 1);
    futex_wake_all(&shm->header->assignment);
}

void shm_dismiss(const struct shm *shm)
{
    atomic_store(&shm->header->assignment, SHM_DISMISSED);
    futex_wake_all(&shm->header->assignment);
}

bool shm_parked(const struct shm *shm, unsigned first)
{
    uint32_t assignment = atomic_load(&shm->header->assignment);
    for (unsigned p = first; p < shm->header->processes_most; p++)
        if (atomic_load_explicit(&shm_process_at(shm, p)->parked, memory_order_acquire) !=
            assignment)
            return false;
    return true;
}

uint32_t shm_assignment_wait(const struct shm *shm, uint32_t finished)
{
    uint32_t assignment;
    while ((assignment = atomic_load(&shm->header->assignment)) == finished)
        futex_wait(&shm->header->assignment, finished, NULL);
    return assignment;
}

uint32_t shm_assignment_look(const struct shm *shm, uint32_t finished, uint64_t most_ns)
{
    const struct timespec timeout = clock_timespec(most_ns);
    if (atomic_load(&shm->header->assignment) == finished)
        futex_wait(&shm->header->assignment, finished, &timeout);
    return atomic_load(&shm->header->assignment);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

void shm_gate_open(const struct shm *shm, uint64_t start_ns)
{
    atomic_store(&shm->header->start_ns, start_ns);
    atomic_store(&shm->header->gate, SHM_GATE_OPEN);
    futex_wake_all(&shm->header->gate);
}

bool shm_gate_wait(const struct shm *shm)
{
    struct shm_header *header = shm->header;
    /* The time limit covers a waker that died between the store and the wake. */
    const struct timespec recheck = {.tv_nsec = (long)RECHECK_NS};
    while (atomic_load(&header->gate) == SHM_GATE_CLOSED) {
        if (atomic_load(&header->stop))
            return false;
        futex_wait(&header->gate, SHM_GATE_CLOSED, &recheck);
    }
    uint64_t start_ns = atomic_load(&header->start_ns);
    if (start_ns > SPIN_NS)
        clock_sleep_until(start_ns - SPIN_NS);
    /* Yielding costs nothing to a worker that has a CPU of its own, and lets the others come. */
    while (clock_now_ns() + SHM_STARE_NS < start_ns)
        sched_yield();
    while (clock_now_ns() < start_ns)
        relax();
    return !atomic_load(&header->stop);
}

void shm_sleep_until(const struct shm *shm, uint64_t when_ns)
{
    _Atomic uint32_t *stop = &shm->header->stop;
    uint64_t now;
    while (!atomic_load(stop) && (now = clock_now_ns()) < when_ns) {
        /* Limited like the wait at the gate. */
        uint64_t left_ns = when_ns - now < RECHECK_NS ? when_ns - now : RECHECK_NS;
        const struct timespec timeout = {.tv_nsec = (long)left_ns};
        futex_wait(stop, 0, &timeout);
    }
}

void shm_stop(const struct shm *shm, uint64_t window_end_ns)
{
    atomic_store(&shm->header->window_end_ns, window_end_ns);
    atomic_store(&shm->header->stop, 1);
    futex_wake_all(&shm->header->gate);
    futex_wake_all(&shm->header->stop);
}

static void slice_add(struct shm_slot *slot, uint64_t index, uint64_t units)
{
    /* Single writer: a relaxed load and store is an increment without a locked instruction. */
    _Atomic uint64_t *slice = &slot->slices[index];
    uint64_t value = atomic_load_explicit(slice, memory_order_relaxed);
    atomic_store_explicit(slice, value + units, memory_order_relaxed);
}

void shm_slot_credit(struct shm_slot *slot, uint64_t origin_ns, uint64_t slice_ns, uint64_t from_ns,
                     uint64_t to_ns)
{
    if (to_ns <= origin_ns)
        return;
    uint64_t took_ns = to_ns > from_ns ? to_ns - from_ns : 1;
    double units_per_ns = (double)SHM_ITERATION_UNITS / (double)took_ns;
    uint64_t begin = from_ns > origin_ns ? from_ns - origin_ns : 0;
    uint64_t end = to_ns - origin_ns;
    uint64_t units = from_ns >= origin_ns ? SHM_ITERATION_UNITS
                                          : (uint64_t)((double)(end - begin) * units_per_ns);
    uint64_t last = end / slice_ns;
    for (uint64_t i = begin / slice_ns; i < last && i < SHM_SLICES; i++) {
        uint64_t since = begin > i * slice_ns ? begin : i * slice_ns;
        uint64_t share = (uint64_t)((double)((i + 1) * slice_ns - since) * units_per_ns);
        slice_add(slot, i, share);
        units -= share < units ? share : units;
    }
    /* The last slice takes the rest, so that each iteration counts exactly one. */
    if (last < SHM_SLICES)
        slice_add(slot, last, units);
}

/* Two slices become one. */
static void double_slices(struct shm_slot *slot)
{
    for (unsigned i = 0; i < SHM_SLICES; i++) {
        uint64_t sum = 0;
        if (i < SHM_SLICES / 2)
            sum = atomic_load_explicit(&slot->slices[2 * i], memory_order_relaxed) +
                  atomic_load_explicit(&slot->slices[2 * i + 1], memory_order_relaxed);
        atomic_store_explicit(&slot->slices[i], sum, memory_order_relaxed);
    }
    slot->slice_shift++;
}

void shm_slot_make_room(struct shm_slot *slot, uint64_t origin_ns, uint64_t slice_ns,
                        uint64_t to_ns)
{
    while (to_ns > origin_ns && ((to_ns - origin_ns) >> slot->slice_shift) / slice_ns >= SHM_SLICES)
        double_slices(slot);
}

void shm_align_slices(const struct shm *shm)
{
    struct shm_header *header = shm->header;
    unsigned slots = shm_slots(header), workers = header->processes * slots;
    uint32_t most = 0;
    for (unsigned i = 0; i < workers; i++) {
        uint32_t shift = shm_slot_at(shm, i / slots, i % slots)->slice_shift;
        most = shift > most ? shift : most;
    }
    for (unsigned i = 0; i < workers; i++) {
        struct shm_slot *slot = shm_slot_at(shm, i / slots, i % slots);
        while (slot->slice_shift < most)
            double_slices(slot);
        slot->slice_shift = 0;
    }
    header->settings.slice_ns <<= most;
}

void shm_stop_wait(const struct shm *shm)
{
    /* The stop wakes those at the gate; the time limit covers one that comes between. */
    const struct timespec recheck = {.tv_nsec = (long)RECHECK_NS};
    while (!atomic_load(&shm->header->stop))
        futex_wait(&shm->header->gate, SHM_GATE_OPEN, &recheck);
}

void shm_slot_fail(struct shm_slot *slot, enum status status, int cuda_error, const char *text)
{
    if (atomic_load(&slot->state) == SHM_STATE_FAILED)
        return;
    slot->status = (int32_t)status;
    slot->cuda_error = cuda_error;
    snprintf(slot->error, sizeof slot->error, "%s", text);
    atomic_store_explicit(&slot->state, SHM_STATE_FAILED, memory_order_release);
}
