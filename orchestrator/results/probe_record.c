#include "orchestrator/results/probe_record.h"

#include <math.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/results/origin.h"

#define CELL 96

const json_t *probe_arm_own_control(const json_t *record, const json_t *arm)
{
    const char *name = text_at(json_object_get(record, "effect"), "control_metric");
    const json_t *metric;
    size_t index;
    json_array_foreach(json_object_get(arm, "metrics"), index, metric)
    {
        if (strcmp(text_at(metric, "metric"), name) == 0)
            return metric;
    }
    return NULL;
}

static const struct {
    const char *title;
    enum columns_side side;
} titles[] = {
    {"arm", COLUMNS_LEFT},      {"", COLUMNS_LEFT},          {"median", COLUMNS_RIGHT},
    {"95%", COLUMNS_RIGHT},     {"p99", COLUMNS_RIGHT},      {"blocked", COLUMNS_RIGHT},
    {"control", COLUMNS_RIGHT}, {"× control", COLUMNS_LEFT}, {"verdict", COLUMNS_LEFT},
    {"limit", COLUMNS_LEFT},
};

/* A duration with its unit, three digits: "3.02 µs". */
static const char *duration(double us, char *out, size_t size)
{
    double value = us;
    const char *unit = "µs";
    if (us >= 999500) {
        value = us / 1e6;
        unit = "s";
    } else if (us >= 999.5) {
        value = us / 1e3;
        unit = "ms";
    }
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    if (isnan(us))
        snprintf(out, size, "-");
    else
        snprintf(out, size, "%.*f %s", decimals, value, unit);
    return out;
}

/* A ratio with three digits. */
static const char *ratio(double value, char *out, size_t size)
{
    int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    if (isnan(value))
        snprintf(out, size, "-");
    else
        snprintf(out, size, "%.*f", decimals, value);
    return out;
}

static const char *ratios(double low, double high, char *out, size_t size)
{
    char a[20], b[20];
    snprintf(out, size, "%s to %s", ratio(low, a, sizeof a), ratio(high, b, sizeof b));
    return out;
}

/* "3 of 9", of an arm or one of its metrics; "" where none was blocked. */
static const char *blocked_text(const json_t *object, char *out, size_t size)
{
    json_int_t blocked = integer_at(object, "blocked");
    *out = '\0';
    if (blocked > 0)
        snprintf(out, size, "%" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT, blocked,
                 integer_at(object, "samples"));
    return out;
}

static void add_row(struct columns *table, const json_t *record, const json_t *arm)
{
    const json_t *control = probe_arm_own_control(record, arm);
    char a[32], b[32], text[CELL];
    const char *error = text_at(arm, "error");
    columns_cell(table, "%s", text_at(arm, "arm"));
    columns_cell(table, "%s", text_at(arm, "what"));
    columns_cell(table, "%s", duration(number_at(arm, "median_us"), a, sizeof a));
    if (*error) {
        columns_end_row_with(table, "%s: %s", text_at(arm, "status"), error);
        return;
    }
    if (isnan(number_in(arm, "ci95_us", 0)))
        columns_cell(table, "-");
    else
        columns_cell(table, "%s to %s", duration(number_in(arm, "ci95_us", 0), a, sizeof a),
                     duration(number_in(arm, "ci95_us", 1), b, sizeof b));
    columns_cell(table, "%s", duration(number_at(arm, "p99_us"), a, sizeof a));
    columns_cell(table, "%s", blocked_text(arm, a, sizeof a));
    columns_cell(table, "%s",
                 control ? duration(number_at(control, "median_us"), a, sizeof a) : "");
    if (json_object_get(arm, "ratio")) {
        columns_cell(table, "%s (%s)", ratio(number_at(arm, "ratio"), a, sizeof a),
                     ratios(number_in(arm, "ratio_ci95", 0), number_in(arm, "ratio_ci95", 1), text,
                            sizeof text));
        columns_cell(table, "%s", text_at(arm, "verdict"));
        columns_cell(table, "%s", text_at(arm, "limit"));
    } else {
        columns_cell(table, "%s", *text_at(arm, "control") ? "-" : "control");
    }
    columns_end_row(table);
}

static void print_arms(FILE *out, const json_t *record, const json_t *arms)
{
    struct columns table = {0};
    const json_t *arm;
    size_t index;
    for (size_t c = 0; c < sizeof titles / sizeof *titles; c++)
        columns_add(&table, titles[c].title, titles[c].side);
    json_array_foreach(arms, index, arm)
    {
        add_row(&table, record, arm);
    }
    columns_hide_empty(&table);
    columns_print(out, &table, 0);
}

/* What hung took as long as its watchdog let it: that it hung is the result. */
static void append_blocked(struct text *text, const json_t *record)
{
    char some[64];
    const json_t *arm;
    size_t index;
    json_array_foreach(json_object_get(record, "arms"), index, arm)
    {
        if (strcmp(text_at(arm, "arm"), text_at(json_object_get(record, "effect"), "arm")) == 0 &&
            *blocked_text(arm, some, sizeof some))
            text_append(text, "; %s hung until a watchdog released them", some);
    }
}

