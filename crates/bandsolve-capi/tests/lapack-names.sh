#!/usr/bin/env bash
# Run LAPACK's test programs with the C functions that have LAPACK's names: `lapack_wrapper.c` defines LAPACK's symbols with them. The second
# run uses the method rpts where it applies. Fails unless every path passes and every symbol comes from the wrapper.
#
# usage: lapack-names.sh [LIBRARY [LETTERS]]     without LIBRARY, build and test the development version
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
root=$(cd "$here/../.." && pwd)

if ! command -v gcc >/dev/null && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    { apt-get install -y --no-install-recommends gcc || { apt-get update && apt-get install -y --no-install-recommends gcc; }; } >/dev/null 2>&1 || true
fi
if ! command -v gcc >/dev/null; then
    echo "1 skipped: LAPACK's test programs with the C API, gcc is not installed (Debian and Ubuntu: apt-get install gcc)"
    exit 0
fi

library=${1:-}
if [ -z "$library" ]; then
    "$root/tests/cargo.sh" build --quiet --lib --bins --test conformance
    library=${CARGO_TARGET_DIR:-$root/target}/release/libbandsolve_capi.so
fi
[ -f "$library" ] || { echo "no such library: $library"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
# The loader looks for the name of the installed library.
ln -s "$(realpath "$library")" "$work/$(readelf -d "$library" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')"
gcc -std=c99 -Wall -Wextra -Werror -pedantic -O1 -g -shared -fPIC -I"$here/include" "$here/tests/lapack_wrapper.c" "$library" -ldl \
    -Wl,-rpath,"$work" -o "$work/wrapper.so"

routines="gtsv gttrf gttrs gtcon gbsv gbtrf gbtrs gbcon ptsv pttrf pttrs ptcon pbsv pbtrf pbtrs pbcon"
"$root/crates/bandsolve-lapack/tests/lapack-test.sh" "$work/wrapper.so" "${2:-s d c z}" BANDSOLVE_WRAPPER_METHOD=rpts "$routines" | tee "$work/log"
runs=$(grep -cE "^xlintst.* [1-9][0-9]* tests" "$work/log" || true)
if [ "$runs" -gt 0 ]; then
    echo "The C functions with LAPACK's names: $runs passed"
else
    grep -q "skipped" "$work/log" || { echo "FAILED: no test ran"; exit 1; }
fi
