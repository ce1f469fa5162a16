#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/child.h"
#include "common/clock.h"
#include "orchestrator/session/session.h"

#define CUPTI_VARIABLE "MPSWEEP_CUPTI"
#define CHECK_NS (30 * NS_PER_S)

const char *session_cupti(const struct session *session)
{
    const char *given = getenv(CUPTI_VARIABLE);
    if (given && *given)
        return given;
    return *session->driver_path ? session->driver_path : NULL;
}

enum status session_check_cupti(const struct session *session, char *found, size_t size)
{
    const char *cupti = session_cupti(session);
    const char *const argv[] = {session->worker_program, "--cupti-check", cupti ? "--cupti" : NULL,
                                cupti, NULL};
    const struct child_options options = {
        .argv = argv,
        .output_cap = 4096,
        .deadline_ns = clock_now_ns() + CHECK_NS,
        .capture_stderr = true,
    };
    struct child_result result;
    char ending[64];
    enum status status = child_run(&options, &result);
    if (status != STATUS_OK)
        return status;
    result.errors[strcspn(result.errors, "\n")] = '\0';
    snprintf(found, size, "%.*s", (int)strcspn(result.output, "\n"), result.output);
    if (result.wait_status != 0 && *result.errors)
        status = status_set(STATUS_UNSUPPORTED, "%s", result.errors);
    else if (result.wait_status != 0)
        status = status_set(
            STATUS_UNSUPPORTED,
            "no CUPTI: loading '%s' ended its process: %s; name another one with " CUPTI_VARIABLE,
            cupti ? cupti : "libcupti.so",
            child_ending_text(result.wait_status, ending, sizeof ending));
    child_result_release(&result);
    return status;
}
