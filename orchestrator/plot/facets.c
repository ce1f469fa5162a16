#include "orchestrator/plot/facets.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "common/text.h"
#include "orchestrator/plot/internal.h"

/* Series of one panel, at most and at least, and panels. */
#define SERIES_MOST 8
#define SERIES_LEAST 3
#define PANELS_MOST 6

#define LABEL_BYTES (POINT_TEXT_BYTES * (SETTINGS_IDS + 2))

/* A figure's series by the settings of a mask, 1 << enum option_id. */
struct facets {
    const struct series_table *table;
    size_t *first; /* row of each series */
    unsigned mask;
    size_t panels, most, least; /* series of the fullest, and of the one with the fewest */
    size_t *panel_of;
};

static const struct series_row *series(const struct facets *facets, size_t number)
{
    return &facets->table->rows[facets->first[number]];
}

static bool same_panel(const struct series_row *a, const struct series_row *b, unsigned mask)
{
    for (size_t s = 0; s < SETTINGS_IDS; s++)
        if (mask & 1u << s && strcmp(a->texts[s], b->texts[s]) != 0)
            return false;
    return true;
}

static void split(struct facets *facets, unsigned mask)
{
    size_t sizes[PANELS_MOST + 1] = {0};
    facets->mask = mask;
    facets->panels = facets->most = 0;
    facets->least = SIZE_MAX;
    for (size_t i = 0; i < facets->table->series_count && facets->panels <= PANELS_MOST; i++) {
        size_t j = 0;
        while (j < i && !same_panel(series(facets, j), series(facets, i), mask))
            j++;
        size_t panel = j < i ? facets->panel_of[j] : facets->panels++;
        facets->panel_of[i] = panel;
        sizes[panel]++;
    }
    for (size_t panel = 0; panel < facets->panels; panel++) {
        facets->most = sizes[panel] > facets->most ? sizes[panel] : facets->most;
        facets->least = sizes[panel] < facets->least ? sizes[panel] : facets->least;
    }
}

static bool is_good(const struct facets *facets)
{
    return facets->panels >= 2 && facets->panels <= PANELS_MOST && facets->most <= SERIES_MOST &&
           facets->least >= SERIES_LEAST;
}

/* Two settings only where none alone does. */
static void choose(struct facets *facets)
{
    const bool *varies = facets->table->varies;
    unsigned best = 0;
    size_t fewest = PANELS_MOST + 1;
    for (int pairs = 0; pairs < 2 && best == 0; pairs++)
        for (size_t a = 0; a < SETTINGS_IDS; a++)
            for (size_t b = pairs ? 0 : a; b < (pairs ? a : a + 1); b++) {
                if (!varies[a] || !varies[b])
                    continue;
                split(facets, 1u << a | 1u << b);
                if (!is_good(facets) || facets->panels >= fewest)
                    continue;
                best = facets->mask;
                fewest = facets->panels;
            }
    split(facets, best);
}

/* Whether all series of a panel have the setting's same text. */
static bool is_shared(const struct facets *facets, size_t panel, size_t setting)
{
    const char *text = NULL;
    for (size_t i = 0; i < facets->table->series_count; i++) {
        const char *own = series(facets, i)->texts[setting];
        if (facets->panel_of[i] != panel)
            continue;
        if (text && strcmp(own, text) != 0)
            return false;
        text = own;
    }
    return true;
}

/* What the series of a panel share of the settings in which series differ, or what one has beside
 * that. */
static void append_settings(struct text *out, const struct facets *facets, size_t number,
                            bool shared)
{
    const struct series_row *row = series(facets, number);
    for (size_t s = 0; s < SETTINGS_IDS; s++) {
        const char *text = row->texts[s];
        bool usual = strcmp(text, SETTINGS_DEFAULT_QUEUES) == 0;
        if (!facets->table->varies[s] || !*text || (usual && !(shared && facets->mask & 1u << s)) ||
            is_shared(facets, facets->panel_of[number], s) != shared)
            continue;
        text_append(out, "%s%s", *out->at ? ", " : "", text);
    }
}

static void write_panels(FILE *file, const struct facets *facets)
{
    size_t titled = 0;
    fprintf(file, "n_panels = %zu\narray panel_titles[n_panels]\narray panel_of[n_series]\n",
            facets->panels);
    for (size_t i = 0; i < facets->table->series_count; i++) {
        char title[LABEL_BYTES] = "";
        struct text text = {.at = title, .size = sizeof title};
        fprintf(file, "panel_of[%zu] = %zu\n", i + 1, facets->panel_of[i] + 1);
        if (facets->panel_of[i] < titled)
            continue;
        append_settings(&text, facets, i, true);
        plot_write_item(file, "panel_titles", ++titled, title);
    }
}

/* Series that differ in nothing but what their panels differ in are one entry. */
static bool write_legend(FILE *file, const struct facets *facets, json_t *numbers)
{
    size_t of_layout[LAYOUT_KINDS + 1] = {0};
    json_int_t count = 0;
    struct text_stream entries;
    if (!text_stream_open(&entries))
        return false;
    fputs("array legend_of[n_series]\n", file);
    for (size_t i = 0; i < facets->table->series_count; i++) {
        const struct series_row *row = series(facets, i);
        char label[LABEL_BYTES] = "";
        struct text text = {.at = label, .size = sizeof label};
        text_append(&text, "%s", row->name);
        append_settings(&text, facets, i, false);
        json_int_t number = json_place(numbers, label, count);
        fprintf(file, "legend_of[%zu] = %d\n", i + 1, (int)number + 1);
        if (number < count)
            continue;
        count++;
        plot_write_item(entries.file, "legend_titles", (size_t)count, label);
        fprintf(entries.file, "legend_layout[%d] = %d\nlegend_variant[%d] = %zu\n", (int)count,
                row->layout + 1, (int)count, ++of_layout[row->layout % (LAYOUT_KINDS + 1)]);
    }
    char *list = text_stream_close(&entries);
    if (!list)
        return false;
    fprintf(file,
            "n_legend = %d\narray legend_titles[n_legend]\narray legend_layout[n_legend]\n"
            "array legend_variant[n_legend]\n%s",
            (int)count, list);
    free(list);
    return true;
}

enum status facets_write(FILE *file, const struct series_table *table)
{
    size_t count = table->series_count;
    struct facets facets = {.table = table,
                            .first = calloc(count + 1, sizeof *facets.first),
                            .panel_of = calloc(count + 1, sizeof *facets.panel_of)};
    json_t *numbers = json_object();
    enum status status = STATUS_OK;
    if (!facets.first || !facets.panel_of || !numbers) {
        status = status_set(STATUS_MEMORY, "out of memory for %zu series", count);
        goto out;
    }
    for (size_t i = 0; i < table->count; i++)
        if (series_begins_at(table, i))
            facets.first[table->rows[i].series] = i;
    if (count > SERIES_MOST)
        choose(&facets);
    if (!is_good(&facets))
        goto out;
    write_panels(file, &facets);
    if (!write_legend(file, &facets, numbers))
        status = status_set(STATUS_MEMORY, "out of memory for the legend");
out:
    json_decref(numbers);
    free(facets.first);
    free(facets.panel_of);
    return status;
}
