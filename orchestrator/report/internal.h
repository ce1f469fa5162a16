/*
 * Shared by the files of the page: its parts, and what all of them write with. Texts of a results
 * file reach the page through html_text() alone.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "common/status.h"
#include "files/results_read.h"
#include "orchestrator/emit/choose.h"

/* A results file on its way into the page. Records are those of the results. */
struct report_file {
    const char *path; /* as it was given */
    size_t number;    /* from 0, among the files of the page */
    struct results results;
    json_t *explained;  /* of each point's id, as text, what explain_to_json() makes of it; owned */
    char *unexplained;  /* why that is empty; "": it is not; owned */
    const json_t *best; /* NULL: there is none, */
    char *why;          /* why it is this one, or why there is none; owned */
    struct emit_choice choice; /* has the better points that are not taken */
};

/* What a point reached of the ceiling that binds it. */
struct report_limit {
    const char *title, *reason; /* "hardware queues"; borrowed; "": not known */
    double ips, reached;        /* NAN: not known */
    const char *remedy;         /* what lifts it, or comes nearer to it; borrowed */
    bool nearer;
    const char *options; /* of the sweep that does; borrowed; "": none does */
};

/* -- html.c -- */

/* Text between tags, or in an attribute with double quotes. */
void html_text(FILE *out, const char *text);

/* <TAG>TEXT</TAG>, with the text's number of digits as text_number(); "–" for NAN. */
void html_element(FILE *out, const char *tag, const char *text);
void html_number(FILE *out, const char *tag, double value);

/* The text as a word of a shell, for people to paste. */
void html_shell_word(FILE *out, const char *text);

/* -- words.c -- */

#define REPORT_LABEL 2048

/* "hybrid 8×2, pageable": what differs from the defaults. Returns out. */
const char *report_label(const json_t *point, char out[REPORT_LABEL]);

/* The command line that measures the point again; the caller frees it. NULL: no command line does
 * alone, since the workload stands in a job file, or there is no memory. */
char *report_command_of(const struct report_file *file, const json_t *point);

/* -- points.c -- */

/* False: no ceiling of the point is known. */
bool report_limit_of(const struct report_file *file, const json_t *point, struct report_limit *out);

/* Its cell in a table, with a ≥ where it is the least that the point holds; "–" for none. */
void report_write_throughput(FILE *out, const json_t *point);

/* The table of all points, and the list of the different warnings. STATUS_MEMORY. */
enum status report_write_points(FILE *out, const struct report_file *file);
void report_write_warnings(FILE *out, const struct report_file *file);

/* -- figures.c -- */

/* The figures that the results allow, up to the page's share of bytes. STATUS_NOT_FOUND, ...: as
 * plot_svg(). */
enum status report_write_figures(FILE *out, const struct report_file *file, size_t most_bytes);

/* -- page.c -- */

/* The whole page. */
enum status report_write_page(FILE *out, const struct report_file *files, size_t count);
