/* Entry points for stream capture and graphs: a recorded list of works, replayed in one go. */
#include "emul/cuda/entries.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "emul/cuda/copies.h"
#include "emul/cuda/deferred.h"
#include "emul/cuda/issue.h"

struct graph_node {
    enum model_work_kind kind;
    union {
        struct kernel_call kernel;
        struct copy_call copy;
    } call;
};

struct graph {
    uint32_t count, capacity;
    struct graph_node *nodes;
};

/* The handle of the interface is the graph itself. */
struct cuda_graph_opaque {
    struct graph graph;
};

struct cuda_graph_exec_opaque {
    _Atomic unsigned references; /* the program's, and those of deferred launches */
    uint32_t count;
    struct graph_node *nodes;
    struct model_work *works;
    struct model_place *places; /* of the latest launch, for a tracer */
};

static cuda_result add(struct graph *graph, const struct graph_node *node)
{
    if (graph->count == graph->capacity) {
        uint32_t capacity = graph->capacity > 0 ? 2 * graph->capacity : 64;
        struct graph_node *nodes = realloc(graph->nodes, capacity * sizeof *nodes);
        if (nodes == NULL)
            return CUDA_OUT_OF_MEMORY;
        graph->nodes = nodes;
        graph->capacity = capacity;
    }
    graph->nodes[graph->count++] = *node;
    return CUDA_SUCCESS_;
}

cuda_result graph_add_kernel(struct graph *graph, const struct kernel_call *kernel)
{
    return add(graph, &(struct graph_node){.kind = MODEL_KERNEL, .call.kernel = *kernel});
}

cuda_result graph_add_copy(struct graph *graph, const struct copy_call *copy)
{
    return add(graph, &(struct graph_node){.kind = MODEL_COPY, .call.copy = *copy});
}

cuda_result cuStreamBeginCapture_v2(cuda_stream stream, cuda_capture_mode mode)
{
    ENTER_OR_RETURN(stream_begin_capture, NEED_CONTEXT);
    if (stream == NULL || stream == CUDA_STREAM_LEGACY)
        return CUDA_STREAM_CAPTURE_UNSUPPORTED;
    result = stream_find(&stream, 0);
    if (result != CUDA_SUCCESS_)
        return result;
    if (mode < 0 || mode > 2 || stream->capture != NULL)
        return CUDA_INVALID_VALUE;
    cuda_graph made = calloc(1, sizeof *made);
    if (made == NULL)
        return CUDA_OUT_OF_MEMORY;
    stream->capture = &made->graph;
    return CUDA_SUCCESS_;
}

cuda_result cuStreamEndCapture(cuda_stream stream, cuda_graph *graph)
{
    ENTER_OR_RETURN(stream_end_capture, NEED_CONTEXT);
    if (stream == NULL || graph == NULL || stream_find(&stream, 0) != CUDA_SUCCESS_ ||
        stream->capture == NULL)
        return CUDA_INVALID_VALUE;
    *graph = (cuda_graph)(void *)stream->capture;
    stream->capture = NULL;
    return CUDA_SUCCESS_;
}

cuda_result cuGraphDestroy(cuda_graph graph)
{
    ENTER_TO_DESTROY(graph_destroy);
    if (graph == NULL)
        return CUDA_INVALID_VALUE;
    free(graph->graph.nodes);
    free(graph);
    return result;
}

static void exec_drop(cuda_graph_exec exec)
{
    if (atomic_fetch_sub(&exec->references, 1) > 1)
        return;
    free(exec->nodes);
    free(exec->works);
    free(exec->places);
    free(exec);
}

