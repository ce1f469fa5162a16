# What stands in for something that fails, in tests of the command line: programs to put in the place
# of others. Not tests: programs to automake only, so that it links them.
check_PROGRAMS += tests/fakes/nvidia-cuda-mps-control

tests_fakes_nvidia_cuda_mps_control_SOURCES = tests/fakes/mps_control.c
tests_fakes_nvidia_cuda_mps_control_LDADD = libcommon.a
