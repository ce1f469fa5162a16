/*
 * A job and the plan that is made of it, for tests of what comes before anything is started.
 * Include after cmocka.h.
 */
#pragma once

#include "orchestrator/plan/plan.h"

extern struct job job;
extern struct plan plan;

/* A test's setup and teardown: the job has all defaults; both are released. */
int plan_rig_begin(void **state);
int plan_rig_end(void **state);

/* An option of the job, as on the command line. */
void set(enum option_id id, const char *text);

/* The plan of the job so far, in place of the plan before: of the GPUs that --device names, or of a
 * machine of that many. */
void make_plan(void);
void make_plan_for(unsigned gpus);