cuda_result cuGraphInstantiateWithFlags(cuda_graph_exec *out, cuda_graph graph,
                                        unsigned long long flags)
{
    (void)flags;
    ENTER_IF_VALID(graph_instantiate, NEED_CONTEXT, out != NULL && graph != NULL);

    const struct graph *from = &graph->graph;
    cuda_graph_exec exec = calloc(1, sizeof *exec);
    if (exec == NULL)
        return CUDA_OUT_OF_MEMORY;
    atomic_store(&exec->references, 1);
    exec->count = from->count;
    exec->nodes = calloc(from->count + 1, sizeof *exec->nodes);
    exec->works = calloc(from->count + 1, sizeof *exec->works);
    exec->places = calloc(from->count + 1, sizeof *exec->places);
    if (exec->nodes == NULL || exec->works == NULL || exec->places == NULL) {
        exec_drop(exec);
        return CUDA_OUT_OF_MEMORY;
    }
    const struct model_machine *machine = process_machine();
    for (uint32_t i = 0; i < from->count; i++) {
        const struct graph_node *node = &from->nodes[i];
        exec->nodes[i] = *node;
        /* The pageable copies of a graph do not hold its launch up: they cost what pinned ones do.
         */
        exec->works[i] = node->kind == MODEL_KERNEL ? kernel_cost(machine, &node->call.kernel, true)
                                                    : model_copy(machine, node->call.copy.direction,
                                                                 node->call.copy.bytes, false);
    }
    *out = exec;
    return CUDA_SUCCESS_;
}

cuda_result cuGraphUpload(cuda_graph_exec exec, cuda_stream stream)
{
    (void)stream;
    ENTER_IF_VALID(graph_upload, NEED_CONTEXT, exec != NULL);
    return CUDA_SUCCESS_;
}

/* Does what the graph does, but for the time. */
static cuda_result run(cuda_graph_exec exec, bool corrupt)
{
    for (uint32_t i = 0; i < exec->count; i++) {
        const struct graph_node *node = &exec->nodes[i];
        if (node->kind == MODEL_KERNEL) {
            process_run_kernel(&node->call.kernel);
            continue;
        }
        bool alter = corrupt && node->call.copy.direction == MODEL_TO_HOST;
        cuda_result result = copy_run(&node->call.copy, alter);
        if (result != CUDA_SUCCESS_)
            return result;
    }
    return CUDA_SUCCESS_;
}

static void record_nodes(const struct cuda_graph_exec_opaque *exec, cuda_stream stream)
{
    for (uint32_t i = 0; i < exec->count && activity_wants_work(); i++) {
        const struct graph_node *node = &exec->nodes[i];
        const struct copy_call *copy = &node->call.copy;
        if (node->kind == MODEL_KERNEL) {
            activity_kernel(&node->call.kernel, stream, &exec->places[i]);
            continue;
        }
        const void *host = copy->direction == MODEL_TO_DEVICE ? copy->from : copy->to;
        activity_copy(copy, !memory_list_holds(&process.host_memory, host, copy->bytes), stream,
                      &exec->places[i]);
    }
}

static cuda_result perform(cuda_stream stream, const struct operation *operation, uint64_t *host_ns)
{
    cuda_graph_exec exec = operation->call.graph.exec;
    cuda_result result = run(exec, operation->call.graph.corrupt);
    if (result != CUDA_SUCCESS_ && host_ns != NULL)
        return result;
    struct model_issue at =
        issue_begin(stream, stream->context, host_ns, exec->places, exec->count);
    model_issue_graph(&at, exec->works, exec->count);
    issue_end(stream, &at);
    record_nodes(exec, stream);
    process_end_launch(at.now_ns);
    return result;
}

static void drop(const struct operation *operation)
{
    exec_drop(operation->call.graph.exec);
}

cuda_result cuGraphLaunch(cuda_graph_exec exec, cuda_stream stream)
{
    ENTER_IF_VALID(graph_launch, NEED_CONTEXT, exec != NULL);
    bool corrupt = process_corrupts;
    result = stream_find(&stream, STREAM_FOR_WORK | STREAM_NOT_CAPTURED);
    if (result != CUDA_SUCCESS_)
        return result;
    copies_wait_launch();
    process_burn();
    atomic_fetch_add(&exec->references, 1);
    const struct operation launch = {
        .perform = perform, .release = drop, .call.graph = {exec, corrupt}};
    return operation_issue_launch(stream, &launch, process_machine()->graph_launch_ns);
}

cuda_result cuGraphExecDestroy(cuda_graph_exec exec)
{
    ENTER_TO_DESTROY(graph_exec_destroy);
    if (exec == NULL)
        return CUDA_INVALID_VALUE;
    exec_drop(exec);
    return result;
}
