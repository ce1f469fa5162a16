#include "tests/unit/tune/machine_usl.h"

#include "tests/unit/tune/chance.h"
#include "tests/unit/tune/machine.h"

#define LINES_MOST 12

/* Copies take so long before the first byte. */
#define COPY_S 6e-6

/* A resource that all workers share in the end: what it lets through, and for how long an iteration
 * holds it; customers may wait there at the same time. */
struct line {
    double ips, hold_s, customers;
};

/* Where a worker may wait: while it launches, which goes on beside execution by stream; on the GPU;
 * elsewhere. */
enum part { HOST, GPU, REST, PARTS };

struct iteration {
    double alone_s[PARTS];
    bool overlaps;
    double sharpness, workers;
    unsigned count;
    enum part part[LINES_MOST];
    struct line lines[LINES_MOST];
};

/* How much more one user of a resource needs with that many of them there. */
static double stretch(const struct usl_law *law, double users)
{
    return 1.0 + law->contention * (users - 1.0) + law->coherency * users * (users - 1.0);
}

/* Of all that users do at the same time. */
static double capacity(const struct usl_law *law, double users, double each_s)
{
    return users / (each_s * stretch(law, users));
}

static struct usl_layout layout_from(const struct point *point)
{
    const struct point_shares *shares = &point->active_thread_percentage;
    return (struct usl_layout){
        .processes = point->processes,
        .threads = point->threads,
        .streams = point_streams(point),
        .slots = point_slots(point),
        .queues = point_connections(point),
        .share = shares->count ? (double)shares->values[0] / 100.0 : 1.0,
        .mps = point_over_mps(point),
        .graph = point->work.launch == LAUNCH_GRAPH,
        .pageable = point->work.memory == MEMORY_PAGEABLE,
        .synced = point->work.sync == SYNC_STREAM,
        .asleep = point->work.schedule == SCHEDULE_BLOCK,
        .polls = point_streams(point) > 1,
        .near = point->bind != BIND_NONE,
    };
}

static bool is_crowded(const struct tune_usl *usl, const struct usl_layout *layout)
{
    return layout->mps && (layout->processes > usl->clients ||
                           layout->processes * layout->queues > usl->queues_budget);
}

bool usl_is_crowded(const struct tune_usl *usl, const struct point *point)
{
    const struct usl_layout layout = layout_from(point);
    return is_crowded(usl, &layout);
}

static bool is_refused(const struct tune_usl *usl, const struct usl_layout *layout)
{
    double workers = layout->processes * layout->slots;
    double bytes = layout->processes * usl->context_bytes + workers * usl->worker_bytes;
    return is_crowded(usl, layout) || bytes > usl->memory_bytes;
}

/* Those of its own node, or all with some of them far. */
static double usable_cpus(const struct tune_usl *usl, const struct usl_layout *layout)
{
    return layout->near ? usl->cpus / usl->nodes : usl->cpus;
}

static double distance(const struct tune_usl *usl, const struct usl_layout *layout)
{
    return layout->near ? 1.0 : 1.01 + usl->far * (usl->nodes - 1.0) / usl->nodes;
}

/* Workers of a process that get on at the same time. */
static double at_work(const struct tune_usl *usl, const struct usl_layout *layout)
{
    return fmin(layout->slots,
                layout->graph ? usl->graphs_most : layout->queues * usl->queue_depth);
}

static void add(struct iteration *out, enum part part, double ips, double hold_s, double customers)
{
    out->part[out->count] = part;
    out->lines[out->count++] = (struct line){ips, hold_s, customers};
}

/* Waits for the end of work on the GPU. */
static double count_waits(const struct usl_layout *layout)
{
    return layout->pageable && layout->synced && !layout->graph ? 2.0 : 1.0;
}

/* CPU time of an iteration but for copies that the CPU makes. */
static double host_s(const struct tune_usl *usl, const struct usl_layout *layout)
{
    const struct usl_work *work = &usl->work;
    double calls = layout->graph ? usl->graph_call_s + work->kernels * usl->graph_kernel_call_s
                                 : (work->kernels + 2.0) * usl->call_s;
    return calls * distance(usl, layout);
}

static double wake_cpu_s(const struct tune_usl *usl, const struct usl_layout *layout)
{
    return layout->asleep ? count_waits(layout) * usl->wake_cpu_s : 0.0;
}

/* The lock of a process, which those that look for the end of work take, too. */
static double calls_ips(const struct tune_usl *usl, const struct usl_layout *layout, double calls_s)
{
    struct usl_law law = layout->graph ? usl->graph_calls : usl->calls;
    law.contention += layout->polls ? usl->looking : 0.0;
    return layout->processes * capacity(&law, layout->threads, calls_s);
}

