#include "orchestrator/trace/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The only point of a section of that name. */
static enum status point_of_section(const struct plan *plan, const char *name, size_t *index)
{
    size_t found = 0;
    for (size_t i = 0; i < plan->count; i++) {
        const char *section = plan->points[i].section;
        if (!section || strcmp(section, name) != 0)
            continue;
        *index = i;
        found++;
    }
    if (found == 1)
        return STATUS_OK;
    if (found > 1)
        return status_set(STATUS_USAGE,
                          "section [%s] has %zu points, and a trace is of one: give its number, as "
                          "'--list' shows it, with --point",
                          name, found);
    return status_set(STATUS_USAGE,
                      "no point '%s': --point takes the name of a section, or a number from 0 to "
                      "%zu as '--list' shows it",
                      name, plan->count - 1);
}

void trace_list_points(const struct plan *plan)
{
    char what[POINT_DESCRIPTION];
    for (size_t i = 0; i < plan->count; i++) {
        const struct point *point = &plan->points[i];
        point_describe(point, what, sizeof what);
        printf("%zu\t%s", i, what);
        if (point->section)
            printf("\t[%s]", point->section);
        putchar('\n');
    }
}

/* Whether the layouts are those that a plan has where none are given, and one point is of one
 * worker alone. */
static bool find_alone(const struct job *job, const struct plan *plan, size_t *index)
{
    size_t found = 0;
    for (size_t i = 0; i < job->count; i++)
        if (options_is_given(&job->sections[i].options, OPTION_LAYOUT))
            return false;
    for (size_t i = 0; i < plan->count; i++) {
        if (plan->points[i].layout != LAYOUT_THREADS || plan->points[i].threads != 1)
            continue;
        *index = i;
        found++;
    }
    return found == 1;
}

enum status trace_choose_point(const struct job *job, const struct plan *plan, const char *wanted,
                               size_t *index)
{
    char *end;
    if (!wanted && plan->count == 1) {
        *index = 0;
        return STATUS_OK;
    }
    if (!wanted && find_alone(job, plan, index))
        return STATUS_OK;
    if (!wanted)
        return status_set(STATUS_USAGE,
                          "the plan has %zu points, and a trace is of one: choose it with --point "
                          "('--list' numbers them), or with options such as --layout "
                          "threads:4",
                          plan->count);
    if (*wanted < '0' || *wanted > '9')
        return point_of_section(plan, wanted, index);
    errno = 0;
    unsigned long number = strtoul(wanted, &end, 10);
    if (errno || *end || number >= plan->count)
        return point_of_section(plan, wanted, index);
    *index = number;
    return STATUS_OK;
}
