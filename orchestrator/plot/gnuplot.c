#include "orchestrator/plot/gnuplot.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/paths.h"
#include "common/text.h"
#include "files/atomic_file.h"
#include "orchestrator/results/origin.h"

#define PARAGRAPH_BYTES 800 /* of the caption */
#define CUT "…"             /* the end of one that is longer */
#define GNUPLOT_LIMIT_NS (60 * NS_PER_S)
#define PICTURE_BYTES_MOST ((size_t)128 << 20)

/* gnuplot's cairo terminals draw a character that no font has as a box larger than the page: past
 * the alphabets of two bytes, only general punctuation passes. */
static bool is_in_common_fonts(uint32_t code)
{
    return code < 0x800 || (code >= 0x2000 && code <= 0x206f);
}

/* Without bytes of a character that is not whole. */
static void write_quoted(FILE *file, const char *text)
{
    fputc('\'', file);
    for (size_t length; *text != '\0'; text += length > 0 ? length : 1) {
        uint32_t code;
        length = text_character(text, strnlen(text, 4), &code);
        if (length == 0)
            continue;
        if (code == '\'')
            fputc('\'', file);
        if (code < ' ' || code == 0x7f)
            fputc(' ', file);
        else if (is_in_common_fonts(code))
            fwrite(text, 1, length, file);
        else
            fputc('?', file);
    }
    fputc('\'', file);
}

void plot_write_text(FILE *file, const char *name, const char *text)
{
    fprintf(file, "%s = ", name);
    write_quoted(file, text);
    fputc('\n', file);
}

void plot_write_item(FILE *file, const char *name, size_t number, const char *text)
{
    fprintf(file, "%s[%zu] = ", name, number);
    write_quoted(file, text);
    fputc('\n', file);
}

/* What the script breaks into lines. */
static void write_paragraph(FILE *file, size_t number, const char *text)
{
    char paragraph[PARAGRAPH_BYTES];
    if (snprintf(paragraph, sizeof paragraph, "%s", text) >= (int)sizeof paragraph)
        strcpy(paragraph + sizeof paragraph - sizeof CUT, CUT);
    plot_write_item(file, "paragraphs", number, paragraph);
}

/* The machine and the program in one line, from a header. The caller frees it; NULL: no memory. */
static char *machine_text(const json_t *header)
{
    const json_t *gpu = json_object_get(header, "gpu");
    const json_t *cpus = json_object_get(header, "cpus");
    const char *started = text_at(header, "started");
    const char *driver = text_or(header, "driver", NULL);
    struct text_stream out;
    if (!text_stream_open(&out))
        return NULL;
    char remark[ORIGIN_REMARK], hosts[ORIGIN_LIST];
    size_t host_count = origin_hosts(header, hosts);
    if (origin_is_emulated(header))
        fputs("EMULATED GPU, not a measurement of hardware. ", out.file);
    if (*origin_remark(header, remark))
        fprintf(out.file, "%s. ", remark);
    fprintf(out.file, "%s", text_or(gpu, "name", "unknown GPU"));
    if (driver != NULL)
        fprintf(out.file, ", driver CUDA %s", driver);
    if (json_is_integer(cpus))
        fprintf(out.file, ", %" JSON_INTEGER_FORMAT " CPUs", json_integer_value(cpus));
    if (host_count > 1)
        fprintf(out.file, ", %zu hosts: %s", host_count, hosts);
    else
        fprintf(out.file, ", host %s", text_or(header, "host", "unknown"));
    /* "2026-01-31T08:00:00Z" as "2026-01-31 08:00 UTC" */
    if (strlen(started) == 20 && started[10] == 'T' && started[19] == 'Z')
        fprintf(out.file, ", %.10s %.5s UTC", started, started + 11);
    else if (started[0] != '\0')
        fprintf(out.file, ", %s", started);
    fprintf(out.file, ", mpsweep %s", text_or(header, "mpsweep", "of unknown version"));
    return text_stream_close(&out);
}

enum status plot_write_heading(FILE *file, const char *figure, const char *title,
                               const json_t *header, const char *notes)
{
    char *machine = machine_text(header);
    if (machine == NULL || notes == NULL) {
        free(machine);
        return status_set(STATUS_MEMORY, "out of memory for a caption");
    }
    fprintf(file,
            "# Data of a figure, written by mpsweep. To draw it:\n"
            "#     gnuplot -c plots/%s.gp THIS_FILE PICTURE.svg\n"
            "figure = '%s'\n",
            figure, figure);
    plot_write_text(file, "title", title);
    fprintf(file, "emulated = %d\n", origin_is_emulated(header) ? 1 : 0);
    fputs("array paragraphs[2]\n", file);
    write_paragraph(file, 1, machine);
    write_paragraph(file, 2, notes);
    free(machine);
    return STATUS_OK;
}

/* The extension with its dot, of the file's own name; "" if it has none. */
static const char *extension_of(const char *path)
{
    const char *base = path_file_name(path);
    const char *dot = strrchr(base, '.');
    return dot != NULL && dot != base ? dot : "";
}

