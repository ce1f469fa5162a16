#include "orchestrator/explain/programs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "job/workload_text.h"
#include "orchestrator/explain/point.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/settings.h"
#include "orchestrator/results/table.h"

/* Of a CPU: more is a host that does not rest, less one that mostly sleeps. */
#define RESTLESS 0.9
#define ASLEEP 0.5
/* Of one worker's throughput, that each of several has: they do not disturb each other. */
#define UNDISTURBED 0.9
/* Of the CPUs that workers may use: the others are for the system, and for what is not even. */
#define FULL 0.9
/* A layout that does as many times as much, with as many workers, shows what the other lacks. */
#define SHOWN 1.1
/* The most that an interval of two rounds counts: it has hardly any bounds. */
#define OFF_OF_TWO 0.25
/* Launches in an iteration from which on a graph saves much of the host's time. */
#define MANY_LAUNCHES 50

enum limit {
    LIMIT_UNKNOWN, /* one worker, or not known what one does */
    LIMIT_NONE,
    LIMIT_OPEN, /* the interval leaves open whether there is any */
    LIMIT_SLICES,
    LIMIT_CPUS,
    LIMIT_PROCESS,
    LIMIT_SHARED,
};

static const char *const limit_names[] = {[LIMIT_SLICES] = "time-slicing",
                                          [LIMIT_CPUS] = "cpus",
                                          [LIMIT_PROCESS] = "process",
                                          [LIMIT_SHARED] = "shared"};

/* The points of a file. */
struct programs {
    const json_t *points;
    const json_t *workloads; /* the steps of described ones; NULL: there are none */
    struct table_settings varying;
    double cpus;      /* that workers may use; 0: not known */
    bool has_command; /* the workers are those of a program */
};

struct finding {
    const json_t *point;
    const json_t *one;     /* the worker that it is compared with; NULL: none was measured */
    bool one_is_named;     /* since it has the other MPS setting, or is one of several */
    double workers, times; /* of that one's throughput; 0: not known */
    double off;            /* of times: its interval ends a factor of exp(off) down and up */
    double cpus, share;    /* in use; of a CPU, that each worker uses */
    enum limit limit;
    const json_t *instead; /* as many workers in another layout over MPS; NULL: not measured */
    double instead_times, instead_off;
};

static double number(const json_t *record, const char *key)
{
    return json_number_value(json_object_get(record, key));
}

static bool over_mps(const json_t *point)
{
    return json_is_true(json_object_get(point, "mps"));
}

static double ips_of(const json_t *point)
{
    return number(point, "throughput_ips");
}

static double workers_of(const json_t *point)
{
    return fmax(number(point, "processes") * number(point, "threads"), number(point, "in_flight"));
}

/* Whether there is no calibration for it: of a program, a described workload or a plug-in. */
static bool is_program(const json_t *point)
{
    static const struct results without = {0};
    return !explain_point_known(&without, point) && !explain_point_server(point) &&
           !explain_point_open(point) && ips_of(point) > 0.0;
}

/* Whether both do the same in an iteration, in the same way. */
static bool is_alike(const json_t *point, const json_t *other)
{
    static const char *const keys[] = {"workload", "memory", "sync", "launch"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const json_t *left = json_object_get(point, keys[i]);
        const json_t *right = json_object_get(other, keys[i]);
        if ((left || right) && !json_equal(left, right))
            return false;
    }
    return true;
}

static struct programs programs_of(const json_t *header, const json_t *points)
{
    const json_t *workload = json_object_get(header, "workload");
    struct programs programs = {.points = points,
                                .workloads = json_object_get(header, "workloads"),
                                .cpus = number(header, "cpus"),
                                .has_command = json_is_array(json_object_get(workload, "argv"))};
    table_settings_find(points, &programs.varying);
    return programs;
}

bool explain_has_programs(const json_t *points)
{
    for (size_t i = 0; i < json_array_size(points); i++)
        if (is_program(json_array_get(points, i)))
            return true;
    return false;
}

/* -- what limits a point ----------------------------------------------------------------------- */

/* In how many of the settings in which points differ the other has the same. */
static size_t settings_in_common(const struct programs *programs, const json_t *point,
                                 const json_t *other)
{
    char left[SETTINGS_FIGURE_BYTES], right[SETTINGS_FIGURE_BYTES];
    size_t count = 0;
    for (size_t i = 0; i < programs->varying.count; i++) {
        const struct option_row *row = programs->varying.rows[i];
        settings_text(point, row, false, left, sizeof left);
        settings_text(other, row, false, right, sizeof right);
        count += strcmp(left, right) == 0;
    }
    return count;
}

