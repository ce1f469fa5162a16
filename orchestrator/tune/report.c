#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/text.h"
#include "orchestrator/results/point.h"
#include "orchestrator/results/rate.h"
#include "orchestrator/results/scaling.h"
#include "orchestrator/results/table.h"
#include "orchestrator/tune/internal.h"

const char *tune_number_text(double value, char *out, size_t size)
{
    return isfinite(value) && value > 0.0 ? text_number(value, out, size) : "-";
}

static const char *milliseconds(double us, char *out, size_t size)
{
    if (!(us > 0.0))
        return "-";
    snprintf(out, size, "%.4g", us / 1e3);
    return out;
}

/* A program that does not start prints the same again and again. */
static const char *error_text(struct tune *tune, size_t point)
{
    const json_t *record = tune->campaign.records[point];
    bool known = tune->failed != TUNE_NO_POINT && tune->failed != point;
    bool same = known && point_fails_like(record, tune->campaign.records[tune->failed]);
    tune->failed = point;
    return same ? "for the same reason" : text_at(record, "error");
}

/* "[look 3, 20 s left] threads 1×1: " */
static void print_step(const struct tune *tune, size_t point, enum tune_stage stage, unsigned order)
{
    char what[POINT_DESCRIPTION], left[64] = "";
    double seconds = tune_seconds_left(tune);
    point_describe(&tune->space.plan.points[point], what, sizeof what);
    if (isfinite(seconds))
        snprintf(left, sizeof left, ", %.0f s left", seconds);
    fprintf(stderr, "[%s %u%s] %s: ", tune_stage_name(stage), order, left, what);
}

void tune_print_unready(const struct tune *tune, enum tune_stage stage)
{
    const struct tune_pace *pace = &tune->pace;
    if (options_switch(tune->campaign.options, OPTION_QUIET))
        return;
    print_step(tune, pace->unready, stage, tune->order + 1);
    if (pace->unended_s > 0.0)
        fprintf(stderr, "not ended in %.0f s after its window: there is no more time for it\n",
                pace->unended_s);
    else
        fprintf(stderr, "%s in %.0f s: there is no more time for it\n",
                pace->was_ready ? "no window" : "not ready", pace->unready_s);
    fflush(stderr);
}

void tune_print_point(struct tune *tune, size_t point, enum tune_stage stage)
{
    char value[32], left[64];
    const json_t *record = tune->campaign.records[point];
    if (options_switch(tune->campaign.options, OPTION_QUIET))
        return;
    print_step(tune, point, stage, tune->order);
    if (point_is_measured(record))
        fprintf(stderr, "%s iterations/s, p99 %s ms\n",
                text_number(number_at(record, "throughput_ips"), value, sizeof value),
                milliseconds(number_at(json_object_get(record, "latency_us"), "p99"), left,
                             sizeof left));
    else
        fprintf(stderr, "%s: %s\n", text_at(record, "status"), error_text(tune, point));
    fflush(stderr);
}

/* -- in words ---------------------------------------------------------------------------------- */

static void print_value(const json_t *winner, const char *objective, bool searched)
{
    char text[32];
    double value = number_at(winner, "value");
    double low = number_in(winner, "ci95", 0), high = number_in(winner, "ci95", 1);
    bool known = isfinite(low) && isfinite(high);
    if (strcmp(objective, "p99") == 0) {
        printf("p99 of %s ms", milliseconds(1e6 / value, text, sizeof text));
        if (known && low > 0.0) {
            printf(" (95%%: %s", milliseconds(1e6 / high, text, sizeof text));
            printf(" to %s)", milliseconds(1e6 / low, text, sizeof text));
        }
        return;
    }
    printf("%s %s", tune_number_text(value, text, sizeof text),
           strcmp(objective, "throughput") == 0 ? "iterations/s" : "iterations/J");
    if (known) {
        printf(" (%s%s", searched ? "" : "95%: ", tune_number_text(low, text, sizeof text));
        printf(" to %s%s)", tune_number_text(high, text, sizeof text),
               searched ? ", a step of the search" : "");
    }
}

