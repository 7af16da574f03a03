#!/usr/bin/env bash
# Install the C API into a temporary folder, compile C and C++ programs with pkg-config (shared and static) and CMake, and run them, also under
# valgrind if it is installed. Run the functions for GPUs on the emulated GPU.
#
# usage: c-example.sh [PROFILE]     default: dev
set -euo pipefail
here=$(cd "$(dirname "$0")/.." && pwd)
root=$(cd "$here/../.." && pwd)
profile=${1:-release}

tools=(gcc g++ clang gfortran cmake make pkg-config)
missing() { for tool in "${tools[@]}"; do command -v "$tool" >/dev/null || echo "$tool"; done; }
if [ -n "$(missing)" ] && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
    apt-get install -y --no-install-recommends "${tools[@]}" >/dev/null 2>&1 ||
        { apt-get update && apt-get install -y --no-install-recommends "${tools[@]}"; } >/dev/null 2>&1 || true
fi
if [ -n "$(missing)" ]; then
    echo "1 skipped: the C API from C and C++, not here: $(missing | tr '\n' ' ')(Debian and Ubuntu: apt-get install ${tools[*]})"
    exit 0
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
PREFIX=$work/prefix PROFILE=$profile "$here/install.sh"
export PKG_CONFIG_PATH=$work/prefix/lib/pkgconfig LD_LIBRARY_PATH=$work/prefix/lib
passed=0
# An example prints how many checks it passed. Any other program counts as one check.
run() {
    "$@" >"$work/out" 2>&1 || { cat "$work/out"; echo "FAILED: $*"; exit 1; }
    local count
    count=$(grep -oE '^[0-9]+ passed' "$work/out" | grep -oE '[0-9]+' || echo 1)
    passed=$((passed + count))
}
strict=(-Wall -Wextra -Werror -pedantic -O1 -g)
# pkg-config quotes words for the shell.
words() { eval "flags=($(pkg-config "$@"))"; }

# The program in the README.
sed -n '/^```c$/,/^```$/p' "$here/README.md" | sed '/^```/d' >"$work/readme.c"
words --cflags --libs bandsolve
gcc -std=c99 "${strict[@]}" "$work/readme.c" "${flags[@]}" -o "$work/readme"
run "$work/readme"
grep -qx "1 2 3 4 5" "$work/out" || { cat "$work/out"; echo "FAILED: the README's program"; exit 1; }

# The lines in docs/c-api.md before the program for GPUs.
{
    printf '#include <bandsolve.h>\n#include <stdlib.h>\n\nint main(void) {\n'
    printf 'enum { n = 5, n_rhs = 1 };\nconst double sub[n] = {0}, diag[n] = {2, 2, 2, 2, 2}, sup[n] = {0}, rhs[n] = {2, 4, 6, 8, 10};\n'
    printf 'double x[n];\n'
    sed '/^## On a GPU/q' "$here/../../docs/c-api.md" | sed -n '/^```c$/,/^```$/p' | sed '/^```/d'
    printf 'free(buffer);\nreturn status || x[4] != 5 || field[5] < 0.9999 || field[5] > 1.0001 || y[0] < 0.9999 || y[1] > 1.0001 || report.backward_error > 1.8e-15;\n}\n'
} >"$work/lines.c"
gcc -std=c99 "${strict[@]}" "$work/lines.c" "${flags[@]}" -o "$work/lines"
run "$work/lines"

gcc -std=c99 "${strict[@]}" "$here/examples/systems.c" "${flags[@]}" -lm -o "$work/shared"
programs=(iterate poisson stepper lapack)
for program in "${programs[@]}"; do
    gcc -std=c99 "${strict[@]}" "$here/examples/$program.c" "${flags[@]}" -lm -o "$work/$program"
done
g++ -std=c++11 "${strict[@]}" "$here/examples/waves.cpp" "${flags[@]}" -o "$work/waves"
# Compile the headers in both languages. The header for GPUs is not installed.
printf '#include <bandsolve.h>\n#include <bandsolve_gpu.h>\n' >"$work/alone"
for language in "gcc -std=c99 -x c" "gcc -std=c11 -x c" "g++ -std=c++11 -x c++" "g++ -std=c++20 -x c++" "clang -std=c99 -x c" "clang++ -std=c++20 -x c++"; do
    IFS=' ' read -r -a compile <<<"$language"
    run "${compile[@]}" "${strict[@]}" -I"$work/prefix/include" -I"$here/include" -fsyntax-only "$work/alone"
