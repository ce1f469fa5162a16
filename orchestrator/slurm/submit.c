/* Makes a run and submits it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "job/jobfile.h"
#include "common/paths.h"
#include "config.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/text.h"
#include "orchestrator/console/report.h"
#include "orchestrator/plan/device_choice.h"
#include "orchestrator/plan/plan.h"
#include "orchestrator/slurm/internal.h"
#include "orchestrator/slurm/slurm.h"

/* -- what the user asks for -------------------------------------------------------------------- */

struct request {
    struct options options; /* of the command itself */
    struct word_list words; /* options of the sweep */
    char *const *sbatch;    /* NULL-ended */
    char *const *command;   /* a program to measure, NULL: none */
    bool fleet;
};

/* Options of sweep that are the run's own business. */
static enum status check_sweep_option(const struct option_row *row)
{
    static const struct {
        const char *name, *instead;
    } ours[] = {
        {"output",
         "the shards' files lie in the run's directory, and 'mpsweep slurm collect DIR -o "
         "FILE' writes the merged results elsewhere"},
        {"publish", "the shards' files lie in the run's directory"},
        {"resume", "use 'mpsweep slurm submit --again DIR' to continue it"},
        {"force", "a shard that is queued again may move to another node as it is"},
        {"shard", "each task has its own: --nodes N makes N of them"},
        {"list", "'mpsweep sweep JOBFILE --list' prints the points"},
        {"format", "'mpsweep slurm collect DIR' merges the results"},
    };
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(row->name, ours[i].name) == 0)
            return status_set(STATUS_USAGE, "--%s is not for slurm submit: %s", row->name,
                              ours[i].instead);
    return STATUS_OK;
}

static enum status take_sweep_option(struct request *request, const struct given_option *given)
{
    enum status status = check_sweep_option(given->row);
    if (status != STATUS_OK)
        return status;
    word_list_add(&request->words, "--%s%s%s", given->row->name,
                  given->row->kind == OPTION_KIND_SWITCH ? "" : "=",
                  given->row->kind == OPTION_KIND_SWITCH ? "" : given->text);
    request->fleet |= strcmp(given->row->name, "fleet") == 0;
    return STATUS_OK;
}

static enum status read_request(const struct given_option *given, size_t count, char **rest,
                                struct request *out)
{
    static char *const none[] = {NULL};
    const unsigned own = OPTION_SLURM_SUBMIT;
    out->sbatch = rest ? rest : none;
    for (char **word = rest; word && *word; word++) {
        if (strcmp(*word, "--") != 0)
            continue;
        *word = NULL;
        out->command = word + 1;
        if (!word[1])
            return status_set(STATUS_USAGE, "there is no program after the second '--'");
        break;
    }
    enum status status = slurm_check_words(out->sbatch);
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        status = given[i].row->commands & own ? options_set(&out->options, given[i].row,
                                                            given[i].text, JOB_RANK_COMMAND_LINE)
                                              : take_sweep_option(out, &given[i]);
    if (status == STATUS_OK && out->words.failed)
        status = status_set(STATUS_MEMORY, "out of memory");
    return status;
}

static void release_request(struct request *request)
{
    word_list_release(&request->words);
    options_release(&request->options);
}