/* The next one has a higher figure in the table, but of the search alone. */
static void print_luck(const struct tune *tune, const json_t *margin)
{
    const json_t *winner = json_object_get(tune->record, "winner");
    const json_t *next = tune->campaign.records[integer_at(margin, "over")];
    if (integer_at(winner, "rounds") >= 2 && json_array_size(json_object_get(next, "rounds")) < 2 &&
        strcmp(text_at(tune->record, "objective"), "throughput") == 0 &&
        number_at(next, "throughput_ips") > number_at(winner, "throughput_ips"))
        puts("the next did more in the search; finals decide: the highest of many looks is often "
             "luck");
}

/* They have no rate of their own, and so no part in the margin. */
static void print_cut_short(const struct tune *tune)
{
    const json_t *cut = json_object_get(tune->record, "cut_short");
    double below = number_at(cut, "below_ips");
    double value = number_at(json_object_get(tune->record, "winner"), "value");
    bool one = integer_at(cut, "count") == 1;
    char text[32];
    if (!cut)
        return;
    printf("%d other%s cut short: %s not hold %s/s, ", (int)integer_at(cut, "count"),
           one ? " was" : "s were", one ? "it does" : "they do",
           tune_number_text(below, text, sizeof text));
    if (value > below)
        printf("and the best holds at least %.1f%% more\n", 100.0 * (value / below - 1.0));
    else
        puts("and the best may hold no more");
}

static void print_margin(const struct tune *tune)
{
    const json_t *margin = json_object_get(tune->record, "margin");
    double low = number_in(margin, "ci95", 0), high = number_in(margin, "ci95", 1);
    if (!margin)
        return;
    /* Not -0.0%. */
    printf("margin over the next: %+.1f%%", round(1e3 * number_at(margin, "rel")) / 10.0 + 0.0);
    if (isfinite(low) && isfinite(high))
        printf(" (95%%: %+.1f%% to %+.1f%%)", 100.0 * low, 100.0 * high);
    putchar('\n');
    print_luck(tune, margin);
}

/* Of the winner the limit holds; of the closest one it is not surely met. */
static void print_p99(const struct tune *tune, const json_t *object, double limit_us, bool holds)
{
    char text[32], limit[32];
    const json_t *record = tune->campaign.records[integer_at(object, "point")];
    double p99_us = number_at(object, "p99_us"), high = number_in(object, "p99_bounds_us", 1);
    long long iterations = integer_at(record, "iterations");
    if (isinf(point_latency_us(record, "p99"))) {
        p99_us = INFINITY;
        high = 0.0;
    }
    if (isinf(p99_us))
        fputs("p99: later than any, since too many requests failed", stdout);
    else
        printf("p99: %s ms", milliseconds(p99_us, text, sizeof text));
    if (high > 0.0)
        printf(", at most %s with 95%% confidence", milliseconds(high, text, sizeof text));
    else if (!holds && p99_us <= limit_us && iterations < HISTOGRAM_LEAST_P99)
        printf(", of %lld iterations; an upper end takes %d, and a longer --budget has longer "
               "windows",
               iterations, HISTOGRAM_LEAST_P99);
    else if (!holds && p99_us <= limit_us)
        printf(", of %lld iterations, of which those near each other are alike: an upper end takes "
               "more, and a longer --budget has longer windows",
               iterations);
    else if (!holds && isfinite(p99_us))
        fputs(", an upper end of its interval is not known", stdout);
    if (limit_us > 0.0)
        printf("; %s the limit of %s",
               holds               ? "below"
               : p99_us > limit_us ? "above"
                                   : "not surely below",
               rate_time_text(limit_us * 1e3, limit, sizeof limit));
    putchar('\n');
}

