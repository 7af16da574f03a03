#!/usr/bin/env bash
# Compiles the kernels with NVIDIA's own compiler, from its Python packages, for two generations of cards: no kernel may spill
# registers. Needs python3 with venv; takes 0.5 GB in a temporary folder.
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! python3 -m venv "$work/venv" >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    apt-get install -y --no-install-recommends python3-venv >/dev/null 2>&1 ||
        { apt-get update && apt-get install -y --no-install-recommends python3-venv; } >/dev/null
    python3 -m venv "$work/venv"
fi
"$work/venv/bin/pip" install --quiet --disable-pip-version-check \
    nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96
nvcc=$(echo "$work"/venv/lib/python3*/site-packages/nvidia/cu13/bin/nvcc)

passed=0
for card in sm_80 sm_90; do
    "$nvcc" -std=c++17 -arch="$card" --fmad=false -Xptxas -v -cubin -o "$work/kernels.cubin" \
        "$here/kernels/kernels.cu" >"$work/said" 2>&1 || { cat "$work/said"; echo "FAILED: $card"; exit 1; }
    kernels=$(grep -c "Compiling entry function" "$work/said")
    clean=$(grep -c " 0 bytes spill stores, 0 bytes spill loads" "$work/said")
    if [ "$kernels" = 0 ] || [ "$kernels" != "$clean" ]; then
        cat "$work/said"
        echo "FAILED: $card: $clean of $kernels kernels without spills"
        exit 1
    fi
    passed=$((passed + kernels))
done
echo "$passed passed: kernels compiled for sm_80 and sm_90, no register spilled"
