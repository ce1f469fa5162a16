#include "job/bodies.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Into a text that ends with a null character, behind *bytes of the file. */
static enum status read_text(const char *path, bool lines, char **text, size_t *bytes)
{
    const char *what = lines ? "bodies" : "body";
    size_t most = lines ? BODIES_MOST_BYTES : BODY_MOST_BYTES;
    struct stat info;
    enum status status = STATUS_OK;
    FILE *file = fopen(path, "re");
    if (!file || fstat(fileno(file), &info) != 0) {
        status =
            status_set(STATUS_USAGE, "cannot read the %s '%s': %s", what, path, strerror(errno));
    } else if ((size_t)info.st_size > most) {
        status = status_set(STATUS_USAGE, "the %s '%s' is not a file of at most %zu MiB", what,
                            path, most >> 20);
    } else if (!(*text = malloc((size_t)info.st_size + 1))) {
        status = status_set(STATUS_MEMORY, "out of memory for the %s '%s'", what, path);
    } else {
        *bytes = fread(*text, 1, (size_t)info.st_size, file);
        (*text)[*bytes] = '\0';
        if (ferror(file))
            status = status_set(STATUS_SYSTEM, "cannot read the %s '%s'", what, path);
    }
    if (file)
        fclose(file);
    return status;
}

static bool is_blank(const char *line, size_t count)
{
    return strspn(line, " \t") >= count;
}

static enum status take_line(const char *path, const char *line, const char *end,
                             struct bodies *bodies)
{
    size_t count = (size_t)(end - line), number = bodies->count + 1;
    if (count > 0 && line[count - 1] == '\r')
        count--;
    if (is_blank(line, count))
        return status_set(STATUS_USAGE, "%s:%zu: the line is blank: delete it", path, number);
    if (count > BODY_MOST_BYTES)
        return status_set(STATUS_USAGE, "%s:%zu: the body is longer than %d MiB", path, number,
                          BODY_MOST_BYTES >> 20);
    bodies->each[bodies->count++] = (struct body){line, count};
    return STATUS_OK;
}

static enum status take_lines(const char *path, size_t bytes, struct bodies *bodies)
{
    const char *end = bodies->text + bytes;
    size_t most = 1;
    enum status status = STATUS_OK;
    for (const char *at = bodies->text; (at = memchr(at, '\n', (size_t)(end - at))); at++)
        most++;
    bodies->each = calloc(most, sizeof *bodies->each);
    if (!bodies->each)
        return status_set(STATUS_MEMORY, "out of memory for the bodies");
    for (const char *line = bodies->text; status == STATUS_OK && line < end;) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        status = take_line(path, line, stop, bodies);
        line = stop + 1;
    }
    if (status == STATUS_OK && bodies->count == 0)
        status = status_set(STATUS_USAGE, "the bodies '%s' are empty: write one a line", path);
    return status;
}

static enum status take_whole(size_t bytes, struct bodies *bodies)
{
    bodies->each = malloc(sizeof *bodies->each);
    if (!bodies->each)
        return status_set(STATUS_MEMORY, "out of memory for the body");
    bodies->each[0] = (struct body){bodies->text, bytes};
    bodies->count = 1;
    return STATUS_OK;
}

enum status bodies_read(const char *path, bool lines, struct bodies *out)
{
    struct bodies bodies = {0};
    size_t bytes = 0;
    enum status status = read_text(path, lines, &bodies.text, &bytes);
    if (status == STATUS_OK)
        status = lines ? take_lines(path, bytes, &bodies) : take_whole(bytes, &bodies);
    if (status != STATUS_OK)
        bodies_release(&bodies);
    else
        *out = bodies;
    return status;
}

void bodies_release(struct bodies *bodies)
{
    free(bodies->text);
    free(bodies->each);
    *bodies = (struct bodies){0};
}

const struct body *bodies_next(const struct bodies *bodies, unsigned server, unsigned servers,
                               uint64_t *place)
{
    size_t count = bodies->count;
    if (count == 0)
        return NULL;
    /* With one more than a multiple of the servers, each body goes to another of them in the next
     * cycle. What this adds to the bodies is passed over. */
    uint64_t cycle = count + (servers + 1 - count % servers) % servers, taken;
    do {
        *place += (servers + server - *place % servers) % servers;
        taken = (*place)++ % cycle;
    } while (taken >= count);
    return &bodies->each[taken];
}