void tune_write_rate(const struct tune *tune, const json_t *winner, FILE *out)
{
    const json_t *record = tune->campaign.records[integer_at(winner, "point")];
    const json_t *goal = json_object_get(tune->record, "goal");
    const char *percentile = text_at(goal, "percentile");
    char rate[32], latency[32], limit[32];
    fprintf(out, "holds %s/s of an open loop with a %s of %s; the limit is %s",
            tune_number_text(number_at(winner, "rate_ips"), rate, sizeof rate), percentile,
            rate_time_text(1e3 * number_at(json_object_get(record, "latency_us"), percentile),
                           latency, sizeof latency),
            rate_time_text(1e3 * number_at(goal, "us"), limit, sizeof limit));
}

/* A figure of a server that fails requests is easily taken for one of all of them. */
static void print_bad_answers(const struct tune *tune, const json_t *object)
{
    const char *text =
        point_warning(tune->campaign.records[integer_at(object, "point")], "bad_answers");
    if (*text)
        printf("warning: %s\n", text);
}

static void print_cpus(const struct tune *tune, const json_t *object)
{
    double cpus = number_at(object, "cpus_in_use");
    if (tune->rules.max_cpus <= 0.0)
        return;
    if (isfinite(cpus))
        printf("CPUs in use: %.2f", cpus);
    else
        fputs("CPUs in use: not known", stdout);
    printf(" (limit: %g)\n", tune->rules.max_cpus);
}

/* By itself the program would start more threads, which may cost most of its throughput. */
static void print_openmp(const struct tune *tune, const json_t *winner)
{
    const json_t *record = tune->campaign.records[integer_at(winner, "point")];
    long long threads = integer_at(record, "omp_num_threads");
    if (threads > 0)
        printf("each process has " POINT_OPENMP_VARIABLE "=%lld in its environment\n", threads);
}

/* What the winner has less of than the one that does most. */
static void print_reason(const struct tune *tune, const json_t *winner)
{
    const json_t *preferred = json_object_get(tune->record, "preferred");
    size_t most = (size_t)integer_at(preferred, "over"),
           equals = (size_t)integer_at(preferred, "equals");
    const char *reason = text_at(preferred, "for");
    char what[POINT_DESCRIPTION], less[32], more[32];
    if (!preferred)
        return;
    const json_t *record = tune->campaign.records[most];
    point_describe(&tune->space.plan.points[most], what, sizeof what);
    fputs(what, stdout);
    if (equals > 2)
        printf(" and %zu other%s", equals - 2, equals > 3 ? "s" : "");
    printf(" %s as good: the best ", equals > 2 ? "are" : "is");
    if (strcmp(reason, "cpus") == 0)
        printf("uses fewer CPUs (%.2f of %.2f)\n", number_at(winner, "cpus_in_use"),
               point_cpus_in_use(record));
    else if (strcmp(reason, "p99") == 0)
        printf("has the lower p99 (%s of %s ms)\n",
               milliseconds(number_at(winner, "p99_us"), less, sizeof less),
               milliseconds(number_at(json_object_get(record, "latency_us"), "p99"), more,
                            sizeof more));
    else if (strcmp(reason, "share") == 0)
        puts("is not held to a share of the GPU");
    else if (strcmp(reason, "mps") == 0)
        puts("needs no MPS daemon");
    else
        printf("takes fewer processes (%u of %u)\n",
               tune->space.plan.points[integer_at(winner, "point")].processes,
               tune->space.plan.points[most].processes);
}

