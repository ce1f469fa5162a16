/*
 * The driver's calls that an observer looks at, by what they mean for an iteration.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "device/cuda_abi.h"

enum call_kind {
    CALL_OTHER,
    CALL_LAUNCH,
    CALL_GRAPH,
    CALL_WAIT,          /* for all that a stream, an event or a context has to do */
    CALL_POLL,          /* whether that is done */
    CALL_HOST,          /* of a function of the host, once that is done */
    CALL_COPY_IN,       /* to the GPU */
    CALL_COPY_OUT,      /* to the host */
    CALL_COPY_OUT_WAIT, /* and the caller waits for it */
    CALL_LOAD,          /* of code */
    CALL_MAKE,          /* of a graph that can be launched */
    CALL_KINDS
};

/* One call of the driver, which went well. */
struct call {
    enum call_kind kind;
    bool named;     /* a launch of the kernel that was asked for */
    uint64_t bytes; /* of a copy */
    uint64_t what;  /* stands for the kernel of a launch, else 0 */
};

#define CALLS_GRID                                                                                 \
    unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,         \
        unsigned block_z, unsigned shared_bytes
#define CALLS_GRID_GIVEN grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes
#define CALLS_LOAD_OPTIONS                                                                         \
    void *jit, void *jit_values, unsigned jit_count, void *options, void *values, unsigned count
#define CALLS_LOAD_OPTIONS_GIVEN jit, jit_values, jit_count, options, values, count

/*
 * The functions, with parameters of the same sizes as in cuda.h: X(name for cuGetProcAddress(),
 * what the exported symbol adds to it, what that for the default streams of threads adds, kind,
 * parameters, the same as arguments, kernel, bytes), and those that exist once: Y(name, kind,
 * parameters, arguments). The kind of a copy whose name has no direction is that of its pointers:
 * copy_kind(to, from, whether the caller waits), copy_area_kind(area, whether it waits).
 */
#define CALLS_OF_STREAMS(X)                                                                        \
    X(cuLaunchKernel, , _ptsz, CALL_LAUNCH,                                                        \
      (void *kernel, CALLS_GRID, void *stream, void *parameters, void *extra),                     \
      (kernel, CALLS_GRID_GIVEN, stream, parameters, extra), kernel, 0)                            \
    X(cuLaunchKernelEx, , _ptsz, CALL_LAUNCH,                                                      \
      (const void *launch, void *kernel, void *parameters, void *extra),                           \
      (launch, kernel, parameters, extra), kernel, 0)                                              \
    X(cuLaunchCooperativeKernel, , _ptsz, CALL_LAUNCH,                                             \
      (void *kernel, CALLS_GRID, void *stream, void *parameters),                                  \
      (kernel, CALLS_GRID_GIVEN, stream, parameters), kernel, 0)                                   \
    X(cuGraphInstantiateWithParams, , _ptsz, CALL_MAKE,                                            \
      (void **out, void *graph, void *parameters), (out, graph, parameters), NULL, 0)              \
    X(cuGraphLaunch, , _ptsz, CALL_GRAPH, (void *graph, void *stream), (graph, stream), NULL, 0)   \
    X(cuStreamSynchronize, , _ptsz, CALL_WAIT, (void *stream), (stream), NULL, 0)                  \
    X(cuStreamQuery, , _ptsz, CALL_POLL, (void *stream), (stream), NULL, 0)                        \
    X(cuLaunchHostFunc, , _ptsz, CALL_HOST, (void *stream, void *call, void *argument),            \
      (stream, call, argument), NULL, 0)                                                           \
    X(cuStreamAddCallback, , _ptsz, CALL_HOST,                                                     \
      (void *stream, void *call, void *argument, unsigned flags), (stream, call, argument, flags), \
      NULL, 0)                                                                                     \
    X(cuMemcpyHtoD, _v2, _ptds, CALL_COPY_IN, (uint64_t to, const void *from, size_t bytes),       \
      (to, from, bytes), NULL, bytes)                                                              \
    X(cuMemcpyHtoDAsync, _v2, _ptsz, CALL_COPY_IN,                                                 \
      (uint64_t to, const void *from, size_t bytes, void *stream), (to, from, bytes, stream),      \
      NULL, bytes)                                                                                 \
    X(cuMemcpyDtoH, _v2, _ptds, CALL_COPY_OUT_WAIT, (void *to, uint64_t from, size_t bytes),       \
      (to, from, bytes), NULL, bytes)                                                              \
    X(cuMemcpyDtoHAsync, _v2, _ptsz, CALL_COPY_OUT,                                                \
      (void *to, uint64_t from, size_t bytes, void *stream), (to, from, bytes, stream), NULL,      \
      bytes)                                                                                       \
    X(cuMemcpy, , _ptds, copy_kind(to, from, true), (uint64_t to, uint64_t from, size_t bytes),    \
      (to, from, bytes), NULL, bytes)                                                              \
    X(cuMemcpyAsync, , _ptsz, copy_kind(to, from, false),                                          \
      (uint64_t to, uint64_t from, size_t bytes, void *stream), (to, from, bytes, stream), NULL,   \
      bytes)                                                                                       \
    X(cuMemcpy2D, _v2, _ptds, copy_area_kind(area, true), (const cuda_copy_area *area), (area),    \
      NULL, area->width_bytes *area->height)                                                       \
    X(cuMemcpy2DUnaligned, _v2, _ptds, copy_area_kind(area, true), (const cuda_copy_area *area),   \
      (area), NULL, area->width_bytes *area->height)                                               \
    X(cuMemcpy2DAsync, _v2, _ptsz, copy_area_kind(area, false),                                    \
      (const cuda_copy_area *area, void *stream), (area, stream), NULL,                            \
      area->width_bytes *area->height)