static void print_verdict(FILE *out, const json_t *record)
{
    char a[32], b[32], c[32], d[CELL], line[512] = "";
    const json_t *effect = json_object_get(record, "effect");
    const char *same = text_at(effect, "control_metric"); /* "": another arm is the control */
    const char *verdict = text_at(record, "verdict");
    struct text text = {.at = line, .size = sizeof line};
    text_append(&text, "%s", verdict);
    if (json_is_object(effect))
        text_append(
            &text, ": with %s the %s takes %s, %s %s %s: %s times as long, 95%% %s",
            text_at(effect, "arm"), text_at(effect, "metric"),
            duration(number_at(effect, "value"), a, sizeof a), *same ? "the" : "with",
            *same ? same : text_at(effect, "control"),
            duration(number_at(effect, "control_value"), b, sizeof b),
            ratio(number_at(effect, "ratio"), c, sizeof c),
            ratios(number_in(effect, "ci95", 0), number_in(effect, "ci95", 1), d, sizeof d));
    if (number_at(effect, "matters_ratio") > 0.0)
        text_append(&text, "; what matters begins at %s times and %s more",
                    ratio(number_at(effect, "matters_ratio"), a, sizeof a),
                    duration(number_at(effect, "matters_us"), b, sizeof b));
    append_blocked(&text, record);
    if (*text_at(record, "error"))
        text_append(&text, "%s %s", json_is_object(effect) ? ";" : ":", text_at(record, "error"));
    if (*text_at(record, "ended_early"))
        text_append(&text, "; it ended early (%s), so that this is from the rounds until then",
                    text_at(record, "ended_early"));
    print_wrapped(out, "verdict: ", 9, line);
    if (!*text_at(record, "remedy"))
        return;
    text = (struct text){.at = line, .size = sizeof line};
    text_append(&text, "%s", text_at(record, "remedy"));
    if (json_is_number(json_object_get(record, "remedy_gain")))
        text_append(&text, " (%s: %s times as fast, 95%% %s)", text_at(record, "remedy_arm"),
                    ratio(number_at(record, "remedy_gain"), a, sizeof a),
                    ratios(number_in(record, "remedy_gain_ci95", 0),
                           number_in(record, "remedy_gain_ci95", 1), d, sizeof d));
    print_wrapped(out, "remedy:  ", 9, line);
}

void probe_print_record(FILE *out, const json_t *record)
{
    char label[64], more[32], interval[2][32], some[64];
    const json_t *arms = json_object_get(record, "arms");
    const json_t *notes = json_object_get(record, "notes");
    snprintf(label, sizeof label, "%s: ", text_at(record, "probe"));
    print_wrapped(out, label, strlen(label), text_at(record, "question"));
    if (json_array_size(arms) > 0)
        print_arms(out, record, arms);
    for (size_t i = 0; i < json_array_size(arms); i++) {
        const json_t *arm = json_array_get(arms, i);
        const json_t *metrics = json_object_get(arm, "metrics");
        for (size_t m = 0; m < json_array_size(metrics); m++) {
            const json_t *metric = json_array_get(metrics, m);
            if (json_is_true(json_object_get(metric, "level")) ||
                probe_arm_own_control(record, arm))
                continue;
            blocked_text(metric, some, sizeof some);
            fprintf(out, "%s, %s: %s, 95%% %s to %s%s%s%s\n", text_at(arm, "arm"),
                    text_at(metric, "metric"),
                    duration(number_at(metric, "median_us"), more, sizeof more),
                    duration(number_in(metric, "ci95_us", 0), interval[0], sizeof interval[0]),
                    duration(number_in(metric, "ci95_us", 1), interval[1], sizeof interval[1]),
                    *some ? ", " : "", some, *some ? " blocked" : "");
        }
    }
    for (size_t i = 0; i < json_array_size(notes); i++)
        print_wrapped(out, "note:    ", 9, json_string_value(json_array_get(notes, i)));
    print_verdict(out, record);
}

/* A line of an arm, or, with an empty object, of a probe that has none. */
static void print_csv_line(FILE *out, const json_t *record, const json_t *arm, bool emulated)
{
    static const struct {
        const char *field;
        int index; /* in an interval; -1: a number */
    } numbers[] = {
        {"samples", -1}, {"blocked", -1},   {"median_us", -1}, {"ci95_us", 0},
        {"ci95_us", 1},  {"mean_us", -1},   {"p99_us", -1},    {"max_us", -1},
        {"ratio", -1},   {"ratio_ci95", 0}, {"ratio_ci95", 1},
    };
    bool any = json_object_size(arm) > 0;
    csv_begin(out, text_at(record, "probe"));
    csv_text(out, text_at(record, "verdict"));
    csv_text(out, text_at(arm, "arm"));
    csv_text(out, text_at(arm, "control"));
    csv_number(out, number_at(arm, "processes"));
    csv_text(out, !any ? "" : json_is_true(json_object_get(arm, "mps")) ? "yes" : "no");
    csv_text(out, text_at(arm, "status"));
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        csv_number(out, numbers[n].index < 0
                            ? number_at(arm, numbers[n].field)
                            : number_in(arm, numbers[n].field, (size_t)numbers[n].index));
    csv_text(out, text_at(arm, "verdict"));
    csv_text(out, text_at(arm, "limit"));
    csv_text(out, emulated ? "yes" : "no");
    csv_text(out, text_at(any ? arm : record, "error"));
    fputc('\n', out);
}

void probe_print_csv(FILE *out, const json_t *header, const json_t *records)
{
    bool emulated = origin_is_emulated(header);
    json_t *none = json_object();
    fputs("probe,probe_verdict,arm,control,processes,mps,status,samples,blocked,median_us,"
          "median_low_us,median_high_us,mean_us,p99_us,max_us,ratio,ratio_low,ratio_high,verdict,"
          "limit,"
          "emulated,error\n",
          out);
    for (size_t p = 0; p < json_array_size(records); p++) {
        const json_t *record = json_array_get(records, p);
        const json_t *arms = json_object_get(record, "arms");
        for (size_t i = 0; i < json_array_size(arms); i++)
            print_csv_line(out, record, json_array_get(arms, i), emulated);
        if (json_array_size(arms) == 0)
            print_csv_line(out, record, none, emulated);
    }
    json_decref(none);
}
