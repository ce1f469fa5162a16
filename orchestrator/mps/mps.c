#include "orchestrator/mps/internal.h"

#include <stdio.h>
#include <string.h>

#include "common/clock.h"
#include "common/shell_word.h"
#include "common/text.h"
#include "mps/kept.h"
#include "orchestrator/console/report.h"

/* A directory's name, as text_displayed() makes it. */
#define DIRECTORY_SHOWN (3 * MPS_DIRECTORY_MOST + 1)

static enum status read_settings(const struct options *options, struct mps_settings *out)
{
    mps_settings_init(out);
    out->active_thread_percentage = options_real(options, OPTION_MPS_PERCENTAGE);
    if (options_text(options, OPTION_MPS_PRIORITY))
        out->priority = (int)options_integer(options, OPTION_MPS_PRIORITY);
    const char *memory = options_text(options, OPTION_MPS_MEMORY);
    const char *partitions = options_text(options, OPTION_MPS_STATIC);
    if (partitions && out->active_thread_percentage > 0.0)
        return status_set(STATUS_USAGE, "clients of static partitions have no active thread "
                                        "percentage: give --static or "
                                        "--active-thread-percentage");
    enum status status = memory ? mps_settings_add_memory(out, memory) : STATUS_OK;
    if (status == STATUS_OK && partitions)
        status = mps_settings_add_partitions(out, partitions);
    return status;
}

const char *mps_command_gpu(const struct options *options, const struct session *session)
{
    return options_text(options, OPTION_MPS_GPU) && !session->emulated
               ? gpu_at(session->gpus, 0)->uuid
               : NULL;
}

struct mps_controller *mps_command_daemon(const struct session *session)
{
    return daemons_at(session->daemons, 0);
}

enum status mps_command_open(const struct options *options, struct session *out)
{
    struct mps_settings settings;
    const struct session_request request = {
        .device = options_text(options, OPTION_MPS_GPU),
        .directory = options_text(options, OPTION_MPS_DIR),
        .single = "--device",
    };
    enum status status = read_settings(options, &settings);
    if (status == STATUS_OK)
        status = session_open(&request, out);
    if (status != STATUS_OK)
        return status;
    if (out->emulated_by_default)
        report_notice("no NVIDIA driver here: the MPS daemon is the EMULATED one, which serves the "
                      "emulated GPU only ('--device emulated' asks for it)");
    status = session_watch_signals(out);
    if (status == STATUS_OK)
        status = mps_controller_daemon_start(mps_command_daemon(out), mps_command_gpu(options, out),
                                             &settings);
    if (status == STATUS_OK)
        status = session_check_signals(out);
    return session_close_on_error(out, status);
}

enum status mps_command_environment(const char *directory, const char *gpu,
                                    struct mps_environment *out)
{
    char pipes[MPS_ENVIRONMENT_TEXT], log[MPS_ENVIRONMENT_TEXT];
    snprintf(pipes, sizeof pipes, "%s/mps", directory);
    snprintf(log, sizeof log, "%s/log", directory);
    if (!mps_environment_make(pipes, log, gpu, out))
        return status_set(STATUS_SYSTEM, "'%s' is too long for an environment", directory);
    return STATUS_OK;
}

static void print_settings(const struct options *options)
{
    const char *priority = options_text(options, OPTION_MPS_PRIORITY);
    const char *memory = options_text(options, OPTION_MPS_MEMORY);
    char line[256];
    struct text text = {.at = line, .size = sizeof line};
    if (options_text(options, OPTION_MPS_PERCENTAGE))
        text_append(&text, ", active threads %.1f%%", options_real(options, OPTION_MPS_PERCENTAGE));
    if (priority)
        text_append(&text, ", priority %s", priority);
    if (text.length || memory)
        printf("  settings  %s%s%s (read back)\n", text.length ? line + 2 : "",
               memory ? text.length ? ", memory " : "memory " : "", memory ? memory : "");
}

void mps_command_print_partitions(const char *indent, const struct mps_partition_row *rows,
                                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        printf("%spartition  " MPS_PARTITION_VARIABLE "=%s: %u chunk%s, %u multiprocessors%s\n",
               indent, rows[i].name, rows[i].chunks, rows[i].chunks == 1 ? "" : "s", rows[i].sms,
               rows[i].used ? ", in use" : "");
}

/* Daemons that were there before. */
struct others {
    unsigned count;
    char directory[MPS_DIRECTORY_MOST + 1]; /* of the first */
};

static void count_other(void *data, const char *directory, const struct mps_state *state)
{
    struct others *others = data;
    (void)state;
    if (others->count++ == 0)
        snprintf(others->directory, sizeof others->directory, "%s", directory);
}

static void print_others(const struct others *others)
{
    char shown[DIRECTORY_SHOWN];
    text_displayed(others->directory, shown, sizeof shown);
    if (others->count == 1)
        printf("  beside    another daemon of mpsweep runs in %s: give 'mps status' --dir\n",
               shown);
    else if (others->count > 1)
        printf("  beside    %u other daemons of mpsweep run, as in %s: give 'mps status' --dir\n",
               others->count, shown);
}

