/*
 * Where the workers of several GPUs run, and on which NUMA nodes their host memory is wished, on
 * the machines of tests/data/topologies.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "orchestrator/bind_private.h"

#define MOST_WORKERS 512

struct machine {
    const char *file;
    unsigned gpus;
    const char *pci[16];
};

static const struct machine machines[] = {
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
#define MACHINES (sizeof machines / sizeof machines[0])

static const struct machine *machine_of(const char *file)
{
    for (size_t i = 0; i < MACHINES; i++)
        if (strcmp(machines[i].file, file) == 0)
            return &machines[i];
    fail_msg("no machine '%s'", file);
    return NULL;
}

static const char digits[] = "0123456789abcdef";

/* gpus: which of the machine's, "0f": the first and the last of 16; '?' is one that is not there.
 */
static struct bind_topology *load(const char *file, const char *gpus, const char *allowed)
{
    const struct machine *machine = machine_of(file);
    const char *source = getenv("MPSWEEP_SOURCE_DIR"), *pci[16] = {NULL};
    char path[4096];
    unsigned count = (unsigned)strlen(gpus);
    for (unsigned i = 0; i < count; i++)
        pci[i] = gpus[i] == '?' ? "0000:ff:1f.7" : machine->pci[strchr(digits, gpus[i]) - digits];
    snprintf(path, sizeof path, "%s/tests/data/topologies/%s.xml", source ? source : ".", file);
    struct bind_topology *topology = NULL;
    if (bind_topology_load_xml(path, pci, count, allowed, &topology))
        fail_msg("%s", status_text());
    return topology;
}

static unsigned cpus_in(const uint64_t mask[BIND_WORDS])
{
    unsigned count = 0;
    for (size_t i = 0; i < BIND_WORDS; i++)
        count += (unsigned)__builtin_popcountll(mask[i]);
    return count;
}

static unsigned first_in(const uint64_t mask[BIND_WORDS])
{
    for (unsigned i = 0; i < BIND_WORDS; i++)
        if (mask[i])
            return 64 * i + (unsigned)__builtin_ctzll(mask[i]);
    return SHM_CPUS;
}

static uint64_t masks[MOST_WORKERS][BIND_WORDS];
static unsigned gpu_of[MOST_WORKERS];

/* As a sweep does it: process p is on GPU p % G, and has `threads` workers. */
static unsigned make_plan(const struct bind_topology *t, enum bind_policy policy, unsigned gpus,
                          unsigned processes, unsigned threads)
{
    unsigned workers = processes * threads * gpus;
    assert_true(workers <= MOST_WORKERS);
    for (unsigned i = 0; i < workers; i++)
        gpu_of[i] = i / threads % gpus;
    memset(masks, 0xa5, sizeof masks);
    assert_int_equal(bind_plan(t, policy, gpu_of, workers, masks), STATUS_OK);
    return workers;
}

static void add(char *text, size_t size, const char *more)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", more);
}

/* One GPU's workers and nodes in words: "0..3,8@1" for workers on CPUs 0, 1, 2, 3 and 8 with their
 * memory on node 1; "*0-7@1" where all have CPUs 0-7; "-" for no nodes. */
static void add_gpu(const struct bind_topology *t, enum bind_policy policy, unsigned gpu,
                    unsigned workers, char *text, size_t size)
{
    char one[256];
    unsigned first = MOST_WORKERS, from = 0, to = 0;
    for (unsigned i = 0; i < workers; i++) {
        if (gpu_of[i] != gpu)
            continue;
        if (cpus_in(masks[i]) != 1) {
            if (first == MOST_WORKERS) {
                add(text, size, "*");
                add(text, size, bind_cpus_text(masks[i], one, sizeof one));
                first = i;
            }
            assert_memory_equal(masks[i], masks[first], sizeof masks[i]);
            continue;
        }
        unsigned cpu = first_in(masks[i]);
        if (first < MOST_WORKERS && cpu == to + 1) {
            to = cpu;
            continue;
        }
        if (first < MOST_WORKERS && to > from) {
            snprintf(one, sizeof one, "..%u", to);
            add(text, size, one);
        }
        snprintf(one, sizeof one, "%s%u", first < MOST_WORKERS ? "," : "", cpu);
        add(text, size, one);
        first = i;
        from = to = cpu;
    }
    if (to > from) {
        snprintf(one, sizeof one, "..%u", to);
        add(text, size, one);
    }
    uint64_t nodes[BIND_NODE_WORDS], wide[BIND_WORDS] = {0};
    bind_nodes(t, policy, gpu, nodes);
    memcpy(wide, nodes, sizeof nodes);
    add(text, size, "@");
    add(text, size, cpus_in(wide) ? bind_cpus_text(wide, one, sizeof one) : "-");
}

