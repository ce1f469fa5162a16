#include "orchestrator/emit/values.h"

#include <inttypes.h>
#include <math.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "config.h"
#include "common/json.h"
#include "common/paths.h"
#include "common/shell_word.h"
#include "common/text.h"
#include "job/rate.h"
#include "orchestrator/emit/quote.h"
#include "orchestrator/emit/warnings.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/rate.h"
#include "orchestrator/results/settings.h"

/* Of Kubernetes: between two looks at a start, and for pods to be placed and images to come. */
#define START_PERIOD_S 2
#define PROGRESS_S 480

const struct template_quoting emit_quotings[] = {
    {"env", emit_environment_value}, {"plain", emit_plain},
    {"shell", shell_word_quote},     {"unit", emit_unit_word},
    {"unit_path", emit_unit_path},   {"yaml", emit_yaml},
    {"yaml$", emit_yaml_dollars},    {NULL, NULL},
};

/* Without memory a value is missing, and a template that needs it fails. */

static void put_text(json_t *values, const char *name, const char *text)
{
    json_object_set_new(values, name, json_string(text));
}

static void put_number(json_t *values, const char *name, int64_t number)
{
    json_object_set_new(values, name, json_integer(number));
}

static void put_flag(json_t *values, const char *name, bool flag)
{
    json_object_set_new(values, name, json_boolean(flag));
}

/* -- workers ----------------------------------------------------------------------------------- */

static void add_variable(json_t *list, const char *name, const char *value)
{
    json_array_append_new(list, json_pack("{s:s,s:s}", "variable", name, "value", value));
}

/* Whether a program was measured, and no workload of mpsweep's. */
static bool is_program(const struct deployment *deployment)
{
    return json_object_get(json_object_get(deployment->request->header, "workload"), "argv");
}

/* A process's settings of driver and MPS, as they were measured, and its own numbers; GPU, daemon
 * and CPUs are up to the format. */
static json_t *environment_of(const struct deployment *deployment, unsigned process)
{
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {
        {"MPSWEEP_PROCESS", process},
        {"MPSWEEP_PROCESSES", deployment->processes},
        {"MPSWEEP_THREADS", deployment->threads},
        {"MPSWEEP_STREAMS", deployment->streams},
        {"MPSWEEP_PORT", deployment->port + process},
        {"MPSWEEP_SEED", deployment->seed},
        {"MPSWEEP_MPS", deployment->mps},
    };
    json_t *list = json_array();
    char text[32];
    /* A program decides by itself how its code is loaded, when it is measured, too. */
    if (!is_program(deployment))
        add_variable(list, "CUDA_MODULE_LOADING", "EAGER");
    for (const struct option_row *row = NULL; (row = setting_next(row));) {
        int64_t value = 0;
        if (row->setting.type == SETTING_SHARES)
            value = deployment_share(deployment, process, row);
        else if (row->setting.variable)
            value = settings_number(deployment->request->point, row);
        if (setting_variable_text(row, value, text, sizeof text))
            add_variable(list, row->setting.variable, text);
    }
    if (deployment->openmp_threads) {
        snprintf(text, sizeof text, "%u", deployment->openmp_threads);
        add_variable(list, POINT_OPENMP_VARIABLE, text);
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        snprintf(text, sizeof text, "%" PRId64, numbers[i].value);
        add_variable(list, numbers[i].name, text);
    }
    return list;
}

static bool has_variable(const json_t *environment, const char *name)
{
    bool has = false;
    for (size_t i = 0; i < json_array_size(environment); i++)
        has |= strcmp(text_at(json_array_get(environment, i), "variable"), name) == 0;
    return has;
}

/* What an environment lacks and an image may have: empty there, its script drops it. */
static json_t *unset_in(const json_t *environment)
{
    json_t *list = json_array();
    for (const struct option_row *row = NULL; (row = setting_next(row));)
        if (row->setting.variable && !has_variable(environment, row->setting.variable))
            add_variable(list, row->setting.variable, "");
    return list;
}

