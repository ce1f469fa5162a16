/* What one of our processes takes from another: the first byte chooses what reads the rest. */
#include "device/device.h"
#include "mps/guard.h"
#include "shm/shm.h"
#include "tests/fuzz/target.h"
#include "trace/chrome.h"
#include "trace/gantt.h"
#include "trace/listing.h"
#include "trace/summary.h"
#include "wire/plugin_answer.h"
#include "wire/probe.h"

const char fuzz_target_name[] = "wire";

static bool worked(enum status status)
{
    if (status != STATUS_OK)
        check_error(status_text());
    return status == STATUS_OK;
}

/* Copies as much as both have. */
static void overlay(void *to, size_t size, const uint8_t **data, size_t *bytes)
{
    size_t count = size < *bytes ? size : *bytes;
    memcpy(to, *data, count);
    *data += count;
    *bytes -= count;
}

static void read_guard(const uint8_t *data, size_t bytes)
{
    struct guard_message message = {0};
    ssize_t received = (ssize_t)bytes;
    overlay(&message, sizeof message, &data, &bytes);
    if (!guard_message_check(&message, received))
        return;
    check(received == (ssize_t)sizeof message);
    check(memchr(message.text, '\0', sizeof message.text) != NULL);
    check(message.settings.memory_limits <= MPS_SETTINGS_GPUS);
    for (unsigned i = 0; i < message.settings.memory_limits; i++)
        check(memchr(message.settings.memory_limit[i].gpu, '\0',
                     sizeof message.settings.memory_limit[i].gpu) != NULL);
}

static void read_answers(const uint8_t *data, size_t bytes)
{
    static union {
        struct plugin_answer plugin;
        struct worker_probe probe;
        struct device_list devices;
    } answer;
    size_t whole = bytes;
    memset(&answer, 0, sizeof answer);
    overlay(&answer, sizeof answer, &data, &bytes);
    if (worked(plugin_answer_check(&answer.plugin, whole)))
        check(strlen(answer.plugin.error) < sizeof answer.plugin.error);
    if (worked(worker_probe_check(&answer.probe, whole)))
        check(strlen(answer.probe.error) < sizeof answer.probe.error);
    if (worked(device_list_check(&answer.devices, whole)))
        check(answer.devices.count <= DEVICE_LIST_MAX);
}

static void attach(const uint8_t *data, size_t bytes)
{
    char path[FUZZ_PATH];
    struct shm shm;
    struct trace_buffer buffer;
    int fd = fuzz_file(data, bytes, path);
    if (worked(shm_attach(dup(fd), &shm)))
        shm_release(&shm);
    if (worked(trace_buffer_attach(dup(fd), &buffer)))
        trace_buffer_release(&buffer);
    close(fd);
}

static void print_trace(const struct timeline *timeline)
{
    char *text = NULL;
    size_t bytes = 0;
    uint32_t left_out;
    struct summary summary;
    json_t *other = json_object();
    FILE *file = open_memstream(&text, &bytes);
    check(file && other);
    listing_print_gpu(file, timeline);
    listing_print_calls(file, timeline);
    if (worked(summary_make(timeline, &summary))) {
        summary_print(file, timeline, &summary);
        summary_release(&summary);
    }
    check(fclose(file) == 0);
    check_printed(text, bytes);
    free(text);
    file = open_memstream(&text, &bytes);
    check(file != NULL);
    worked(gantt_write(file, timeline, &left_out));
    check(ftell(file) >= 0 && fflush(file) == 0);
    check_printed(text, bytes);
    check(fclose(file) == 0);
    free(text);
    file = open_memstream(&text, &bytes);
    check(file && worked(chrome_write(file, timeline, "a GPU", other)) && fclose(file) == 0);
    json_t *written = json_loads(text, 0, NULL);
    check(written != NULL);
    json_decref(written);
    free(text);
    json_decref(other);
}

/* Two processes of two threads wrote this over what was there: counts, names, threads, records. */
static void read_trace(const uint8_t *data, size_t bytes)
{
    struct trace_buffer buffer;
    struct timeline timeline;
    const unsigned records = 24;
    check(trace_buffer_create(2, 2, records, &buffer) == STATUS_OK);
    for (unsigned p = 0; p < 2; p++) {
        struct trace_process *process = trace_buffer_process(&buffer, p);
        overlay(process, offsetof(struct trace_process, names), &data, &bytes);
        overlay(process->names[0], 16, &data, &bytes);
        overlay(process->names[TRACE_NAMES - 1], 8, &data, &bytes);
        overlay(trace_buffer_threads(&buffer, p), 2 * sizeof(struct trace_thread), &data, &bytes);
        overlay(trace_buffer_records(&buffer, p), records * sizeof(struct trace_record), &data,
                &bytes);
    }
    if (worked(timeline_merge(&buffer, &timeline))) {
        check(timeline.count <= 2 * records);
        print_trace(&timeline);
        timeline_release(&timeline);
    }
    trace_buffer_release(&buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static void (*const readers[])(const uint8_t *, size_t) = {read_guard, read_answers, attach,
                                                               read_trace};
    if (bytes > 0)
        readers[data[0] % (sizeof readers / sizeof *readers)](data + 1, bytes - 1);
    return 0;
}
