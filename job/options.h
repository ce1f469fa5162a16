/*
 * The option table: one row an option, for the command line, the job file, defaults, validation,
 * --help and the man page. A value is a list of items; rows marked OPTION_AXIS multiply into
 * points, all others take one item.
 *
 * Order of calls: options_init, then options_set for each source from the weakest (job file) to the
 * strongest (command line), then the readers. options_release frees everything.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "job/rate.h"
#include "common/status.h"

enum option_id {
    OPTION_DEVICE,
    OPTION_ONE_DEVICE,
    OPTION_GPUS_PER_POINT,
    OPTION_MPS_DAEMONS,
    OPTION_PROBE_ARMS,
    OPTION_LAYOUT,
    OPTION_STREAMS,
    OPTION_SM_PARTITION,
    OPTION_CONTEXTS,
    OPTION_MEMORY,
    OPTION_SYNC,
    OPTION_LAUNCH,
    OPTION_CONNECTIONS,
    OPTION_ACTIVE_THREAD_PERCENTAGE,
    OPTION_PRIORITY,
    OPTION_MEMORY_LIMIT,
    OPTION_SCHEDULE,
    OPTION_BIND,
    OPTION_MPS,
    OPTION_WORKLOAD,
    OPTION_WORKLOAD_OPTIONS,
    OPTION_KERNELS,
    OPTION_BLOCKS,
    OPTION_THREADS_PER_BLOCK,
    OPTION_SPIN,
    OPTION_BYTES,
    OPTION_DELAY_CYCLES,
    OPTION_RATE,
    OPTION_ARRIVAL,
    OPTION_SERVER,
    OPTION_READY,
    OPTION_REQUEST,
    OPTION_HEADER,
    OPTION_BODY,
    OPTION_BODIES,
    OPTION_EXPECT,
    OPTION_REQUEST_TIMEOUT,
    OPTION_ARRIVALS,
    OPTION_TICK,
    OPTION_PORT,
    OPTION_PROGRAM_LOG,
    OPTION_DURATION,
    OPTION_WARMUP,
    OPTION_PRECISION,
    OPTION_MAX_DURATION,
    OPTION_ITERATIONS,
    OPTION_STAGGER,
    OPTION_ROUNDS,
    OPTION_SEED,
    OPTION_TIMEOUT,
    OPTION_LIMITS,
    OPTION_NO_REUSE,
    OPTION_CALIBRATE,
    OPTION_SHARD,
    OPTION_FLEET,
    OPTION_REFERENCE,
    OPTION_PROBE_ROUNDS,
    OPTION_PROBE_SEED,
    OPTION_PROBE_TIMEOUT,
    OPTION_PROBE_OUTPUT,
    OPTION_PROBE_LIST,
    OPTION_PROBE_FORMAT,
    OPTION_OUTPUT,
    OPTION_RESUME,
    OPTION_RESUME_FORCE,
    OPTION_PUBLISH,
    OPTION_DRY_RUN,
    OPTION_LIST,
    OPTION_FORMAT,
    OPTION_QUIET,
    OPTION_COLOR,
    OPTION_FIGURE,
    OPTION_WIDTH,
    OPTION_EXPLAINED,
    OPTION_THRESHOLD,
    OPTION_ADJUST,
    OPTION_MERGE_FORCE,
    OPTION_MERGE_FORMAT,
    OPTION_EXPORT_FORMAT,
    OPTION_STRICT,
    OPTION_MPS_DIR,
    OPTION_MPS_GPU,
    OPTION_MPS_PERCENTAGE,
    OPTION_MPS_PRIORITY,
    OPTION_MPS_MEMORY,
    OPTION_MPS_STATIC,
    OPTION_MPS_FORCE,
    OPTION_MPS_FORMAT,
    OPTION_OBJECTIVE,
    OPTION_MAX_P99,
    OPTION_MAX_PROCESSES,
    OPTION_MAX_THREADS,
    OPTION_MAX_CPUS,
    OPTION_MAX_GPU_MEMORY,
    OPTION_BUDGET,
    OPTION_GUIDE,
    OPTION_EXHAUSTIVE,
    OPTION_TUNE_EMIT,
    OPTION_TUNE_EMIT_DIR,
    OPTION_EMIT_TARGET,
    OPTION_EMIT_OUTPUT,
    OPTION_EMIT_POINT,
    OPTION_EMIT_PORT,
    OPTION_EMIT_IMAGE,
    OPTION_FIND_LIMITS,
    OPTION_DOCTOR_FORMAT,
    OPTION_VERIFY,
    OPTION_EXPLAIN_FORMAT,
    OPTION_TRACE_POINT,
    OPTION_TRACE_PRINT,
    OPTION_TRACE_FIGURE,
    OPTION_TRACE_MAX_RECORDS,
    OPTION_RECORD_ITERATIONS,
    OPTION_RECORD_CROWD,
    OPTION_RECORD_NAME,
    OPTION_SLURM_NODES,
    OPTION_SLURM_GPUS,
    OPTION_SLURM_DIR,
    OPTION_SLURM_AGAIN,
    OPTION_SLURM_DRY_RUN,
    OPTION_SLURM_FORMAT,
    OPTION_SLURM_OUTPUT,
    OPTION_COUNT
};

enum option_kind {
    OPTION_KIND_SWITCH,  /* no value on the command line; yes or no in a job file */
    OPTION_KIND_CHOICE,  /* one of the row's choices; integer is its index */
    OPTION_KIND_INTEGER, /* min..max, ranges 1-4 where an axis; a choice's word stands for 0 */
    OPTION_KIND_BYTES,   /* integer with K, M or G for powers of 1024 */
    OPTION_KIND_REAL,
    OPTION_KIND_PERCENT, /* a number of them, or with a '%' behind it */
    OPTION_KIND_TEXT,
    OPTION_KIND_LAYOUT,  /* NAME:COUNTS; see struct option_item */
    OPTION_KIND_RATE,    /* see job/rate.h */
    OPTION_KIND_SECONDS, /* a number of them, or a time with its unit, 10s; as the next one */
    OPTION_KIND_TIME,    /* with its unit, 5ms; real is in seconds, as are the row's bounds */
};

