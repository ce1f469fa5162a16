# The program that starts a server and sends it requests, where there is libcurl.
if HAVE_CURL
pkglibexec_PROGRAMS += mpsweep-load
mpsweep_load_SOURCES = \
    load/exchange.c load/exchange.h load/main.c load/options.c load/options.h load/server.c \
    load/server.h load/traffic.c load/traffic.h \
    client/attachment.c client/client.c client/handles.c client/hold.c
mpsweep_load_CFLAGS = $(AM_CFLAGS) $(CURL_CFLAGS)
mpsweep_load_LDADD = librecording.a libtrace.a libshm.a libjob.a libstatistics.a libcommon.a $(CURL_LIBS)
endif
