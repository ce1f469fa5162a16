#include "orchestrator/emit/emit.h"

#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "orchestrator/emit/request.h"
#include "orchestrator/console/report.h"
#include "orchestrator/results/point.h"

const char *emit_command_lacks(const struct options *options, const char *results)
{
    if (!results)
        return "a results file";
    if (!options_text(options, OPTION_EMIT_FORMAT))
        return "--format, one of env, systemd, slurm, kubernetes, compose, json";
    return options_text(options, OPTION_EMIT_OUTPUT) ? NULL : "--output DIR";
}

void emit_tell(FILE *out, const struct emit_request *request)
{
    char name[POINT_TEXT_BYTES], number[32], gpus[32] = "";
    point_name(request->point, name);
    if (point_gpus_of(request->point) > 1)
        snprintf(gpus, sizeof gpus, " on each of %u GPUs", point_gpus_of(request->point));
    fprintf(out, "point %lld (%s): %s%s, %s iterations/s\n",
            (long long)point_integer(request->point, "id"), request->chosen, name, gpus,
            text_number(point_number(request->point, "throughput_ips"), number, sizeof number));
    if (json_is_true(json_object_get(json_object_get(request->header, "gpu"), "emulated")))
        fputs("EMULATED GPU: it was measured on no hardware, and its UUID is none of a GPU\n", out);
    if (!request->command)
        fputs("no command was given: it is to be put where the files say EDIT-ME\n", out);
    fprintf(out, "'%s' is written: its README.md says how to start, check and stop it\n",
            request->directory);
}

int emit_command(const struct options *options, const char *path, char *const *command)
{
    struct results results = {0};
    char chosen[128];
    bool asked = options_text(options, OPTION_EMIT_POINT) != NULL;
    struct emit_request request = {
        .results = path,
        .chosen = chosen,
        .format = options_text(options, OPTION_EMIT_FORMAT),
        .directory = options_text(options, OPTION_EMIT_OUTPUT),
        .command = command,
        .port = options_integer(options, OPTION_EMIT_PORT),
        .image = options_text(options, OPTION_EMIT_IMAGE),
    };
    enum status status = emit_check(request.format, request.directory, command);
    if (status == STATUS_OK)
        status = results_load(path, &results);
    if (status == STATUS_OK)
        status = emit_pick(&results, path, asked ? options_integer(options, OPTION_EMIT_POINT) : -1,
                           &request.point, chosen, sizeof chosen);
    if (status == STATUS_OK) {
        request.header = results.header;
        status = emit_write(&request);
    }
    if (status == STATUS_OK)
        emit_tell(stdout, &request);
    int result = report(status);
    results_release(&results);
    return result;
}
