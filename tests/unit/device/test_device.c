#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "device/device.h"
#include "device/driver.h"
#include "device/nvml.h"
#include "kernels/image.h"

/* The fakes are built beside this program. */
static const char *fake(const char *name)
{
    static char path[4096];
    const char *build = getenv("MPSWEEP_BUILD_DIR");
    snprintf(path, sizeof path, "%s/tests/unit/device/%s", build ? build : ".", name);
    return path;
}

static struct cuda_driver load(void)
{
    struct cuda_driver driver;
    if (cuda_driver_load(fake("fake_cuda.so"), &driver))
        fail_msg("%s", status_text());
    return driver;
}

static void assert_text_begins(const char *beginning)
{
    if (strncmp(status_text(), beginning, strlen(beginning)) != 0)
        fail_msg("'%s' does not begin with '%s'", status_text(), beginning);
}

static void missing_driver_is_not_found(void **state)
{
    (void)state;
    struct cuda_driver driver = {.library = &driver};
    assert_int_equal(cuda_driver_load("/nonexistent/libcuda.so.1", &driver), STATUS_NOT_FOUND);
    assert_text_begins("cannot load '/nonexistent/libcuda.so.1': cannot open shared object file");
    assert_ptr_equal(driver.library, &driver); /* untouched */

    /* By its own name: there or not, depending on the machine. */
    enum status status = cuda_driver_load(NULL, &driver);
    if (status == STATUS_NOT_FOUND)
        assert_text_begins("no NVIDIA driver: cannot load 'libcuda.so.1': cannot open shared");
    else if (status == STATUS_OK)
        cuda_driver_release(&driver);
    else
        assert_text_begins("driver is too old: ");
}

static void old_driver_names_what_it_lacks(void **state)
{
    (void)state;
    struct cuda_driver driver;
    assert_int_equal(cuda_driver_load(fake("fake_cuda_old.so"), &driver), STATUS_UNSUPPORTED);
    assert_string_equal(status_text(),
                        "driver is too old: no 'cuGraphInstantiateWithFlags' (CUDA 11.4)");
}