static void print_started(const struct options *options, const struct session *session,
                          const struct mps_partition_row *partitions, size_t count,
                          const struct others *others)
{
    const struct worker_probe *probe = &mps_command_daemon(session)->probe;
    const char *directory = mps_command_daemon(session)->directory;
    const char *gpu = options_text(options, OPTION_MPS_GPU);
    char shown[DIRECTORY_SHOWN];
    printf("an MPS daemon (process %d) runs in %s\n", (int)mps_command_daemon(session)->daemon,
           text_displayed(directory, shown, sizeof shown));
    printf("  GPU       %s%s\n", gpu ? gpu_at(session->gpus, 0)->name : "all",
           session->emulated ? " (emulated)" : "");
    print_settings(options);
    printf("  ready     a probe was its client: %d of %d multiprocessors, %.1f GiB free\n",
           (int)probe->sms, (int)gpu_at(session->gpus, 0)->sms,
           (double)probe->memory_free_bytes / (double)(1 << 30));
    mps_command_print_partitions("  ", partitions, count);
    print_others(others);
    fputs("  use it    eval \"$(mpsweep mps env --dir ", stdout);
    shell_word_write(stdout, directory);
    fputs(")\"\n  stop it   mpsweep mps stop --dir ", stdout);
    shell_word_write(stdout, directory);
    putchar('\n');
}

int mps_command_start(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    struct mps_partition_row partitions[MPS_SETTINGS_PARTITIONS];
    size_t count = 0;
    struct session session;
    struct others others = {0};
    mps_kept_each(count_other, &others);
    enum status status = mps_command_open(options, &session);
    if (status != STATUS_OK)
        return report(status);
    if (options_text(options, OPTION_MPS_STATIC))
        status =
            mps_control_partitions(&mps_command_daemon(&session)->control, clock_now_ns() + ASK_NS,
                                   partitions, MPS_SETTINGS_PARTITIONS, &count);
    if (status == STATUS_OK)
        status = mps_controller_detach(mps_command_daemon(&session), 0);
    if (status == STATUS_OK)
        print_started(options, &session, partitions, count, &others);
    int result = report(status);
    if (session_close(&session) != STATUS_OK)
        result = report(STATUS_SYSTEM);
    return result;
}

/* Prints its clients, for the user who must decide. */
static void list_clients(const struct mps_kept *kept)
{
    char pipe_directory[MPS_DIRECTORY_MOST + 8];
    struct mps_client_row rows[ASK_CLIENTS];
    size_t count = 0;
    snprintf(pipe_directory, sizeof pipe_directory, "%s/mps", kept->directory);
    const struct mps_control control = {.program = kept->state.control_program,
                                        .pipe_directory = pipe_directory};
    if (mps_control_clients_table(&control, clock_now_ns() + ASK_NS, rows, ASK_CLIENTS, &count) !=
        STATUS_OK)
        return;
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, "  %-8d %s\n", (int)rows[i].pid, rows[i].command);
}

int mps_command_stop(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    struct mps_kept kept;
    enum status status = mps_kept_find(options_text(options, OPTION_MPS_DIR), &kept);
    if (status == STATUS_OK)
        status = mps_kept_stop(&kept, options_switch(options, OPTION_MPS_FORCE));
    if (status == STATUS_BUSY) {
        fprintf(stderr, "mpsweep: %s; end its clients, or give --force:\n", status_text());
        list_clients(&kept);
        return EXIT_BAD_SETUP;
    }
    return report(status);
}

/* Prints an assignment for a POSIX shell to eval. */
static void print_assignment(const char *assignment)
{
    size_t name = strcspn(assignment, "=");
    printf("export %.*s=", (int)name, assignment);
    shell_word_quote(stdout, assignment + name + 1);
    putchar('\n');
}

int mps_command_env(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    struct mps_kept kept;
    struct mps_environment environment;
    enum status status = mps_kept_find(options_text(options, OPTION_MPS_DIR), &kept);
    if (status == STATUS_OK && !kept.running)
        status =
            status_set(STATUS_SYSTEM,
                       "the MPS daemon in '%s' has ended%s%s: 'mpsweep mps stop --dir %s' clears "
                       "it away",
                       kept.directory, *kept.ending ? ": " : "", kept.ending, kept.directory);
    if (status == STATUS_OK)
        status = mps_command_environment(kept.directory, kept.state.gpu, &environment);
    if (status != STATUS_OK) {
        /* eval of nothing would go well, and what follows run without MPS. */
        puts("false");
        return report(status);
    }
    for (size_t i = 0; environment.set[i]; i++)
        print_assignment(environment.set[i]);
    for (const char **name = environment.unset; *name; name++)
        if (strcmp(*name, "CUDA_MPS_PIPE_DIRECTORY") != 0 &&
            strcmp(*name, "CUDA_MPS_LOG_DIRECTORY") != 0)
            printf("unset %s\n", *name);
    return EXIT_ALL_MEASURED;
}
