#!/usr/bin/env bash
# Compile the kernels with NVIDIA's compilers, which are installed from their Python packages. nvcc compiles for two generations
# of GPUs, and no kernel for scalars may spill registers. NVRTC compiles one family of each kind, as on a user's machine. Needs
# cargo and the requirements of cuda.sh.
#
# usage: nvcc.sh            compile all kernels if they differ from the recorded ones; otherwise compile those for scalars of one
#                           real and one complex type, for one GPU
#        nvcc.sh record     compile all kernels, then record the hash of their text in nvcc.sha256
#        nvcc.sh kernels FILE    compile the main kernels of the real types, and write their registers, shared memory, spills and code
#                           to FILE, for benches/gpu/model.py
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

record=$here/tests/nvcc.sha256
text=$(cd "$here/kernels" && cat -- * | sha256sum | cut -d ' ' -f 1)
cards=(sm_80 sm_90)
types=(c64 c32 f64 f32)
echo . >"$work/wanted"
if [ "${1:-}" = kernels ]; then
    types=(f64 f32)
    cp "$here/tests/modelled.grep" "$work/wanted"
elif [ "${1:-}" != record ] && [ "$(cat "$record" 2>/dev/null)" = "$text" ]; then
    cards=(sm_90)
    types=(c64 f32)
    echo '^[A-Z_]*\([fc](32|64)_1(_|,)' >"$work/wanted"
    echo "The kernels did not change since all of them were compiled. Compiling a sample."
fi

cuda=$("$here/tests/cuda.sh" "$work")

# Compile each number type separately, so that two compilers run at the same time.
compile() {
    local card=$1 type=$2 said="$work/$1-$2"
    grep "($type" "$here/kernels/instances.h" | grep -E -f "$work/wanted" >"$said.h"
    "$cuda/bin/nvcc" -std=c++17 -arch="$card" --fmad=false -Xptxas -v -cubin -DINSTANCES="\"$said.h\"" -o "$said.cubin" \
        "$here/kernels/kernels.cu" >"$said" 2>&1 || { cat "$said"; echo "FAILED: $card, $type"; return 1; }
    # Check the spilled registers of each kernel. Kernels for blocks may spill, kernels for scalars (name_1…) may not.
    awk -v card="$card" '/Compiling entry function/ { split($0, parts, "\047"); name = parts[2]; kernels++ }
        / bytes spill stores/ && !/ 0 bytes spill stores, 0 bytes spill loads/ {
            if (name ~ /_[fc](32|64)(_1(_|$)|$)/) { print "FAILED: " card ": " name " spills registers"; failed = 1 }
        }
        END { if (!kernels) { print "FAILED: " card ": no kernels"; failed = 1 }; print kernels + 0 > "/dev/stderr"; exit failed }' \
        "$said" 2>"$said.count"
}
export -f compile
export work here cuda
for card in "${cards[@]}"; do printf "$card %s\n" "${types[@]}"; done | xargs -P 2 -L 1 bash -c 'compile "$0" "$1"'
if [ "${1:-}" = kernels ]; then
    "$here/../../tests/packages.sh" "$work/venv" nvidia-cuda-nvdisasm==13.2.51 >&2
    for cubin in "$work"/*.cubin; do
        "$cuda/bin/nvdisasm" -c -hex "$cubin" >"$cubin.sass"
        card=$(basename "${cubin%-*}")
        python3 "$here/../../benches/gpu/kernels.py" "$card" "${cubin%.cubin}" "$cubin.sass"
    done >"$2"
    exit
fi
echo "$(cat "$work"/*.count | awk '{ total += $1 } END { print total }') passed: kernels compiled for ${cards[*]}, no scalar kernel spills registers"

env -u BANDSOLVE_SKIPPED XDG_CACHE_HOME="$work" LD_LIBRARY_PATH="$cuda/lib" "$here/../../tests/cargo.sh" test --quiet --lib -- nvrtc --nocapture |
    tee "$work/nvrtc"
if grep -q skipped "$work/nvrtc"; then
    echo "FAILED: NVRTC was not found"
    exit 1
fi
if [ "${1:-}" = record ]; then echo "$text" >"$record"; fi
