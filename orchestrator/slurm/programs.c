/* Runs Slurm's programs and reads their answers. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/text.h"
#include "orchestrator/slurm/internal.h"

/* They wait for a controller that is down, some for minutes. */
#define SUBMIT_NS (60 * NS_PER_S)
#define ASK_NS (30 * NS_PER_S)
#define OUTPUT_CAP (64u << 20)

const char *slurm_one_line(const char *text, char *line, size_t size)
{
    struct text out = {.at = line, .size = size};
    line[0] = '\0';
    while (*text) {
        size_t length = strcspn(text, "\n");
        const char *begin = text;
        text += length + (text[length] == '\n');
        /* "sbatch: error: " */
        for (int part = 0; part < 2; part++) {
            size_t word = strspn(begin, "abcdefghijklmnopqrstuvwxyz");
            bool name = word > 0 && word + 1 < length && strncmp(begin + word, ": ", 2) == 0;
            if (!name || (part == 1 && strncmp(begin, "error", word) != 0))
                break;
            begin += word + 2;
            length -= word + 2;
        }
        if (length == 0)
            continue;
        char plain[512];
        text_append(&out, "%s%s", line[0] ? "; " : "",
                    text_printable(begin, length, plain, sizeof plain));
    }
    return line;
}

/* Variables that users set for calls by hand: filters would hide the run's jobs, and we cannot read
 * other formats. */
static const char *const unset_to_submit[] = {
    "SBATCH_ARRAY_INX", "SBATCH_ERROR",     "SBATCH_OPEN_MODE", "SBATCH_OUTPUT",
    "SBATCH_SIGNAL",    "SBATCH_TEST_ONLY", "SBATCH_WAIT",      NULL};
static const char *const unset_to_ask[] = {"SLURM_CLUSTERS",      "SQUEUE_ACCOUNT",
                                           "SQUEUE_ALL",          "SQUEUE_ARRAY_UNIQUE",
                                           "SQUEUE_FORMAT",       "SQUEUE_FORMAT2",
                                           "SQUEUE_NAMES",        "SQUEUE_LICENSES",
                                           "SQUEUE_PARTITION",    "SQUEUE_QOS",
                                           "SQUEUE_SORT",         "SQUEUE_STATES",
                                           "SQUEUE_USERS",        "SACCT_FORMAT",
                                           "SCANCEL_BATCH",       "SCANCEL_ACCOUNT",
                                           "SCANCEL_FULL",        "SCANCEL_HURRY",
                                           "SCANCEL_NAME",        "SCANCEL_PARTITION",
                                           "SCANCEL_INTERACTIVE", "SCANCEL_QOS",
                                           "SCANCEL_STATE",       "SCANCEL_USER",
                                           "SCANCEL_WCKEY",       NULL};

/* Runs a program and gives its output, which the caller frees. */
static enum status run_program(const char *const *argv, const char *const *unset, uint64_t time_ns,
                               char **output)
{
    static const char *const set[] = {"SLURM_TIME_FORMAT=standard", NULL};
    const struct child_options options = {
        .argv = argv,
        .env_set = set,
        .env_unset = unset,
        .output_cap = OUTPUT_CAP,
        .deadline_ns = clock_now_ns() + time_ns,
        .capture_stderr = true,
    };
    struct child_result result;
    enum status status = child_run(&options, &result);
    if (status == STATUS_NOT_FOUND)
        return status_set(STATUS_NOT_FOUND,
                          "there is no %s on PATH: this needs Slurm's programs, as on a cluster's "
                          "login node (Debian: apt-get install slurm-client)",
                          argv[0]);
    if (status == STATUS_TIMEOUT)
        return status_set(STATUS_TIMEOUT,
                          "%s did not answer in %d s: is Slurm's controller up? ('scontrol ping')",
                          argv[0], (int)(time_ns / NS_PER_S));
    if (status != STATUS_OK)
        return status;
    if (!WIFEXITED(result.wait_status) || WEXITSTATUS(result.wait_status) != 0) {
        char line[600], ending[64];
        slurm_one_line(result.errors, line, sizeof line);
        status = status_set(STATUS_UNSUPPORTED, "%s: %s", argv[0],
                            line[0] ? line
                                    : child_ending_text(result.wait_status, ending, sizeof ending));
    } else if (result.output_cut) {
        status = status_set(STATUS_PROTOCOL, "%s prints more than can be read", argv[0]);
    } else {
        *output = result.output;
        result.output = NULL;
    }
    child_result_release(&result);
    return status;
}