/* What matters of gnuplot's several lines of complaint: the one that names a line of a script,
 * else the last. Returns a part of errors, cut in place. */
static const char *complaint(char *errors)
{
    const char *best = NULL;
    bool best_named = false;
    char *rest = errors;
    for (char *line; (line = strsep(&rest, "\r\n")) != NULL;) {
        line += strspn(line, " \t");
        if (line[strspn(line, "^ \t")] == '\0')
            continue;
        bool named = strstr(line, " line ") != NULL;
        if (!best_named || named) {
            best = line;
            best_named = named;
        }
    }
    return best;
}

/* The data goes in by standard input and the picture comes by standard output: whatever happens, no
 * file is left behind, and a full disk is found by this process, which gnuplot would not mind. */
static enum status run_gnuplot(const char *script, const char *data, const char *format,
                               struct child_result *out)
{
    struct child_result result;
    char ending[64];
    const char *const argv[] = {"gnuplot", "--default-settings", "-c", script, "/dev/stdin", format,
                                NULL};
    const char *const set[] = {"LC_ALL=C.UTF-8", NULL};
    const char *const unset[] = {"GNUTERM", "GNUPLOT_LIB", NULL};
    struct child_options options = {
        .argv = argv,
        .env_set = set,
        .env_unset = unset,
        .input = data,
        .output_cap = PICTURE_BYTES_MOST,
        .deadline_ns = clock_now_ns() + GNUPLOT_LIMIT_NS,
        .capture_stderr = true,
    };
    enum status status = child_run(&options, &result);
    if (status == STATUS_NOT_FOUND)
        return status_set(status, "%s (apt-get install gnuplot-nox)", status_text());
    if (status != STATUS_OK)
        return status;
    const char *why = complaint(result.errors);
    if (result.wait_status != 0)
        status = status_set(
            STATUS_SYSTEM, "gnuplot: %s",
            why != NULL ? why : child_ending_text(result.wait_status, ending, sizeof ending));
    else if (result.output_bytes == 0)
        status = status_set(STATUS_SYSTEM, "gnuplot: %s", why != NULL ? why : "drew nothing");
    else if (result.output_cut)
        status = status_set(STATUS_UNSUPPORTED, "the picture is larger than %zu MiB",
                            PICTURE_BYTES_MOST >> 20);
    if (status == STATUS_OK)
        *out = result;
    else
        child_result_release(&result);
    return status;
}

enum status plot_check_output(const char *output)
{
    static const char *const known[] = {".svg", ".png", ".pdf", ".gp"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(extension_of(output), known[i]) == 0)
            return STATUS_OK;
    return status_set(STATUS_USAGE, "unknown format of '%s': name it .svg, .png, .pdf or .gp",
                      output);
}

static enum status write_file(const char *output, const char *bytes, size_t count)
{
    struct atomic_file file;
    enum status status = atomic_file_open(output, ATOMIC_FILE_REPLACE, &file);
    return status == STATUS_OK ? atomic_file_end(&file, atomic_file_write(&file, bytes, count))
                               : status;
}

static enum status no_memory(void)
{
    return status_set(STATUS_MEMORY, "out of memory for the data of a figure");
}

static enum status run_script(const char *figure, const char *data, const char *format,
                              struct child_result *out)
{
    char script[64], path[PATH_MAX];
    snprintf(script, sizeof script, "plots/%s.gp", figure);
    enum status status = path_find(PATH_DATA, script, path, sizeof path);
    return status == STATUS_OK ? run_gnuplot(path, data, format, out) : status;
}

static enum status draw(const char *figure, const struct text_stream *data, const char *output)
{
    struct child_result picture;
    const char *format = extension_of(output);
    enum status status = plot_check_output(output);
    if (status == STATUS_OK && strcmp(format, ".gp") == 0)
        return write_file(output, data->text, data->bytes);
    if (status == STATUS_OK)
        status = atomic_file_check(output, ATOMIC_FILE_REPLACE);
    if (status == STATUS_OK)
        status = run_script(figure, data->text, format, &picture);
    if (status != STATUS_OK)
        return status;
    status = write_file(output, picture.output, picture.output_bytes);
    child_result_release(&picture);
    return status;
}

enum status plot_begin(struct text_stream *out)
{
    return text_stream_open(out) ? STATUS_OK : no_memory();
}

enum status plot_end(struct text_stream *data, enum status status, const char *figure,
                     const char *output)
{
    char *text = text_stream_close(data);
    if (!text && status == STATUS_OK)
        status = no_memory();
    if (status == STATUS_OK)
        status = draw(figure, data, output);
    free(text);
    return status;
}

enum status plot_end_svg(struct text_stream *data, enum status status, const char *figure,
                         char **out)
{
    struct child_result picture;
    char *text = text_stream_close(data);
    if (!text && status == STATUS_OK)
        status = no_memory();
    if (status == STATUS_OK)
        status = run_script(figure, text, ".svg", &picture);
    free(text);
    if (status != STATUS_OK)
        return status;
    char *svg = strndup(picture.output, picture.output_bytes);
    child_result_release(&picture);
    if (!svg)
        return no_memory();
    *out = svg;
    return STATUS_OK;
}