/* The one that would be taken without the winner, where the reason is about another. */
static void print_runner_up(const struct tune *tune, const json_t *winner)
{
    const json_t *preferred = json_object_get(tune->record, "preferred"), *one = NULL;
    const json_t *equal = tune_record_equals(tune->record);
    char what[POINT_DESCRIPTION], cpus[POINT_CPUS_BYTES], p99[32];
    for (size_t i = 0; i < json_array_size(equal) && !one; i++)
        if (json_integer_value(json_array_get(equal, i)) != integer_at(winner, "point"))
            one = json_array_get(equal, i);
    if (!preferred || !one || json_integer_value(one) == integer_at(preferred, "over"))
        return;
    const json_t *record = tune->campaign.records[json_integer_value(one)];
    point_describe(&tune->space.plan.points[json_integer_value(one)], what, sizeof what);
    double in_use = point_cpus_in_use(record);
    printf("%s comes next: %s CPUs, p99 of %s ms\n", what,
           isfinite(in_use) ? point_cpus_text(in_use, cpus) : "-",
           milliseconds(number_at(json_object_get(record, "latency_us"), "p99"), p99, sizeof p99));
}

static void print_gpus(const struct tune *tune, const json_t *winner)
{
    const json_t *rates = json_object_get(winner, "per_gpu_ips");
    struct imbalance imbalance;
    char text[32], apart[IMBALANCE_TEXT];
    for (size_t i = 0; i < json_array_size(rates); i++)
        printf("%s%s", i == 0 ? "each GPU: " : ", ",
               tune_number_text(json_number_value(json_array_get(rates, i)), text, sizeof text));
    if (json_array_size(rates) > 0)
        fputs(" iterations/s", stdout);
    const json_t *record = tune->campaign.records[integer_at(winner, "point")];
    if (imbalance_of(record, &imbalance) && imbalance_matters(&imbalance, record))
        printf("; %s", imbalance_text(&imbalance, false, apart));
    if (json_array_size(rates) > 0)
        putchar('\n');
    const json_t *scaling = json_object_get(tune->record, "scaling");
    unsigned gpus = tune->space.gpus;
    if (!scaling)
        return;
    printf("%.1f%% of %u times one GPU alone", 100.0 * number_at(scaling, "efficiency"), gpus);
    if (json_is_true(json_object_get(scaling, "shared")))
        printf(": they share the host's memory, links or CPUs; which of them, 'mpsweep sweep "
               "--gpus-per-point 1,%u --calibrate' with the same --device shows",
               gpus);
    putchar('\n');
}

/* An estimate is not certain: none reads as 0% or 100%. */
static const char *percent_likely(double chance, char text[32])
{
    double percent = round(100.0 * chance);
    if (percent < 1.0)
        return "under 1%";
    if (percent > 99.0)
        return "over 99%";
    snprintf(text, 32, "%.0f%%", percent);
    return text;
}

const char *tune_would_find(double chance)
{
    return chance > 0.0 && chance < 0.5 ? "may" : "would probably";
}

static void print_unfinished(const json_t *record, const char *objective)
{
    const json_t *missing = json_object_get(record, "unfinished");
    double share = number_at(missing, "share"), chance = number_at(missing, "better_chance");
    char text[32];
    double finals_s = number_at(missing, "finals_budget_s");
    /* The command that would suffice has a budget that is as large or larger. */
    if (finals_s > 0.0 && *text_at(missing, "command"))
        fputs("unfinished: there was too little time for finals, which are fresh starts", stdout);
    else if (finals_s > 0.0)
        printf("unfinished: there was too little time for finals, which are fresh starts: "
               "give --budget %.0fs or more",
               finals_s);
    else if (json_is_true(json_object_get(missing, "open")))
        fputs("unfinished: more rounds would show whether another layout is as good", stdout);
    else
        printf("unfinished: more time %s find a better layout", tune_would_find(chance));
    if (share > 0.0 && strcmp(objective, "throughput") == 0)
        printf("; %.3g%% of the highest prediction (%s iterations/s) is reached", 100.0 * share,
               tune_number_text(number_at(missing, "of"), text, sizeof text));
    else if (share > 0.0)
        printf("; %.3g%% of the highest prediction is reached", 100.0 * share);
    if (chance > 0.0)
        printf("; a layout that does 5%% more is %s likely", percent_likely(chance, text));
    putchar('\n');
}