static const char digits[] = "0123456789";

static bool is_number(const char *text)
{
    return *text && !text[strspn(text, digits)];
}

enum status slurm_parse_sbatch(const char *text, char id[32], char cluster[64])
{
    size_t number = strspn(text, digits);
    const char *name = text + number + (number > 0 && text[number] == ';');
    size_t length = name == text + number ? 0 : strcspn(name, "\n");
    if (number > 0 && number < 32 && length < 64 && strcmp(name + length, "\n") == 0) {
        snprintf(id, 32, "%.*s", (int)number, text);
        snprintf(cluster, 64, "%.*s", (int)length, name);
        if (text_is_displayable(cluster))
            return STATUS_OK;
    }
    char line[200];
    return status_set(STATUS_PROTOCOL, "sbatch did not print a job's number, but '%s'",
                      slurm_one_line(text, line, sizeof line));
}

enum status slurm_sbatch(const char *const *argv, char id[32], char cluster[64])
{
    char *output = NULL;
    enum status status = run_program(argv, unset_to_submit, SUBMIT_NS, &output);
    if (status == STATUS_UNSUPPORTED &&
        (strstr(status_text(), "gres") || strstr(status_text(), "node configuration")))
        return status_set(
            status,
            "%.600s (does any node have that many GPUs? 'sinfo -N -o \"%%N %%G\"' shows "
            "it; --gpus-per-node G, or '-- --gres=gpu:KIND:G', asks for them)",
            status_text());
    if (status == STATUS_UNSUPPORTED && strstr(status_text(), "Invalid job array"))
        return status_set(status,
                          "%.600s (is 'MaxArraySize' of 'scontrol show "
                          "config' less than --nodes?)",
                          status_text());
    if (status == STATUS_UNSUPPORTED && strstr(status_text(), "Socket timed out"))
        status = STATUS_TIMEOUT;
    if (status == STATUS_OK)
        status = slurm_parse_sbatch(output, id, cluster);
    free(output);
    if (status == STATUS_TIMEOUT || status == STATUS_PROTOCOL)
        return status_set(status, "%.600s (it may be submitted anyway: see 'squeue --me')",
                          status_text());
    return status;
}

/* "JobState" in our lower case, without what follows it: "CANCELLED by 0". */
static void set_state(struct slurm_job *job, const char *text)
{
    text_printable(text, strcspn(text, " +"), job->state, sizeof job->state);
    for (char *at = job->state; *at; at++)
        *at = (char)tolower((unsigned char)*at);
}

static void set_text(char *out, size_t size, const char *text)
{
    /* Slurm's words for an empty field. */
    static const char *const none[] = {"N/A", "None", "None assigned", "Unknown", "(null)"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (strcmp(none[i], text) == 0)
            text = "";
    text_printable(text, strlen(text), out, size);
}

/* Cuts a line at '|' into count fields, of which the last one may hold others. */
static bool split(char *line, char *fields[], size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (!line)
            return false;
        fields[i] = i + 1 < count ? strsep(&line, "|") : line;
    }
    return true;
}

/* Reads one line of a list; false: it has no job (a heading), and job is not set. */
typedef bool line_reader(char *line, struct slurm_job *job);

