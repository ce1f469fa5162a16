#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/plan/plan_rig.h"

struct job job;
struct plan plan;

int plan_rig_begin(void **state)
{
    (void)state;
    return job_load(NULL, &job) == STATUS_OK ? 0 : -1;
}

int plan_rig_end(void **state)
{
    (void)state;
    plan_release(&plan);
    job_release(&job);
    return 0;
}

void set(enum option_id id, const char *text)
{
    assert_int_equal(job_set(&job, &option_table[id], text), STATUS_OK);
}

void make_plan(void)
{
    plan_release(&plan);
    assert_int_equal(plan_make(&job, 1, &plan), STATUS_OK);
}

void make_plan_for(unsigned gpus)
{
    plan_release(&plan);
    assert_int_equal(plan_make(&job, gpus, &plan), STATUS_OK);
}
