/* Reads the state of a run's shards from its files. */
#include <stdlib.h>
#include <string.h>

#include "files/results_record.h"
#include "common/text.h"
#include "orchestrator/results/number_ranges.h"
#include "orchestrator/results/point.h"
#include "orchestrator/slurm/internal.h"

/* Of the end of a log: enough for its last error. */
#define LOG_BYTES 65536
#define PLAN_MOST 10000000

enum { POINT_NONE, POINT_DONE, POINT_FAILED };

/* What is read of results as it comes. */
struct reading {
    struct slurm_shard *shard;
    unsigned char *seen; /* of each point of the plan: POINT_... of its last record */
    size_t plan;
};

static void copy_text(char *out, size_t size, const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    if (text)
        text_printable(text, strlen(text), out, size);
}

static enum status take_header(struct reading *reading, const json_t *header)
{
    struct slurm_shard *shard = reading->shard;
    json_int_t plan = integer_at(header, "plan");
    copy_text(shard->node, sizeof shard->node, header, "host");
    copy_text(shard->node, sizeof shard->node, header, "slurm_node");
    copy_text(shard->plan_id, sizeof shard->plan_id, header, "plan_id");
    if (reading->seen || plan <= 0 || plan > PLAN_MOST)
        return STATUS_OK;
    reading->seen = calloc((size_t)plan, 1);
    if (!reading->seen)
        return status_set(STATUS_MEMORY, "out of memory for %lld points", (long long)plan);
    reading->plan = (size_t)plan;
    const json_t *part = json_object_get(header, "shard");
    const char *own = json_string_value(json_object_get(part, "points"));
    if (!own || !number_ranges_read(own, reading->plan, NULL, &shard->points))
        shard->points = reading->plan;
    return STATUS_OK;
}

static void take_point(struct reading *reading, const json_t *point)
{
    json_int_t id = integer_at(point, "id");
    const char *word = json_string_value(json_object_get(point, "status"));
    if (!word || id < 0 || (size_t)id >= reading->plan)
        return;
    bool done = point_status_is_measured(word) || strcmp(word, "infeasible") == 0;
    done &= !json_object_get(point, "rounds_left");
    reading->seen[id] = done ? POINT_DONE : strcmp(word, "failed") == 0 ? POINT_FAILED : POINT_NONE;
}

static bool is_needed(const char *key)
{
    return strcmp(key, "status") == 0 || strcmp(key, "rounds_left") == 0;
}

static enum status take_line(struct reading *reading, const struct results_line *line, bool first)
{
    static const char *const known[] = {NULL};
    json_t *record = results_record(line, is_needed, known, NULL);
    const char *type = json_string_value(json_object_get(record, "type"));
    enum status status = STATUS_OK;
    if (!type || (first && strcmp(type, "header") != 0))
        status = status_set(STATUS_USAGE, "the line at byte %llu is not a record of results",
                            (unsigned long long)line->offset);
    else if (strcmp(type, "header") == 0)
        status = take_header(reading, record);
    else if (strcmp(type, "point") == 0)
        take_point(reading, record);
    json_decref(record);
    return status;
}

/* The last line may be cut: it is being written, or its writer was killed. */
static enum status read_results(struct reading *reading, struct results_lines *lines)
{
    for (bool first = true;; first = false) {
        struct results_line line;
        enum results_line_kind kind;
        enum status status = results_lines_next(lines, &line, &kind);
        if (status == STATUS_OK && kind != RESULTS_LINE_WHOLE)
            return STATUS_OK;
        if (status == STATUS_OK)
            status = take_line(reading, &line, first);
        if (status != STATUS_OK)
            return status;
    }
}

static enum status look_into_results(struct slurm_shard *shard)
{
    struct reading reading = {.shard = shard};
    struct results_lines lines = RESULTS_LINES_NONE;
    enum status status = results_lines_open(shard->path, &lines);
    if (status == STATUS_NOT_FOUND) {
        shard->path[0] = '\0';
        return STATUS_OK;
    }
    if (status == STATUS_OK)
        status = read_results(&reading, &lines);
    results_lines_close(&lines);
    for (size_t i = 0; i < reading.plan; i++) {
        shard->done += reading.seen[i] == POINT_DONE;
        shard->failed += reading.seen[i] == POINT_FAILED;
    }
    free(reading.seen);
    if (status == STATUS_OK || status == STATUS_MEMORY)
        return status;
    snprintf(shard->broken, sizeof shard->broken, "'%.200s': %.250s", shard->path, status_text());
    return STATUS_OK;
}

/* Finds the error in a line, NULL: none. The batch script's first line begins a new start, of which
 * a log may have several. */
static const char *error_in(const char *line, bool *begins)
{
    *begins = strncmp(line, "shard ", 6) == 0;
    if (strncmp(line, "mpsweep: ", 9) == 0)
        return line + 9;
    return strstr(line, "error: ") || strstr(line, "slurm_script: ") ? line : NULL;
}