static enum status parse_lines(const char *text, line_reader *read_line, struct slurm_job **jobs,
                               size_t *count)
{
    char *copy = strdup(text), *rest = copy;
    bool failed = !copy;
    *jobs = NULL;
    *count = 0;
    while (rest && !failed) {
        struct slurm_job job = {.task = -1};
        if (!read_line(strsep(&rest, "\n"), &job))
            continue;
        struct slurm_job *more = realloc(*jobs, (*count + 1) * sizeof *more);
        failed = !more;
        if (more) {
            *jobs = more;
            more[(*count)++] = job;
        }
    }
    free(copy);
    if (!failed)
        return STATUS_OK;
    free(*jobs);
    *jobs = NULL;
    *count = 0;
    return status_set(STATUS_MEMORY, "out of memory for the list of jobs");
}

static bool read_task(const char *text, struct slurm_job *job)
{
    if (!is_number(text) || strlen(text) >= 16)
        return false;
    job->task = strtol(text, NULL, 10);
    return true;
}

/* ARRAY|TASK|STATE|NODES|START|LEFT|REASON */
static bool read_queue_line(char *line, struct slurm_job *job)
{
    char *fields[7];
    if (!split(line, fields, 7) || !is_number(fields[0]) || strlen(fields[0]) >= sizeof job->id)
        return false;
    strcpy(job->id, fields[0]);
    read_task(fields[1], job);
    set_state(job, fields[2]);
    set_text(job->node, sizeof job->node, fields[3]);
    set_text(job->since, sizeof job->since, fields[4]);
    set_text(job->left, sizeof job->left, fields[5]);
    set_text(job->reason, sizeof job->reason, fields[6]);
    return true;
}

enum status slurm_parse_queue(const char *text, struct slurm_job **jobs, size_t *count)
{
    return parse_lines(text, read_queue_line, jobs, count);
}

/* ID_TASK|STATE|NODES|START */
static bool read_accounting_line(char *line, struct slurm_job *job)
{
    char *fields[4];
    if (!split(line, fields, 4))
        return false;
    char *task = fields[0];
    const char *id = strsep(&task, "_");
    /* Without a task: not of an array; "12_[3-5]": those never began. */
    if (!is_number(id) || strlen(id) >= sizeof job->id || (task && !read_task(task, job)))
        return false;
    strcpy(job->id, id);
    set_state(job, fields[1]);
    set_text(job->node, sizeof job->node, fields[2]);
    set_text(job->since, sizeof job->since, fields[3]);
    return true;
}

enum status slurm_parse_accounting(const char *text, struct slurm_job **jobs, size_t *count)
{
    return parse_lines(text, read_accounting_line, jobs, count);
}

/* Makes "PREFIX1,2,3" of the run's jobs, and names the cluster of the latest submission: a run on
 * several clusters is not supported. The caller frees *list; NULL: there are no jobs. */
static enum status job_list(const struct slurm_run *run, const char *prefix, const char *separator,
                            char cluster[80], char **list)
{
    const json_t *submissions = slurm_run_submissions(run);
    size_t size = strlen(prefix) + json_array_size(submissions) * 64 + 1;
    struct text text = {.at = calloc(1, size), .size = size};
    bool any = false;
    *list = NULL;
    cluster[0] = '\0';
    if (!text.at)
        return status_set(STATUS_MEMORY, "out of memory for the list of jobs");
    text_append(&text, "%s", prefix);
    for (size_t i = 0; i < json_array_size(submissions); i++) {
        const json_t *submission = json_array_get(submissions, i);
        static const char *const keys[] = {"array", "merge"};
        for (size_t k = 0; k < 2; k++) {
            const char *id = text_at(submission, keys[k]);
            if (!is_number(id) || strlen(id) > 20)
                continue;
            text_append(&text, "%s%s", any ? separator : "", id);
            any = true;
        }
        if (*text_at(submission, "cluster"))
            snprintf(cluster, 80, "--clusters=%.60s", text_at(submission, "cluster"));
    }
    if (any)
        *list = text.at;
    else
        free(text.at);
    return STATUS_OK;
}

