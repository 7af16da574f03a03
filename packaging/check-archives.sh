#!/usr/bin/env bash
# Unpack release archives of this platform and use them as a reader of README.txt does: run the program, and compile a C program with pkg-config.
#
# usage: check-archives.sh FOLDER      every archive in the folder
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
check() {
    "$@" >"$work/out" 2>&1 || { cat "$work/out"; echo "FAILED: $*"; exit 1; }
    passed=$((passed + 1))
}
# A line of the last output.
says() {
    grep -q "$1" "$work/out" || { cat "$work/out"; echo "FAILED: expected $1"; exit 1; }
    passed=$((passed + 1))
}
# Texts that every archive has.
licences() { for file in README.txt LICENSE-MIT LICENSE-APACHE LICENSE-THIRD-PARTY; do check test -s "$1/$file"; done; }

program() {
    local program=$1/bandsolve
    [ -x "$program" ] || program=$1/bandsolve.exe
    licences "$1"
    # The font of pictures.
    check grep -q "DejaVu" "$1/LICENSE-THIRD-PARTY"
    check "$program" --version
    says "^bandsolve $version"
    check "$program" generate diffusion 1000 --out "$work/A.mtx"
    check "$program" solve "$work/A.mtx" --out "$work/x.mtx"
    # A page for each command, and completions that name the commands.
    for command in "" -solve -bench-tridiagonal; do check test -s "$1/man/man1/bandsolve$command.1"; done
    for script in bandsolve.bash bandsolve.fish _bandsolve _bandsolve.ps1 bandsolve.elv; do check grep -q stability "$1/completions/$script"; done
    check bash -n "$1/completions/bandsolve.bash"
}

library() {
    licences "$1"
    # shellcheck disable=SC2016 # backticks of Markdown
    sed -n '/^```c$/,/^```$/p' "$root/crates/bandsolve-capi/README.md" | sed '/^```/d' >"$work/program.c"
    export PKG_CONFIG_PATH=$1/lib/pkgconfig LD_LIBRARY_PATH=$1/lib DYLD_LIBRARY_PATH=$1/lib
    if command -v pkg-config >/dev/null; then
        # pkg-config quotes words for the shell.
        eval "flags=($(pkg-config --cflags --libs bandsolve))"
    else
        flags=(-I"$1/include" -L"$1/lib" -lbandsolve)
    fi
    check cc "$work/program.c" "${flags[@]}" -o "$work/program"
    check "$work/program"
    says "^1 2 3 4 5$"
    check test -s "$1/lib/libbandsolve.a"
    check test -s "$1/lib/cmake/bandsolve/bandsolveConfig.cmake"
}

version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
for archive in "$(cd "$1" && pwd)"/bandsolve-*; do
    name=$(basename "$archive")
    case $name in
    *.zip) name=${name%.zip} && (cd "$work" && 7z x -bso0 "$archive") ;;
    *) name=${name%.tar.gz} && tar -xzf "$archive" -C "$work" ;;
    esac
    # The folder is moved: the files must not contain the place where they were made.
    mv "$work/$name" "$work/moved $name"
    case $name in
    bandsolve-c-*) library "$work/moved $name" ;;
    *) program "$work/moved $name" ;;
    esac
done
echo "release archives: $passed passed"
