#include "orchestrator/plot.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/paths.h"
#include "orchestrator/plot_figure.h"

#define GNUPLOT_LIMIT_NS (60 * NS_PER_S)
#define GNUPLOT_OUTPUT_BYTES 8192
#define TEMPORARY_TRIES 100

struct figure {
    const char *name;
    const char *script;
    enum status (*write)(const struct results *results, const char *path, FILE *file);
};

static const struct figure figures[] = {
    {"throughput", "plots/throughput.gp", plot_throughput_write},
};

#define FIGURE_COUNT (sizeof figures / sizeof *figures)

const char *plot_figure_name(size_t index)
{
    return index < FIGURE_COUNT ? figures[index].name : NULL;
}

static enum status find_figure(const char *name, const struct figure **out)
{
    for (size_t i = 0; i < FIGURE_COUNT; i++)
        if (name == NULL || strcmp(figures[i].name, name) == 0) {
            *out = &figures[i];
            return STATUS_OK;
        }
    return status_set(STATUS_USAGE, "unknown figure '%s' (known: %s)", name, figures[0].name);
}

/* The extension with its dot, of the file's own name; "" if it has none. */
static const char *extension_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *base = slash != NULL ? slash + 1 : path;
    const char *dot = strrchr(base, '.');
    return dot != NULL && dot != base ? dot : "";
}

static enum status output_error(const char *output, int error)
{
    return status_set(STATUS_SYSTEM, "cannot write '%s': %s", output, strerror(error));
}

/*
 * Makes an empty file beside the output, to be renamed over it: on the same file system, with the
 * same extension (which names the format), and with the rights that a new file gets. Its path
 * starts with a slash or a dot, since gnuplot takes '|name' for a command.
 */
static enum status make_temporary(const char *output, char path[PATH_MAX])
{
    const char *slash = strrchr(output, '/');
    const char *base = slash != NULL ? slash + 1 : output;
    const char *directory = slash == output ? "" : slash != NULL ? output : ".";
    int directory_bytes = slash != NULL && slash != output ? (int)(slash - output) : 1;
    const char *relative = output[0] == '/' ? "" : "./";
    struct stat info;

    if (stat(output, &info) == 0) {
        if (S_ISDIR(info.st_mode))
            return output_error(output, EISDIR);
        if (!S_ISREG(info.st_mode))
            return status_set(STATUS_USAGE, "cannot write '%s': not a regular file", output);
        if (access(output, W_OK) != 0)
            return output_error(output, errno);
    }
    for (int number = 0; number < TEMPORARY_TRIES; number++) {
        int length = snprintf(path, PATH_MAX, "%s%.*s/.%s.%ld-%d%s", relative, directory_bytes,
                              directory, base, (long)getpid(), number, extension_of(base));
        if (length >= PATH_MAX)
            return output_error(output, ENAMETOOLONG);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            close(fd);
            return STATUS_OK;
        }
        if (errno != EEXIST)
            return output_error(output, errno);
    }
    return output_error(output, EEXIST);
}

static enum status write_file(const char *path, const char *text, size_t bytes, const char *output)
{
    FILE *file = fopen(path, "we");
    if (file == NULL)
        return output_error(output, errno);
    errno = 0;
    bool written = fwrite(text, 1, bytes, file) == bytes;
    int error = errno;
    if (fclose(file) != 0 && written) {
        written = false;
        error = errno;
    }
    return written ? STATUS_OK : output_error(output, error);
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

/* The data goes in by standard input: no file of it is left behind whatever happens. */
static enum status run_gnuplot(const char *script, const char *data, const char *picture)
{
    struct child_result result;
    char ending[64];
    const char *const argv[] = {
        "gnuplot", "--default-settings", "-c", script, "/dev/stdin", picture, NULL};
    const char *const set[] = {"LC_ALL=C.UTF-8", NULL};
    const char *const unset[] = {"GNUTERM", "GNUPLOT_LIB", NULL};
    struct child_options options = {
        .argv = argv,
        .env_set = set,
        .env_unset = unset,
        .input = data,
        .output_cap = GNUPLOT_OUTPUT_BYTES,
        .deadline_ns = clock_now_ns() + GNUPLOT_LIMIT_NS,
        .merge_stderr = true,
    };
    enum status status = child_run(&options, &result);
    if (status == STATUS_NOT_FOUND)
        return status_set(status, "%s (apt-get install gnuplot-nox)", status_text());
    if (status != STATUS_OK)
        return status;
    struct stat info;
    const char *why = complaint(result.output);
    if (result.wait_status != 0)
        status = status_set(
            STATUS_SYSTEM, "gnuplot: %s",
            why != NULL ? why : child_ending_text(result.wait_status, ending, sizeof ending));
    else if (stat(picture, &info) != 0 || info.st_size == 0)
        status = status_set(STATUS_SYSTEM, "gnuplot: %s", why != NULL ? why : "drew nothing");
    child_result_release(&result);
    return status;
}

/* The figure's data file in memory; the caller frees it. */
static enum status make_data(const struct figure *figure, const char *path, char **data,
                             size_t *bytes)
{
    struct results results = {0};
    char *text = NULL;
    size_t length = 0;
    FILE *file = NULL;

    enum status status = results_load(path, &results);
    if (status != STATUS_OK)
        return status;
    file = open_memstream(&text, &length);
    if (file == NULL) {
        status = status_set(STATUS_MEMORY, "out of memory for the data of a figure");
        goto out;
    }
    status = figure->write(&results, path, file);
    if (fclose(file) != 0 && status == STATUS_OK)
        status = status_set(STATUS_MEMORY, "out of memory for the data of a figure");
    if (status != STATUS_OK)
        goto out;
    *data = text;
    *bytes = length;
    text = NULL;
out:
    free(text);
    results_release(&results);
    return status;
}

enum status plot_check_output(const char *output)
{
    static const char *const known[] = {".svg", ".png", ".pdf", ".gp"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(extension_of(output), known[i]) == 0)
            return STATUS_OK;
    return status_set(STATUS_USAGE,
                      "cannot tell the format of '%s': name it .svg, .png, .pdf or .gp", output);
}

enum status plot_draw(const char *script, const char *data, size_t bytes, const char *output)
{
    char temporary[PATH_MAX] = "";
    char path[PATH_MAX];
    bool data_only = strcmp(extension_of(output), ".gp") == 0;
    enum status status = plot_check_output(output);
    if (status == STATUS_OK && !data_only)
        status = path_find_data(script, path, sizeof path);
    if (status != STATUS_OK)
        return status;
    status = make_temporary(output, temporary);
    if (status != STATUS_OK)
        return status;
    status =
        data_only ? write_file(temporary, data, bytes, output) : run_gnuplot(path, data, temporary);
    if (status == STATUS_OK && rename(temporary, output) != 0)
        status = output_error(output, errno);
    if (status != STATUS_OK)
        unlink(temporary);
    return status;
}

enum status plot_write(const struct plot_request *request)
{
    const struct figure *figure = NULL;
    char *data = NULL;
    size_t bytes = 0;

    enum status status = plot_check_output(request->output);
    if (status == STATUS_OK)
        status = find_figure(request->figure, &figure);
    if (status == STATUS_OK)
        status = make_data(figure, request->results, &data, &bytes);
    if (status == STATUS_OK)
        status = plot_draw(figure->script, data, bytes, request->output);
    free(data);
    return status;
}
