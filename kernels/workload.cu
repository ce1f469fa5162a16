/*
 * The GPU side of the built-in workloads. Entry points are looked up by name, so they have C
 * linkage; sizes and lengths come as arguments, so that one build serves every job.
 */

/* Steps that the compiler lays out in a row. A chain whose length is known at compile time is
 * unrolled this far by nvcc; asking for the same keeps the cost of a step the same for a length
 * known only at run time. */
#define STEPS_IN_A_ROW 32

/* |v - same| + v with same equal to v: work that changes nothing, and each step of it needs the one
 * before. Written |v - v| + v it would be gone on GPUs without an absolute-difference instruction:
 * there the assembler composes it from others, sees that it is v, and drops it (sm_120). */
static __device__ __forceinline__ int4 keep_busy(int4 v, int4 same)
{
    v.x = (int)__sad(v.x, same.x, (unsigned)v.x);
    v.y = (int)__sad(v.y, same.y, (unsigned)v.y);
    v.z = (int)__sad(v.z, same.z, (unsigned)v.z);
    v.w = (int)__sad(v.w, same.w, (unsigned)v.w);
    return v;
}

/* zero: 0, which the compiler must not know. */
static __device__ __forceinline__ int4 chain(int4 v, int steps, int zero)
{
    const int4 same = make_int4(v.x + zero, v.y + zero, v.z + zero, v.w + zero);
    int left = steps;
#pragma unroll 1
    for (; left >= STEPS_IN_A_ROW; left -= STEPS_IN_A_ROW) {
#pragma unroll
        for (int k = 0; k < STEPS_IN_A_ROW; ++k)
            v = keep_busy(v, same);
    }
#pragma unroll 1
    for (; left > 0; --left)
        v = keep_busy(v, same);
    return v;
}

/* destination[i] = source[i] + value for `elements` ints, a multiple of 4, any grid. The pointers
 * are aligned to 16 bytes and may be equal. Each GPU thread goes through a chain of `spin` steps
 * on its first vector; a thread that gets no vector does no work. */
extern "C" __global__ void mpsweep_add_constant(const int *source, int *destination, int value,
                                                int elements, int spin)
{
    const int4 *from = reinterpret_cast<const int4 *>(source);
    int4 *to = reinterpret_cast<int4 *>(destination);
    const int vectors = elements / 4;
    const int first = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    const int stride = (int)(blockDim.x * gridDim.x);

#pragma unroll 1
    for (int i = first; i < vectors; i += stride) {
        int4 v = from[i];
        v.x += value;
        v.y += value;
        v.z += value;
        v.w += value;
        if (i == first)
            v = chain(v, spin, elements & 3);
        to[i] = v;
    }
}

/* Every GPU thread waits until `cycles` of its multiprocessor's clock have gone by. */
extern "C" __global__ void mpsweep_delay(unsigned long long cycles)
{
    const unsigned long long start = (unsigned long long)clock64();
    while ((unsigned long long)clock64() - start < cycles) {
    }
}

/* GPU thread t adds `value` to vector t % (elements / 4), after a chain of `steps` steps of its
 * own; any grid with at least elements / 4 threads, elements a multiple of 4. Threads of the same vector
 * write the same. The pointers are aligned to 16 bytes and different. */
extern "C" __global__ void mpsweep_compute(const int *__restrict__ source,
                                           int *__restrict__ destination, int value, int elements,
                                           int steps)
{
    const int4 *from = reinterpret_cast<const int4 *>(source);
    int4 *to = reinterpret_cast<int4 *>(destination);
    const unsigned i = (blockIdx.x * blockDim.x + threadIdx.x) % (unsigned)(elements / 4);
    int4 v = from[i];
    v.x += value;
    v.y += value;
    v.z += value;
    v.w += value;
    to[i] = chain(v, steps, elements & 3);
}

/* Steps of arithmetic that take about as long as a load that the second-level cache answers. */
#define STEPS_OF_A_LOAD 64

/* A linear congruential generator of 32 bits (Numerical Recipes), of which the upper ones count. */
#define ROW_FACTOR 1664525u
#define ROW_ADDED 1013904223u

/* As mpsweep_compute, but for each STEPS_OF_A_LOAD of its steps a GPU thread loads from a vector of
 * the working set: one after the other, since the address of each needs the one before. The set has
 * `vectors`, 32 or more; what it holds makes no difference. The threads of a warp load 512 bytes in a
 * row, each time elsewhere, and no two kernels the same: each begins by the clock. */