struct row {
    const char *machine;
    const char *allowed; /* NULL: all */
    const char *gpus;    /* of the point, see load() */
    unsigned workers;    /* of each */
    enum bind_policy policy;
    const char *expected; /* of each GPU, see add_gpu() */
};

static void check_row(const struct row *row)
{
    char text[2048] = "";
    unsigned gpus = (unsigned)strlen(row->gpus);
    struct bind_topology *t = load(row->machine, row->gpus, row->allowed);
    unsigned workers = make_plan(t, row->policy, gpus, row->workers, 1);
    for (unsigned gpu = 0; gpu < gpus; gpu++) {
        add(text, sizeof text, gpu ? " " : "");
        add_gpu(t, row->policy, gpu, workers, text, sizeof text);
    }
    bind_topology_free(t);
    if (strcmp(text, row->expected) != 0)
        fail_msg("%s, CPUs %s, GPUs %s, %u workers each:\n  %s, and not\n  %s", row->machine,
                 row->allowed ? row->allowed : "all", row->gpus, row->workers, text, row->expected);
}

/* clang-format off */
static const struct row table[] = {
    /* One GPU has its whole package; more workers than cores get second threads, more than threads share. */
    {"dgx-h100", NULL, "0", 8, BIND_NEAR, "0..7@0"},
    {"dgx-h100", NULL, "5", 8, BIND_NEAR, "56..63@1"},
    {"dgx-h100", NULL, "0", 60, BIND_NEAR, "0..55,112..115@0"},
    {"dgx-h100", NULL, "4", 113, BIND_NEAR, "*56-111,168-223@1"},
    /* GPUs of different packages do not meet. */
    {"dgx-h100", NULL, "04", 56, BIND_NEAR, "0..55@0 56..111@1"},
    /* Those of one package divide its cores. */
    {"dgx-h100", NULL, "01", 2, BIND_NEAR, "0..1@0 28..29@0"},
    {"dgx-h100", NULL, "01", 28, BIND_NEAR, "0..27@0 28..55@0"},
    {"dgx-h100", NULL, "01", 30, BIND_NEAR, "0..27,112..113@0 28..55,140..141@0"},
    {"dgx-h100", NULL, "012", 1, BIND_NEAR, "0@0 19@0 38@0"},
    {"dgx-h100", NULL, "01234567", 2, BIND_NEAR,
     "0..1@0 14..15@0 28..29@0 42..43@0 56..57@1 70..71@1 84..85@1 98..99@1"},
    {"dgx-h100", NULL, "01234567", 16, BIND_NEAR,
     "0..13,112..113@0 14..27,126..127@0 28..41,140..141@0 42..55,154..155@0 "
     "56..69,168..169@1 70..83,182..183@1 84..97,196..197@1 98..111,210..211@1"},
    /* Without CPUs enough in one package its GPUs share it, and the other package's keep theirs. */
    {"dgx-h100", NULL, "0124", 40, BIND_NEAR,
     "*0-55,112-167@0 *0-55,112-167@0 *0-55,112-167@0 56..95@1"},
    /* Sub-NUMA clustering: a node of its own for each GPU; near stays near, though others idle. */
    {"dgx-h100-snc4", NULL, "0", 4, BIND_NEAR, "0..3@0"},
    {"dgx-h100-snc4", NULL, "27", 16, BIND_NEAR, "28..41,140..141@2 98..111,210..211@7"},
    {"dgx-h100-snc4", NULL, "2", 29, BIND_NEAR, "*28-41,140-153@2"},
    /* NPS4, two GPUs on every other node. */
    {"dgx-a100", NULL, "0", 4, BIND_NEAR, "48..51@3"},
    {"dgx-a100", NULL, "01234567", 8, BIND_NEAR,
     "48..55@3 56..63@3 16..23@1 24..31@1 112..119@7 120..127@7 80..87@5 88..95@5"},
    {"dgx-a100", NULL, "0145", 17, BIND_NEAR,
     "*48-63,176-191@3 *48-63,176-191@3 *112-127,240-255@7 *112-127,240-255@7"},
    /* NPS4 with the GPUs against the order of the nodes. */
    {"epyc-nps4", NULL, "0123", 4, BIND_NEAR, "48..51@3 32..35@2 16..19@1 0..3@0"},
    {"epyc-nps4", NULL, "3", 17, BIND_NEAR, "0..15,64@0"},
    /* One package and node: all GPUs are near all of it, and no wish for memory is needed. */
    {"one-socket", NULL, "0123", 8, BIND_NEAR, "0..7@- 8..15@- 16..23@- 24..31@-"},
    {"one-socket", NULL, "012", 11, BIND_NEAR, "0..10@- 11..21@- 22..31,54@-"},
    {"one-socket", NULL, "0123", 17, BIND_NEAR, "*0-63@- *0-63@- *0-63@- *0-63@-"},
    /* Hyper-threading off, and packages that have every other CPU. */
    {"smt-off", NULL, "01", 3, BIND_NEAR, "0,2,4@0 1,3,5@1"},
    {"smt-off", NULL, "10", 16, BIND_NEAR,
     "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31@1 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30@0"},
    {"smt-off", NULL, "0", 17, BIND_NEAR, "*0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30@0"},
    /* Grace: the GPUs' own memory is no place for host buffers. */
    {"grace", NULL, "0123", 2, BIND_NEAR, "0..1@0 36..37@0 72..73@1 108..109@1"},
    {"grace", NULL, "1", 72, BIND_NEAR, "0..71@0"},
    /* Nobody tells where the GPUs are: they divide the machine, and memory lies where it is used. */
    {"vm", NULL, "0123", 2, BIND_NEAR, "0,2@- 8,10@- 16,18@- 24,26@-"},
    {"vm", NULL, "0123", 5, BIND_NEAR, "0,2,4,6,1@- 8,10,12,14,9@- 16,18,20,22,17@- 24,26,28,30,25@-"},
    {"vm", NULL, "01", 3, BIND_SCATTER, "0,16,2@- 8,24,10@-"},
    /* One GPU's place is known, the other's is not: the first keeps its own package. */
    {"smt-off", NULL, "1?", 16, BIND_NEAR,
     "1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31@1 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30@-"},
    {"smt-off", NULL, "?0", 2, BIND_NEAR, "1,3@- 0,2@0"},
    {"dgx-h100", NULL, "04?", 38, BIND_NEAR,
     "0..37@0 56..92,168@1 38..55,93..111,150@-"},
    /* A container with few CPUs of a big machine. */
    {"dgx-h100", "4-7", "0", 4, BIND_NEAR, "4..7@0"},
    {"dgx-h100", "4-7,116-119", "01", 4, BIND_NEAR, "4..5,116..117@0 6..7,118..119@0"},
    {"dgx-h100", "4-7", "01", 3, BIND_NEAR, "*4-7@0 *4-7@0"},
    {"dgx-h100", "4,60", "0123", 1, BIND_NEAR, "4@0 4@0 4@0 4@0"},
    {"dgx-h100", "4,60", "04", 1, BIND_NEAR, "4@0 60@1"},
    {"dgx-h100", "4,116", "01234567", 1, BIND_NEAR,
     "*4,116@0 *4,116@0 *4,116@0 *4,116@0 *4,116@1 *4,116@1 *4,116@1 *4,116@1"},
    /* All CPUs near one of the GPUs are forbidden: it takes what is allowed, its memory stays near. */
    {"dgx-h100", "0-15", "04", 8, BIND_NEAR, "0..7@0 8..15@1"},
    {"dgx-h100", "0-15", "04", 9, BIND_NEAR, "*0-15@0 *0-15@1"},
    /* Scattered over packages and nodes, each GPU's workers by themselves. */
    {"dgx-h100", NULL, "0", 4, BIND_SCATTER, "0,56,1,57@-"},
    {"dgx-h100", NULL, "01", 4, BIND_SCATTER, "0,56,1,57@- 28,84,29,85@-"},
    {"smt-off", NULL, "01", 16, BIND_SCATTER,
     "0..15@- 16..31@-"},
    {"smt-off", NULL, "01", 17, BIND_SCATTER, "*0-31@- *0-31@-"},
    {"epyc-nps4", NULL, "0123", 4, BIND_SCATTER, "0,16,32,48@- 4,20,36,52@- 8,24,40,56@- 12,28,44,60@-"},
    /* Recorded: packages of equal GPUs, with and without second threads. */
    {"aws-p5en", NULL, "01234567", 12, BIND_NEAR,
     "0..11@0 12..23@0 24..35@0 36..47@0 48..59@1 60..71@1 72..83@1 84..95@1"},
    {"aws-p5en", NULL, "0", 60, BIND_NEAR, "0..47,96..107@0"},
    {"aws-p5en", NULL, "0123", 25, BIND_NEAR,
     "*0-47,96-143@0 *0-47,96-143@0 *0-47,96-143@0 *0-47,96-143@0"},
    {"aws-p5", NULL, "04", 48, BIND_NEAR, "0..47@0 48..95@1"},
    {"aws-p5", NULL, "0145", 25, BIND_NEAR, "*0-47@0 *0-47@0 *48-95@1 *48-95@1"},
    {"aws-p5", NULL, "0145", 2, BIND_SCATTER, "0,48@- 12,60@- 24,72@- 36,84@-"},
    {"g4dn-metal", NULL, "01234567", 6, BIND_NEAR,
     "0..5@0 6..11@0 12..17@0 18..23@0 24..29@1 30..35@1 36..41@1 42..47@1"},
    {"g4dn-metal", "12-23,60-71", "07", 4, BIND_NEAR, "12..15@0 18..21@1"},
    /* Two cores of each package for 16 GPUs. */
    {"dgx-2", NULL, "08", 2, BIND_NEAR, "0..1@0 24..25@1"},
    {"dgx-2", NULL, "0189", 1, BIND_NEAR, "0@0 1@0 24@1 25@1"},
    {"dgx-2", NULL, "0189ef", 1, BIND_NEAR, "0@0 1@0 *24-25@1 *24-25@1 *24-25@1 *24-25@1"},
    {"dgx-2", NULL, "0", 3, BIND_NEAR, "*0-1@0"},
    /* Four threads a core; the GPUs' memory is nodes 250 to 255, on the same packages. */
    {"power9", NULL, "012345", 1, BIND_NEAR, "0@0 8@0 12@0 88@8 96@8 100@8"},
    {"power9", NULL, "05", 8, BIND_NEAR, "0,4,8,12,1,5,9,13@0 88,92,96,100,89,93,97,101@8"},
    {"power9", NULL, "012", 6, BIND_NEAR, "*0-15@0 *0-15@0 *0-15@0"},
    /* Both GPUs near one package: the other one stays idle, unless asked for. */
    {"p100-node", NULL, "01", 10, BIND_NEAR, "0..8,36@0 9..17,45@0"},
    {"p100-node", NULL, "01", 9, BIND_SCATTER,
     "0,18,1,19,2,20,3,21,4@- 9,27,10,28,11,29,12,30,13@-"},
    /* Not bound. */
    {"dgx-h100", NULL, "04", 2, BIND_NONE, "*none@- *none@-"},
};
/* clang-format on */

