#!/usr/bin/env bash
# Install NVIDIA's compilers from their Python packages in a directory, and print their path. Needs python3 with venv, and 0.6 GB.
set -euo pipefail
folder=$1
"$(dirname "$0")/../../../tests/packages.sh" "$folder/venv" nvidia-cuda-nvcc==13.0.88 nvidia-cuda-crt==13.0.88 \
    nvidia-nvvm==13.0.88 nvidia-cuda-runtime==13.0.96 nvidia-cuda-nvrtc==13.0.88 >&2
echo "$folder"/venv/lib/python3*/site-packages/nvidia/cu13