enum option_flag {
    OPTION_AXIS = 1,        /* several items multiply into points */
    OPTION_NOT_IN_JOB = 2,  /* about one run, not about what is measured */
    OPTION_PER_PROCESS = 4, /* an item may be a list of one entry a process: 30/70 */
    OPTION_PER_THREAD = 16, /* the same, of one entry a thread of a process */
    OPTION_WHOLE_MIB = 8,   /* of a size: a multiple of 1 MiB; others are of 1 KiB */
    OPTION_IN_SECTION = 32, /* one item, and each section of a job file may have its own */
    OPTION_USUAL = 128,     /* among what a command's help shows of many options */
    OPTION_LINES = 256,     /* one text; given again, it has a further line */
    OPTION_HOW = 64, /* how well points are measured: a results file goes on as it was begun */
};

#define OPTION_LISTED (OPTION_PER_PROCESS | OPTION_PER_THREAD)

/* Commands that take an option, as bits. */
enum option_command {
    OPTION_SWEEP = 1,
    OPTION_PLOT = 2,
    OPTION_DOCTOR = 4,
    OPTION_MPS_START = 8,
    OPTION_MPS_STOP = 16,
    OPTION_MPS_STATUS = 32,
    OPTION_MPS_RUN = 64,
    OPTION_MPS_ENV = 128,
    OPTION_COMPARE = 256,
    OPTION_EXPLAIN = 512,
    OPTION_TUNE = 1024,
    OPTION_EMIT = 2048,
    OPTION_PROBE = 4096,
    OPTION_TRACE = 8192,
    OPTION_MERGE = 16384,
    OPTION_RECORD = 32768,
    OPTION_SLURM_SUBMIT = 0x10000,
    OPTION_SLURM_STATUS = 0x20000,
    OPTION_SLURM_COLLECT = 0x40000,
    OPTION_SLURM_CANCEL = 0x80000,
    OPTION_REPORT = 0x100000,
    OPTION_EXPORT = 0x200000,
    OPTION_EVERY_COMMAND = 0x3fffff,
};

enum layout_kind {
    LAYOUT_THREADS,
    LAYOUT_PROCESSES,
    LAYOUT_PROCESSES_MPS,
    LAYOUT_THREADS_MPS,
    LAYOUT_HYBRID,
    LAYOUT_HYBRID_TIMESLICED,
    LAYOUT_KINDS
};

