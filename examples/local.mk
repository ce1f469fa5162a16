examplesdir = $(pkgdatadir)/examples
dist_examples_DATA = examples/forum.job examples/emulated.job examples/graphs.job \
    examples/inference.job \
    examples/latency.job examples/question-b.job examples/repeat.job examples/shares.job
