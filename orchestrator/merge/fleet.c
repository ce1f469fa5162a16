#include "orchestrator/merge/internal.h"

#include <math.h>
#include <stdlib.h>

#include "statistics/statistics.h"

/* Of a normal distribution: its standard deviation over its median absolute deviation, and that of
 * a median over that of a mean. */
#define NORMAL_MAD 1.4826
#define NORMAL_MEDIAN 1.2533

/* Of sorted values; count > 0. */
static double quantile(const double *sorted, size_t count, double share)
{
    double at = share * (double)(count - 1);
    size_t below = (size_t)at;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (at - (double)below) * (sorted[below + 1] - sorted[below]);
}

/* Few values look less scattered than they are (Croux, Rousseeuw 1992). */
static double small_sample(size_t count)
{
    static const double factors[] = {1.0,   1.0,   1.196, 1.495, 1.363,
                                     1.206, 1.200, 1.140, 1.129, 1.107};
    if (count < sizeof factors / sizeof *factors)
        return factors[count];
    return (double)count / ((double)count - 0.8);
}

/* Overwrites the values. */
static double deviation(double *values, size_t count, double centre)
{
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i] - centre);
    return NORMAL_MAD * small_sample(count) * statistics_median(values, count);
}

struct table {
    const double *log_ips;
    size_t nodes, points;
    double *centres; /* median of each point */
    double *values;  /* room for a row or a column */
};

/* Ratio of a node at a point to the median, as a logarithm; NAN: none. */
static double off(const struct table *table, size_t node, size_t point)
{
    return table->log_ips[node * table->points + point] - table->centres[point];
}

static void look_at_point(struct table *table, size_t point, struct fleet_point *out)
{
    size_t count = 0;
    *out = (struct fleet_point){.median_ips = NAN, .lowest = NAN, .highest = NAN};
    table->centres[point] = NAN;
    for (size_t n = 0; n < table->nodes; n++) {
        double value = table->log_ips[n * table->points + point];
        if (isfinite(value))
            table->values[count++] = value;
    }
    out->nodes = count;
    if (count == 0)
        return;
    double centre = statistics_median(table->values, count);
    table->centres[point] = centre;
    out->median_ips = exp(centre);
    out->spread_rel = expm1(deviation(table->values, count, centre));
    for (size_t n = 0; n < table->nodes; n++) {
        double ratio = exp(off(table, n, point));
        if (isnan(ratio))
            continue;
        if (!(ratio >= out->lowest)) {
            out->lowest = ratio;
            out->lowest_node = n;
        }
        if (!(ratio <= out->highest)) {
            out->highest = ratio;
            out->highest_node = n;
        }
    }
}

/* Returns how well the node's ratio is known: a standard deviation, NAN with too few points. */
static double look_at_node(struct table *table, size_t node, const struct fleet_point *points,
                           struct fleet_node *out)
{
    size_t count = 0;
    *out = (struct fleet_node){.ratio = NAN, .low = NAN, .high = NAN};
    for (size_t p = 0; p < table->points; p++) {
        double value = off(table, node, p);
        if (isfinite(value) && points[p].nodes > 1)
            table->values[count++] = value;
    }
    out->points = count;
    if (count == 0)
        return NAN;
    double centre = statistics_median(table->values, count);
    out->ratio = exp(centre);
    out->low = exp(quantile(table->values, count, 0.25));
    out->high = exp(quantile(table->values, count, 0.75));
    if (count < 2)
        return NAN;
    return NORMAL_MEDIAN * deviation(table->values, count, centre) / sqrt((double)count);
}

