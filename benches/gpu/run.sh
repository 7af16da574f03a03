#!/usr/bin/env bash
# Looks at a GPU with programs that were built elsewhere (build.sh): all tests of the GPU crate on the card, some of them under
# compute-sanitizer, then answers and times beside the CPU and cuSPARSE. Needs a driver and NVRTC, no network and no compiler; ends
# within 9 minutes.
#
#   run.sh [FOLDER]     where reports go [a new folder]
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
folder=${1:-$(mktemp -d)}
mkdir -p "$folder"
for program in bandsolve tests; do
    [ -x "$here/$program" ] || { echo "no program at $here/$program: build.sh builds it"; exit 2; }
done

# Kernels are compiled once and kept beside the tuning file.
export BANDSOLVE_TUNING=${BANDSOLVE_TUNING:-${TMPDIR:-/tmp}/bandsolve-gpu/tuning}
export BANDSOLVE_TEST_DEVICE=${BANDSOLVE_TEST_DEVICE:-cuda}
failed=0

# step NAME SECONDS COMMAND...: runs a command, keeps what it says, and says how it ended.
step() {
    local name=$1 seconds=$2 code=0
    shift 2
    timeout --kill-after=5 "$seconds" "$@" >"$folder/$name.txt" 2>&1 || code=$?
    case $code in
        0) echo "== $name: passed" ;;
        124 | 137) echo "== $name: FAILED: not done after $seconds s" ;;
        *) echo "== $name: FAILED: exit code $code" ;;
    esac
    return "$code"
}

# Each answer is compared bit for bit with a reference on the CPU. Most of this time is compiling kernels.
step tests 180 "$here/tests" || failed=1
grep -E '^test result|FAILED' "$folder/tests.txt"

# Tests that together launch every kind of kernel, level by level and in one launch.
declare -A running
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck synccheck initcheck; do
        running=()
        for test in scans_f32 cyclic_f64 oracle::batches_f32 sparse:: systems_of_every_kind; do
            step "$tool-${test//:/}" 90 compute-sanitizer --tool "$tool" --error-exitcode 9 "$here/tests" "$test" &
            running[$test]=$!
        done
        for test in "${!running[@]}"; do wait "${running[$test]}" || failed=1; done
        grep -hE 'SUMMARY' "$folder/$tool"-*.txt
    done
else
    echo "== memcheck, racecheck, synccheck, initcheck: left out: no compute-sanitizer on the PATH"
fi

step table 200 "$here/bandsolve" bench gpu --device "$BANDSOLVE_TEST_DEVICE" --seconds 0.2 --json "$folder/gpu.json" || failed=1
cat "$folder/table.txt"
echo "reports: $folder"
exit "$failed"
