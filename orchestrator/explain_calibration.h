/*
 * Where explain gets a calibration from that the results do not hold: it measures one.
 */
#ifndef MPSWEEP_ORCHESTRATOR_EXPLAIN_CALIBRATION_H
#define MPSWEEP_ORCHESTRATOR_EXPLAIN_CALIBRATION_H

#include "explain/calibration.h"
#include "orchestrator/round.h"
#include "orchestrator/session.h"

/* Measures what work needs on the session's GPU. */
enum status explain_calibrate(struct session *session, const struct calibration_work *work,
                              const struct round_limits *limits, struct calibration_record *out);

#endif
