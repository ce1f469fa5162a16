#include "orchestrator/doctor/doctor.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/child.h"
#include "common/clock.h"
#include "mps/directory.h"
#include "orchestrator/doctor/daemons.h"
#include "orchestrator/doctor/gpu.h"
#include "orchestrator/doctor/machine.h"
#include "orchestrator/doctor/mps.h"
#include "orchestrator/doctor/internal.h"
#include "orchestrator/console/report.h"
#include "orchestrator/session/mps_limits.h"
#include "orchestrator/session/session.h"

static void check_cpus(struct doctor *doctor, const struct session *session)
{
    char text[2048];
    unsigned cpus = bind_cpu_count(session->topology);
    double quota = bind_cpu_quota();
    doctor_say(doctor, VERDICT_OK, NULL, "CPUs: %s",
               bind_topology_summary(session->topology, text, sizeof text));
    doctor_say(doctor, VERDICT_OK, NULL, "binding: %s",
               bind_describe(session->topology, BIND_NEAR, text, sizeof text));
    if (quota > 0 && quota < cpus)
        doctor_say(doctor, VERDICT_WARNING,
                   "give the container as many CPUs as it shows, or fewer workers",
                   "CPU quota: %.3g of the %u CPUs that this container shows", quota, cpus);
    if (cpus < 8)
        doctor_say(
            doctor, session->emulated ? VERDICT_OK : VERDICT_WARNING,
            "expect layouts with more workers than CPUs to be limited by them; try --schedule "
            "block",
            "CPUs: only %u", cpus);
}

static void check_gnuplot(struct doctor *doctor)
{
    const char *const argv[] = {"gnuplot", "--version", NULL};
    const struct child_options options = {
        .argv = argv, .output_cap = 256, .deadline_ns = clock_now_ns() + 10 * NS_PER_S};
    struct child_result result;
    if (child_run(&options, &result) != STATUS_OK) {
        doctor_say(doctor, VERDICT_WARNING, "apt-get install gnuplot-nox", "plots: no gnuplot");
        return;
    }
    result.output[strcspn(result.output, "\n")] = '\0';
    doctor_say(doctor, VERDICT_OK, NULL, "plots: %s", result.output);
    child_result_release(&result);
}

static void check_daemons(struct doctor *doctor)
{
    static struct doctor_daemons daemons;
    if (doctor_daemons_find("", &daemons) == STATUS_OK)
        doctor_check_daemons(doctor, &daemons);
    else
        doctor_say(doctor, VERDICT_WARNING, "as root: mount -t proc proc /proc", "MPS daemons: %s",
                   status_text());
}

static bool is_emulated(const char *device)
{
    return device && strcmp(device, "emulated") == 0;
}

/* Why there is no session. No place for the private directory looks like a GPU that cannot be used,
 * and is told with the directory. */
static void check_unopened(struct doctor *doctor, const char *device, enum status status)
{
    struct mps_directory directory;
    char error[512];
    snprintf(error, sizeof error, "%s", status_text());
    if (mps_directory_make(&directory) != STATUS_OK) {
        doctor_check_directory(doctor, NULL, status_text());
        return;
    }
    doctor_say(doctor, VERDICT_PROBLEM,
               is_emulated(device)
                   ? "build or install mpsweep again: the emulated GPU is a part of it"
               : status == STATUS_NOT_FOUND
                   ? "install the NVIDIA driver, or use --device emulated to try mpsweep out"
                   : "'nvidia-smi' shows the GPUs and their state",
               "GPU: %s", error);
    doctor_check_directory(doctor, directory.path, NULL);
    if (mps_directory_remove(&directory) != STATUS_OK)
        doctor_say(doctor, VERDICT_PROBLEM, "see what is in it, and remove it by hand",
                   "cleaning up: %s", status_text());
}

static void check_mps_limits(struct doctor *doctor, const struct session *session)
{
    char text[512];
    enum status status = mps_limits_describe(session, text, sizeof text);
    doctor_say(doctor,
               status == STATUS_OK || status == STATUS_NOT_FOUND ? VERDICT_OK : VERDICT_WARNING,
               "find them again: mpsweep doctor --limits", "MPS limits: %s", text);
}

static void check_mps(struct doctor *doctor, struct session *session)
{
    bool programs = doctor_check_mps_programs(doctor, session);
    doctor_check_mps_environment(doctor);
    /* Before one of our own runs. */
    check_daemons(doctor);
    doctor_check_directory(doctor, mps_controller_directory(daemons_at(session->daemons, 0)), NULL);
    if (programs)
        doctor_check_mps_start(doctor, session);
    check_mps_limits(doctor, session);
}

static void check_machine(struct doctor *doctor, const struct machine_container *container,
                          bool emulated)
{
    const struct machine_shm shm = machine_shm_read("");
    const struct machine_limits limits = machine_limits_read();
    doctor_check_user(doctor);
    doctor_check_container(doctor, container);
    doctor_check_shm(doctor, &shm, emulated);
    doctor_check_limits(doctor, &limits);
}

static int check_all(const char *device)
{
    struct doctor doctor = {.out = stdout};
    const struct machine_container container = machine_container_read("");
    struct session session;
    const struct session_request request = {.device = device, .single = "doctor"};
    enum status status = session_open(&request, &session);
    if (status == STATUS_OK) {
        doctor_check_gpu(&doctor, &session, container.kind != NULL);
        doctor_end_group(&doctor);
        check_mps(&doctor, &session);
    } else {
        check_unopened(&doctor, device, status);
        doctor_end_group(&doctor);
        doctor_check_mps_environment(&doctor);
        check_daemons(&doctor);
    }
    doctor_end_group(&doctor);
    check_machine(&doctor, &container, is_emulated(device) || session.emulated);
    if (status == STATUS_OK) {
        check_cpus(&doctor, &session);
        if (session_close(&session) != STATUS_OK)
            doctor_say(&doctor, VERDICT_PROBLEM, "end what it names, and run mpsweep doctor again",
                       "cleaning up: %s", status_text());
    }
    check_gnuplot(&doctor);
    doctor_end_group(&doctor);
    doctor_sum_up(&doctor);
    return doctor.problems ? EXIT_BAD_SETUP : EXIT_ALL_MEASURED;
}

int doctor_command(const struct invocation *invocation)
{
    const char *device = options_text(invocation->options, OPTION_DEVICE);
    int result = check_all(device);
    if (result == EXIT_ALL_MEASURED && options_switch(invocation->options, OPTION_FIND_LIMITS))
        result = doctor_find_limits(device);
    return result;
}
