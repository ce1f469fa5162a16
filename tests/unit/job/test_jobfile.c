#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "job/jobfile.h"
#include "tests/unit/scratch.h"

static enum status load(const char *text, struct job *job)
{
    scratch_write(text, strlen(text));
    return job_load(scratch_path, job);
}

static void sections_start_from_global(void **state)
{
    (void)state;
    struct job job;
    assert_int_equal(load("[global]\nkernels = 10\nduration = 2\n"
                          "[a]\nlayout = threads:1\nlayout = processes:2,\n  4\nkernels = 20\n"
                          "[b]\nmemory = pinned, pageable ; both\n",
                          &job),
                     STATUS_OK);
    assert_int_equal(job.count, 2);
    assert_string_equal(job.sections[0].name, "a");
    assert_int_equal(job.sections[0].options.values[OPTION_LAYOUT].count, 3);
    assert_int_equal(options_integer(&job.sections[0].options, OPTION_KERNELS), 20);
    assert_int_equal(options_integer(&job.sections[1].options, OPTION_KERNELS), 10);
    assert_int_equal(job.sections[1].options.values[OPTION_MEMORY].count, 2);
    assert_true(options_real(&job.sections[1].options, OPTION_DURATION) == 2.0);
    job_release(&job);
}

static void global_alone_is_one_set(void **state)
{
    (void)state;
    struct job job;
    assert_int_equal(load("[global]\nlayout = threads:1-4\n", &job), STATUS_OK);
    assert_int_equal(job.count, 1);
    assert_null(job.sections[0].name);
    job_release(&job);
    assert_int_equal(load("[global]\nspin = 7\n[plain]\n[more]\nkernels = 2\n", &job), STATUS_OK);
    assert_int_equal(job.count, 2); /* one without keys is [global] as it is */
    assert_string_equal(job.sections[0].name, "plain");
    assert_int_equal(options_integer(&job.sections[0].options, OPTION_SPIN), 7);
    job_release(&job);
    assert_int_equal(load("# nothing but this\n", &job), STATUS_OK);
    assert_int_equal(job.count, 1);
    job_release(&job);
}

static void workloads_are_described(void **state)
{
    (void)state;
    struct job job;
    assert_int_equal(
        load("[workload first]\nstep = copy-in 4M\nstep = kernel cycles=5 # a comment\n"
             "  kernel duration=5us\n  synchronize\ncheck = no\n"
             "[global]\nkernels = 10\n"
             "[a]\nkernels = 20\n"
             "[workload second-one]\nstep = copy-out 16\n",
             &job),
        STATUS_OK);
    /* They are no sections of points, and may stand anywhere. */
    assert_int_equal(job.count, 1);
    assert_string_equal(job.sections[0].name, "a");
    assert_int_equal(options_integer(&job.sections[0].options, OPTION_KERNELS), 20);
    assert_int_equal(job.workload_count, 2);
    assert_string_equal(job.workloads[0].name, "first");
    assert_int_equal(job.workloads[0].count, 4);
    assert_int_equal(job.workloads[0].check, WORKLOAD_CHECK_NO);
    assert_int_equal(job.workloads[0].steps[3].kind, STEP_SYNCHRONIZE);
    assert_string_equal(job.workloads[1].name, "second-one");
    assert_int_equal(job.workloads[1].count, 1);
    job_release(&job);
    /* As an editor may leave a file: with a mark at its begin. */
    assert_int_equal(load("\xef\xbb\xbf[a]\nkernels = 3\n[b]\nkernels = 4\n", &job), STATUS_OK);
    assert_int_equal(job.count, 2);
    assert_int_equal(options_integer(&job.sections[1].options, OPTION_KERNELS), 4);
    job_release(&job);
    /* Alone, they leave one set of points. */
    assert_int_equal(load("[workload x]\nstep = copy-in 4M\n", &job), STATUS_OK);
    assert_int_equal(job.count, 1);
    assert_null(job.sections[0].name);
    job_release(&job);
}

static void shares_of_processes_are_keys(void **state)
{
    (void)state;
    struct job job;
    assert_int_equal(load("[global]\nactive-thread-percentage = default, 30/70\n"
                          "[a]\npriority = 0/1\nmemory-limit = 2G, 512M/1G/default\n[b]\n",
                          &job),
                     STATUS_OK);
    for (size_t i = 0; i < 2; i++) {
        const struct option_value *value =
            &job.sections[i].options.values[OPTION_ACTIVE_THREAD_PERCENTAGE];
        assert_int_equal(value->count, 2);
        assert_int_equal(value->items[1].share_count, 2);
        assert_int_equal(value->items[1].shares[1], 70);
    }
    const struct options *a = &job.sections[0].options, *b = &job.sections[1].options;
    assert_int_equal(a->values[OPTION_PRIORITY].items[0].shares[1], 1);
    assert_int_equal(a->values[OPTION_MEMORY_LIMIT].items[1].share_count, 3);
    assert_int_equal(b->values[OPTION_PRIORITY].items[0].shares[0], OPTION_SHARE_DEFAULT);
    job_release(&job);
}

