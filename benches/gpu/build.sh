#!/usr/bin/env bash
# Builds the program that run.sh takes to a machine with a GPU: benches/gpu/bandsolve. Driver, NVRTC and cuSPARSE are opened at
# run time, which a statically linked program cannot do: it needs a glibc, of the version that is printed or later. The kernels are
# compiled here, for cards from 2020 on, so that NVRTC may be missing there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

target=x86_64-unknown-linux-gnu
most=$((60 << 20))
if [ -z "${BANDSOLVE_NVCC:-}" ]; then
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    BANDSOLVE_NVCC=$(crates/bandsolve-gpu/tests/cuda.sh "$work")/bin/nvcc
    export BANDSOLVE_NVCC
fi
CARGO_PROFILE_RELEASE_STRIP=symbols cargo build --release -p bandsolve-cli --target "$target"
cp "${CARGO_TARGET_DIR:-target}/$target/release/bandsolve" "$here/bandsolve"

size=$(stat -c %s "$here/bandsolve")
echo "benches/gpu/bandsolve: $((size >> 20)) MiB; it needs:"
ldd "$here/bandsolve"
echo "glibc: $(objdump -T "$here/bandsolve" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)"
if [ "$size" -gt "$most" ]; then
    echo "FAILED: more than $((most >> 20)) MiB"
    exit 1
fi
