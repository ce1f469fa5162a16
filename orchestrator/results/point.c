#include "orchestrator/results/point.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/json.h"
#include "orchestrator/results/rate.h"
#include "orchestrator/plan/shares.h"

/* More than that is no number of GPUs of a machine. */
#define GPUS_MOST 1024

/* The point's field, and how a value of it reads. */
static const struct {
    const char *field;
    const char *form; /* %s stands for the value; NULL: see point_setting_text() */
} settings[POINT_SETTINGS] = {
    [POINT_GPUS] = {"gpus", NULL},
    [POINT_MPS_DAEMONS] = {"mps_daemons", NULL},
    [POINT_MEMORY] = {"memory", "%s"},
    [POINT_SYNC] = {"sync", NULL},
    [POINT_LAUNCH] = {"launch", "%s launch"},
    [POINT_CONNECTIONS] = {"connections", NULL},
    [POINT_ACTIVE_THREADS] = {"active_thread_percentage", "%s% active threads"},
    [POINT_PRIORITY] = {"priority", "priority %s"},
    [POINT_MEMORY_LIMIT] = {"memory_limit", "memory limit %s"},
    [POINT_SCHEDULE] = {"schedule", "schedule %s"},
    [POINT_BIND] = {"bind", "bind %s"},
    [POINT_WORKLOAD] = {"workload", "%s"},
    [POINT_WORKLOAD_OPTIONS] = {"workload_options", "options '%s'"},
    [POINT_KERNELS] = {"kernels", "%s kernels"},
    [POINT_BLOCKS] = {"blocks", "%s blocks"},
    [POINT_BLOCK_THREADS] = {"threads_per_block", "%s threads a block"},
    [POINT_SPIN] = {"spin", "spin %s"},
    [POINT_DELAY] = {"delay_cycles", "%s cycles"},
    [POINT_BYTES] = {"bytes", NULL},
    [POINT_RATE] = {"rate", NULL},
};

const char *const point_layouts[] = {
    "threads", "processes", "processes+mps", "threads+mps", "hybrid", "hybrid-timesliced",
};
const int point_layout_count = sizeof point_layouts / sizeof *point_layouts;

const char *point_setting_field(enum point_setting setting)
{
    return settings[setting].field;
}

unsigned point_gpus_of(const json_t *point)
{
    json_int_t gpus = integer_at(point, "gpus");
    return gpus >= 1 && gpus <= GPUS_MOST ? (unsigned)gpus : 1;
}

static void bytes_text(json_int_t bytes, char text[POINT_TEXT_BYTES])
{
    double value = (double)bytes;
    const char *unit = "B";
    static const char *const units[] = {"KiB", "MiB", "GiB"};
    for (size_t i = 0; i < 3 && value >= 1024; i++) {
        value /= 1024;
        unit = units[i];
    }
    snprintf(text, POINT_TEXT_BYTES, "%.4g %s each way", value, unit);
}

bool point_rate_is_searched(const json_t *point)
{
    const json_t *rate = json_object_get(point, "rate");
    return json_object_get(rate, "search") != NULL || json_object_get(rate, "goal") != NULL;
}

static void plain_text(const json_t *value, bool sizes, char *text, size_t bytes)
{
    *text = '\0';
    if (json_is_array(value) || sizes)
        shares_json_text(value, sizes, text, bytes);
    else if (json_is_integer(value))
        snprintf(text, bytes, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_string(value))
        snprintf(text, bytes, "%.30s", json_string_value(value));
}

/* Of settings that have a value of one word and no form. */
static void special_text(const json_t *point, enum point_setting setting, const char *plain,
                         char text[POINT_TEXT_BYTES])
{
    bool choice = strcmp(text_at(point, "memory"), "pageable") == 0 &&
                  strcmp(text_at(point, "launch"), "graph") != 0;
    if (setting == POINT_GPUS && point_gpus_of(point) > 1)
        snprintf(text, POINT_TEXT_BYTES, "%s GPUs", plain);
    else if (setting == POINT_MPS_DAEMONS)
        snprintf(text, POINT_TEXT_BYTES, "%s",
                 strcmp(plain, "per-gpu") == 0 ? "a daemon a GPU" : "one daemon");
    else if (setting == POINT_BYTES)
        bytes_text(integer_at(point, "bytes"), text);
    else if (setting == POINT_SYNC && choice)
        /* Only a pageable copy out after single launches has this choice. */
        snprintf(text, POINT_TEXT_BYTES, "%s", strcmp(plain, "none") == 0 ? "no sync" : "sync");
    else if (setting == POINT_CONNECTIONS &&
             json_is_true(json_object_get(point, "connections_default")))
        snprintf(text, POINT_TEXT_BYTES, "%s", POINT_DEFAULT_CONNECTIONS);
    else if (setting == POINT_CONNECTIONS)
        snprintf(text, POINT_TEXT_BYTES, "%s connections", plain);
}

void point_setting_text(const json_t *point, enum point_setting setting,
                        char text[POINT_TEXT_BYTES])
{
    const json_t *value = json_object_get(point, settings[setting].field);
    const char *form = settings[setting].form;
    const char *mark = form != NULL ? strstr(form, "%s") : NULL;
    char plain[POINT_TEXT_BYTES / 2];
    text[0] = '\0';
    if (setting == POINT_RATE) {
        if (json_is_object(value))
            rate_asked(value, text, POINT_TEXT_BYTES);
        return;
    }
    plain_text(value, setting == POINT_MEMORY_LIMIT, plain, sizeof plain);
    if (plain[0] == '\0')
        return;
    if (mark == NULL)
        special_text(point, setting, plain, text);
    else
        snprintf(text, POINT_TEXT_BYTES, "%.*s%s%s", (int)(mark - form), form, plain, mark + 2);
}

int point_layout(const json_t *point)
{
    const char *name = text_at(point, "layout");
    int i = 0;
    while (i < point_layout_count && strcmp(point_layouts[i], name) != 0)
        i++;
    return i;
}

void point_name(const json_t *point, char text[POINT_TEXT_BYTES])
{
    snprintf(text, POINT_TEXT_BYTES, "%.20s %" JSON_INTEGER_FORMAT "×%" JSON_INTEGER_FORMAT,
             text_at(point, "layout"), integer_at(point, "processes"),
             integer_at(point, "threads"));
}

bool point_is_measured(const json_t *point)
{
    const char *status = text_at(point, "status");
    return (strcmp(status, "ok") == 0 || strcmp(status, "unconverged") == 0) &&
           number_at(point, "throughput_ips") >= 0;
}

const char *point_failure(const json_t *point, char text[POINT_FAILURE_TEXT])
{
    const char *status = text_at(point, "status"), *error = text_at(point, "error");
    bool more = *error && strcmp(error, status) != 0;
    snprintf(text, POINT_FAILURE_TEXT, "%s%s%s", status, more ? ": " : "", more ? error : "");
    return text;
}