/* The command's words, with their placeholders filled in. */
static json_t *words_of(const struct deployment *deployment, unsigned process)
{
    const struct placeholders values = deployment_placeholders(deployment, process);
    json_t *words = json_array();
    for (size_t i = 0; deployment->command[i]; i++) {
        char *word = placeholders_fill(deployment->command[i], &values);
        json_array_append_new(words, word ? json_string(word) : NULL);
        free(word);
    }
    return words;
}

/* Behind "mps" in the name of a daemon and of what belongs to it: of one for each GPU "-1". */
static const char *suffix_of(const struct deployment *deployment, unsigned daemon, char text[32])
{
    text[0] = '\0';
    if (deployment->daemons > 1)
        snprintf(text, 32, "-%u", daemon);
    return text;
}

/* Where it takes connections, and what shows that it can serve. */
static void put_service(json_t *values, json_t *environment, const struct deployment *deployment,
                        unsigned process)
{
    struct deployment_service service;
    if (!deployment->has_port ||
        deployment_service_make(deployment, process, &service) != STATUS_OK)
        return;
    add_variable(environment, "MPSWEEP_READY", service.url);
    put_number(values, "port", service.port);
    put_number(values, "ready_port", service.ready_port);
    put_text(values, "ready_path", service.path ? service.path : "");
    put_flag(values, "secure", service.secure);
    deployment_service_release(&service);
}

/* As a quantity of Kubernetes: "2", "250m"; "": not known. */
static void put_cpu_request(json_t *values, unsigned millicpus)
{
    char text[32] = "";
    if (millicpus > 0 && millicpus % 1000 == 0)
        snprintf(text, sizeof text, "%u", millicpus / 1000);
    else if (millicpus > 0)
        snprintf(text, sizeof text, "%um", millicpus);
    put_text(values, "cpu_request", text);
}

static json_t *make_worker(const struct deployment *deployment, unsigned process)
{
    unsigned gpu = process % deployment->gpu_count;
    const struct deployment_process *of = &deployment->process[process];
    char suffix[32], mask[DEPLOYMENT_CPUS / 4 + 8];
    json_t *values = json_object(), *environment = environment_of(deployment, process);
    hwloc_bitmap_taskset_snprintf(mask, sizeof mask, of->cpus);
    put_number(values, "process", process);
    put_text(values, "gpu", deployment->gpus[gpu]);
    put_number(values, "gpu_number", gpu);
    put_text(values, "suffix", suffix_of(deployment, gpu, suffix));
    put_text(values, "cpus", of->cpus_text);
    put_text(values, "cpu_mask", mask);
    put_cpu_request(values, of->millicpus);
    json_object_set_new(values, "words", words_of(deployment, process));
    put_service(values, environment, deployment, process);
    json_object_set_new(values, "unset", unset_in(environment));
    json_object_set_new(values, "environment", environment);
    return values;
}

static json_t *make_workers(const struct deployment *deployment)
{
    json_t *list = json_array();
    for (unsigned p = 0; p < deployment->processes; p++) {
        json_t *worker = make_worker(deployment, p);
        /* Each has its own, or all share one that the measured requests went to. */
        put_flag(worker, "new_port",
                 deployment->has_port &&
                     (p == 0 ||
                      integer_at(worker, "port") != integer_at(json_array_get(list, 0), "port")));
        json_array_append_new(list, worker);
    }
    return list;
}

/* -- GPUs and daemons -------------------------------------------------------------------------- */

/* Some of the deployment's GPUs. */
static json_t *make_gpus(const struct deployment *deployment, unsigned first, unsigned end)
{
    json_t *list = json_array();
    for (unsigned g = first; g < end; g++)
        json_array_append_new(
            list, json_pack("{s:i,s:s}", "gpu_number", (int)g, "gpu", deployment->gpus[g]));
    return list;
}