/* Finds now what the nodes would refuse, each after its wait in the queue. */
static enum status check_plan(struct request *request, const struct given_option *given,
                              size_t count, const char *job_path, size_t *points,
                              char id[PLAN_ID_BYTES])
{
    struct job job;
    struct plan plan = {0};
    enum status status = job_load(job_path, &job);
    if (status != STATUS_OK)
        return status;
    job.command = request->command;
    for (size_t i = 0; i < count && status == STATUS_OK; i++)
        if (!(given[i].row->commands & OPTION_SLURM_SUBMIT))
            status = job_set(&job, given[i].row, given[i].text);
    /* Only a node's driver knows how many GPUs "all" is. */
    struct device_choice choice;
    if (status == STATUS_OK)
        status =
            device_choice_parse(options_text(&job.sections[0].options, OPTION_DEVICE), &choice);
    if (status == STATUS_OK) {
        int64_t of_node = options_integer(&request->options, OPTION_SLURM_GPUS);
        unsigned all = of_node > 0 ? (unsigned)of_node : 1;
        status = plan_make(&job, choice.all ? all : device_choice_count(&choice), &plan);
    }
    if (status == STATUS_OK)
        request->fleet |= options_switch(&job.sections[0].options, OPTION_FLEET);
    int64_t nodes = options_integer(&request->options, OPTION_SLURM_NODES);
    if (status == STATUS_OK && !request->fleet && (size_t)nodes > plan.count)
        status = status_set(STATUS_USAGE, "--nodes %lld is more than the %zu point%s of the plan",
                            (long long)nodes, plan.count, plan.count == 1 ? "" : "s");
    if (status == STATUS_OK) {
        *points = plan.count;
        memcpy(id, plan.id, sizeof plan.id);
    }
    plan_release(&plan);
    job_release(&job);
    return status;
}

/* -- the directory ----------------------------------------------------------------------------- */

/* Its name goes through a shell, sbatch's file names and mpsweep's {shard}. */
static enum status check_directory_name(const char *path)
{
    if (!text_is_utf8(path) || path[strcspn(path, "{}\\%\n\r")])
        return status_set(STATUS_USAGE,
                          "the path of a run's directory must be UTF-8 without {, }, \\, %% and "
                          "line ends: '%s'",
                          path);
    return STATUS_OK;
}

/* Finds its absolute path; its parent must exist, and it must not. */
static enum status find_directory(const char *wanted, char out[PATH_MAX])
{
    char name[PATH_MAX], parent[PATH_MAX], hint[SLURM_HINT_BYTES], stamp[32];
    struct stat info;
    clock_wall_stamp(stamp);
    if (wanted)
        snprintf(name, sizeof name, "%s", wanted);
    else
        snprintf(name, sizeof name, "mpsweep-slurm-%s", stamp);
    for (size_t end = strlen(name); end > 1 && name[end - 1] == '/'; end--)
        name[end - 1] = '\0';
    if (lstat(name, &info) == 0)
        return status_set(STATUS_USAGE, "'%s' exists: give another --dir, or continue its run: %s",
                          name, slurm_hint(name, "submit --again", hint));
    char *slash = strrchr(name, '/');
    const char *last = slash ? slash + 1 : name;
    const char *above = !slash ? "." : slash == name ? "/" : name;
    if (slash && slash != name)
        *slash = '\0';
    if (!realpath(above, parent))
        return status_set(STATUS_USAGE, "cannot make a directory in '%s': %s", above,
                          strerror(errno));
    if (snprintf(out, PATH_MAX, "%s/%s", strcmp(parent, "/") == 0 ? "" : parent, last) >= PATH_MAX)
        return status_set(STATUS_USAGE, "the path '%s' is too long", last);
    return check_directory_name(out);
}

/* It lies beside the run's own files. */
static enum status check_job_name(const char *name)
{
    static const char *const ours[] = {"run.json",  "shard.sbatch", "merge.sbatch",
                                       "all.jsonl", "log",          "run.lock"};
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
        if (strcmp(name, ours[i]) == 0)
            return status_set(
                STATUS_USAGE,
                "the job file is copied into the run's directory, which has a '%s' of "
                "its own: give it another name",
                name);
    return STATUS_OK;
}

static enum status copy_file(const char *from, const char *to)
{
    char bytes[8192];
    size_t got = 0;
    FILE *in = fopen(from, "re");
    FILE *out = in ? fopen(to, "wxe") : NULL;
    bool done = out != NULL;
    while (done && (got = fread(bytes, 1, sizeof bytes, in)) > 0)
        done = fwrite(bytes, 1, got, out) == got;
    done = done && !ferror(in);
    int error = errno;
    if (in)
        fclose(in);
    if (out && fclose(out) != 0 && done) {
        done = false;
        error = errno;
    }
    return done ? STATUS_OK
                : status_set(STATUS_SYSTEM, "cannot copy '%s' to '%s': %s", from, to,
                             strerror(error));
}

