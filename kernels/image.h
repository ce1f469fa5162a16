/*
 * The device code, embedded in the program, for cuModuleLoadData.
 *
 * Two images are built in: the best one that this build could make, and PTX for the oldest GPU and
 * driver supported. A driver older than the toolkit that made the first may refuse it
 * (CUDA_ERROR_NO_BINARY_FOR_GPU, CUDA_ERROR_INVALID_IMAGE or CUDA_ERROR_UNSUPPORTED_PTX_VERSION);
 * then the second is the one to load.
 *
 * Entry points, in both (see kernels/workload.cu):
 *   mpsweep_add_constant(const int *source, int *destination, int value, int elements, int spin)
 *   mpsweep_delay(unsigned long long cycles)
 *   mpsweep_compute(const int *source, int *destination, int value, int elements, int steps)
 *   mpsweep_load(const int *source, int *destination, int value, int elements, int steps,
 *                const int4 *set, unsigned vectors, unsigned *place)
 *   mpsweep_stream(const int *source, int *destination, int value, unsigned long long vectors,
 *                  unsigned long long total)
 *   mpsweep_empty(void)
 *   mpsweep_locate(unsigned *seen, unsigned count, unsigned long long stay_ns)
 *   mpsweep_hold(const volatile unsigned *flag, unsigned long long bound_ns,
 *                volatile unsigned long long *out)
 *
 * The functions may be called from any thread; the images live as long as the program.
 */
#pragma once

#include <stddef.h>

#define KERNELS_ADD_CONSTANT "mpsweep_add_constant"
#define KERNELS_DELAY "mpsweep_delay"
#define KERNELS_COMPUTE "mpsweep_compute"
#define KERNELS_LOAD "mpsweep_load"
#define KERNELS_STREAM "mpsweep_stream"
#define KERNELS_EMPTY "mpsweep_empty"
#define KERNELS_LOCATE "mpsweep_locate"
#define KERNELS_HOLD "mpsweep_hold"

/* The best image: a fat binary where nvcc was found at build time, else the same as kernels_ptx().
 * *bytes is its size, for PTX without the NUL that follows it; bytes may be NULL. */
const void *kernels_image(size_t *bytes);

/* The portable image: NUL-terminated PTX text of compute_75. */
const void *kernels_ptx(size_t *bytes);
