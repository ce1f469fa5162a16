/*
 * Shared by the files of the sweep command: doing it (sweep.c), printing (print.c, closing.c),
 * publishing (publish.c).
 */
#pragma once

#include "orchestrator/campaign/campaign.h"

/* Seconds that what is left will take, about, and at most where no worker hangs (most_s may be
 * NULL); 0 without memory. */
double sweep_estimate_s(const struct campaign *campaign, double *most_s);

/* On standard output, in the format asked for: the points, one a line; and all of --dry-run, which
 * needs an open session. */
void sweep_print_list(const struct campaign *campaign);
void sweep_print_plan(struct campaign *campaign);

/* On standard output, in the format asked for; program is as it was called. */
void sweep_print_results(const struct campaign *campaign, const char *program, const json_t *points,
                         const json_t *footer, bool interrupted);

/* The end of a table: the best points, the results file, and commands for what comes next. */
void sweep_print_closing(const struct campaign *campaign, const char *program, const json_t *points,
                         bool interrupted);

/* Whether --publish, if given, can be done, before anything is measured. After campaign_deal(). */
enum status sweep_check_publish(const struct campaign *campaign);

/* The name of --publish, which is given, "{shard}" filled in as in that of the results; to be
 * freed. STATUS_USAGE, STATUS_MEMORY. */
enum status sweep_final_name(const struct campaign *campaign, char **out);

/* Gives the results their final name, if that was asked for and, by result, every point has a
 * record. Nothing can be written to them afterwards. Errors as of atomic_file_publish(). */
enum status sweep_publish(struct campaign *campaign, int result);
