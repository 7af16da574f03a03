#!/usr/bin/env bash
# The Python package as a newcomer installs it, by the commands of the README, in an environment of its own; then its tests. Needs
# cargo and Python 3.10 or later.
#
# usage: python/test.sh          all that there is to test
#        python/test.sh quick    the tests of the package alone, on the checked build, in an environment that is kept in target/
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What `bandsolve.mpi` calls, of the checked build.
export BANDSOLVE_MPI_LIBRARY=${CARGO_TARGET_DIR:-$root/target}/release/libbandsolve_mpi_capi.so

if [ "${1:-}" = quick ]; then
    venv=${CARGO_TARGET_DIR:-$root/target}/venv
    "$venv/bin/python" -c "import numpy, scipy, hypothesis, pytest, mpi4py, matplotlib, pandas, xarray" 2>/dev/null ||
        tests/packages.sh "$venv" numpy scipy hypothesis pytest mpi4py matplotlib pandas xarray
    python/checked.sh "$work"
    cp -r python/tests README.md docs "$work"
    cd "$work"
    PYTHONPATH=$work "$venv/bin/python" -m pytest -q -rs -p no:cacheprovider tests --ignore tests/test_device.py --ignore-glob 'tests/test_gpu_*.py'
    exit
fi

commands=$(awk '/^## Python/ { here = 1 } here && /^```$/ { exit } inside { print } here && /^```sh$/ { inside = 1 }' README.md)
count=$(grep -c . <<<"$commands")
if [ "$count" -lt 1 ] || [ "$count" -gt 3 ]; then
    echo "FAILED: $count commands in the README, expected 1 to 3"
    exit 1
fi
# The environment is made elsewhere: the README's is a folder `venv` here.
sed "s#-m venv venv#-m venv $work/venv#; s#^venv/bin#$work/venv/bin#" <<<"$commands" >"$work/commands"
said=$(bash -euo pipefail "$work/commands" | tail -n 1)
if [ "$said" != "[1. 1. 1.]" ]; then
    echo "FAILED: the README's commands say: $said"
    exit 1
fi
echo "1 passed: installed and asked by the $count commands of the README"

tests/packages.sh "$work/venv" "bandsolve[test]" pytest-xdist "jax>=0.4" mypy matplotlib mpi4py pandas xarray
# Not there for every Python.
tests/packages.sh "$work/venv" tensorflow-cpu || echo "no TensorFlow for this Python: it is not compared with"
# Not from here: what is tested is what is installed.
mkdir "$work/python" "$work/tests"
cp -r python/tests "$work/python/tests"
cp tests/claims.py "$work/tests"
cp -r README.md docs "$work"
cd "$work"
# (GPUs and MPI: below.)
venv/bin/python -m pytest -q -rs -n 2 -p no:cacheprovider python/tests --ignore python/tests/test_device.py --ignore-glob 'python/tests/test_gpu_*.py' --ignore python/tests/test_mpi.py

# GPUs, emulated: the same package with another compiled part; and MPI, whose library is built with it.
"$root/python/checked.sh" "$work/emulated"
PYTHONPATH=emulated BANDSOLVE_EMULATED=1 venv/bin/python -m pytest -q -rs -n 2 -p no:cacheprovider python/tests/test_device.py python/tests/test_gpu_*.py python/tests/test_mpi.py

# Defects that were found from outside; some are of the program and of the C libraries.
BANDSOLVE_TARGET="${CARGO_TARGET_DIR:-$root/target}/release" venv/bin/python "$root/tests/regressions.py"

# Random problems, whose reports may claim nothing that is not true.
venv/bin/python "$root/tests/claims.py"

venv/bin/python -m mypy --no-error-summary -c "import bandsolve"

for example in "$root"/python/examples/*.py; do
    name=$(basename "$example" .py)
    [ "$name" = pictures ] && continue
    venv/bin/python "$example" "$work/$name.svg"
    grep -q "<svg" "$work/$name.svg"
    echo "1 passed: example $name"
done

# SciPy's tests of LAPACK's tridiagonal routines, on ours: its own copy of LAPACK is called by names that we export, too.
ours="${CARGO_TARGET_DIR:-$root/target}/release/liblapack_bandsolve.so"
bound=$(LD_DEBUG=bindings LD_PRELOAD=$ours venv/bin/python -c "import scipy.linalg.lapack" 2>&1 | grep -c "liblapack_bandsolve.so .*scipy_dgttrf_'") || true
if [ "$bound" = 0 ]; then
    echo "FAILED: SciPy does not call our LAPACK"
    exit 1
fi
LD_PRELOAD=$ours venv/bin/python -m pytest -q -p no:cacheprovider -W ignore --pyargs scipy.linalg.tests.test_lapack \
    -k "gttrf or gtsv or gtcon or ptsv or pttrf or pttrs or ptcon"
