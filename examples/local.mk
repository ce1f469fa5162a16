examplesdir = $(pkgdatadir)/examples
dist_examples_DATA = examples/forum.job examples/emulated.job examples/graphs.job \
    examples/latency.job examples/question-b.job examples/repeat.job examples/shares.job

# A program that mpsweep measures, built here as a user would build it.
programexamplesdir = $(pkgdatadir)/examples/program
dist_programexamples_DATA = examples/program/ticker.c examples/program/serve_torch.py
noinst_PROGRAMS += examples/program/ticker
examples_program_ticker_SOURCES = examples/program/ticker.c
examples_program_ticker_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/include
examples_program_ticker_LDADD = libmpsweep-client.a
