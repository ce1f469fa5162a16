#include "orchestrator/report/report.h"

#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "files/atomic_file.h"
#include "files/file_name.h"
#include "orchestrator/console/report.h"
#include "orchestrator/emit/choose.h"
#include "orchestrator/explain/set.h"
#include "orchestrator/report/internal.h"

/* Gives each point its explanation, or the file the reason why there is none. Nothing is measured
 * for it. */
static enum status explain(struct report_file *file)
{
    json_t *all = NULL, *one;
    size_t index;
    enum status status = explain_results_json(&file->results, file->path, &all);
    if (status != STATUS_OK && status != STATUS_USAGE)
        return status;
    file->unexplained = strdup(status == STATUS_OK ? "" : status_text());
    file->explained = json_object();
    json_array_foreach(all, index, one)
    {
        char id[32];
        snprintf(id, sizeof id, "%" JSON_INTEGER_FORMAT, integer_at(one, "id"));
        json_object_set(file->explained, id, one);
    }
    json_decref(all);
    return file->unexplained && file->explained
               ? STATUS_OK
               : status_set(STATUS_MEMORY, "out of memory for '%s'", file->path);
}

/* As 'mpsweep emit' chooses, which takes a point that is not precise only where it is named. */
static enum status choose(struct report_file *file)
{
    static const struct emit_rules rules = {.point = -1, .no_advice = true, .or_unconverged = true};
    enum status status = emit_choose(&file->results, file->path, &rules, &file->choice);
    if (status != STATUS_OK && status != STATUS_USAGE)
        return status;
    file->best = file->choice.point;
    file->why = strdup(status == STATUS_OK ? file->choice.why : status_text());
    return file->why ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory for '%s'", file->path);
}

static enum status load(const char *path, size_t number, struct report_file *out)
{
    *out = (struct report_file){.path = path, .number = number};
    enum status status = results_load(path, NULL, &out->results);
    if (status != STATUS_OK)
        return status;
    results_make_displayable(&out->results);
    if (json_array_size(out->results.points) + json_array_size(out->results.probes) == 0)
        return status_set(STATUS_USAGE,
                          "'%s' holds no points to report: measure some with "
                          "'mpsweep sweep -o FILE.jsonl'",
                          path);
    status = explain(out);
    return status == STATUS_OK ? choose(out) : status;
}

static void release(struct report_file *file)
{
    json_decref(file->explained);
    free(file->unexplained);
    free(file->why);
    results_release(&file->results);
}

static enum status write_page(const char *output, const struct report_file *files, size_t count)
{
    struct atomic_file page;
    enum status status = atomic_file_open(output, ATOMIC_FILE_REPLACE, &page);
    if (status != STATUS_OK)
        return status;
    return atomic_file_end(&page, report_write_page(page.stream, files, count));
}

int report_command(const struct invocation *invocation)
{
    const char *output = options_text(invocation->options, OPTION_OUTPUT);
    size_t count = invocation->operand_count, loaded = 0;
    struct report_file *files = calloc(count, sizeof *files);
    enum status status = files ? file_name_check(output, "a report", ".html")
                               : status_set(STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK)
        status = atomic_file_check(output, ATOMIC_FILE_REPLACE);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = file_name_refuse_input(output, invocation->operands[i]);
    while (status == STATUS_OK && loaded < count) {
        status = load(invocation->operands[loaded], loaded, &files[loaded]);
        loaded++;
    }
    if (status == STATUS_OK)
        status = write_page(output, files, count);
    int result = report(status);
    for (size_t i = 0; i < loaded; i++)
        release(&files[i]);
    free(files);
    return result;
}