/* Whether `other` is rather to be compared with than `best`, whatever the order of the file: one
 * with the point's MPS setting first, then the one with most of its settings. */
static bool is_nearer(const struct programs *programs, const json_t *point, const json_t *other,
                      const json_t *best)
{
    if (over_mps(other) != over_mps(best))
        return over_mps(other) == over_mps(point);
    size_t common = settings_in_common(programs, point, other);
    size_t of_best = settings_in_common(programs, point, best);
    return common != of_best ? common > of_best : number(other, "id") < number(best, "id");
}

/* Finds one worker of the same: a point of one worker is its own. */
static void find_one(const struct programs *programs, struct finding *found)
{
    const json_t *point = found->point;
    size_t count = 0;
    for (size_t i = 0; i < json_array_size(programs->points); i++) {
        const json_t *other = json_array_get(programs->points, i);
        if (!is_program(other) || workers_of(other) != 1.0 || !is_alike(point, other))
            continue;
        count++;
        if (!found->one || is_nearer(programs, point, other, found->one))
            found->one = other;
    }
    if (found->workers == 1.0)
        found->one = point;
    found->one_is_named = count > 1 || over_mps(found->one) != over_mps(point);
}

/* The best point over MPS with as many workers, in the same processes or in more. */
static const json_t *find_instead(const struct programs *programs, const json_t *point)
{
    const json_t *best = NULL;
    for (size_t i = 0; i < json_array_size(programs->points); i++) {
        const json_t *other = json_array_get(programs->points, i);
        bool differs = number(other, "processes") > number(point, "processes") || !over_mps(point);
        if (is_program(other) && over_mps(other) && differs && is_alike(point, other) &&
            workers_of(other) == workers_of(point) &&
            number(other, "processes") >= number(point, "processes") &&
            (!best || ips_of(other) > ips_of(best)))
            best = other;
    }
    return best;
}

/* mpsweep's own workers keep a CPU each busy while they wait, unless they sleep: that they are busy
 * shows nothing as long as each has one. */
static bool may_spin(const struct programs *programs, const json_t *point)
{
    double threads = number(point, "processes") * number(point, "threads");
    return !programs->has_command && strcmp(text_at(point, "schedule"), "block") != 0 &&
           threads <= programs->cpus;
}

static enum limit limit_of(const struct programs *programs, const struct finding *found)
{
    double processes = number(found->point, "processes");
    bool several = number(found->point, "threads") > 1.0;
    bool sliced = processes > 1.0 && !over_mps(found->point);
    /* By much, and surely more. */
    bool shown =
        found->instead_times >= SHOWN && found->instead_times * exp(-found->instead_off) > 1.0;
    bool asked = found->instead != NULL;
    if (found->workers <= 1.0 || found->times <= 0.0)
        return LIMIT_UNKNOWN;
    if (found->times * exp(-found->off) >= UNDISTURBED * found->workers)
        return LIMIT_NONE;
    if (found->times * exp(found->off) >= UNDISTURBED * found->workers)
        return LIMIT_OPEN;
    if (sliced && (shown || !asked))
        return LIMIT_SLICES;
    if (programs->cpus > 0.0 && found->cpus >= FULL * programs->cpus &&
        !may_spin(programs, found->point))
        return LIMIT_CPUS;
    return several && (shown || !asked) ? LIMIT_PROCESS : LIMIT_SHARED;
}

/* Half of the interval of a point's throughput, relative. */
static double off_of(const json_t *point)
{
    double half = number(point, "ci95_rel");
    bool of_two = json_array_size(json_object_get(point, "rounds")) == 2;
    return of_two ? fmin(OFF_OF_TWO, half) : half;
}

static double off_of_ratio(const json_t *point, const json_t *other)
{
    return hypot(off_of(point), off_of(other));
}

static struct finding find(const struct programs *programs, const json_t *point)
{
    struct finding found = {.point = point, .workers = workers_of(point)};
    double cpu_s = number(json_object_get(point, "cpu"), "us_per_iteration") / 1e6;
    found.share = cpu_s * ips_of(point) / found.workers;
    found.cpus = point_cpus_in_use(point);
    find_one(programs, &found);
    if (found.one) {
        found.times = ips_of(point) / ips_of(found.one);
        found.off = off_of_ratio(point, found.one);
    }
    found.instead = find_instead(programs, point);
    if (found.instead) {
        found.instead_times = ips_of(found.instead) / ips_of(point);
        found.instead_off = off_of_ratio(found.instead, point);
    }
    found.limit = limit_of(programs, &found);
    return found;
}

/* -- as text ----------------------------------------------------------------------------------- */

