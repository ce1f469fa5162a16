# Implements 'mpsweep plot': figures by gnuplot.
noinst_LIBRARIES += orchestrator/plot/libplot.a
orchestrator_plot_libplot_a_SOURCES = \
    orchestrator/plot/ceilings.c orchestrator/plot/facets.c orchestrator/plot/facets.h \
    orchestrator/plot/fleet.c orchestrator/plot/gnuplot.c \
    orchestrator/plot/gnuplot.h orchestrator/plot/gpus.c orchestrator/plot/heatmap.c \
    orchestrator/plot/host.c orchestrator/plot/internal.h orchestrator/plot/labels.c \
    orchestrator/plot/panels.c \
    orchestrator/plot/panels.h orchestrator/plot/panels_figures.c orchestrator/plot/plot.c \
    orchestrator/plot/plot.h \
    orchestrator/plot/probe.c orchestrator/plot/probe_series.c orchestrator/plot/scaling.c \
    orchestrator/plot/search.c orchestrator/plot/series.c orchestrator/plot/series.h \
    orchestrator/plot/throughput.c
