#!/usr/bin/env bash
# The README's Rust program, as `cargo run` of a user compiles it: without optimisation, and on threads with 2 MB of stack.
#
# usage: unoptimised.sh
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/src"
sed -n '/^```rust$/,/^```$/p' "$root/README.md" | sed '/^```/d' >"$work/src/main.rs"
cat >"$work/Cargo.toml" <<END
[package]
name = "user"
version = "0.1.0"
edition = "2024"
[dependencies]
bandsolve = { path = "$root/crates/bandsolve", default-features = false }
[workspace]
END
# The versions of the dependencies are those of the workspace.
cp "$root/Cargo.lock" "$work/"
expected=$(sed -n 's|.*println.*// ||p' "$work/src/main.rs")
printed=$(cd "$work" && CARGO_TARGET_DIR=$work/target cargo run --quiet)
if [ "$printed" != "$expected" ]; then
    echo "FAILED: a program without optimisation prints '$printed', expected '$expected'"
    exit 1
fi
echo "1 passed: a program without optimisation"
