#!/usr/bin/env bash
# Runs the fuzz targets: random inputs, guided by the code that they reach, with AddressSanitizer.
#
# usage: fuzz/run.sh               every target for a minute
#        fuzz/run.sh SECONDS       every target for this long
#        fuzz/run.sh missing       print what is not installed, one word per line
#
# Needs a nightly compiler of rustup and cargo-fuzz. An input that fails is in fuzz/artifacts. `cargo +nightly fuzz tmin` makes it smaller.
set -euo pipefail
cd "$(dirname "$0")"
if [ "${1:-}" = missing ]; then
    rustup toolchain list 2>/dev/null | grep -q nightly || echo nightly
    cargo fuzz --version >/dev/null 2>&1 || echo cargo-fuzz
    exit
fi
seconds=${1:-60}
inputs=$(mktemp -d)
trap 'rm -rf "$inputs"' EXIT
for target in read_files solve_systems; do
    mkdir -p "$inputs/$target" "corpus/$target"
    cargo +nightly fuzz run --fuzz-dir . "$target" "$inputs/$target" "corpus/$target" -- \
        -max_total_time="$seconds" -max_len=1024 -len_control=0 -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 2>&1 | tail -n 12
    echo "1 passed: fuzz target $target for $seconds s"
done