extern "C" __global__ void mpsweep_load(const int *__restrict__ source,
                                        int *__restrict__ destination, int value, int elements,
                                        int steps, const int4 *set, unsigned vectors)
{
    const int4 *from = reinterpret_cast<const int4 *>(source);
    int4 *to = reinterpret_cast<int4 *>(destination);
    const int zero = elements & 3;
    const unsigned thread = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned lane = threadIdx.x % 32, rows = vectors / 32;
    unsigned row = (unsigned)clock() + (blockIdx.x * 32 + threadIdx.x / 32) * ROW_FACTOR;
    int4 v = from[thread % (unsigned)(elements / 4)];
    int loaded = 0;
#pragma unroll 1
    for (unsigned left = (unsigned)steps / STEPS_OF_A_LOAD; left > 0; --left) {
        row = row * ROW_FACTOR + ROW_ADDED + (unsigned)loaded;
        /* Not from the first-level cache, which may hold what an earlier load has left. */
        loaded = __ldcg(&set[__umulhi(row, rows) * 32 + lane].x) & zero;
    }
    v.x += value;
    v.y += value;
    v.z += value;
    v.w += value;
    to[thread % (unsigned)(elements / 4)] = chain(v, steps % STEPS_OF_A_LOAD, zero + loaded);
}

static __device__ __forceinline__ int4 plus(int4 v, int value)
{
    return make_int4(v.x + value, v.y + value, v.z + value, v.w + value);
}

/* Vectors that a GPU thread has on their way at once. */
#define IN_FLIGHT 4

/* destination[i % n] = source[i % n] + value for `total` vectors of 16 bytes, n being `vectors`,
 * any grid: `total` alone determines what passes through memory, on buffers that may be smaller.
 * The pointers are aligned to 16 bytes and different. */
extern "C" __global__ void mpsweep_stream(const int *__restrict__ source,
                                          int *__restrict__ destination, int value,
                                          unsigned long long vectors, unsigned long long total)
{
    const int4 *from = reinterpret_cast<const int4 *>(source);
    int4 *to = reinterpret_cast<int4 *>(destination);
    const unsigned long long stride = (unsigned long long)blockDim.x * gridDim.x;
    const unsigned long long hop = stride % vectors;
    unsigned long long i = (unsigned long long)blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long at = i % vectors;

#pragma unroll 1
    for (; i < total; i += IN_FLIGHT * stride) {
        int4 v[IN_FLIGHT];
        unsigned long long place[IN_FLIGHT];
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k) {
            place[k] = at;
            if (i + k * stride < total)
                v[k] = from[at];
            at += hop;
            if (at >= vectors)
                at -= vectors;
        }
#pragma unroll
        for (int k = 0; k < IN_FLIGHT; ++k)
            if (i + k * stride < total)
                to[place[k]] = plus(v[k], value);
    }
}

/* What a launch costs by itself. */
extern "C" __global__ void mpsweep_empty(void)
{
}

/* Sets seen[n] for each multiprocessor n below count that one of its blocks runs on. Each block stays
 * for stay_ns, so that those behind it go to other multiprocessors. */
extern "C" __global__ void mpsweep_locate(unsigned *seen, unsigned count, unsigned long long stay_ns)
{
    unsigned long long begin, now;
    unsigned number;
    if (threadIdx.x != 0)
        return;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    if (number < count)
        seen[number] = 1;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin)::"memory");
    do
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    while (now - begin < stay_ns);
}

/* Keeps its blocks on the GPU until *flag is not 0, or until bound_ns have passed, whichever comes
 * first, so that no caller waits for it for ever. Flag and out are in mapped host memory; out may be
 * NULL. out[1] is 2 while the kernel holds, and then 1 if the flag was seen and 0 if not; out[0]
 * becomes the nanoseconds waited. Any grid: one GPU thread of each block waits, and the first of all
 * reports. The sleep keeps the flag's way over the bus free for those who are measured. */
extern "C" __global__ void mpsweep_hold(const volatile unsigned *flag, unsigned long long bound_ns,
                                        volatile unsigned long long *out)
{
    unsigned long long begin, now;
    if (threadIdx.x != 0)
        return;
    if (out != nullptr && blockIdx.x == 0) {
        out[1] = 2;
        __threadfence_system();
    }
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin)::"memory");
    unsigned seen;
    do {
        seen = *flag;
        __nanosleep(500);
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
    } while (seen == 0 && now - begin < bound_ns);
    if (out != nullptr && blockIdx.x == 0) {
        out[0] = now - begin;
        out[1] = seen != 0;
    }
}
