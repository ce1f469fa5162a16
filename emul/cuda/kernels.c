#include "emul/cuda/kernels.h"

#include <string.h>

#define VECTOR_BYTES (4 * sizeof(int))

/* Of what a kernel that is there for its traffic writes, so much is computed: all of it would take
 * a CPU far longer than what is modelled. */
#define STREAM_COMPUTED_BYTES 4096

static const char *const kernel_names[KERNEL_COUNT] = {
    [KERNEL_ADD_CONSTANT] = "mpsweep_add_constant",
    [KERNEL_DELAY] = "mpsweep_delay",
    [KERNEL_COMPUTE] = "mpsweep_compute",
    [KERNEL_LOAD] = "mpsweep_load",
    [KERNEL_STREAM] = "mpsweep_stream",
    [KERNEL_EMPTY] = "mpsweep_empty",
    [KERNEL_HOLD] = "mpsweep_hold",
    [KERNEL_LOCATE] = "mpsweep_locate",
};

/* An empty kernel costs the GPU so much less than one that works, so that launches one after the
 * other do not pile up. */
#define EMPTY_DIVISOR 10

const char *kernel_name(enum kernel kernel)
{
    return kernel_names[kernel];
}

bool kernel_find(const char *name, enum kernel *kernel)
{
    for (int i = 0; i < KERNEL_COUNT; i++)
        if (kernel_names[i] && strcmp(name, kernel_names[i]) == 0) {
            *kernel = (enum kernel)i;
            return true;
        }
    return false;
}

unsigned kernel_arguments(enum kernel kernel)
{
    switch (kernel) {
    case KERNEL_EMPTY:
        return 0;
    case KERNEL_DELAY:
        return 1;
    case KERNEL_HOLD:
    case KERNEL_LOCATE:
        return 3;
    case KERNEL_LOAD:
        return 7;
    default:
        return 5;
    }
}

void kernel_read_arguments(struct kernel_call *call, void *const *parameters)
{
    if (call->kernel == KERNEL_EMPTY)
        return;
    if (call->kernel == KERNEL_HOLD) {
        memcpy(&call->arguments.hold.flag, parameters[0], sizeof(const unsigned *));
        memcpy(&call->arguments.hold.bound_ns, parameters[1], sizeof(unsigned long long));
        memcpy(&call->arguments.hold.out, parameters[2], sizeof(unsigned long long *));
        return;
    }
    if (call->kernel == KERNEL_LOCATE) {
        memcpy(&call->arguments.locate.seen, parameters[0], sizeof(unsigned *));
        memcpy(&call->arguments.locate.count, parameters[1], sizeof(unsigned));
        return;
    }
    if (call->kernel == KERNEL_DELAY) {
        memcpy(&call->arguments.delay.cycles, parameters[0], sizeof call->arguments.delay.cycles);
        return;
    }
    if (call->kernel == KERNEL_STREAM) {
        memcpy(&call->arguments.stream.source, parameters[0], sizeof(const int *));
        memcpy(&call->arguments.stream.destination, parameters[1], sizeof(int *));
        memcpy(&call->arguments.stream.value, parameters[2], sizeof(int));
        memcpy(&call->arguments.stream.vectors, parameters[3], sizeof(unsigned long long));
        memcpy(&call->arguments.stream.total, parameters[4], sizeof(unsigned long long));
        return;
    }
    memcpy(&call->arguments.add_constant.source, parameters[0], sizeof(const int *));
    memcpy(&call->arguments.add_constant.destination, parameters[1], sizeof(int *));
    memcpy(&call->arguments.add_constant.value, parameters[2], sizeof(int));
    memcpy(&call->arguments.add_constant.elements, parameters[3], sizeof(int));
    memcpy(&call->arguments.add_constant.spin, parameters[4], sizeof(int));
}

