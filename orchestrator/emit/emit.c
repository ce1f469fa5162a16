#include "orchestrator/emit/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "files/results_read.h"
#include "orchestrator/console/report.h"
#include "orchestrator/emit/choose.h"
#include "orchestrator/emit/warnings.h"
#include "orchestrator/results/origin.h"
#include "orchestrator/results/point.h"

static void print_warnings(const struct emit_request *request)
{
    json_t *warnings = emit_warnings(request);
    const json_t *warning;
    size_t index;
    json_array_foreach(warnings, index, warning)
    {
        fprintf(stderr, "mpsweep: warning: %s\n", json_string_value(warning));
    }
    json_decref(warnings);
}

static void print_skipped(FILE *out, const struct emit_request *request)
{
    char name[POINT_TEXT_BYTES], number[32];
    for (size_t i = 0; i < request->skipped_count; i++) {
        const struct emit_skipped *one = &request->skipped[i];
        point_name(one->point, name);
        fprintf(out, "better, but not taken: point %lld (%s, %s iterations/s) %s\n",
                (long long)integer_at(one->point, "id"), name,
                text_number(number_at(one->point, "throughput_ips"), number, sizeof number),
                one->reason);
    }
    if (request->skipped_more > 0)
        fprintf(out, "better, but not taken: %zu more\n", request->skipped_more);
}

static void print_no_command(FILE *out, const struct emit_request *request)
{
    const json_t *measured = json_object_get(json_object_get(request->header, "workload"), "argv");
    char *words = json_is_array(measured) ? json_dumps(measured, JSON_ENSURE_ASCII) : NULL;
    fprintf(out, "no command was given%s%s: put it where the files have EDIT-ME\n",
            words ? ", and measured was " : "", words ? words : "");
    free(words);
}

void emit_report(FILE *out, const struct emit_request *request)
{
    char name[POINT_TEXT_BYTES], number[32], gpus[32] = "";
    point_name(request->point, name);
    if (point_gpus_of(request->point) > 1)
        snprintf(gpus, sizeof gpus, " on each of %u GPUs", point_gpus_of(request->point));
    fprintf(out, "point %lld (%s): %s%s, %s iterations/s\n",
            (long long)integer_at(request->point, "id"), request->chosen, name, gpus,
            text_number(number_at(request->point, "throughput_ips"), number, sizeof number));
    print_skipped(out, request);
    print_warnings(request);
    if (origin_is_emulated(request->header))
        fputs("EMULATED GPU: it was not measured on hardware, and the UUID does not belong to a "
              "real GPU\n",
              out);
    if (!request->command)
        print_no_command(out, request);
    fprintf(out, "'%s' is written: its README.md describes how to start, check and stop it\n",
            request->directory);
}

int emit_command(const struct invocation *invocation)
{
    const struct options *options = invocation->options;
    const char *path = invocation->operands[0];
    struct results results = {0};
    struct emit_choice choice;
    json_t *header = NULL;
    bool asked = options_text(options, OPTION_EMIT_POINT) != NULL;
    struct emit_request request = {
        .results = path,
        .format = options_text(options, OPTION_EMIT_TARGET),
        .directory = options_text(options, OPTION_EMIT_OUTPUT),
        .command = invocation->rest,
        .port = options_integer(options, OPTION_EMIT_PORT),
        .image = options_text(options, OPTION_EMIT_IMAGE),
    };
    const struct emit_rules rules = {
        .point = asked ? options_integer(options, OPTION_EMIT_POINT) : -1,
        .max_p99_us = 1e6 * options_real(options, OPTION_MAX_P99),
    };
    enum status status = emit_check(request.format, request.directory, request.command);
    if (status == STATUS_OK)
        status = results_load(path, NULL, &results);
    if (status == STATUS_OK)
        status = results_refuse_probes(&results, path);
    if (status == STATUS_OK)
        status = emit_choose(&results, path, &rules, &choice);
    if (status == STATUS_OK) {
        request.point = choice.point;
        request.chosen = choice.why;
        request.skipped = choice.skipped;
        request.skipped_count = choice.skipped_count;
        request.skipped_more = choice.skipped_more;
        request.header = header = origin_header_of(results.header, choice.point);
        status = header ? emit_write(&request) : status_set(STATUS_MEMORY, "out of memory");
    }
    if (status == STATUS_OK)
        emit_report(stdout, &request);
    int result = report(status);
    json_decref(header);
    results_release(&results);
    return result;
}
