#include "tests/unit/bind/bind_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct rig_machine rig_machines[RIG_MACHINES] = {
    {"dgx-h100",
     8,
     {"0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0", "0000:9d:00.0",
      "0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"}},
    {"dgx-h100-snc4",
     8,
     {"0000:1b:00.0", "0000:43:00.0", "0000:52:00.0", "0000:61:00.0", "0000:9d:00.0",
      "0000:c3:00.0", "0000:d1:00.0", "0000:df:00.0"}},
    {"dgx-a100",
     8,
     {"0000:07:00.0", "0000:0f:00.0", "0000:47:00.0", "0000:4e:00.0", "0000:87:00.0",
      "0000:90:00.0", "0000:b7:00.0", "0000:bd:00.0"}},
    {"epyc-nps4", 4, {"0000:03:00.0", "0000:41:00.0", "0000:82:00.0", "0000:c1:00.0"}},
    {"one-socket", 4, {"0000:01:00.0", "0000:2b:00.0", "0000:41:00.0", "0000:61:00.0"}},
    {"smt-off", 2, {"0000:17:00.0", "0000:ca:00.0"}},
    {"grace", 4, {"0008:01:00.0", "0009:01:00.0", "0018:01:00.0", "0019:01:00.0"}},
    {"vm", 4, {"0000:00:05.0", "0000:00:06.0", "0000:00:07.0", "0000:00:08.0"}},
    /* Recorded on the machines. */
    {"aws-p5en",
     8,
     {"0000:59:00.0", "0000:5a:00.0", "0000:72:00.0", "0000:73:00.0", "0000:8b:00.0",
      "0000:8c:00.0", "0000:a4:00.0", "0000:a5:00.0"}},
    {"aws-p5",
     8,
     {"0000:53:00.0", "0000:64:00.0", "0000:75:00.0", "0000:86:00.0", "0000:97:00.0",
      "0000:a8:00.0", "0000:b9:00.0", "0000:ca:00.0"}},
    {"dgx-2",
     16,
     {"0000:34:00.0", "0000:36:00.0", "0000:39:00.0", "0000:3b:00.0", "0000:57:00.0",
      "0000:59:00.0", "0000:5c:00.0", "0000:5e:00.0", "0000:b7:00.0", "0000:b9:00.0",
      "0000:bc:00.0", "0000:be:00.0", "0000:e0:00.0", "0000:e2:00.0", "0000:e5:00.0",
      "0000:e7:00.0"}},
    {"power9",
     6,
     {"0004:05:00.0", "0004:06:00.0", "0006:00:00.0", "0007:00:00.0", "0035:04:00.0",
      "0035:05:00.0"}},
    {"g4dn-metal",
     8,
     {"0000:18:00.0", "0000:19:00.0", "0000:35:00.0", "0000:36:00.0", "0000:e7:00.0",
      "0000:e8:00.0", "0000:f4:00.0", "0000:f5:00.0"}},
    {"p100-node", 2, {"0000:04:00.0", "0000:07:00.0"}},
};

const struct rig_machine *rig_machine(const char *file)
{
    for (size_t i = 0; i < RIG_MACHINES; i++)
        if (strcmp(rig_machines[i].file, file) == 0)
            return &rig_machines[i];
    fail_msg("no machine '%s'", file);
    return NULL;
}

static unsigned rig_digit(char digit)
{
    return (unsigned)strcspn(RIG_DIGITS, (const char[]){digit, '\0'});
}

struct bind_topology *rig_load(const char *file, const char *gpus, const char *allowed)
{
    const struct rig_machine *machine = rig_machine(file);
    const char *source = getenv("MPSWEEP_SOURCE_DIR"), *pci[16] = {NULL};
    char path[4096];
    unsigned count = (unsigned)strlen(gpus);
    for (unsigned i = 0; i < count; i++)
        pci[i] = gpus[i] == '?' ? "0000:ff:1f.7" : machine->pci[rig_digit(gpus[i])];
    snprintf(path, sizeof path, "%s/tests/data/topologies/%s.xml", source ? source : ".", file);
    struct bind_topology *topology = NULL;
    if (bind_topology_load_xml(path, pci, count, allowed, &topology))
        fail_msg("%s", status_text());
    return topology;
}

unsigned rig_cpus_in(const uint64_t mask[BIND_WORDS])
{
    unsigned count = 0;
    for (size_t i = 0; i < BIND_WORDS; i++)
        count += (unsigned)__builtin_popcountll(mask[i]);
    return count;
}

unsigned rig_first_in(const uint64_t mask[BIND_WORDS])
{
    for (unsigned i = 0; i < BIND_WORDS; i++)
        if (mask[i])
            return 64 * i + (unsigned)__builtin_ctzll(mask[i]);
    return WORK_CPUS;
}

uint64_t rig_masks[RIG_WORKERS][BIND_WORDS];
unsigned rig_gpu_of[RIG_WORKERS];

unsigned rig_plan(const struct bind_topology *t, enum bind_policy policy, unsigned gpus,
                  unsigned processes, unsigned threads)
{
    unsigned workers = processes * threads * gpus;
    assert_true(workers <= RIG_WORKERS);
    for (unsigned i = 0; i < workers; i++)
        rig_gpu_of[i] = i / threads % gpus;
    memset(rig_masks, 0xa5, sizeof rig_masks);
    assert_int_equal(bind_plan(t, policy, rig_gpu_of, workers, 0, rig_masks), STATUS_OK);
    return workers;
}

void rig_add(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

void rig_add_gpu(const struct bind_topology *t, enum bind_policy policy, unsigned gpu,
                 unsigned workers, char *text, size_t size)
{
    char one[256];
    unsigned first = RIG_WORKERS, from = 0, to = 0;
    for (unsigned i = 0; i < workers; i++) {
        if (rig_gpu_of[i] != gpu)
            continue;
        if (rig_cpus_in(rig_masks[i]) != 1) {
            if (first == RIG_WORKERS) {
                rig_add(text, size, "*");
                rig_add(text, size, bind_cpus_text(rig_masks[i], one, sizeof one));
                first = i;
            }
            assert_memory_equal(rig_masks[i], rig_masks[first], sizeof rig_masks[i]);
            continue;
        }
        unsigned cpu = rig_first_in(rig_masks[i]);
        if (first < RIG_WORKERS && cpu == to + 1) {
            to = cpu;
            continue;
        }
        if (first < RIG_WORKERS && to > from) {
            snprintf(one, sizeof one, "..%u", to);
            rig_add(text, size, one);
        }
        snprintf(one, sizeof one, "%s%u", first < RIG_WORKERS ? "," : "", cpu);
        rig_add(text, size, one);
        first = i;
        from = to = cpu;
    }
    if (to > from) {
        snprintf(one, sizeof one, "..%u", to);
        rig_add(text, size, one);
    }
    uint64_t nodes[BIND_NODE_WORDS], wide[BIND_WORDS] = {0};
    bind_nodes(t, policy, gpu, nodes);
    memcpy(wide, nodes, sizeof nodes);
    rig_add(text, size, "@");
    rig_add(text, size, rig_cpus_in(wide) ? bind_cpus_text(wide, one, sizeof one) : "-");
}