/* Each worker is in an iteration all the time. */
static void print_host(FILE *out, const struct finding *found)
{
    double took_ms = 1e3 * found->workers / ips_of(found->point);
    if (found->share <= 0.0)
        return;
    fprintf(out, "  a worker needs %.4g ms for one, and %.4g ms of a CPU (%.0f%%): %s\n", took_ms,
            found->share * took_ms, 100.0 * found->share,
            found->share >= RESTLESS
                ? "the host does not rest; it computes, launches, or spins as it waits"
            : found->share < ASLEEP ? "the host mostly sleeps, or waits for the GPU asleep"
                                    : "the host works, and sleeps or waits asleep");
}

/* "processes+mps 4×1 does 2.66 times as much", or how to find that out. */
static void print_instead(FILE *out, const struct programs *programs, const struct finding *found)
{
    char name[TABLE_LABEL];
    if (found->instead)
        fprintf(out, ";\n    %s does %.3g times as much",
                table_label(found->instead, &programs->varying, name), found->instead_times);
    else
        fprintf(out, ";\n    --layout processes+mps:%.0f would show it", found->workers);
}

static void print_limit(FILE *out, const struct programs *programs, const struct finding *found)
{
    switch (found->limit) {
    case LIMIT_NONE:
        fputs("they hardly disturb each other, and more may do more", out);
        break;
    case LIMIT_OPEN:
        fprintf(out, "between %.3g and %.3g, which leaves open whether anything limits them",
                found->times * exp(-found->off), found->times * exp(found->off));
        break;
    case LIMIT_SLICES:
        fputs("without MPS processes take turns on the GPU", out);
        print_instead(out, programs, found);
        break;
    case LIMIT_CPUS:
        fprintf(out, "the CPUs limit them: %.1f of %.0f are busy", found->cpus, programs->cpus);
        break;
    case LIMIT_PROCESS:
        fprintf(out, "something in their process %s them, such as %s",
                found->instead ? "limits" : "may limit",
                programs->has_command ? "a lock of the interpreter or the driver"
                                      : "its hardware queues, or a lock of the driver");
        print_instead(out, programs, found);
        break;
    default:
        fputs("not the CPUs", out);
        if (programs->cpus > 0.0 && found->cpus > 0.0)
            fprintf(out, " (%.1f of %.0f are busy)", found->cpus, programs->cpus);
        fputs(" but something else that they share limits them: the GPU, or memory", out);
    }
}

/* "threads 1×16: 2576 iterations/s"; of an unconverged point with its interval. */
static void print_throughput(FILE *out, const struct programs *programs, const json_t *point)
{
    char name[TABLE_LABEL], ips[32], interval[POINT_INTERVAL_BYTES];
    fprintf(out, "%s: %s iterations/s", table_label(point, &programs->varying, name),
            text_number(ips_of(point), ips, sizeof ips));
    if (strcmp(text_at(point, "status"), "unconverged") == 0)
        fprintf(out, " (unconverged%s%s)", *point_interval(point, NULL, interval) ? ", " : "",
                interval);
}

static void print_finding(FILE *out, const struct programs *programs, const struct finding *found)
{
    char one[TABLE_LABEL] = "one";
    const char *iteration = text_at(json_object_get(found->point, "observed"), "iteration");
    print_throughput(out, programs, found->point);
    fprintf(out, "%s%s\n", *iteration ? "; an iteration is " : "", iteration);
    print_host(out, found);
    if (found->limit == LIMIT_UNKNOWN)
        return;
    if (found->one_is_named)
        table_label(found->one, &programs->varying, one);
    fprintf(out, "  %.0f workers do %.3g times as much as %s: ", found->workers, found->times, one);
    print_limit(out, programs, found);
    fputc('\n', out);
}

/* Of a described workload, launched kernel by kernel; 0: not known. */
static double launches_of_steps(const struct programs *programs, const json_t *point)
{
    struct workload workload;
    double launches = 0.0;
    const char *name = json_string_value(json_object_get(point, "workload"));
    const char *launch = json_string_value(json_object_get(point, "launch"));
    const json_t *steps =
        json_object_get(json_object_get(programs->workloads, name ? name : ""), "steps");
    if (!launch || strcmp(launch, "stream") != 0 || !steps ||
        workload_begin(name, &workload) != STATUS_OK)
        return 0.0;
    for (size_t i = 0; i < json_array_size(steps) && i < WORKLOAD_STEPS; i++) {
        const char *text = json_string_value(json_array_get(steps, i));
        if (!text || workload_add_step(&workload, text) != STATUS_OK)
            return 0.0;
        if (workload_step_is_kernel(&workload.steps[i]))
            launches += (double)workload_step_times(workload.steps, (unsigned)i);
    }
    return launches;
}