static void the_table_of_cases_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        check_row(&table[i]);
}

/* The table of docs/binding.md has the same columns: "| `machine` | allowed or all | GPUs | workers
 * | bind | `expected` |". */
static void the_documented_table_holds(void **state)
{
    (void)state;
    static const char *const policies[] = {"near", "scatter", "none"};
    const char *source = getenv("MPSWEEP_SOURCE_DIR");
    char path[4096], line[1024];
    unsigned rows = 0;
    snprintf(path, sizeof path, "%s/docs/binding.md", source ? source : ".");
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        char machine[64], allowed[64], gpus[16], bind[16], expected[512];
        struct row row = {machine, allowed, gpus, 0, BIND_NEAR, expected};
        if (sscanf(line, "| `%63[^`]` | %63s | %15s | %u | %15s | `%511[^`]` |", machine, allowed,
                   gpus, &row.workers, bind, expected) != 6)
            continue;
        while (row.policy < BIND_NONE && strcmp(policies[row.policy], bind) != 0)
            row.policy++;
        assert_string_equal(policies[row.policy], bind);
        if (strcmp(allowed, "all") == 0)
            row.allowed = NULL;
        check_row(&row);
        rows++;
    }
    fclose(file);
    assert_int_equal(rows, 22);
}

static void each_place_is_described_once(void **state)
{
    (void)state;
    static const struct {
        const char *machine, *allowed, *gpus;
        enum bind_policy policy;
        const char *expected;
    } rows[] = {
        {"dgx-h100", NULL, "0145", BIND_NEAR,
         "near GPUs 0000:1b:00.0, 0000:43:00.0: package 0, CPUs 0-55,112-167 (56 cores, 112 "
         "threads), divided among 2 GPUs, host memory on NUMA node 0; near GPUs 0000:9d:00.0, "
         "0000:c3:00.0: package 1, CPUs 56-111,168-223 (56 cores, 112 threads), divided among 2 "
         "GPUs, host memory on NUMA node 1"},
        {"dgx-h100", NULL, "04", BIND_SCATTER,
         "scattered: packages 0,1, CPUs 0-223 (112 cores, 224 threads), divided among 2 GPUs"},
        {"dgx-h100", NULL, "04", BIND_NONE, "not bound: CPUs 0-223 (112 cores, 224 threads)"},
        {"dgx-h100", "0-3", "04", BIND_NEAR,
         "near GPU 0000:1b:00.0: package 0, CPUs 0-3 (4 cores, 4 threads), divided among 2 GPUs, "
         "host memory on NUMA node 0; far from GPU 0000:9d:00.0, whose CPUs are not allowed here: "
         "package 0, CPUs 0-3 (4 cores, 4 threads), divided among 2 GPUs, host memory on NUMA node "
         "1"},
        {"vm", NULL, "012", BIND_NEAR,
         "which CPUs are near the GPUs is not known: CPUs 0-31 (16 cores, 32 threads), divided "
         "among 3 GPUs"},
        {"one-socket", NULL, "?0?", BIND_NEAR,
         "which CPUs are near GPUs 0, 2 is not known: CPUs 0-63 (32 cores, 64 threads), divided "
         "among 3 GPUs; near GPU 0000:01:00.0: package 0, CPUs 0-63 (32 cores, 64 threads), "
         "divided among 3 GPUs"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[1024];
        struct bind_topology *t = load(rows[i].machine, rows[i].gpus, rows[i].allowed);
        assert_string_equal(bind_describe(t, rows[i].policy, text, sizeof text), rows[i].expected);
        bind_topology_free(t);
    }
}

/* Replaces the first `from` after `where`. */
static void replace(char *text, size_t size, const char *where, const char *from, const char *to)
{
    char *at = strstr(text, where);
    at = at ? strstr(at, from) : NULL;
    assert_non_null(at);
    size_t rest = strlen(at + strlen(from)) + 1;
    assert_true((size_t)(at - text) + strlen(to) + rest <= size);
    memmove(at + strlen(to), at + strlen(from), rest);
    memcpy(at, to, strlen(to));
}

/* The first package's memory is of a special kind, and what was a GPU's is ordinary: the number
 * does not decide. */
static void special_memory_is_no_place_for_buffers(void **state)
{
    (void)state;
    static char text[65536];
    const char *source = getenv("MPSWEEP_SOURCE_DIR"), *gpu = machine_of("grace")->pci[0];
    char path[4096], name[] = "/tmp/mpsweep-topology-XXXXXX";
    snprintf(path, sizeof path, "%s/tests/data/topologies/grace.xml", source ? source : ".");
    FILE *file = fopen(path, "re");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    assert_true(feof(file));
    fclose(file);
    text[length] = '\0';
    replace(text, sizeof text, "\"NUMANode\"", "os_index=\"0\"", "os_index=\"0\" subtype=\"HBM\"");
    replace(text, sizeof text, "os_index=\"10\"", "GPUMemory", "DRAM");
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    struct bind_topology *t = NULL;
    uint64_t nodes[BIND_NODE_WORDS];
    enum status status = bind_topology_load_xml(name, &gpu, 1, NULL, &t);
    unlink(name);
    assert_int_equal(status, STATUS_OK);
    bind_nodes(t, BIND_NEAR, 0, nodes);
    assert_string_equal(bind_nodes_text(nodes, path, sizeof path), "10");
    bind_topology_free(t);
}

/* The core of each CPU, so that sharing can be seen; MOST_CORES where there is no such CPU. */
#define MOST_CORES 256
static unsigned core_of[SHM_CPUS];

static void find_cores(const struct bind_topology *t)
{
    for (unsigned cpu = 0; cpu < SHM_CPUS; cpu++)
        core_of[cpu] = MOST_CORES;
    unsigned count = 0;
    for (hwloc_obj_t core = NULL;
         (core = hwloc_get_next_obj_by_type(t->topology, HWLOC_OBJ_CORE, core)) != NULL; count++) {
        int cpu;
        assert_true(count < MOST_CORES);
        hwloc_bitmap_foreach_begin(cpu, core->cpuset) core_of[cpu] = count;
        hwloc_bitmap_foreach_end();
    }
}

static bool has(const uint64_t mask[BIND_WORDS], unsigned cpu)
{
    return (mask[cpu / 64] >> (cpu % 64) & 1) != 0;
}

/* Hall's theorem: everybody can have a core if and only if no part of the GPUs has more workers
 * than the cores that are near any of that part. */
static bool cores_suffice(uint64_t (*near)[BIND_WORDS], unsigned gpus, unsigned workers_each)
{
    for (unsigned part = 1; part < 1U << gpus; part++) {
        bool seen[MOST_CORES] = {false};
        unsigned cores = 0;
        for (unsigned cpu = 0; cpu < MOST_WORKERS; cpu++)
            for (unsigned gpu = 0; gpu < gpus; gpu++)
                if ((part >> gpu & 1) && has(near[gpu], cpu) && !seen[core_of[cpu]]) {
                    seen[core_of[cpu]] = true;
                    cores++;
                }
        if (workers_each * (unsigned)__builtin_popcount(part) > cores)
            return false;
    }
    return true;
}

/* What must hold of every plan, whatever the machine. */
static void check_plan(const struct bind_topology *t, enum bind_policy policy, unsigned gpus,
                       unsigned workers)
{
    uint64_t sets[BIND_GPUS][BIND_WORDS];
    unsigned gpu_on[MOST_CORES], pinned_on[MOST_WORKERS] = {0}, workers_on[MOST_CORES] = {0};
    bool shares[BIND_GPUS] = {false};
    memset(gpu_on, 0xff, sizeof gpu_on);
    for (unsigned gpu = 0; gpu < gpus; gpu++)
        bind_process_mask(t, policy, gpu, sets[gpu]);
    for (unsigned i = 0; i < workers; i++) {
        unsigned gpu = gpu_of[i];
        const bool whole = memcmp(masks[i], sets[gpu], sizeof masks[i]) == 0;
        /* One CPU of the GPU's set, or all of it. */
        assert_true(whole || cpus_in(masks[i]) == 1);
        for (size_t w = 0; w < BIND_WORDS; w++)
            assert_true((masks[i][w] & ~sets[gpu][w]) == 0);
        shares[gpu] |= whole && cpus_in(masks[i]) > 1;
    }
    /* A set of one CPU is whole and single at once: it is shared if it has two workers. */
    for (unsigned i = 0; i < workers; i++)
        for (unsigned j = 0; j < i; j++)
            if (cpus_in(sets[gpu_of[i]]) == 1 && memcmp(masks[i], masks[j], sizeof masks[i]) == 0)
                shares[gpu_of[i]] = shares[gpu_of[j]] = true;
    for (unsigned i = 0; i < workers; i++)
        if (!shares[gpu_of[i]]) {
            unsigned cpu = first_in(masks[i]), core = core_of[cpu];
            /* Nobody else's CPU, and no other GPU's core. */
            assert_int_equal(pinned_on[cpu]++, 0);
            workers_on[core]++;
            assert_true(gpu_on[core] == UINT32_MAX || gpu_on[core] == gpu_of[i]);
            gpu_on[core] = gpu_of[i];
        }
    for (unsigned i = 0; i < workers; i++)
        for (unsigned cpu = 0; cpu < MOST_WORKERS && shares[gpu_of[i]]; cpu++)
            if (has(masks[i], cpu))
                assert_int_equal(gpu_on[core_of[cpu]], UINT32_MAX);
    /* A core for everybody wherever that is possible at all. */
    if (cores_suffice(sets, gpus, workers / gpus)) {
        for (unsigned gpu = 0; gpu < gpus; gpu++)
            assert_false(shares[gpu]);
        for (unsigned core = 0; core < MOST_CORES; core++)
            assert_true(workers_on[core] <= 1);
    }
    /* GPUs of the same place are treated alike. */
    for (unsigned a = 0; a < gpus; a++)
        for (unsigned b = 0; b < a; b++)
            if (memcmp(sets[a], sets[b], sizeof sets[a]) == 0)
                assert_int_equal(shares[a], shares[b]);
}

static unsigned random_below(unsigned limit)
{
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)((state >> 33) % limit);
}

