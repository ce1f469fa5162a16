/* The jobs of a run. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/shell_word.h"
#include "common/text.h"
#include "orchestrator/slurm/internal.h"

#define WORDS_MOST 256
/* Of them mpsweep's own, at most. */
#define WORDS_OWN 12

/* A command line, as sbatch gets it. */
struct line {
    const char *words[WORDS_MOST];
    size_t count;
    char array[8192], directory[PATH_MAX + 16], output[PATH_MAX + 32], dependency[1024];
    char script[PATH_MAX];
};

static void add_word(struct line *line, const char *word)
{
    if (line->count + 1 < WORDS_MOST)
        line->words[line->count++] = word;
}

static void add_users(struct line *line, const struct slurm_run *run)
{
    const json_t *words = json_object_get(run->manifest, "sbatch");
    for (size_t i = 0; i < json_array_size(words); i++)
        add_word(line, json_string_value(json_array_get(words, i)));
}

/* 'submit --again' adds words to those of the manifest. */
static enum status check_word_count(const struct slurm_run *run)
{
    size_t count = json_array_size(json_object_get(run->manifest, "sbatch"));
    if (count <= WORDS_MOST - WORDS_OWN)
        return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "%zu words of options for sbatch are more than %d: put them into "
                      "variables that sbatch reads (SBATCH_...), or leave some out of "
                      "'%.500s/run.json'",
                      count, WORDS_MOST - WORDS_OWN, run->directory);
}

/* Writes "0-3,7": the wanted shards. */
static void print_shards(const struct slurm_run *run, slurm_wanted wanted, char *out, size_t size)
{
    struct text text = {.at = out, .size = size};
    out[0] = '\0';
    for (unsigned i = 0; i < run->shards; i++) {
        unsigned first = i;
        if (wanted && !wanted[i])
            continue;
        while (i + 1 < run->shards && (!wanted || wanted[i + 1]))
            i++;
        text_append(&text, first == i ? "%s%u" : "%s%u-%u", text.length ? "," : "", first, i);
    }
}

static enum status make_array_line(struct line *line, const struct slurm_run *run,
                                   slurm_wanted wanted)
{
    const char *from = json_string_value(json_object_get(run->manifest, "directory"));
    char shards[8000];
    enum status status = check_word_count(run);
    if (status != STATUS_OK)
        return status;
    print_shards(run, wanted, shards, sizeof shards);
    if (strlen(shards) + 1 >= sizeof shards)
        return status_set(STATUS_UNSUPPORTED,
                          "too many single shards for one array: submit some of "
                          "them by hand");
    *line = (struct line){0};
    snprintf(line->array, sizeof line->array, "--array=%s", shards);
    snprintf(line->directory, sizeof line->directory, "--chdir=%s", from ? from : "/");
    snprintf(line->output, sizeof line->output, "--output=%s/log/shard-%%a.log", run->directory);
    add_word(line, "sbatch");
    add_word(line, "--parsable");
    add_word(line, line->array);
    add_word(line, line->directory);
    add_word(line, line->output);
    add_users(line, run);
    add_word(line, line->script);
    return slurm_run_path(run, line->script, "shard.sbatch");
}

/* Has the same options, for partition and account, but needs no GPU. */
static enum status make_merge_line(struct line *line, const struct slurm_run *run,
                                   const char *array, const char *after)
{
    *line = (struct line){0};
    snprintf(line->directory, sizeof line->directory, "--chdir=%s", run->directory);
    snprintf(line->output, sizeof line->output, "--output=%s/log/merge.log", run->directory);
    snprintf(line->dependency, sizeof line->dependency, "--dependency=afterany:%s%s", array,
             after ? after : "");
    add_word(line, "sbatch");
    add_word(line, "--parsable");
    add_users(line, run);
    add_word(line, line->dependency);
    add_word(line, "--gres=none");
    add_word(line, line->directory);
    add_word(line, line->output);
    add_word(line, line->script);
    return slurm_run_path(run, line->script, "merge.sbatch");
}

static void print_line(const struct line *line)
{
    for (size_t i = 0; i < line->count; i++) {
        if (i > 0)
            putchar(' ');
        shell_word_write(stdout, line->words[i]);
    }
    putchar('\n');
}

enum status slurm_submit_print(const struct slurm_run *run, slurm_wanted wanted, const char *after)
{
    struct line line;
    enum status status = make_array_line(&line, run, wanted);
    if (status != STATUS_OK)
        return status;
    print_line(&line);
    status = make_merge_line(&line, run, "ARRAY", after);
    if (status == STATUS_OK)
        print_line(&line);
    return status;
}

static json_t *submission_new(const struct line *array, const char *id, const char *cluster)
{
    char when[32];
    clock_wall_iso8601(when);
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "time", when, "array", id, "cluster", cluster,
                     "shards", array->array + strlen("--array="), "merge", "");
}

