/* The records that begin and end a results file. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/digest.h"
#include "common/json.h"
#include "common/paths.h"
#include "common/shell_word.h"
#include "common/text.h"
#include "config.h"
#include "files/results_read.h"
#include "job/bodies.h"
#include "mps/settings.h"
#include "orchestrator/record/internal.h"
#include "orchestrator/results/point.h"
#include "orchestrator/plan/settings.h"

#define SETTINGS_NS (10 * NS_PER_S)

static json_t *options_object(const struct options *options)
{
    json_t *object = json_object();
    for (int i = 0; object && i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        const struct option_value *value = &options->values[i];
        if (!(row->commands & OPTION_SWEEP) || row->flags & OPTION_NOT_IN_JOB || value->count == 0)
            continue;
        json_t *items = json_array();
        for (size_t j = 0; j < value->count; j++)
            json_array_append_new(items, json_string(value->items[j].text));
        if (row->flags & OPTION_AXIS) {
            json_object_set_new(object, row->name, items);
        } else {
            json_object_set(object, row->name, json_array_get(items, 0));
            json_decref(items);
        }
    }
    return object;
}

/* What an external daemon gives its clients by default. */
static json_t *external_object(const struct session *session)
{
    struct mps_settings settings;
    const struct mps_control control = {.program = session->control_program,
                                        .pipe_directory = session->external_mps};
    json_t *object = json_pack("{s:o}", "pipe_directory", json_text(session->external_mps));
    if (mps_settings_read(&control, 1, clock_now_ns() + SETTINGS_NS, &settings) != STATUS_OK)
        return object;
    json_object_set_new(object, "active_thread_percentage",
                        json_real(settings.active_thread_percentage));
    json_object_set_new(object, "priority", json_integer(settings.priority));
    json_object_set_new(object, "memory_limit",
                        settings.memory_limits
                            ? json_integer((json_int_t)settings.memory_limit[0].bytes)
                            : json_null());
    return object;
}

static json_t *workload_object(const struct job *job)
{
    const struct options *options = &job->sections[0].options;
    if (!job->command)
        return json_pack("{s:s}", "name", options_text(options, OPTION_WORKLOAD));
    json_t *words = json_array();
    for (char *const *word = job->command; *word; word++)
        json_array_append_new(words, record_text(*word));
    return json_pack("{s:o, s:o}", "name", record_text(path_file_name(job->command[0])), "argv",
                     words);
}

/* Whether a word of a command line names what is run: a program, or the script that an interpreter
 * reads. Data that a program reads or writes is not part of it. */
static bool is_code(const char *path)
{
    static const char *const endings[] = {".py", ".pyz", ".sh", ".pl",  ".rb", ".lua",
                                          ".js", ".jl",  ".R",  ".jar", ".php"};
    struct stat info;
    if (stat(path, &info) != 0 || !S_ISREG(info.st_mode))
        return false;
    const char *ending = strrchr(path_file_name(path), '.');
    for (size_t i = 0; ending && i < sizeof endings / sizeof *endings; i++)
        if (strcmp(ending, endings[i]) == 0)
            return true;
    return access(path, X_OK) == 0;
}

static json_t *file_object(const char *path)
{
    struct stat info;
    uint64_t digest;
    char text[17] = "unreadable";
    if (digest_file(path, &digest) == STATUS_OK)
        snprintf(text, sizeof text, "%016" PRIx64, digest);
    return json_pack("{s:o, s:I, s:s}", "path", record_text(path), "bytes",
                     (json_int_t)(stat(path, &info) == 0 ? info.st_size : 0), "digest", text);
}

const char *record_command_file(char *const *command, size_t word, char found[PATH_MAX])
{
    if (word == 0)
        return child_find_program(command[0], found) == STATUS_OK ? found : NULL;
    return is_code(command[word]) ? command[word] : NULL;
}

static json_t *command_files(char *const *command)
{
    char found[PATH_MAX];
    json_t *files = json_array();
    for (size_t i = 0; command[i]; i++) {
        const char *path = record_command_file(command, i, found);
        if (path)
            json_array_append_new(files, file_object(path));
    }
    return files;
}

static json_t *bodies_object(const char *path)
{
    struct bodies bodies = {0};
    json_t *file = file_object(path);
    if (bodies_read(path, true, &bodies) == STATUS_OK)
        json_object_set_new(file, "bodies", json_integer((json_int_t)bodies.count));
    bodies_release(&bodies);
    return file;
}

