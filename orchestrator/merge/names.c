#include "orchestrator/merge/internal.h"

#include <math.h>
#include <stdio.h>

#include "common/paths.h"
#include "common/text.h"
#include "orchestrator/results/origin.h"

const char *const merge_rank_words[MERGE_RANKS] = {
    [MERGE_INTERRUPTED] = "interrupted",
    [MERGE_FAILED] = "failed",
    [MERGE_INFEASIBLE] = "infeasible",
    [MERGE_UNCONVERGED] = "unconverged",
    [MERGE_OK] = "ok",
};

const struct merge_reading_row merge_readings[MERGE_READINGS] = {
    [MERGE_CLOCK] = {"sm_clock_mhz", "clock", " MHz", 1},
    [MERGE_POWER] = {"power_w", "power", " W", 1},
    [MERGE_TEMPERATURE] = {"temperature_c", "temperature", " °C", 1},
    [MERGE_THROTTLED] = {"throttled_share", "throttled", "% of the time", 100},
};

double merge_reading_mean(const struct merge_telemetry *telemetry, enum merge_reading reading)
{
    size_t count = telemetry->counts[reading];
    return count ? telemetry->sums[reading] / (double)count : NAN;
}

const char *merge_file_name(const struct merge *merge, size_t source)
{
    return path_file_name(merge->files[merge->sources[source].file].path);
}

const char *merge_host(const struct merge *merge, size_t source, char text[MERGE_HOST_TEXT])
{
    return text_shortened(origin_host(merge->sources[source].header), text, MERGE_HOST_TEXT);
}

const char *merge_source_name(const struct merge *merge, size_t source, char *text, size_t size)
{
    char host[MERGE_HOST_TEXT];
    snprintf(text, size, "%s on %s", merge_file_name(merge, source),
             merge_host(merge, source, host));
    return text;
}
