#!/usr/bin/env bash
# Compiles the kernels and the library for 64-bit ARM processors, and runs a part of their tests under emulation (QEMU), with NEON and with the
# portable vectors.
#
# usage: tests/aarch64.sh            the part that ./test runs
#        tests/aarch64.sh all        all unit tests of bandsolve-kernel and bandsolve, and the conformance suite of all methods on lanes
#        tests/aarch64.sh missing    print what is not installed, one word per line
#
# Needs the target aarch64-unknown-linux-gnu of rustup and, on Debian or Ubuntu, the packages gcc-aarch64-linux-gnu, libc6-dev-arm64-cross and
# qemu-user.
set -euo pipefail
cd "$(dirname "$0")/.."
target=aarch64-unknown-linux-gnu
library=/usr/aarch64-linux-gnu
if [ "${1:-}" = missing ]; then
    for program in aarch64-linux-gnu-gcc qemu-aarch64; do command -v "$program" >/dev/null || echo "$program"; done
    [ -e "$library/include/stdio.h" ] || echo "$library"
    [ -e "$(rustc --print sysroot)/lib/rustlib/$target" ] || echo "$target"
    exit
fi
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER="qemu-aarch64 -L $library"
export BANDSOLVE_SIMD
run_tests() { cargo test --release --config tests/checked.toml --target "$target" --no-fail-fast "$@"; }
# The conformance suite needs the other crates of the workspace only as tools, so they are compiled quickly.
suite() {
    local quick=()
    for crate in bandsolve-sparse bandsolve-testkit; do quick+=(--config "profile.release.package.$crate.opt-level=1"); done
    run_tests "${quick[@]}" -p bandsolve --test conformance -- "$@"
}

cargo clippy --release --quiet -p bandsolve-kernel --all-targets --target "$target" -- -D warnings
if [ "${1:-}" = all ]; then
    for BANDSOLVE_SIMD in neon portable; do
        run_tests -p bandsolve-kernel -p bandsolve --lib
        suite Rpts:: batch banded SpikeDiagonalPivoting SpikeThomas SpikeTruncated SpikeQr
    done
    exit
fi
for BANDSOLVE_SIMD in neon portable; do
    run_tests -p bandsolve-kernel --lib
done
BANDSOLVE_SIMD=neon
suite Rpts:: batch_ --skip ::tables --skip ::partition_rows --skip ::banded