static enum status write_script(const struct slurm_run *run, const char *name, unsigned gpus)
{
    char path[PATH_MAX], *text = NULL;
    enum status status = slurm_run_path(run, path, "%s", name);
    if (status == STATUS_OK)
        status = slurm_script_make(run, name, gpus, &text);
    if (status != STATUS_OK)
        return status;
    FILE *file = fopen(path, "wxe");
    bool done = file && fputs(text, file) != EOF;
    if ((file && fclose(file) != 0) || !done || chmod(path, 0755) != 0)
        status = status_set(STATUS_SYSTEM, "cannot write '%s': %s", path, strerror(errno));
    free(text);
    return status;
}

static void remove_file(const struct slurm_run *run, const char *name)
{
    char path[PATH_MAX];
    if (name && slurm_run_path(run, path, "%s", name) == STATUS_OK && unlink(path) != 0 &&
        errno == EISDIR)
        rmdir(path);
}

/* Removes a run that was not submitted, so that the next try finds nothing in its way. */
static void remove_run(const struct slurm_run *run, const char *job)
{
    static const char *const names[] = {"shard.sbatch", "merge.sbatch", "run.json", "log",
                                        "run.lock"};
    struct status_saved saved;
    status_save(STATUS_OK, &saved);
    remove_file(run, job);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        remove_file(run, names[i]);
    rmdir(run->directory);
    status_restore(&saved);
}

static enum status make_run(const struct slurm_run *run, unsigned gpus, const char *job_path,
                            int *lock)
{
    char path[PATH_MAX];
    const char *job = job_path ? path_file_name(job_path) : NULL;
    if (mkdir(run->directory, 0777) != 0)
        return status_set(STATUS_USAGE, "cannot make '%s': %s", run->directory, strerror(errno));
    enum status status = slurm_run_lock(run, lock);
    if (status == STATUS_OK)
        status = slurm_run_path(run, path, "log");
    if (status == STATUS_OK && mkdir(path, 0777) != 0)
        status = status_set(STATUS_SYSTEM, "cannot make '%s': %s", path, strerror(errno));
    if (status == STATUS_OK && job)
        status = slurm_run_path(run, path, "%s", job);
    if (status == STATUS_OK && job)
        status = copy_file(job_path, path);
    if (status == STATUS_OK)
        status = write_script(run, "shard.sbatch", gpus);
    if (status == STATUS_OK)
        status = write_script(run, "merge.sbatch", gpus);
    if (status == STATUS_OK)
        status = slurm_run_save(run);
    if (status != STATUS_OK)
        remove_run(run, job);
    return status;
}

static json_t *word_array(char *const *words)
{
    json_t *array = json_array();
    for (char *const *word = words; word && *word; word++)
        json_array_append_new(array, json_string(*word));
    return array;
}

static enum status make_manifest(const struct request *request, const struct slurm_run *run,
                                 const char *job, size_t points, const char *plan_id, json_t **out)
{
    char directory[PATH_MAX], created[32];
    if (!getcwd(directory, sizeof directory))
        return status_set(STATUS_SYSTEM, "cannot find the working directory: %s", strerror(errno));
    clock_wall_iso8601(created);
    *out =
        json_pack("{s:s, s:i, s:s, s:s, s:s, s:i, s:I, s:s, s:s?, s:s, s:o, s:o, s:o, s:[]}",
                  "type", "slurm-run", "schema", 1, "mpsweep", PACKAGE_VERSION, "created", created,
                  "purpose", run->fleet ? "fleet" : "shard", "shards", (int)run->shards, "plan",
                  (json_int_t)points, "plan_id", plan_id, "job", job, "directory", directory,
                  "sweep", word_array(request->words.words), "sbatch", word_array(request->sbatch),
                  "program", word_array(request->command), "submissions");
    return *out ? STATUS_OK : status_set(STATUS_MEMORY, "out of memory, or a word is not UTF-8");
}

