/* Every template of every format has a value for each of its names, whatever is deployed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "files/remove_tree.h"
#include "orchestrator/emit/emit.h"

static const char *const headers[] = {
    "{\"seed\": 7, \"gpu\": {\"uuid\": \"GPU-0\", \"emulated\": true}, \"host\": \"node\"}",
    "{\"seed\": 7, \"gpu\": {\"uuid\": \"GPU-0\"}, \"workload\": {\"argv\": [\"serve\", null]},"
    " \"options\": {\"sweep\": {\"server\": \"yes\", \"ready\": \"http://[::1]:{port}/health\","
    " \"request\": \"GET http://host\", \"timeout\": \"90\"}}}",
};

/* What each adds to a point of two processes and one thread. */
static const char *const points[] = {
    "{}",
    "{\"mps\": true, \"workload\": \"fft\", \"ci95_rel\": 0.1, \"threads\": 2,"
    " \"latency_us\": {\"p50\": 1, \"p99\": 2}, \"active_thread_percentage\": [30, 70]}",
    "{\"processes\": 1, \"memory\": \"pinned\", \"sync\": \"stream\", \"launch\": \"graph\","
    " \"schedule\": \"auto\", \"bind\": \"near\", \"per_worker\": [{\"process\": 0, \"cpus\": "
    "\"0-3\"}]}",
    "{\"bind\": \"near\", \"per_worker\": [{\"process\": 1, \"cpus\": \"0-3...\"}]}",
    "{\"mps\": true, \"gpus\": 2, \"mps_daemons\": \"per-gpu\","
    " \"per_gpu\": [{\"uuid\": \"GPU-0\"}, {\"uuid\": \"GPU-1\"}]}",
    "{\"mps\": true, \"status\": \"unconverged\", \"requests\": {}, \"ready_s\": 60.5,"
    " \"workload\": \"delay\"}",
    "{\"mps\": true, \"gpus\": 2, \"processes\": 1, \"per_gpu\": [{\"uuid\": \"GPU-0\"}, "
    "{\"uuid\": \"GPU-1\"}]}",
};

static void write_deployment(const char *format, const char *header, const json_t *point,
                             bool is_full)
{
    char place[] = "/tmp/mpsweep-test-emit.XXXXXX";
    char program[] = "bin/serve", word[] = "{process}{port}", empty[] = "";
    char *const command[] = {program, word, empty, NULL};
    json_t *head = json_loads(header, 0, NULL);
    bool in_containers = strcmp(format, "kubernetes") == 0 || strcmp(format, "compose") == 0;
    const struct emit_skipped skipped = {point, "is another"};
    const struct emit_request request = {
        .header = head,
        .point = point,
        .results = "results.jsonl",
        .chosen = "the best",
        .skipped = &skipped,
        .skipped_count = is_full,
        .skipped_more = 2 * is_full,
        .format = format,
        .directory = mkdtemp(place),
        .command = is_full ? command : NULL,
        .image = is_full && in_containers ? "image" : NULL,
    };
    enum status status = emit_write(&request);
    if (status != STATUS_OK)
        fail_msg("%s: %s", format, status_text());
    assert_int_equal(remove_tree(place), STATUS_OK);
    json_decref(head);
}

static void every_name_has_a_value(void **state)
{
    static const char *const formats[] = {"env", "systemd", "slurm", "kubernetes", "compose"};
    (void)state;
    for (size_t p = 0; p < sizeof points / sizeof *points; p++) {
        json_t *more = json_loads(points[p], 0, NULL);
        json_t *point = json_pack("{s:i,s:i,s:f,s:s}", "processes", 2, "threads", 1,
                                  "throughput_ips", 1000.0, "status", "ok");
        assert_non_null(more);
        assert_int_equal(json_object_update(point, more), 0);
        for (size_t f = 0; f < sizeof formats / sizeof *formats; f++)
            for (size_t h = 0; h < sizeof headers / sizeof *headers; h++) {
                write_deployment(formats[f], headers[h], point, true);
                write_deployment(formats[f], headers[h], point, false);
            }
        json_decref(point);
        json_decref(more);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(every_name_has_a_value)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
