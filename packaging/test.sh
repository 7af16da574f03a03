#!/usr/bin/env bash
# Make the release archives of this machine from programs that are already built, use them, and fill the recipe and the formula in.
#
# usage: test.sh BUILT      the folder of the program and the C library, such as target/release
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
target=$(rustc -vV | sed -n 's/^host: //p')
for kind in program c; do "$here/archive.sh" "$kind" "$1" "$target" "$work" >/dev/null; done
"$here/check-archives.sh" "$work"

# The files of a release, all with one checksum.
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$here/../Cargo.toml")
for name in "" -{aarch64,x86_64}-{apple-darwin,unknown-linux-gnu}; do
    printf '%064d  bandsolve-%s%s.tar.gz\n' 1 "$version" "$name"
done >"$work/SHA256SUMS"
"$here/fill.py" owner/name "$work/SHA256SUMS" "$work" >/dev/null
for file in recipe.yaml bandsolve.rb; do
    if grep -nE '@[A-Z]|fill\.py' "$work/$file"; then echo "FAILED: $file has words that are not replaced"; exit 1; fi
done
# Without one of the files nothing is written.
sed -i.all '/apple/d' "$work/SHA256SUMS"
if "$here/fill.py" owner/name "$work/SHA256SUMS" "$work" >/dev/null 2>&1; then echo "FAILED: a missing checksum is no error"; exit 1; fi
if command -v ruby >/dev/null; then ruby -c "$work/bandsolve.rb" >/dev/null; fi
echo "3 passed: recipe and formula, filled in"
