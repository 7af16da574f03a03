#!/usr/bin/env bash
# Builds the two programs that run.sh takes to a machine with a GPU: benches/gpu/bandsolve and benches/gpu/tests. Driver, NVRTC and
# cuSPARSE are opened at run time, which a statically linked program cannot do: they need a glibc, of the version that is printed or
# later. NVRTC compiles the kernels there. With BANDSOLVE_NVCC, the path of an nvcc, they are compiled here.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

target=x86_64-unknown-linux-gnu
most=$((60 << 20))
export CARGO_PROFILE_RELEASE_STRIP=symbols
cargo build --release -p bandsolve-cli --features cuda --target "$target"
cp "${CARGO_TARGET_DIR:-target}/$target/release/bandsolve" "$here/bandsolve"
tests=$(cargo test --release --config tests/checked.toml -p bandsolve-gpu --test gpu --target "$target" --no-run --message-format=json |
    python3 -c 'import json, sys; print([m["executable"] for m in map(json.loads, sys.stdin) if m.get("executable")][-1])')
cp "$tests" "$here/tests"

for program in bandsolve tests; do
    size=$(stat -c %s "$here/$program")
    echo "benches/gpu/$program: $((size >> 20)) MiB; it needs:"
    ldd "$here/$program"
    echo "glibc: $(objdump -T "$here/$program" | grep -oE 'GLIBC_[0-9.]+' | sort -Vu | tail -n 1)"
    if [ "$size" -gt "$most" ]; then
        echo "FAILED: more than $((most >> 20)) MiB"
        exit 1
    fi
done
