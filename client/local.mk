# What programs of users link or load: the C library, shared and static, its header, pkg-config's
# file, and the module for Python, which loads the shared one.

clientincludedir = $(includedir)/mpsweep
clientinclude_HEADERS = include/mpsweep/client.h

# The same recording as in our own workers, in their own objects. Nothing but the interface is
# visible, in the static library too.
client_sources = \
    client/client.c wire/program.h include/mpsweep/client.h \
    shm/shm.c recording/bind.c recording/cpu.c recording/pace.c recording/record.c \
    common/clock.c common/memory_file.c common/status.c common/text.c

clientlibdir = $(libdir)
clientlib_PROGRAMS = libmpsweep-client.so.1
libmpsweep_client_so_1_SOURCES = $(client_sources)
libmpsweep_client_so_1_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
libmpsweep_client_so_1_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-soname,libmpsweep-client.so.1

clientlib_DATA = libmpsweep-client.a
CLEANFILES += libmpsweep-client.a client/whole.o
libmpsweep-client.a: $(libmpsweep_client_so_1_OBJECTS)
	$(AM_V_GEN)$(CC) -nostdlib -r -o client/whole.o $(libmpsweep_client_so_1_OBJECTS) && \
	$(OBJCOPY) --localize-hidden client/whole.o && \
	rm -f $@ && $(AR) cr $@ client/whole.o && $(RANLIB) $@

dist_man_MANS = docs/mpsweep_client.3

pkgconfigdir = $(libdir)/pkgconfig
pkgconfig_DATA = client/mpsweep-client.pc

pythonclientdir = $(pkgdatadir)/client
dist_pythonclient_DATA = client/mpsweep.py

# -lmpsweep-client looks for this name.
install-data-hook:
	cd $(DESTDIR)$(libdir) && rm -f libmpsweep-client.so && \
	    $(LN_S) libmpsweep-client.so.1 libmpsweep-client.so
uninstall-hook:
	rm -f $(DESTDIR)$(libdir)/libmpsweep-client.so

# The same name in the build tree.
libmpsweep-client.so: libmpsweep-client.so.1
	$(AM_V_GEN)rm -f $@ && $(LN_S) libmpsweep-client.so.1 $@
noinst_DATA = libmpsweep-client.so
CLEANFILES += libmpsweep-client.so

if HAVE_CMOCKA
client_tests = tests/unit/client/test_client tests/unit/plan/test_placeholders tests/unit/worker/test_words
check_PROGRAMS += $(client_tests)
TESTS += $(client_tests)
tests_unit_client_test_client_SOURCES = tests/unit/client/test_client.c
tests_unit_client_test_client_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_client_test_client_LDADD = libmpsweep-client.a libshm.a libcommon.a $(CMOCKA_LIBS)
tests_unit_plan_test_placeholders_SOURCES = tests/unit/plan/test_placeholders.c orchestrator/plan/placeholders.c
tests_unit_plan_test_placeholders_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_plan_test_placeholders_LDADD = libcommon.a $(CMOCKA_LIBS)
tests_unit_worker_test_words_SOURCES = tests/unit/worker/test_words.c worker/words.c
tests_unit_worker_test_words_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_worker_test_words_LDADD = libcommon.a $(CMOCKA_LIBS)
endif