static json_t *make_daemons(const struct deployment *deployment)
{
    json_t *list = json_array();
    for (unsigned d = 0; d < deployment->daemons; d++) {
        bool all = deployment->daemons == 1;
        char suffix[32];
        json_t *values = json_object(), *clients = json_array();
        for (unsigned p = d; p < deployment->processes; p += deployment->daemons)
            json_array_append_new(clients, json_pack("{s:i}", "process", (int)p));
        put_number(values, "daemon", d);
        put_text(values, "suffix", suffix_of(deployment, d, suffix));
        json_object_set_new(
            values, "gpus",
            make_gpus(deployment, all ? 0 : d, all ? deployment->gpu_count : d + 1));
        json_object_set_new(values, "clients", clients);
        json_array_append_new(list, values);
    }
    return list;
}

/* -- the command ------------------------------------------------------------------------------- */

/* The command's words in pieces: each is "text", to be quoted for its place, or "raw", what that
 * place expands to the value of a placeholder. prefix: before the first word. */
static json_t *make_pieces(const struct deployment *deployment, const char *prefix,
                           const char *const raw[PLACEHOLDERS])
{
    json_t *words = json_array();
    for (size_t i = 0; deployment->command[i]; i++) {
        json_t *word = json_array();
        struct placeholder_piece piece;
        if (i == 0 && *prefix)
            json_array_append_new(word, json_pack("{s:s,s:s}", "text", prefix, "raw", ""));
        for (const char *at = deployment->command[i]; placeholders_next(&at, &piece);)
            json_array_append_new(
                word, piece.placeholder == PLACEHOLDER_LETTERS
                          ? json_pack("{s:s%,s:s}", "text", piece.text, piece.bytes, "raw", "")
                          : json_pack("{s:s,s:s}", "text", "", "raw", raw[piece.placeholder]));
        json_array_append_new(words, word);
    }
    return words;
}

static json_t *make_shell_words(const struct deployment *deployment)
{
    static const char *const raw[PLACEHOLDERS] = {
        [PLACEHOLDER_PROCESS] = "\"$MPSWEEP_PROCESS\"",
        [PLACEHOLDER_PROCESSES] = "\"$MPSWEEP_PROCESSES\"",
        [PLACEHOLDER_THREADS] = "\"$MPSWEEP_THREADS\"",
        [PLACEHOLDER_STREAMS] = "\"$MPSWEEP_STREAMS\"",
        [PLACEHOLDER_PORT] = "\"$MPSWEEP_PORT\"",
        [PLACEHOLDER_SEED] = "\"$MPSWEEP_SEED\"",
        [PLACEHOLDER_GPU] = "\"$MPSWEEP_GPU\"",
    };
    return make_pieces(deployment, "", raw);
}

/* For systemd, which takes no relative path. */
static json_t *make_unit_words(const struct deployment *deployment)
{
    char processes[16], threads[16], streams[16], seed[24], prefix[PATH_MAX + 2] = "";
    const char *const raw[PLACEHOLDERS] = {
        [PLACEHOLDER_PROCESS] = "%i",
        [PLACEHOLDER_PROCESSES] = processes,
        [PLACEHOLDER_THREADS] = threads,
        [PLACEHOLDER_STREAMS] = streams,
        [PLACEHOLDER_SEED] = seed,
        [PLACEHOLDER_PORT] = "${MPSWEEP_PORT}",
        [PLACEHOLDER_GPU] = "${MPSWEEP_GPU}",
    };
    const char *program = deployment->command[0];
    snprintf(processes, sizeof processes, "%u", deployment->processes);
    snprintf(threads, sizeof threads, "%u", deployment->threads);
    snprintf(streams, sizeof streams, "%u", deployment->streams);
    snprintf(seed, sizeof seed, "%" PRId64, deployment->seed);
    if (strchr(program, '/') && program[0] != '/')
        snprintf(prefix, sizeof prefix, "%s/", deployment->working_directory);
    return make_pieces(deployment, prefix, raw);
}

