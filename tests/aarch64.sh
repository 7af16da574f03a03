#!/usr/bin/env bash
# Compiles the kernels and solvers for 64-bit ARM processors, and tests them under emulation (QEMU), with NEON and with the portable vectors.
#
# usage: tests/aarch64.sh            unit tests of the kernels, and a few solves: what ./test runs, in about three minutes
#        tests/aarch64.sh all        all unit tests of bandsolve-kernel and bandsolve, and the conformance suite of all methods on lanes: an hour
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
# QEMU 7.2 aborts a forked process that starts a thread.
forks=(--skip threads_of_the_library_end_and_start_again --skip a_forked_process_has_threads_of_its_own)

cargo clippy --release --quiet -p bandsolve-kernel --all-targets --target "$target" -- -D warnings
if [ "${1:-}" = all ]; then
    for BANDSOLVE_SIMD in neon portable; do
        run_tests -p bandsolve-kernel -p bandsolve --lib -- "${forks[@]}"
        run_tests -p bandsolve --test conformance -- Rpts:: batch banded SpikeDiagonalPivoting SpikeThomas SpikeTruncated SpikeQr
    done
    exit
fi
for BANDSOLVE_SIMD in neon portable; do
    run_tests -p bandsolve-kernel --lib -- "${forks[@]}"
    # This program fails if an answer needs a repair. It has one number type, so its build takes a minute.
    for problem in rpts factored batch; do
        cargo run --release --quiet -p bandsolve-demo --example instructions --target "$target" -- "$problem" 1
        echo "1 passed: $problem with $BANDSOLVE_SIMD on an emulated ARM processor"
    done
done
