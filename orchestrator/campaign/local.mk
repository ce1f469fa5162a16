# Many rounds: the results file, resume, shards, saturation, plug-ins, estimates.
noinst_LIBRARIES += orchestrator/campaign/libcampaign.a
orchestrator_campaign_libcampaign_a_SOURCES = \
    orchestrator/campaign/bracket.c orchestrator/campaign/bracket.h \
    orchestrator/campaign/campaign.c orchestrator/campaign/campaign.h orchestrator/campaign/deal.c \
    orchestrator/campaign/estimate.c orchestrator/campaign/estimate.h \
    orchestrator/campaign/internal.h orchestrator/campaign/lengths.c orchestrator/campaign/machine.c \
    orchestrator/campaign/part.c \
    orchestrator/campaign/plugin.c orchestrator/campaign/plugin.h \
    orchestrator/campaign/results_file.c orchestrator/campaign/saturation.c \
    orchestrator/campaign/saturation.h orchestrator/campaign/shard.c orchestrator/campaign/shard.h \
    orchestrator/campaign/planned.c orchestrator/campaign/words.c

unit_tests += \
    tests/unit/campaign/test_bracket tests/unit/campaign/test_options \
    tests/unit/campaign/test_saturation tests/unit/campaign/test_shard
tests_unit_campaign_test_shard_SOURCES = tests/unit/campaign/test_shard.c $(plan_rig)