/* Kernels that an iteration launches by themselves; 0: not known. */
static double launches_of(const struct programs *programs, const json_t *point)
{
    const char *iteration =
        json_string_value(json_object_get(json_object_get(point, "observed"), "iteration"));
    const char *at = iteration ? strstr(iteration, " launches") : NULL;
    while (at && at > iteration && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return at ? strtod(at, NULL) : launches_of_steps(programs, point);
}

/* What would help the best of them most. */
static void print_remedy(FILE *out, const struct programs *programs, const struct finding *best)
{
    char name[TABLE_LABEL];
    double launches = best->point ? launches_of(programs, best->point) : 0.0;
    if (launches < MANY_LAUNCHES || best->share < ASLEEP)
        return;
    fprintf(
        out,
        "\nThe best is %s. Its %.0f launches may be much of the %.4g ms of a CPU that an iteration "
        "takes:\n%s a CUDA graph has one in their place.\n",
        table_label(best->point, &programs->varying, name), launches,
        1e3 * best->share * best->workers / ips_of(best->point),
        programs->has_command ? "if they are the same each time," : "with --launch graph");
}

static int by_id(const void *a, const void *b)
{
    const json_t *const *one = a, *const *other = b;
    double left = number(*one, "id"), right = number(*other, "id");
    return (left > right) - (left < right);
}

/* The points of programs in the order of the plan, as tables are; a file has them as they were
 * measured. The caller frees it; NULL: no memory. */
static const json_t **in_order(const json_t *points, size_t *count)
{
    const json_t **ordered = calloc(json_array_size(points) + 1, sizeof *ordered);
    *count = 0;
    for (size_t i = 0; ordered && i < json_array_size(points); i++)
        if (is_program(json_array_get(points, i)))
            ordered[(*count)++] = json_array_get(points, i);
    if (ordered)
        qsort(ordered, *count, sizeof *ordered, by_id);
    return ordered;
}

/* Returns the best. */
static struct finding print_findings(FILE *out, const struct programs *programs,
                                     const json_t **points, size_t count)
{
    struct finding best = {.point = NULL};
    for (size_t i = 0; i < count; i++) {
        struct finding found = find(programs, points[i]);
        print_finding(out, programs, &found);
        if (!best.point || ips_of(points[i]) > ips_of(best.point))
            best = found;
    }
    return best;
}

void explain_print_programs(FILE *out, json_t *header, const json_t *points)
{
    const struct programs programs = programs_of(header, points);
    size_t count;
    const json_t **ordered = in_order(points, &count);
    struct finding best = {.point = NULL};
    table_print_heading(out, header, points);
    if (ordered)
        best = print_findings(out, &programs, ordered, count);
    else
        fputs("out of memory for the points\n", out);
    free(ordered);
    print_remedy(out, &programs, &best);
    fputs("\nCeilings and predictions take a calibration, which 'mpsweep sweep --calibrate' makes "
          "of a described workload;\n"
          "'mpsweep record' describes a program's, and 'mpsweep trace' shows calls and kernels.\n",
          out);
}

/* -- as JSON ----------------------------------------------------------------------------------- */

static json_t *number_or_null(double value)
{
    return isfinite(value) && value > 0.0 ? json_real(value) : json_null();
}

static json_t *instead_json(const struct finding *found)
{
    json_t *instead = found->instead ? json_object() : json_null();
    if (!found->instead)
        return instead;
    json_object_set(instead, "point", json_object_get(found->instead, "id"));
    json_object_set_new(instead, "times", json_real(found->instead_times));
    return instead;
}

static json_t *to_json(const struct finding *found)
{
    const char *name = limit_names[found->limit];
    json_t *one = found->one ? json_object_get(found->one, "id") : NULL;
    json_t *object = explain_point_json(found->point);
    json_object_set_new(object, "times_one", number_or_null(found->times));
    json_object_set_new(object, "one", one ? json_incref(one) : json_null());
    json_object_set_new(object, "cpu_share", number_or_null(found->share));
    json_object_set_new(object, "cpus_in_use", number_or_null(found->cpus));
    json_object_set_new(object, "limited_by", name ? json_string(name) : json_null());
    json_object_set_new(object, "instead", instead_json(found));
    return object;
}

json_t *explain_programs_json(const json_t *header, const json_t *points)
{
    const struct programs programs = programs_of(header, points);
    size_t count;
    const json_t **ordered = in_order(points, &count);
    json_t *array = ordered ? json_array() : NULL;
    for (size_t i = 0; array && i < count; i++) {
        struct finding found = find(&programs, ordered[i]);
        if (json_array_append_new(array, to_json(&found)) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    free(ordered);
    return array;
}