static bool has_path(const json_t *files, const char *path)
{
    for (size_t i = 0; i < json_array_size(files); i++)
        if (strcmp(text_at(json_array_get(files, i), "path"), path) == 0)
            return true;
    return false;
}

/* The files that the requests of all sections come from, each once. */
static json_t *request_files(const struct job *job)
{
    static const enum option_id ids[] = {OPTION_BODY, OPTION_BODIES, OPTION_ARRIVALS};
    json_t *files = json_array();
    for (size_t i = 0; i < job->count; i++)
        for (size_t j = 0; j < sizeof ids / sizeof *ids; j++) {
            const char *path = options_text(&job->sections[i].options, ids[j]);
            if (path && !has_path(files, path))
                json_array_append_new(files, ids[j] == OPTION_BODIES ? bodies_object(path)
                                                                     : file_object(path));
        }
    return files;
}

enum status record_add_run(const struct session *session, const struct job *job,
                           const struct plan *plan, json_t *header)
{
    enum status status = record_add_machine(session, header);
    if (status != STATUS_OK)
        return status;
    json_t *workload = workload_object(job), *binding = json_object();
    json_t *sent = request_files(job);
    if (job->command)
        json_object_set_new(workload, "files", command_files(job->command));
    if (json_array_size(sent) > 0)
        json_object_set(workload, "request_files", sent);
    json_decref(sent);
    for (size_t i = 0; binding && i < plan->count; i++) {
        char text[2048];
        bind_describe(session->topology, plan->points[i].bind, text, sizeof text);
        json_object_set_new(binding, setting_word(OPTION_BIND, &plan->points[i]),
                            json_string(text));
    }
    return json_object_set_new(header, "workload", workload) == 0 &&
                   json_object_set_new(header, "binding", binding) == 0
               ? STATUS_OK
               : status_set(STATUS_MEMORY, "out of memory for the header");
}

static const char *section_name(const struct job_section *section)
{
    return section->name ? section->name : "sweep";
}

json_t *record_header(const struct session *session, const struct job *job, const char *job_path,
                      const struct plan *plan, bool resumed)
{
    char started[32];
    const struct options *options = &job->sections[0].options;
    clock_wall_iso8601(started);
    json_t *record = json_pack("{s:s, s:i, s:s, s:s}", "type", "header", "schema", RESULTS_SCHEMA,
                               "mpsweep", PACKAGE_VERSION, "started", started);
    if (!record || record_add_run(session, job, plan, record) != STATUS_OK) {
        json_decref(record);
        return NULL;
    }
    if (resumed)
        json_object_set_new(record, "resumed", json_true());
    if (job_path) {
        json_object_set_new(record, "job", json_text(path_file_name(job_path)));
        json_object_set_new(record, "job_path", json_text(job_path));
    }
    json_t *sections = json_object();
    for (size_t i = 0; i < job->count; i++)
        json_object_set_new(sections, section_name(&job->sections[i]),
                            options_object(&job->sections[i].options));
    json_object_set_new(record, "options", sections);
    record_add_workloads(record, job);
    if (*session->external_mps)
        json_object_set_new(record, "external_mps", external_object(session));
    json_object_set_new(record, "plan", json_integer((json_int_t)plan->count));
    json_object_set_new(record, "plan_id", json_string(plan->id));
    json_object_set_new(record, "seed", json_integer(options_integer(options, OPTION_SEED)));
    return record;
}

/* Whether the value of an option in a header is today's; a header lacks what was added later. */
static bool is_same_option(const json_t *given, const json_t *today, const struct option_row *row)
{
    if (given || !today)
        return today ? json_equal(given, today) : !given;
    const char *text = json_string_value(json_is_array(today) ? json_array_get(today, 0) : today);
    return row->initial && text && strcmp(text, row->initial) == 0 && json_array_size(today) <= 1;
}

static bool matters(const struct option_row *row)
{
    return row->flags & OPTION_HOW ||
           (row->setting.type != SETTING_NONE && !row->setting.incidental);
}

/* Quoted where a shell needs that. */
static void add_word(struct text *out, const char *separator, const char *word)
{
    struct text_stream quoted;
    char *text = NULL;
    if (text_stream_open(&quoted)) {
        shell_word_write(quoted.file, word ? word : "?");
        text = text_stream_close(&quoted);
    }
    text_append(out, "%s%s", separator, text ? text : "?");
    free(text);
}