/* Every third CPU or so, in runs; their numbers may have gaps. */
static void random_cpus(const struct machine *machine, char *text, size_t size)
{
    struct bind_topology *t = load(machine->file, "0", NULL);
    unsigned count = bind_count_of(t->topology, HWLOC_OBJ_PU), cpu = random_below(count);
    text[0] = '\0';
    do {
        for (unsigned last = cpu + random_below(12); cpu <= last && cpu < count; cpu++) {
            char number[16];
            snprintf(number, sizeof number, "%s%u", *text ? "," : "",
                     hwloc_get_obj_by_type(t->topology, HWLOC_OBJ_PU, cpu)->os_index);
            add(text, size, number);
        }
        cpu += 1 + random_below(24);
    } while (cpu < count);
    bind_topology_free(t);
}

static void every_plan_is_fair_and_near(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 200; trial++) {
        const struct machine *machine = &machines[random_below(MACHINES)];
        unsigned gpus = 1 + random_below(machine->gpus);
        char which[17] = "", allowed[1024];
        random_cpus(machine, allowed, sizeof allowed);
        for (unsigned i = 0; i < gpus; i++)
            which[i] = random_below(8) ? digits[random_below(machine->gpus)] : '?';
        struct bind_topology *t = load(machine->file, which, random_below(2) ? allowed : NULL);
        find_cores(t);
        for (unsigned i = 0; i < 4; i++) {
            enum bind_policy policy = random_below(4) ? BIND_NEAR : BIND_SCATTER;
            unsigned threads = 1 + random_below(4), processes = 1 + random_below(64 / gpus);
            check_plan(t, policy, gpus, make_plan(t, policy, gpus, processes, threads));
        }
        bind_topology_free(t);
    }
}

