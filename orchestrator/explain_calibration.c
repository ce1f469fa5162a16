#include "orchestrator/explain_calibration.h"

enum status explain_calibrate(struct session *session, const struct calibration_work *work,
                              const struct round_limits *limits, struct calibration_record *out)
{
    (void)session;
    (void)work;
    (void)limits;
    (void)out;
    return status_set(STATUS_UNSUPPORTED, "this program cannot calibrate");
}
