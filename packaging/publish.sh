#!/usr/bin/env bash
# Publish all crates of this version to crates.io, each after the crates that it needs. Crates that are published already are left out, so the
# script can run again after a failure.
#
# usage: CARGO_REGISTRY_TOKEN=… publish.sh [OPTIONS OF cargo publish]      --dry-run uploads nothing
set -euo pipefail
cd "$(dirname "$0")/.."
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
excluded=() left=0
for manifest in crates/*/Cargo.toml; do
    grep -q '^publish = false' "$manifest" && continue
    crate=$(basename "$(dirname "$manifest")")
    if cargo info --quiet --registry crates-io "$crate@$version" >/dev/null 2>&1; then
        excluded+=(--exclude "$crate")
        echo "$crate $version is published already"
    else
        left=$((left + 1))
    fi
done
[ "$left" = 0 ] || cargo publish --workspace --locked "${excluded[@]}" "$@"
