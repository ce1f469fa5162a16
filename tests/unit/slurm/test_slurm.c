/* What Slurm's programs answer, in its words and in others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "orchestrator/slurm/internal.h"

static void the_number_of_a_job_is_read(void **state)
{
    (void)state;
    char id[32], cluster[64];
    assert_int_equal(slurm_parse_sbatch("123\n", id, cluster), STATUS_OK);
    assert_string_equal(id, "123");
    assert_string_equal(cluster, "");
    assert_int_equal(slurm_parse_sbatch("9;far\n", id, cluster), STATUS_OK);
    assert_string_equal(id, "9");
    assert_string_equal(cluster, "far");
    static const char *const bad[] = {
        "",
        "\n",
        "12",
        "Submitted batch job 5\n",
        "12\n13\n",
        ";far\n",
        "12 \n",
        "-1\n",
        "123456789012345678901234567890123\n",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (slurm_parse_sbatch(bad[i], id, cluster) != STATUS_PROTOCOL)
            fail_msg("'%s' was taken for a job's number", bad[i]);
}

static void the_queue_is_read(void **state)
{
    (void)state;
    struct slurm_job *jobs;
    size_t count;
    const char *text = "CLUSTER: far\n"
                       "7|0|RUNNING|n1|2026-01-31T08:00:00|1:58:00|None\n"
                       "7|12|PENDING||N/A|UNLIMITED|JobHeldUser|or|so\n"
                       "8|N/A|COMPLETING|n[1-2]|Unknown|INVALID|None\n"
                       "short|line\n"
                       "7|1|RUN";
    assert_int_equal(slurm_parse_queue(text, &jobs, &count), STATUS_OK);
    assert_int_equal(count, 3);
    assert_string_equal(jobs[0].id, "7");
    assert_int_equal(jobs[0].task, 0);
    assert_string_equal(jobs[0].state, "running");
    assert_string_equal(jobs[0].node, "n1");
    assert_string_equal(jobs[0].since, "2026-01-31T08:00:00");
    assert_string_equal(jobs[0].left, "1:58:00");
    assert_string_equal(jobs[0].reason, "");
    assert_int_equal(jobs[1].task, 12);
    assert_string_equal(jobs[1].node, "");
    assert_string_equal(jobs[1].since, "");
    assert_string_equal(jobs[1].reason, "JobHeldUser|or|so");
    assert_int_equal(jobs[2].task, -1);
    assert_true(slurm_job_is_active(&jobs[2]));
    free(jobs);
    assert_int_equal(slurm_parse_queue("", &jobs, &count), STATUS_OK);
    assert_int_equal(count, 0);
    free(jobs);
}

static void a_queue_of_many_is_read(void **state)
{
    (void)state;
    enum { LINES = 1000 };
    char *text = malloc(LINES * 32 + 1), *at = text;
    assert_non_null(text);
    for (int i = 0; i < LINES; i++)
        at += sprintf(at, "5|%d|RUNNING|n|N/A|1:00|None\n", i);
    struct slurm_job *jobs;
    size_t count;
    assert_int_equal(slurm_parse_queue(text, &jobs, &count), STATUS_OK);
    assert_int_equal(count, LINES);
    for (int i = 0; i < LINES; i++)
        assert_int_equal(jobs[i].task, i);
    free(jobs);
    free(text);
}

static void accounting_is_read(void **state)
{
    (void)state;
    struct slurm_job *jobs;
    size_t count;
    const char *text = "7_0|COMPLETED|n1|2026-01-31T08:00:00\n"
                       "7_[3-5]|CANCELLED by 1000|None assigned|Unknown\n"
                       "7_1|CANCELLED by 1000|n2|2026-01-31T08:00:00\n"
                       "9|NODE_FAIL|n3|2026-01-31T08:00:00\n";
    assert_int_equal(slurm_parse_accounting(text, &jobs, &count), STATUS_OK);
    assert_int_equal(count, 3);
    assert_string_equal(jobs[0].id, "7");
    assert_int_equal(jobs[0].task, 0);
    assert_string_equal(jobs[0].state, "completed");
    assert_int_equal(jobs[1].task, 1);
    assert_string_equal(jobs[1].state, "cancelled");
    assert_false(slurm_job_is_active(&jobs[1]));
    assert_string_equal(jobs[2].id, "9");
    assert_int_equal(jobs[2].task, -1);
    assert_string_equal(jobs[2].state, "node_fail");
    free(jobs);
}

static void the_latest_submission_of_a_shard_counts(void **state)
{
    (void)state;
    struct slurm_run run = {.shards = 2};
    run.manifest = json_pack("{s:[{s:s}, {s:s}]}", "submissions", "array", "7", "array", "9");
    struct slurm_job *jobs;
    size_t count;
    assert_int_equal(slurm_parse_queue("7|0|FAILED|n1|N/A|0:00|None\n"
                                       "7|1|COMPLETED|n1|N/A|0:00|None\n"
                                       "9|0|RUNNING|n2|N/A|1:00|None\n"
                                       "11|1|RUNNING|n2|N/A|1:00|None\n",
                                       &jobs, &count),
                     STATUS_OK);
    assert_string_equal(slurm_job_of(&run, jobs, count, 0)->id, "9");
    assert_string_equal(slurm_job_of(&run, jobs, count, 1)->id, "7");
    assert_null(slurm_job_of(&run, jobs, count, 2));
    free(jobs);
    json_decref(run.manifest);
}

static void what_a_program_says_becomes_one_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *line;
    } table[] = {
        {"sbatch: error: a: b\n", "a: b"},
        {"sbatch: error: first\nsbatch: error: second\n", "first; second"},
        {"sbatch: lua: no\n", "lua: no"},
        {"no such thing\n\n", "no such thing"},
        {"\n", ""},
        {"", ""},
        {"squeue: error: caf\xc3\xa9\x1b[0m", "caf\xc3\xa9?[0m"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        char line[64];
        assert_string_equal(slurm_one_line(table[i].text, line, sizeof line), table[i].line);
    }
    char line[16];
    slurm_one_line("a line that is too long for it", line, sizeof line);
    assert_int_equal(strlen(line), 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_number_of_a_job_is_read),
        cmocka_unit_test(the_queue_is_read),
        cmocka_unit_test(a_queue_of_many_is_read),
        cmocka_unit_test(accounting_is_read),
        cmocka_unit_test(the_latest_submission_of_a_shard_counts),
        cmocka_unit_test(what_a_program_says_becomes_one_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
