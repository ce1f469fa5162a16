# What 'mpsweep emit' and 'mpsweep slurm submit' write: scripts, and templates (files/template.h).
emitdir = $(pkgdatadir)/emit
dist_emit_DATA = \
    emit/mps emit/command emit/deployment.env emit/layout emit/origin emit/pipe \
    emit/env-common.sh emit/env-start emit/env-stop emit/env-check emit/env-deployment.env \
    emit/env-worker.env \
    emit/systemd.target emit/systemd-driver emit/systemd-limits emit/systemd-mps.service \
    emit/systemd-mps.env emit/systemd-mps-workers.conf emit/systemd-worker.service \
    emit/systemd-worker.env emit/systemd-worker-cpus.conf emit/systemd-worker-daemon.conf \
    emit/systemd-names.sh emit/systemd-install emit/systemd-check \
    emit/slurm-job.sbatch emit/slurm-job emit/slurm-worker emit/slurm-check \
    emit/slurm-deployment.env emit/slurm-worker.env \
    emit/kubernetes.yaml emit/kubernetes-mounts emit/kubernetes-ready emit/kustomization.yaml \
    emit/service.yaml emit/ready \
    emit/compose.yaml emit/compose-service emit/container-worker emit/container-check \
    emit/readme-begin.md emit/readme-ready.md emit/readme-end.md emit/readme-env.md emit/readme-systemd.md \
    emit/readme-slurm.md emit/readme-kubernetes.md emit/readme-compose.md \
    emit/shard.sbatch emit/merge.sbatch