static void add_host(const struct tune_usl *usl, const struct usl_layout *layout,
                     struct iteration *out)
{
    double P = layout->processes, T = layout->threads, cpus = usable_cpus(usl, layout);
    double calls_s = host_s(usl, layout), waits = count_waits(layout), burnt = 1.0;
    double over = fmax(P * T / cpus - 1.0, 0.0);
    double looks_s = usl->query_s * (1.0 + 0.25 * layout->streams);
    if (!layout->asleep && P * T >= cpus && P * T > 1.0)
        calls_s *= 1.0 + usl->starving;
    out->alone_s[HOST] = calls_s;
    add(out, HOST, calls_ips(usl, layout, calls_s), calls_s, layout->slots);
    if (layout->asleep) {
        out->alone_s[REST] += waits * usl->wake_s;
        add(out, REST, P / (waits * usl->wake_cpu_s), waits * usl->wake_cpu_s, layout->slots);
    } else if (over > 0.0) {
        out->alone_s[REST] += usl->quantum_s * over;
        burnt += usl->spinning * over;
    }
    add(out, HOST, cpus / (calls_s + wake_cpu_s(usl, layout)) / burnt, calls_s, P * layout->slots);
    if (!layout->polls)
        return;
    /* A thread that sleeps for one of its streams is late for the others. */
    out->alone_s[REST] += looks_s + (layout->asleep ? 0.5 * out->alone_s[GPU] : 0.0);
    add(out, REST, P * T / (calls_s + looks_s), calls_s + looks_s, layout->streams);
}

/* The more there are, the less each further one adds. */
static double saturating(double amount, double half)
{
    return amount / (1.0 + amount / half);
}

/* Kernels that the GPU holds at a time, and by how much they slow each other down. */
static void add_execution(const struct tune_usl *usl, const struct usl_layout *layout,
                          struct iteration *out)
{
    const struct usl_work *work = &usl->work;
    double P = layout->processes, own = at_work(usl, layout), active = P * own;
    double crowd_s = usl->crowd_gap_s * saturating(active - 1.0, 48.0) +
                     usl->sibling_gap_s * saturating(own - 1.0, 16.0);
    double gap_s = layout->graph ? usl->graph_gap_s + 0.2 * crowd_s : usl->gap_s + crowd_s;
    double share = fmin(work->share, layout->share);
    double kernel_s = work->kernel_s * work->share / share;
    double room = usl->whole ? floor(layout->share / share) : layout->share / share;
    double at_once =
        fmin(fmin(P * room, usl->whole ? floor(1.0 / share) : 1.0 / share), usl->width);
    double full = fmin(1.0, active * share);
    bool apart = layout->share < 1.0;
    kernel_s *= 1.0 + usl->thrash * full * full * (apart ? 1.0 - usl->isolation : 1.0);
    double body_s = work->kernels * kernel_s;
    double slower = layout->mps ? 1.0 + usl->client_gap : 1.0;
    if (!layout->graph && layout->slots > layout->queues * usl->queue_depth)
        slower += usl->convoy;
    out->alone_s[GPU] = slower * (body_s + work->kernels * gap_s);
    add(out, GPU, fmax(at_once, 1.0) / body_s, body_s, active);
    double taken_s = work->kernels * (layout->graph ? usl->node_s : usl->front_s);
    taken_s *= layout->mps ? 1.0 + usl->server * P : 1.0;
    const struct usl_law easier = {0.1 * usl->front.contention, 0.1 * usl->front.coherency};
    taken_s *= stretch(layout->graph ? &easier : &usl->front, active);
    add(out, GPU, 1.0 / taken_s, taken_s, active);
}

static void add_copies(const struct tune_usl *usl, const struct usl_layout *layout,
                       struct iteration *out)
{
    double bytes = usl->work.bytes, P = layout->processes, far = distance(usl, layout);
    double active = P * at_work(usl, layout), way_s = bytes * far / usl->bus;
    if (bytes <= 0.0)
        return;
    out->alone_s[REST] += 2.0 * (way_s + COPY_S);
    add(out, REST, 1.0 / (way_s * (usl->one_engine ? 2.0 : 1.0)), way_s, active);
    if (!layout->pageable)
        return;
    double staged_s = 2.0 * bytes * far / usl->staging_bus;
    double users = fmin(layout->threads, usable_cpus(usl, layout));
    out->alone_s[REST] += staged_s;
    add(out, REST, P * capacity(&usl->staging, users, staged_s), staged_s, layout->slots);
    add(out, REST, usl->host_bus / (4.0 * bytes), staged_s, P * layout->slots);
    double held = layout->graph ? usl->pageable_graph : layout->synced ? 0.0 : usl->unsynced;
    double held_s = held * (out->alone_s[GPU] + staged_s);
    if (held > 0.0)
        add(out, REST, P / held_s, held_s, layout->slots);
}

