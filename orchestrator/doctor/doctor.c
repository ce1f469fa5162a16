#include "orchestrator/doctor/doctor.h"

#include <sched.h>
#include <stdarg.h>
#include <string.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/host_work.h"
#include "common/text.h"
#include "mps/directory.h"
#include "orchestrator/console/color.h"
#include "orchestrator/console/report.h"
#include "orchestrator/doctor/internal.h"
#include "orchestrator/plan/device_choice.h"

/* The longest has two paths. */
#define FINDING_TEXT (3 * PATH_MAX)

static const char *const words[] = {"ok", "warning", "problem"};

static void print_finding(FILE *out, enum finding finding, const char *advice, const char *text)
{
    color_print(out, words[finding]);
    fprintf(out, "%*s%s\n", 9 - (int)strlen(words[finding]), "", text);
    if (advice)
        fprintf(out, "         -> %s\n", advice);
}

static void add_finding(json_t *findings, enum finding finding, const char *advice,
                        const char *text)
{
    size_t check = strcspn(text, ":");
    const char *rest = text[check] ? text + check + strspn(text + check, ": ") : text;
    json_array_append_new(findings,
                          json_pack("{s:s, s:s%, s:s, s:s?}", "finding", words[finding], "check",
                                    text, check, "text", rest, "advice", advice));
}