done
words --cflags bandsolve
IFS=' ' read -r -a private <<<"$(pkg-config --static --libs-only-l bandsolve)"
static=("$work/prefix/lib/libbandsolve.a" "${private[@]:1}")
gcc -std=c99 "${strict[@]}" "$here/examples/systems.c" "${flags[@]}" "${static[@]}" -o "$work/static"
run "$work/shared"
run "$work/static"
for program in "${programs[@]}" waves; do run "$work/$program"; done
# The same programs by another compiler.
words --cflags --libs bandsolve
for program in systems "${programs[@]}"; do
    clang -std=c99 "${strict[@]}" "$here/examples/$program.c" "${flags[@]}" -lm -o "$work/$program.clang"
    run "$work/$program.clang"
done
clang++ -std=c++11 "${strict[@]}" "$here/examples/waves.cpp" "${flags[@]}" -o "$work/waves.clang"
run "$work/waves.clang"
words --cflags bandsolve
# Fortran, optimised and with all checks at run time.
fortran=(-std=f2018 -Wall -Wextra -Werror -pedantic -g)
for checks in -O2 -fcheck=all; do
    mkdir "$work/module$checks"
    for program in systems stepper; do
        gfortran "${fortran[@]}" "$checks" -J "$work/module$checks" "$work/prefix/include/bandsolve.f90" "$here/examples/$program.f90" \
            "${flags[@]}" -L"$work/prefix/lib" -lbandsolve -o "$work/$program.fortran$checks"
        run "$work/$program.fortran$checks"
    done
done
# The programs of two pages, and their output.
blocks() { awk -v kind="$1" '$0 == "```" kind { inside = 1; next } /^```/ { inside = 0 } inside' "$root/docs/$page"; }
printed() { # title: the block with this title is what the last program printed
    cp "$work/out" "$work/printed"
    run diff <(blocks "text title=\"$1\"") "$work/printed"
}
for page in coming-from/lapack.md how-to/many-systems.md; do
    blocks fortran >"$work/guide.f90"
    gfortran -std=f2018 -Wall -Werror -J "$work/module-O2" "$work/prefix/include/bandsolve.f90" "$work/guide.f90" "${flags[@]}" \
        -L"$work/prefix/lib" -lbandsolve -o "$work/guide.fortran"
    run "$work/guide.fortran"
    printed "the Fortran program"
    blocks c >"$work/guide.c"
    gcc -std=c99 "${strict[@]}" "$work/guide.c" "${flags[@]}" -L"$work/prefix/lib" -lbandsolve -o "$work/guide"
    run "$work/guide"
    printed "the C program"
done
LD_LIBRARY_PATH='' run "$work/static"
if LD_LIBRARY_PATH='' "$work/shared" >/dev/null 2>&1; then echo "FAILED: not linked to the shared library"; exit 1; fi

