#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "explain/words.h"
#include "job/options.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/explain/set.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/table.h"

#define CELL 96

static const char *layout_word(const struct explanation *point)
{
    const char *name = text_at(point->record, "layout");
    return *name ? name : layout_name(explain_layout(&point->point));
}

/* -- the table --------------------------------------------------------------------------------- */

static void add_titles(struct columns *table, const struct table_settings *varying,
                       const json_t *records, bool origins)
{
    static const struct {
        const char *title;
        enum columns_side side;
    } rest[] = {
        {"iterations/s", COLUMNS_RIGHT}, {"predicted", COLUMNS_RIGHT}, {"limited by", COLUMNS_LEFT},
        {"ceiling", COLUMNS_RIGHT},      {"reached", COLUMNS_RIGHT},   {"next", COLUMNS_LEFT},
    };
    if (origins)
        columns_add(table, "GPU", COLUMNS_LEFT);
    columns_add(table, "layout", COLUMNS_LEFT);
    columns_add(table, table_shape_title(records), COLUMNS_RIGHT);
    table_settings_add(table, varying, records);
    for (size_t i = 0; i < sizeof rest / sizeof rest[0]; i++)
        columns_add(table, rest[i].title, rest[i].side);
}

/* "1909 ±8%", with a '?' where it is beyond what predictions were compared with. */
static void add_prediction(struct columns *table, const struct prediction *predicted)
{
    char text[32];
    if (predicted->ips <= 0.0)
        columns_cell(table, "-");
    else if (predicted->half_rel <= 0.0)
        columns_cell(table, "%s", text_number(predicted->ips, text, sizeof text));
    else
        columns_cell(table, "%s ±%.0f%%%s", text_number(predicted->ips, text, sizeof text),
                     100.0 * predicted->half_rel, predicted->is_beyond ? "?" : "");
}

/* A ceiling of workers who never wait may be below that of the line in which they do. */
static bool has_lower_next(const struct explanation *point)
{
    const struct binding *binding = &point->binding;
    return binding->kind != CEILING_KINDS && binding->next != CEILING_KINDS &&
           point->ceilings.ips[binding->next] < point->ceilings.ips[binding->kind];
}

static void add_row(struct columns *table, const struct table_settings *varying,
                    const struct explain_set *set, const struct explanation *point)
{
    char text[CELL];
    double ceiling = point->ceilings.ips[point->binding.kind % CEILING_KINDS];
    bool known = point->binding.kind != CEILING_KINDS;
    if (explain_set_is_of_several(set))
        columns_cell(table, "%s", origin_short(&set->origins, point->origin, text));
    columns_cell(table, "%s", layout_word(point));
    columns_cell(table, "%s", point_shape(point->record, text));
    for (size_t i = 0; i < varying->count; i++)
        columns_cell(table, "%s",
                     table_setting_text(point->record, varying->rows[i], text, sizeof text));
    columns_cell(table, "%s", text_number(point->measured_ips, text, sizeof text));
    add_prediction(table, &point->predicted);
    columns_cell(table, "%s", ceiling_title(point->binding.kind, &point->point));
    columns_cell(table, "%s", known ? text_number(ceiling, text, sizeof text) : "-");
    if (known)
        columns_cell(table, "%.0f%%", 100.0 * point->measured_ips / ceiling);
    else
        columns_cell(table, "-");
    if (known && point->binding.next != CEILING_KINDS)
        columns_cell(table, "%s %s%s", ceiling_title(point->binding.next, &point->point),
                     text_number(point->ceilings.ips[point->binding.next], text, sizeof text),
                     has_lower_next(point) ? " †" : "");
    else
        columns_cell(table, "-");
    bool unsure = strcmp(text_at(point->record, "status"), "unconverged") == 0;
    columns_end_row_with(table, "%s", unsure ? "unconverged" : "");
}

static void print_table(FILE *out, const struct table_settings *varying, const json_t *records,
                        const struct explain_set *set)
{
    struct columns table = {0};
    bool marked = false;
    add_titles(&table, varying, records, explain_set_is_of_several(set));
    for (size_t i = 0; i < set->count; i++) {
        add_row(&table, varying, set, &set->points[i]);
        marked |= has_lower_next(&set->points[i]);
    }
    columns_print(out, &table, 0);
    if (marked)
        fputs("† lower than the ceiling that limits: it holds for workers that never wait\n", out);
}

