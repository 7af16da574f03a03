#!/usr/bin/env bash
# cargo as `./test` calls it: the whole workspace, always with the same features, so that each crate is compiled once; optimised like
# what is shipped, and sharing with it all that is not checked otherwise (tests/checked.toml). Programs and libraries know GPUs; the
# Python package also knows emulated ones.
# The crates over MPI are left out where MPI is not installed.
#
# usage: tests/cargo.sh build|test ARGUMENTS
#        tests/cargo.sh members      options of cargo that name these crates
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
members=(--workspace)
command -v mpicc >/dev/null || members+=(--exclude bandsolve-mpi --exclude bandsolve-mpi-capi)
if [ "$1" = members ]; then
    echo "${members[@]}"
    exit
fi
exec cargo "$1" --release --config tests/checked.toml "${members[@]}" --features bandsolve-cli/cuda,bandsolve-capi/cuda,bandsolve-python/emulator "${@:2}"
