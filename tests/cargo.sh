#!/usr/bin/env bash
# cargo as `./test` calls it: the whole workspace, always with the same features, so that each crate is compiled once; optimised like
# what is shipped, and sharing with it all that is not checked otherwise (tests/checked.toml). The Python package knows emulated devices.
#
# usage: tests/cargo.sh build|test ARGUMENTS
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
exec cargo "$1" --release --config tests/checked.toml --workspace --features bandsolve-python/emulator "${@:2}"
