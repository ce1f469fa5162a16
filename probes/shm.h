/*
 * The shared memory of one arm in one round: how the orchestrator and the processes of the arm
 * communicate. An anonymous memory file, handed on by descriptor; a process that attaches checks
 * magic, version and length.
 *
 * Each process writes to its own part only. The orchestrator reads a part when its process has
 * ended.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/status.h"

#define PROBE_SHM_MAGIC UINT64_C(0x0061736265706d21)
#define PROBE_SHM_VERSION 2

enum {
    PROBE_METRICS = 5,
    PROBE_PROCESSES = 48,
    PROBE_WORDS = 5,
    PROBE_GPUS = 2,
    PROBE_SAMPLES = 65536, /* of a metric in a process */
};

struct probe_shm_header {
    uint64_t magic;
    uint32_t version;
    uint32_t processes;
    uint64_t length;
    uint64_t process_bytes;
    /* What the processes must do; set before they start. */
    uint32_t over_mps;
    uint32_t gpus;
    char uuids[PROBE_GPUS][64]; /* of the GPUs, in the order in which the processes see them */
    uint64_t measure_ns;
    uint64_t seed;
    /* When a process that is not at the gate, or, once that is open, has not ended, must end;
     * shortly after it ends the hard way. */
    _Atomic uint64_t deadline_ns;
    _Atomic uint32_t late; /* process 0 had not ended by then: its round is cut short */
    _Atomic uint32_t gate; /* futex: 1 when all may begin */
    _Atomic uint32_t over; /* futex: 1 when all must return */
    _Atomic uint32_t words[PROBE_WORDS]; /* for the functions of an arm, to others */
};

struct probe_shm_process {
    _Atomic uint32_t ready; /* it waits at the gate */
    _Atomic uint32_t ended; /* the function has returned, and the next two are set */
    int32_t status;         /* enum status that it returned */
    char error[512];        /* "" without an error */
    /* Samples of each metric that were held until they were released. */
    _Atomic uint64_t blocked[PROBE_METRICS];
    _Atomic uint64_t counts[PROBE_METRICS]; /* may exceed PROBE_SAMPLES: the rest was dropped */
    uint64_t samples_ns[PROBE_METRICS][PROBE_SAMPLES];
};

struct probe_shm {
    int fd;
    struct probe_shm_header *header;
};

#define PROBE_SHM_NONE                                                                             \
    {                                                                                              \
        .fd = -1                                                                                   \
    }

/* Makes it for `processes` processes, all zero but the fields above over_mps. */
enum status probe_shm_create(unsigned processes, struct probe_shm *out);

/* What is not ours or of another version is STATUS_PROTOCOL. */
enum status probe_shm_attach(int fd, struct probe_shm *out);

/* Unmaps and closes; fine on PROBE_SHM_NONE. */
void probe_shm_release(struct probe_shm *shm);

struct probe_shm_process *probe_shm_process(const struct probe_shm *shm, unsigned process);

/* Samples of a metric that there are, at most PROBE_SAMPLES. */
size_t probe_shm_count(const struct probe_shm *shm, unsigned process, unsigned metric);

/* Opens the gate; makes all return. Both may be repeated. */
void probe_shm_open_gate(const struct probe_shm *shm);
void probe_shm_end(const struct probe_shm *shm);

/* Waits until *word is at least so high or all are to return; whether it is the former. */
bool probe_shm_wait(const struct probe_shm *shm, _Atomic uint32_t *word, uint32_t least);
void probe_shm_wake(_Atomic uint32_t *word);
