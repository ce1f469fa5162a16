/* A point in words: its label, and the command line that measures it again. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/shell_word.h"
#include "common/text.h"
#include "orchestrator/plan/point.h"
#include "orchestrator/plan/settings.h"
#include "orchestrator/report/internal.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/settings.h"

const char *report_label(const json_t *point, char out[REPORT_LABEL])
{
    struct settings_point read;
    if (settings_read(point, &read) == STATUS_OK)
        point_describe(&read.point, out, REPORT_LABEL);
    else
        point_name(point, out);
    return out;
}

static void write_option(FILE *out, const char *name, const char *value)
{
    fprintf(out, " --%s ", name);
    shell_word_write(out, value);
}

/* A record lacks some settings: the point then has a value without a meaning. options: of its
 * section; where they have several values, the job file may. */
static bool is_known(const struct option_row *row, const json_t *record, const json_t *options,
                     const struct point *point)
{
    char key[SETTING_KEY_BYTES];
    bool one = json_array_size(json_object_get(options, row->name)) < 2;
    if (row->setting.type == SETTING_LAYOUT)
        return true;
    if (!setting_applies(row, point) || (one && setting_is_initial(row, point)))
        return false;
    return row->id == OPTION_ARRIVAL || json_object_get(record, setting_key(row, key));
}

static void write_settings(FILE *out, const json_t *record, const json_t *options,
                           const struct point *point)
{
    char words[SETTING_TEXT_BYTES];
    for (const struct option_row *row = NULL; (row = setting_next(row));)
        if (is_known(row, record, options, point))
            write_option(out, row->name, setting_words(row, point, words));
}

/* The options of the section that the point is of. */
static const json_t *options_of(const json_t *header, const json_t *point)
{
    json_t *sections = json_object_get(header, "options");
    const json_t *options = json_object_get(sections, text_at(point, "section"));
    return options ? options : json_object_iter_value(json_object_iter(sections));
}

/* Whether it stands in the header alone: how points are measured, what a server is asked. */
static bool is_of_header(const struct option_row *row, const struct point *point)
{
    bool nowhere = row->setting.recorded & PLACE_NOWHERE && !(row->flags & OPTION_AXIS);
    if (row->id == OPTION_SERVER)
        return point_is_server(point);
    return row->flags & OPTION_HOW || row->id == OPTION_TIMEOUT ||
           (nowhere && row->id != OPTION_PROGRAM_LOG && setting_applies(row, point));
}

/* The job file that describes the point's workload; NULL: it is not known, or other sections of it
 * would be measured, too. */
static const char *job_of(const json_t *header)
{
    bool one = json_object_size(json_object_get(header, "options")) == 1;
    return one && !json_object_get(header, "merged") ? origin_job_path(header) : NULL;
}

/* How it was measured, where that is not the default. */
static void write_manner(FILE *out, const json_t *options, const struct point *point)
{
    for (int i = 0; i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        const char *value = text_at(options, row->name);
        if (!(row->commands & OPTION_SWEEP) || !is_of_header(row, point) || !*value ||
            (row->initial && strcmp(value, row->initial) == 0))
            continue;
        if (row->kind == OPTION_KIND_SWITCH)
            fprintf(out, " --%s", row->name);
        else
            write_option(out, row->name, value);
    }
}

/* What a record does not hold of a program: that it is a server, which has a request. */
static void set_program(const json_t *options, struct point *point)
{
    const char *request = text_at(options, "request");
    point->workload = option_table[OPTION_WORKLOAD].initial;
    if (strcmp(text_at(options, "server"), "yes") == 0 && *request)
        point->program.requests.request = request;
}

/* A rate that a tuning found is offered again, as tune prints it; only a sweep searches again. */
static void set_found_rate(const json_t *record, struct point *point)
{
    double found_ips = number_at(json_object_get(record, "rate"), "offered_ips");
    if (!json_object_get(record, "tune") || !point->goal.permille || !(found_ips > 0.0))
        return;
    point->goal = (struct rate_goal){0};
    point->work.rate_units = (uint64_t)llround(found_ips * RATE_UNITS);
}

/* False: a word of it is not known. */
static bool write_program(FILE *out, const json_t *header)
{
    const json_t *word, *words = json_object_get(json_object_get(header, "workload"), "argv");
    size_t index;
    fputs(" --", out);
    json_array_foreach(words, index, word)
    {
        if (!json_is_string(word))
            return false;
        fputc(' ', out);
        shell_word_write(out, json_string_value(word));
    }
    return json_array_size(words) > 0;
}

char *report_command_of(const struct report_file *file, const json_t *point)
{
    struct settings_point read;
    struct text_stream out;
    const json_t *header = file->results.header, *options = options_of(header, point);
    if (settings_read(point, &read) != STATUS_OK)
        return NULL;
    bool whole = true, described = read.point.work.workload == WORKLOAD_DESCRIBED;
    const char *job = described ? job_of(header) : NULL;
    if ((described && !job) || !text_stream_open(&out))
        return NULL;
    fputs("mpsweep sweep", out.file);
    if (job) {
        fputc(' ', out.file);
        shell_word_write(out.file, job);
    }
    if (origin_is_emulated(header))
        write_option(out.file, "device", "emulated");
    bool program = read.point.work.workload == WORKLOAD_PROGRAM;
    if (program)
        set_program(options, &read.point);
    set_found_rate(point, &read.point);
    write_settings(out.file, point, job ? options : NULL, &read.point);
    write_manner(out.file, options, &read.point);
    if (program)
        whole = write_program(out.file, header);
    char *text = text_stream_close(&out);
    if (whole)
        return text;
    free(text);
    return NULL;
}
