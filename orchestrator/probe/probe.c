#include "orchestrator/probe/probe.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/paths.h"
#include "files/file_name.h"
#include "files/results_write.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/console/report.h"
#include "orchestrator/probe/internal.h"
#include "orchestrator/campaign/campaign.h"
#include "orchestrator/record/record.h"
#include "orchestrator/results/probe_record.h"
#include "orchestrator/results/table.h"

/* Of one arm in one round, before any has been seen. */
#define USUAL_S 0.8
#define EXISTS_ADVICE "another name"

/* Those that the operand names, with their arms chosen; nothing is measured. */
static enum status choose(struct probing *probing, const char *name)
{
    bool all = !name || strcmp(name, "all") == 0;
    char names[256] = "";
    struct text text = {.at = names, .size = sizeof names};
    size_t count = 0;
    for (; probes[count]; count++)
        text_append(&text, "%s, ", probes[count]->name);
    if (!name && !options_switch(probing->options, OPTION_PROBE_LIST))
        return status_set(STATUS_USAGE, "probe needs a name: one of %sor all", names);
    if (!all && !probe_find(name))
        return status_set(STATUS_USAGE, "unknown probe '%s': it is one of %sor all", name, names);
    probing->outcomes = calloc(count + 1, sizeof *probing->outcomes);
    for (size_t p = 0; probing->outcomes && p < count; p++) {
        if (!all && probes[p] != probe_find(name))
            continue;
        struct probe_outcome *outcome = &probing->outcomes[probing->count];
        outcome->probe = probes[p];
        outcome->arms = calloc(probes[p]->arm_count, sizeof *outcome->arms);
        if (!outcome->arms)
            break;
        probing->count++;
        for (size_t i = 0; i < probes[p]->arm_count; i++)
            outcome->arms[i].arm = &probes[p]->arms[i];
        probe_choose_arms(options_text(probing->options, OPTION_PROBE_ARMS), outcome);
    }
    return probing->count == (all ? count : 1) ? STATUS_OK
                                               : status_set(STATUS_MEMORY, "out of memory");
}

/* Of one that has its record the samples are not needed any more. */
static void free_samples(struct probe_outcome *outcome)
{
    for (size_t i = 0; i < outcome->probe->arm_count; i++)
        probe_arm_data_release(&outcome->arms[i]);
}

static bool has_gpus(const struct probing *probing, const struct probe *probe)
{
    return probe->gpus <= probing->session.gpus->list.count;
}

/* How many arms there are to run in all rounds of all probes. */
static size_t count_runs(const struct probing *probing)
{
    size_t runs = 0;
    for (size_t p = 0; p < probing->count; p++) {
        const struct probe_outcome *outcome = &probing->outcomes[p];
        for (size_t i = 0; has_gpus(probing, outcome->probe) && i < outcome->probe->arm_count; i++)
            runs += outcome->arms[i].chosen ? probe_rounds(probing, outcome->probe) : 0;
    }
    return runs;
}

static bool has_rounds(const struct probe_outcome *outcome)
{
    for (size_t i = 0; i < outcome->probe->arm_count; i++)
        if (outcome->arms[i].rounds > 0)
            return true;
    return false;
}

/* Measures the arms of a probe and concludes from what there is. *early and the result have what
 * ended it early; without a single round there is nothing to conclude from, and *early is returned.
 */
static enum status measure(struct probing *probing, struct probe_outcome *outcome,
                           struct probe_result *result, enum status *early)
{
    *early = probe_measure(probing, outcome);
    progress_clear(&probing->progress);
    if (*early != STATUS_OK) {
        snprintf(result->ended_early, sizeof result->ended_early, "%s", status_text());
        if (!has_rounds(outcome))
            return *early;
    }
    probe_level(outcome);
    return probe_conclude(outcome, result);
}

/* *record is what was found; after an interrupt what the rounds until then show, NULL if there was
 * none. */
static enum status run_probe(struct probing *probing, struct probe_outcome *outcome,
                             json_t **record)
{
    const struct probe *probe = outcome->probe;
    uint64_t begin_ns = clock_now_ns();
    struct probe_result result = {.verdict = PROBE_NEEDS};
    enum status status = STATUS_OK, early = STATUS_OK;
    *record = NULL;
    if (has_gpus(probing, probe)) {
        status = measure(probing, outcome, &result, &early);
    } else {
        snprintf(result.needs, sizeof result.needs, "%u GPUs", probe->gpus);
        snprintf(result.error, sizeof result.error, "the driver shows %u",
                 probing->session.gpus->list.count);
    }
    if (status == STATUS_OK) {
        *record = probe_record(outcome, &result, (double)(clock_now_ns() - begin_ns) / 1e9);
        if (!*record)
            status = status_set(STATUS_MEMORY, "out of memory for a record");
    }
    free_samples(outcome);
    if (status == STATUS_OK && early != STATUS_OK)
        status = status_set(early, "%s", result.ended_early);
    return status;
}

/* Whether --arms leaves an arm of it that is compared with another; a control alone shows nothing.
 */
static bool is_wanted(const struct probe_outcome *outcome)
{
    for (size_t i = 0; i < outcome->probe->arm_count; i++)
        if (outcome->arms[i].chosen && outcome->arms[i].arm->control)
            return true;
    return false;
}

