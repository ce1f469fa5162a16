/*
 * What a deployment is made of, whatever its format: read from the records, and checked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <hwloc.h>

#include "common/status.h"
#include "orchestrator/emit/request.h"
#include "orchestrator/plan/placeholders.h"
#include "orchestrator/plan/settings.h"

enum {
    DEPLOYMENT_CPUS = 4096,      /* their numbers are less */
    DEPLOYMENT_PROCESSES = 1024, /* at most, as threads of each */
    DEPLOYMENT_NAME_BYTES = 48,
    DEPLOYMENT_GPUS = 64,
};

enum deployment_share {
    SHARE_PERCENTAGE,
    SHARE_PRIORITY,
    SHARE_MEMORY_MIB,
    DEPLOYMENT_SHARES,
};

/* A worker process. */
struct deployment_process {
    int64_t share[DEPLOYMENT_SHARES]; /* -1: the daemon's default */
    hwloc_bitmap_t cpus;              /* empty: not bound; owned, as is the next */
    char *cpus_text;                  /* "0-3,8"; "": not bound */
    unsigned millicpus;               /* thousandths of a CPU that it had; 0: not known */
};

struct deployment {
    const struct emit_request *request;
    char name[DEPLOYMENT_NAME_BYTES];  /* mpsweep-..., of a-z, 0-9 and '-' */
    const char *gpus[DEPLOYMENT_GPUS]; /* their UUIDs, checked */
    unsigned gpu_count;
    unsigned daemons; /* 0: no MPS; 1; or one for each GPU */
    bool emulated, mps;
    unsigned processes, threads; /* of all GPUs; process p is on GPU p % gpu_count */
    unsigned streams;            /* of a thread */
    unsigned openmp_threads;     /* of each pool of a program; 0: not set */
    unsigned port;               /* of the first worker */
    unsigned start_s;            /* that the start of a worker may take */
    bool has_port;               /* the workers take connections: see struct deployment_service */
    const char *asked; /* the URL of the measured requests, with placeholders; NULL: not known */
    const char *ready; /* the URL that answers 200 to 299 once a worker could serve; or NULL */
    int64_t seed;
    int64_t most[DEPLOYMENT_SHARES]; /* of all processes; -1 if any has none */
    unsigned cpus_each;              /* whole CPUs of a process; 0 if it is not bound */
    unsigned cpus_all;               /* of all processes; less than these if they share CPUs */
    bool cpus_unknown;               /* the record's list was cut: nothing is bound */
    const char *const *command;      /* ended by NULL; never empty */
    bool has_command;
    char *working_directory; /* absolute, where the command's relative paths are from; owned */
    const char *image;
    struct deployment_process *process; /* owned */
};

/* Where a worker takes connections, and what shows that it is ready. */
struct deployment_service {
    unsigned port;       /* that its clients use */
    unsigned ready_port; /* that shows whether it is ready */
    bool secure;         /* by HTTPS */
    char *path;          /* "/health", which answers 200 to 299; NULL: when it takes connections */
    char *url;           /* "http://127.0.0.1:8001/health", or "tcp://127.0.0.1:8001" */
};

/* STATUS_USAGE: the records or the request do not describe a deployment. */
enum status deployment_make(const struct emit_request *request, struct deployment *out);

/* Only its command, and what that needs, of one process; to be released, too. The request may lack
 * records. */
enum status deployment_make_command(const struct emit_request *request, struct deployment *out);

/* Reads all but the name, the command and what that needs, of a deployment that has its request;
 * deployment_make() calls it. STATUS_USAGE, STATUS_MEMORY. */
enum status deployment_read(struct deployment *deployment);

/* Why no deployment runs a measured point, as "has ..." or "is ..."; NULL: it can. */
const char *deployment_obstacle(const json_t *point);

/* What the point's server was asked, how long its start took, and whether the command has a {port};
 * deployment_make() calls it when it has all else. */
void deployment_read_service(struct deployment *deployment);

void deployment_release(struct deployment *deployment);

/* Of one process of a deployment that has a port. STATUS_MEMORY is the only error; released with
 * deployment_service_release(). */
enum status deployment_service_make(const struct deployment *deployment, unsigned process,
                                    struct deployment_service *out);
void deployment_service_release(struct deployment_service *service);

/* A process's share, in the unit of the row; OPTION_SHARE_DEFAULT: the daemon's default. */
int64_t deployment_share(const struct deployment *deployment, unsigned process,
                         const struct option_row *row);

/* What the command's placeholders stand for in a process. */
struct placeholders deployment_placeholders(const struct deployment *deployment, unsigned process);
