#!/usr/bin/env bash
# Run LAPACK's test programs with a library loaded before LAPACK: the paths GB, GT, PB, PT and EQ in all four precisions, with the default
# settings and with another one. Fails unless every path passes and every routine comes from the library.
#
# usage: lapack-test.sh [LIBRARY [LETTERS [SETTING [ROUTINES]]]]
#        LIBRARY      default: build and test the development version of liblapack_bandsolve.so
#        LETTERS      the precisions, default: "s d c z"
#        SETTING      an environment variable with its value, default: BANDSOLVE_FORCE_PARTITION=4, very small partitions
#        ROUTINES     names without the first letter; each must come from the library; default: all of liblapack_bandsolve.so
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../.." && pwd)

programs() { ls -d /usr/lib/*/lapack /usr/lib/lapack 2>/dev/null | while read -r d; do [ -x "$d/xlintstd" ] && echo "$d"; done | head -1; }
at=$(programs || true)
if [ -z "$at" ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get install -y --no-install-recommends liblapack-test >/dev/null 2>&1 ||
        { apt-get update && apt-get install -y --no-install-recommends liblapack-test; } >/dev/null 2>&1 || true
    at=$(programs || true)
fi
if [ -z "$at" ]; then
    echo "1 skipped: LAPACK's test programs are not installed (Debian and Ubuntu: apt-get install liblapack-test)"
    exit 0
fi

library=${1:-}
if [ -z "$library" ]; then
    "$root/tests/cargo.sh" build --quiet --lib --bins --test conformance
    library=${CARGO_TARGET_DIR:-$root/target}/release/liblapack_bandsolve.so
fi
[ -f "$library" ] || { echo "no such library: $library"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export RUST_BACKTRACE=0
paths=(GB GT PB PT)
setting=${3:-BANDSOLVE_FORCE_PARTITION=4}
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# Sizes up to the maximum of the programs (132), so that partitions and blocks have neighbors.
input() {
    cat <<END
Linear equations, banded and tridiagonal
9                      Number of values of M
0 1 2 3 5 10 50 97 132 Values of M
9                      Number of values of N
0 1 2 3 5 10 50 97 132 Values of N
3                      Number of values of NRHS
1 2 15                 Values of NRHS
5                      Number of values of NB
1 3 3 3 20             Values of NB
1 0 5 9 1              Values of NX
3                      Number of values of RANK
30 50 90               Values of rank
30.0                   Threshold value of test ratio
T                      Put T to test the LAPACK routines
T                      Put T to test the driver routines
T                      Put T to test the error exits
${1}GB    8               all types
${1}GT   12               all types
${1}PB    8               all types
${1}PT   12               all types
${1}EQ
END
}

# The symbols of one precision that the programs must find in the library.
wanted() { # letter, routines
    local norms="langt langb lanst lansb"
    [[ $1 == [cz] ]] && norms="langt langb lanht lanhb"
    for name in ${2:-gtsv gttrf gttrs gtcon gtrfs gtsvx ptsv pttrf pttrs ptcon ptrfs ptsvx gbsv gbtrf gbtrs gbcon gbrfs gbsvx \
        gbequ pbsv pbtrf pbtrs pbcon pbrfs pbsvx pbequ $norms}; do
        echo "$1${name}_"
    done
}

# Test one precision in a separate directory.
check() { # letter, setting, routines
    local letter=$1 upper=${1^^} own=$work/$1.$2 run="$1, ${2:-default settings}"
    mkdir "$own"
    input "$upper" >"$own/in"
    environment=(LD_PRELOAD="$library")
    [ -z "$2" ] || environment+=("$2")
    env LD_DEBUG=bindings LD_DEBUG_OUTPUT="$own/bindings" "${environment[@]}" "$at/xlintst$letter" \
        <"$own/in" >"$own/out" 2>&1 || fail "$run: the program ended with code $?"
    cat "$own"/bindings.* 2>/dev/null | grep -aF "$at/xlintst$letter [0] to $library" |
        grep -aoE "\`[a-z0-9]+_'" | tr -d "\`'" | sort -u >"$own/bound" || true
    missing=$(comm -23 <(wanted "$letter" "$3" | sort) "$own/bound" | tr '\n' ' ')
    [ -z "$missing" ] || fail "$run: not bound to the library: $missing"
    if grep -aE "fail|did not|panicked|exceed|\*\*\*|End of file|rror:" "$own/out" | head -20; then
        fail "$run: the lines above"
    fi
    for path in "${paths[@]}"; do
        for line in "All tests for $upper$path routines passed the threshold" \
            "All tests for $upper$path drivers  passed the threshold" \
            "$upper$path routines passed the tests of the error exits" \
            "$upper$path drivers passed the tests of the error exits"; do
            grep -aqF "$line" "$own/out" || fail "$run: no line '$line'"
        done
    done
    grep -aqF "All tests for ${upper}EQ routines passed the threshold" "$own/out" ||
        fail "$run: no line for ${upper}EQ"
    count=$(grep -aoE "\( *[0-9]+ tests run\)" "$own/out" | grep -oE "[0-9]+" | awk '{ n += $1 } END { print n + 0 }')
    echo "xlintst$run: $count tests, $(wc -l <"$own/bound") symbols bound to the library"
    exit "$failures"
}

# Run one process per processor.
processes=()
for letter in ${2:-s d c z}; do
    for chosen in "" "$setting"; do
        while [ "$(jobs -r | wc -l)" -ge "$(nproc)" ]; do wait -n || true; done
        (check "$letter" "$chosen" "${4:-}") >"$work/said.$letter.$chosen" 2>&1 &
        processes+=("$!:$letter.$chosen")
    done
done
for process in "${processes[@]}"; do
    wait "${process%%:*}" || failures=$((failures + 1))
    cat "$work/said.${process#*:}"
done
total=$(cat "$work"/said.* | grep -oE "[0-9]+ tests," | awk '{ n += $1 } END { print n + 0 }')
[ "$total" -gt 0 ] || fail "no test ran"
if [ "$failures" -gt 0 ]; then
    echo "$failures failures"
    exit 1
fi
echo "LAPACK's test programs: $total tests passed, none failed"