static void put_command(json_t *values, const struct deployment *deployment)
{
    json_t *words = json_array();
    for (size_t i = 0; deployment->command[i]; i++)
        json_array_append_new(words, json_string(deployment->command[i]));
    char *text = json_dumps(words, JSON_ENSURE_ASCII);
    json_decref(words);
    put_flag(values, "has_command", deployment->has_command);
    put_text(values, "command", text); /* as JSON: one line whatever is in it */
    put_flag(values, "is_found_in_path", !strchr(deployment->command[0], '/'));
    json_object_set_new(values, "shell_words", make_shell_words(deployment));
    json_object_set_new(values, "unit_words", make_unit_words(deployment));
    free(text);
}

/* -- the measurement --------------------------------------------------------------------------- */

static void put_known(json_t *values, const char *name, const json_t *object, const char *field)
{
    put_text(values, name, text_or(object, field, "not known"));
}

/* Of an open loop what was offered, under which limit the rate was searched, and how well that is
 * known. */
static void put_rate(json_t *values, const json_t *point)
{
    const json_t *rate = json_object_get(point, "rate");
    const json_t *goal = json_object_get(rate, "goal");
    char text[64] = "", limit[32], step[RATE_STEP_BYTES];
    double offered = number_at(rate, "offered_ips");
    put_text(values, "offered", offered > 0.0 ? text_number(offered, text, sizeof text) : "");
    if (json_is_object(goal))
        snprintf(text, sizeof text, "%.8s under %s", text_at(goal, "percentile"),
                 rate_time_text(number_at(goal, "us") * 1e3, limit, sizeof limit));
    put_text(values, "goal", json_is_object(goal) ? text : "");
    put_text(values, "step", rate_step_text(rate, 1.0 - point_failed_share(point), step));
}

/* What was measured, on what, and what only the program itself can do. */
static void put_record(json_t *values, const struct deployment *deployment)
{
    static const enum option_id own[] = {OPTION_MEMORY, OPTION_SYNC, OPTION_LAUNCH, OPTION_SCHEDULE,
                                         OPTION_BIND};
    const json_t *point = deployment->request->point, *header = deployment->request->header;
    const json_t *latency = json_object_get(point, "latency_us");
    double p50 = number_at(latency, "p50"), p99 = number_at(latency, "p99");
    char text[SETTING_KEY_BYTES], half[POINT_HALF_BYTES];
    put_number(values, "point", integer_at(point, "id"));
    put_known(values, "layout_name", point, "layout");
    put_text(values, "workload", text_at(point, "workload"));
    text_number(number_at(point, "throughput_ips"), text, sizeof text);
    put_text(values, "throughput", text);
    put_text(values, "interval", point_half_width(point, half));
    size_t rounds = json_array_size(json_object_get(point, "rounds"));
    put_number(values, "rounds", (int64_t)rounds);
    put_flag(values, "one_round", rounds == 1);
    put_rate(values, point);
    put_text(values, "status", text_at(point, "status"));
    put_flag(values, "has_latency", !isnan(p50) && !isnan(p99));
    snprintf(text, sizeof text, "%.3f", p50 / 1e3);
    put_text(values, "p50", text);
    snprintf(text, sizeof text, "%.3f", p99 / 1e3);
    put_text(values, "p99", text);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const char *field = setting_key(&option_table[own[i]], text);
        put_text(values, field, text_at(point, field));
    }
    put_known(values, "gpu_name", json_object_get(header, "gpu"), "name");
    put_known(values, "driver", header, "driver");
    put_known(values, "machine", header, "host");
    put_known(values, "processors", header, "topology");
    put_known(values, "measured", header, "started");
}

