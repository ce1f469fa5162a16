# The command line. Each folder is a room: orchestrator/NAME implements 'mpsweep NAME', the others are
# what the commands stand on. A room is a library; docs/rooms.txt lists which may use which.
include orchestrator/bind/local.mk
include orchestrator/calibrate/local.mk
include orchestrator/campaign/local.mk
include orchestrator/capture/local.mk
include orchestrator/commands/local.mk
include orchestrator/compare/local.mk
include orchestrator/console/local.mk
include orchestrator/crew/local.mk
include orchestrator/doctor/local.mk
include orchestrator/emit/local.mk
include orchestrator/explain/local.mk
include orchestrator/export/local.mk
include orchestrator/help/local.mk
include orchestrator/merge/local.mk
include orchestrator/mps/local.mk
include orchestrator/plan/local.mk
include orchestrator/plot/local.mk
include orchestrator/probe/local.mk
include orchestrator/record/local.mk
include orchestrator/report/local.mk
include orchestrator/results/local.mk
include orchestrator/round/local.mk
include orchestrator/session/local.mk
include orchestrator/slurm/local.mk
include orchestrator/sweep/local.mk
include orchestrator/trace/local.mk
include orchestrator/tune/local.mk

orchestrator_libraries = \
    orchestrator/help/libhelp.a orchestrator/commands/libcommands.a \
    orchestrator/sweep/libsweep.a orchestrator/tune/libtune.a orchestrator/slurm/libslurm.a \
    orchestrator/capture/libcapture.a orchestrator/trace/libtrace.a orchestrator/probe/libprobe.a \
    orchestrator/compare/libcompare.a orchestrator/report/libreport.a orchestrator/export/libexport.a \
    orchestrator/plot/libplot.a \
    orchestrator/explain/libexplain.a orchestrator/merge/libmerge.a orchestrator/emit/libemit.a \
    orchestrator/calibrate/libcalibrate.a orchestrator/doctor/libdoctor.a \
    orchestrator/mps/libmps.a orchestrator/campaign/libcampaign.a \
    orchestrator/record/librecord.a orchestrator/round/libround.a orchestrator/crew/libcrew.a \
    orchestrator/session/libsession.a orchestrator/results/libresults.a \
    orchestrator/plan/libplan.a orchestrator/bind/libbind.a orchestrator/console/libconsole.a

bin_PROGRAMS += mpsweep
mpsweep_SOURCES = orchestrator/completion.c orchestrator/completion.h orchestrator/main.c
mpsweep_LDADD = $(orchestrator_libraries) $(spine_libraries) \
    $(HWLOC_LIBS) $(JANSSON_LIBS) $(INIH_LIBS)

# The manual pages are printed by the program, from the tables of commands and options and the texts
# in docs/man, which are part of it.
manual_texts = docs/man/mpsweep.txt docs/man/sweep.txt docs/man/tune.txt docs/man/trace.txt docs/man/record.txt \
    docs/man/plot.txt docs/man/report.txt docs/man/export.txt docs/man/explain.txt docs/man/compare.txt docs/man/merge.txt \
    docs/man/emit.txt docs/man/probe.txt docs/man/doctor.txt docs/man/mps.txt docs/man/slurm.txt
manual_pages = mpsweep.1 mpsweep-sweep.1 mpsweep-tune.1 mpsweep-trace.1 mpsweep-record.1 mpsweep-plot.1 \
    mpsweep-report.1 mpsweep-export.1 \
    mpsweep-explain.1 mpsweep-compare.1 mpsweep-merge.1 mpsweep-emit.1 mpsweep-probe.1 \
    mpsweep-doctor.1 mpsweep-mps.1 mpsweep-slurm.1
EXTRA_DIST += $(manual_texts)
orchestrator/help/parts.$(OBJEXT): $(manual_texts)

# The commit, for --version: written again only where it has changed.
orchestrator/main.$(OBJEXT): orchestrator/commit.h
orchestrator/commit.h: FORCE
	@set x `$(srcdir)/packaging/version`; \
	echo "#define BUILD_COMMIT \"$$3\"" >$@.new; \
	if cmp -s $@.new $@; then rm -f $@.new; else mv -f $@.new $@; fi
FORCE:
.PHONY: FORCE
CLEANFILES += orchestrator/commit.h
man1_MANS = $(manual_pages)
CLEANFILES += $(man1_MANS)
$(manual_pages): mpsweep$(EXEEXT)
	$(AM_V_GEN)page=$@ && page=$${page#mpsweep-} && \
	    ./mpsweep$(EXEEXT) help --manual $${page%.1} >$@.new && mv $@.new $@

# Scripts that complete command lines, where the shells look for them, and in the program, too.
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
dist_bashcompletion_DATA = orchestrator/completions/mpsweep.bash
dist_zshcompletion_DATA = orchestrator/completions/_mpsweep
dist_fishcompletion_DATA = orchestrator/completions/mpsweep.fish
orchestrator/completion.$(OBJEXT): $(dist_bashcompletion_DATA) $(dist_zshcompletion_DATA) $(dist_fishcompletion_DATA)
