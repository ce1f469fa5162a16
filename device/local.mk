# The driver and NVML, loaded at run time; and the check of our ABI where the toolkit is installed.

noinst_LIBRARIES += libdevice.a
libdevice_a_SOURCES = \
    device/context.c device/context.h \
    device/cuda_abi.h \
    device/cupti_abi.h device/cupti.c device/cupti.h \
    device/device.c device/device.h \
    device/driver.c device/driver.h \
    device/library.c device/library.h \
    device/nvml.c device/nvml.h

if HAVE_CUDA_H
noinst_LIBRARIES += libabicheck.a
libabicheck_a_SOURCES = device/cuda_abi_check.c device/cuda_abi_sizes.c
libabicheck_a_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(CUDA_H)
endif

if HAVE_CUPTI_H
noinst_LIBRARIES += libcuptiabicheck.a
libcuptiabicheck_a_SOURCES = device/cupti_abi_check.c
libcuptiabicheck_a_CPPFLAGS = $(AM_CPPFLAGS) -isystem $(CUDA_H) -isystem $(CUPTI_H)
endif

unit_tests += \
    tests/unit/device/test_cupti tests/unit/device/test_device
tests_unit_device_test_cupti_SOURCES = tests/unit/device/test_cupti.c $(emul_driver) \
    tests/unit/tree.c tests/unit/tree.h

if HAVE_CMOCKA
# Stand-ins for the vendor's libraries. Not tests: programs to automake only, so that it links them.
check_PROGRAMS += \
    tests/unit/device/fake_cuda.so \
    tests/unit/device/fake_cuda_old.so \
    tests/unit/device/fake_nvml.so \
    tests/unit/device/fake_nvml_whole.so
tests_unit_device_fake_cuda_so_SOURCES = tests/unit/device/fake_cuda.c tests/unit/device/fake_cuda_stubs.c
tests_unit_device_fake_cuda_so_CFLAGS = $(AM_CFLAGS) -fPIC
tests_unit_device_fake_cuda_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_unit_device_fake_cuda_so_LDADD =
tests_unit_device_fake_cuda_old_so_SOURCES = tests/unit/device/fake_cuda_stubs.c
tests_unit_device_fake_cuda_old_so_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_CUDA_OLD
tests_unit_device_fake_cuda_old_so_CFLAGS = $(AM_CFLAGS) -fPIC
tests_unit_device_fake_cuda_old_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_unit_device_fake_cuda_old_so_LDADD =
tests_unit_device_fake_nvml_so_SOURCES = tests/unit/device/fake_nvml.c
tests_unit_device_fake_nvml_so_CFLAGS = $(AM_CFLAGS) -fPIC
tests_unit_device_fake_nvml_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_unit_device_fake_nvml_so_LDADD =
tests_unit_device_fake_nvml_whole_so_SOURCES = tests/unit/device/fake_nvml.c
tests_unit_device_fake_nvml_whole_so_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_NVML_WHOLE
tests_unit_device_fake_nvml_whole_so_CFLAGS = $(AM_CFLAGS) -fPIC
tests_unit_device_fake_nvml_whole_so_LDFLAGS = $(AM_LDFLAGS) -shared
tests_unit_device_fake_nvml_whole_so_LDADD =
endif
