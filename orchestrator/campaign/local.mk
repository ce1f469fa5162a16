# Many rounds: the results file, resume, saturation, plug-ins, estimates.
noinst_LIBRARIES += orchestrator/campaign/libcampaign.a
orchestrator_campaign_libcampaign_a_SOURCES = \
    orchestrator/campaign/bracket.c orchestrator/campaign/bracket.h \
    orchestrator/campaign/campaign.h orchestrator/campaign/estimate.c \
    orchestrator/campaign/estimate.h orchestrator/campaign/lengths.c \
    orchestrator/campaign/limits.c orchestrator/campaign/limits.h \
    orchestrator/campaign/plugin.c orchestrator/campaign/plugin.h \
    orchestrator/campaign/results_file.c orchestrator/campaign/saturation.c \
    orchestrator/campaign/saturation.h orchestrator/campaign/workload.c

unit_tests += \
    tests/unit/campaign/test_bracket
