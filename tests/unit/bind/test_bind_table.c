/*
 * Where the workers of several GPUs run on the machines of tests/data/topologies, in a table; that
 * of docs/binding.md is read, too.
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

#include "tests/unit/bind/bind_rig.h"

struct row {
    const char *machine;
    const char *allowed; /* NULL: all */
    const char *gpus;    /* of the point, see rig_load() */
    unsigned workers;    /* of each */
    enum bind_policy policy;
    const char *expected; /* of each GPU, see rig_add_gpu() */
};

static void check_row(const struct row *row)
{
    char text[2048] = "";
    unsigned gpus = (unsigned)strlen(row->gpus);
    struct bind_topology *t = rig_load(row->machine, row->gpus, row->allowed);
    unsigned workers = rig_plan(t, row->policy, gpus, row->workers, 1);
    for (unsigned gpu = 0; gpu < gpus; gpu++) {
        rig_add(text, sizeof text, gpu ? " " : "");
        rig_add_gpu(t, row->policy, gpu, workers, text, sizeof text);
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
    /* Grace: the GPUs' own memory is not a place for host buffers. */
    {"grace", NULL, "0123", 2, BIND_NEAR, "0..1@0 36..37@0 72..73@1 108..109@1"},
    {"grace", NULL, "1", 72, BIND_NEAR, "0..71@0"},
    /* The GPUs' places are not known: they divide the machine, and memory lies where it is used. */
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
        struct bind_topology *t = rig_load(rows[i].machine, rows[i].gpus, rows[i].allowed);
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
    const char *source = getenv("MPSWEEP_SOURCE_DIR"), *gpu = rig_machine("grace")->pci[0];
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_table_of_cases_holds),
        cmocka_unit_test(special_memory_is_no_place_for_buffers),
        cmocka_unit_test(the_documented_table_holds),
        cmocka_unit_test(each_place_is_described_once),
    };
    return cmocka_run_group_tests_name("bind_table", tests, NULL, NULL);
}
