examplesdir = $(pkgdatadir)/examples
dist_examples_DATA = examples/forum.job examples/emulated.job examples/delay-trace.job examples/graphs.job examples/queue-order.py \
    examples/inference.job \
    examples/in-flight.job examples/latency.job examples/question-b.job examples/repeat.job examples/partitions.job examples/shares.job examples/streams.job

# Plug-ins to copy from: installed as source, built here for the tests.
exampleplugindir = $(pkgdatadir)/examples/plugin
dist_exampleplugin_DATA = examples/plugin/null.c examples/plugin/skeleton.c examples/plugin/fft.c examples/plugin/kernel.cu
noinst_PROGRAMS += examples/plugin/null.so examples/plugin/skeleton.so
examples_plugin_null_so_SOURCES = examples/plugin/null.c
examples_plugin_null_so_CPPFLAGS = -I$(top_srcdir)/include
examples_plugin_null_so_CFLAGS = $(AM_CFLAGS) -fPIC
examples_plugin_null_so_LDFLAGS = $(AM_LDFLAGS) -shared
examples_plugin_null_so_LDADD =
examples_plugin_skeleton_so_SOURCES = examples/plugin/skeleton.c
examples_plugin_skeleton_so_CPPFLAGS = -I$(top_srcdir)/include
examples_plugin_skeleton_so_CFLAGS = $(AM_CFLAGS) -fPIC
examples_plugin_skeleton_so_LDFLAGS = $(AM_LDFLAGS) -shared
examples_plugin_skeleton_so_LDADD =

if HAVE_CUFFT
noinst_PROGRAMS += examples/plugin/fft.so
examples_plugin_fft_so_SOURCES = examples/plugin/fft.c
examples_plugin_fft_so_CPPFLAGS = -I$(top_srcdir)/include -isystem $(CUDA_H)
examples_plugin_fft_so_CFLAGS = $(AM_CFLAGS) -fPIC
examples_plugin_fft_so_LDFLAGS = $(AM_LDFLAGS) -shared -L$(CUDA_LIB) -Wl,-rpath,$(CUDA_LIB)
examples_plugin_fft_so_LDADD = -lcufft -lcudart
endif

if HAVE_NVCC_LINK
noinst_DATA += examples/plugin/kernel.so
CLEANFILES += examples/plugin/kernel.so
examples/plugin/kernel.so: $(top_srcdir)/examples/plugin/kernel.cu $(top_srcdir)/include/mpsweep/workload.h
	$(AM_V_at)$(MKDIR_P) examples/plugin
	$(AM_V_GEN)$(NVCC) -shared -O2 -Xcompiler -fPIC -Wno-deprecated-gpu-targets $(NVCC_GENCODE) -I$(top_srcdir)/include -o $@.new $(top_srcdir)/examples/plugin/kernel.cu && mv $@.new $@
endif

# A program that mpsweep measures, built here as a user would build it.
programexamplesdir = $(pkgdatadir)/examples/program
dist_programexamples_DATA = examples/program/ticker.c examples/program/poller.c \
    examples/program/ticker.py examples/program/serve_torch.py examples/program/unchanged_torch.py examples/program/serve_streams.py \
    examples/program/serve_http.py
noinst_PROGRAMS += examples/program/ticker examples/program/poller
examples_program_ticker_SOURCES = examples/program/ticker.c
examples_program_ticker_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/include
examples_program_ticker_LDADD = libmpsweep-client.a
examples_program_poller_SOURCES = examples/program/poller.c
examples_program_poller_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/include
examples_program_poller_LDADD = libmpsweep-client.a

# Where links of the installed pages look for them, as in the source tree.
install-data-local:
	$(MKDIR_P) $(DESTDIR)$(docdir)
	ln -sfnr $(DESTDIR)$(pkgdatadir)/examples $(DESTDIR)$(docdir)/examples
uninstall-local:
	rm -f $(DESTDIR)$(docdir)/examples
