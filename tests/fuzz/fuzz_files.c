/* Files of the system, of the user's cache and of Slurm's programs: the first byte chooses what
 * reads the rest. */
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <sys/stat.h>

#include "common/process.h"
#include "orchestrator/bind/bind.h"
#include "orchestrator/doctor/internal.h"
#include "orchestrator/plot/internal.h"
#include "orchestrator/session/mps_limits.h"
#include "orchestrator/slurm/internal.h"
#include "tests/fuzz/target.h"

const char fuzz_target_name[] = "files";

static bool worked(enum status status)
{
    if (status != STATUS_OK)
        check_error(status_text());
    return status == STATUS_OK;
}

/* -- a tree of files --------------------------------------------------------------------------- */

static char root[] = "/tmp/mpsweep-fuzz-XXXXXX";

static void remove_root(void)
{
    static const char *const names[] = {"run.json",
                                        "limits.json",
                                        "proc/self/cgroup",
                                        "proc/self/mountinfo",
                                        "proc/1/environ",
                                        "proc/1/cgroup",
                                        "cg/a/cpu.max",
                                        "cg/a/cpu.cfs_quota_us",
                                        "cg/a/cpu.cfs_period_us",
                                        "proc/self",
                                        "proc/1",
                                        "proc",
                                        "cg/a",
                                        "cg",
                                        ""};
    char path[PATH_MAX];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        remove(path);
    }
}

static void make_root(void)
{
    static const char *const folders[] = {"proc", "proc/self", "proc/1", "cg", "cg/a"};
    char path[PATH_MAX];
    static bool is_made;
    if (is_made)
        return;
    is_made = true;
    check(mkdtemp(root) != NULL && atexit(remove_root) == 0);
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s/%s", root, folders[i]);
        check(mkdir(path, 0700) == 0);
    }
}

static const char *put(const char *name, const char *text, size_t bytes)
{
    static char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/%s", root, name);
    FILE *file = fopen(path, "we");
    check(file != NULL);
    size_t written = fwrite(text, 1, bytes, file);
    check(fclose(file) == 0 && written == bytes);
    return path;
}

/* -- the readers ------------------------------------------------------------------------------- */

/* Limits of the first GPU that the file names, or of none. */
static void read_limits(const char *text, size_t bytes)
{
    struct mps_limits limits;
    struct mps_limits_key key = {.uuid = "GPU-1", .cuda = "13.0", .release = "580"};
    if (!worked(mps_limits_load(put("limits.json", text, bytes), &key, &limits)))
        return;
    check(limits.count > 0 && limits.count <= MPS_LIMITS_ROWS);
    for (unsigned i = 0; i < limits.count; i++)
        check(limits.rows[i].clients <= MPS_LIMITS_MOST_CLIENTS);
}

static void read_run(const char *text, size_t bytes)
{
    struct slurm_run run;
    put("run.json", text, bytes);
    if (!worked(slurm_run_load(root, &run)))
        return;
    check(run.shards >= 1 && run.shards <= SLURM_SHARDS_MOST);
    check(json_is_array(slurm_run_submissions(&run)));
    for (unsigned shard = 0; shard < run.shards && shard < 4; shard++)
        check(!slurm_job_of(&run, NULL, 0, shard));
    slurm_run_release(&run);
}

static void check_jobs(struct slurm_job *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct slurm_job *job = &jobs[i];
        check(job->task >= -1 && memchr(job->node, '\0', sizeof job->node) != NULL);
        check(text_is_displayable(job->id) && text_is_displayable(job->state) &&
              text_is_displayable(job->node) && text_is_displayable(job->reason) &&
              text_is_displayable(job->since) && text_is_displayable(job->left));
        slurm_job_is_active(job);
    }
    free(jobs);
}

static void read_slurm(const char *text, size_t bytes)
{
    struct slurm_job *jobs = NULL;
    size_t count = 0;
    char id[32], cluster[64], line[256];
    (void)bytes;
    if (worked(slurm_parse_queue(text, &jobs, &count)))
        check_jobs(jobs, count);
    jobs = NULL;
    count = 0;
    if (worked(slurm_parse_accounting(text, &jobs, &count)))
        check_jobs(jobs, count);
    if (worked(slurm_parse_sbatch(text, id, cluster)))
        check(*id != '\0' && text_is_displayable(id) && text_is_displayable(cluster));
    check(text_is_displayable(slurm_one_line(text, line, sizeof line)));
}

static void read_explained(const char *text, size_t bytes)
{
    static const char points[] =
        "[{\"id\":0,\"layout\":\"threads\",\"processes\":1,\"threads\":2,\"workers\":2,"
        "\"status\":\"ok\",\"throughput_ips\":5,\"latency_us\":{\"p50\":1,\"p99\":2}}]";
    char path[FUZZ_PATH], *drawn = NULL;
    size_t drawn_bytes = 0;
    struct results results = {.header = json_object(), .points = json_loads(points, 0, NULL)};
    int fd = fuzz_file(text, bytes, path);
    check(results.points);
    if (worked(plot_explain(&results, "r.jsonl", path))) {
        FILE *file = open_memstream(&drawn, &drawn_bytes);
        check(file);
        worked(plot_ceilings_write(&results, "r.jsonl", file));
        check(fclose(file) == 0);
        check_printed(drawn, drawn_bytes);
        free(drawn);
    }
    results_release(&results);
    close(fd);
}

/* Four files, cut at lines of '=' alone: the groups, the mounts, and a group's limits. */
static void read_groups(const char *text, size_t bytes)
{
    static const char *const names[] = {"proc/self/cgroup", "proc/self/mountinfo", "cg/a/cpu.max",
                                        "cg/a/cpu.cfs_quota_us", "cg/a/cpu.cfs_period_us"};
    for (size_t i = 0, begin = 0; i < sizeof names / sizeof *names; i++) {
        const char *cut = begin < bytes ? memmem(text + begin, bytes - begin, "=\n", 2) : NULL;
        size_t end = cut ? (size_t)(cut - text) : bytes;
        put(names[i], text + (begin < bytes ? begin : bytes), begin < end ? end - begin : 0);
        begin = cut ? end + 2 : bytes;
    }
    double quota = bind_cpu_quota_at(root);
    check(isfinite(quota) && quota >= 0);
}

static void read_container(const char *text, size_t bytes)
{
    put("proc/1/environ", text, bytes);
    put("proc/1/cgroup", text, bytes);
    machine_container_read(root);
}

static void read_process(const char *text, size_t bytes)
{
    (void)bytes;
    process_stat_start_time(text);
    check(process_stat_parent(text) >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static void (*const readers[])(const char *, size_t) = {
        read_limits, read_run,       read_slurm,   read_explained,
        read_groups, read_container, read_process,
    };
    if (bytes == 0)
        return 0;
    make_root();
    char *text = malloc(bytes);
    check(text != NULL);
    memcpy(text, data + 1, bytes - 1);
    text[bytes - 1] = '\0';
    readers[data[0] % (sizeof readers / sizeof *readers)](text, bytes - 1);
    free(text);
    return 0;
}
