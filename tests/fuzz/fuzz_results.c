/* A results file: any bytes, to everything that reads one. */
#include "common/json.h"
#include "explain/calibration_json.h"
#include "files/results_read.h"
#include "orchestrator/compare/comparison.h"
#include "orchestrator/explain/set.h"
#include "orchestrator/plot/internal.h"
#include "orchestrator/record/record.h"
#include "orchestrator/results/table.h"
#include "tests/fuzz/target.h"

const char fuzz_target_name[] = "results";

/* What is written between these two ends on a terminal. */
struct printed {
    FILE *file;
    char *text;
    size_t bytes;
};

static FILE *print_begin(struct printed *printed)
{
    *printed = (struct printed){0};
    printed->file = open_memstream(&printed->text, &printed->bytes);
    check(printed->file != NULL);
    return printed->file;
}

static void print_end(struct printed *printed)
{
    check(fclose(printed->file) == 0);
    check_printed(printed->text, printed->bytes);
    free(printed->text);
}

static bool worked(enum status status)
{
    if (status != STATUS_OK)
        check_error(status_text());
    return status == STATUS_OK;
}

static void draw(const struct results *results)
{
    static plot_write *const figures[] = {
        plot_throughput_write, plot_latency_write, plot_phases_write,  plot_launch_write,
        plot_heatmap_write,    plot_host_write,    plot_scaling_write, plot_gpus_write,
        plot_search_write,     plot_fleet_write,   plot_probe_write,   plot_probe_series_write,
        plot_ceilings_write,
    };
    struct printed printed;
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        worked(figures[i](results, "r.jsonl", print_begin(&printed)));
        print_end(&printed);
    }
}

static void print_tables(const struct results *results)
{
    struct printed printed;
    table_print(print_begin(&printed), results->header, results->points);
    print_end(&printed);
    table_print_csv(print_begin(&printed), results->header, results->points);
    print_end(&printed);
    table_print_json(print_begin(&printed), results->header, results->calibrations, results->points,
                     results->tune, results->footer);
    print_end(&printed);
}

static void print_explained(const struct results *results)
{
    struct explain_set set;
    const struct remedy_limits limits = {0};
    struct printed printed;
    if (!worked(explain_set_make(results, &set)))
        return;
    if (worked(explain_set_calibrate_all(&set, results, "r.jsonl")) &&
        worked(explain_set_compute(&set, &limits))) {
        explain_print_text(print_begin(&printed), results->header, &set);
        print_end(&printed);
    }
    explain_set_release(&set);
}

static void print_compared(const char *path)
{
    struct comparison comparison;
    struct printed printed;
    if (!worked(comparison_make(path, path, 0.02, true, &comparison)))
        return;
    comparison_print_table(print_begin(&printed), &comparison);
    print_end(&printed);
    comparison_print_json(print_begin(&printed), &comparison);
    print_end(&printed);
    comparison_release(&comparison);
}

static void check_machine(const json_t *header)
{
    json_t *none = record_differences(header, header);
    /* A GPU without a name is not known to be the same. */
    check(none != NULL && (json_array_size(none) == 0 ||
                           strstr(json_string_value(json_array_get(none, 0)), "unknown") != NULL));
    json_decref(none);
}

static bool is_needed(const char *key)
{
    return strcmp(key, "status") == 0 || strcmp(key, "rounds") == 0;
}

/* What is only checked is as JSON as what is read, and what is read is the same. */
static void check_lines(const char *text, size_t bytes)
{
    for (size_t begin = 0; begin < bytes;) {
        const char *end = memchr(text + begin, '\n', bytes - begin);
        size_t length = end ? (size_t)(end - text) - begin : bytes - begin;
        const struct results_line line = {.text = text + begin, .bytes = length};
        json_t *whole = json_loadb(line.text, line.bytes, 0, NULL);
        json_t *some = results_record(&line, is_needed, NULL, NULL);
        const char *key;
        json_t *value;
        check((whole == NULL) == (some == NULL));
        json_object_foreach(some, key, value)
        {
            check(json_equal(value, json_object_get(whole, key)));
        }
        json_decref(whole);
        json_decref(some);
        begin += length + 1;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[FUZZ_PATH];
    struct results results;
    int fd = fuzz_file(data, bytes, path);
    check_lines((const char *)data, bytes);
    if (worked(results_load(path, NULL, &results))) {
        check_machine(results.header);
        results_make_displayable(&results);
        print_tables(&results);
        print_explained(&results);
        print_compared(path);
        if (worked(plot_explain(&results, path, NULL)))
            draw(&results);
        json_t *records = results.calibrations;
        for (size_t i = 0; i < json_array_size(records); i++) {
            struct calibration_record record;
            worked(calibration_from_json(json_array_get(records, i), &record));
        }
        results_release(&results);
    }
    close(fd);
    return 0;
}
