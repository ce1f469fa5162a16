/*
 * Nodes of a fleet, which have all measured the same points: how each compares with the others, and
 * which stand out. Pure maths.
 *
 * Medians, and median absolute deviations from them, on the logarithmic scale: a few broken nodes
 * must not move what all are compared with.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "common/status.h"

/* A node stands out if its ratio is so many standard deviations from the median of all nodes (as
 * estimated from the median absolute deviation) and as far as matters. Among 500 nodes that are all
 * the same to a percent or so, none does. */
#define FLEET_DEVIATIONS 4.5
#define FLEET_MATTERS 0.03

/* The same of one point of a node, beside what the node is like at all its points. */
#define FLEET_POINT_DEVIATIONS 6.0
#define FLEET_POINT_MATTERS 0.05

/* Fewer cannot tell which of them is the odd one. */
#define FLEET_LEAST_NODES 3

struct fleet_point {
    size_t nodes;      /* that measured it */
    double median_ips; /* of them */
    double spread_rel; /* standard deviation of the nodes, from the median absolute deviation */
    double lowest, highest; /* ratios */
    size_t lowest_node, highest_node;
};

struct fleet_node {
    size_t points;    /* that it measured, and others, too */
    double ratio;     /* median over its points; NAN without any */
    double low, high; /* quartiles of its points' ratios */
    bool stands_out;
};

/* A point at which a node is unlike itself. */
struct fleet_odd {
    size_t point, node;
    double ratio; /* to the median of the nodes */
};

struct fleet {
    struct fleet_point *points;
    struct fleet_node *nodes;
    size_t point_count, node_count;
    double spread_rel; /* of the nodes' ratios */
    double limit_rel;  /* so far from the median they stand out, as a share */
    size_t standing_out;
    struct fleet_odd *odd;
    size_t odd_count;
};

/* log_ips[node * points + point], NAN where there is no number. STATUS_MEMORY is the only error. */
enum status fleet_make(const double *log_ips, size_t nodes, size_t points, struct fleet *out);
void fleet_release(struct fleet *fleet);
