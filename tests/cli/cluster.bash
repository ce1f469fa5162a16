# shellcheck shell=bash
# A Slurm of two nodes on this machine (tests/slurm/cluster) for the tests of a file: from
# setup_file() to teardown_file().

# In the environment: CLUSTER_GPUS, CLUSTER_TASK_PLUGIN.
start_cluster() {
  CLUSTER=$(mktemp -d /tmp/mpc.XXXXXX)
  chmod 711 "$CLUSTER"
  mkfifo "$CLUSTER/alive"
  env -u SLURM_CONF "$MPSWEEP_SOURCE_DIR/tests/slurm/cluster" "$CLUSTER/slurm" \
    <"$CLUSTER/alive" >"$CLUSTER/conf" 2>"$CLUSTER/err" 3>&- 4>&- &
  CLUSTER_PID=$!
  # It ends when this one is closed, by whatever.
  exec 9>"$CLUSTER/alive"
  until [ -s "$CLUSTER/conf" ] || ! kill -0 $CLUSTER_PID 2>/dev/null; do
    read -r -t 0.05 <> <(:) || true
  done
  SLURM_CONF=$(cat "$CLUSTER/conf")
  NO_CLUSTER=$(cat "$CLUSTER/err")
  [ -n "$SLURM_CONF" ] || NO_CLUSTER=${NO_CLUSTER:-it did not start}
  export CLUSTER CLUSTER_PID SLURM_CONF NO_CLUSTER SLURM_REQUIRED=${MPSWEEP_SLURM_REQUIRED-}
  cd /
}

end_cluster() {
  exec 9>&-
  wait "$CLUSTER_PID" 2>/dev/null || true
  rm -rf "$CLUSTER"
}

# MPSWEEP_SLURM_REQUIRED makes a failure of what is a skip otherwise.
needs_slurm() {
  [ -n "$SLURM_CONF" ] && return
  [ -z "$SLURM_REQUIRED" ] || fail "$NO_CLUSTER"
  skip "$NO_CLUSTER"
}

no_job() { [ -z "$(squeue --noheader)" ]; }
