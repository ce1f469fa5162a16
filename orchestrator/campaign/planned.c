/* A plan as records, for lists that programs read. */
#include "orchestrator/campaign/campaign.h"
#include "orchestrator/plan/device_choice.h"
#include "orchestrator/record/record.h"

/* As far as it is known: a list needs no GPU. */
static bool is_emulated(const struct campaign *campaign)
{
    struct device_choice choice;
    return campaign->session.emulated ||
           (device_choice_parse(options_text(campaign->options, OPTION_DEVICE), &choice) ==
                STATUS_OK &&
            choice.emulated);
}

json_t *campaign_planned(const struct campaign *campaign, size_t count)
{
    json_t *planned = json_array();
    bool emulated = is_emulated(campaign);
    for (size_t i = 0; i < count; i++) {
        if (!campaign_owns(campaign, i))
            continue;
        json_t *record = record_planned(&campaign->plan.points[i], campaign->records[i]);
        if (emulated)
            json_object_set_new(record, "emulated", json_true());
        json_array_append_new(planned, record);
    }
    return planned;
}

json_t *campaign_plan_record(struct campaign *campaign, double about_s, double most_s)
{
    if (campaign_make_header(campaign, false) != STATUS_OK)
        return NULL;
    json_t *record = json_copy(campaign->header);
    if (!record)
        return NULL;
    json_object_set_new(record, "type", json_string("plan"));
    json_object_set_new(record, "infeasible",
                        json_integer((json_int_t)campaign_count_beyond(campaign)));
    if (about_s > 0.0) {
        json_object_set_new(record, "estimated_s", json_real(about_s));
        json_object_set_new(record, "most_s", json_real(most_s));
    }
    return record;
}