/* How long an iteration takes where so much is done. */
static double iteration_s(const struct iteration *one, double ips)
{
    double parts[PARTS];
    for (unsigned i = 0; i < PARTS; i++)
        parts[i] = one->alone_s[i];
    for (unsigned i = 0; i < one->count; i++) {
        const struct line *line = &one->lines[i];
        double busy = fmin(ips / line->ips, 1.0 - 1e-9);
        double others = 1.0 - 1.0 / fmax(line->customers, 1.0);
        parts[one->part[i]] += others * line->hold_s * pow(busy, one->sharpness) / (1.0 - busy);
    }
    double beside = one->overlaps ? fmax(parts[HOST], parts[GPU]) : parts[HOST] + parts[GPU];
    return parts[REST] + beside;
}

/* The throughput at which all waits add up to what that many workers have. */
static double solve(const struct iteration *one)
{
    double low = 0.0, high = one->workers / iteration_s(one, 0.0);
    for (unsigned i = 0; i < one->count; i++)
        high = fmin(high, one->lines[i].ips);
    for (int step = 0; step < 60; step++) {
        double middle = 0.5 * (low + high);
        if (middle * iteration_s(one, middle) < one->workers)
            low = middle;
        else
            high = middle;
    }
    return low;
}

static double together_ips(const struct tune_usl *usl, const struct usl_layout *layout)
{
    struct iteration one = {
        .overlaps = !layout->graph,
        .sharpness = usl->sharpness,
        .workers = layout->processes * at_work(usl, layout),
    };
    add_execution(usl, layout, &one);
    add_host(usl, layout, &one);
    add_copies(usl, layout, &one);
    return solve(&one);
}

/* A process has the GPU for a slice, or until it has nothing to do there; then comes the switch. */
static double in_turns_ips(const struct tune_usl *usl, const struct usl_layout *layout)
{
    struct usl_layout own = *layout;
    own.processes = 1.0;
    double ips = together_ips(usl, &own);
    double slice_s = usl->yields ? fmin(usl->slice_s, own.slots / ips) : usl->slice_s;
    double over = fmax(layout->processes * layout->threads / usable_cpus(usl, layout) - 1.0, 0.0);
    if (!layout->asleep)
        ips /= 1.0 + usl->spinning * over;
    return ips * slice_s / (slice_s + usl->switch_s);
}

double usl_layout_ips(const struct tune_usl *usl, const struct usl_layout *layout)
{
    if (is_refused(usl, layout))
        return 0.0;
    bool turns = !layout->mps && layout->processes > 1.0;
    return turns ? in_turns_ips(usl, layout) : together_ips(usl, layout);
}

static double usl_ips(const struct tune_truth *truth, const struct point *point)
{
    const struct usl_layout layout = layout_from(point);
    return usl_layout_ips(&truth->usl, &layout);
}

/* The mean, stretched by chance, the more so where something is full; and now and then a turn, a
 * quantum of the scheduler or a late wake-up. */
static double usl_p99_us(const struct tune_truth *truth, const struct point *point)
{
    const struct tune_usl *usl = &truth->usl;
    const struct usl_layout layout = layout_from(point);
    double ips = usl_layout_ips(usl, &layout), P = layout.processes;
    if (ips <= 0.0)
        return 0.0;
    double workers = P * layout.slots;
    double over = fmax(P * layout.threads / usable_cpus(usl, &layout) - 1.0, 0.0);
    double busy = fmin(1.0, ips * usl->work.kernels * usl->work.kernel_s * usl->work.share);
    double late_s = layout.asleep ? 3.0 * usl->wake_s : usl->quantum_s * fmin(over, 4.0);
    if (!layout.mps)
        late_s += (P - 1.0) * (usl->slice_s + usl->switch_s);
    return 1e6 * (workers / ips * (1.05 + 0.4 * busy * busy) + late_s);
}

double usl_layout_cpus(const struct tune_usl *usl, const struct usl_layout *layout, double ips)
{
    double cpus = usable_cpus(usl, layout), busy_s = host_s(usl, layout) + wake_cpu_s(usl, layout);
    if (layout->pageable)
        busy_s += 2.0 * usl->work.bytes / usl->staging_bus;
    double busy = layout->asleep ? ips * busy_s : layout->processes * layout->threads;
    return fmin(busy, cpus);
}

static double usl_cpus(const struct tune_truth *truth, const struct point *point)
{
    const struct usl_layout layout = layout_from(point);
    return usl_layout_cpus(&truth->usl, &layout, usl_layout_ips(&truth->usl, &layout));
}

const struct tune_family tune_family_usl = {
    .name = "saturating",
    .make = usl_make,
    .ips = usl_ips,
    .p99_us = usl_p99_us,
    .cpus = usl_cpus,
    .calibrate = usl_calibrate,
    .look = usl_look,
};
