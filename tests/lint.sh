#!/usr/bin/env bash
# Checks of the whole tree: its layers, its words, its references, the figures of its documents,
# cppcheck, clang-tidy, shellcheck. Run by `make lint`.
set -euo pipefail
cd "${MPSWEEP_SOURCE_DIR:-$(dirname "$0")/..}"
build=${MPSWEEP_BUILD_DIR:-$PWD/build}
jobs=$(nproc)

folders=(client common device emul explain files job kernels load mps observer orchestrator probes
  recording shm statistics tests trace tracing wire worker)
mapfile -t sources < <(find "${folders[@]}" -name '*.c' ! -name 'cuda_abi_*.c' ! -name 'cupti_abi_*.c' | sort)
flags=(-std=gnu11 -I. "-I$build" -D_GNU_SOURCE= '-DMPSWEEP_PKGDATADIR="/"'
  '-DMPSWEEP_PKGLIBEXECDIR="/"' '-DMPSWEEP_LIBDIR="/"' '-DMPSWEEP_SOURCE_DIR="/"' '-DMPSWEEP_BUILD_DIR="/"')

echo "layers"
tests/check-layers

echo "words"
tests/check-words

echo "references"
tests/check-references

echo "claims"
MPSWEEP_BUILD_DIR=$build tests/check-claims

echo "cppcheck: ${#sources[@]} files"
cppcheck --quiet --error-exitcode=1 --std=c11 --inline-suppr -j "$jobs" \
  --enable=warning,performance,portability --suppress=missingIncludeSystem \
  --suppressions-list=tests/cppcheck-suppressions -I. -D_GNU_SOURCE -D__linux__ "${sources[@]}"

echo "clang-tidy: ${#sources[@]} files"
tidy() {
  # Its standard error counts the warnings that it does not show.
  # The analyzer does not know that cmocka's assertions do not return.
  local checks=
  case "$1" in tests/*) checks='-clang-analyzer-*' ;; esac
  clang-tidy --quiet --warnings-as-errors='*' --checks="$checks" "$1" -- "${@:2}" 2>/dev/null
}
export -f tidy
printf '%s\0' "${sources[@]}" |
  xargs -0 -P "$jobs" -I{} bash -c 'tidy "$@"' tidy {} "${flags[@]}"

echo "shellcheck"
shellcheck quickstart .ci/run autogen.sh kernels/make-ptx tests/*.sh tests/bench/run tests/bench/scale tests/fuzz/run tests/slurm/cluster tests/systemd/machine packaging/{version,build-deb,build-wheel,check} \
  emit/mps emit/ready orchestrator/completions/mpsweep.bash
# Templates, without the lines that choose parts of them.
for script in emit/env-{common.sh,start,stop,check} emit/systemd-{install,check} \
  emit/slurm-{job,worker,check} emit/container-{worker,check}; do
  sed '/^{{[#^/][a-z_]*}}$/d' "$script" | shellcheck - || { echo "in $script" >&2; exit 1; }
done
