#!/usr/bin/env bash
# Compile the kernels for AMD GPUs, by hipcc: for gfx90a with waves of 64 lanes, and for gfx1030 with waves of 32 lanes. No kernel
# runs. A line for each kernel shows its vector registers, how many of these are accumulation registers, its scalar registers, its
# bytes of shared memory (without those of the launch), its bytes of scratch memory per thread, how many vector registers are
# spilled to scratch memory, and the waves that a SIMD unit runs at the same time.
#
# usage: hip.sh                 compile each instance with blocks of one or two rows for one number type
#        hip.sh all [CARD]      compile all kernels, for both cards or for one of them
#        hip.sh kernels FILE    compile the main kernels of the real types for gfx90a, and write their lines and those of their code to
#                               FILE, for benches/gpu/model.py
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
if ! command -v hipcc >/dev/null; then
    echo "1 skipped: hipcc is not installed"
    exit
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

grep '(' "$here/kernels/instances.h" | grep -v '^//' >"$work/all"
# One of the instances that differ only in the number type. The types take turns.
awk -F '[(,]' '{
        form = $1 substr($2, 4)
        if (!(form in count)) forms[++total] = form
        line[form, count[form]++] = $0
    }
    END { for (k = 1; k <= total; k++) if (forms[k] !~ /_[34]_1|RESIDUAL_[34]/) print line[forms[k], k % count[forms[k]]] }' \
    "$work/all" >"$work/sample"
chosen=sample
cards=("gfx90a 64" "gfx1030 32")
if [ "${1:-}" = all ]; then
    chosen=all
    [ -z "${2:-}" ] || mapfile -t cards < <(printf '%s\n' "${cards[@]}" | grep "^$2 ")
fi
if [ "${1:-}" = kernels ]; then
    chosen=modelled
    cards=("gfx90a 64")
    grep -E -f "$here/tests/modelled.grep" "$work/all" >"$work/modelled"
fi
# Parts of the list are compiled at the same time. Neighboring lines differ in the number type, of which there are four.
split --number=r/5 --additional-suffix=.h "$work/$chosen" "$work/part-"

# A thread block has at most 256 threads, so a thread may use more registers than in blocks of 1024. Products and sums are fused
# only where the kernels say so.
compile() {
    local card=$1 wave=$2 part=$3 code="$work/$1-$(basename "$3" .h)"
    hipcc --offload-arch="$card" --cuda-device-only -S -std=c++17 -O3 -ffp-contract=off --gpu-max-threads-per-block=256 \
        -Wno-unused-command-line-argument -DINSTANCES="\"$part\"" -o "$code.s" "$here/kernels/kernels.cu" >"$code.said" 2>&1 ||
        { cat "$code.said"; echo "FAILED: $card"; return 1; }
    # The metadata at the end of the code describe each kernel. Every instance must have one, with waves of the right size.
    awk -v card="$card" -v wave="$wave" -F '[(,: ]+' '
        FNR == NR { missing[$2]; next }
        /\.amdhsa_kernel/ { kernel = $2 }
        $2 == "Occupancy" { waves[kernel] = $3 }
        { sub(/- /, "") }
        /^ +(- )?\.[a-z_]+:/ { value[$2] = $3 }
        $2 == ".wavefront_size" {
            name = value[".name"]
            delete missing[substr(name, index(name, "_") + 1)]
            printf "%s %s: %d VGPR, %d AGPR, %d SGPR, %d B shared, %d B scratch, %d spilled, %d waves\n", card, name, value[".vgpr_count"],
                value[".agpr_count"], value[".sgpr_count"], value[".group_segment_fixed_size"], value[".private_segment_fixed_size"],
                value[".vgpr_spill_count"], waves[name]
            if ($3 != wave) { print "FAILED: " card ": " name " has waves of " $3 " lanes"; failed = 1 }
        }
        END { for (instance in missing) { print "FAILED: " card ": no kernel for " instance; failed = 1 }; exit failed }' \
        "$part" "$code.s" | tee "$code.kernels"
}
export -f compile
export work here
for part in "$work"/part-*.h; do printf "%s $part\n" "${cards[@]}"; done |
    xargs -P "$(nproc)" -L 1 bash -c 'set -o pipefail; compile "$0" "$@"'
if [ "${1:-}" = kernels ]; then
    for code in "$work"/*.s; do python3 "$here/../../benches/gpu/kernels_amd.py" "${code%.s}.kernels" "$code"; done >"$2"
fi
for card in "${cards[@]}"; do
    awk -v card="${card% *}" '$1 == card {
            kernels++
            scratch += $12 > 0
            spilling += $15 > 0
            if ($3 > most) { most = $3; name = $2 }
        }
        END { printf "%s: %d kernels, %d spill registers, %d use scratch memory, at most %d vector registers (%s)\n", card, kernels, spilling,
            scratch, most, substr(name, 1, length(name) - 1) }' "$work"/*.kernels
done
echo "$(cat "$work"/*.kernels | wc -l) passed: kernels compiled for AMD GPUs ($(printf '%s\n' "${cards[@]% *}" | paste -sd ' ' | sed 's/ /, /g'))"
