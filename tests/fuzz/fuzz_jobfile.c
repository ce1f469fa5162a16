/* A job file: any bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "job/jobfile.h"
#include "job/workload_mix.h"
#include "tests/fuzz/target.h"

const char fuzz_target_name[] = "jobfile";

/* What is written back means the same. */
static void check_steps(const struct workload *workload)
{
    char text[WORKLOAD_STEP_TEXT];
    struct workload again;
    check(workload_begin("again", &again) == STATUS_OK);
    for (unsigned i = 0; i < workload->count; i++)
        check(workload_add_step(&again, workload_step_text(&workload->steps[i], text)) ==
              STATUS_OK);
    check(workload_end(&again) == STATUS_OK);
    check(memcmp(again.steps, workload->steps, sizeof again.steps) == 0);
}

/* An iteration goes through each step as often as it has times. */
static void check_walk(const struct workload *workload)
{
    struct workload_walk walk = {.steps = workload->steps, .count = workload->count};
    uint64_t seen[WORKLOAD_STEPS] = {0}, total = 0;
    for (unsigned number; workload_walk_next(&walk, &number); total++)
        seen[number]++;
    check(total > 0 && total <= WORKLOAD_UNROLLED_MOST);
    for (unsigned i = 0; i < workload->count; i++)
        if (seen[i] > 0)
            check(seen[i] * workload->steps[i].count == workload_step_times(workload->steps, i));
}

static void check_workloads(const struct job *job)
{
    for (size_t i = 0; i < job->workload_count; i++) {
        const struct workload *workload = &job->workloads[i];
        struct mix mix;
        const char *bad;
        size_t length;
        check(workload->count > 0 && workload->count <= WORKLOAD_STEPS);
        check_steps(workload);
        check_walk(workload);
        check(mix_parse(workload->name, job->workloads, job->workload_count, &mix, &bad, &length) ==
              STATUS_OK);
        check(mix.count == 1 && mix.workloads[0] == i);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char path[FUZZ_PATH];
    struct job job;
    int fd = fuzz_file(data, bytes, path);
    enum status status = job_load(path, &job);
    close(fd);
    if (status != STATUS_OK) {
        check(*status_text() != '\0');
        return 0;
    }
    check(job.count > 0);
    check_workloads(&job);
    job_release(&job);
    return 0;
}