static void few_workers_of_many_gpus_each_have_a_core(void **state)
{
    (void)state;
    struct bind_topology *t = load("dgx-a100", "01234567", NULL);
    find_cores(t);
    for (unsigned gpus = 1; gpus <= 8; gpus++)
        for (unsigned workers = 1; workers <= 64; workers += 1 + workers / 8)
            for (unsigned policy = BIND_NEAR; policy <= BIND_SCATTER; policy++)
                check_plan(t, policy, gpus, make_plan(t, policy, gpus, workers, 1));
    bind_topology_free(t);
}

/* GPUs without workers leave their cores to the others, as if they were not there. */
static void idle_gpus_take_nothing(void **state)
{
    (void)state;
    char alone[256] = "", beside[256] = "";
    struct bind_topology *one = load("dgx-h100", "1", NULL), *all = load("dgx-h100", "0123", NULL);
    unsigned workers = 30;
    for (unsigned i = 0; i < workers; i++)
        gpu_of[i] = 0;
    assert_int_equal(bind_plan(one, BIND_NEAR, NULL, workers, masks), STATUS_OK);
    add_gpu(one, BIND_NEAR, 0, workers, alone, sizeof alone);
    for (unsigned i = 0; i < workers; i++)
        gpu_of[i] = 1;
    assert_int_equal(bind_plan(all, BIND_NEAR, gpu_of, workers, masks), STATUS_OK);
    add_gpu(all, BIND_NEAR, 1, workers, beside, sizeof beside);
    assert_string_equal(alone, "0..29@0");
    assert_string_equal(beside, alone);
    bind_topology_free(one);
    bind_topology_free(all);
}

