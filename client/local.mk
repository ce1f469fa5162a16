# What programs of users link or load: the C library, shared and static, its header, pkg-config's
# file, and the module for Python, which loads the shared one.

clientincludedir = $(includedir)/mpsweep
clientinclude_HEADERS = include/mpsweep/client.h

# The same recording as in our own workers, in their own objects. Nothing but the interface is
# visible, in the static library too.
client_sources = \
    client/attachment.c client/attachment.h client/client.c client/handles.c client/hold.c \
    client/internal.h client/requests.h wire/program.h include/mpsweep/client.h \
    shm/shm.c recording/cpu.c recording/pace.c recording/recorder.c \
    common/clock.c common/memory_file.c common/status.c common/text.c trace/buffer.c

clientlibdir = $(libdir)
clientlib_PROGRAMS = libmpsweep-client.so.1
libmpsweep_client_so_1_SOURCES = $(client_sources)
libmpsweep_client_so_1_CFLAGS = $(AM_CFLAGS) -fPIC -fvisibility=hidden
libmpsweep_client_so_1_LDFLAGS = $(AM_LDFLAGS) -shared -Wl,-soname,libmpsweep-client.so.1
libmpsweep_client_so_1_LDADD =

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

# -lmpsweep-client looks for this name. The description of the library names where it was installed,
# also by 'make install prefix=DIR'.
install-data-hook:
	sed 's|^prefix=.*|prefix=$(prefix)|' client/mpsweep-client.pc \
	    >$(DESTDIR)$(pkgconfigdir)/mpsweep-client.pc
	cd $(DESTDIR)$(libdir) && rm -f libmpsweep-client.so && \
	    $(LN_S) libmpsweep-client.so.1 libmpsweep-client.so
uninstall-hook:
	rm -f $(DESTDIR)$(libdir)/libmpsweep-client.so

# The same name in the build tree.
libmpsweep-client.so: libmpsweep-client.so.1
	$(AM_V_GEN)rm -f $@ && $(LN_S) libmpsweep-client.so.1 $@
noinst_DATA = libmpsweep-client.so
CLEANFILES += libmpsweep-client.so

unit_tests += \
    tests/unit/client/test_client tests/unit/client/test_hold tests/unit/client/test_streams
client_rig = tests/unit/client/rig.c tests/unit/client/rig.h
tests_unit_client_test_client_SOURCES = tests/unit/client/test_client.c $(client_rig)
tests_unit_client_test_client_LDADD = libmpsweep-client.a $(LDADD)
tests_unit_client_test_hold_SOURCES = tests/unit/client/test_hold.c $(client_rig)
tests_unit_client_test_hold_LDADD = libmpsweep-client.a $(LDADD)
tests_unit_client_test_streams_SOURCES = tests/unit/client/test_streams.c $(client_rig)
tests_unit_client_test_streams_LDADD = libmpsweep-client.a $(LDADD)
