#include "orchestrator/campaign/limits.h"

#include <unistd.h>

#include "orchestrator/session/mps_limits.h"
#include "orchestrator/record/record.h"

bool limits_plan_concerns(const struct plan *plan)
{
    char path[PATH_MAX];
    bool over_mps = false;
    for (size_t i = 0; i < plan->count && !over_mps; i++)
        over_mps = point_over_mps(&plan->points[i]);
    return over_mps && mps_limits_path(path) == STATUS_OK && access(path, F_OK) == 0;
}

enum status limits_plan_mark(const struct session *session, const struct plan *plan,
                             json_t **records, bool *beyond)
{
    struct mps_limits limits;
    enum status status = mps_limits_known(session, &limits);
    if (status != STATUS_OK)
        return status == STATUS_NOT_FOUND ? STATUS_OK : status;
    for (size_t i = 0; i < plan->count; i++) {
        const struct mps_limits_row *row = mps_limits_beyond(&limits, &plan->points[i]);
        if (!row)
            continue;
        records[i] = record_beyond(&plan->points[i], &limits, row);
        if (!records[i])
            return status_set(STATUS_MEMORY, "out of memory for a record");
        beyond[i] = true;
    }
    return STATUS_OK;
}
