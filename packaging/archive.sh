#!/usr/bin/env bash
# Make a release archive from a program or libraries that are already built.
#
# usage: archive.sh program BUILT TARGET OUT     the program, completions, manual pages and licences
#        archive.sh c BUILT TARGET OUT           headers, shared and static library, files for pkg-config and CMake, licences
#
#   BUILT     the folder of the program or the libraries, built with the feature `cuda`, such as target/release
#   TARGET    the platform in the name of the archive, such as x86_64-unknown-linux-gnu; a zip file for Windows
#   OUT       the folder of the archive, bandsolve[-c]-VERSION-TARGET.tar.gz
set -euo pipefail
fail() { echo "archive.sh: $*" >&2 && exit 2; }

[ $# = 4 ] || fail "4 arguments expected: program or c, BUILT, TARGET, OUT"
kind=$1 built=$2 target=$3 out=$4
root=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out"
out=$(cd "$out" && pwd)

case $kind in
program)
    crate=bandsolve-cli name=bandsolve-$version-$target
    folder=$work/$name
    suffix=
    case $target in *windows*) suffix=.exe ;; esac
    mkdir -p "$folder/completions" "$folder/man/man1"
    cp "$built/bandsolve$suffix" "$folder/"
    program=$folder/bandsolve$suffix
    # The names under which the shells look for them.
    "$program" completions bash >"$folder/completions/bandsolve.bash"
    "$program" completions fish >"$folder/completions/bandsolve.fish"
    "$program" completions zsh >"$folder/completions/_bandsolve"
    "$program" completions powershell >"$folder/completions/_bandsolve.ps1"
    "$program" completions elvish >"$folder/completions/bandsolve.elv"
    "$program" man --out "$folder/man/man1"
    ;;
c)
    crate=bandsolve-capi name=bandsolve-c-$version-$target
    folder=$work/$name
    FEATURES=cuda BUILT=$(cd "$built" && pwd) PREFIX=/usr/local DESTDIR=$work/installed "$root/crates/bandsolve-capi/install.sh" >/dev/null
    mv "$work/installed/usr/local" "$folder"
    # Users unpack the archive anywhere, so the file must find the libraries from its own place. pkg-config puts backslashes before the spaces
    # of this place, which must then not be in quotes.
    # shellcheck disable=SC2016 # ${pcfiledir} is a variable of pkg-config
    sed -e 's|^prefix=.*|prefix=${pcfiledir}/../..|' -e '/^[LC]/s/"//g' "$folder/lib/pkgconfig/bandsolve.pc" >"$work/pc"
    cp "$work/pc" "$folder/lib/pkgconfig/bandsolve.pc"
    ;;
*) fail "$kind: expected program or c" ;;
esac

cp "$root/packaging/$kind.txt" "$folder/README.txt"
cp "$root/LICENSE-MIT" "$root/LICENSE-APACHE" "$folder/"
python3 "$root/packaging/licences.py" "$crate" cuda >"$folder/LICENSE-THIRD-PARTY"

case $target in
*windows*)
    archive=$out/$name.zip
    rm -f "$archive"
    (cd "$work" && 7z a -bso0 "$archive" "$name")
    ;;
*)
    archive=$out/$name.tar.gz
    tar -czf "$archive" -C "$work" "$name"
    ;;
esac
echo "$archive"