static const char *shape_of(const struct explain_point *point, char text[POINT_SHAPE_BYTES])
{
    struct text out = {.at = text, .size = POINT_SHAPE_BYTES};
    text_append(&out, "%u×%u", point->processes, point->threads);
    if (ceiling_polls(point))
        text_append(&out, "×%u", point->streams);
    return text;
}

/* -- the reasons ------------------------------------------------------------------------------- */

/* In Markdown an item of a list: it needs no lines of a width, and four blanks would be code. */
static void print_paragraph(FILE *out, const char *text)
{
    if (*columns_item())
        fprintf(out, "%s%s\n", columns_item(), text);
    else
        print_wrapped(out, "", 4, text);
}

/* A setting that the user did not set is not printed, nor one that the shape shows. */
static bool is_usual(const struct option_row *setting, const char *value)
{
    bool in_shape = setting->setting.label && !*setting->setting.label;
    return in_shape || strcmp(value, "-") == 0 ||
           (setting->initial && strcmp(setting->initial, value) == 0);
}

/* "threads 1×12, 1×16, hybrid 2×8, memory pageable, queues 8": the points of a group, and which
 * they are among all. Returns whether they are of several sizes. */
static bool name_group(struct text *out, const struct table_settings *varying,
                       const struct explain_set *set, size_t first)
{
    const struct explanation *point = &set->points[first];
    const char *layout = "";
    char value[CELL], last[CELL] = "";
    unsigned sizes = 0;
    for (size_t i = first, begun = 0; !begun || i > 0; i = set->points[i].next, begun = 1) {
        const char *word = layout_word(&set->points[i]);
        bool same = strcmp(word, layout) == 0;
        point_shape(set->points[i].record, value);
        if (same && strcmp(value, last) == 0)
            continue;
        text_append(out, "%s%s%s%s", begun ? ", " : "", same ? "" : word, same ? "" : " ", value);
        memcpy(last, value, sizeof last);
        layout = word;
        sizes++;
    }
    for (size_t i = 0; i < varying->count; i++) {
        const struct option_row *row = varying->rows[i];
        if (!is_usual(row, table_setting_text(point->record, row, value, sizeof value)))
            text_append(out, ", %s %s", table_setting_title(row), value);
    }
    if (explain_set_is_of_several(set)) {
        char gpu[ORIGIN_SHORT_TEXT];
        text_append(out, ", on %s", origin_short(&set->origins, point->origin, gpu));
    }
    return sizes > 1;
}

/* A ceiling that the point passed. Where threads take turns in queues the reason names it. */
static void append_passed(struct text *out, const struct explanation *point)
{
    char number[32];
    double share = point->passed_ips > 0.0 ? point->measured_ips / point->passed_ips - 1.0 : 0.0;
    if (point->passed_ips <= 0.0 || point->point.passed_ips > 0.0)
        return;
    if (point->passed == point->binding.kind)
        text_append(out,
                    "; measured is %.0f%% above it: the calibration found less than there is, and "
                    "predictions are too low",
                    100.0 * share);
    else
        text_append(out,
                    "; measured is %.0f%% above what was predicted to be the limit, %s with %s/s: "
                    "the calibration found less than there is, and promises are too low",
                    100.0 * share, ceiling_title(point->passed, &point->point),
                    text_number(point->passed_ips, number, sizeof number));
}

