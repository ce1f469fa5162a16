/*
 * How far the computer was behind the model: a witness for tests that know what the machine would
 * reach. The environment variable EMUL_LATENESS_VARIABLE names a folder; each process writes a file
 * there, named after its process ID. The file is mapped, so that it survives whatever ends the
 * process. Without the variable nothing is counted.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define EMUL_LATENESS_VARIABLE "MPSWEEP_EMUL_LATENESS"

/* The file: sums over all threads, nanoseconds. A thread's time is planned, late, or between. */
struct lateness {
    _Atomic uint64_t waits;
    _Atomic uint64_t planned_ns; /* that the model had the threads wait */
    _Atomic uint64_t late_ns;    /* by which they returned later */
    _Atomic uint64_t longest_ns; /* the longest of these */
    _Atomic uint64_t between_ns; /* from the end of one wait to the begin of the next */
    _Atomic uint64_t capped_ns;  /* late_ns, where no wait counts for more than its own length */
    /* Of watched_ns the threads were ready to run, and had no CPU, for unserved_ns. */
    _Atomic uint64_t watched_ns, unserved_ns;
};

/* The calling thread has waited since began_ns, and was to wait until when_ns. */
void lateness_note(uint64_t began_ns, uint64_t when_ns);
