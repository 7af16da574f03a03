#!/usr/bin/env bash
# Compiles the kernels with NVIDIA's own compilers, from their Python packages: by nvcc for two generations of cards, where no
# kernel for scalars may spill registers, and one family of each kind by NVRTC, as on a user's machine. Needs cargo and what
# cuda.sh needs.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cuda=$("$here/tests/cuda.sh" "$work")

# Every number type by itself, so that two compilers have something to do at a time.
compile() {
    local card=$1 type=$2 said="$work/$1-$2"
    grep "($type" "$here/kernels/instances.h" >"$said.h"
    "$cuda/bin/nvcc" -std=c++17 -arch="$card" --fmad=false -Xptxas -v -cubin -DINSTANCES="\"$said.h\"" -o "$said.cubin" \
        "$here/kernels/kernels.cu" >"$said" 2>&1 || { cat "$said"; echo "FAILED: $card, $type"; return 1; }
    # Names, and what is spilled: of blocks of rows some may, of scalars (name_1…) none.
    awk -v card="$card" '/Compiling entry function/ { split($0, parts, "\047"); name = parts[2]; kernels++ }
        / bytes spill stores/ && !/ 0 bytes spill stores, 0 bytes spill loads/ {
            if (name ~ /_[fc](32|64)(_1(_|$)|$)/) { print "FAILED: " card ": " name " spills registers"; failed = 1 }
        }
        END { if (!kernels) { print "FAILED: " card ": no kernels"; failed = 1 }; print kernels + 0 > "/dev/stderr"; exit failed }' \
        "$said" 2>"$said.count"
}
export -f compile
export work here cuda
printf '%s\n' sm_{80,90}\ {c64,c32,f64,f32} | xargs -P 2 -L 1 bash -c 'compile "$0" "$1"'
echo "$(cat "$work"/*.count | awk '{ total += $1 } END { print total }') passed: kernels compiled for sm_80 and sm_90, no register of a scalar kernel spilled"

env -u BANDSOLVE_SKIPPED XDG_CACHE_HOME="$work" LD_LIBRARY_PATH="$cuda/lib" cargo test --quiet --manifest-path "$here/Cargo.toml" --lib nvrtc -- --nocapture |
    tee "$work/nvrtc"
if grep -q skipped "$work/nvrtc"; then
    echo "FAILED: NVRTC was not found"
    exit 1
fi