struct model_work kernel_cost(const struct model_machine *machine, const struct kernel_call *call,
                              bool in_graph)
{
    if (call->kernel == KERNEL_DELAY)
        return model_kernel(machine, call->blocks, call->threads, 0, call->arguments.delay.cycles,
                            in_graph);
    if (call->kernel == KERNEL_EMPTY || call->kernel == KERNEL_LOCATE) {
        struct model_work work = model_kernel(machine, 1, 1, 0, 0, in_graph);
        work.duration_ns /= EMPTY_DIVISOR;
        return work;
    }
    if (call->kernel == KERNEL_STREAM)
        return model_memory_kernel(machine, call->blocks, call->threads,
                                   2 * VECTOR_BYTES * call->arguments.stream.total, in_graph);
    if (call->kernel == KERNEL_COPY)
        return model_memory_kernel(machine, machine->slots * MODEL_SLOT_BLOCKS, 1,
                                   2 * call->arguments.copy.bytes, in_graph);
    int spin = call->arguments.add_constant.spin, elements = call->arguments.add_constant.elements;
    if (call->kernel == KERNEL_COMPUTE || call->kernel == KERNEL_LOAD)
        return model_kernel(machine, call->blocks, call->threads, spin > 0 ? (uint64_t)spin : 0, 0,
                            in_graph);
    /* A block whose threads all get no vector ends at once, as on a GPU. */
    uint64_t vectors = elements > 0 ? (uint64_t)elements / 4 : 0;
    uint64_t busy = vectors / call->threads + (vectors % call->threads != 0);
    uint64_t blocks = busy < call->blocks ? busy : call->blocks;
    return model_kernel(machine, blocks, call->threads, spin > 0 ? (uint64_t)spin : 0, 0, in_graph);
}

/* Vectors by hand: this loop is most of what an emulated kernel really costs, and plain compiler
 * settings leave it scalar. Unsigned, since the device's addition wraps. */
static void add_constant(const int *source, int *destination, int value, size_t elements)
{
    typedef unsigned vector __attribute__((vector_size(16)));
    const size_t lanes = sizeof(vector) / sizeof(unsigned);
    size_t i = 0;
    for (; i + lanes <= elements; i += lanes) {
        vector v;
        memcpy(&v, source + i, sizeof v);
        v += (unsigned)value;
        memcpy(destination + i, &v, sizeof v);
    }
    for (; i < elements; i++)
        destination[i] = (int)((unsigned)source[i] + (unsigned)value);
}

/* False: they are not the device's, or not aligned. */
static bool are_ints(struct memory_list *memory, const int *source, const int *destination,
                     size_t elements)
{
    return memory_list_holds(memory, source, elements * sizeof *source) &&
           memory_list_holds(memory, destination, elements * sizeof *destination) &&
           ((uintptr_t)source | (uintptr_t)destination) % sizeof(int) == 0;
}

static bool run_copy(const struct kernel_call *call, struct memory_list *memory)
{
    void *to = call->arguments.copy.destination;
    const void *from = call->arguments.copy.source;
    uint64_t bytes = call->arguments.copy.bytes;
    if (!memory_list_holds(memory, from, bytes) || !memory_list_holds(memory, to, bytes))
        return false;
    memmove(to, from, bytes);
    return true;
}

static bool run_stream(const struct kernel_call *call, struct memory_list *memory)
{
    uint64_t vectors = call->arguments.stream.vectors, total = call->arguments.stream.total;
    uint64_t bytes = (total < vectors ? total : vectors) * VECTOR_BYTES;
    const int *source = call->arguments.stream.source;
    int *destination = call->arguments.stream.destination;
    if (bytes == 0)
        return true;
    if (!are_ints(memory, source, destination, bytes / sizeof(int)))
        return false;
    if (bytes > STREAM_COMPUTED_BYTES)
        bytes = STREAM_COMPUTED_BYTES;
    add_constant(source, destination, call->arguments.stream.value, bytes / sizeof(int));
    return true;
}

static bool run_locate(const struct kernel_call *call, struct memory_list *memory)
{
    unsigned *seen = call->arguments.locate.seen, count = call->arguments.locate.count;
    if (!memory_list_holds(memory, seen, count * sizeof *seen))
        return false;
    for (unsigned i = 0; i < count && i < MODEL_SLOTS_MAX; i++)
        if (call->arguments.locate.multiprocessors >> i & 1)
            seen[i] = 1;
    return true;
}

bool kernel_run(const struct kernel_call *call, struct memory_list *device_memory)
{
    if (call->kernel == KERNEL_COPY)
        return run_copy(call, device_memory);
    if (call->kernel == KERNEL_STREAM)
        return run_stream(call, device_memory);
    if (call->kernel == KERNEL_LOCATE)
        return run_locate(call, device_memory);
    if (call->kernel == KERNEL_EMPTY)
        return true;
    if (call->kernel == KERNEL_DELAY || call->arguments.add_constant.elements <= 0)
        return true;
    const int *source = call->arguments.add_constant.source;
    int *destination = call->arguments.add_constant.destination;
    size_t elements = (size_t)call->arguments.add_constant.elements;
    if (!are_ints(device_memory, source, destination, elements))
        return false;
    add_constant(source, destination, call->arguments.add_constant.value, elements);
    return true;
}