static void the_command_line_overrides(void **state)
{
    (void)state;
    struct job job;
    assert_int_equal(load("[a]\nkernels = 5\n[b]\nkernels = 6\n", &job), STATUS_OK);
    assert_int_equal(job_set(&job, &option_table[OPTION_KERNELS], "7"), STATUS_OK);
    for (size_t i = 0; i < job.count; i++)
        assert_int_equal(options_integer(&job.sections[i].options, OPTION_KERNELS), 7);
    job_release(&job);
}

static void errors_name_the_line(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } table[] = {
        {"kernels = 4\n", "line 1: 'kernels' comes before any section"},
        {"[a]\n\nkernelz = 4\n", "line 3: unknown key 'kernelz'; did you mean 'kernels'?"},
        {"[a]\nproceses = 4\n",
         "line 2: unknown key 'proceses'; did you mean 'layout = processes:N'?"},
        {"[a]\nwhatever-it-is = 4\n", "line 2: unknown key 'whatever-it-is'"},
        {"[workload x]\nstep = copy-in 4M\nlayout = threads:4\n",
         "line 3: unknown key 'layout' of a workload: it takes step and check; it is an option of "
         "points: write it into [global]"},
        {"[a]\nkernels = many\n", "line 2: 'many' is not a value of kernels"},
        {"[globl]\nkernels = 4\n", "line 1: [globl] would be points of its own; did you mean "
                                   "[global]?"},
        {"[worklod x]\nstep = copy-in 1M\n", "line 2: 'step' describes a workload, and [worklod x] "
                                             "is points; did you mean [workload x]?"},
        {"[a]\ncheck = 1\n", "line 2: 'check' describes a workload: write it into [workload NAME]"},
        {"[a]\npriority = 0/2\n", "line 2: in '0/2': '2' is not a value of priority"},
        {"[global]\nkernels = 4\n [a]\n", "line 3: a [section] must not be indented"},
        {"[workload x]\n\nstep = copyin 4M\n", "line 3: unknown step 'copyin'; did you mean"},
        {"[workload x]\nkernels = 4\n", "line 2: unknown key 'kernels' of a workload: it takes"},
        {"[workload x]\nstep = copy-in 4M\n[workload x]\n",
         "line 3: section [workload x] appears twice"},
        {"[workload x y]\n", "line 1: 'x y' is not a name for a workload"},
        {"[workload]\n", "line 1: a workload needs a name: [workload NAME]"},
        {"[workload delay]\n", "line 1: workload 'delay' is built in"},
        {"[workload x]\n\n[a]\n", "line 1: workload 'x' has no steps"},
        {"[a]\n[workload x]\ncheck = no\n", "line 2: workload 'x' has no steps"},
        {"[a]\n[ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff]\n",
         "line 2: the name of section 'ffffffffffffffffffffffffffffffff...' is too long"},
        {"[a]\nduration = 2\n", "line 2: 'duration' holds for the whole sweep"},
        {"[a]\noutput = x\n", "line 2: 'output' is for the command line only"},
        {"[a]\nkernels = 1\nkernels = 2\n", "line 3: 'kernels' is given twice in [a]"},
        {"[a]\nkernels = 1\n[b]\nkernels = 1\n[a]\nspin = 1\n",
         "line 5: section [a] appears twice"},
        {"[a]\nkernels = 1\n[global]\nspin = 1\n", "line 3: [global] must come first"},
        {"[a]\nwhat is this\n", "line 2 is neither"},
        {"[a\n", "line 1 is neither"},
    };
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        struct job job;
        assert_int_equal(load(table[i].text, &job), STATUS_USAGE);
        if (!strstr(status_text(), table[i].says) || !strstr(status_text(), scratch_path))
            fail_msg("case %zu reports: %s", i, status_text());
    }
}

static void lines_are_never_cut_in_silence(void **state)
{
    (void)state;
    struct job job;
    char text[2048] = "[a]\nlayout = threads:1";
    for (int i = 0; i < 150; i++)
        strcat(text, ",1");
    strcat(text, "\n");
    assert_int_equal(load(text, &job), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "line 2: it is too long"));
}

static void files_that_cannot_be_read(void **state)
{
    (void)state;
    struct job job;
    assert_int_equal(job_load("/nonexistent/x.job", &job), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "'/nonexistent/x.job': No such file"));
    assert_int_equal(job_load("/tmp", &job), STATUS_USAGE);
    assert_non_null(strstr(status_text(), "directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sections_start_from_global),
        cmocka_unit_test(global_alone_is_one_set),
        cmocka_unit_test(workloads_are_described),
        cmocka_unit_test(shares_of_processes_are_keys),
        cmocka_unit_test(the_command_line_overrides),
        cmocka_unit_test(errors_name_the_line),
        cmocka_unit_test(lines_are_never_cut_in_silence),
        cmocka_unit_test(files_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
