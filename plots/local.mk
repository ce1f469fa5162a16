plotsdir = $(pkgdatadir)/plots
dist_plots_DATA = plots/throughput.gp plots/style.gp plots/compare.gp \
    plots/ceilings.gp plots/fleet.gp plots/gpus.gp plots/heatmap.gp plots/host.gp plots/latency.gp \
    plots/launch.gp plots/panels.gp plots/phases.gp plots/probe.gp plots/probe-series.gp \
    plots/rows.gp plots/scaling.gp plots/search.gp plots/timeline.gp

EXTRA_DIST += tests/data/h200-sample.jsonl tests/data/emulated-sample.jsonl
