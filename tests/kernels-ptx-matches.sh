#!/bin/sh
# The committed PTX is what its source compiles to. Needs the release of nvcc that wrote it, since
# another one may rightly write other PTX; skipped (77) without it.
set -u
source_dir=${MPSWEEP_SOURCE_DIR:-$(cd "$(dirname "$0")/.." && pwd)}
nvcc=${NVCC:-nvcc}
committed=$source_dir/kernels/workload.ptx

skip() { echo "skipped: $1"; exit 77; }
fail() { echo "failed: $1" >&2; exit 1; }

wanted=$(sed -n 's,^// *\(Cuda compilation tools.*\),\1,p' "$committed") || fail "cannot read '$committed'"
test -n "$wanted" || fail "'$committed' does not name the compiler that wrote it"
if grep -nE '(^|[^/])/(home|root|tmp|work|usr|build)/' "$committed"; then
    fail "'$committed' holds a path of the machine that wrote it"
fi

if test "$nvcc" = no || ! command -v "$nvcc" >/dev/null 2>&1; then skip "no nvcc"; fi
present=$("$nvcc" --version | grep '^Cuda compilation tools')
test "$present" = "$wanted" || skip "nvcc is '$present', the PTX was written by '$wanted'"

scratch=$(mktemp -d "${TMPDIR:-/tmp}/kernels-ptx.XXXXXX") || fail "cannot make a scratch directory"
trap 'rm -rf "$scratch"' EXIT
sh "$source_dir/kernels/make-ptx" "$nvcc" "$source_dir/kernels/workload.cu" "$scratch/workload.ptx" ||
    fail "cannot compile '$source_dir/kernels/workload.cu'"
diff -u "$committed" "$scratch/workload.ptx" ||
    fail "kernels/workload.ptx does not match kernels/workload.cu; run 'make kernels-ptx'"
echo "kernels/workload.ptx matches kernels/workload.cu"