/* Entries of a list of one entry a process, and the entry that leaves the setting alone. */
#define OPTION_MOST_SHARES 64
#define OPTION_SHARE_DEFAULT (-1)

struct option_item {
    char *text; /* as shown to people and in results; owned */
    int64_t integer;
    int64_t *shares; /* OPTION_LISTED, in place of integer: 1 to OPTION_MOST_SHARES; owned */
    unsigned share_count;
    double real;
    struct rate rate;        /* OPTION_KIND_RATE */
    enum layout_kind layout; /* with the two counts: OPTION_KIND_LAYOUT */
    unsigned processes, threads;
};

struct option_value {
    struct option_item *items;
    size_t count;
    int rank; /* 0 default, then as given to options_set: a stronger source replaces */
    int line; /* of the job file, 0: it is from elsewhere */
};

struct options {
    struct option_value values[OPTION_COUNT];
};

/* A word that stands for a value: its place in the row's list is the number. */
struct option_choice {
    const char *word;
    const char *help;  /* what it does; NULL: as the row's help */
    const char *label; /* of a point that has it, in place of the setting's own */
};

/* What the field of a setting in struct point is, and how its value reads. */
enum setting_type {
    SETTING_NONE,     /* the option is not a setting of a point */
    SETTING_LAYOUT,   /* layout, processes and threads */
    SETTING_CHOICE,   /* 32 bits: a number of the row's choices */
    SETTING_NUMBER,   /* 32 bits */
    SETTING_NUMBER64, /* 64 bits */
    SETTING_QUEUES,   /* 32 bits; 0: the driver's default, which records have as a number */
    SETTING_SHARES,   /* struct point_shares */
    SETTING_WORKLOAD, /* a word, and what it stands for */
    SETTING_TEXT,     /* const char *, NULL: none */
    SETTING_RATE,     /* an offered rate, or the goal of a search */
    SETTING_NS,       /* 64 bits, of a time in seconds */
    SETTING_US,       /* 32 bits, of a time in seconds */
};

/* Properties of a point, of which a setting may need some to make a difference. */
enum setting_place {
    PLACE_MPS = 1,               /* over MPS */
    PLACE_GPUS = 2,              /* on several GPUs */
    PLACE_OURS = 4,              /* not a program of the user's */
    PLACE_NO_PLUGIN = 8,         /* nor a plug-in */
    PLACE_BUILTIN = 16,          /* a built-in workload */
    PLACE_CHAIN = 32,            /* the one that computes */
    PLACE_DELAY = 64,            /* the one that waits */
    PLACE_PLUGIN = 128,          /* a plug-in */
    PLACE_PAGEABLE_STREAM = 256, /* pageable memory, kernels launched one by one */
    PLACE_OPEN = 512,            /* an open loop */
    PLACE_POISSON = 1024,        /* random arrivals */
    PLACE_THREADS = 2048,        /* several threads a process */
    PLACE_WHOLE = 4096,          /* no partitions of the multiprocessors */
    PLACE_NOWHERE = 8192,
    PLACE_PROGRAM = 16384, /* a program of the user's */
    PLACE_SERVER = 32768,  /* one that is a server */
};

/* What a setting of a point is and how it reads. In texts, %s stands for the value; one that begins
 * with a space follows what is before it without a comma. */
struct setting {
    enum setting_type type;
    size_t at;           /* offsetof(struct point, ...) */
    unsigned where;      /* places that it needs; elsewhere it is `neutral` */
    unsigned recorded;   /* places that it needs to stand in a point's record; 0: the same */
    int64_t neutral;     /* of numbers, where it makes no difference or a record lacks it */
    bool sparse;         /* only records of points with more than `neutral` have it */
    const char *key;     /* in records and CSV; NULL: the option's name, '_' for '-' */
    const char *label;   /* of a point that has no default value; NULL: "NAME %s", "": none */
    bool labelled;       /* with the default value, too */
    const char *figure;  /* in figures and comparisons; NULL: the label */
    const char *heading; /* above a table; NULL: as in figures */
    const char *title;   /* of a column; NULL: the key */
    /* The environment variable that carries it to a process, and its value's text; NULL: none, and
     * "%s". A process keeps it: points with another value need other processes, as is so for a
     * setting that only belongs to processes. */
    const char *variable, *variable_text;
    bool of_process;
    bool incidental;   /* points that differ in it alone are the same */
    const char *offer; /* values that tune tries; "": such as fit the layout; NULL: none */
};