static void every_row_is_bound_and_optional_ones_may_be_null(void **state)
{
    (void)state;
    struct cuda_driver driver = load();
    assert_null(driver.graph_upload);
#define BOUND(field, symbol, version, need, parameters)                                            \
    if (strcmp(#need, "REQUIRED") == 0)                                                            \
        assert_true(driver.field != NULL);
    CUDA_DRIVER_SYMBOLS(BOUND)
    /* The right function in the right field. */
    int version = 0;
    assert_int_equal(driver.driver_get_version(&version), 0);
    assert_int_equal(version, 13000);

    cuda_driver_release(&driver);
    assert_null(driver.library);
    assert_true(driver.init == NULL);
    cuda_driver_release(&driver);
}

static void errors_are_named_and_classified(void **state)
{
    (void)state;
    struct cuda_driver driver = load();
    assert_int_equal(cuda_check(&driver, 0, "cuInit"), STATUS_OK);
    assert_int_equal(cuda_check(&driver, 2, "cuMemAlloc"), STATUS_INFEASIBLE);
    assert_string_equal(status_text(), "cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (2): out of memory");
    assert_int_equal(cuda_last_error(), 2);
    assert_int_equal(cuda_check(&driver, 0, "cuMemAlloc"), STATUS_OK);
    assert_int_equal(cuda_last_error(), 2);

    /* The fake has no name for this one. */
    assert_int_equal(cuda_check(&driver, 4711, "cuX"), STATUS_CUDA);
    assert_string_equal(status_text(), "cuX: CUDA error (4711): the driver has no text for it");
    assert_int_equal(cuda_last_error(), 4711);

    const struct {
        int code;
        enum status status;
    } cases[] = {
        {46, STATUS_INFEASIBLE}, {808, STATUS_INFEASIBLE}, {809, STATUS_INFEASIBLE},
        {805, STATUS_CUDA},      {806, STATUS_CUDA},       {807, STATUS_CUDA},
        {700, STATUS_CUDA},      {701, STATUS_CUDA},       {1, STATUS_CUDA},
        {100, STATUS_CUDA},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(cuda_check(&driver, cases[i].code, "cuX"), cases[i].status);
    cuda_driver_release(&driver);
}

static void *other_thread(void *driver)
{
    int before = cuda_last_error();
    cuda_check(driver, 700, "cuStreamSynchronize");
    return before == 0 && cuda_last_error() == 700 ? driver : NULL;
}

static void last_error_is_kept_per_thread(void **state)
{
    (void)state;
    struct cuda_driver driver = load();
    pthread_t thread;
    void *result;
    cuda_check(&driver, 2, "cuMemAlloc");
    assert_int_equal(pthread_create(&thread, NULL, other_thread, &driver), 0);
    assert_int_equal(pthread_join(thread, &result), 0);
    assert_ptr_equal(result, &driver);
    assert_int_equal(cuda_last_error(), 2);
    cuda_driver_release(&driver);
}

static void device_tells_what_it_is(void **state)
{
    (void)state;
    struct cuda_driver driver = load();
    struct device_info info;
    assert_int_equal(device_query(&driver, 0, &info), STATUS_OK);
    assert_string_equal(info.name, "Fake GPU 0");
    assert_string_equal(info.uuid, "GPU-f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfeff");
    assert_string_equal(info.pci, "0000:3b:00.0");
    assert_true(info.memory_bytes == UINT64_C(8) << 30);
    assert_int_equal(info.sms, 132);
    assert_int_equal(info.major, 9);
    assert_int_equal(info.minor, 0);
    assert_int_equal(info.compute_mode, CUDA_COMPUTE_MODE_EXCLUSIVE_PROCESS);
    assert_int_equal(info.clock_khz, 1980000);
    assert_int_equal(info.mps_enabled, -1);

    info.sms = 1;
    assert_int_equal(device_query(&driver, 1, &info), STATUS_NOT_FOUND);
    assert_string_equal(status_text(), "no CUDA device '1'");
    assert_int_equal(info.sms, 1); /* untouched */
    cuda_driver_release(&driver);
}

static void list_has_each_device_up_to_its_limit(void **state)
{
    (void)state;
    struct cuda_driver driver = load();
    struct device_list list;

    setenv("FAKE_CUDA_DEVICES", "2", 1);
    assert_int_equal(device_list_query(&driver, &list), STATUS_OK);
    assert_int_equal(list.count, 2);
    assert_int_equal(list.visible, 2);
    assert_int_equal(list.driver_version, 13000);
    assert_string_equal(list.devices[1].name, "Fake GPU 1");
    assert_string_equal(list.devices[1].pci, "0000:3c:00.0");
    assert_int_equal(device_list_check(&list, sizeof list), STATUS_OK);

    setenv("FAKE_CUDA_DEVICES", "20", 1);
    assert_int_equal(device_list_query(&driver, &list), STATUS_OK);
    assert_int_equal(list.count, DEVICE_LIST_MAX);
    assert_int_equal(list.visible, 20);
    assert_int_equal(device_list_check(&list, sizeof list), STATUS_OK);

    setenv("FAKE_CUDA_DEVICES", "0", 1);
    assert_int_equal(device_list_query(&driver, &list), STATUS_NOT_FOUND);
    assert_text_begins("no CUDA device is visible");
    unsetenv("FAKE_CUDA_DEVICES");
    cuda_driver_release(&driver);
}

static void damaged_list_is_refused(void **state)
{
    (void)state;
    struct cuda_driver driver = load();
    struct device_list good, bad;
    assert_int_equal(device_list_query(&driver, &good), STATUS_OK);

    assert_int_equal(device_list_check(&good, sizeof good - 1), STATUS_PROTOCOL);
    bad = good;
    bad.magic++;
    assert_int_equal(device_list_check(&bad, sizeof bad), STATUS_PROTOCOL);
    bad = good;
    bad.version++;
    assert_int_equal(device_list_check(&bad, sizeof bad), STATUS_PROTOCOL);
    bad = good;
    bad.count = DEVICE_LIST_MAX + 1;
    bad.visible = bad.count;
    assert_int_equal(device_list_check(&bad, sizeof bad), STATUS_PROTOCOL);
    bad = good;
    memset(bad.devices[0].pci, 'x', sizeof bad.devices[0].pci);
    assert_int_equal(device_list_check(&bad, sizeof bad), STATUS_PROTOCOL);
    assert_string_equal(status_text(), "device list: a text of device 0 has no end");
    cuda_driver_release(&driver);
}

static void nvml_absence_is_not_found(void **state)
{
    (void)state;
    struct nvml nvml = {0};
    assert_int_equal(nvml_open("/nonexistent/libnvidia-ml.so.1", &nvml), STATUS_NOT_FOUND);
    assert_text_begins("no NVML: cannot load '/nonexistent/libnvidia-ml.so.1': cannot open");
    assert_int_equal(nvml_open(fake("fake_cuda.so"), &nvml), STATUS_UNSUPPORTED);
    assert_string_equal(status_text(), "NVML is too old: no 'nvmlInit_v2'");

    setenv("FAKE_NVML", "no-driver", 1);
    assert_int_equal(nvml_open(fake("fake_nvml.so"), &nvml), STATUS_NOT_FOUND);
    assert_string_equal(status_text(), "no NVML: nvmlInit: Driver Not Loaded (9)");
    unsetenv("FAKE_NVML");
    assert_null(nvml.library);
    nvml_close(&nvml);
}

static void snapshot_marks_what_it_could_read(void **state)
{
    (void)state;
    struct nvml nvml;
    struct nvml_snapshot s;
    struct nvml_sample sample;
    nvml_device device;
    assert_int_equal(nvml_open(fake("fake_nvml.so"), &nvml), STATUS_OK);
    assert_int_equal(nvml_device_snapshot(&nvml, "GPU-two", &s), STATUS_NOT_FOUND);
    assert_string_equal(status_text(), "NVML has no GPU 'GPU-two': Not Found (6)");

    assert_int_equal(nvml_device_snapshot(&nvml, "GPU-one", &s), STATUS_OK);
    assert_true(s.known_driver);
    assert_string_equal(s.driver_version, "580.65.06");
    assert_true(s.known_throttle); /* by the older name */
    assert_int_equal(s.throttle_reasons, 0x44);
    assert_true(s.known_mig);
    assert_false(s.mig_enabled);
    assert_false(s.known_persistence); /* no such symbol */
    assert_true(s.known_processes);
    assert_int_equal(s.processes, 2);
    assert_int_equal(s.pids[0], 100);
    assert_int_equal(s.pids[1], 101);

    assert_int_equal(nvml_device_find(&nvml, "GPU-one", &device), STATUS_OK);
    nvml_device_sample(&nvml, device, &sample);
    assert_true(sample.known_sm_clock);
    assert_int_equal(sample.sm_clock_mhz, 1980);
    assert_false(sample.known_power); /* refused */
    assert_int_equal(sample.power_milliwatts, 0);

    setenv("FAKE_NVML", "crowded", 1);
    assert_int_equal(nvml_device_snapshot(&nvml, "GPU-one", &s), STATUS_OK);
    unsetenv("FAKE_NVML");
    assert_true(s.known_processes);
    assert_int_equal(s.processes, NVML_PROCESS_MAX + 1);
    assert_int_equal(s.pids[0], 0);
    nvml_close(&nvml);
    assert_null(nvml.library);
}

static void throttle_reasons_have_words(void **state)
{
    (void)state;
    char text[128], small[8];
    assert_string_equal(nvml_throttle_text(0, text, sizeof text), "none");
    assert_string_equal(nvml_throttle_text(0x44, text, sizeof text), "power cap, hw thermal");
    assert_string_equal(nvml_throttle_text(0x1001, text, sizeof text), "idle, other 0x1000");
    assert_string_equal(nvml_throttle_text(0x1ff, small, sizeof small), "idle, c");
}

static void kernels_are_embedded(void **state)
{
    (void)state;
    size_t bytes = 0;
    const char *ptx = kernels_ptx(&bytes);
    assert_true(bytes > 1000);
    assert_int_equal(strlen(ptx), bytes);
    assert_non_null(strstr(ptx, ".entry " KERNELS_ADD_CONSTANT "("));
    assert_non_null(strstr(ptx, ".entry " KERNELS_DELAY "("));
    assert_non_null(strstr(ptx, ".target sm_75"));

    const unsigned char *image = kernels_image(&bytes);
    assert_non_null(image);
    if ((const void *)image != (const void *)ptx) {
        /* A fat binary begins with its magic number. */
        static const unsigned char magic[] = {0x50, 0xed, 0x55, 0xba};
        assert_true(bytes > 1000);
        assert_memory_equal(image, magic, sizeof magic);
        assert_int_equal((uintptr_t)image % 8, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(missing_driver_is_not_found),
        cmocka_unit_test(old_driver_names_what_it_lacks),
        cmocka_unit_test(every_row_is_bound_and_optional_ones_may_be_null),
        cmocka_unit_test(errors_are_named_and_classified),
        cmocka_unit_test(last_error_is_kept_per_thread),
        cmocka_unit_test(device_tells_what_it_is),
        cmocka_unit_test(list_has_each_device_up_to_its_limit),
        cmocka_unit_test(damaged_list_is_refused),
        cmocka_unit_test(nvml_absence_is_not_found),
        cmocka_unit_test(snapshot_marks_what_it_could_read),
        cmocka_unit_test(throttle_reasons_have_words),
        cmocka_unit_test(kernels_are_embedded),
    };
    return cmocka_run_group_tests_name("device", tests, NULL, NULL);
}
