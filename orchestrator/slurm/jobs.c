/* The jobs of a run. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/shell_word.h"
#include "common/text.h"
#include "orchestrator/results/number_ranges.h"
#include "orchestrator/slurm/internal.h"

/* Words of the user's for sbatch, and bytes of the text of an array's shards. */
#define WORDS_MOST 244
#define SHARDS_MOST 7999

/* 'submit --again' adds words to those of the manifest. */
static enum status check_word_count(const struct slurm_run *run)
{
    size_t count = json_array_size(json_object_get(run->manifest, "sbatch"));
    if (count <= WORDS_MOST)
        return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "%zu words of options for sbatch are more than %d: put them into "
                      "variables that sbatch reads (SBATCH_...), or leave some out of "
                      "'%.500s/run.json'",
                      count, WORDS_MOST, run->directory);
}

static void add_users(struct word_list *line, const struct slurm_run *run)
{
    const json_t *words = json_object_get(run->manifest, "sbatch");
    for (size_t i = 0; i < json_array_size(words); i++)
        word_list_add(line, "%s", json_string_value(json_array_get(words, i)));
}

/* Ends a command line with the script. On failure it is released. */
static enum status add_script(struct word_list *line, const struct slurm_run *run, const char *name)
{
    char script[PATH_MAX];
    enum status status = slurm_run_path(run, script, "%s", name);
    if (status == STATUS_OK)
        word_list_add(line, "%s", script);
    if (status == STATUS_OK && line->failed)
        status = status_set(STATUS_MEMORY, "out of memory");
    if (status != STATUS_OK)
        word_list_release(line);
    return status;
}

static enum status make_array_line(const struct slurm_run *run, const char *shards,
                                   struct word_list *line)
{
    const char *from = json_string_value(json_object_get(run->manifest, "directory"));
    enum status status = check_word_count(run);
    if (status != STATUS_OK)
        return status;
    if (strlen(shards) >= SHARDS_MOST)
        return status_set(STATUS_UNSUPPORTED,
                          "too many single shards for one array: submit some of "
                          "them by hand");
    word_list_add(line, "sbatch");
    word_list_add(line, "--parsable");
    word_list_add(line, "--array=%s", shards);
    word_list_add(line, "--chdir=%s", from ? from : "/");
    word_list_add(line, "--output=%s/log/shard-%%a.log", run->directory);
    add_users(line, run);
    return add_script(line, run, "shard.sbatch");
}

/* Has the same options, for partition and account, but needs no GPU. */
static enum status make_merge_line(const struct slurm_run *run, const char *array,
                                   const char *after, struct word_list *line)
{
    word_list_add(line, "sbatch");
    word_list_add(line, "--parsable");
    add_users(line, run);
    word_list_add(line, "--dependency=afterany:%s%s", array, after);
    word_list_add(line, "--gres=none");
    word_list_add(line, "--chdir=%s", run->directory);
    word_list_add(line, "--output=%s/log/merge.log", run->directory);
    return add_script(line, run, "merge.sbatch");
}

/* Prints the command line, and releases it. */
static void print_line(struct word_list *line)
{
    for (size_t i = 0; i < line->count; i++) {
        if (i > 0)
            putchar(' ');
        shell_word_write(stdout, line->words[i]);
    }
    putchar('\n');
    word_list_release(line);
}

/* Starts the command line, and releases it. */
static enum status submit_line(struct word_list *line, char id[32], char cluster[64])
{
    enum status status = slurm_sbatch((const char *const *)line->words, id, cluster);
    word_list_release(line);
    return status;
}

enum status slurm_submit_print(const struct slurm_run *run, const char *shards, const char *after)
{
    struct word_list line = {0};
    enum status status = make_array_line(run, shards, &line);
    if (status != STATUS_OK)
        return status;
    print_line(&line);
    status = make_merge_line(run, "ARRAY", after, &line);
    if (status == STATUS_OK)
        print_line(&line);
    return status;
}

static json_t *submission_new(const char *shards, const char *id, const char *cluster)
{
    char when[32];
    clock_wall_iso8601(when);
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "time", when, "array", id, "cluster", cluster,
                     "shards", shards, "merge", "");
}

enum status slurm_submit_shards(struct slurm_run *run, const char *shards, const char *after)
{
    struct word_list line = {0};
    char id[32], cluster[64], merge[32] = "", other[64], hint[SLURM_HINT_BYTES];
    enum status status = make_array_line(run, shards, &line);
    if (status == STATUS_OK)
        status = submit_line(&line, id, cluster);
    if (status != STATUS_OK)
        return status;
    json_t *submission = submission_new(shards, id, cluster);
    if (json_array_append_new(slurm_run_submissions(run), submission) != 0)
        return status_set(STATUS_MEMORY,
                          "out of memory: job %s is submitted, and is not in run.json", id);
    status = slurm_run_save(run);
    if (status != STATUS_OK)
        return status_prefix(status, "job %s is submitted, but: ", id);
    status = make_merge_line(run, id, after, &line);
    if (status == STATUS_OK)
        status = submit_line(&line, merge, other);
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
           id, shards, run->shards, merge, slurm_hint(run->directory, "status", hint));
    return STATUS_OK;
}

/* ":ID:ID" of the arrays that have not ended; the caller frees it; NULL without memory. */
static char *arrays_at_work(const struct slurm_run *run, const struct slurm_job *jobs, size_t count)
{
    const json_t *submissions = slurm_run_submissions(run);
    size_t size = 1 + json_array_size(submissions) * (1 + sizeof jobs->id);
    char *list = calloc(size, 1);
    struct text text = {.at = list, .size = size};
    for (size_t i = 0; list && i < json_array_size(submissions); i++) {
        const char *id =
            json_string_value(json_object_get(json_array_get(submissions, i), "array"));
        for (size_t j = 0; id && j < count; j++) {
            if (strcmp(jobs[j].id, id) != 0 || !slurm_job_is_active(&jobs[j]))
                continue;
            text_append(&text, ":%s", id);
            break;
        }
    }
    return list;
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
    char *after = arrays_at_work(run, jobs, count);
    char *list = number_ranges_text(wanted, run->shards);
    free(jobs);
    free(shards);
    if (status == STATUS_OK && left == 0)
        printf("there is nothing to submit: %zu shard%s finished, %zu %s\n", finished,
               finished == 1 ? " is" : "s are", at_work,
               at_work == 1 ? "runs or waits" : "run or wait");
    else if (status == STATUS_OK && (!after || !list))
        status = status_set(STATUS_MEMORY, "out of memory");
    else if (status == STATUS_OK)
        status =
            dry_run ? slurm_submit_print(run, list, after) : slurm_submit_shards(run, list, after);
    free(list);
    free(after);
    return status;
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
