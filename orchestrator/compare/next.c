/* What a comparison recommends to measure next. */
#include <math.h>
#include <stdlib.h>

#include "orchestrator/compare/comparison.h"
#include "statistics/student.h"

#define ENOUGH 5 /* rounds, for a first verdict */
#define TAIL 0.025

static double rounds_at(const json_t *point)
{
    return (double)json_array_size(json_object_get(point, "rounds"));
}

/* How many times more rounds an effect needs whose interval is to lie on one side of the threshold,
 * as its value does. What the interval has for one of several tests is less than Holm may ask. */
static double times_of(const struct effect *effect, const struct comparison *comparison)
{
    double beyond = fabs(effect->log_ratio) - log1p(comparison->threshold);
    double tests = comparison->holm && beyond > 0 ? (double)comparison->count : 1;
    bool higher = effect->log_ratio > 0;
    double end = higher ? effect->below : effect->above;
    double degrees = higher ? effect->degrees_below : effect->degrees_above;
    if (!(beyond > 0))
        end = fmax(effect->below, effect->above);
    end *= student_exceeded(TAIL / tests, degrees) / student_exceeded(TAIL, degrees);
    return end / fabs(beyond) * (end / fabs(beyond));
}

/* Whether a step of a search leaves it unsure, which rounds do not narrow. */
static bool is_within_a_step(const struct compare_row *row)
{
    return (point_rate_is_searched(row->base) || point_rate_is_searched(row->change)) &&
           row->has_throughput && row->verdict == EFFECT_UNSURE;
}

/* For a verdict on an unsure point, about; INFINITY: none is enough, 0: it has a verdict, or lacks
 * figures to compare. */
static double rounds_wanted(const struct compare_row *row, const struct comparison *comparison)
{
    double rounds = fmin(rounds_at(row->base), rounds_at(row->change)), times = 1 + 1 / rounds;
    if (!row->has_throughput || !isfinite(row->throughput.below + row->throughput.above) ||
        row->verdict != EFFECT_UNSURE)
        return 0;
    if (row->throughput_verdict == EFFECT_UNSURE)
        times = fmax(times, times_of(&row->throughput, comparison));
    if (row->p99_counts && row->p99_verdict == EFFECT_UNSURE)
        times = fmax(times, times_of(&row->p99, comparison));
    return times * rounds <= EFFECT_MOST_ROUNDS ? ceil(times * rounds) : INFINITY;
}

static void print_commands(FILE *out, const struct comparison *comparison, unsigned rounds)
{
    char *base = comparison_again(comparison->base_path, &comparison->base, rounds);
    char *change = comparison_again(comparison->change_path, &comparison->change, rounds);
    if (base && change)
        fprintf(out, "  %s\n  %s\n", base, change);
    free(base);
    free(change);
}

/* The rounds of a tune are few on purpose, and its command would look at other layouts. */
static const char *what_to_do(const struct comparison *comparison)
{
    bool tunes = results_are_of_tune(&comparison->base) || results_are_of_tune(&comparison->change);
    return tunes ? "sweep the layouts of both files" : "repeat both sweeps";
}

static void print_few(FILE *out, const struct comparison *comparison)
{
    fprintf(out,
            "%zu of %zu point%s too few rounds to show worse or better: %s with --rounds %d, into "
            "new files\n",
            comparison->few, comparison->count, comparison->count == 1 ? " has" : "s have",
            what_to_do(comparison), ENOUGH);
    print_commands(out, comparison, ENOUGH);
}

static void print_unsure(FILE *out, const struct comparison *comparison)
{
    size_t settled = 0, near = 0, steps = 0;
    double most = 0;
    for (size_t i = 0; i < comparison->count; i++) {
        if (is_within_a_step(&comparison->rows[i])) {
            steps++;
            continue;
        }
        double wanted = rounds_wanted(&comparison->rows[i], comparison);
        near += isinf(wanted);
        if (!(wanted > 0) || isinf(wanted))
            continue;
        settled++;
        most = fmax(most, wanted);
    }
    if (near > 0)
        fprintf(out,
                "%zu unsure so near to ±%g%% that %d rounds would hardly decide: another "
                "--threshold may\n",
                near, comparison->threshold * 100, EFFECT_MOST_ROUNDS);
    if (steps > 0)
        fprintf(out,
                "%zu unsure by the steps of searched rates, which rounds do not narrow: another "
                "--threshold may decide\n",
                steps);
    if (settled == 0)
        return;
    fprintf(
        out,
        "about %.0f rounds should decide on %zu unsure: %s with --rounds %.0f, into new files\n",
        most, settled, what_to_do(comparison), most);
    print_commands(out, comparison, (unsigned)most);
}

void comparison_print_next(FILE *out, const struct comparison *comparison)
{
    if (comparison->one_file)
        return;
    if (comparison->few > 0)
        print_few(out, comparison);
    else
        print_unsure(out, comparison);
}
