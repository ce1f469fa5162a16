/* README.md of a deployment: what it was made from, how to run it, what it cannot set. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "config.h"
#include "common/paths.h"
#include "common/text.h"
#include "orchestrator/emit/internal.h"
#include "orchestrator/results/point.h"
#include "orchestrator/plan/settings.h"

void emit_origin_write(FILE *file, const struct deployment *deployment)
{
    fprintf(file, "# Written by " PACKAGE_STRING " emit from point %lld of '",
            (long long)integer_at(deployment->request->point, "id"));
    emit_plain(file, path_file_name(deployment->request->results));
    fputs("': ", file);
    deployment_write_layout(deployment, file);
    fputs(".\n", file);
    if (deployment->emulated)
        fputs("# MEASURED ON THE EMULATED GPU: its figures do not describe hardware.\n", file);
}

static void write_row(FILE *file, const char *name, const char *value)
{
    fprintf(file, "| %s | ", name);
    emit_plain(file, *value ? value : "not known");
    fputs(" |\n", file);
}

static void write_percent(FILE *file, double share)
{
    if (isnan(share))
        fputs(", interval not known", file);
    else
        fprintf(file, " ±%.1f%% (95%%)", 100 * share);
}

static void write_figures(FILE *file, const struct deployment *deployment)
{
    const json_t *point = deployment->request->point;
    const json_t *latency = json_object_get(point, "latency_us");
    char text[32];
    fprintf(file, "| throughput | %s iterations/s",
            text_number(number_at(point, "throughput_ips"), text, sizeof text));
    write_percent(file, number_at(point, "ci95_rel"));
    fprintf(file, ", %zu round(s), %s%s |\n", json_array_size(json_object_get(point, "rounds")),
            text_at(point, "status"), deployment->emulated ? ", EMULATED" : "");
    if (json_is_number(json_object_get(latency, "p50")) &&
        json_is_number(json_object_get(latency, "p99")))
        fprintf(file, "| latency | p50 %.3f ms, p99 %.3f ms |\n", number_at(latency, "p50") / 1e3,
                number_at(latency, "p99") / 1e3);
}

/* What only the program itself can do. */
static void write_own_part(FILE *file, const struct deployment *deployment)
{
    static const enum option_id settings[] = {OPTION_MEMORY, OPTION_SYNC, OPTION_LAUNCH,
                                              OPTION_SCHEDULE, OPTION_BIND};
    static const char *const meaning[] = {
        "host memory of the buffers (cuMemHostAlloc for pinned)",
        "whether the stream is synchronised before a pageable copy out",
        "kernels launched one by one, or the whole iteration as one CUDA graph",
        "how a thread waits for the GPU (cuDevicePrimaryCtxSetFlags, cudaSetDeviceFlags)",
        "each thread on a CPU of its own: this deployment binds processes, not threads",
    };
    char key[SETTING_KEY_BYTES];
    const json_t *point = deployment->request->point;
    fputs("\n## What your program must do itself\n\n"
          "A deployment sets processes, environment and CPUs. The figures above also came from\n"
          "these, which are the program's own:\n\n"
          "| setting | measured with | what it is |\n|---|---|---|\n",
          file);
    fprintf(file, "| threads | %u | CUDA streams of each process; `MPSWEEP_THREADS` has it |\n",
            deployment->threads);
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        const char *field = setting_key(&option_table[settings[i]], key);
        const char *value = text_at(point, field);
        if (!*value)
            continue;
        fprintf(file, "| %s | ", field);
        emit_plain(file, value);
        fprintf(file, " | %s |\n", meaning[i]);
    }
}

static void write_command(FILE *file, const struct deployment *deployment)
{
    if (!deployment->has_command) {
        fputs(
            "\n**EDIT ME: no command was given, so nothing runs yet.** Every place that needs one\n"
            "has `" DEPLOYMENT_EDIT_ME "`; start and check refuse until it is replaced.\n",
            file);
        return;
    }
    /* As JSON: one line whatever is in it. */
    json_t *words = json_array();
    for (size_t i = 0; deployment->command[i]; i++)
        json_array_append_new(words, json_string(deployment->command[i]));
    char *text = json_dumps(words, JSON_ENSURE_ASCII);
    fprintf(file, "\nThe command of each worker, with its placeholders:\n\n    %s\n",
            text ? text : "");
    free(text);
    json_decref(words);
}

void emit_readme_write(FILE *file, const struct deployment *deployment, emit_writer *usage)
{
    const struct emit_request *request = deployment->request;
    const json_t *gpu = json_object_get(request->header, "gpu");
    char text[128];
    fprintf(file, "# %s: ", deployment->name);
    deployment_write_layout(deployment, file);
    fputs("\n\n", file);
    if (deployment->emulated)
        fputs("> **EMULATED.** The figures come from mpsweep's emulated GPU. They are no\n"
              "> evidence about hardware, and the UUID does not belong to a real GPU: measure on the\n"
              "> machine in question.\n\n",
              file);
    fprintf(file,
            "%u worker process%s of %u thread%s each%s. Written by " PACKAGE_STRING " as `%s`.\n",
            deployment->processes, deployment->processes == 1 ? "" : "es", deployment->threads,
            deployment->threads == 1 ? "" : "s",
            deployment->daemons > 1 ? ", clients of an MPS daemon for each GPU"
            : deployment->mps       ? ", clients of an MPS daemon of their own"
                                    : ", without MPS",
            request->format);
    write_command(file, deployment);
    fputs("\n## Made from\n\n| | |\n|---|---|\n", file);
    write_row(file, "results", path_file_name(request->results));
    snprintf(text, sizeof text, "%lld%s%s", (long long)integer_at(request->point, "id"),
             request->chosen ? ", " : "", request->chosen ? request->chosen : "");
    write_row(file, "point", text);
    write_row(file, "layout", text_at(request->point, "layout"));
    if (*text_at(request->point, "workload"))
        write_row(file, "workload", text_at(request->point, "workload"));
    write_figures(file, deployment);
    write_row(file, "GPU", text_at(gpu, "name"));
    for (unsigned g = 0; g < deployment->gpu_count; g++)
        write_row(file, deployment->gpu_count == 1 ? "its UUID" : "a UUID", deployment->gpus[g]);
    write_row(file, "driver", text_at(request->header, "driver"));
    write_row(file, "machine", text_at(request->header, "host"));
    write_row(file, "processors", text_at(request->header, "topology"));
    write_row(file, "measured", text_at(request->header, "started"));
    fputs("\n## Start, check, stop\n\n", file);
    usage(file, deployment, 0);
    if (deployment->cpus_unknown)
        fputs("\nThe workers are **not bound** to CPUs: the results file has only the begin of a\n"
              "long list of them.\n",
              file);
    write_own_part(file, deployment);
    fputs("\nWorkers have `CUDA_MODULE_LOADING=EAGER`, as when they were measured: modules are "
          "loaded\n"
          "before the first launch. A program with large libraries may start faster without it.\n",
          file);
}