/* -- all of it --------------------------------------------------------------------------------- */

/* The user who measured: daemon and clients must be the same one. */
static void put_user(json_t *values)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const struct passwd *user = getpwuid(geteuid());
    if (user && *user->pw_name && user->pw_name[strspn(user->pw_name, letters)] == '\0')
        put_text(values, "user", user->pw_name);
    else
        put_number(values, "user", geteuid());
}

/* What each client may have at most, of the daemon: "" without a limit. */
static void put_limits(json_t *values, const struct deployment *deployment)
{
    const int64_t *most = deployment->most;
    char text[32] = "";
    if (most[SHARE_PERCENTAGE] >= 0)
        snprintf(text, sizeof text, "%" PRId64, most[SHARE_PERCENTAGE]);
    put_text(values, "mps_percentage", text);
    text[0] = '\0';
    if (most[SHARE_MEMORY_MIB] >= 0)
        snprintf(text, sizeof text, "%" PRId64 "M", most[SHARE_MEMORY_MIB]);
    put_text(values, "mps_memory", text);
}

/* How long a start may take. */
static void put_start(json_t *values, const struct deployment *deployment)
{
    unsigned waits = deployment->mps + deployment->has_port;
    put_number(values, "start_s", deployment->start_s);
    put_number(values, "start_checks", (deployment->start_s + START_PERIOD_S - 1) / START_PERIOD_S);
    /* One wait after the other. */
    put_number(values, "start_limit_s", (waits > 1 ? waits : 1) * deployment->start_s + 10);
    put_number(values, "progress_s", deployment->start_s + PROGRESS_S);
    put_text(values, "ready", deployment->ready ? deployment->ready : "");
    double ready_s = number_at(deployment->request->point, "ready_s");
    char text[32] = "";
    /* Of a built-in workload it is not about this command. */
    if (ready_s > 0.0 && is_program(deployment))
        snprintf(text, sizeof text, "%.1f", ready_s);
    put_text(values, "ready_s", text);
}

/* What the reader has to know of the choice, and of what it was made from. */
static void put_notes(json_t *values, const struct emit_request *request)
{
    json_t *skipped = json_array();
    char shape[POINT_SHAPE_BYTES], number[32];
    for (size_t i = 0; i < request->skipped_count; i++) {
        const struct emit_skipped *one = &request->skipped[i];
        json_t *item = json_object();
        put_number(item, "point", integer_at(one->point, "id"));
        put_known(item, "layout_name", one->point, "layout");
        put_text(item, "shape", point_shape(one->point, shape));
        put_text(item, "throughput",
                 text_number(number_at(one->point, "throughput_ips"), number, sizeof number));
        put_text(item, "reason", one->reason);
        json_array_append_new(skipped, item);
    }
    json_object_set_new(values, "skipped", skipped);
    put_number(values, "skipped_more", (int64_t)request->skipped_more);
    json_object_set_new(values, "warnings", emit_warnings(request));
}

/* Processes outnumber the CPUs, or may: Slurm counts a task for a CPU at least, and would take no
 * such job. Then the job is one task with all CPUs, and only its step has more. */
static void put_cpus(json_t *values, const struct deployment *deployment)
{
    bool overcommitted = deployment->processes > deployment->cpus_all;
    put_flag(values, "cpus_unknown", deployment->cpus_unknown);
    put_number(values, "cpus_each", deployment->cpus_each);
    put_flag(values, "overcommitted", overcommitted);
    put_number(values, "tasks", overcommitted ? 1 : deployment->processes);
    put_number(values, "cpus_per_task",
               overcommitted ? deployment->cpus_all : deployment->cpus_each);
}

/* Whether its command takes the number of its threads. */
static bool uses_threads(const struct deployment *deployment)
{
    bool uses = false;
    for (size_t i = 0; deployment->command[i]; i++)
        uses |= placeholders_use(deployment->command[i], PLACEHOLDER_THREADS);
    return uses;
}

