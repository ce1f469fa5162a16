examplesdir = $(pkgdatadir)/examples
dist_examples_DATA = examples/forum.job examples/emulated.job examples/graphs.job \
    examples/latency.job examples/shares.job