static void print_most(const struct tune *tune, enum option_id option, const char *what,
                       unsigned has, unsigned most, unsigned limit)
{
    if (has > 1 && has == most && most < limit && !options_is_given(tune->campaign.options, option))
        printf("it has the most %s that are searched: --%s %u may find a better one\n", what,
               option_table[option].name, 2 * most < limit ? 2 * most : limit);
}

/* A program's best layout at the border of what is searched: there may be better ones beyond it,
 * unless MPS has no more clients. */
static void print_border(const struct tune *tune, const json_t *winner)
{
    const struct tune_space *space = &tune->space;
    const struct point *best = &space->plan.points[integer_at(winner, "point")];
    unsigned processes = 0, threads = 0;
    if (!point_is_program(best) || options_is_given(tune->campaign.options, OPTION_LAYOUT))
        return;
    for (size_t i = 0; i < space->candidates; i++) {
        const struct point *point = &space->plan.points[i];
        if (point_over_mps(point) != point_over_mps(best))
            continue;
        processes = point->processes > processes ? point->processes : processes;
        if (point->processes == best->processes)
            threads = point->threads > threads ? point->threads : threads;
    }
    print_most(tune, OPTION_MAX_PROCESSES, "processes", best->processes, processes,
               point_over_mps(best) ? space->clients : LAYOUT_MOST_WORKERS);
    print_most(tune, OPTION_MAX_THREADS, "threads", best->threads, threads,
               LAYOUT_MOST_WORKERS * best->threads / point_workers(best));
}

static void print_winner(const struct tune *tune, double limit_us)
{
    const json_t *record = tune->record;
    const json_t *winner = json_object_get(record, "winner");
    const json_t *limit = json_object_get(record, "limit");
    size_t equal = json_array_size(tune_record_equals(record));
    const char *objective = text_at(record, "objective");
    bool unfinished = strcmp(text_at(record, "verdict"), "unfinished") == 0;
    if (unfinished)
        print_unfinished(record, objective);
    printf("best layout%s for %s: %s\n", unfinished ? " so far," : "",
           json_object_get(record, "goal") ? "the rate" : objective, text_at(winner, "what"));
    print_value(winner, objective, json_object_get(record, "goal") != NULL);
    if (integer_at(winner, "rounds") >= 2)
        printf(", %d rounds with fresh processes\n", (int)integer_at(winner, "rounds"));
    else
        puts(", from a single window: there was no time for more");
    if (json_object_get(record, "goal")) {
        tune_write_rate(tune, winner, stdout);
        putchar('\n');
    }
    print_gpus(tune, winner);
    if (equal > 1)
        printf("%zu other%s as good, as far as the data show\n", equal - 1,
               equal > 2 ? "s are" : " is");
    print_reason(tune, winner);
    print_runner_up(tune, winner);
    print_border(tune, winner);
    print_margin(tune);
    print_cut_short(tune);
    if (limit_us > 0.0)
        print_p99(tune, winner, limit_us, true);
    print_cpus(tune, winner);
    print_bad_answers(tune, winner);
    if (limit)
        printf("limited by %s, %.0f%% of it reached: %s\n", text_at(limit, "title"),
               100.0 * number_at(limit, "reached"), text_at(limit, "reason"));
    print_openmp(tune, winner);
    printf("\nmeasure it again: mpsweep %s\n", text_at(winner, "options"));
    const char *command = text_at(json_object_get(record, "unfinished"), "command");
    /* The closing lines have how to continue. */
    if (unfinished && *command && !tune->interrupted)
        printf("what would probably suffice: mpsweep %s\n", command);
}

static void print_nothing(const struct tune *tune, double limit_us)
{
    const json_t *closest = json_object_get(tune->record, "closest");
    if (!closest) {
        tune_print_no_number(tune);
        return;
    }
    puts("no layout was found that surely meets the constraints");
    printf("closest: %s\n", text_at(closest, "what"));
    print_p99(tune, closest, limit_us, false);
    print_cpus(tune, closest);
    print_bad_answers(tune, closest);
}