/* The first GPU needs few cores, the second many: it gets what the first leaves. */
static void uneven_needs_are_met(void **state)
{
    (void)state;
    char text[256] = "";
    struct bind_topology *t = load("dgx-h100", "01", NULL);
    for (unsigned i = 0; i < 50; i++)
        gpu_of[i] = i % 10 == 0 ? 0 : 1;
    assert_int_equal(bind_plan(t, BIND_NEAR, gpu_of, 50, masks), STATUS_OK);
    add_gpu(t, BIND_NEAR, 0, 50, text, sizeof text);
    add(text, sizeof text, " ");
    add_gpu(t, BIND_NEAR, 1, 50, text, sizeof text);
    assert_string_equal(text, "0..4@0 11..55@0");
    bind_topology_free(t);
}

static void wrong_gpus_are_refused(void **state)
{
    (void)state;
    struct bind_topology *t = load("vm", "01", NULL);
    const unsigned third = 2;
    assert_int_equal(bind_plan(t, BIND_NEAR, &third, 1, masks), STATUS_USAGE);
    assert_string_equal(status_text(), "worker 0 is for GPU 2 of 2");
    bind_topology_free(t);
    t = NULL;
    assert_int_equal(bind_topology_load_synthetic("pu:2", 65, NULL, &t), STATUS_UNSUPPORTED);
    assert_string_equal(status_text(),
                        "65 GPUs are more than the 64 that a binding can tell apart");
    assert_null(t);
    /* The most there may be. */
    assert_int_equal(bind_topology_load_synthetic("core:64 pu:1", 64, NULL, &t), STATUS_OK);
    char text[64] = "";
    unsigned workers = make_plan(t, BIND_NEAR, 64, 1, 1);
    add_gpu(t, BIND_NEAR, 63, workers, text, sizeof text);
    assert_string_equal(text, "63@-");
    bind_topology_free(t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_plan_is_fair_and_near),
        cmocka_unit_test(few_workers_of_many_gpus_each_have_a_core),
        cmocka_unit_test(idle_gpus_take_nothing),
        cmocka_unit_test(uneven_needs_are_met),
        cmocka_unit_test(wrong_gpus_are_refused),
        cmocka_unit_test(the_table_of_cases_holds),
        cmocka_unit_test(special_memory_is_no_place_for_buffers),
        cmocka_unit_test(the_documented_table_holds),
        cmocka_unit_test(each_place_is_described_once),
    };
    return cmocka_run_group_tests_name("bind_gpus", tests, NULL, NULL);
}