#define CALLS_OF_CONTEXTS(Y)                                                                       \
    Y(cuCtxSynchronize, CALL_WAIT, (void *context), (context))                                     \
    Y(cuCtxSynchronize_v2, CALL_WAIT, (void *context), (context))                                  \
    Y(cuEventSynchronize, CALL_WAIT, (void *event), (event))                                       \
    Y(cuEventQuery, CALL_POLL, (void *event), (event))                                             \
    Y(cuModuleLoad, CALL_LOAD, (void **module, const char *file), (module, file))                  \
    Y(cuModuleLoadData, CALL_LOAD, (void **module, const void *image), (module, image))            \
    Y(cuModuleLoadDataEx, CALL_LOAD,                                                               \
      (void **module, const void *image, unsigned count, void *options, void *values),             \
      (module, image, count, options, values))                                                     \
    Y(cuModuleLoadFatBinary, CALL_LOAD, (void **module, const void *image), (module, image))       \
    Y(cuGraphInstantiate, CALL_MAKE,                                                               \
      (void **out, void *graph, void *node, char *log, size_t bytes),                              \
      (out, graph, node, log, bytes))                                                              \
    Y(cuGraphInstantiate_v2, CALL_MAKE,                                                            \
      (void **out, void *graph, void *node, char *log, size_t bytes),                              \
      (out, graph, node, log, bytes))                                                              \
    Y(cuGraphInstantiateWithFlags, CALL_MAKE, (void **out, void *graph, unsigned long long flags), \
      (out, graph, flags))                                                                         \
    Y(cuLibraryLoadData, CALL_LOAD, (void **library, const void *code, CALLS_LOAD_OPTIONS),        \
      (library, code, CALLS_LOAD_OPTIONS_GIVEN))                                                   \
    Y(cuLibraryLoadFromFile, CALL_LOAD, (void **library, const char *file, CALLS_LOAD_OPTIONS),    \
      (library, file, CALLS_LOAD_OPTIONS_GIVEN))
