# Implements 'mpsweep plot': figures by gnuplot.
noinst_LIBRARIES += orchestrator/plot/libplot.a
orchestrator_plot_libplot_a_SOURCES = \
    orchestrator/plot/ceilings.c orchestrator/plot/fleet.c orchestrator/plot/gpus.c \
    orchestrator/plot/heatmap.c orchestrator/plot/internal.h orchestrator/plot/latency.c \
    orchestrator/plot/launch.c orchestrator/plot/panels.c orchestrator/plot/panels.h \
    orchestrator/plot/panels_figures.c orchestrator/plot/plot.c orchestrator/plot/plot.h \
    orchestrator/plot/probe.c orchestrator/plot/probe_series.c orchestrator/plot/rows.c \
    orchestrator/plot/rows.h orchestrator/plot/scaling.c orchestrator/plot/search.c \
    orchestrator/plot/series.c orchestrator/plot/series.h orchestrator/plot/text.c \
    orchestrator/plot/throughput.c