struct option_row {
    enum option_id id;
    const char *name;
    char letter; /* short form, 0 if none */
    enum option_kind kind;
    unsigned flags;
    unsigned commands;
    /* Ended by a NULL word; NULL: none. For numbers, a word that stands for 0. */
    const struct option_choice *choices;
    double min, max;
    const char *initial; /* default as a user would write it; NULL: none */
    const char *metavar; /* NULL: the choices */
    const char *group;   /* heading in --help */
    /* Some lines; one that is usual begins with what it is, in a few words. A line that begins with
     * commands, as in "plot, compare: a picture", is about these alone, with those that follow. */
    const char *help;
    struct setting setting;
};

/* Rows in the order of enum option_id. */
extern const struct option_row option_table[OPTION_COUNT];

/* Whether a value that is given again adds to the one before, from the same source. */
static inline bool option_adds_up(const struct option_row *row)
{
    return row->kind == OPTION_KIND_LAYOUT || row->flags & OPTION_LINES;
}

/* What the option's value looks like in help and errors: "N|all", "pinned|pageable". Returns out.
 */
const char *option_value_form(const struct option_row *row, char *out, size_t size);

/* The word that stands for a number, NULL: none. */
const char *option_word(const struct option_row *row, int64_t number);

/* One number of a row, without bounds: a word of its choices, or digits, with K, M or G for sizes.
 * False: text is neither. */
bool option_number(const struct option_row *row, const char *text, int64_t *out);

/*
 * Layouts as text: "threads:1-16", "processes+mps:1,2,4", "hybrid:8x2,16x2", several in one text
 * ("threads:1-4,processes:1-4").
 */

/* Most workers of one point. */
#define LAYOUT_MOST_WORKERS 1024

/* Appends an item a worker count to out. Counts at the beginning, without a NAME, belong to kind:
 * the one that a line before ended with, or LAYOUT_KINDS where there was none. On an error out may
 * hold the items before it. */
enum status layout_parse(const char *text, enum layout_kind kind, struct option_value *out);

/* Appends a copy of item with its own copy of text. Shared with the option parser. */
enum status option_value_add(struct option_value *value, const struct option_item *item,
                             const char *text);

/* A short name ("threads", "processes+mps", ...), and whether it runs over MPS. */
const char *layout_name(enum layout_kind kind);
bool layout_over_mps(enum layout_kind kind);

/* The kind that processes with as many threads each are. */
enum layout_kind layout_of(unsigned processes, unsigned threads, bool over_mps);

/* "hybrid:8x2", as layout_parse() takes it. Returns out. */
#define LAYOUT_TEXT_BYTES 64
const char *layout_text(enum layout_kind kind, unsigned processes, unsigned threads,
                        char out[LAYOUT_TEXT_BYTES]);

/* Sets every option to its default. */
enum status options_init(struct options *out);
void options_release(struct options *options);

/* An independent copy. */
enum status options_copy(const struct options *from, struct options *out);

/*
 * Sets one option from text. A source of a higher rank replaces what weaker ones gave; the same
 * rank adds, for repeatable options (layout), and replaces for others. Errors name the option, the
 * text, and what would be right.
 */
enum status options_set(struct options *options, const struct option_row *row, const char *text,
                        int rank);

/* The row of a name or letter, or NULL. */
const struct option_row *option_find(const char *name, unsigned command);
const struct option_row *option_find_letter(char letter, unsigned command);

/* The option of the commands that a mistyped name means, NULL: none; *slips as of text_is_meant().
 */
const char *option_nearest(const char *name, unsigned command, unsigned *slips);

/* The first item's value. The row must not be an axis. */
int64_t options_integer(const struct options *options, enum option_id id);
double options_real(const struct options *options, enum option_id id);
const char *options_text(const struct options *options, enum option_id id); /* NULL: not given */
bool options_switch(const struct options *options, enum option_id id);

/* Whether anything but its default gave the option its value. */
bool options_is_given(const struct options *options, enum option_id id);