static void judge_nodes(struct table *table, const double *known, struct fleet *fleet)
{
    size_t count = 0, knowing = 0;
    for (size_t n = 0; n < table->nodes; n++)
        if (isfinite(fleet->nodes[n].ratio))
            table->values[count++] = log(fleet->nodes[n].ratio);
    if (count == 0)
        return;
    double centre = statistics_median(table->values, count);
    double spread = deviation(table->values, count, centre);
    for (size_t n = 0; n < table->nodes; n++)
        if (isfinite(known[n]))
            table->values[knowing++] = known[n];
    double noise = knowing ? statistics_median(table->values, knowing) : 0.0;
    double limit = fmax(FLEET_DEVIATIONS * fmax(spread, noise), log1p(FLEET_MATTERS));
    fleet->spread_rel = expm1(spread);
    fleet->limit_rel = expm1(limit);
    for (size_t n = 0; n < table->nodes && count >= FLEET_LEAST_NODES; n++) {
        struct fleet_node *node = &fleet->nodes[n];
        node->stands_out = isfinite(node->ratio) && fabs(log(node->ratio) - centre) > limit;
        fleet->standing_out += node->stands_out;
    }
}

static enum status add_odd(struct fleet *fleet, size_t point, size_t node, double ratio)
{
    struct fleet_odd *grown = realloc(fleet->odd, (fleet->odd_count + 1) * sizeof *grown);
    if (!grown)
        return status_set(STATUS_MEMORY, "out of memory");
    fleet->odd = grown;
    fleet->odd[fleet->odd_count++] = (struct fleet_odd){point, node, ratio};
    return STATUS_OK;
}

/* How far a node is from its own ratio at a point. */
static double apart(const struct table *table, const struct fleet *fleet, size_t node, size_t point)
{
    return off(table, node, point) - log(fleet->nodes[node].ratio);
}

static enum status find_odd(struct table *table, struct fleet *fleet)
{
    for (size_t p = 0; p < table->points; p++) {
        size_t count = 0;
        for (size_t n = 0; n < table->nodes; n++) {
            double value = apart(table, fleet, n, p);
            if (isfinite(value))
                table->values[count++] = value;
        }
        if (count < FLEET_LEAST_NODES)
            continue;
        double centre = statistics_median(table->values, count);
        double limit = fmax(FLEET_POINT_DEVIATIONS * deviation(table->values, count, centre),
                            log1p(FLEET_POINT_MATTERS));
        for (size_t n = 0; n < table->nodes; n++) {
            double value = apart(table, fleet, n, p);
            if (isfinite(value) && fabs(value - centre) > limit) {
                enum status status = add_odd(fleet, p, n, exp(off(table, n, p)));
                if (status != STATUS_OK)
                    return status;
            }
        }
    }
    return STATUS_OK;
}

enum status fleet_make(const double *log_ips, size_t nodes, size_t points, struct fleet *out)
{
    size_t most = nodes > points ? nodes : points;
    struct table table = {.log_ips = log_ips, .nodes = nodes, .points = points};
    struct fleet fleet = {.node_count = nodes, .point_count = points};
    enum status status = STATUS_OK;
    double *known = calloc(nodes + 1, sizeof *known);
    table.centres = calloc(points + 1, sizeof *table.centres);
    table.values = calloc(most + 1, sizeof *table.values);
    fleet.points = calloc(points + 1, sizeof *fleet.points);
    fleet.nodes = calloc(nodes + 1, sizeof *fleet.nodes);
    if (!known || !table.centres || !table.values || !fleet.points || !fleet.nodes) {
        status = status_set(STATUS_MEMORY, "out of memory");
        goto out;
    }
    for (size_t p = 0; p < points; p++)
        look_at_point(&table, p, &fleet.points[p]);
    for (size_t n = 0; n < nodes; n++)
        known[n] = look_at_node(&table, n, fleet.points, &fleet.nodes[n]);
    judge_nodes(&table, known, &fleet);
    status = find_odd(&table, &fleet);
    if (status == STATUS_OK) {
        *out = fleet;
        fleet = (struct fleet){0};
    }
out:
    free(known);
    free(table.centres);
    free(table.values);
    fleet_release(&fleet);
    return status;
}

void fleet_release(struct fleet *fleet)
{
    free(fleet->points);
    free(fleet->nodes);
    free(fleet->odd);
    *fleet = (struct fleet){0};
}