static void print_search(const struct tune *tune)
{
    const json_t *record = tune->record;
    const char *ended = text_at(record, "ended");
    double budget = number_at(record, "budget_s");
    char seconds[32], text[32];
    printf("measured %d of %d layout%s in %s", (int)integer_at(record, "measured"),
           (int)integer_at(record, "space"), integer_at(record, "space") == 1 ? "" : "s",
           text_duration(number_at(record, "seconds"), seconds, sizeof seconds));
    if (isfinite(budget))
        printf(" of %s", text_duration(budget, text, sizeof text));
    printf(", guided by %s", strcmp(text_at(record, "guide"), "calibration") == 0
                                 ? "a calibration"
                                 : "measuring alone");
    if (tune->unguided)
        fputs(" since the calibration took longer than its share", stdout);
    bool all = integer_at(record, "measured") == integer_at(record, "space");
    if (strcmp(ended, "budget") == 0 && !all)
        printf("; more time might find %s",
               json_is_object(json_object_get(record, "winner")) ? "a better one" : "one");
    else if (strcmp(ended, "interrupted") == 0)
        printf("; interrupted");
    putchar('\n');
}

/* What the search did not come to, as the program seems to have one thread. */
static void print_without_threads(const struct tune *tune)
{
    bool any = false, tried = false;
    for (size_t i = 0; i < tune->space.candidates; i++) {
        bool several = tune->space.plan.points[i].threads > 1;
        any |= several;
        tried |= several && tune->campaign.records[i];
    }
    if (tune->rules.may_ignore_threads && any && !tried)
        puts("layouts of several threads come last: neither the command nor the files that it runs "
             "name MPSWEEP_THREADS; --max-threads N has them tried as others are");
}

/* Layouts that failed were not compared: a kind that never worked is easily missed. */
static void print_failed(const struct tune *tune)
{
    char what[POINT_DESCRIPTION];
    const json_t *first = NULL;
    unsigned count = 0;
    for (size_t i = 0; i < tune->space.plan.count; i++) {
        const json_t *record = tune->campaign.records[i];
        if (!record || strcmp(text_at(record, "status"), "failed") != 0)
            continue;
        first = first ? first : record;
        count++;
    }
    if (!first)
        return;
    point_describe(&tune->space.plan.points[integer_at(first, "id")], what, sizeof what);
    printf("%u layout%s failed; %s%s: %s\n", count, count == 1 ? "" : "s",
           count == 1 ? "" : "for example ", what, text_at(first, "error"));
}

static void print_text(const struct tune *tune)
{
    const json_t *header = tune->campaign.header;
    const json_t *gpu = json_object_get(header, "gpu");
    if (tune->space.gpus > 1)
        printf("%u × ", tune->space.gpus);
    printf("%s%s\n\n", text_at(gpu, "name"), session_mark(&tune->campaign.session));
    if (json_is_object(json_object_get(tune->record, "winner")))
        print_winner(tune, tune->rules.max_p99_us);
    else
        print_nothing(tune, tune->rules.max_p99_us);
    putchar('\n');
    tune_print_table(tune);
    putchar('\n');
    print_search(tune);
    print_without_threads(tune);
    const json_t *winner = json_object_get(tune->record, "winner");
    if (!json_is_object(winner))
        return;
    table_print_iteration(stdout, tune->campaign.records[integer_at(winner, "point")]);
    print_failed(tune);
}

void tune_print(const struct tune *tune, const json_t *footer)
{
    const char *format = options_text(tune->campaign.options, OPTION_FORMAT);
    json_t *points = campaign_measured_points(&tune->campaign);
    if (strcmp(format, "csv") == 0)
        table_print_csv(stdout, tune->campaign.header, points);
    else if (strcmp(format, "json") == 0)
        table_print_json(stdout, tune->campaign.header, tune->campaign.calibrations, points,
                         tune->record, footer);
    else
        print_text(tune);
    json_decref(points);
}
