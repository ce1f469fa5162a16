/*
 * A GPU client that does what a good one does not: for tests on a real GPU.
 *
 *   fault_client idle|illegal|endless MILLISECONDS
 *
 * makes a context on device 0 as the environment directs, writes "ready PID" to standard output,
 * waits that long, and then: ends (idle), stores to an address that is not its own (illegal), or
 * runs a kernel that takes a minute (endless). Ends with status 0, or 1 after a CUDA error, which
 * it writes to standard error.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "device/driver.h"

/* PTX for the oldest architecture that mpsweep supports. */
static const char image[] = ".version 6.3\n"
                            ".target sm_75\n"
                            ".address_size 64\n"
                            ".visible .entry illegal()\n"
                            "{ .reg .u64 %a; .reg .u32 %v;\n"
                            "  mov.u64 %a, 64; mov.u32 %v, 1; st.global.u32 [%a], %v; ret; }\n"
                            ".visible .entry endless()\n"
                            "{ .reg .u64 %b, %t; .reg .pred %p;\n"
                            "  mov.u64 %b, %globaltimer;\n"
                            "AGAIN: mov.u64 %t, %globaltimer; sub.u64 %t, %t, %b;\n"
                            "  setp.lt.u64 %p, %t, 60000000000; @%p bra AGAIN; ret; }\n";

static enum status run(const struct cuda_driver *driver, const char *mode, uint64_t wait_ns)
{
    cuda_context context;
    cuda_module module;
    cuda_function function;
    enum status status = cuda_check(driver, driver->init(0), "cuInit");
    if (status == STATUS_OK)
        status =
            cuda_check(driver, driver->primary_ctx_retain(&context, 0), "cuDevicePrimaryCtxRetain");
    if (status == STATUS_OK)
        status = cuda_check(driver, driver->ctx_set_current(context), "cuCtxSetCurrent");
    if (status == STATUS_OK)
        status = cuda_check(driver, driver->module_load_data(&module, image), "cuModuleLoadData");
    if (status != STATUS_OK)
        return status;
    printf("ready %d\n", (int)getpid());
    fflush(stdout);
    clock_sleep_until(clock_now_ns() + wait_ns);
    if (strcmp(mode, "idle") != 0) {
        status = cuda_check(driver, driver->module_get_function(&function, module, mode),
                            "cuModuleGetFunction");
        if (status == STATUS_OK)
            status = cuda_check(
                driver, driver->launch_kernel(function, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL),
                "cuLaunchKernel");
    }
    if (status == STATUS_OK)
        status = cuda_check(driver, driver->stream_synchronize(NULL), "cuStreamSynchronize");
    return status;
}

int main(int argc, char **argv)
{
    static const char *const modes[] = {"idle", "illegal", "endless"};
    struct cuda_driver driver;
    bool known = false;
    for (size_t i = 0; argc == 3 && i < sizeof modes / sizeof modes[0]; i++)
        known |= strcmp(argv[1], modes[i]) == 0;
    if (!known) {
        fputs("usage: fault_client idle|illegal|endless MILLISECONDS\n", stderr);
        return 64;
    }
    enum status status = cuda_driver_load(NULL, &driver);
    if (status == STATUS_OK)
        status = run(&driver, argv[1], strtoull(argv[2], NULL, 10) * NS_PER_MS);
    if (status != STATUS_OK)
        fprintf(stderr, "%s\n", status_text());
    return status == STATUS_OK ? 0 : 1;
}