/* How much an error counts. The reason of an interrupt counts more than the interrupt, and that
 * more than what Slurm writes while it ends the rest. */
static unsigned rank_of(const char *text, bool ours)
{
    if (ours)
        return strncmp(text, "interrupted", 11) == 0 ? 2 : 3;
    return strstr(text, "DUE TO") ? 3 : 1;
}

/* Finds the last of the errors that count most, of mpsweep, the batch script and Slurm. */
static void look_into_log(const struct slurm_run *run, unsigned index, struct slurm_shard *shard)
{
    char path[PATH_MAX], *line = NULL;
    size_t size = 0;
    ssize_t length;
    unsigned most = 0;
    if (slurm_run_path(run, path, "log/shard-%u.log", index) != STATUS_OK)
        return;
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (fseek(file, -LOG_BYTES, SEEK_END) != 0)
        rewind(file);
    while ((length = getline(&line, &size, file)) > 0) {
        bool begins;
        const char *text = error_in(line, &begins);
        unsigned rank = text ? rank_of(text, text != line) : 0;
        if (begins)
            most = 0;
        if (rank == 0 || rank < most)
            continue;
        most = rank;
        length -= text - line + (line[length - 1] == '\n');
        text_printable(text, (size_t)length, shard->error, sizeof shard->error);
    }
    if (most == 0)
        shard->error[0] = '\0';
    free(line);
    fclose(file);
}

static enum status look_at_shard(const struct slurm_run *run, unsigned index,
                                 struct slurm_shard *out)
{
    struct slurm_shard shard = {.same_as = SLURM_NO_SHARD};
    enum status status = slurm_run_path(run, shard.path, "shard-%u.jsonl", index);
    if (status == STATUS_OK)
        status = look_into_results(&shard);
    if (status != STATUS_OK)
        return status;
    shard.published = shard.path[0] != '\0';
    if (!shard.published) {
        status = slurm_run_path(run, shard.path, "shard-%u.jsonl.part", index);
        if (status == STATUS_OK)
            status = look_into_results(&shard);
    }
    look_into_log(run, index, &shard);
    *out = shard;
    return status;
}

/* Marks results of another plan than most shards have. */
static void compare_plans(const struct slurm_run *run, struct slurm_shard *shards)
{
    const char *plan_id = "";
    size_t most = 0;
    for (unsigned i = 0; i < run->shards; i++) {
        size_t votes = 0;
        if (!shards[i].plan_id[0] || strcmp(shards[i].plan_id, plan_id) == 0)
            continue;
        for (unsigned j = 0; j < run->shards; j++)
            votes += strcmp(shards[i].plan_id, shards[j].plan_id) == 0;
        if (votes > most) {
            most = votes;
            plan_id = shards[i].plan_id;
        }
    }
    const char *submitted = json_string_value(json_object_get(run->manifest, "plan_id"));
    /* One each: then the submitted plan counts. */
    for (unsigned i = 0; submitted && most == 1 && i < run->shards; i++)
        if (strcmp(shards[i].plan_id, submitted) == 0)
            plan_id = submitted;
    for (unsigned i = 0; i < run->shards; i++)
        if (shards[i].plan_id[0] && strcmp(shards[i].plan_id, plan_id) != 0 && !shards[i].broken[0])
            snprintf(shards[i].broken, sizeof shards[i].broken,
                     "'%.300s' has another plan (%s) than the other shards (%s): move it away",
                     shards[i].path, shards[i].plan_id, plan_id);
}

/* Of the results of one node, all but the first are in the place of another node's. */
static void compare_nodes(const struct slurm_run *run, struct slurm_shard *shards)
{
    for (unsigned i = 0; run->fleet && i < run->shards; i++) {
        bool known = shards[i].node[0] && shards[i].done + shards[i].failed > 0;
        for (unsigned j = 0; known && j < i && shards[i].same_as == SLURM_NO_SHARD; j++)
            if (shards[j].done + shards[j].failed > 0 &&
                strcmp(shards[i].node, shards[j].node) == 0)
                shards[i].same_as = j;
    }
}

enum status slurm_shards_look(const struct slurm_run *run, struct slurm_shard **out)
{
    struct slurm_shard *shards = calloc(run->shards, sizeof *shards);
    if (!shards)
        return status_set(STATUS_MEMORY, "out of memory for %u shards", run->shards);
    enum status status = STATUS_OK;
    for (unsigned i = 0; i < run->shards && status == STATUS_OK; i++)
        status = look_at_shard(run, i, &shards[i]);
    if (status != STATUS_OK) {
        free(shards);
        return status;
    }
    compare_plans(run, shards);
    compare_nodes(run, shards);
    *out = shards;
    return STATUS_OK;
}
