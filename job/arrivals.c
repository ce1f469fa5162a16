#include "job/arrivals.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static enum status add(struct arrivals *arrivals, size_t *room, double seconds)
{
    if (arrivals->count == *room) {
        *room = *room ? 2 * *room : 256;
        double *more = realloc(arrivals->at, *room * sizeof *more);
        if (!more)
            return status_set(STATUS_MEMORY, "out of memory for arrivals");
        arrivals->at = more;
    }
    arrivals->at[arrivals->count++] = seconds;
    return STATUS_OK;
}

static enum status take_line(const char *path, char *line, size_t length, unsigned number,
                             struct arrivals *arrivals, size_t *room)
{
    char *end;
    while (length > 0 && (line[length - 1] == '\r' || line[length - 1] == '\n'))
        length--;
    line[length] = '\0';
    double seconds = strtod(line, &end);
    double last = arrivals->count > 0 ? arrivals->at[arrivals->count - 1] : -INFINITY;
    if (end == line || end != line + length || !isfinite(seconds))
        return status_set(STATUS_USAGE, "%s:%u: '%.40s' is not a number of seconds", path, number,
                          line);
    if (seconds < last)
        return status_set(STATUS_USAGE, "%s:%u: %.15g s comes after %.15g s: sort the arrivals",
                          path, number, seconds, last);
    if (arrivals->count == ARRIVALS_MOST)
        return status_set(STATUS_USAGE, "%s has more than %d arrivals", path, ARRIVALS_MOST);
    return add(arrivals, room, seconds);
}

/* After the last one comes a mean gap, and the first again. */
static enum status scale(const char *path, struct arrivals *arrivals)
{
    size_t count = arrivals->count;
    double first = count > 0 ? arrivals->at[0] : 0.0;
    double span = count > 0 ? arrivals->at[count - 1] - first : 0.0;
    if (!isfinite(span))
        return status_set(STATUS_USAGE, "%s has arrivals too far from each other", path);
    if (!(span > 0.0))
        return status_set(STATUS_USAGE, "%s has no two arrivals at different times", path);
    for (size_t i = 0; i < count; i++)
        arrivals->at[i] = (arrivals->at[i] - first) / span * (double)(count - 1);
    return STATUS_OK;
}

enum status arrivals_read(const char *path, struct arrivals *out)
{
    char *line = NULL;
    size_t bytes = 0, room = 0;
    ssize_t length;
    enum status status = STATUS_OK;
    struct arrivals arrivals = {0};
    FILE *file = fopen(path, "re");
    if (!file)
        return status_set(STATUS_USAGE, "cannot read the arrivals '%s': %s", path, strerror(errno));
    for (unsigned number = 1; status == STATUS_OK && (length = getline(&line, &bytes, file)) > 0;
         number++)
        status = take_line(path, line, (size_t)length, number, &arrivals, &room);
    free(line);
    if (status == STATUS_OK && !feof(file))
        status = status_set(STATUS_SYSTEM, "cannot read the arrivals '%s'", path);
    if (status == STATUS_OK)
        status = scale(path, &arrivals);
    fclose(file);
    if (status != STATUS_OK)
        arrivals_release(&arrivals);
    else
        *out = arrivals;
    return status;
}

void arrivals_release(struct arrivals *arrivals)
{
    free(arrivals->at);
    *arrivals = (struct arrivals){0};
}
