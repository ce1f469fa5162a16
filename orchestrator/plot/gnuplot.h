/*
 * Between results and gnuplot: the data of a figure, its texts, and the picture that a script of
 * plots/ draws from it.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "common/status.h"
#include "common/text.h"

/* STATUS_USAGE: the output's extension names no format. */
enum status plot_check_output(const char *output);

/* Begins the data of a figure. plot_end() draws it with plots/FIGURE.gp, unless status is an error,
 * releases it, and returns the status. The output appears whole or not at all: .svg, .png or .pdf,
 * or with .gp the data alone.
 *
 * STATUS_NOT_FOUND: no script, no gnuplot. STATUS_SYSTEM: gnuplot failed or the output cannot be
 * written. */
enum status plot_begin(struct text_stream *out);
enum status plot_end(struct text_stream *data, enum status status, const char *figure,
                     const char *output);

/* As plot_end(), with the picture as text, which the caller frees. */
enum status plot_end_svg(struct text_stream *data, enum status status, const char *figure,
                         char **out);

/* How every figure's data begins: its name and title, whether the GPU is emulated, and the caption:
 * the machine, and notes (NULL: no memory for them). */
enum status plot_write_heading(FILE *file, const char *figure, const char *title,
                               const json_t *header, const char *notes);

/* Writes "NAME = 'TEXT'", and "NAME[NUMBER] = 'TEXT'", each with its line's end: the text as
 * gnuplot takes it literally, without control characters. */
void plot_write_text(FILE *file, const char *name, const char *text);
void plot_write_item(FILE *file, const char *name, size_t number, const char *text);

/* Writes n_rows and the array labels of a figure of rows, and releases the labels: an array of
 * strings, the name of a point each and then its settings, ", " between them. Long ones leave out
 * settings without which they still differ. STATUS_MEMORY: there are not as many labels as rows. */
enum status plot_write_labels(FILE *file, json_t *labels, size_t count);
