#include "orchestrator/probe_command.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/paths.h"
#include "common/results_write.h"
#include "orchestrator/exit_status.h"
#include "orchestrator/probe_internal.h"
#include "orchestrator/sweep_internal.h"
#include "orchestrator/table.h"

static int report(enum status status)
{
    fprintf(stderr, "mpsweep: %s\n", status_text());
    return status == STATUS_INTERRUPTED ? EXIT_INTERRUPTED : EXIT_BAD_SETUP;
}

static size_t count_probes(void)
{
    size_t count = 0;
    while (probes[count])
        count++;
    return count;
}

static enum status choose(struct probing *probing, const char *name)
{
    static const struct probe *one[1];
    char names[256] = "";
    struct text text = {.at = names, .size = sizeof names};
    for (size_t i = 0; probes[i]; i++)
        text_append(&text, "%s, ", probes[i]->name);
    if (!name && !options_switch(probing->options, OPTION_PROBE_LIST))
        return status_set(STATUS_USAGE, "probe needs a name: one of %sor all", names);
    if (!name || strcmp(name, "all") == 0) {
        probing->chosen = probes;
        probing->chosen_count = count_probes();
        return STATUS_OK;
    }
    one[0] = probe_find(name);
    if (!one[0])
        return status_set(STATUS_USAGE, "unknown probe '%s': it is one of %sor all", name, names);
    probing->chosen = one;
    probing->chosen_count = 1;
    return STATUS_OK;
}

static struct probe_arm_data *new_arms(const struct probe *probe)
{
    struct probe_arm_data *arms = calloc(probe->arm_count, sizeof *arms);
    for (size_t i = 0; arms && i < probe->arm_count; i++)
        arms[i].arm = &probe->arms[i];
    return arms;
}

static void free_arms(const struct probe *probe, struct probe_arm_data *arms)
{
    for (size_t i = 0; arms && i < probe->arm_count; i++)
        probe_arm_data_release(&arms[i]);
    free(arms);
}

static bool has_gpus(const struct probing *probing, const struct probe *probe)
{
    return probe->gpus <= probing->session.gpus;
}

/* How many arms there are to run in all rounds of all probes. */
static enum status count_runs(const struct probing *probing, size_t *out)
{
    *out = 0;
    for (size_t p = 0; p < probing->chosen_count; p++) {
        const struct probe *probe = probing->chosen[p];
        struct probe_outcome outcome = {.probe = probe, .arms = new_arms(probe)};
        if (!outcome.arms)
            return status_set(STATUS_MEMORY, "out of memory");
        probe_choose_arms(options_text(probing->options, OPTION_PROBE_ARMS), &outcome);
        for (size_t i = 0; has_gpus(probing, probe) && i < probe->arm_count; i++)
            *out += outcome.arms[i].chosen ? probe_rounds(probing, probe) : 0;
        free_arms(probe, outcome.arms);
    }
    return STATUS_OK;
}

/* One probe, whole or not at all: an interrupt leaves no record of it. */
static enum status run_probe(struct probing *probing, const struct probe *probe, json_t **record)
{
    uint64_t begin_ns = clock_now_ns();
    struct probe_outcome outcome = {.probe = probe, .arms = new_arms(probe)};
    struct probe_result result = {.verdict = PROBE_NEEDS};
    enum status status = STATUS_OK;
    *record = NULL;
    if (!outcome.arms)
        return status_set(STATUS_MEMORY, "out of memory");
    if (has_gpus(probing, probe)) {
        probe_choose_arms(options_text(probing->options, OPTION_PROBE_ARMS), &outcome);
        status = probe_measure(probing, &outcome);
        probe_progress_end(&probing->progress);
        if (status == STATUS_OK)
            status = probe_level(&outcome);
        if (status == STATUS_OK)
            status = probe_conclude(&outcome, &result);
    } else {
        snprintf(result.needs, sizeof result.needs, "%u GPUs", probe->gpus);
        snprintf(result.error, sizeof result.error, "the driver shows %u", probing->session.gpus);
    }
    if (status == STATUS_OK) {
        *record = probe_record(&outcome, &result, (double)(clock_now_ns() - begin_ns) / 1e9);
        if (!*record)
            status = status_set(STATUS_MEMORY, "out of memory for a record");
    }
    free_arms(probe, outcome.arms);
    return status;
}

/* Whether --arms leaves something of it. */
static bool is_wanted(const struct probing *probing, const struct probe *probe)
{
    const char *list = options_text(probing->options, OPTION_PROBE_ARMS);
    bool wanted = false;
    struct probe_outcome outcome = {.probe = probe, .arms = new_arms(probe)};
    if (!list || !outcome.arms) {
        free(outcome.arms);
        return true;
    }
    probe_choose_arms(list, &outcome);
    for (size_t i = 0; i < probe->arm_count; i++)
        wanted |= outcome.arms[i].chosen;
    free_arms(probe, outcome.arms);
    return wanted;
}