static enum status check_arms(const struct probing *probing)
{
    const char *list = options_text(probing->options, OPTION_PROBE_ARMS);
    char names[1024] = "";
    struct text text = {.at = names, .size = sizeof names};
    enum status status = probe_check_arms(list, probing->outcomes, probing->count);
    if (status != STATUS_OK)
        return status;
    for (size_t p = 0; p < probing->count; p++) {
        const struct probe *probe = probing->outcomes[p].probe;
        if (is_wanted(&probing->outcomes[p]))
            return STATUS_OK;
        for (size_t a = 0; a < probe->arm_count; a++)
            if (probe->arms[a].control)
                text_append(&text, "%s%s", *names ? ", " : "", probe->arms[a].name);
    }
    return status_set(STATUS_USAGE,
                      "--arms '%s' leaves only controls, which show nothing alone: add one of %s",
                      list, names);
}

static bool prints_table(const struct probing *probing)
{
    return columns_is_format(options_text(probing->options, OPTION_PROBE_FORMAT));
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

/* Writes and prints a record, behind those before. The text of an earlier error stays. */
static enum status keep(const struct probing *probing, struct results_writer *writer,
                        const json_t *records, json_t *record)
{
    struct status_saved earlier;
    status_save(STATUS_OK, &earlier);
    enum status status = results_write(writer, record);
    if (status != STATUS_OK)
        return status;
    if (prints_table(probing)) {
        if (json_array_size(records) > 0)
            fputc('\n', stdout);
        probe_print_record(stdout, record);
        fflush(stdout);
    }
    return status_restore(&earlier);
}

/* *written: all that there was could be written. */
static enum status run_all(struct probing *probing, struct results_writer *writer, json_t *records,
                           bool *written)
{
    *written = true;
    enum status status = STATUS_OK;
    for (size_t p = 0; p < probing->count && status == STATUS_OK; p++) {
        json_t *record = NULL;
        if (!is_wanted(&probing->outcomes[p]))
            continue;
        status = run_probe(probing, &probing->outcomes[p], &record);
        if (!record)
            continue;
        enum status of_write = keep(probing, writer, records, record);
        *written = of_write == STATUS_OK;
        /* A disk that is full matters more than what ended the probe. */
        if (!*written)
            status = of_write;
        json_array_append_new(records, record);
    }
    return status;
}

/* With an open session. */
static int run(struct probing *probing, uint64_t begin_ns)
{
    struct results_writer writer = RESULTS_WRITER_NONE;
    const char *path = options_text(probing->options, OPTION_PROBE_OUTPUT);
    const char *format = options_text(probing->options, OPTION_PROBE_FORMAT);
    json_t *header = NULL, *records = json_array();
    size_t runs = count_runs(probing);
    enum status status = path ? results_create(path, EXISTS_ADVICE, &writer) : STATUS_OK;
    if (status == STATUS_OK) {
        header = probe_header(probing);
        status = header && records ? results_write(&writer, header)
                                   : status_set(STATUS_MEMORY, "out of memory for the header");
        if (status != STATUS_OK)
            results_discard(&writer);
    }
    if (status != STATUS_OK) {
        int result = report(status);
        results_close(&writer);
        json_decref(header);
        json_decref(records);
        return result;
    }
    if (prints_table(probing))
        table_print_heading(stdout, header, records);
    progress_init(&probing->progress, options_switch(probing->options, OPTION_QUIET), runs,
                  USUAL_S * (double)runs);
    bool written;
    status = run_all(probing, &writer, records, &written);
    int result = status == STATUS_OK ? exit_status(records) : report(status);
    json_t *footer = record_footer(result, "probes", records, "verdict",
                                   (double)(clock_now_ns() - begin_ns) / 1e9);
    if (written && results_write(&writer, footer) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    if (strcmp(format, "json") == 0)
        table_print_json(stdout, header, NULL, records, NULL, footer);
    else if (strcmp(format, "csv") == 0)
        probe_print_csv(stdout, header, records);
    results_close(&writer);
    json_decref(footer);
    json_decref(header);
    json_decref(records);
    return result;
}

static int measure_all(struct probing *probing, uint64_t begin_ns)
{
    const char *output = options_text(probing->options, OPTION_PROBE_OUTPUT);
    const struct session_request request = {
        .device = options_text(probing->options, OPTION_ONE_DEVICE), .single = "a probe"};
    enum status status = output ? file_name_check(output, "results", ".jsonl") : STATUS_OK;
    if (status == STATUS_OK && output)
        status = results_check_new(output, EXISTS_ADVICE);
    if (status == STATUS_OK)
        status = path_find(PATH_HELPER, "mpsweep-probe", probing->program, sizeof probing->program);
    if (status == STATUS_OK)
        status = session_open(&request, &probing->session);
    if (status != STATUS_OK)
        return report(status);
    campaign_notify_session(&probing->session, report_notice);
    status = session_watch_signals(&probing->session);
    int result = status == STATUS_OK ? run(probing, begin_ns) : report(status);
    if (session_close(&probing->session) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    return result;
}

int probe_command(const struct invocation *invocation)
{
    struct probing probing = {.options = invocation->options};
    uint64_t begin_ns = clock_now_ns();
    int result = EXIT_ALL_MEASURED;
    enum status status = choose(&probing, invocation->operands[0]);
    if (status == STATUS_OK)
        status = check_arms(&probing);
    if (status != STATUS_OK)
        result = report(status);
    else if (options_switch(probing.options, OPTION_PROBE_LIST))
        probe_print_list(stdout, probing.outcomes, probing.count);
    else
        result = measure_all(&probing, begin_ns);
    for (size_t p = 0; p < probing.count; p++)
        free(probing.outcomes[p].arms);
    free(probing.outcomes);
    return result;
}
