/* The command that measures a results file anew, with rounds enough for a verdict. */
#include <ctype.h>
#include <limits.h>
#include <string.h>

#include "common/shell_word.h"
#include "common/text.h"
#include "job/options.h"
#include "orchestrator/compare/comparison.h"
#include "orchestrator/results/origin.h"

/* Writes words with a mark between them. False: one of them is not a text. */
static bool print_words(FILE *out, const json_t *words, const char *mark)
{
    size_t index;
    const json_t *word;
    bool valid = true;
    json_array_foreach(words, index, word)
    {
        valid = valid && json_is_string(word);
        fputs(index > 0 ? mark : "", out);
        shell_word_write(out, valid ? json_string_value(word) : "");
    }
    return valid;
}

/* The values that an option has in all sections, of which each has an array or a text; NULL: they
 * differ, so that they stand in the job file. */
static json_t *values_of(json_t *sections, const struct option_row *row)
{
    const char *name;
    json_t *options;
    json_t *value = NULL;
    json_object_foreach(sections, name, options)
    {
        json_t *here = json_object_get(options, row->name);
        if (value && !json_equal(value, here))
            return NULL;
        value = here;
    }
    return json_is_array(value) ? json_incref(value) : json_pack("[O*]", value);
}

/* Writes an option with its values, unless it has none or its default. False as above. */
static bool print_option(FILE *out, const struct option_row *row,
                         const struct option_value *initial, const json_t *values)
{
    const char *only =
        json_array_size(values) == 1 ? json_string_value(json_array_get(values, 0)) : NULL;
    bool is_default = json_array_size(values) == 0 ||
                      (only && initial->count == 1 && strcmp(only, initial->items[0].text) == 0);
    if (is_default)
        return true;
    fprintf(out, " --%s", row->name);
    if (row->kind == OPTION_KIND_SWITCH)
        return true;
    fputc(' ', out);
    return print_words(out, values, ",");
}

static bool print_options(FILE *out, json_t *sections, const struct options *defaults)
{
    bool valid = json_object_size(sections) > 0;
    for (int i = 0; valid && i < OPTION_COUNT; i++) {
        const struct option_row *row = &option_table[i];
        if (!(row->commands & OPTION_SWEEP) || row->flags & OPTION_NOT_IN_JOB ||
            row->id == OPTION_ROUNDS)
            continue;
        json_t *values = values_of(sections, row);
        valid = print_option(out, row, &defaults->values[i], values);
        json_decref(values);
    }
    return valid;
}

/* The bytes of a name before "-5-rounds" of an earlier repetition. */
static size_t bare_length(const char *name, size_t length)
{
    static const char mark[] = "-rounds";
    size_t bytes = sizeof mark - 1, at = length - bytes;
    if (length <= bytes || strncmp(name + at, mark, bytes) != 0)
        return length;
    while (at > 0 && isdigit((unsigned char)name[at - 1]))
        at--;
    return at > 1 && at < length - bytes && name[at - 1] == '-' ? at - 1 : length;
}

/* r.jsonl becomes r-5-rounds.jsonl. */
static void print_name(FILE *out, const char *path, unsigned rounds)
{
    static const char ending[] = ".jsonl";
    char name[PATH_MAX];
    size_t length = strlen(path), end = sizeof ending - 1;
    bool has_ending = length > end && strcmp(path + length - end, ending) == 0;
    snprintf(name, sizeof name, "%.*s-%u-rounds%s",
             (int)bare_length(path, has_ending ? length - end : length), path, rounds, ending);
    shell_word_write(out, name);
}

/* Whether no device was named and there was no driver, so that it was the emulated one. */
static bool fell_back(const json_t *header, json_t *sections)
{
    json_t *devices = values_of(sections, &option_table[OPTION_DEVICE]);
    bool named = json_array_size(devices) > 0;
    json_decref(devices);
    return !named && origin_is_emulated(header);
}

char *comparison_again(const char *path, const struct results *results, unsigned rounds)
{
    struct text_stream out;
    struct options defaults = {0};
    const char *job = origin_job_path(results->header);
    const json_t *program = json_object_get(json_object_get(results->header, "workload"), "argv");
    bool is_sweep = !results_are_of_tune(results) && !json_object_get(results->header, "merged");
    if (!is_sweep || options_init(&defaults) != STATUS_OK || !text_stream_open(&out)) {
        options_release(&defaults);
        return NULL;
    }
    fputs("mpsweep sweep", out.file);
    if (job) {
        fputc(' ', out.file);
        shell_word_write(out.file, job);
    }
    json_t *sections = json_object_get(results->header, "options");
    if (fell_back(results->header, sections))
        fputs(" --device emulated", out.file);
    bool valid = print_options(out.file, sections, &defaults);
    options_release(&defaults);
    fprintf(out.file, " --rounds %u -o ", rounds);
    print_name(out.file, path, rounds);
    if (json_array_size(program) > 0) {
        fputs(" -- ", out.file);
        valid = print_words(out.file, program, " ") && valid;
    }
    char *text = text_stream_close(&out);
    if (!valid) {
        free(text);
        text = NULL;
    }
    return text;
}