static bool prints_table(const struct probing *probing)
{
    return strcmp(options_text(probing->options, OPTION_PROBE_FORMAT), "table") == 0;
}

static int exit_status(const json_t *records)
{
    for (size_t i = 0; i < json_array_size(records); i++) {
        const char *verdict =
            json_string_value(json_object_get(json_array_get(records, i), "verdict"));
        if (!verdict || strcmp(verdict, "inconclusive") == 0)
            return EXIT_SOME_FAILED;
    }
    return EXIT_ALL_MEASURED;
}

static enum status run_all(struct probing *probing, struct results_writer *writer, json_t *records)
{
    enum status status = STATUS_OK;
    for (size_t p = 0; p < probing->chosen_count && status == STATUS_OK; p++) {
        json_t *record = NULL;
        if (!is_wanted(probing, probing->chosen[p]))
            continue;
        status = run_probe(probing, probing->chosen[p], &record);
        if (status == STATUS_OK)
            status = results_write(writer, record);
        if (status == STATUS_OK && prints_table(probing)) {
            if (json_array_size(records) > 0)
                fputc('\n', stdout);
            probe_print_record(stdout, record);
            fflush(stdout);
        }
        if (record)
            json_array_append_new(records, record);
    }
    return status;
}

static void print_json(const json_t *header, const json_t *records, const json_t *footer)
{
    const size_t flags = JSON_COMPACT | JSON_REAL_PRECISION(10);
    json_dumpf(header, stdout, flags);
    fputc('\n', stdout);
    for (size_t i = 0; i < json_array_size(records); i++) {
        json_dumpf(json_array_get(records, i), stdout, flags);
        fputc('\n', stdout);
    }
    json_dumpf(footer, stdout, flags);
    fputc('\n', stdout);
}

/* There is no going on with a file, as results_create() would advise. */
static enum status create(const char *path, struct results_writer *writer)
{
    struct stat info;
    if (stat(path, &info) == 0 && S_ISREG(info.st_mode))
        return status_set(STATUS_USAGE, "'%s' exists: give another name", path);
    return results_create(path, writer);
}

/* With an open session. */
static int run(struct probing *probing, uint64_t begin_ns)
{
    struct results_writer writer = {.fd = -1};
    const char *path = options_text(probing->options, OPTION_PROBE_OUTPUT);
    const char *format = options_text(probing->options, OPTION_PROBE_FORMAT);
    json_t *header = NULL, *records = json_array();
    size_t runs = 0;
    enum status status = path ? create(path, &writer) : STATUS_OK;
    if (status == STATUS_OK) {
        header = probe_header(probing);
        status = header && records ? results_write(&writer, header)
                                   : status_set(STATUS_MEMORY, "out of memory for the header");
        if (status != STATUS_OK && writer.regular)
            remove(path);
    }
    if (status == STATUS_OK)
        status = count_runs(probing, &runs);
    if (status != STATUS_OK) {
        int result = report(status);
        results_close(&writer);
        json_decref(header);
        json_decref(records);
        return result;
    }
    if (prints_table(probing))
        table_print_heading(stdout, header, records);
    probe_progress_init(&probing->progress, options_switch(probing->options, OPTION_QUIET), runs);
    status = run_all(probing, &writer, records);
    int result = status == STATUS_OK ? exit_status(records) : report(status);
    json_t *footer = probe_footer(result, records, (double)(clock_now_ns() - begin_ns) / 1e9);
    if ((status == STATUS_OK || status == STATUS_INTERRUPTED) &&
        results_write(&writer, footer) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    if (strcmp(format, "json") == 0)
        print_json(header, records, footer);
    else if (strcmp(format, "csv") == 0)
        probe_print_csv(stdout, header, records);
    results_close(&writer);
    json_decref(footer);
    json_decref(header);
    json_decref(records);
    return result;
}

int probe_command(const struct options *options, const char *name)
{
    struct probing probing = {.options = options};
    uint64_t begin_ns = clock_now_ns();
    enum status status = choose(&probing, name);
    if (status == STATUS_OK)
        status = probe_check_arms(options_text(options, OPTION_PROBE_ARMS), probing.chosen,
                                  probing.chosen_count);
    if (status != STATUS_OK)
        return report(status);
    if (options_switch(options, OPTION_PROBE_LIST)) {
        probe_print_list(stdout, probing.chosen, probing.chosen_count);
        return EXIT_ALL_MEASURED;
    }
    const struct session_request request = {.device = options_text(options, OPTION_DEVICE),
                                            .single = "a probe"};
    status = path_find_helper("mpsweep-probe", probing.program, sizeof probing.program);
    if (status == STATUS_OK)
        status = session_open(&request, &probing.session);
    if (status != STATUS_OK)
        return report(status);
    sweep_print_notice(&probing.session);
    status = session_watch_signals(&probing.session);
    int result = status == STATUS_OK ? run(&probing, begin_ns) : report(status);
    if (session_close(&probing.session) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    return result;
}