static json_t *make_values(const struct deployment *deployment)
{
    const struct emit_request *request = deployment->request;
    unsigned gpus = deployment->gpu_count;
    json_t *values = json_object();
    put_text(values, "package", PACKAGE_STRING);
    /* A file's name may be anything: it is for people, and quoted as plain text. */
    json_object_set_new(values, "results", json_string_nocheck(path_file_name(request->results)));
    put_text(values, "chosen", request->chosen);
    put_text(values, "format", request->format);
    put_text(values, "name", deployment->name);
    put_flag(values, "emulated", deployment->emulated);
    put_flag(values, "mps", deployment->mps);
    put_number(values, "processes", deployment->processes);
    put_flag(values, "one_process", deployment->processes == 1);
    put_number(values, "processes_each", deployment->processes / gpus); /* GPU */
    put_flag(values, "one_process_each", deployment->processes == gpus);
    put_number(values, "threads", deployment->threads);
    put_flag(values, "one_thread", deployment->threads == 1);
    put_number(values, "streams", deployment->streams);
    /* Those of a server are requests of its clients. */
    bool server = json_object_get(request->point, "requests") != NULL;
    put_flag(values, "several_streams", deployment->streams > 1 && !server);
    put_flag(values, "server", server);
    put_flag(values, "own_threads", !server || uses_threads(deployment));
    put_flag(values, "eager", !is_program(deployment));
    put_flag(values, "reports_itself", is_program(deployment) && !server &&
                                           !json_object_get(request->point, "observed"));
    put_flag(values, "own_cpus", !is_program(deployment) &&
                                     strcmp(text_at(request->point, "bind"), "none") != 0);
    put_number(values, "in_flight", deployment->threads * deployment->streams);
    put_flag(values, "one_in_flight", deployment->threads * deployment->streams == 1);
    put_number(values, "gpu_count", gpus);
    put_flag(values, "several_gpus", gpus > 1);
    json_object_set_new(values, "gpus", make_gpus(deployment, 0, gpus));
    put_number(values, "daemon_count", deployment->daemons);
    put_flag(values, "daemon_each", deployment->daemons > 1); /* GPU */
    put_flag(values, "daemon_for_all", deployment->daemons == 1 && gpus > 1);
    json_object_set_new(values, "daemons", make_daemons(deployment));
    /* Kubernetes allots one GPU to one container of a pod: the others follow it. */
    put_flag(values, "shares_gpu", deployment->mps || deployment->processes > gpus);
    put_text(values, "working_directory", deployment->working_directory);
    put_text(values, "image", deployment->image);
    put_flag(values, "has_image", request->image != NULL);
    put_flag(values, "has_port", deployment->has_port);
    put_start(values, deployment);
    put_notes(values, request);
    put_user(values);
    put_limits(values, deployment);
    put_cpus(values, deployment);
    put_command(values, deployment);
    put_record(values, deployment);
    json_object_set_new(values, "workers", make_workers(deployment));
    return values;
}

/* Kubernetes allots GPUs to pods and binds nothing: each GPU's pod is like that of the first, which
 * has every gpu_count-th process. */
static json_t *make_pod(const struct deployment *deployment)
{
    struct deployment_process processes[DEPLOYMENT_PROCESSES];
    struct deployment pod = *deployment;
    pod.processes = deployment->processes / deployment->gpu_count;
    pod.gpu_count = 1;
    pod.daemons = deployment->mps;
    pod.process = processes;
    for (unsigned p = 0; p < pod.processes; p++)
        processes[p] = deployment->process[p * deployment->gpu_count];
    return make_values(&pod);
}

json_t *emit_values(const struct deployment *deployment)
{
    json_t *values = make_values(deployment);
    put_number(values, "replicas", deployment->gpu_count);
    json_object_set_new(values, "pod", make_pod(deployment));
    return values;
}
