/*
 * How the files of a campaign report: through the callback of the command.
 */
#pragma once

#include "orchestrator/campaign/campaign.h"

#define CAMPAIGN_NOTICE 2048

/* Adds what the plug-ins are to a header's "workload". */
void campaign_add_plugins(const struct campaign *campaign, json_t *header);

/* -- machine.c -- */

/* Whether this machine, its settings and the programs are those of the file's header. *moved: they
 * are not, and what is kept of the machine (calibrations, lengths) does not hold here.
 * STATUS_USAGE: they are not, and neither --force nor points for reference allow that. */
enum status campaign_check_machine(struct campaign *campaign, const char *path,
                                   const json_t *header, bool *moved);

void campaign_notify_text(campaign_notify notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
