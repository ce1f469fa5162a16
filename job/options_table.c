#include "job/options.h"

#include "job/point.h"
#include "job/queues.h"

#define WHAT "What is measured"
#define WORK "The workload"
#define HOW "How it is measured"
#define OUT "Output"

#define DAEMON "The daemon"
#define BEST "What is best"
#define CLUSTER "The cluster"

/* Values of --format that print tables: in aligned columns, or to be pasted. */
#define TABLE                                                                                      \
    {                                                                                              \
        "table", "aligned columns"                                                                 \
    }
#define MARKDOWN                                                                                   \
    {                                                                                              \
        "markdown", "tables of Markdown, for an issue or a page"                                   \
    }
#define OPENMETRICS                                                                                \
    {                                                                                              \
        "openmetrics", "gauges for Prometheus"                                                     \
    }

/* What sweep takes and tune does, too; and what trace does as well, which is about one point. */
#define PLAN (OPTION_SWEEP | OPTION_TUNE)
#define SWEEP (PLAN | OPTION_TRACE)
#define START (OPTION_MPS_START | OPTION_MPS_RUN)
#define KEPT (OPTION_MPS_STOP | OPTION_MPS_STATUS | OPTION_MPS_ENV)

/* Where the memory of the buffers is for mpsweep to choose. */
#define OWN_MEMORY (PLACE_OURS | PLACE_NO_PLUGIN)

#define AT(field) .at = offsetof(struct point, field)

/* A text that goes with a server's request. */
#define REQUEST_TEXT(field)                                                                        \
    {                                                                                              \
        .type = SETTING_TEXT, AT(program.requests.field), .where = PLACE_SERVER,                   \
        .recorded = PLACE_NOWHERE, .label = ""                                                     \
    }

#define CHOICES(...)                                                                               \
    (const struct option_choice[])                                                                 \
    {                                                                                              \
        __VA_ARGS__,                                                                               \
        {                                                                                          \
            0                                                                                      \
        }                                                                                          \
    }

