# Scripts of deployments, as they are copied into them by 'mpsweep emit'.
emitdir = $(pkgdatadir)/emit
dist_emit_DATA = \
    emit/mps \
    emit/env-common.sh emit/env-start emit/env-stop emit/env-check \
    emit/systemd-install emit/systemd-check \
    emit/slurm-job emit/slurm-worker emit/slurm-check \
    emit/container-worker emit/container-check