void doctor_report(struct doctor *doctor, enum finding finding, const char *advice,
                   const char *format, ...)
{
    char raw[FINDING_TEXT], text[FINDING_TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(raw, sizeof raw, format, args);
    va_end(args);
    text_displayed(raw, text, sizeof text);
    if (finding == FINDING_OK)
        advice = NULL;
    if (doctor->findings)
        add_finding(doctor->findings, finding, advice, text);
    else
        print_finding(doctor->out, finding, advice, text);
    doctor->warnings += finding == FINDING_WARNING;
    doctor->problems += finding == FINDING_PROBLEM;
}

static void end_group(const struct doctor *doctor)
{
    if (!doctor->findings)
        fputc('\n', doctor->out);
}

static void print_sum(const struct doctor *doctor)
{
    fprintf(doctor->out, "%s: %u problem%s, %u warning%s\n",
            doctor->problems ? "not ready" : "ready", doctor->problems,
            doctor->problems == 1 ? "" : "s", doctor->warnings, doctor->warnings == 1 ? "" : "s");
}

static void print_json(const struct doctor *doctor)
{
    json_t *record = json_pack("{s:b, s:i, s:i, s:O}", "ready", doctor->problems == 0, "problems",
                               (int)doctor->problems, "warnings", (int)doctor->warnings, "findings",
                               doctor->findings);
    json_dumpf(record, stdout, JSON_INDENT(1));
    putchar('\n');
    json_decref(record);
}

static void check_cpus(struct doctor *doctor, const struct session *session)
{
    char text[2048];
    unsigned cpus = bind_cpu_count(session->topology);
    double quota = bind_cpu_quota();
    doctor_report(doctor, FINDING_OK, NULL, "CPUs: %s",
                  bind_topology_summary(session->topology, text, sizeof text));
    doctor_report(doctor, FINDING_OK, NULL, "binding: %s",
                  bind_describe(session->topology, BIND_NEAR, text, sizeof text));
    if (quota > 0 && quota < cpus)
        doctor_report(doctor, FINDING_WARNING,
                      "give the container as many CPUs as it shows, or fewer workers",
                      "CPU quota: %.3g of the %u CPUs that this container shows", quota, cpus);
    if (cpus < 8 && !session->emulated)
        doctor_report(
            doctor, FINDING_WARNING,
            "expect layouts with more workers than CPUs to be limited by them; try --schedule "
            "block",
            "CPUs: only %u", cpus);
    static uint64_t turns[CPU_SETSIZE];
    host_work_turns_per_ms(turns, CPU_SETSIZE);
    doctor_check_speeds(doctor, turns, CPU_SETSIZE);
}

static void check_gnuplot(struct doctor *doctor)
{
    const char *const argv[] = {"gnuplot", "--version", NULL};
    const struct child_options options = {
        .argv = argv, .output_cap = 256, .deadline_ns = clock_now_ns() + 10 * NS_PER_S};
    struct child_result result;
    char ending[64];
    if (child_run(&options, &result) != STATUS_OK) {
        doctor_report(doctor, FINDING_WARNING, "apt-get install gnuplot-nox", "plots: no gnuplot");
        return;
    }
    result.output[strcspn(result.output, "\n")] = '\0';
    if (result.wait_status == 0)
        doctor_report(doctor, FINDING_OK, NULL, "plots: %s", result.output);
    else
        doctor_report(doctor, FINDING_WARNING, "'gnuplot --version' shows why",
                      "plots: gnuplot does not run: %s",
                      child_ending_text(result.wait_status, ending, sizeof ending));
    child_result_release(&result);
}

static void check_daemons(struct doctor *doctor)
{
    static struct doctor_daemons daemons;
    if (doctor_daemons_find("", &daemons) != STATUS_OK) {
        doctor_report(doctor, FINDING_WARNING, "as root: mount -t proc proc /proc",
                      "MPS daemons: %s", status_text());
        return;
    }
    doctor_daemons_add_kept(&daemons);
    doctor_check_daemons(doctor, &daemons);
}

static bool is_emulated(const char *device)
{
    return device && strcmp(device, "emulated") == 0;
}

/* Reports why there is no session. A private directory without a place looks like a GPU that cannot
 * be used, and is reported with the directory. */
static void check_unopened(struct doctor *doctor, const char *device, enum status status)
{
    struct mps_directory directory;
    struct status_saved error;
    status_save(status, &error);
    if (mps_directory_make(&directory) != STATUS_OK) {
        doctor_check_directory(doctor, NULL, status_text());
        return;
    }
    doctor_report(doctor, FINDING_PROBLEM,
                  is_emulated(device)
                      ? "build or install mpsweep again: the emulated GPU is a part of it"
                  : status == STATUS_NOT_FOUND
                      ? "install the NVIDIA driver, or use --device emulated to try mpsweep out"
                      : "'nvidia-smi' shows the GPUs and their state",
                  "GPU: %s", error.text);
    doctor_check_directory(doctor, directory.path, NULL);
    if (mps_directory_remove(&directory) != STATUS_OK)
        doctor_report(doctor, FINDING_PROBLEM, "see what is in it, and remove it by hand",
                      "cleaning up: %s", status_text());
}

static void check_mps_limits(struct doctor *doctor, const struct session *session)
{
    char text[512];
    enum status status = mps_limits_describe(session, text, sizeof text);
    doctor_report(doctor,
                  status == STATUS_OK || status == STATUS_NOT_FOUND ? FINDING_OK : FINDING_WARNING,
                  "find them again: mpsweep doctor --limits", "MPS limits: %s", text);
}

static void check_mps(struct doctor *doctor, struct session *session, bool finds_limits)
{
    bool programs = doctor_check_mps_programs(doctor, session);
    doctor_check_mps_environment(doctor);
    /* Before we start one of our own. */
    check_daemons(doctor);
    doctor_check_directory(doctor, daemons_at(session->daemons, 0)->directory, NULL);
    if (programs)
        doctor_check_mps_start(doctor, session);
    if (!finds_limits)
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

static int check_all(const char *device, bool finds_limits, bool json)
{
    struct doctor doctor = {.out = stdout, .findings = json ? json_array() : NULL};
    const struct machine_container container = machine_container_read("");
    struct session session;
    const struct session_request request = {.device = device};
    enum status status = session_open(&request, &session);
    if (status == STATUS_OK) {
        doctor_check_gpu(&doctor, &session, container.kind != NULL);
        end_group(&doctor);
        check_mps(&doctor, &session, finds_limits);
    } else {
        check_unopened(&doctor, device, status);
        end_group(&doctor);
        doctor_check_mps_environment(&doctor);
        check_daemons(&doctor);
    }
    end_group(&doctor);
    check_machine(&doctor, &container, is_emulated(device) || session.emulated);
    if (status == STATUS_OK) {
        check_cpus(&doctor, &session);
        if (session_close(&session) != STATUS_OK)
            doctor_report(&doctor, FINDING_PROBLEM,
                          "end what it names, and run mpsweep doctor again", "cleaning up: %s",
                          status_text());
    }
    check_gnuplot(&doctor);
    end_group(&doctor);
    if (doctor.findings)
        print_json(&doctor);
    else
        print_sum(&doctor);
    json_decref(doctor.findings);
    return doctor.problems ? EXIT_BAD_SETUP : EXIT_ALL_MEASURED;
}

int doctor_command(const struct invocation *invocation)
{
    const char *device = options_text(invocation->options, OPTION_ONE_DEVICE);
    bool finds_limits = options_switch(invocation->options, OPTION_FIND_LIMITS);
    bool json = strcmp(options_text(invocation->options, OPTION_DOCTOR_FORMAT), "json") == 0;
    if (json && finds_limits)
        return report(status_set(STATUS_USAGE, "'--limits' prints a table, and not JSON: give "
                                               "either it or '--format json'"));
    enum status status = device_choice_check_single(device, "doctor");
    if (status != STATUS_OK)
        return report(status);
    int result = check_all(device, finds_limits, json);
    if (result == EXIT_ALL_MEASURED && finds_limits)
        result = doctor_find_limits(device);
    return result;
}