/* Kept one row a paragraph: this is documentation as much as code. */
const struct option_row option_table[OPTION_COUNT] = {
    {OPTION_DEVICE, "device", 'd', OPTION_KIND_TEXT, OPTION_USUAL, SWEEP | OPTION_RECORD, NULL, 0,
     0, NULL, "N|UUID[,...]|all|emulated[:...]", WHAT,
     "GPU to measure: its number, its UUID, or 'emulated'. Default: the first GPU; where there is\n"
     "no driver, the emulated one, with a notice.\n"
     "sweep, tune: several, as in 0,1,3, or 'all', or 'emulated:0,1'; workers are spread over\n"
     "them."},
    {OPTION_ONE_DEVICE, "device", 'd', OPTION_KIND_TEXT, OPTION_NOT_IN_JOB | OPTION_USUAL,
     OPTION_DOCTOR | OPTION_PROBE, NULL, 0, 0, NULL, "N|UUID|emulated[:N]", WHAT,
     "The GPU: its number, its UUID, or 'emulated'. Default: the first one; where there is no\n"
     "driver, the emulated one, with a notice."},
    {OPTION_GPUS_PER_POINT, "gpus-per-point", 0, OPTION_KIND_INTEGER, OPTION_AXIS, SWEEP,
     CHOICES({"all"}), 1, 16, "all", "N|all", WHAT,
     "On how many of those GPUs a point runs, the first ones; its layout is on each of them. "
     "1,2,4\n"
     "shows how it scales.",
     .setting = {.type = SETTING_NUMBER,
                 AT(gpus),
                 .recorded = PLACE_GPUS,
                 .neutral = 1,
                 .key = "gpus",
                 .label = " on each of %s GPUs",
                 .figure = "%s GPUs",
                 .heading = "on each of %s GPUs",
                 .title = "GPUs"}},
    {OPTION_MPS_DAEMONS, "mps-daemons", 0, OPTION_KIND_CHOICE, OPTION_AXIS, SWEEP,
     CHOICES({"shared", "one daemon for all", "one daemon"},
             {"per-gpu", "a daemon for each GPU", "a daemon a GPU"}),
     0, 0, "shared", NULL, WHAT, "MPS daemons of layouts on several GPUs.",
     .setting = {.type = SETTING_CHOICE,
                 AT(mps_daemons),
                 .where = PLACE_MPS | PLACE_GPUS,
                 .heading = "MPS daemons %s",
                 .title = "daemons",
                 .of_process = true}},
    {OPTION_PROBE_ARMS, "arms", 'a', OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_PROBE, NULL, 0, 0,
     NULL, "NAME[,NAME...]", WHAT,
     "Only these arms, and the controls that they are compared with; 'all': also those that are\n"
     "left out otherwise. --list shows them. The verdict is about the probe's own case, or, where\n"
     "that is not among them, about the first one."},
    {OPTION_LAYOUT, "layout", 'l', OPTION_KIND_LAYOUT, OPTION_AXIS | OPTION_USUAL, SWEEP, NULL, 0,
     0, "threads:1,2,4,8,16,processes:1,2,4,8,16,processes+mps:1,2,4,8,16", "NAME:COUNTS", WHAT,
     "Layout and worker counts; repeatable. NAME: threads, processes, processes+mps, threads+mps\n"
     "(COUNTS 1-16 or 1,2,4), hybrid, hybrid-timesliced (COUNTS PxT, as in 8x2,16x2).",
     .setting = {.type = SETTING_LAYOUT, .recorded = PLACE_NOWHERE, .label = "", .offer = ""}},
    {OPTION_STREAMS, "streams", 0, OPTION_KIND_INTEGER, OPTION_AXIS | OPTION_USUAL, SWEEP, NULL, 1,
     256, "1", "N", WHAT,
     "Streams of each thread, each with an iteration in flight: the thread polls them, and starts\n"
     "the next iteration of one that has ended. --schedule is how it waits when none has. In\n"
     "a program each thread does that itself.",
     .setting = {.type = SETTING_NUMBER,
                 AT(streams),
                 .neutral = 1,
                 .sparse = true,
                 .label = "", /* stands behind the layout */
                 .figure = "%s streams",
                 .heading = "%s streams a thread",
                 .offer = ""}},
    {OPTION_SM_PARTITION, "sm-partition", 0, OPTION_KIND_INTEGER, OPTION_AXIS | OPTION_PER_THREAD,
     OPTION_SWEEP | OPTION_TRACE, CHOICES({"default"}), 1, WORK_MULTIPROCESSORS, "default",
     "default|N[/N...]", WHAT,
     "Multiprocessors that each thread of a process has to itself, in a green context (CUDA 12.4;\n"
     "not over MPS, which does not keep them apart). 16/48 gives each thread its own number: the\n"
     "first 16, the second 48, the third 16 again. GPUs have parts of certain sizes only, as of 8.",
     .setting = {.type = SETTING_SHARES,
                 AT(sm_partition),
                 .where = OWN_MEMORY,
                 .sparse = true,
                 .label = "%s SMs a thread",
                 .title = "SMs"}},
    {OPTION_CONTEXTS, "contexts", 0, OPTION_KIND_CHOICE, OPTION_AXIS, OPTION_SWEEP | OPTION_TRACE,
     CHOICES(
         {"shared", "one for all threads of a process"},
         {"own", "one for each thread, which without MPS take turns on the GPU", "own contexts"}),
     0, 0, "shared", NULL, WHAT,
     "CUDA contexts of the threads of a process. A plug-in has the shared one.",
     .setting = {.type = SETTING_CHOICE,
                 AT(contexts),
                 .where = OWN_MEMORY | PLACE_THREADS | PLACE_WHOLE,
                 .sparse = true,
                 .heading = "%s contexts"}},
    {OPTION_MEMORY, "memory", 'm', OPTION_KIND_CHOICE, OPTION_AXIS | OPTION_USUAL, SWEEP,
     CHOICES({"pinned", "page-locked: the GPU copies it without the CPU"},
             {"pageable", "as malloc() gives it: the driver stages each copy"}),
     0, 0, "pinned", NULL, WHAT, "Host memory of the workers' buffers.",
     .setting = {.type = SETTING_CHOICE,
                 AT(work.memory),
                 .where = OWN_MEMORY,
                 .label = "%s",
                 .labelled = true,
                 .heading = "%s memory",
                 .offer = "pinned,pageable"}},
    {OPTION_SYNC, "sync", 's', OPTION_KIND_CHOICE, OPTION_AXIS, SWEEP,
     CHOICES({"stream", "synchronise the stream before a pageable copy out", "sync"},
             {"none", "do not", "no sync"}),
     0, 0, "stream", NULL, WHAT,
     "Synchronisation of pageable memory; pinned memory has it after the copy out.",
     .setting = {.type = SETTING_CHOICE,
                 AT(work.sync),
                 .where = OWN_MEMORY | PLACE_PAGEABLE_STREAM,
                 .recorded = OWN_MEMORY,
                 .heading = "sync %s",
                 .offer = "stream,none"}},
    {OPTION_LAUNCH, "launch", 0, OPTION_KIND_CHOICE, OPTION_AXIS | OPTION_USUAL, SWEEP,
     CHOICES({"stream", "each kernel by itself"},
             {"graph", "the whole iteration as one CUDA graph"}),
     0, 0, "stream", NULL, WHAT, "How an iteration is launched.",
     .setting = {.type = SETTING_CHOICE,
                 AT(work.launch),
                 .where = PLACE_OURS,
                 .label = "%s",
                 .figure = "%s launch",
                 .heading = "launch %s",
                 .offer = "stream,graph"}},
    {OPTION_CONNECTIONS, "connections", 'c', OPTION_KIND_INTEGER, OPTION_AXIS | OPTION_USUAL, SWEEP,
     CHOICES({"default"}), 1, QUEUES_MOST, "default", "default|N", WHAT,
     "Hardware queues of each process (CUDA_DEVICE_MAX_CONNECTIONS). The driver's default is 8,\n"
     "and 2 for an MPS client.",
     .setting = {.type = SETTING_QUEUES,
                 AT(connections),
                 .label = "%s queues",
                 .heading = "%s queues a process",
                 .title = "queues",
                 .variable = "CUDA_DEVICE_MAX_CONNECTIONS",
                 .of_process = true,
                 .offer = ""}},
    {OPTION_ACTIVE_THREAD_PERCENTAGE, "active-thread-percentage", 0, OPTION_KIND_INTEGER,
     OPTION_AXIS | OPTION_PER_PROCESS, SWEEP, CHOICES({"default"}), 1, 100, "default",
     "default|N[/N...]", WHAT,
     "Share of the GPU's multiprocessors that an MPS client may use, in percent. 30/70 gives each\n"
     "process its own: the first 30, the second 70, the third 30 again, and so on.",
     .setting = {.type = SETTING_SHARES,
                 AT(active_thread_percentage),
                 .where = PLACE_MPS,
                 .label = "%s% threads",
                 .figure = "%s% active threads",
                 .title = "threads%",
                 .variable = "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
                 .of_process = true,
                 .offer = ""}},
    {OPTION_PRIORITY, "priority", 0, OPTION_KIND_INTEGER, OPTION_AXIS | OPTION_PER_PROCESS, SWEEP,
     CHOICES({"default"}), 0, 1, "default", "default|0|1[/...]", WHAT,
     "Priority of an MPS client's work: 0 normal, 1 below normal. 0/1 gives each process its own.",
     .setting = {.type = SETTING_SHARES,
                 AT(priority),
                 .where = PLACE_MPS,
                 .label = "priority %s",
                 .variable = "CUDA_MPS_CLIENT_PRIORITY",
                 .of_process = true}},
    {OPTION_MEMORY_LIMIT, "memory-limit", 0, OPTION_KIND_BYTES,
     OPTION_AXIS | OPTION_PER_PROCESS | OPTION_WHOLE_MIB, SWEEP, CHOICES({"default"}), 16777216,
     1099511627776.0, "default", "default|N[K|M|G][/...]", WHAT,
     "GPU memory that an MPS client may allocate, its context included, in whole megabytes of at\n"
     "least 16M. 2G/4G gives each process its own.",
     .setting = {.type = SETTING_SHARES,
                 AT(memory_limit),
                 .where = PLACE_MPS,
                 .label = "memory limit %s",
                 .title = "limit",
                 .variable = "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
                 .variable_text = "0=%sM",
                 .of_process = true}},
    {OPTION_SCHEDULE, "schedule", 0, OPTION_KIND_CHOICE, OPTION_AXIS, SWEEP,
     CHOICES({"auto", "the driver chooses"}, {"spin", "ask again and again"},
             {"yield", "the same, and let other threads run in between"},
             {"block", "sleep until the GPU is done"}),
     0, 0, "auto", NULL, WHAT, "How a worker waits for the GPU (CU_CTX_SCHED_*).",
     .setting = {.type = SETTING_CHOICE,
                 AT(work.schedule),
                 .where = PLACE_OURS,
                 .label = "%s",
                 .figure = "schedule %s",
                 .offer = "auto,block"}},
    {OPTION_BIND, "bind", 'b', OPTION_KIND_CHOICE, OPTION_AXIS, SWEEP,
     CHOICES({"near", "near their GPU, one core a worker while there are cores, with host memory\n"
                      "on the NUMA node beside them"},
             {"scatter", "over the whole machine"}, {"none", "left to the operating system"}),
     0, 0, "near", NULL, WHAT, "CPUs of the workers.",
     .setting = {.type = SETTING_CHOICE,
                 AT(bind),
                 .label = "bind %s",
                 .heading = "bound %s",
                 .offer = "near,none"}},
    {OPTION_MPS, "mps", 0, OPTION_KIND_CHOICE, 0, SWEEP,
     CHOICES({"private", "one of mpsweep's own, which lives for the sweep only"},
             {"external", "the one of CUDA_MPS_PIPE_DIRECTORY: checked, used, and left as it is"}),
     0, 0, "private", NULL, WHAT, "Daemon of layouts over MPS."},
    {OPTION_WORKLOAD, "workload", 'w', OPTION_KIND_TEXT, OPTION_AXIS | OPTION_USUAL, SWEEP, NULL, 0,
     0, "builtin", "builtin|delay|NAME[:N]+...|FILE.so", WORK,
     "What an iteration does. builtin: copy in, a chain of dependent small kernels, copy out,\n"
     "check. delay: the same with kernels of one thread that wait. NAME: the job file's [workload\n"
     "NAME], or several of them with weights (mpsweep-workload(5)). FILE.so: a plug-in of your\n"
     "own, by its path (mpsweep_workload(3)). The numbers below are the built-in ones' alone.",
     .setting = {.type = SETTING_WORKLOAD, AT(workload), .label = "%s", .heading = "workload %s"}},
    {OPTION_WORKLOAD_OPTIONS, "workload-options", 0, OPTION_KIND_TEXT, OPTION_IN_SECTION, SWEEP,
     NULL, 0, 0, NULL, "TEXT", WORK, "Handed to the plug-in as it is.",
     .setting = {.type = SETTING_TEXT,
                 AT(workload_options),
                 .where = PLACE_PLUGIN,
                 .label = " '%s'",
                 .figure = "options '%s'",
                 .title = "options"}},
    {OPTION_KERNELS, "kernels", 'k', OPTION_KIND_INTEGER, OPTION_AXIS, SWEEP, NULL, 1, 100000,
     "220", "N", WORK, "Kernels in an iteration, each using the one before.",
     .setting =
         {.type = SETTING_NUMBER, AT(work.kernels), .where = PLACE_BUILTIN, .label = "%s kernels"}},
    {OPTION_BLOCKS, "blocks", 0, OPTION_KIND_INTEGER, OPTION_AXIS, SWEEP, NULL, 1, 1000000, "5",
     "N", WORK, "Thread blocks of a kernel.",
     .setting = {.type = SETTING_NUMBER,
                 AT(work.blocks),
                 .where = PLACE_CHAIN,
                 .recorded = PLACE_BUILTIN,
                 .neutral = 1,
                 .label = "%s blocks",
                 .heading = " of %s blocks"}},
    {OPTION_THREADS_PER_BLOCK, "threads-per-block", 0, OPTION_KIND_INTEGER, OPTION_AXIS, SWEEP,
     NULL, 1, 1024, "64", "N", WORK, "GPU threads of a block.",
     .setting = {.type = SETTING_NUMBER,
                 AT(work.threads_per_block),
                 .where = PLACE_CHAIN,
                 .recorded = PLACE_BUILTIN,
                 .neutral = 1,
                 .label = "%s threads a block",
                 .heading = " × %s threads",
                 .title = "block"}},
    {OPTION_SPIN, "spin", 0, OPTION_KIND_INTEGER, OPTION_AXIS, SWEEP, NULL, 0, 100000000, "3072",
     "N", WORK, "Steps of the dependent chain that each GPU thread computes in a kernel.",
     .setting = {.type = SETTING_NUMBER,
                 AT(work.spin),
                 .where = PLACE_CHAIN,
                 .recorded = PLACE_BUILTIN,
                 .label = "%s spins",
                 .figure = "spin %s"}},
    {OPTION_BYTES, "bytes", 0, OPTION_KIND_BYTES, OPTION_AXIS, SWEEP, NULL, 1024, 274877906944.0,
     "1408K", "N[K|M|G]", WORK,
     "Copied to the GPU and back in an iteration, a multiple of 1024: 64K, 1M, or 1MiB, which is\n"
     "the same. The kernels work on the first 1/64 of it.",
     .setting = {.type = SETTING_NUMBER64,
                 AT(work.bytes),
                 .where = PLACE_BUILTIN,
                 .label = "%s",
                 .figure = "%s each way",
                 .heading = "%s bytes each way"}},
    {OPTION_DELAY_CYCLES, "delay-cycles", 0, OPTION_KIND_INTEGER, OPTION_AXIS, SWEEP, NULL, 0, 1e15,
     "1000000", "N", WORK, "GPU clock cycles that each kernel of the delay workload waits.",
     .setting = {.type = SETTING_NUMBER64,
                 AT(work.delay_cycles),
                 .where = PLACE_DELAY,
                 .label = "%s cycles",
                 .labelled = true,
                 .title = "cycles"}},
    {OPTION_RATE, "rate", 0, OPTION_KIND_RATE, OPTION_AXIS | OPTION_USUAL, SWEEP, NULL, 0, 0,
     "closed", "closed|R|max-under-pN=TIME", WORK,
     "When iterations start. closed: each worker starts its next one at once. R: iterations a\n"
     "second are offered to all workers together; latency counts from the planned start.\n"
     "max-under-p99=5ms: search the highest such rate (p50, p90, p99, p999; us, ms, s); tune\n"
     "searches the layout that holds the highest.",
     .setting = {.type = SETTING_RATE, .recorded = PLACE_NOWHERE, .label = "%s"}},
    {OPTION_ARRIVAL, "arrival", 0, OPTION_KIND_CHOICE, OPTION_AXIS, SWEEP,
     CHOICES({"constant", "evenly spaced"},
             {"poisson", "at random, with exponential gaps, by --seed"},
             {"trace", "with --server, as --arrivals has them, at that rate"}),
     0, 0, "constant", NULL, WORK, "With a rate, the planned starts.",
     .setting = {.type = SETTING_CHOICE,
                 AT(work.arrival),
                 .where = PLACE_OPEN,
                 .recorded = PLACE_NOWHERE,
                 .label = "%s"}},
    {OPTION_SERVER, "server", 0, OPTION_KIND_SWITCH, 0, PLAN, NULL, 0, 0, "no", NULL, WORK,
     "The program (-- COMMAND) is a server: mpsweep starts one for each process, and sends it\n"
     "--request. Threads and --streams are requests in flight: 1x4 with 8 streams is 32."},
    {OPTION_READY, "ready", 0, OPTION_KIND_TEXT, 0, PLAN, NULL, 0, 0, NULL, "URL", WORK,
     "With --server, what answers 200 to 299 once it could serve, as in\n"
     "http://127.0.0.1:{port}/health. Default: when it takes connections.",
     .setting = REQUEST_TEXT(ready)},
    {OPTION_REQUEST, "request", 0, OPTION_KIND_TEXT, 0, PLAN, NULL, 0, 0, NULL, "METHOD URL", WORK,
     "With --server, the request, as in 'POST http://127.0.0.1:{port}/infer'. An iteration is a\n"
     "request with a good answer; its latency counts from its planned start (--rate).",
     .setting = {.type = SETTING_TEXT,
                 AT(program.requests.request),
                 .where = PLACE_PROGRAM,
                 .recorded = PLACE_NOWHERE,
                 .label = ""}},
    {OPTION_HEADER, "header", 0, OPTION_KIND_TEXT, OPTION_LINES, PLAN, NULL, 0, 0, NULL, "LINE",
     WORK,
     "With --server, one more line of the request, as in 'Content-Type: application/json';\n"
     "repeatable.",
     .setting = REQUEST_TEXT(header)},
    {OPTION_BODY, "body", 0, OPTION_KIND_TEXT, 0, PLAN, NULL, 0, 0, NULL, "FILE", WORK,
     "With --server, what the request sends: a file of up to 16 MiB.",
     .setting = REQUEST_TEXT(body)},
    {OPTION_BODIES, "bodies", 0, OPTION_KIND_TEXT, 0, PLAN, NULL, 0, 0, NULL, "FILE", WORK,
     "With --server, another body for each request: a line of a file of up to 256 MiB, as JSON\n"
     "Lines has them. The servers take them in turn; after the last one comes the first.",
     .setting = REQUEST_TEXT(bodies)},
    {OPTION_EXPECT, "expect", 0, OPTION_KIND_TEXT, 0, PLAN, NULL, 0, 0, NULL, "STATUS|TEXT", WORK,
     "With --server, what makes an answer good: its status, or a text in it. Default: a status of\n"
     "200 to 299. Others are counted apart, as are requests without an answer.",
     .setting = REQUEST_TEXT(expect)},
    {OPTION_REQUEST_TIMEOUT, "request-timeout", 0, OPTION_KIND_SECONDS, 0, PLAN, NULL, 0.001, 3600,
     "10", "TIME", WORK, "With --server, seconds after which a request has no answer.",
     .setting = {.type = SETTING_NS,
                 AT(program.requests.timeout_ns),
                 .where = PLACE_SERVER,
                 .recorded = PLACE_NOWHERE,
                 .label = ""}},
    {OPTION_ARRIVALS, "arrivals", 0, OPTION_KIND_TEXT, 0, PLAN, NULL, 0, 0, NULL, "FILE", WORK,
     "With --arrival trace, when requests started once: a number of seconds a line. --rate makes\n"
     "them faster or slower, and they repeat.",
     .setting = REQUEST_TEXT(arrivals)},
    {OPTION_TICK, "tick", 0, OPTION_KIND_TEXT, 0, SWEEP | OPTION_RECORD, NULL, 0, 0, "auto", "WHAT",
     WORK,
     "With a program (-- COMMAND) that does not report its iterations, what ends one: sync (a "
     "wait\n"
     "for the GPU), graph (a graph's launch), copy-out, kernel:NAME, or an NVTX range nvtx:NAME.\n"
     "auto finds what repeats, or else requests by their inputs. none: the program reports them\n"
     "itself.",
     .setting = {.type = SETTING_TEXT,
                 AT(program.tick),
                 .where = PLACE_PROGRAM,
                 .recorded = PLACE_NOWHERE,
                 .label = ""}},
    {OPTION_PORT, "port", 0, OPTION_KIND_INTEGER, 0, SWEEP, NULL, 1024, 65535, "20000", "N", WORK,
     "With a program (-- COMMAND), the first port to try for {port}: each process gets one of its\n"
     "own, consecutive and free when it starts.",
     .setting = {.type = SETTING_NUMBER,
                 AT(program.port),
                 .where = PLACE_PROGRAM,
                 .recorded = PLACE_NOWHERE,
                 .label = "",
                 .incidental = true}},
    {OPTION_PROGRAM_LOG, "program-log", 0, OPTION_KIND_TEXT, 0, SWEEP | OPTION_RECORD, NULL, 0, 0,
     NULL, "DIR", WORK,
     "With a program, a directory for what its processes print, one file each a point. Otherwise\n"
     "only the last line of an error is kept.",
     .setting = {.type = SETTING_TEXT,
                 AT(program.log),
                 .where = PLACE_PROGRAM,
                 .recorded = PLACE_NOWHERE,
                 .label = "",
                 .incidental = true}},
    {OPTION_DURATION, "duration", 't', OPTION_KIND_SECONDS, OPTION_HOW | OPTION_USUAL,
     SWEEP | OPTION_RECORD | OPTION_EXPLAIN, NULL, 0.01, 86400, "0.3", "TIME", HOW,
     "Length of the window of each round. In seconds, before it grows for --precision. Unless it\n"
     "is given, a program's window also grows until each worker has 30 iterations and it is a\n"
     "fifth of the start; and a tune's finals and a verification have windows of 1 s, those of a\n"
     "program longer ones where there is time."},
    {OPTION_WARMUP, "warmup", 0, OPTION_KIND_SECONDS, 0, SWEEP | OPTION_RECORD | OPTION_EXPLAIN,
     NULL, 0, 3600, "0.2", "TIME", HOW, "Seconds from the common start that are not counted.",
     .setting = {.type = SETTING_NS, AT(work.warmup_ns), .recorded = PLACE_NOWHERE, .label = ""}},
    {OPTION_PRECISION, "precision", 'p', OPTION_KIND_PERCENT, OPTION_HOW | OPTION_USUAL,
     OPTION_SWEEP | OPTION_EXPLAIN, NULL, 0.01, 100, "5", "PCT", HOW,
     "Half width of the 95% confidence interval to reach. Over all rounds, in percent. A window\n"
     "grows while it leaves more open than its share of that, up to --max-duration."},
    {OPTION_MAX_DURATION, "max-duration", 0, OPTION_KIND_SECONDS, OPTION_HOW, OPTION_SWEEP, NULL,
     0.01, 86400, "2", "TIME", HOW,
     "Longest window of a round in seconds. A point that is imprecise after all rounds is marked\n"
     "'unconverged'."},
    {OPTION_ITERATIONS, "iterations", 0, OPTION_KIND_INTEGER, 0, OPTION_SWEEP | OPTION_TRACE, NULL,
     0, 1000000000, "0", "N", HOW,
     "Fixed work in place of a window: each worker runs N iterations after the warm-up,\n"
     "and the point ends when the slowest has. 0: measure by time.",
     .setting = {.type = SETTING_NUMBER64,
                 AT(work.iterations),
                 .recorded = PLACE_NOWHERE,
                 .label = "iterations %s each"}},
    {OPTION_STAGGER, "stagger", 0, OPTION_KIND_TIME, 0, OPTION_SWEEP | OPTION_TRACE, NULL, 0, 3600,
     NULL, "TIME", HOW,
     "Release the workers one after the other, this far apart, not all together: 10ms. A sweep\n"
     "by time counts once all are released: give it a warm-up as long.",
     .setting = {.type = SETTING_US,
                 AT(work.stagger_us),
                 .where = PLACE_OURS,
                 .recorded = PLACE_NOWHERE,
                 .label = "released %s apart"}},
    {OPTION_ROUNDS, "rounds", 'r', OPTION_KIND_INTEGER, OPTION_HOW | OPTION_USUAL,
     PLAN | OPTION_EXPLAIN, NULL, 1, 1000, "3", "N", HOW,
     "Independent measurements of each point; no worker process serves two of them. The interval\n"
     "of one does not cover what differs from one set of processes to the next. tune: the most\n"
     "of each finalist, 8 unless it is given, or 32 while it may or may not meet --max-p99."},
    {OPTION_SEED, "seed", 0, OPTION_KIND_INTEGER, 0, SWEEP, NULL, 0, 2147483647, "1", "N", HOW,
     "Seed of the random order in which points are measured; 0 keeps the plan's order.",
     .setting = {.type = SETTING_NUMBER64,
                 AT(work.arrival_seed),
                 .where = PLACE_POISSON,
                 .recorded = PLACE_NOWHERE,
                 .label = ""}},
    {OPTION_TIMEOUT, "timeout", 0, OPTION_KIND_SECONDS, 0, SWEEP | OPTION_RECORD | OPTION_EXPLAIN,
     NULL, 0.1, 86400, "60", "TIME", HOW,
     "Longest wait for workers to get ready, to finish an iteration, or to stop. A worker that\n"
     "takes longer counts as hung."},
    {OPTION_LIMITS, "limits", 0, OPTION_KIND_CHOICE, 0, PLAN,
     CHOICES({"known", "infeasible, and not tried"}, {"ignore", "tried all the same"}), 0, 0,
     "known", NULL, HOW,
     "Points over MPS beyond the limits that 'mpsweep doctor --limits' found for this GPU and\n"
     "driver."},
    {OPTION_NO_REUSE, "no-reuse", 0, OPTION_KIND_SWITCH, 0, PLAN, NULL, 0, 0, "no", NULL, HOW,
     "Fresh worker processes, or programs, for each point. Otherwise those of one point serve\n"
     "the next where they can (same processes, MPS and environment), and such points are\n"
     "measured one after the other."},
    {OPTION_CALIBRATE, "calibrate", 0, OPTION_KIND_SWITCH, OPTION_USUAL, OPTION_SWEEP, NULL, 0, 0,
     "no", NULL, HOW,
     "Measure first what 'mpsweep explain' needs: what the GPU, its driver and this machine can\n"
     "do for each kind of iteration in the plan, about 12 s each on an H200."},
    {OPTION_SHARD, "shard", 0, OPTION_KIND_TEXT, 0, OPTION_SWEEP, NULL, 0, 0, NULL, "I/N|auto", HOW,
     "Measure only part I (from 0) of N about equally long ones of the plan, for 'mpsweep merge'\n"
     "to put together. auto: by the place in a Slurm job array, or among the tasks of srun; the\n"
     "name of the results file needs {shard} then."},
    {OPTION_FLEET, "fleet", 0, OPTION_KIND_SWITCH, 0, OPTION_SWEEP, NULL, 0, 0, "no", NULL, HOW,
     "Each of the N nodes of --shard measures the whole plan, so that nodes can be compared."},
    {OPTION_REFERENCE, "reference", 0, OPTION_KIND_INTEGER, 0, OPTION_SWEEP, NULL, 0, 1000, "1",
     "K", HOW,
     "Points that every shard measures, so that differences between their GPUs can be computed."},
    {OPTION_PROBE_ROUNDS, "rounds", 'r', OPTION_KIND_INTEGER, OPTION_NOT_IN_JOB, OPTION_PROBE,
     CHOICES({"default"}), 1, 100, "default", "default|N", HOW,
     "How often each arm is run, in fresh processes and in random order. More of them make the\n"
     "intervals narrower. Default: as many as the probe needs, 3 or so."},
    {OPTION_PROBE_SEED, "seed", 0, OPTION_KIND_INTEGER, OPTION_NOT_IN_JOB, OPTION_PROBE, NULL, 0,
     2147483647, "1", "N", HOW, "Seed of the random order of the arms in each round."},
    {OPTION_PROBE_TIMEOUT, "timeout", 0, OPTION_KIND_SECONDS, OPTION_NOT_IN_JOB, OPTION_PROBE, NULL,
     0.1, 3600, "30", "TIME", HOW,
     "Longest wait for the processes of an arm to get ready, and for them to finish. An arm that\n"
     "takes longer has failed."},
    {OPTION_PROBE_OUTPUT, "output", 'o', OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_PROBE, NULL, 0,
     0, NULL, "FILE", OUT, "Results file (.jsonl), which must not exist."},
    {OPTION_PROBE_LIST, "list", 0, OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB, OPTION_PROBE, NULL, 0, 0,
     "no", NULL, OUT, "Print the probes, what they do, and their arms; measure nothing."},
    {OPTION_PROBE_FORMAT, "format", 'f', OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB, OPTION_PROBE,
     CHOICES(TABLE, MARKDOWN, {"csv"}, {"json"}), 0, 0, "table", NULL, OUT,
     "What is printed on standard output."},
    {OPTION_OUTPUT, "output", 'o', OPTION_KIND_TEXT, OPTION_NOT_IN_JOB | OPTION_USUAL,
     SWEEP | OPTION_RECORD | OPTION_PLOT | OPTION_REPORT | OPTION_COMPARE | OPTION_MERGE, NULL, 0,
     0, NULL, "FILE", OUT,
     "Where the result goes.\n"
     "sweep, tune: a results file (.jsonl), which must not exist unless --resume is given; by\n"
     "default a dated one in ./mpsweep-results.\n"
     "trace: a timeline (.json).\n"
     "record: a job file, which must not exist.\n"
     "plot: a picture, .svg, .png or .pdf, or .gp for gnuplot's data.\n"
     "compare: a picture of all ratios, .svg, .png or .pdf, or .gp for gnuplot's data.\n"
     "report: a page (.html).\n"
     "merge: results of all, which must not exist unless --force is given."},
    {OPTION_RESUME, "resume", 0, OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB | OPTION_USUAL, PLAN, NULL,
     0, 0, "no", NULL, OUT,
     "Continue an interrupted results file. The points that lack rounds are measured anew, in\n"
     "all rounds."},
    {OPTION_RESUME_FORCE, "force", 0, OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB, PLAN, NULL, 0, 0, "no",
     NULL, OUT,
     "With --resume: continue although GPU, driver, CPUs, emulated machine or program are not\n"
     "those that the file was begun with. The new points are marked."},
    {OPTION_PUBLISH, "publish", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_SWEEP, NULL, 0, 0,
     NULL, "FILE", OUT,
     "Rename the results file to FILE once every point has its record, and check that this\n"
     "worked: on a shared file system every process that sees FILE sees all of it."},
    {OPTION_DRY_RUN, "dry-run", 'n', OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB | OPTION_USUAL, PLAN,
     NULL, 0, 0, "no", NULL, OUT,
     "Print the plan and the time that it would take; measure nothing. Also the GPU and the\n"
     "binding, as --format asks."},
    {OPTION_LIST, "list", 0, OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB, SWEEP, NULL, 0, 0, "no", NULL,
     OUT, "Print the plan's points, one a line, as --format asks, and stop."},
    {OPTION_FORMAT, "format", 'f', OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB | OPTION_USUAL,
     PLAN | OPTION_COMPARE, CHOICES(TABLE, MARKDOWN, {"csv"}, {"json"}), 0, 0, "table", NULL, OUT,
     "What is printed on standard output.\n"
     "sweep, tune: at the end, or of a plan; json is a record a line.\n"
     "compare: json is one value."},
    {OPTION_QUIET, "quiet", 'q', OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB,
     SWEEP | OPTION_RECORD | OPTION_MPS_RUN | OPTION_EXPLAIN | OPTION_PROBE | OPTION_MERGE, NULL, 0,
     0, "no", NULL, OUT,
     "No progress on standard error.\n"
     "mps run: no proof of attachment there.\n"
     "merge: no summary."},
    {OPTION_COLOR, "color", 0, OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB, OPTION_EVERY_COMMAND,
     CHOICES({"auto", "on a terminal, unless NO_COLOR is set or TERM is dumb"},
             {"always", "also in files and pipes"}, {"never", "nowhere"}),
     0, 0, "auto", NULL, OUT, "Colours of status words, verdicts and errors."},
    {OPTION_FIGURE, "figure", 0, OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB, OPTION_PLOT,
     CHOICES({"throughput", "iterations/s by workers, or by offered rate"},
             {"latency", "percentiles by workers, or by offered rate"},
             {"phases", "where the time goes"}, {"launch", "the time of a launch call"},
             {"heatmap", "P×T"}, {"host", "iterations/s by CPUs in use"},
             {"scaling", "by number of GPUs"}, {"gpus", "each GPU beside the others"},
             {"ceilings", "measured beside what was possible"},
             {"search", "how a tune found the best layout"},
             {"fleet", "the nodes of merged results, and which stand out"},
             {"probe", "every arm of the probes"},
             {"probe-series", "those arms that differ in one number"},
             {"all", "each of them; --output is a directory"}),
     0, 0, "throughput", NULL, OUT, "What to draw."},
    {OPTION_WIDTH, "width", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_PLOT, NULL, 0, 0, "7in",
     "WIDTH", OUT,
     "Width of the picture, in in, mm or cm: that of a paper's column, 3.3in or 84mm, in which\n"
     "its text is as large as the paper's. Figures with a row for each point take 7in."},
    {OPTION_EXPLAINED, "explained", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_PLOT, NULL, 0, 0,
     NULL, "FILE", OUT,
     "What 'mpsweep explain RESULTS --format json' printed: for the ceilings, in\n"
     "place of the calibration in RESULTS."},
    {OPTION_THRESHOLD, "threshold", 0, OPTION_KIND_PERCENT, OPTION_NOT_IN_JOB, OPTION_COMPARE, NULL,
     0, 1000, "2", "PCT", "Verdicts",
     "Difference that does not matter, in percent: a point is worse or better if the whole 95%\n"
     "interval of its ratio lies beyond it, and the same if all of it lies within."},
    {OPTION_ADJUST, "adjust", 0, OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB, OPTION_COMPARE,
     CHOICES({"holm", "a false 'worse' anywhere in at most 2.5% of comparisons"},
             {"none", "each point as if it were the only one"}),
     0, 0, "holm", NULL, "Verdicts", "Adjustment of the verdicts for the number of points."},
    {OPTION_MERGE_FORCE, "force", 0, OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB, OPTION_MERGE, NULL, 0,
     0, "no", NULL, OUT, "Replace the output if it exists."},
    {OPTION_MERGE_FORMAT, "format", 'f', OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB,
     OPTION_MERGE | OPTION_SLURM_COLLECT, CHOICES(TABLE, MARKDOWN, {"json"}), 0, 0, "table", NULL,
     OUT,
     "How the summary is printed on standard output. json is a record a line: those\n"
     "about the merge in the merged file."},
    {OPTION_EXPORT_FORMAT, "format", 'f', OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB, OPTION_EXPORT,
     CHOICES(TABLE, MARKDOWN, {"csv"}, {"json"}, OPENMETRICS), 0, 0, "table", NULL, OUT,
     "What is printed on standard output. json is a record a line."},
    {OPTION_STRICT, "strict", 0, OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB, OPTION_MERGE, NULL, 0, 0,
     "no", NULL, OUT,
     "Files that differ in driver, kind of GPU, version of mpsweep, options and the like are an\n"
     "error instead of a warning."},
    {OPTION_MPS_DIR, "dir", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, START | KEPT, NULL, 0, 0, NULL,
     "DIR", DAEMON,
     "start, run: where to make the daemon's private directory; DIR must not exist, or be empty\n"
     "and yours alone, and have at most 71 characters. Default: a fresh one under\n"
     "XDG_RUNTIME_DIR, TMPDIR or /tmp.\n"
     "stop, status, env: the daemon's directory. Default: that of the only one there is.\n"
     "status: or a pipe directory of a foreign daemon, which is only looked at."},
    {OPTION_MPS_GPU, "device", 'd', OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, START | OPTION_MPS_STATUS,
     NULL, 0, 0, NULL, "UUID|N|emulated", DAEMON,
     "start, run: the only GPU that the daemon and its clients see: its UUID or number, or\n"
     "'emulated'. Default: all GPUs.\n"
     "status: 'emulated', where DIR is the pipe directory of a foreign emulated daemon."},
    {OPTION_MPS_PERCENTAGE, "active-thread-percentage", 0, OPTION_KIND_PERCENT, OPTION_NOT_IN_JOB,
     START, NULL, 0.1, 100, NULL, "PCT", DAEMON,
     "Share of the multiprocessors that each client gets at most; one decimal."},
    {OPTION_MPS_PRIORITY, "priority", 0, OPTION_KIND_INTEGER, OPTION_NOT_IN_JOB, START, NULL, 0, 1,
     NULL, "0|1", DAEMON, "Priority of clients that set none: 0 is normal, 1 is below normal."},
    {OPTION_MPS_MEMORY, "memory-limit", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, START, NULL, 0, 0,
     NULL, "GPU=SIZE[,GPU=SIZE]", DAEMON,
     "Device memory that each client may allocate on a GPU, named by its number among the\n"
     "daemon's GPUs or its UUID: 0=4G, in whole MiB."},
    {OPTION_MPS_STATIC, "static", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_MPS_START, NULL, 0,
     0, NULL, "GPU=CHUNKS[,GPU=CHUNKS]", DAEMON,
     "Static partitions, one for each item: chunks of a GPU's multiprocessors that only the\n"
     "partition's clients use; 'mpsweep mps status' shows the value of CUDA_MPS_SM_PARTITION that\n"
     "they need. Takes the MPS programs of CUDA 13.1 or later."},
    {OPTION_MPS_FORCE, "force", 0, OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB, OPTION_MPS_STOP, NULL, 0,
     0, "no", NULL, DAEMON, "Stop it although it has clients: they are terminated first."},
    {OPTION_MPS_FORMAT, "format", 'f', OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB, OPTION_MPS_STATUS,
     CHOICES(TABLE, MARKDOWN, {"json"}, OPENMETRICS), 0, 0, "table", NULL, OUT, "What is printed."},
    {OPTION_OBJECTIVE, "objective", 0, OPTION_KIND_CHOICE, OPTION_USUAL, OPTION_TUNE,
     CHOICES({"throughput", "most iterations a second"},
             {"p99", "lowest 99th percentile of the latency"},
             {"ips-per-watt", "most iterations for the energy, which takes NVML"}),
     0, 0, "throughput", NULL, BEST, "What makes a layout the best."},
    {OPTION_MAX_P99, "max-p99", 0, OPTION_KIND_TIME, OPTION_USUAL, OPTION_TUNE | OPTION_EMIT, NULL,
     1e-6, 3600, NULL, "TIME", BEST,
     "Limit of the 99th percentile of the latency. Excludes layouts that are not surely below\n"
     "it: the upper end of its 95% interval counts. 500us, 5ms, 1s."},
    {OPTION_MAX_PROCESSES, "max-processes", 0, OPTION_KIND_INTEGER, OPTION_USUAL, OPTION_TUNE, NULL,
     1, 1024, NULL, "N", BEST, "Processes of a layout, at most."},
    {OPTION_MAX_THREADS, "max-threads", 0, OPTION_KIND_INTEGER, OPTION_USUAL, OPTION_TUNE, NULL, 1,
     1024, NULL, "N", BEST, "Threads of a process, at most."},
    {OPTION_MAX_CPUS, "max-cpus", 0, OPTION_KIND_REAL, OPTION_USUAL, OPTION_TUNE, NULL, 0.01, 1024,
     NULL, "N", BEST,
     "CPUs that all processes together may keep busy. Excludes layouts that were seen to use\n"
     "more in any round. 0.5, 2."},
    {OPTION_MAX_GPU_MEMORY, "max-gpu-memory", 0, OPTION_KIND_BYTES, OPTION_WHOLE_MIB, OPTION_TUNE,
     NULL, 16777216, 1099511627776.0, NULL, "N[K|M|G]", BEST,
     "GPU memory that all workers may use together. Excludes layouts that were seen to use\n"
     "more. 512M, 40G."},
    {OPTION_BUDGET, "budget", 0, OPTION_KIND_SECONDS, OPTION_USUAL, OPTION_TUNE, NULL, 1, 86400,
     "120s", "TIME", BEST,
     "Time for everything, from the start of the command to its end: 90s, 5m, 1h. With\n"
     "--exhaustive there is no bound unless one is given."},
    {OPTION_GUIDE, "guide", 0, OPTION_KIND_CHOICE, 0, OPTION_TUNE,
     CHOICES({"auto", "a calibration, where the workload allows it and the budget is long enough\n"
                      "for it to pay"},
             {"calibration", "predictions, from what the GPU and this machine are measured to be\n"
                             "able to do (as 'sweep --calibrate')"},
             {"measuring", "short windows of a few sizes of each layout"}),
     0, 0, "auto", NULL, BEST, "How to choose where to look first."},
    {OPTION_EXHAUSTIVE, "exhaustive", 0, OPTION_KIND_SWITCH, 0, OPTION_TUNE, NULL, 0, 0, "no", NULL,
     BEST, "Measure every layout of the space, and then the best ones again."},
    {OPTION_TUNE_EMIT, "emit", 0, OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB | OPTION_USUAL, OPTION_TUNE,
     CHOICES({"env"}, {"systemd"}, {"slurm"}, {"kubernetes"}, {"compose"}), 0, 0, NULL, NULL, OUT,
     "Also write a directory that runs the winner. As 'mpsweep emit' does; its workers run the\n"
     "program behind '--', if that is what was tuned."},
    {OPTION_TUNE_EMIT_DIR, "emit-dir", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_TUNE, NULL, 0,
     0, "mpsweep-deployment", "DIR", OUT,
     "With --emit: that directory, which must be new or empty; its name becomes that of units,\n"
     "pods and jobs."},
    {OPTION_EMIT_TARGET, "target", 0, OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB, OPTION_EMIT,
     CHOICES({"env"}, {"systemd"}, {"slurm"}, {"kubernetes"}, {"compose"}), 0, 0, NULL, NULL,
     "The deployment",
     "What runs it: shell scripts, systemd, Slurm, Kubernetes or Docker Compose."},
    {OPTION_EMIT_OUTPUT, "output", 'o', OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_EMIT, NULL, 0,
     0, NULL, "DIR", "The deployment",
     "The directory to write, which must be new or empty; its name becomes that of units, pods "
     "and\n"
     "jobs."},
    {OPTION_EMIT_POINT, "point", 0, OPTION_KIND_INTEGER, OPTION_NOT_IN_JOB, OPTION_EMIT, NULL, 0,
     1e9, NULL, "N", "The deployment",
     "The point to deploy, by its number in RESULTS. Default: the winner of a tuning; without\n"
     "one, the ok point of the highest throughput that meets --max-p99, unless an unconverged\n"
     "one surely does more. Not one that is overloaded."},
    {OPTION_EMIT_PORT, "port", 0, OPTION_KIND_INTEGER, OPTION_NOT_IN_JOB, OPTION_EMIT, NULL, 1,
     65535, "8000", "N", "The deployment",
     "What {port} is for the first worker; each next one has the next. Workers also find it in\n"
     "MPSWEEP_PORT."},
    {OPTION_EMIT_IMAGE, "image", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_EMIT, NULL, 0, 0,
     NULL, "IMAGE", "The deployment",
     "kubernetes, compose: the workers' container image; without one there is a placeholder to\n"
     "replace."},
    {OPTION_FIND_LIMITS, "limits", 0, OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB, OPTION_DOCTOR, NULL, 0,
     0, "no", NULL, OUT,
     "Also find how many MPS clients the GPU and its driver allow with how many connections each,\n"
     "by starting them (half a minute on an H200), and keep it for sweeps."},
    {OPTION_DOCTOR_FORMAT, "format", 'f', OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB, OPTION_DOCTOR,
     CHOICES({"text"}, {"json"}), 0, 0, "text", NULL, OUT,
     "What is printed on standard output. json is one value, and has no --limits."},
    {OPTION_VERIFY, "verify", 0, OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB, OPTION_EXPLAIN, NULL, 0, 0,
     "no", NULL, HOW,
     "Measure each remedy against the point that it is for, in turns, on the GPU of the results,\n"
     "and compare with what was predicted; in 3 rounds unless --rounds is given."},
    {OPTION_EXPLAIN_FORMAT, "format", 'f', OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB, OPTION_EXPLAIN,
     CHOICES({"text"}, MARKDOWN, {"json"}), 0, 0, "text", NULL, OUT,
     "What is printed on standard output. json is one value."},
    {OPTION_TRACE_POINT, "point", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_TRACE, NULL, 0, 0,
     NULL, "SECTION|N", "The trace",
     "Which of the plan's points to trace: the section of the job file that has it alone, or its\n"
     "number, as --list counts them."},
    {OPTION_TRACE_PRINT, "print", 0, OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB, OPTION_TRACE,
     CHOICES({"summary", "calls, use of the GPU, gaps and admission"},
             {"gpu-trace", "also every kernel and copy, one a line"},
             {"api-trace", "also every call"}),
     0, 0, "summary", NULL, "The trace", "What is printed on standard output."},
    {OPTION_TRACE_FIGURE, "figure", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_TRACE, NULL, 0,
     0, NULL, "FILE", "The trace",
     "Draw calls and GPU work over time: .svg, .png or .pdf, or .gp for gnuplot's data."},
    {OPTION_TRACE_MAX_RECORDS, "max-records", 0, OPTION_KIND_INTEGER, OPTION_NOT_IN_JOB,
     OPTION_TRACE, NULL, 1000, 20000000, "200000", "N", "The trace",
     "Calls, kernels and copies to keep, of all processes together; a trace of more ends early.\n"
     "Each takes about 100 bytes of memory while it runs, 250 at the end, and 250 of the file."},
    {OPTION_RECORD_ITERATIONS, "iterations", 'n', OPTION_KIND_INTEGER, OPTION_NOT_IN_JOB,
     OPTION_RECORD, NULL, 1, 1000, "5", "N", HOW,
     "How many iterations are recorded, after the warm-up and one more."},
    {OPTION_RECORD_CROWD, "crowd", 0, OPTION_KIND_INTEGER, OPTION_NOT_IN_JOB, OPTION_RECORD, NULL,
     0, 48, "8", "P", HOW,
     "Also run the program in P processes over MPS, and give the workload's kernels as many "
     "blocks\n"
     "as it takes to do as much there. 0: do not."},
    {OPTION_RECORD_NAME, "name", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_RECORD, NULL, 0, 0,
     NULL, "NAME", OUT,
     "The workload's name in the job file. Default: that of the program, also behind\n"
     "'env', 'nice' and the like, or of the script which an interpreter runs."},
    {OPTION_SLURM_NODES, "nodes", 'N', OPTION_KIND_INTEGER, OPTION_NOT_IN_JOB, OPTION_SLURM_SUBMIT,
     NULL, 1, 10000, NULL, "N", CLUSTER,
     "Shards to make of the plan; each is a task of a job array, and has a node to itself."},
    {OPTION_SLURM_GPUS, "gpus-per-node", 0, OPTION_KIND_INTEGER, OPTION_NOT_IN_JOB,
     OPTION_SLURM_SUBMIT, NULL, 0, 64, "1", "G", CLUSTER,
     "GPUs to ask for on each node (--gres=gpu:G); 0: none, as for the emulated one. Of several,\n"
     "--device chooses which to measure."},
    {OPTION_SLURM_DIR, "dir", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_SLURM_SUBMIT, NULL, 0,
     0, NULL, "DIR", CLUSTER,
     "The run's directory, which must not exist, on a file system that all nodes see. Default:\n"
     "mpsweep-slurm-DATE-TIME, here."},
    {OPTION_SLURM_AGAIN, "again", 0, OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_SLURM_SUBMIT, NULL,
     0, 0, NULL, "DIR", CLUSTER,
     "Submit those shards of an earlier run that are not finished, and for which no job runs or\n"
     "waits; what they have measured stays. sbatch options after '--' are added to the first "
     "ones."},
    {OPTION_SLURM_DRY_RUN, "dry-run", 'n', OPTION_KIND_SWITCH, OPTION_NOT_IN_JOB,
     OPTION_SLURM_SUBMIT, NULL, 0, 0, "no", NULL, OUT,
     "Print the batch scripts and the command lines; make and submit nothing."},
    {OPTION_SLURM_FORMAT, "format", 'f', OPTION_KIND_CHOICE, OPTION_NOT_IN_JOB, OPTION_SLURM_STATUS,
     CHOICES(TABLE, MARKDOWN, {"json"}), 0, 0, "table", NULL, OUT, "What is printed."},
    {OPTION_SLURM_OUTPUT, "output", 'o', OPTION_KIND_TEXT, OPTION_NOT_IN_JOB, OPTION_SLURM_COLLECT,
     NULL, 0, 0, NULL, "FILE", OUT,
     "Where to write what is merged; it must not exist. Default: DIR/all.jsonl, made anew."},
};