static enum status print_dry_run(const struct slurm_run *run, unsigned gpus, const char *shards)
{
    static const char *const names[] = {"shard.sbatch", "merge.sbatch"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *text;
        enum status status = slurm_script_make(run, names[i], gpus, &text);
        if (status != STATUS_OK)
            return status;
        printf("#### %s/%s\n%s\n", run->directory, names[i], text);
        free(text);
    }
    printf("#### submitted with\n");
    return slurm_submit_print(run, shards, "");
}

/* Nothing was submitted: the user can try again under the same name. But a job that may have been
 * submitted must find its directory. */
static enum status undo_run(const struct slurm_run *run, const char *job, enum status status)
{
    char hint[SLURM_HINT_BYTES];
    if (json_array_size(slurm_run_submissions(run)) > 0)
        return status;
    if (status == STATUS_TIMEOUT || status == STATUS_PROTOCOL)
        return status_set(status, "%.700s; if not: %s", status_text(),
                          slurm_hint(run->directory, "submit --again", hint));
    remove_run(run, job);
    return status;
}

static enum status submit_new(const struct request *request, const char *job_path, size_t points,
                              const char *plan_id)
{
    int lock = -1;
    unsigned gpus = (unsigned)options_integer(&request->options, OPTION_SLURM_GPUS);
    const char *job = job_path ? path_file_name(job_path) : NULL;
    struct slurm_run run = {
        .shards = (unsigned)options_integer(&request->options, OPTION_SLURM_NODES),
        .fleet = request->fleet,
    };
    char shards[32] = "0";
    if (run.shards > 1)
        snprintf(shards, sizeof shards, "0-%u", run.shards - 1);
    enum status status = job ? check_job_name(job) : STATUS_OK;
    if (status == STATUS_OK)
        status = find_directory(options_text(&request->options, OPTION_SLURM_DIR), run.directory);
    if (status == STATUS_OK)
        status = make_manifest(request, &run, job, points, plan_id, &run.manifest);
    if (status != STATUS_OK)
        return status;
    if (options_switch(&request->options, OPTION_SLURM_DRY_RUN)) {
        status = print_dry_run(&run, gpus, shards);
    } else if ((status = make_run(&run, gpus, job_path, &lock)) == STATUS_OK) {
        status = slurm_submit_shards(&run, shards, "");
        if (status != STATUS_OK)
            status = undo_run(&run, job, status);
    }
    if (lock >= 0)
        close(lock);
    slurm_run_release(&run);
    return status;
}

static enum status check_needs(const struct request *request, const char *job_path)
{
    const struct options *options = &request->options;
    bool again = options_text(options, OPTION_SLURM_AGAIN) != NULL;
    if (again &&
        (job_path || request->words.count > 0 || request->command ||
         options_text(options, OPTION_SLURM_DIR) || options_text(options, OPTION_SLURM_NODES)))
        return status_set(STATUS_USAGE, "--again DIR repeats what DIR was submitted with: add only "
                                        "--dry-run and options of sbatch");
    if (!again && !options_text(options, OPTION_SLURM_NODES))
        return status_set(STATUS_USAGE,
                          "slurm submit needs --nodes N: how many nodes to measure on");
    return STATUS_OK;
}

int slurm_submit_command(const struct invocation *invocation)
{
    const struct given_option *given = invocation->given;
    char found[PATH_MAX];
    const char *job_path = job_find(invocation->operands[0], found);
    size_t count = invocation->given_count;
    struct request request = {0};
    char plan_id[PLAN_ID_BYTES];
    size_t points = 0;
    enum status status = options_init(&request.options);
    if (status != STATUS_OK)
        return report(status);
    status = read_request(given, count, invocation->rest, &request);
    if (status == STATUS_OK)
        status = check_needs(&request, job_path);
    const char *again = options_text(&request.options, OPTION_SLURM_AGAIN);
    if (status == STATUS_OK && again) {
        status = slurm_submit_again(again, request.sbatch,
                                    options_switch(&request.options, OPTION_SLURM_DRY_RUN));
    } else if (status == STATUS_OK) {
        status = check_plan(&request, given, count, job_path, &points, plan_id);
        if (status == STATUS_OK)
            status = submit_new(&request, job_path, points, plan_id);
    }
    release_request(&request);
    return report(status);
}
