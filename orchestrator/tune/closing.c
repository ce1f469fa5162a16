/* What a tune ends with: the best layout, the file, and what to type next. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/text.h"
#include "orchestrator/console/closing.h"
#include "orchestrator/console/columns.h"
#include "orchestrator/results/point.h"
#include "orchestrator/tune/internal.h"

/* "hybrid 8×2, pinned: 3218 iterations/s (95%: 3190 to 3240), p99 5.01 ms", or the rate that it
 * holds, with the latency of that. */
static void write_winner(const struct tune *tune, const json_t *winner, FILE *out)
{
    char text[32];
    const json_t *record = tune->record;
    double low = number_in(winner, "ci95", 0), high = number_in(winner, "ci95", 1);
    fprintf(out, "%s: ", text_at(winner, "what"));
    if (json_object_get(record, "goal")) {
        tune_write_rate(tune, winner, out);
    } else {
        fprintf(out, "%s iterations/s",
                text_number(number_at(winner, "throughput_ips"), text, sizeof text));
        if (strcmp(text_at(record, "objective"), "throughput") == 0 && isfinite(low) &&
            isfinite(high)) {
            fprintf(out, " (95%%: %s", text_number(low, text, sizeof text));
            fprintf(out, " to %s)", text_number(high, text, sizeof text));
        }
        if (number_at(winner, "p99_us") > 0.0)
            fprintf(out, ", p99 %s ms",
                    text_number(number_at(winner, "p99_us") / 1e3, text, sizeof text));
    }
    double failed = point_failed_share(tune->campaign.records[integer_at(winner, "point")]);
    if (failed > 0.0)
        fprintf(out, "; %.2g%% of the requests failed", 100.0 * failed);
    const json_t *unfinished = json_object_get(record, "unfinished");
    if (json_is_true(json_object_get(unfinished, "open")))
        fputs("; another one may be as good", out);
    else if (json_object_get(unfinished, "finals_budget_s") &&
             number_at(unfinished, "better_chance") <= TUNE_BETTER_CHANCE)
        fputs("; there was too little time for finals", out);
    else if (strcmp(text_at(record, "verdict"), "unfinished") == 0)
        fprintf(out, "; more time %s find a better one",
                tune_would_find(number_at(unfinished, "better_chance")));
}

static char *best_text(const struct tune *tune)
{
    struct text_stream out;
    const json_t *winner = json_object_get(tune->record, "winner");
    if (!text_stream_open(&out))
        return NULL;
    if (json_is_object(winner))
        write_winner(tune, winner, out.file);
    else if (json_is_object(json_object_get(tune->record, "closest")))
        fputs("none: no layout was found that surely meets the constraints", out.file);
    else if (tune_is_overloaded(tune))
        fputs("none: no layout was found that keeps up with the rate", out.file);
    else if (integer_at(tune->record, "measured") > 0)
        fprintf(out.file, "none: no layout was found that %s",
                tune_is_constrained(tune) ? "meets the constraints" : "works");
    else
        fputs("none: no layout was measured", out.file);
    return text_stream_close(&out);
}

void tune_print_closing(const struct tune *tune)
{
    const struct campaign *campaign = &tune->campaign;
    struct closing closing = {.program = tune->program};
    if (!columns_is_format(options_text(campaign->options, OPTION_FORMAT))) {
        if (tune->interrupted && !options_switch(campaign->options, OPTION_QUIET))
            closing_print_resume(tune->program,
                                 campaign_resume_words(campaign, "tune", OPTION_TUNE));
        return;
    }
    char *best = best_text(tune);
    closing.best = best ? best : "";
    closing.saved = campaign->writer.fd >= 0 ? campaign_output(campaign) : NULL;
    if (tune->interrupted) {
        closing_take(&closing, campaign_resume_words(campaign, "tune", OPTION_TUNE));
    } else if (campaign->writer.regular &&
               json_is_object(json_object_get(tune->record, "winner"))) {
        const struct point *point = tune->space.plan.points;
        if (tune_space_can_calibrate(&tune->space) ||
            !(point_is_builtin(point) || point_is_server(point) || point_is_open(point)))
            closing_add(&closing, "explain", closing.saved, "");
        closing_add(&closing, "plot", closing.saved, " --figure search --output picture.svg");
        if (!options_text(campaign->options, OPTION_TUNE_EMIT))
            closing_take(&closing, campaign_emit_words(campaign, closing.saved, -1));
    }
    closing_print(stdout, &closing);
    free(best);
}
