# Implements 'mpsweep slurm': a sweep as jobs of a cluster.
noinst_LIBRARIES += orchestrator/slurm/libslurm.a
orchestrator_slurm_libslurm_a_SOURCES = \
    orchestrator/slurm/collect.c orchestrator/slurm/internal.h orchestrator/slurm/jobs.c \
    orchestrator/slurm/programs.c orchestrator/slurm/run.c \
    orchestrator/slurm/sbatch_words.c orchestrator/slurm/script.c orchestrator/slurm/shard.c \
    orchestrator/slurm/slurm.h orchestrator/slurm/status.c orchestrator/slurm/submit.c \
    orchestrator/slurm/view.c

unit_tests += \
    tests/unit/slurm/test_slurm