enum status slurm_submit_shards(struct slurm_run *run, slurm_wanted wanted, const char *after)
{
    struct line line;
    char id[32], cluster[64], merge[32] = "", other[64], hint[SLURM_HINT_BYTES];
    enum status status = make_array_line(&line, run, wanted);
    if (status == STATUS_OK)
        status = slurm_sbatch(line.words, id, cluster);
    if (status != STATUS_OK)
        return status;
    json_t *submission = submission_new(&line, id, cluster);
    if (json_array_append_new(slurm_run_submissions(run), submission) != 0)
        return status_set(STATUS_MEMORY,
                          "out of memory: job %s is submitted, and is not in run.json", id);
    status = slurm_run_save(run);
    if (status != STATUS_OK)
        return status_prefix(status, "job %s is submitted, but: ", id);
    status = make_merge_line(&line, run, id, after);
    if (status == STATUS_OK)
        status = slurm_sbatch(line.words, merge, other);
    if (status != STATUS_OK)
        return status_prefix(status,
                             "job %s is submitted; merge it by hand with 'mpsweep slurm "
                             "collect', since: ",
                             id);
    json_object_set_new(submission, "merge", json_string(merge));
    status = slurm_run_save(run);
    if (status != STATUS_OK)
        return status_prefix(status, "jobs %s and %s are submitted, but: ", id, merge);
    printf("job %s measures shards %s of %u, job %s merges them after that\n"
           "see how far it is: %s\n",
           id, json_string_value(json_object_get(submission, "shards")), run->shards, merge,
           slurm_hint(run->directory, "status", hint));
    return STATUS_OK;
}

/* Writes ":ID:ID" of the arrays that have not ended. */
static void arrays_at_work(const struct slurm_run *run, const struct slurm_job *jobs, size_t count,
                           char *out, size_t size)
{
    const json_t *submissions = slurm_run_submissions(run);
    struct text text = {.at = out, .size = size};
    out[0] = '\0';
    for (size_t i = 0; i < json_array_size(submissions); i++) {
        const char *id =
            json_string_value(json_object_get(json_array_get(submissions, i), "array"));
        for (size_t j = 0; id && j < count; j++) {
            if (strcmp(jobs[j].id, id) != 0 || !slurm_job_is_active(&jobs[j]))
                continue;
            text_append(&text, ":%s", id);
            break;
        }
    }
}

static enum status add_options(struct slurm_run *run, char *const *more)
{
    json_t *words = json_object_get(run->manifest, "sbatch");
    for (char *const *word = more; *word; word++)
        if (json_array_append_new(words, json_string(*word)) != 0)
            return status_set(STATUS_MEMORY, "out of memory for the options of sbatch");
    return STATUS_OK;
}

static enum status submit_wanted(struct slurm_run *run, bool *wanted, bool dry_run)
{
    struct slurm_job *jobs = NULL;
    struct slurm_shard *shards = NULL;
    size_t count = 0, left = 0, at_work = 0, finished = 0;
    char after[900];
    /* Without an answer two tasks might measure the same. */
    enum status status = slurm_queue(run, &jobs, &count);
    if (status == STATUS_OK)
        status = slurm_shards_look(run, &shards);
    for (unsigned i = 0; i < run->shards && status == STATUS_OK; i++) {
        const struct slurm_job *job = slurm_job_of(run, jobs, count, i);
        bool busy = job && slurm_job_is_active(job);
        wanted[i] = !shards[i].published && !busy;
        at_work += !shards[i].published && busy;
        left += wanted[i];
        finished += shards[i].published && !shards[i].broken[0];
        if (shards[i].published && shards[i].broken[0])
            fprintf(stderr, "mpsweep: shard %u is not submitted: %s\n", i, shards[i].broken);
    }
    arrays_at_work(run, jobs, count, after, sizeof after);
    free(jobs);
    free(shards);
    if (status != STATUS_OK)
        return status;
    if (left == 0) {
        printf("there is nothing to submit: %zu shards are finished, %zu run or wait\n", finished,
               at_work);
        return STATUS_OK;
    }
    return dry_run ? slurm_submit_print(run, wanted, after)
                   : slurm_submit_shards(run, wanted, after);
}

enum status slurm_submit_again(const char *directory, char *const *more, bool dry_run)
{
    struct slurm_run run;
    int lock = -1;
    enum status status = slurm_run_load(directory, &run);
    if (status != STATUS_OK)
        return status;
    if (!dry_run) {
        status = slurm_run_lock(&run, &lock);
        slurm_run_release(&run);
        /* Once more: another mpsweep may have submitted in between. */
        if (status == STATUS_OK && (status = slurm_run_load(directory, &run)) != STATUS_OK &&
            lock >= 0)
            close(lock);
        if (status != STATUS_OK)
            return status;
    }
    bool *wanted = calloc(run.shards, sizeof *wanted);
    status = wanted ? add_options(&run, more) : status_set(STATUS_MEMORY, "out of memory");
    if (status == STATUS_OK)
        status = submit_wanted(&run, wanted, dry_run);
    if (lock >= 0)
        close(lock);
    free(wanted);
    slurm_run_release(&run);
    return status;
}