enum status slurm_queue(const struct slurm_run *run, struct slurm_job **jobs, size_t *count)
{
    char cluster[80], *list, *output = NULL;
    *jobs = NULL;
    *count = 0;
    enum status status = job_list(run, "--jobs=", ",", cluster, &list);
    if (!list)
        return status;
    /* squeue forgets a job minutes after its end. */
    const char *argv[] = {"squeue",
                          "--noheader",
                          "--array",
                          "--states=all",
                          "--format=%F|%K|%T|%N|%S|%L|%r",
                          list,
                          cluster[0] ? cluster : NULL,
                          NULL};
    status = run_program(argv, unset_to_ask, ASK_NS, &output);
    free(list);
    if (status == STATUS_UNSUPPORTED && strstr(status_text(), "Invalid job id"))
        return STATUS_OK;
    if (status == STATUS_OK)
        status = slurm_parse_queue(output, jobs, count);
    free(output);
    return status;
}

void slurm_accounting(const struct slurm_run *run, struct slurm_job **jobs, size_t *count)
{
    char cluster[80], *list;
    *jobs = NULL;
    *count = 0;
    if (job_list(run, "--jobs=", ",", cluster, &list) != STATUS_OK || !list)
        return;
    const char *argv[] = {"sacct",
                          "--noheader",
                          "--parsable2",
                          "--allocations",
                          "--format=JobID,State,NodeList,Start",
                          list,
                          "--array",
                          cluster[0] ? cluster : NULL,
                          NULL};
    const char *old_argv[] = {argv[0], argv[1], argv[2], argv[3], argv[4], list, argv[7], NULL};
    char *output = NULL;
    enum status status = run_program(argv, unset_to_ask, ASK_NS, &output);
    /* Slurm up to 22.05 has no --array, and what never began is then in one line. */
    if (status == STATUS_UNSUPPORTED)
        status = run_program(old_argv, unset_to_ask, ASK_NS, &output);
    size_t read = 0;
    if (status == STATUS_OK && slurm_parse_accounting(output, jobs, &read) != STATUS_OK)
        read = 0;
    /* A job that runs would be in the queue: the database has missed its end. */
    for (size_t i = 0; i < read; i++)
        if (!slurm_job_is_active(&(*jobs)[i]))
            (*jobs)[(*count)++] = (*jobs)[i];
    free(list);
    free(output);
}

bool slurm_job_is_active(const struct slurm_job *job)
{
    static const char *const over[] = {"completed",     "cancelled", "failed",    "timeout",
                                       "node_fail",     "preempted", "boot_fail", "deadline",
                                       "out_of_memory", "revoked",   ""};
    for (size_t i = 0; i < sizeof over / sizeof *over; i++)
        if (strcmp(job->state, over[i]) == 0)
            return false;
    return true;
}

const struct slurm_job *slurm_job_of(const struct slurm_run *run, const struct slurm_job *jobs,
                                     size_t count, unsigned shard)
{
    const json_t *submissions = slurm_run_submissions(run);
    for (size_t i = json_array_size(submissions); i-- > 0;) {
        const char *id = text_at(json_array_get(submissions, i), "array");
        for (size_t j = 0; j < count; j++)
            if (jobs[j].task == (long)shard && strcmp(jobs[j].id, id) == 0)
                return &jobs[j];
    }
    return NULL;
}

enum status slurm_scancel(const struct slurm_run *run)
{
    char cluster[80], *list, *output = NULL;
    enum status status = job_list(run, "", " ", cluster, &list);
    char *rest = list;
    struct word_list words = {0};
    word_list_add(&words, "scancel");
    if (cluster[0])
        word_list_add(&words, "%s", cluster);
    while (rest)
        word_list_add(&words, "%s", strsep(&rest, " "));
    if (words.failed)
        status = status_set(STATUS_MEMORY, "out of memory");
    else if (list)
        status = run_program((const char *const *)words.words, unset_to_ask, ASK_NS, &output);
    free(output);
    free(list);
    word_list_release(&words);
    return status;
}
