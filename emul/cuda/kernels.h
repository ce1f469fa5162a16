/* The kernels that the emulated GPU knows: their arguments, their cost and what they compute. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "emul/cuda/memory.h"
#include "emul/model/model.h"

enum kernel {
    KERNEL_ADD_CONSTANT, /* mpsweep_add_constant(const int *source, int *destination, int value,
                            int elements, int spin) */
    KERNEL_DELAY,        /* mpsweep_delay(unsigned long long cycles), of a clock of 1 GHz */
    KERNEL_COMPUTE,      /* mpsweep_compute(const int *source, int *destination, int value,
                            int elements, int steps) */
    KERNEL_LOAD,         /* mpsweep_load(const int *source, int *destination, int value,
                            int elements, int steps, const int4 *set, unsigned vectors) */
    KERNEL_STREAM,       /* mpsweep_stream(const int *source, int *destination, int value,
                            unsigned long long vectors, unsigned long long total) */
    KERNEL_EMPTY,        /* mpsweep_empty(void) */
    KERNEL_HOLD,         /* mpsweep_hold(const volatile unsigned *flag, unsigned long long bound_ns,
                            volatile unsigned long long *out) */
    KERNEL_LOCATE,       /* mpsweep_locate(unsigned *seen, unsigned count,
                            unsigned long long stay_ns) */
    KERNEL_COPY,         /* no kernel to load: a copy within the device */
    KERNEL_COUNT
};

/* A launch with its arguments copied. */
struct kernel_call {
    enum kernel kernel;
    uint32_t threads; /* of a block */
    uint64_t blocks;
    union {
        struct {
            const int *source;
            int *destination;
            int value, elements, spin;
        } add_constant; /* and compute, and load, whose set makes no difference here */
        struct {
            const int *source;
            int *destination;
            int value;
            unsigned long long vectors, total;
        } stream;
        struct {
            const void *source;
            void *destination;
            uint64_t bytes;
        } copy;
        struct {
            unsigned *seen;
            unsigned count;
            uint64_t multiprocessors; /* that it runs on, a bit each: of the launch */
        } locate;
        struct {
            unsigned long long cycles;
        } delay;
        struct {
            const volatile unsigned *flag;
            unsigned long long bound_ns;
            unsigned long long *out;
        } hold;
    } arguments;
};

/* The name that a module has it under; NULL: it is the driver's own. */
const char *kernel_name(enum kernel kernel);

bool kernel_find(const char *name, enum kernel *kernel);

/* How many arguments it takes. */
unsigned kernel_arguments(enum kernel kernel);

/* Copies the arguments that the array points to; call->kernel determines how many there are. */
void kernel_read_arguments(struct kernel_call *call, void *const *parameters);

struct model_work kernel_cost(const struct model_machine *machine, const struct kernel_call *call,
                              bool in_graph);

/* Computes; not for KERNEL_HOLD, which takes its time (emul/cuda/hold.c). False: it would touch
 * memory that is not the device's, and has done nothing. */
bool kernel_run(const struct kernel_call *call, struct memory_list *device_memory);
