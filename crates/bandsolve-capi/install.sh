#!/usr/bin/env bash
# Installs header, libraries, pkg-config file and CMake package of the C API.
#
# usage: PREFIX=/usr/local ./install.sh        builds what is optimised, installs it under PREFIX
#        DESTDIR=…                             is put before every path, for packages
#        LIBDIR=lib64                          instead of lib
#        PROFILE=dev                           installs the development build
#        FEATURES=gpu                          with the functions for GPUs and their header
#        BUILT=target/debug                    builds nothing, installs what stands in this folder
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
prefix=${PREFIX:-/usr/local}
libdir=${LIBDIR:-lib}
profile=${PROFILE:-release}
to=${DESTDIR:-}$prefix

target=${CARGO_TARGET_DIR:-$root/target}
[ "$profile" = dev ] && built=$target/debug || built=$target/$profile
if [ -n "${BUILT:-}" ]; then
    built=$BUILT
else
    (cd "$root" && cargo build --quiet --profile "$profile" -p bandsolve-capi ${FEATURES:+--features "$FEATURES"})
fi
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' "$root/Cargo.toml")
major=${version%%.*}

mkdir -p "$to/include" "$to/$libdir/pkgconfig" "$to/$libdir/cmake/bandsolve"
install -m 644 "$here/include/bandsolve.h" "$to/include/"
case ,${FEATURES:-}, in *,gpu,*) install -m 644 "$here/include/bandsolve_gpu.h" "$to/include/" ;; esac
install -m 644 "$built/libbandsolve_capi.a" "$to/$libdir/libbandsolve.a"
# What `rustc --print native-static-libs` says that a program needs beside the static library.
case $(uname -s) in
Darwin)
    shared=libbandsolve.$major.dylib
    system="-liconv -lSystem -lc -lm"
    install -m 755 "$built/libbandsolve_capi.dylib" "$to/$libdir/$shared"
    ln -sf "$shared" "$to/$libdir/libbandsolve.dylib"
    ;;
*)
    shared=libbandsolve.so.$version
    system="-lgcc_s -lutil -lrt -lpthread -lm -ldl -lc"
    install -m 755 "$built/libbandsolve_capi.so" "$to/$libdir/$shared"
    ln -sf "$shared" "$to/$libdir/libbandsolve.so.$major"
    ln -sf "libbandsolve.so.$major" "$to/$libdir/libbandsolve.so"
    ;;
esac

fill() { # template, target
    sed -e "s|@PREFIX@|$prefix|g" -e "s|@LIBDIR@|$libdir|g" -e "s|@VERSION@|$version|g" -e "s|@MAJOR@|$major|g" \
        -e "s|@SHARED@|$shared|g" -e "s|@SYSTEM@|$system|g" -e "s|@SYSTEM_LIST@|${system// /;}|g" "$1" >"$2"
    chmod 644 "$2"
}
fill "$here/package/bandsolve.pc.in" "$to/$libdir/pkgconfig/bandsolve.pc"
fill "$here/package/bandsolveConfig.cmake.in" "$to/$libdir/cmake/bandsolve/bandsolveConfig.cmake"
fill "$here/package/bandsolveConfigVersion.cmake.in" "$to/$libdir/cmake/bandsolve/bandsolveConfigVersion.cmake"
echo "bandsolve $version installed in $to"
