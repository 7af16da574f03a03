#!/usr/bin/env bash
# Installs NVIDIA's compilers, from their Python packages, in a folder, and prints where they are. Needs python3 with venv; takes
# 0.6 GB.
set -euo pipefail
folder=$1
if ! python3 -m venv "$folder/venv" >/dev/null 2>&1 && [ "$(id -u)" = 0 ]; then
    apt-get install -y --no-install-recommends python3-venv >/dev/null 2>&1 ||
        { apt-get update && apt-get install -y --no-install-recommends python3-venv; } >/dev/null
    python3 -m venv "$folder/venv" >/dev/null
fi
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 \
    nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-nvrtc==13.0.88 >&2
echo "$folder"/venv/lib/python3*/site-packages/nvidia/cu13