/* As a command line has it: " --kernels 5,10". */
static void add_option(struct text *out, const struct option_row *row, const json_t *value)
{
    const char *only = json_is_string(value) ? json_string_value(value) : row->initial;
    if (row->kind == OPTION_KIND_SWITCH || (!only && !json_is_array(value))) {
        text_append(out, value ? " --%s" : " no --%s", row->name);
        return;
    }
    text_append(out, " --%s", row->name);
    if (!json_is_array(value))
        add_word(out, " ", only);
    for (size_t i = 0; i < json_array_size(value); i++)
        add_word(out, i ? "," : " ", json_string_value(json_array_get(value, i)));
}

/* Whether an option differs in the same way in the section before, which was added; notes it for
 * the next one. */
static bool was_added(json_t *added, const struct option_row *row, json_t *before, json_t *now)
{
    json_t *difference = json_pack("[O?, O?]", before, now);
    bool equal = json_equal(json_object_get(added, row->name), difference);
    json_object_set_new(added, row->name, difference);
    return equal;
}

/* Adds the options of a section that are not the same. added: those of other sections. True: there
 * are some. */
static bool differ_options(const json_t *given, const struct options *options, json_t *added,
                           struct text *was, struct text *is)
{
    json_t *today = options_object(options);
    bool differ = false;
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        json_t *before = json_object_get(given, row->name),
               *now = json_object_get(today, row->name);
        if (!matters(row) || is_same_option(before, now, row))
            continue;
        differ = true;
        if (was_added(added, row, before, now))
            continue;
        add_option(was, row, before);
        add_option(is, row, now);
    }
    json_decref(today);
    return differ;
}

static void add_command(struct text *out, const json_t *argv)
{
    text_append(out, argv ? " --" : " no program");
    for (size_t i = 0; i < json_array_size(argv); i++)
        add_word(out, " ", json_string_value(json_array_get(argv, i)));
}

bool record_options_differ(const json_t *header, const struct job *job, struct text *was,
                           struct text *is)
{
    const json_t *sections = json_object_get(header, "options");
    json_t *workload = workload_object(job), *added = json_object();
    const json_t *argv = json_object_get(workload, "argv");
    const json_t *given = json_object_get(json_object_get(header, "workload"), "argv");
    bool differ = false;
    for (size_t i = 0; i < job->count; i++) {
        const struct job_section *section = &job->sections[i];
        if (differ_options(json_object_get(sections, section_name(section)), &section->options,
                           added, was, is))
            differ = true;
    }
    json_decref(added);
    if (argv ? !json_equal(argv, given) : given != NULL) {
        add_command(was, given);
        add_command(is, argv);
        differ = true;
    }
    json_decref(workload);
    return differ;
}

bool record_header_is_of(const json_t *header, const struct job *job, const struct plan *plan)
{
    const char *id = text_at(header, "plan_id");
    char was[STATUS_TEXT_BYTES], is[STATUS_TEXT_BYTES];
    /* The first version's ids are digits alone, and cannot be made again. */
    if (!*id || strchr(id, ':'))
        return strcmp(id, plan->id) == 0;
    json_t *today = json_object();
    record_add_workloads(today, job);
    const json_t *workloads = json_object_get(today, "workloads");
    bool same = integer_at(header, "plan") == (json_int_t)plan->count &&
                json_object_size(json_object_get(header, "options")) == job->count &&
                (!workloads || json_equal(workloads, json_object_get(header, "workloads"))) &&
                !record_options_differ(header, job, &(struct text){.at = was, .size = sizeof was},
                                       &(struct text){.at = is, .size = sizeof is});
    json_decref(today);
    return same;
}

json_t *record_footer(int exit_status, const char *what, const json_t *records, const char *field,
                      double seconds)
{
    json_t *counts = json_object();
    for (size_t i = 0; counts && i < json_array_size(records); i++) {
        const char *value = text_at(json_array_get(records, i), field);
        json_int_t count = integer_at(counts, value);
        json_object_set_new(counts, value, json_integer(count + 1));
    }
    return json_pack("{s:s, s:i, s:o, s:f}", "type", "footer", "status", exit_status, what, counts,
                     "seconds", seconds);
}
