/*
 * Faults by name, for tests of whatever uses the driver.
 *
 * The environment variable MPSWEEP_EMULATED_FAULT holds a comma-separated list of
 *     FUNCTION[#NTH[+]]=ACTION[@PROCESS]
 * FUNCTION  an entry point's name without its _v2 suffix, or "attach"
 * NTH       which call in the process, from 1 (the default); with "+", that one and all later
 * ACTION    crash        die of SIGSEGV
 *           hang         never return
 *           exit:N       end the process with status N
 *           error:N      do nothing and return N, once
 *           fatal:N      the same, as an error that breaks the context: all later calls return N,
 *                        and over MPS so do those of the server's other clients. For launches,
 *                        copies and synchronisations.
 *           corrupt      alter one byte of what a copy or a graph launch delivers;
 *                        of cuDevSmResourceSplitByCount, make all parts the same
 *           slow:MS      take so much longer
 *           hold         make the file that MPSWEEP_EMULATED_HOLD names, and wait until it is
 *                        gone: a test meets the call, however slow the computer is. Where the file
 *                        cannot be made, continue at once.
 *           skip         only for "attach": there seems to be no MPS daemon
 * PROCESS   only in the process whose variable MPSWEEP_PROCESS is this number
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/status.h"
#include "device/cuda_abi.h"

/* A number for each entry point of the driver, from the table of device/cuda_abi.h. */
#define ENTRY_NUMBER(field, symbol, version, need, parameters) ENTRY_##field,
enum entry { CUDA_DRIVER_SYMBOLS(ENTRY_NUMBER) ENTRY_COUNT };

#define FAULT_PROCESS_VARIABLE "MPSWEEP_PROCESS"
#define FAULT_HOLD_VARIABLE "MPSWEEP_EMULATED_HOLD"
#define FAULT_MAX 32

enum fault_action {
    FAULT_CRASH,
    FAULT_HANG,
    FAULT_EXIT,
    FAULT_ERROR,
    FAULT_FATAL,
    FAULT_CORRUPT,
    FAULT_SLOW,
    FAULT_SKIP,
    FAULT_HOLD,
};

struct fault {
    enum entry entry; /* ENTRY_COUNT: the attach */
    enum fault_action action;
    uint32_t nth;
    bool onwards;
    int argument;
};

struct fault_plan {
    uint32_t count;
    struct fault faults[FAULT_MAX];
    _Atomic uint32_t calls[ENTRY_COUNT];
};

/* Reads the list; process is the text of FAULT_PROCESS_VARIABLE or NULL. Faults meant for another
 * process are left out. NULL text: no faults. STATUS_USAGE quotes the part that is wrong. */
enum status fault_plan_parse(const char *text, const char *process, struct fault_plan *plan);

/* What the action `hold` does, for a fake that has it, too. */
void fault_hold(void);

bool fault_plan_skips_attach(const struct fault_plan *plan);

/* What is to become of one call. */
struct fault_effect {
    int error;    /* to give back, 0: none */
    bool fatal;   /* it breaks the context */
    bool corrupt; /* the call's data is to be altered */
    /* It slept until then; both 0: it did not. */
    uint64_t slept_from_ns, slept_until_ns;
};

/* Counts a call and does what the plan wants, which may be not to return. */
struct fault_effect fault_plan_apply(struct fault_plan *plan, enum entry entry);
