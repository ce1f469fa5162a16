#include "mps/probe.h"

#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/text.h"
#include "mps/advice.h"
#include "mps/control.h"

/* The failed CUDA call, and what to do about it. */
static enum status cuda_failed(const struct worker_probe *probe)
{
    const char *advice = mps_advice(probe->cuda_error);
    return status_set(STATUS_WORKER, "a probe could not become an MPS client: %s%s%s", probe->error,
                      advice ? "; " : "", advice ? advice : "");
}

static enum status judge(const struct child_result *result, struct worker_probe *out)
{
    char text[256];
    if (!WIFEXITED(result->wait_status) || WEXITSTATUS(result->wait_status) != 0) {
        if (result->errors_bytes > 0)
            text_printable(result->errors, strcspn(result->errors, "\n"), text, sizeof text);
        else
            child_ending_text(result->wait_status, text, sizeof text);
        return status_set(STATUS_WORKER, "a probe could not become an MPS client: %s", text);
    }
    struct worker_probe probe;
    enum status status = worker_probe_check(
        (const struct worker_probe *)(const void *)result->output, result->output_bytes);
    if (status != STATUS_OK)
        return status;
    memcpy(&probe, result->output, sizeof probe);
    if (probe.cuda_error != 0)
        return cuda_failed(&probe);
    if (probe.mps == 0)
        return status_set(STATUS_WORKER, "a probe did not become an MPS client: the driver fell "
                                         "back to time slicing; daemon and client must run as the "
                                         "same user and in the same container");
    *out = probe;
    return STATUS_OK;
}

enum status mps_probe_run(const struct mps_probe_options *options, uint64_t deadline_ns,
                          struct worker_probe *out)
{
    struct mps_environment environment;
    const char *const argv[] = {options->program, "--probe", options->driver ? "--driver" : NULL,
                                options->driver, NULL};
    if (!mps_environment_make(options->pipe_directory, NULL, options->gpu, &environment))
        return status_set(STATUS_USAGE, "'%s' is too long for a pipe directory or a GPU",
                          options->pipe_directory);
    char partition[MPS_PARTITION_TEXT + 32];
    const char *set[sizeof environment.set / sizeof environment.set[0] + 1];
    size_t count = 0;
    while (environment.set[count]) {
        set[count] = environment.set[count];
        count++;
    }
    snprintf(partition, sizeof partition, MPS_PARTITION_VARIABLE "=%s",
             options->partition ? options->partition : "");
    set[count++] = options->partition ? partition : NULL;
    set[count] = NULL;
    const struct child_options run = {
        .argv = argv,
        .env_set = set,
        .env_unset = environment.unset,
        .output_cap = 2 * sizeof *out, /* too much is wrong, too */
        .deadline_ns = deadline_ns,
        .interrupt = options->interrupt,
        .capture_stderr = true,
    };
    struct child_result result;
    enum status status = child_run(&run, &result);
    if (status == STATUS_INTERRUPTED)
        return status;
    if (status != STATUS_OK)
        return status_prefix(status, "a probe could not become an MPS client: ");
    status = judge(&result, out);
    child_result_release(&result);
    return status;
}

enum status mps_probe_check(const struct worker_probe *probe, const struct mps_settings *settings)
{
    for (unsigned i = 0; i < settings->memory_limits; i++) {
        const struct mps_memory_limit *limit = &settings->memory_limit[i];
        char asked[32];
        /* The probe sees one GPU, which has number 0 then. */
        if (strcmp(limit->gpu, "0") != 0 &&
            strncasecmp(limit->gpu, probe->uuid, strlen(limit->gpu)) != 0)
            continue;
        if (probe->memory_free_bytes > limit->bytes)
            return status_set(STATUS_UNSUPPORTED,
                              "the MPS daemon has a memory limit of %s, but a client is given more",
                              mps_settings_size_text(limit->bytes, asked, sizeof asked));
    }
    return STATUS_OK;
}