# The library contains every function that the headers declare.
same_functions() { # prefix
    grep -ohE 'bandsolve[A-Za-z0-9_]+\(' "$1"/include/*.h | tr -d '(' | sort -u >"$work/declared"
    nm -D --defined-only "$1/lib/libbandsolve.so" | awk '{ print $3 }' | grep '^bandsolve' | sort -u >"$work/exported"
    run diff "$work/declared" "$work/exported"
}
same_functions "$work/prefix"

cmake -S "$here/examples" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/log" 2>&1 &&
    cmake --build "$work/cmake" >>"$work/log" 2>&1 || { cat "$work/log"; echo "FAILED: CMake"; exit 1; }
for program in systems systems_static "${programs[@]}" waves systems_fortran stepper_fortran; do
    LD_LIBRARY_PATH='' run "$work/cmake/$program"
done

# Before 1.0 a new minor version may break programs: the name that they look for says so.
version=$(pkg-config --modversion bandsolve)
case $version in 0.*) compatible=${version%.*} ;; *) compatible=${version%%.*} ;; esac
run grep -F "[libbandsolve.so.$compatible]" <(readelf -d "$work/shared")

# In different folders: the program of the README with the shared library and with static libraries only, and the examples of CMake.
built=${CARGO_TARGET_DIR:-$root/target}/$([ "$profile" = dev ] && echo debug || echo "$profile")
placed() { # folder, PREFIX as it is given there, LIBDIR
    local prefix=$2
    case $prefix in /*) ;; *) prefix=$1/$2 ;; esac
    local libraries=$3
    case $libraries in /*) ;; *) libraries=$prefix/$3 ;; esac
    mkdir -p "$1"
    (cd "$1" && run env BUILT="$built" PREFIX="$2" LIBDIR="$3" "$here/install.sh")
    export PKG_CONFIG_PATH=$libraries/pkgconfig
    words --cflags --libs bandsolve
    run gcc -std=c99 "${strict[@]}" "$work/readme.c" "${flags[@]}" -o "$work/placed"
    LD_LIBRARY_PATH=$libraries run "$work/placed"
    words --static --cflags --libs bandsolve
    run gcc -static -std=c99 "${strict[@]}" "$work/readme.c" "${flags[@]}" -o "$work/placed"
    LD_LIBRARY_PATH='' run "$work/placed"
    run grep -q "statically linked" <(LC_ALL=C ldd "$work/placed" 2>&1 || echo "statically linked")
    rm -rf "$work/cmake"
    run cmake -S "$here/examples" -B "$work/cmake" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_LIBRARY_ARCHITECTURE=x86_64-linux-gnu
    run cmake --build "$work/cmake" --target systems systems_static
    LD_LIBRARY_PATH='' run "$work/cmake/systems"
    LD_LIBRARY_PATH='' run "$work/cmake/systems_static"
}
placed "$work/a" prefix lib/x86_64-linux-gnu
placed "$work/b" "with space & sign" lib
placed "$work/c" "$work/c/absolute/" "$work/c/absolute/lib/x86_64-linux-gnu/"
if PREFIX=$work/d LIBDIR=/elsewhere/lib BUILT=$built "$here/install.sh" 2>/dev/null; then echo "FAILED: LIBDIR outside of PREFIX"; exit 1; fi

# A packaged crate can install itself.
(cd "$root" && cargo package --offline --allow-dirty --list -p bandsolve-capi 2>/dev/null) >"$work/packed"
mkdir "$work/crate"
(cd "$here" && grep -vE '^(Cargo.lock|Cargo.toml.orig|\.cargo_vcs_info.json)$' "$work/packed" | xargs -d '\n' cp --parents -Lt "$work/crate")
sed -i "s/^version.workspace = true/version = \"$version\"/" "$work/crate/Cargo.toml"
run env BUILT="$built" PREFIX="$work/packaged" "$work/crate/install.sh"
grep -q "^bandsolve $version installed" "$work/out" || { cat "$work/out"; echo "FAILED: the packaged crate"; exit 1; }

# The programs for GPUs in docs/c-api.md.
"$root/tests/cargo.sh" build --quiet --lib --bins --test conformance
FEATURES=cuda BUILT=${CARGO_TARGET_DIR:-$root/target}/release PREFIX=$work/gpu "$here/install.sh"
same_functions "$work/gpu"
flags=(-I"$here/tests/emulated" -I"$work/gpu/include" -L"$work/gpu/lib" -lbandsolve)
page=c-api.md
# The output does not depend on the number of unknowns.
on_emulated() { # program
    blocks "c title=\"$1\"" | sed 's/"cuda"/"emulated"/; s/1 << 20/1 << 14/' >"$work/$1"
    gcc -std=c99 "${strict[@]}" "$work/$1" "${flags[@]}" -o "$work/emulated"
    LD_LIBRARY_PATH=$work/gpu/lib run "$work/emulated"
    printed "output of $1"
}
on_emulated system.c
on_emulated steps.c

if command -v valgrind >/dev/null; then
    # valgrind knows no AVX-512.
    export BANDSOLVE_SIMD=avx2
    leaks() { # kinds, program
        run valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds="$1" --errors-for-leak-kinds="$1" "$work/$2"
    }
    # What threads keep until the end of the program is no leak.
    for program in shared static iterate poisson waves; do leaks definite "$program"; done
    # These programs end the threads, so that nothing at all remains.
    for program in stepper lapack systems.fortran-O2; do leaks all "$program"; done
else
    echo "1 skipped: the C API under valgrind, which is not here"
fi
echo "C API: $passed passed"
