#include "orchestrator/doctor/internal.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/text.h"
#include "mps/control.h"

#define SERVER "nvidia-cuda-mps-server"
#define VERSION_NS (10 * NS_PER_S)

/* The daemon starts the server that lies beside it. */
static bool find_server(const char *control, char server[PATH_MAX])
{
    char beside[PATH_MAX], path[2 * PATH_MAX];
    for (int resolved = 0; resolved < 2; resolved++) {
        if (!resolved)
            snprintf(beside, sizeof beside, "%s", control);
        else if (!realpath(control, beside))
            break;
        snprintf(path, sizeof path, "%s/" SERVER, dirname(beside));
        if (child_find_program(path, server) == STATUS_OK)
            return true;
    }
    return child_find_program(SERVER, server) == STATUS_OK;
}

/* 0 if it does not print its version. It sees no daemon. */
static int ask_version(const char *program, const struct session *session)
{
    const struct mps_control control = {
        .program = program, .pipe_directory = daemons_at(session->daemons, 0)->off_directory};
    int version = 0;
    return mps_control_version(&control, clock_now_ns() + VERSION_NS, &version) == STATUS_OK
               ? version
               : 0;
}

static void check_version(struct doctor *doctor, const struct session *session, const char *control)
{
    int version = ask_version(control, session);
    if (session->emulated) {
        doctor_report(doctor, FINDING_OK, NULL, "MPS programs: emulated");
        return;
    }
    if (!version) {
        doctor_report(
            doctor, FINDING_WARNING,
            "install the MPS programs of the driver's own release; nvidia-cuda-mps-control "
            "-v shows theirs",
            "MPS programs: %s does not print its version", control);
        return;
    }
    /* By its version: nothing that it prints names them. */
    bool partitions = mps_control_has_partitions(version);
    /* Both are major * 1000 + minor * 10. */
    bool same = version / 10 == session->gpus->list.driver_version / 10;
    doctor_report(
        doctor, same ? FINDING_OK : FINDING_WARNING,
        "install the MPS programs of the driver's own release; in a container: docker run "
        "-e NVIDIA_DRIVER_CAPABILITIES=compute,utility",
        "MPS programs: %s for CUDA %d.%d, %s the driver; %s static partitions", control,
        version / 1000, version % 1000 / 10, same ? "as" : "unlike",
        partitions ? "with" : "without");
}

bool doctor_check_mps_programs(struct doctor *doctor, const struct session *session)
{
    static const char missing[] =
        "install the driver's MPS programs (Debian, Ubuntu: nvidia-cuda-mps or "
        "nvidia-compute-utils-NNN; a container: docker run -e "
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility), or sweep layouts without MPS";
    char control[PATH_MAX], server[PATH_MAX];
    if (child_find_program(session->control_program, control) != STATUS_OK) {
        doctor_report(doctor, FINDING_PROBLEM, missing, "MPS programs: %s", status_text());
        return false;
    }
    if (!session->emulated && !find_server(control, server)) {
        doctor_report(doctor, FINDING_PROBLEM, missing, "MPS programs: no '" SERVER "' beside '%s'",
                      control);
        return false;
    }
    check_version(doctor, session, control);
    return true;
}

/* Names come from outside: only those that a variable can have are printed. */
static bool is_name(const char *name)
{
    return name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")] == '\0';
}

void doctor_check_mps_environment(struct doctor *doctor)
{
    const char *names[MPS_INHERITED_MOST];
    char list[1024] = "", advice[1200], odd_text[64] = "";
    struct text text = {.at = list, .size = sizeof list};
    size_t odd = 0;
    mps_environment_inherited(names);
    for (const char **name = names; *name; name++) {
        if (is_name(*name))
            text_append(&text, " %s", *name);
        else
            odd++;
    }
    if (!*names) {
        doctor_report(doctor, FINDING_OK, NULL, "MPS variables: none is set");
        return;
    }
    if (odd)
        snprintf(odd_text, sizeof odd_text, "%s %zu with odd names", *list ? " and" : "", odd);
    snprintf(advice, sizeof advice, "mpsweep clears them for what it starts%s%s",
             *list ? "; for your own programs: unset" : ", and so does env -i", list);
    doctor_report(doctor, FINDING_WARNING, advice, "MPS variables are set:%s%s", list, odd_text);
}

void doctor_check_mps_start(struct doctor *doctor, struct session *session)
{
    if (daemons_set(session->daemons, 1, false) != STATUS_OK) {
        doctor_report(
            doctor, FINDING_PROBLEM,
            "until then measure without MPS: mpsweep sweep --layout threads:1-16 --layout "
            "processes:1-16",
            "MPS: %s", status_text());
        return;
    }
    doctor_report(doctor, FINDING_OK, NULL, "MPS: a private daemon starts and answers");
    if (daemons_set(session->daemons, 0, false) != STATUS_OK)
        doctor_report(doctor, FINDING_PROBLEM, "end what it names, and run mpsweep doctor again",
                      "MPS: %s", status_text());
}
