# `make soak SECONDS=60 SEED=1 JOBS=4`: random strikes on every command, with numbers checked against
# rates that are known. `make soak FREEZES=200`: workers frozen at random. docs/reliability.md
EXTRA_PROGRAMS += tests/soak/metronome
tests_soak_metronome_LDADD = libmpsweep-client.a -lm
CLEANFILES += tests/soak/metronome$(EXEEXT)
EXTRA_DIST += tests/soak/soak tests/soak/world.py tests/soak/oracle.py tests/soak/measure.py \
    tests/soak/others.py tests/soak/freezes.py

soak_options = $(if $(SECONDS),--seconds $(SECONDS)) $(if $(SEED),--seed $(SEED)) \
    $(if $(JOBS),--jobs $(JOBS)) $(if $(FREEZES),--freezes $(FREEZES)) \
    $(if $(KINDS),--kinds $(KINDS)) $(if $(ONLY),--only $(ONLY))
soak: all tests/soak/metronome$(EXEEXT) tests/fakes/program$(EXEEXT) \
    tests/fakes/lying_rename.so$(EXEEXT) tests/fakes/failing_call.so$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) $(top_srcdir)/tests/soak/soak $(soak_options)
.PHONY: soak
