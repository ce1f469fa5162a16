# As in the source tree: links between pages, and to README.md beside it, lead to the same files.
docpagesdir = $(docdir)/docs
dist_docpages_DATA = \
    docs/ARCHITECTURE.md docs/binding.md docs/building.md docs/compare.md docs/deploying.md \
    docs/emulated.md docs/evaluation.md docs/explain.md \
    docs/index.md docs/limits.md docs/many-gpus.md docs/measuring.md docs/mps.md docs/open-loop.md docs/probes.md docs/question-b.md docs/reliability.md docs/reports.md docs/results-format.md docs/scale.md docs/slurm.md \
    docs/inference-servers.md docs/search.md docs/servers.md docs/statistics.md docs/telemetry.md docs/tracing.md docs/tuning.md docs/tuning-your-service.md docs/understanding.md docs/workloads.md

dist_man3_MANS = docs/mpsweep_workload.3
dist_man5_MANS = docs/mpsweep-workload.5

EXTRA_DIST += docs/rooms.txt docs/claims.tsv

resultsdir = $(docdir)/docs/results
dist_results_DATA = \
    docs/results/README.md \
    docs/results/h200-forum.jsonl docs/results/h200-forum.svg \
    docs/results/h200-graphs.jsonl docs/results/h200-graphs.svg \
    docs/results/h200-in-flight.jsonl docs/results/h200-in-flight.svg \
    docs/results/h200-contexts.jsonl docs/results/h200-partitions.jsonl \
    docs/results/h200-partitions-job.jsonl docs/results/h200-partition-sizes.txt \
    docs/results/h200-tune-streams.jsonl docs/results/h200-tune-streams-cpus.jsonl \
    docs/results/h200-tune-streams-p99.jsonl \
    docs/results/h200-streams.jsonl docs/results/h200-streams-schedules.jsonl \
    docs/results/h200-streams-pageable.jsonl docs/results/h200-rounds.jsonl docs/results/h200-mixed.jsonl \
    docs/results/h200-bench.txt docs/results/h200-check-gpu.txt \
    docs/results/h200-check-gpu-2.txt docs/results/h200-check-gpu-3.txt \
    docs/results/iterations.txt docs/results/h200-rooms.txt docs/results/h200-strikes.txt \
    docs/results/h200-limits.json docs/results/h200-shares.jsonl \
    docs/results/h200-explain.jsonl docs/results/h200-ceilings.svg \
    docs/results/h200-question-b.jsonl docs/results/h200-launch.svg docs/results/h200-phases.svg \
    docs/results/h200-repeat-1.jsonl docs/results/h200-repeat-2.jsonl \
    docs/results/h200-repeat-3.jsonl docs/results/h200-repeat-4.jsonl \
    docs/results/h200-forum-short.jsonl docs/results/h200-fresh-mps.jsonl \
    docs/results/h200-fresh-sliced.jsonl \
    docs/results/h200-schedules-1.jsonl docs/results/h200-schedules-2.jsonl \
    docs/results/h200-schedules-fresh-1.jsonl docs/results/h200-schedules-fresh-2.jsonl \
    docs/results/h200-remedies.jsonl \
    docs/results/h200-tune.jsonl docs/results/h200-tune.svg \
    docs/results/h200-tune-p99.jsonl docs/results/h200-tune-p99-again.jsonl \
    docs/results/h200-tune-cufft.jsonl \
    docs/results/h200-calibration.jsonl docs/results/h200-random.jsonl \
    docs/results/h200-random-a.jsonl docs/results/h200-random-b.jsonl \
    docs/results/h200-random-c.jsonl docs/results/h200-random-d.jsonl \
    docs/results/h200-described.jsonl \
    docs/results/h200-described-recorded.jsonl docs/results/h200-tune-45s-detect-4.jsonl \
    docs/results/h200-tune-45s-detect-5.jsonl docs/results/h200-tune-45s-detect-6.jsonl \
    docs/results/h200-tune-25s-detect-1.jsonl docs/results/h200-tune-25s-detect-2.jsonl \
    docs/results/h200-x4-tune-120s-1.jsonl docs/results/h200-x4-tune-120s-2.jsonl \
    docs/results/h200-random-e.jsonl docs/results/h200-observed.txt docs/results/h200-replays.txt \
    docs/results/h200-frameworks.txt \
    docs/results/h200-loader.jsonl \
    docs/results/h200-loader-one-cpu.jsonl \
    docs/results/h200-tune-30s-1.jsonl docs/results/h200-tune-30s-2.jsonl \
    docs/results/h200-tune-30s-3.jsonl docs/results/h200-tune-60s.jsonl \
    docs/results/h200-tune-45s-p99.jsonl docs/results/h200-tune-45s-p99-again.jsonl \
    docs/results/h200-tune-45s-detect.jsonl docs/results/h200-tune-45s-cufft.jsonl \
    docs/results/h200-tune-torch.jsonl docs/results/h200-tune-torch.svg \
    docs/results/h200-open-loop.jsonl docs/results/h200-fixed-work.jsonl \
    docs/results/h200-probes.jsonl docs/results/h200-probes.svg \
    docs/results/h200-peer-stall.jsonl docs/results/h200-queue-order.txt docs/results/h200-turns.txt docs/results/h200-pageable.jsonl docs/results/h200-pageable-mps.jsonl docs/results/h200-queues-asleep.jsonl docs/results/h200-queues-awake.jsonl docs/results/h200-remedies-asleep.jsonl \
    docs/results/h200-x2-copies.jsonl docs/results/h200-x2-staging.jsonl docs/results/h200-calibrations.jsonl \
    docs/results/h200-x2-graph.jsonl docs/results/h200-x2-gpus.svg \
    docs/results/h200-x2-rounds.jsonl docs/results/h200-x2-scaling.jsonl docs/results/h200-x2-scaling.svg \
    docs/results/h200-tune-90s-engine-before.jsonl docs/results/h200-tune-90s-engine-1.jsonl \
    docs/results/h200-tune-90s-engine-2.jsonl docs/results/h200-tune-90s-engine-3.jsonl \
    docs/results/h200-tune-90s-engine-4.jsonl docs/results/h100-tune-45s-detect-3.jsonl \
    docs/results/h200-x2-shards.jsonl docs/results/h200-x2-shards.svg docs/results/h200-x2-tune.jsonl \
    docs/results/h200-launch-gate.jsonl docs/results/h200-launch-gate-all.jsonl \
    docs/results/h200-launch-gate-again.jsonl docs/results/h200-gaps.txt docs/results/evaluation.txt docs/results/h100-launch-gate.jsonl docs/results/h100-random.jsonl docs/results/h100-random-b.jsonl docs/results/h100-random-c.jsonl \
    docs/results/h100-tune-30s-1.jsonl docs/results/h100-tune-30s-2.jsonl docs/results/h100-tune-30s-3.jsonl docs/results/h100-tune-30s-4.jsonl docs/results/h100-tune-30s-5.jsonl docs/results/h100-tune-30s-6.jsonl docs/results/h100-tune-45s-p99-1.jsonl docs/results/h100-tune-45s-p99-2.jsonl docs/results/h100-tune-45s-p99-measuring.jsonl docs/results/h100-tune-45s-cufft.jsonl docs/results/h100-tune-110s-cufft.jsonl docs/results/h100-parity.txt docs/results/h100-tune-30s-7.jsonl docs/results/h100-tune-30s-8.jsonl docs/results/h100-tune-30s-9.jsonl docs/results/h100-tune-30s-10.jsonl docs/results/h100-tune-45s-p99-3.jsonl docs/results/h100-tune-45s-detect-4.jsonl docs/results/h100-x4-tune-60s.jsonl docs/results/h100-x4-tune-120s.jsonl \
    docs/results/h100-tune-300s-detect.jsonl docs/results/h100-tune-300s-cufft.jsonl \
    docs/results/h100-tune-45s-detect-refused-1.jsonl docs/results/h100-tune-45s-detect-refused-2.jsonl \
    docs/results/h100-tune-45s-detect-1.jsonl docs/results/h100-tune-45s-detect-2.jsonl \
    docs/results/h100-tune-45s-cufft-refused-1.jsonl docs/results/h100-tune-45s-cufft-refused-2.jsonl \
    docs/results/h100-tune-45s-cufft-1.jsonl docs/results/h100-tune-45s-cufft-2.jsonl \
    docs/results/h100-tune-90s-decode-1.jsonl docs/results/h100-tune-90s-decode-2.jsonl \
    docs/results/h100-tune-90s-decode-3.jsonl docs/results/h100-tune-200s-decode.jsonl \
    docs/results/h100-tune-480s-dear.jsonl \
    docs/results/h100-tune-60s-torch-1.jsonl docs/results/h100-tune-60s-torch-2.jsonl \
    docs/results/h100-tune-60s-torch-all.jsonl \
    docs/results/h100-tune-150s-http-1.jsonl docs/results/h100-tune-150s-http-2.jsonl \
    docs/results/h100-http-rates.jsonl docs/results/h100-http-rates.svg docs/results/h100-turns.jsonl \
    docs/results/h100-turns-border.jsonl docs/results/h100-turns-queues.jsonl docs/results/h100-turns-unseen.jsonl \
    docs/results/h100-turns-after.jsonl docs/results/h100-turns-later.jsonl docs/results/h200-turns-rounds.jsonl \
    docs/results/h100-layouts-decode.jsonl \
    docs/results/h100-layouts-builtin.jsonl docs/results/h100-layouts-calibration.jsonl docs/results/h100-layouts-before.txt docs/results/h100-searches.svg docs/results/h100-layouts-detect.jsonl docs/results/h100-layouts-torch.jsonl \
    docs/results/h200-launch-gate.svg \
    docs/results/h200-forum-again.jsonl \
    docs/results/h200-check-gpu-4.txt docs/results/h200-parity.txt docs/results/h200-parity-pageable.txt \
    docs/results/h200-polled.txt docs/results/h200-polled-1.jsonl docs/results/h200-polled-2.jsonl \
    docs/results/h200-polled-3.jsonl docs/results/h200-polled-4.jsonl \
    docs/results/h200-tune-110s-cufft.jsonl \
    docs/results/h200-tune-150s-http.jsonl \
    docs/results/h200-tune-30s-guided-1.jsonl \
    docs/results/h200-tune-30s-guided-2.jsonl \
    docs/results/h200-tune-30s-guided-3.jsonl docs/results/h200-tune-30s-guided-4.jsonl \
    docs/results/h200-tune-30s-guided-5.jsonl docs/results/h200-tune-30s-guided-6.jsonl \
    docs/results/h200-tune-30s-guided-7.jsonl \
    docs/results/h200-tune-45s-cufft-1.jsonl \
    docs/results/h200-tune-45s-cufft-2.jsonl \
    docs/results/h200-tune-45s-cufft-3.jsonl \
    docs/results/h200-tune-45s-cufft-4.jsonl \
    docs/results/h200-tune-45s-cufft-5.jsonl \
    docs/results/h200-tune-45s-detect-1.jsonl \
    docs/results/h200-tune-45s-detect-2.jsonl \
    docs/results/h200-tune-45s-detect-3.jsonl \
    docs/results/h200-tune-300s-cufft.jsonl docs/results/h200-tune-300s-detect.jsonl \
    docs/results/h200-tune-45s-p99-guided-again.jsonl \
    docs/results/h200-tune-45s-p99-guided.jsonl \
    docs/results/h200-tune-60s-cupy-before.jsonl \
    docs/results/h200-tune-60s-bert.jsonl \
    docs/results/h200-tune-60s-compiled.jsonl \
    docs/results/h200-tune-60s-conv.jsonl \
    docs/results/h200-tune-60s-cupy.jsonl \
    docs/results/h200-tune-60s-generate.jsonl \
    docs/results/h200-tune-60s-jax.jsonl \
    docs/results/h200-tune-60s-loader.jsonl \
    docs/results/h200-tune-60s-nbody.jsonl \
    docs/results/h200-tune-60s-poll.jsonl \
    docs/results/h200-tune-60s-pool.jsonl \
    docs/results/h200-tune-60s-train.jsonl \
    docs/results/h200-tune-90s-generate-before.jsonl \
    docs/results/h200-tune-90s-generate.jsonl \
    docs/results/h200-tune-90s-jax.jsonl \
    docs/results/h200-tune-90s-train.jsonl \
    docs/results/h200-tune-60s-conv-2.jsonl \
    docs/results/h200-tune-60s-bert-2.jsonl \
    docs/results/h200-tune-90s-compiled.jsonl \
    docs/results/h200-tune-90s-generate-2.jsonl \
    docs/results/h200-tune-60s-generate-one.jsonl \
    docs/results/h200-tune-60s-jax-one.jsonl \
    docs/results/h200-tune-60s-conv-one.jsonl \
    docs/results/h200-tune-60s-bert-one.jsonl \
    docs/results/h200-tune-60s-conv-four-before.jsonl \
    docs/results/h200-tune-60s-generate-four.jsonl \
    docs/results/h200-tune-60s-jax-four.jsonl \
    docs/results/h200-tune-60s-conv-four.jsonl \
    docs/results/h200-tune-60s-bert-four.jsonl \
    docs/results/h200-tune-60s-train-four.jsonl \
    docs/results/h200-tune-90s-generate-four.jsonl \
    docs/results/h200-tune-90s-jax-four.jsonl \
    docs/results/h200-tune-90s-rl-before.jsonl \
    docs/results/h200-tune-90s-rl.jsonl \
    docs/results/h200-tune-90s-jax-awake.jsonl \
    docs/results/h200-tune-90s-bert-awake.jsonl \
    docs/results/h200-tune-90s-rl-2.jsonl \
    docs/results/h200-tune-90s-jax-awake-2.jsonl \
    docs/results/h200-tune-90s-bert-awake-2.jsonl \
    docs/results/h200-tune-90s-conv-four.jsonl \
    docs/results/h200-tune-90s-bert-four.jsonl \
    docs/results/h200-pools-near-each.jsonl \
    docs/results/h200-pools-near-part.jsonl \
    docs/results/h200-pools-none-each.jsonl \
    docs/results/h200-pools-none-part.jsonl \
    docs/results/h200-tune-60s-generate-before.jsonl \
    docs/results/h200-tune-60s-guided-1.jsonl \
    docs/results/h200-tune-60s-guided-2.jsonl \
    docs/results/h200-tune-60s-guided-3.jsonl docs/results/h200-tune-60s-guided-4.jsonl \
    docs/results/h200-tune-60s-jax-before.jsonl docs/results/h200-tune-60s-train-before.jsonl \
    docs/results/h200-tune-90s-decode-1.jsonl \
    docs/results/h200-tune-90s-decode-2.jsonl \
    docs/results/h200-tune-90s-decode-3.jsonl \
    docs/results/h200-tune-90s-decode-4.jsonl docs/results/h200-tune-90s-decode-5.jsonl \
    docs/results/h200-tune-90s-decode-open-1.jsonl \
    docs/results/h200-tune-90s-decode-open-2.jsonl \
    docs/results/h200-tune-90s-decode-open-3.jsonl \
    docs/results/h200-tune-90s-decode-open-4.jsonl \
    docs/results/h200-tune-90s-graph-open.jsonl \
    docs/results/h200-tune-90s-decode-open-before.jsonl \
    docs/results/h200-tune-90s-mlp-open-1.jsonl docs/results/h200-tune-90s-mlp-open-2.jsonl \
    docs/results/h200-tune-90s-mlp-open-3.jsonl docs/results/h200-tune-90s-mlp-open-4.jsonl \
    docs/results/h200-x4-copies-1.jsonl \
    docs/results/h200-x4-copies-2.jsonl \
    docs/results/h200-x4-layouts-1.jsonl \
    docs/results/h200-x4-layouts-2.jsonl \
    docs/results/h200-x4-scale.jsonl \
    docs/results/h200-x4-tune.jsonl \
    docs/results/h200-probe-sizes.jsonl docs/results/h200-probe-sizes.svg \
    docs/results/h200-trace-mps.json docs/results/h200-trace-mps.svg \
    docs/results/h200-trace-nosync.json docs/results/h200-trace-nosync.svg \
    docs/results/h200-trace-sync.json docs/results/h200-trace-sync.svg \
    docs/results/h200-trace-pinned.json docs/results/h200-trace-pinned.svg
