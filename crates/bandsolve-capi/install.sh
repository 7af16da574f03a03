#!/usr/bin/env bash
# Install the headers, the source of the Fortran module, libraries, pkg-config file and CMake package of the C API.
#
# usage: PREFIX=/usr/local ./install.sh        builds with optimization and installs under PREFIX
#        DESTDIR=…                             is prepended to every path, for packages
#        LIBDIR=lib/x86_64-linux-gnu           instead of lib: a folder in PREFIX, or an absolute path below PREFIX
#        PROFILE=dev                           installs the development build
#        FEATURES=cuda                         with the functions for GPUs and their header
#        BUILT=target/debug                    builds nothing and installs the files in this folder
set -euo pipefail
fail() { echo "install.sh: $*" >&2 && exit 2; }

here=$(cd "$(dirname "$0")" && pwd)
# In the repository, the workspace has the version and the build folder. A packaged crate has its own.
root=$(cd "$here/../.." && pwd)
grep -q '"crates/bandsolve-capi"' "$root/Cargo.toml" 2>/dev/null || root=$here
version=$(sed -n '/^\[\(workspace\.\)\{0,1\}package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
# The compatible versions: before 1.0 a new minor version may break callers. `build.rs` has the same rule.
case $version in
0.*) compatible=$(cut -d . -f 1,2 <<<"$version") ;;
*) compatible=${version%%.*} ;;
esac

prefix=${PREFIX:-/usr/local}
case $prefix in /*) ;; *) prefix=$PWD/$prefix ;; esac
prefix=${prefix%"${prefix##*[!/]}"}
libdir=${LIBDIR:-lib}
case $libdir in
"$prefix"/*) libdir=${libdir#"$prefix"/} ;;
/*) fail "LIBDIR=$libdir is not below PREFIX=$prefix" ;;
esac
libdir=${libdir%"${libdir##*[!/]}"}
# These characters have a special meaning in pkg-config files or CMake.
case $prefix/$libdir/ in
*[\"\'\\\$\#\;\|]* | *$'\n'*) fail "PREFIX and LIBDIR must not contain quotes, \\ \$ # ; | or a line break" ;;
*/../* | */./*) fail "PREFIX and LIBDIR must not contain . or .. as a folder" ;;
esac
to=${DESTDIR:-}$prefix
# The relative path from the folder of the CMake package to PREFIX.
up=../..$(sed 's|[^/][^/]*/*|/..|g' <<<"$libdir")

profile=${PROFILE:-release}
target=${CARGO_TARGET_DIR:-$root/target}
[ "$profile" = dev ] && built=$target/debug || built=$target/$profile
if [ -n "${BUILT:-}" ]; then
    built=$BUILT
else
    (cd "$root" && cargo build --quiet --profile "$profile" -p bandsolve-capi ${FEATURES:+--features "$FEATURES"})
fi

mkdir -p "$to/include" "$to/$libdir/pkgconfig" "$to/$libdir/cmake/bandsolve"
install -m 644 "$here/include/bandsolve.h" "$here/include/bandsolve.f90" "$to/include/"
case ,${FEATURES:-}, in *,cuda,*) install -m 644 "$here/include/bandsolve_gpu.h" "$to/include/" ;; esac
install -m 644 "$built/libbandsolve_capi.a" "$to/$libdir/libbandsolve.a"
# The libraries that a program needs in addition to the static library, from `rustc --print native-static-libs`. The compiler adds the library
# for stack unwinding, static or shared.
case $(uname -s) in
Darwin)
    shared=libbandsolve.$compatible.dylib
    system="-liconv -lSystem -lc -lm"
    install -m 755 "$built/libbandsolve_capi.dylib" "$to/$libdir/$shared"
    ln -sf "$shared" "$to/$libdir/libbandsolve.dylib"
    ;;
*)
    shared=libbandsolve.so.$version
    system="-lutil -lrt -lpthread -lm -ldl"
    install -m 755 "$built/libbandsolve_capi.so" "$to/$libdir/$shared"
    ln -sf "$shared" "$to/$libdir/libbandsolve.so.$compatible"
    ln -sf "libbandsolve.so.$compatible" "$to/$libdir/libbandsolve.so"
    ;;
esac

literally() { sed 's/[&|\\]/\\&/g' <<<"$1"; } # in the replacement of sed
fill() { # template, target
    sed -e "s|@PREFIX@|$(literally "$prefix")|g" -e "s|@LIBDIR@|$(literally "$libdir")|g" -e "s|@UP@|$up|g" -e "s|@VERSION@|$version|g" \
        -e "s|@COMPATIBLE@|$compatible|g" -e "s|@SHARED@|$shared|g" -e "s|@SYSTEM@|$system|g" -e "s|@SYSTEM_LIST@|${system// /;}|g" \
        "$1" >"$2"
    chmod 644 "$2"
}
fill "$here/package/bandsolve.pc.in" "$to/$libdir/pkgconfig/bandsolve.pc"
fill "$here/package/bandsolveConfig.cmake.in" "$to/$libdir/cmake/bandsolve/bandsolveConfig.cmake"
fill "$here/package/bandsolveConfigVersion.cmake.in" "$to/$libdir/cmake/bandsolve/bandsolveConfigVersion.cmake"
echo "bandsolve $version installed in $to"
