#include "emul/model/machine.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct field {
    const char *name;
    size_t offset;
    uint64_t least, most;
};

#define NS_MOST UINT64_C(1000000000)
#define MB_MOST UINT64_C(10000000)
#define AT(name) offsetof(struct model_machine, name)

/* Slices are remembered for a number of slices ahead: very short ones would not reach far. */
static const struct field fields[] = {
    {"slots", AT(slots), 1, MODEL_SLOTS_MAX},
    {"launch_ns", AT(launch_ns), 0, NS_MOST},
    {"graph_launch_ns", AT(graph_launch_ns), 0, NS_MOST},
    {"copy_call_ns", AT(copy_call_ns), 0, NS_MOST},
    {"front_ns", AT(front_ns), 0, NS_MOST},
    {"graph_node_ns", AT(graph_node_ns), 0, NS_MOST},
    {"kernel_ns", AT(kernel_ns), 0, NS_MOST},
    {"graph_kernel_ns", AT(graph_kernel_ns), 0, NS_MOST},
    {"spin_ns", AT(spin_ns), 0, NS_MOST},
    {"copy_latency_ns", AT(copy_latency_ns), 0, NS_MOST},
    {"h2d_mb_per_s", AT(h2d_mb_per_s), 1, MB_MOST},
    {"d2h_mb_per_s", AT(d2h_mb_per_s), 1, MB_MOST},
    {"pageable_mb_per_s", AT(pageable_mb_per_s), 1, MB_MOST},
    {"device_mb_per_s", AT(device_mb_per_s), 1, MB_MOST},
    {"host_mb_per_s", AT(host_mb_per_s), 0, MB_MOST},
    {"slice_ns", AT(slice_ns), 100000, NS_MOST},
    {"queues", AT(queues), 1, MODEL_QUEUES_MAX},
    {"queues_mps", AT(queues_mps), 1, MODEL_QUEUES_MAX},
    {"queues_most", AT(queues_most), 1, MODEL_QUEUES_MAX},
    {"cpu_ns", AT(cpu_ns), 0, NS_MOST},
};

#define FIELDS (sizeof fields / sizeof fields[0])

static const struct field *find(const char *name, size_t length)
{
    for (size_t i = 0; i < FIELDS; i++)
        if (strlen(fields[i].name) == length && memcmp(fields[i].name, name, length) == 0)
            return &fields[i];
    return NULL;
}

static enum status unknown_name(const char *name, size_t length)
{
    char known[FIELDS * 24] = "";
    for (size_t i = 0; i < FIELDS; i++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", fields[i].name);
    }
    return status_set(STATUS_USAGE, EMUL_MACHINE_VARIABLE ": unknown name '%.*s'; there are %s",
                      (int)length, name, known);
}

static enum status parse_item(const char *item, size_t length, struct model_machine *machine)
{
    const char *equals = memchr(item, '=', length);
    if (equals == NULL)
        return status_set(STATUS_USAGE, EMUL_MACHINE_VARIABLE ": '%.*s' is not NAME=NUMBER",
                          (int)length, item);
    size_t name_length = (size_t)(equals - item);
    const struct field *field = find(item, name_length);
    if (field == NULL)
        return unknown_name(item, name_length);
    /* Digits only: no sign, no space, no unit. Seventeen of them cannot overflow. */
    size_t digits = strspn(equals + 1, "0123456789");
    uint64_t value = digits > 0 && digits < 18 ? strtoull(equals + 1, NULL, 10) : UINT64_MAX;
    if (name_length + 1 + digits != length || value < field->least || value > field->most)
        return status_set(STATUS_USAGE,
                          EMUL_MACHINE_VARIABLE ": '%.*s': %s is a whole number from %llu to %llu",
                          (int)length, item, field->name, (unsigned long long)field->least,
                          (unsigned long long)field->most);
    memcpy((char *)machine + field->offset, &value, sizeof value);
    return STATUS_OK;
}

enum status machine_parse(const char *text, struct model_machine *out)
{
    struct model_machine machine = model_machine_default;
    const char *at = text != NULL ? text : "";
    while (*at != '\0') {
        size_t length = strcspn(at, ",");
        enum status status = parse_item(at, length, &machine);
        if (status != STATUS_OK)
            return status;
        at += length;
        if (*at == ',' && *++at == '\0')
            return status_set(STATUS_USAGE, EMUL_MACHINE_VARIABLE " ends with a comma");
    }
    *out = machine;
    return STATUS_OK;
}
