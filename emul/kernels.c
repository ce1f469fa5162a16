#include "emul/kernels.h"

#include <string.h>

static const char *const kernel_names[KERNEL_COUNT] = {
    [KERNEL_ADD_CONSTANT] = "mpsweep_add_constant",
    [KERNEL_DELAY] = "mpsweep_delay",
};

bool kernel_find(const char *name, enum kernel *kernel)
{
    for (int i = 0; i < KERNEL_COUNT; i++)
        if (strcmp(name, kernel_names[i]) == 0) {
            *kernel = (enum kernel)i;
            return true;
        }
    return false;
}

void kernel_read_arguments(struct kernel_call *call, void *const *parameters)
{
    if (call->kernel == KERNEL_DELAY) {
        memcpy(&call->arguments.delay.cycles, parameters[0], sizeof call->arguments.delay.cycles);
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
    /* A block whose threads all get no vector ends at once, as on a GPU. */
    int spin = call->arguments.add_constant.spin, elements = call->arguments.add_constant.elements;
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

bool kernel_run(const struct kernel_call *call, struct memory_list *device_memory)
{
    if (call->kernel == KERNEL_DELAY || call->arguments.add_constant.elements <= 0)
        return true;
    const int *source = call->arguments.add_constant.source;
    int *destination = call->arguments.add_constant.destination;
    size_t elements = (size_t)call->arguments.add_constant.elements;
    if (!memory_list_holds(device_memory, source, elements * sizeof *source) ||
        !memory_list_holds(device_memory, destination, elements * sizeof *destination) ||
        ((uintptr_t)source | (uintptr_t)destination) % sizeof(int) != 0)
        return false;
    add_constant(source, destination, call->arguments.add_constant.value, elements);
    return true;
}
