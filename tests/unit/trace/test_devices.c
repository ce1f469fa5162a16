/* From CUPTI's records to a trace's: copies between GPUs, on two emulated ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/emul/rig.h"
#include "trace/chrome.h"
#include "trace/listing.h"
#include "tracing/activities.h"

#define cuda rig_cuda

static struct rig rig;
static struct trace_buffer buffer = TRACE_BUFFER_EMPTY;
static struct shm_header header;
static const struct shm shm = {.header = &header};

static void begin(void)
{
    char path[BUILT_PATH_BYTES];
    built_path("mpsweep-emulated-cuda.so", path);
    atomic_store(&header.gate, SHM_GATE_OPEN);
    atomic_store(&header.start_ns, 1);
    CHECK_EQUAL(trace_buffer_create(1, 1, 1000, &buffer), STATUS_OK);
    CHECK_EQUAL(activities_open(path, &buffer, 0, &shm), STATUS_OK);
    activities_name_thread(0);
}

static const struct timeline_event *find(const struct timeline *timeline, const char *name,
                                         uint32_t nth)
{
    for (uint32_t i = 0; i < timeline->count; i++)
        if (strcmp(timeline->events[i].name, name) == 0 && nth-- == 0)
            return &timeline->events[i];
    return NULL;
}

static void check_event(const struct timeline *timeline, uint32_t nth, const char *call)
{
    const struct timeline_event *event = find(timeline, "[copy between]", nth);
    CHECK(event != NULL);
    const struct trace_record *record = &event->record;
    CHECK_EQUAL(record->kind, TRACE_COPY);
    CHECK_EQUAL(record->bytes, RIG_BYTES);
    CHECK_EQUAL(record->source, TRACE_MEMORY_DEVICE);
    CHECK_EQUAL(record->sink, TRACE_MEMORY_DEVICE);
    CHECK_EQUAL(record->source_device, 0);
    CHECK_EQUAL(record->sink_device, 1);
    CHECK_EQUAL(record->device, 1); /* the stream's */
    CHECK(record->end_ns > record->begin_ns);
    CHECK(strcmp(timeline->events[event->call].name, call) == 0);
}

static void check_files(const struct timeline *timeline)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    json_t *other = json_object();
    CHECK_EQUAL(chrome_write(out, timeline, "GPU", other), STATUS_OK);
    json_decref(other);
    fclose(out);
    json_t *root = json_loads(text, 0, NULL), *event;
    size_t i, seen = 0;
    CHECK(root != NULL);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        const char *name = json_string_value(json_object_get(event, "name"));
        json_t *args = json_object_get(event, "args");
        if (strcmp(name, "[copy between]") != 0)
            continue;
        seen++;
        CHECK(json_is_integer(json_object_get(args, "from_device")));
        CHECK_EQUAL(json_integer_value(json_object_get(args, "from_device")), 0);
        CHECK_EQUAL(json_integer_value(json_object_get(args, "to_device")), 1);
        CHECK_EQUAL(json_integer_value(json_object_get(args, "bytes")), RIG_BYTES);
    }
    CHECK_EQUAL(seen, 2);
    json_decref(root);
    free(text);

    out = open_memstream(&text, &size);
    listing_print_gpu(out, timeline);
    fclose(out);
    CHECK(strstr(text, " device0  device1 ") != NULL);
    CHECK(strstr(text, " device   device1 ") == NULL);
    free(text);
}

static void body_peer_copies(void)
{
    cuda_context other;
    cuda_device_pointer there;
    cuda_stream stream;
    struct timeline timeline;
    begin();
    rig_start(&rig);
    CHECK_EQUAL(cuda.primary_ctx_retain(&other, 1), 0);
    CHECK_EQUAL(cuda.ctx_set_current(other), 0);
    CHECK_EQUAL(cuda.mem_alloc(&there, RIG_BYTES), 0);
    CHECK_EQUAL(cuda.stream_create(&stream, CUDA_STREAM_NON_BLOCKING), 0);
    /* Staged, then directly; and one within a device, which is not of that kind. */
    CHECK_EQUAL(cuda.memcpy_peer_async(there, other, rig.a, rig.context, RIG_BYTES, stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(stream), 0);
    CHECK_EQUAL(cuda.ctx_enable_peer_access(rig.context, 0), 0);
    CHECK_EQUAL(cuda.memcpy_dtod_async(there, rig.a, RIG_BYTES, stream), 0);
    CHECK_EQUAL(cuda.memcpy_dtod_async(there, there, RIG_BYTES, stream), 0);
    CHECK_EQUAL(cuda.stream_synchronize(stream), 0);
    activities_close();

    CHECK_EQUAL(timeline_merge(&buffer, &timeline), STATUS_OK);
    check_event(&timeline, 0, "cuMemcpyPeerAsync");
    check_event(&timeline, 1, "cuMemcpyDtoDAsync");
    CHECK(find(&timeline, "[copy between]", 2) == NULL);
    CHECK(find(&timeline, "[copy within]", 0) != NULL);
    CHECK(find(&timeline, "[copy within]", 1) == NULL);
    check_files(&timeline);
    timeline_release(&timeline);
    trace_buffer_release(&buffer);
}

static void test_copies_between_gpus_are_recorded_with_both_ends(void **state)
{
    (void)state;
    assert_int_equal(rig_run(body_peer_copies, "MPSWEEP_EMUL_DEVICES=2"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_copies_between_gpus_are_recorded_with_both_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
