#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#include "common/shell_word.h"
#include "files/atomic_file.h"
#include "orchestrator/slurm/internal.h"

#define SCHEMA 1

enum status slurm_run_path(const struct slurm_run *run, char path[PATH_MAX], const char *format,
                           ...)
{
    int begin = snprintf(path, PATH_MAX, "%s/", run->directory);
    va_list arguments;
    va_start(arguments, format);
    int rest = begin < PATH_MAX
                   ? vsnprintf(path + begin, (size_t)(PATH_MAX - begin), format, arguments)
                   : 0;
    va_end(arguments);
    if (begin + rest >= PATH_MAX)
        return status_set(STATUS_USAGE, "the path '%s' is too long", run->directory);
    return STATUS_OK;
}

/* Whether the array of sbatch's options is one of texts. */
static bool has_options(const json_t *manifest)
{
    const json_t *words = json_object_get(manifest, "sbatch");
    bool all = json_is_array(words);
    for (size_t i = 0; i < json_array_size(words); i++)
        all = all && json_is_string(json_array_get(words, i));
    return all;
}

static enum status check(struct slurm_run *run)
{
    const json_t *manifest = run->manifest;
    const char *type = json_string_value(json_object_get(manifest, "type"));
    const char *purpose = json_string_value(json_object_get(manifest, "purpose"));
    json_int_t shards = json_integer_value(json_object_get(manifest, "shards"));
    if (!type || strcmp(type, "slurm-run") != 0 || !purpose || shards < 1 ||
        shards > SLURM_SHARDS_MOST || !json_is_array(json_object_get(manifest, "submissions")))
        return status_set(STATUS_USAGE, "'%s/run.json' does not describe a run of 'mpsweep slurm'",
                          run->directory);
    if (json_integer_value(json_object_get(manifest, "schema")) != SCHEMA)
        return status_set(STATUS_USAGE, "'%s/run.json' is of another version of mpsweep",
                          run->directory);
    if (!has_options(manifest) || !json_is_integer(json_object_get(manifest, "plan")))
        return status_set(STATUS_USAGE,
                          "'%s/run.json' needs the points of its plan as 'plan', and the options "
                          "of sbatch as 'sbatch'",
                          run->directory);
    run->shards = (unsigned)shards;
    run->fleet = strcmp(purpose, "fleet") == 0;
    return STATUS_OK;
}

enum status slurm_run_load(const char *directory, struct slurm_run *out)
{
    struct slurm_run run = {0};
    char path[PATH_MAX];
    if (!realpath(directory, run.directory))
        return status_set(STATUS_USAGE, "cannot open '%s': %s", directory, strerror(errno));
    enum status status = slurm_run_path(&run, path, "run.json");
    if (status != STATUS_OK)
        return status;
    if (access(path, R_OK) != 0)
        return status_set(
            STATUS_USAGE,
            "'%s' is not a run of 'mpsweep slurm submit': it has no run.json that can be "
            "read",
            directory);
    json_error_t error;
    run.manifest = json_load_file(path, JSON_REJECT_DUPLICATES, &error);
    if (!run.manifest)
        return status_set(STATUS_USAGE, "'%s' line %d: %s", path, error.line, error.text);
    status = check(&run);
    if (status != STATUS_OK)
        json_decref(run.manifest);
    else
        *out = run;
    return status;
}

enum status slurm_run_save(const struct slurm_run *run)
{
    char path[PATH_MAX];
    struct atomic_file file;
    enum status status = slurm_run_path(run, path, "run.json");
    if (status == STATUS_OK)
        status = atomic_file_open(path, ATOMIC_FILE_REPLACE, &file);
    return status == STATUS_OK ? atomic_file_commit_json(&file, run->manifest) : status;
}

enum status slurm_run_lock(const struct slurm_run *run, int *lock)
{
    char path[PATH_MAX];
    enum status status = slurm_run_path(run, path, "run.lock");
    if (status != STATUS_OK)
        return status;
    /* Shared file systems lock only what is open for writing. */
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (fd < 0)
        return status_set(STATUS_USAGE, "cannot write '%s': %s", path, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        bool held = errno == EWOULDBLOCK;
        close(fd);
        if (held)
            return status_set(
                STATUS_BUSY,
                "'%s' is being submitted by another mpsweep: look at it with 'mpsweep "
                "slurm status' when that has ended",
                run->directory);
        fd = -1;
    }
    *lock = fd;
    return STATUS_OK;
}

const char *slurm_hint(const char *directory, const char *command, char text[SLURM_HINT_BYTES])
{
    int begin = snprintf(text, SLURM_HINT_BYTES, "mpsweep slurm %s ", command);
    shell_word(directory, text + begin, (size_t)(SLURM_HINT_BYTES - begin));
    return text;
}

void slurm_run_release(struct slurm_run *run)
{
    json_decref(run->manifest);
    *run = (struct slurm_run){0};
}

json_t *slurm_run_submissions(const struct slurm_run *run)
{
    return json_object_get(run->manifest, "submissions");
}
