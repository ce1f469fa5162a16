# What the machine can do, measured for predictions.
noinst_LIBRARIES += orchestrator/calibrate/libcalibrate.a
orchestrator_calibrate_libcalibrate_a_SOURCES = \
    orchestrator/calibrate/figures.c orchestrator/calibrate/internal.h \
    orchestrator/calibrate/measure.c orchestrator/calibrate/parts.c orchestrator/calibrate/plan.c \
    orchestrator/calibrate/plan.h orchestrator/calibrate/points.c orchestrator/calibrate/points.h \
    orchestrator/calibrate/run.c orchestrator/calibrate/run.h