static void print_group(FILE *out, const struct table_settings *varying,
                        const struct explain_set *set, size_t first)
{
    const struct explanation *point = explain_set_representative(set, first);
    const struct remedy *remedy = &point->remedy;
    char paragraph[4096] = "", reason[512], number[32], shape[POINT_SHAPE_BYTES];
    struct text text = {.at = paragraph, .size = sizeof paragraph};
    bool several = name_group(&text, varying, set, first);
    binding_reason(&point->binding, &point->ceilings, &point->point, point->calibration, reason,
                   sizeof reason);
    text_append(&text, " — %s: ", ceiling_title(point->binding.kind, &point->point));
    if (several && point->binding.kind != CEILING_KINDS)
        text_append(&text, "(at %s) ", point_shape(point->record, shape));
    text_append(&text, "%s", reason);
    if (point->binding.kind == CEILING_KINDS) {
        print_paragraph(out, paragraph);
        return;
    }
    append_passed(&text, point);
    /* One that is lower is in the reason. */
    if (point->binding.next != CEILING_KINDS && !has_lower_next(point))
        text_append(&text, "; the next ceiling: %s, %s/s",
                    ceiling_title(point->binding.next, &point->point),
                    text_number(point->ceilings.ips[point->binding.next], number, sizeof number));
    print_paragraph(out, paragraph);
    text = (struct text){.at = paragraph, .size = sizeof paragraph};
    if (remedy->kind == REMEDY_NONE) {
        text_append(&text, "no option of mpsweep %s: %s",
                    remedy->nearer  ? "is predicted to give clearly more"
                    : remedy->tried ? "is predicted to give 5% more"
                                    : "lifts it",
                    remedy->advice);
    } else {
        char measured[32];
        text_append(&text, "%s with %s: %s (predicted for %s: %s/s, ×%.2g of the measured %s",
                    remedy->nearer ? "come nearer to it" : "lift it", remedy->options,
                    remedy->advice, shape_of(&remedy->point, shape),
                    text_number(remedy->predicted_ips, number, sizeof number),
                    remedy->predicted_ips / point->measured_ips,
                    text_number(point->measured_ips, measured, sizeof measured));
        if (remedy->then != CEILING_KINDS)
            text_append(&text, ", then limited by: %s", ceiling_title(remedy->then, &point->point));
        text_append(&text, ")");
    }
    if (*columns_item())
        fprintf(out, "  %s%s\n", columns_item(), paragraph);
    else
        print_wrapped(out, "   ", 4, paragraph);
}

/* Points of GPUs that the file has no calibration of. */
static void print_uncalibrated(FILE *out, const struct explain_set *set)
{
    const struct explanation *first = NULL;
    char paragraph[1024] = "", gpu[ORIGIN_NAME_TEXT];
    struct text text = {.at = paragraph, .size = sizeof paragraph};
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++) {
        if (set->points[i].calibrated)
            continue;
        first = first ? first : &set->points[i];
        count++;
    }
    if (!first)
        return;
    text_append(
        &text,
        "%zu point%s cannot be explained: there is no calibration of %s GPU, as of %s, and "
        "those of others do not hold for it; 'mpsweep sweep --calibrate' or 'mpsweep explain' "
        "of the file that was merged makes one, then merge again",
        count, count == 1 ? "" : "s", count == 1 ? "its" : "their",
        origin_name(&set->origins, first->origin, gpu));
    fputc('\n', out);
    print_paragraph(out, paragraph);
}

static void print_left_out(FILE *out, size_t count, const char *which, const char *why)
{
    if (count > 0)
        fprintf(out, "\n%zu point%s %s left out%s\n", count, count == 1 ? "" : "s", which, why);
}

void explain_print_text(FILE *out, json_t *header, const struct explain_set *set)
{
    json_t *records = json_array();
    for (size_t i = 0; i < set->count; i++)
        json_array_append(records, set->points[i].record);
    struct table_settings varying;
    table_settings_find(records, &varying);
    if (set->count > 0) {
        table_print_heading(out, header, records);
        print_table(out, &varying, records, set);
        fputc('\n', out);
    }
    for (size_t i = 0; i < set->count; i++)
        if (set->points[i].group == i && set->points[i].calibrated)
            print_group(out, &varying, set, i);
    explain_gpus_print(out, set, print_paragraph);
    print_uncalibrated(out, set);
    print_left_out(out, set->unmeasured, "without a measurement", "");
    print_left_out(out, set->open, "of an open loop",
                   ": throughput is what was offered, and not what a limit leaves");
    print_left_out(out, set->apart, "with a context or a partition for each thread",
                   ": what limits them is not known");
    if (set->foreign > 0)
        fprintf(out,
                "\n%zu point%s of workloads without a calibration, such as '%s', left out: 'mpsweep "
                "sweep --calibrate' makes one of built-in and described workloads\n",
                set->foreign, set->foreign == 1 ? "" : "s", set->foreign_workload);
    json_decref(records);
}
