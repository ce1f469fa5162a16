#include "orchestrator/probe/probe.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/paths.h"
#include "files/results_write.h"
#include "orchestrator/console/report.h"
#include "orchestrator/probe/internal.h"
#include "orchestrator/campaign/campaign.h"
#include "orchestrator/results/table.h"

/* Of one arm in one round, before any has been seen. */
#define USUAL_S 0.8
#define EXISTS_ADVICE "another name"

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
    return probe->gpus <= probing->session.gpus->list.count;
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

static bool has_rounds(const struct probe_outcome *outcome)
{
    for (size_t i = 0; i < outcome->probe->arm_count; i++)
        if (outcome->arms[i].rounds > 0)
            return true;
    return false;
}

/* Measures the arms of a probe and concludes from what there is. *early and the
 * result have what ended it early; without a single round there is nothing to conclude from, and
 * *early is returned. */
static enum status measure(struct probing *probing, struct probe_outcome *outcome,
                           struct probe_result *result, enum status *early)
{
    probe_choose_arms(options_text(probing->options, OPTION_PROBE_ARMS), outcome);
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
static enum status run_probe(struct probing *probing, const struct probe *probe, json_t **record)
{
    uint64_t begin_ns = clock_now_ns();
    struct probe_outcome outcome = {.probe = probe, .arms = new_arms(probe)};
    struct probe_result result = {.verdict = PROBE_NEEDS};
    enum status status = STATUS_OK, early = STATUS_OK;
    *record = NULL;
    if (!outcome.arms)
        return status_set(STATUS_MEMORY, "out of memory");
    if (has_gpus(probing, probe)) {
        status = measure(probing, &outcome, &result, &early);
    } else {
        snprintf(result.needs, sizeof result.needs, "%u GPUs", probe->gpus);
        snprintf(result.error, sizeof result.error, "the driver shows %u",
                 probing->session.gpus->list.count);
    }
    if (status == STATUS_OK) {
        *record = probe_record(&outcome, &result, (double)(clock_now_ns() - begin_ns) / 1e9);
        if (!*record)
            status = status_set(STATUS_MEMORY, "out of memory for a record");
    }
    free_arms(probe, outcome.arms);
    if (status == STATUS_OK && early != STATUS_OK)
        status = status_set(early, "%s", result.ended_early);
    return status;
}

/* Whether --arms leaves an arm of it that is compared with another; a control alone shows nothing.
 */
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
        wanted |= outcome.arms[i].chosen && probe->arms[i].control;
    free_arms(probe, outcome.arms);
    return wanted;
}

static enum status check_arms(const struct probing *probing)
{
    const char *list = options_text(probing->options, OPTION_PROBE_ARMS);
    char names[1024] = "";
    struct text text = {.at = names, .size = sizeof names};
    enum status status = probe_check_arms(list, probing->chosen, probing->chosen_count);
    for (size_t p = 0; p < probing->chosen_count && status == STATUS_OK; p++)
        if (is_wanted(probing, probing->chosen[p]))
            return STATUS_OK;
    if (status != STATUS_OK)
        return status;
    for (size_t p = 0; p < probing->chosen_count; p++)
        for (size_t a = 0; a < probing->chosen[p]->arm_count; a++)
            if (probing->chosen[p]->arms[a].control)
                text_append(&text, "%s%s", *names ? ", " : "", probing->chosen[p]->arms[a].name);
    return status_set(STATUS_USAGE,
                      "--arms '%s' leaves only controls, which show nothing alone: add one of %s",
                      list, names);
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

/* Writes and prints a record, behind those before. The text of an earlier error stays. */
static enum status keep(const struct probing *probing, struct results_writer *writer,
                        const json_t *records, json_t *record)
{
    char text[512];
    snprintf(text, sizeof text, "%s", status_text());
    enum status status = results_write(writer, record);
    if (status != STATUS_OK)
        return status;
    if (prints_table(probing)) {
        if (json_array_size(records) > 0)
            fputc('\n', stdout);
        probe_print_record(stdout, record);
        fflush(stdout);
    }
    status_record("%s", text);
    return STATUS_OK;
}

/* *written: all that there was could be written. */
static enum status run_all(struct probing *probing, struct results_writer *writer, json_t *records,
                           bool *written)
{
    *written = true;
    enum status status = STATUS_OK;
    for (size_t p = 0; p < probing->chosen_count && status == STATUS_OK; p++) {
        json_t *record = NULL;
        if (!is_wanted(probing, probing->chosen[p]))
            continue;
        status = run_probe(probing, probing->chosen[p], &record);
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

/* With an open session. */
static int run(struct probing *probing, uint64_t begin_ns)
{
    struct results_writer writer = RESULTS_WRITER_NONE;
    const char *path = options_text(probing->options, OPTION_PROBE_OUTPUT);
    const char *format = options_text(probing->options, OPTION_PROBE_FORMAT);
    json_t *header = NULL, *records = json_array();
    size_t runs = 0;
    enum status status = path ? results_create(path, EXISTS_ADVICE, &writer) : STATUS_OK;
    if (status == STATUS_OK) {
        header = probe_header(probing);
        status = header && records ? results_write(&writer, header)
                                   : status_set(STATUS_MEMORY, "out of memory for the header");
        if (status != STATUS_OK)
            results_discard(&writer);
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
    progress_init(&probing->progress, options_switch(probing->options, OPTION_QUIET), runs,
                  USUAL_S * (double)runs);
    bool written;
    status = run_all(probing, &writer, records, &written);
    int result = status == STATUS_OK ? exit_status(records) : report(status);
    json_t *footer = probe_footer(result, records, (double)(clock_now_ns() - begin_ns) / 1e9);
    if (written && results_write(&writer, footer) != STATUS_OK)
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

int probe_command(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    struct probing probing = {.options = options};
    uint64_t begin_ns = clock_now_ns();
    enum status status = choose(&probing, invocation->operands[0]);
    if (status == STATUS_OK)
        status = check_arms(&probing);
    if (status != STATUS_OK)
        return report(status);
    if (options_switch(options, OPTION_PROBE_LIST)) {
        probe_print_list(stdout, probing.chosen, probing.chosen_count);
        return EXIT_ALL_MEASURED;
    }
    const char *output = options_text(options, OPTION_PROBE_OUTPUT);
    if (output)
        status = results_check_new(output, EXISTS_ADVICE);
    if (status != STATUS_OK)
        return report(status);
    const struct session_request request = {.device = options_text(options, OPTION_DEVICE),
                                            .single = "a probe"};
    status = path_find_helper("mpsweep-probe", probing.program, sizeof probing.program);
    if (status == STATUS_OK)
        status = session_open(&request, &probing.session);
    if (status != STATUS_OK)
        return report(status);
    campaign_notify_session(&probing.session, report_notice);
    status = session_watch_signals(&probing.session);
    int result = status == STATUS_OK ? run(&probing, begin_ns) : report(status);
    if (session_close(&probing.session) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    return result;
}
