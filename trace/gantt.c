#include "trace/gantt.h"

#include <stdlib.h>
#include <string.h>

/* Boxes that fit beside each other in a picture: more would only make it larger. */
#define RESOLUTION 2000

/* As plots/timeline.gp counts them. */
enum kind {
    LAUNCH_CALL,
    IN_CALL,
    OUT_CALL,
    WAIT_CALL,
    OTHER_CALL,
    KERNEL_WORK,
    IN_WORK,
    OUT_WORK,
    OTHER_WORK,
    KINDS
};

struct row {
    uint32_t process, worker;
    bool work;
    uint32_t stream;
    uint32_t number; /* 1 is the uppermost */
    struct {
        uint64_t begin_ns, end_ns; /* end 0: none is begun */
    } open[KINDS];
};

struct rows {
    struct row *at;
    size_t count;
};

static enum kind kind_of_work(const struct timeline_event *event)
{
    if (event->record.kind == TRACE_KERNEL)
        return KERNEL_WORK;
    return event->record.kind != TRACE_COPY             ? OTHER_WORK
           : event->record.direction == TRACE_TO_DEVICE ? IN_WORK
           : event->record.direction == TRACE_TO_HOST   ? OUT_WORK
                                                        : OTHER_WORK;
}

/* Not all names of calls have a direction, as cuMemcpyAsync: the copy that it started does. */
static enum kind kind_of_copy_call(const struct timeline *timeline,
                                   const struct timeline_event *event)
{
    enum kind work = OTHER_WORK;
    if (event->work != TIMELINE_NONE)
        work = kind_of_work(&timeline->events[event->work]);
    if (work == IN_WORK || strstr(event->name, "HtoD"))
        return IN_CALL;
    return work == OUT_WORK || strstr(event->name, "DtoH") ? OUT_CALL : OTHER_CALL;
}

static enum kind kind_of(const struct timeline *timeline, const struct timeline_event *event)
{
    if (!timeline_is_call(event))
        return kind_of_work(event);
    if (strstr(event->name, "Launch"))
        return LAUNCH_CALL;
    if (strstr(event->name, "Memcpy"))
        return kind_of_copy_call(timeline, event);
    return strstr(event->name, "Synchronize") ? WAIT_CALL : OTHER_CALL;
}

static int by_place(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->worker != y->worker)
        return x->worker < y->worker ? -1 : 1;
    if (x->work != y->work)
        return x->work ? 1 : -1;
    return x->stream == y->stream ? 0 : x->stream < y->stream ? -1 : 1;
}

static bool is_drawn(const struct timeline_event *event)
{
    return event->worker != TIMELINE_NONE && timeline_duration_ns(event) > 0;
}

static struct row *find_row(const struct rows *rows, const struct timeline_event *event)
{
    bool work = !timeline_is_call(event);
    for (size_t i = 0; i < rows->count; i++) {
        struct row *row = &rows->at[i];
        if (row->process == event->process && row->worker == event->worker && row->work == work &&
            (!work || row->stream == event->record.stream))
            return row;
    }
    return NULL;
}

static enum status make_rows(const struct timeline *timeline, struct rows *rows)
{
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct timeline_event *event = &timeline->events[i];
        if (!is_drawn(event) || find_row(rows, event))
            continue;
        struct row *more = reallocarray(rows->at, rows->count + 1, sizeof *more);
        if (!more)
            return status_set(STATUS_MEMORY, "out of memory for the data of a figure");
        rows->at = more;
        rows->at[rows->count++] = (struct row){.process = event->process,
                                               .worker = event->worker,
                                               .work = !timeline_is_call(event),
                                               .stream = event->record.stream};
    }
    return STATUS_OK;
}

static void write_box(FILE *file, const struct timeline *timeline, struct row *row, int kind)
{
    if (row->open[kind].end_ns == 0)
        return;
    fprintf(file, "%u %.6f %.6f %d\n", row->number,
            (double)(row->open[kind].begin_ns - timeline->begin_ns) / 1e6,
            (double)(row->open[kind].end_ns - timeline->begin_ns) / 1e6, kind);
    row->open[kind].end_ns = 0;
}

static void write_boxes(FILE *file, const struct timeline *timeline, const struct rows *rows)
{
    uint64_t near_ns = (timeline->end_ns - timeline->begin_ns) / RESOLUTION;
    for (uint32_t i = 0; i < timeline->count; i++) {
        const struct timeline_event *event = &timeline->events[i];
        struct row *row = is_drawn(event) ? find_row(rows, event) : NULL;
        int kind = (int)kind_of(timeline, event);
        if (!row || row->number > GANTT_ROWS_MOST)
            continue;
        if (row->open[kind].end_ns && event->record.begin_ns <= row->open[kind].end_ns + near_ns) {
            if (event->record.end_ns > row->open[kind].end_ns)
                row->open[kind].end_ns = event->record.end_ns;
            continue;
        }
        write_box(file, timeline, row, kind);
        row->open[kind].begin_ns = event->record.begin_ns;
        row->open[kind].end_ns = event->record.end_ns;
    }
    for (size_t i = 0; i < rows->count; i++)
        for (int kind = 0; kind < KINDS; kind++)
            write_box(file, timeline, &rows->at[i], kind);
}

enum status gantt_write(FILE *file, const struct timeline *timeline, uint32_t *left_out)
{
    struct rows rows = {0};
    enum status status = make_rows(timeline, &rows);
    if (status == STATUS_OK && rows.count == 0)
        status = status_set(STATUS_USAGE, "the trace has nothing to draw");
    if (status != STATUS_OK) {
        free(rows.at);
        return status;
    }
    qsort(rows.at, rows.count, sizeof *rows.at, by_place);
    size_t drawn = rows.count < GANTT_ROWS_MOST ? rows.count : GANTT_ROWS_MOST;
    *left_out = (uint32_t)(rows.count - drawn);
    fprintf(file, "n_rows = %zu\narray labels[n_rows]\n", drawn);
    for (size_t i = 0; i < rows.count; i++) {
        struct row *row = &rows.at[i];
        row->number = (uint32_t)i + 1;
        if (i < drawn && row->work)
            fprintf(file, "labels[%zu] = 'stream %u'\n", i + 1, row->stream);
        else if (i < drawn)
            fprintf(file, "labels[%zu] = 'process %u thread %u: calls'\n", i + 1, row->process,
                    row->worker);
    }
    fprintf(file, "from = 0\nto = %.6f\n", (double)(timeline->end_ns - timeline->begin_ns) / 1e6);
    fputs("# row, begin, end (ms), kind (calls: 0 launch, 1 copy in, 2 copy out, 3 wait, 4 other; "
          "GPU: 5 kernel, 6 copy in, 7 copy out, 8 other)\n$rows << EOD\n",
          file);
    write_boxes(file, timeline, &rows);
    fputs("EOD\n", file);
    free(rows.at);
    return STATUS_OK;
}
