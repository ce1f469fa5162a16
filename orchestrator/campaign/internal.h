/*
 * How the files of a campaign report: through the callback of the command.
 */
#pragma once

#include "orchestrator/campaign/campaign.h"

#define CAMPAIGN_NOTICE 2048

void campaign_notify_text(campaign_notify notify, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
