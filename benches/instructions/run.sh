#!/usr/bin/env bash
# Counts the instructions per unknown of verified solves in double precision on one thread, for each instruction set that QEMU knows. The number
# does not depend on this machine. It depends on the compiler. The problems: crates/bandsolve-demo/examples/instructions.rs.
#
# usage: benches/instructions/run.sh [aarch64 | x86_64]      both if no processor is named
#
# Needs a C compiler, rustup's target of the processor and, on Debian or Ubuntu, the package qemu-user; for aarch64 also gcc-aarch64-linux-gnu and
# libc6-dev-arm64-cross.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc -shared -fPIC benches/instructions/count.c -o "$work/count.so"

# The instructions of the program with so many solves.
count() {
    BANDSOLVE_SIMD=$simd "${emulator[@]}" -plugin "$work/count.so" -d plugin "$program" "$problem" "$1" 2>"$work/counted" >"$work/said"
    grep -q "with $simd\$" "$work/said" || { cat "$work/said" "$work/counted" >&2 && return 1; }
    tail -n 1 "$work/counted"
}

[ $# -gt 0 ] || set -- aarch64 x86_64
for processor; do
    case $processor in
        aarch64) emulator=(qemu-aarch64 -L /usr/aarch64-linux-gnu) simds=(neon portable) ;;
        x86_64) emulator=(qemu-x86_64 -cpu max) simds=(avx2 portable) ;;
        *) echo "usage: $0 [aarch64 | x86_64]" >&2 && exit 2 ;;
    esac
    target=$processor-unknown-linux-gnu
    CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc \
        cargo build --release --quiet -p bandsolve-demo --example instructions --target "$target"
    program=${CARGO_TARGET_DIR:-target}/$target/release/examples/instructions
    for simd in "${simds[@]}"; do
        for problem in rpts factored batch; do
            few=$(count 2) many=$(count 6)
            awk -v simd="$processor $simd $problem" -v d="$((many - few))" 'BEGIN { printf "%-26s %6.1f instructions per unknown\n", simd, d / 4 / 65536 }'
        done
    done
done
