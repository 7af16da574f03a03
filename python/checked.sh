#!/usr/bin/env bash
# Builds the package `bandsolve` into a folder, with the compiled part of the checked build, which knows emulated devices.
#
# usage: checked.sh FOLDER
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
"$root/tests/cargo.sh" build --quiet --lib --bins --test conformance
mkdir -p "$1"
cp -r "$root/python/bandsolve" "$1/"
cp "${CARGO_TARGET_DIR:-$root/target}/release/lib_bandsolve.so" "$1/bandsolve/_bandsolve.abi3.so"
