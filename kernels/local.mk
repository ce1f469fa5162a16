# The device code: committed PTX always, native code as well where nvcc was found.

noinst_LIBRARIES += libkernels.a
libkernels_a_SOURCES = kernels/image.c kernels/image.h
libkernels_a_CPPFLAGS = $(AM_CPPFLAGS)
# The assembler copies the images in: the PTX from the source tree, the fat binary from here.
libkernels_a_CFLAGS = $(AM_CFLAGS) -Wa,-I,. -Wa,-I,$(top_srcdir)
kernels_images = $(top_srcdir)/kernels/workload.ptx
kernels/libkernels_a-image.$(OBJEXT): $(kernels_images)

EXTRA_DIST += kernels/workload.cu kernels/workload.ptx kernels/make-ptx

if HAVE_NVCC
libkernels_a_CPPFLAGS += -DMPSWEEP_NATIVE_KERNELS
kernels_images += kernels/workload.fatbin kernels/native.h
CLEANFILES += kernels/workload.fatbin kernels/native.h

# What the fat binary holds. Looked at after each configure, touched only when that changed.
kernels/native.h: Makefile
	$(AM_V_at)$(MKDIR_P) kernels
	$(AM_V_GEN)native=`echo '$(NVCC_GENCODE)' | tr ' ' '\n' | $(SED) -n 's/.*code=\(sm_[0-9a-z]*\)$$/\1/p' | tr '\n' ' ' | $(SED) 's/ $$//'`; \
	{ echo '/* nvcc $(nvcc_release):$(NVCC_GENCODE) */'; \
	  echo "#define KERNELS_NATIVE \"$$native\""; } >$@.new; \
	if cmp -s $@.new $@; then rm -f $@.new; else mv $@.new $@; fi

kernels/workload.fatbin: $(top_srcdir)/kernels/workload.cu kernels/native.h
	$(AM_V_GEN)$(NVCC) -fatbin -O3 -Wno-deprecated-gpu-targets $(NVCC_GENCODE) -o $@.new $(top_srcdir)/kernels/workload.cu && mv $@.new $@

# For maintainers, after a change of the .cu: writes the committed PTX into the source tree.
kernels-ptx:
	$(AM_V_GEN)$(SHELL) $(top_srcdir)/kernels/make-ptx '$(NVCC)' $(top_srcdir)/kernels/workload.cu $(top_srcdir)/kernels/workload.ptx
else
kernels-ptx:
	@echo "kernels-ptx: nvcc was not found by configure; see --with-cuda" >&2; exit 1
endif
.PHONY: kernels-ptx

dist_check_SCRIPTS += tests/kernels-ptx-matches.sh
TESTS += tests/kernels-ptx-matches.sh
