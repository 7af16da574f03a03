#!/usr/bin/env bash
# Looks at a GPU with a program that was built elsewhere (build.sh): answers beside the CPU's, the same under compute-sanitizer,
# then the whole table. Needs a driver and NVRTC, no network and no compiler; ends within 8 minutes.
#
#   run.sh [BANDSOLVE [FOLDER]]     the program [bandsolve beside this file]; where reports go [a new folder]
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
program=${1:-$here/bandsolve}
folder=${2:-$(mktemp -d)}
mkdir -p "$folder"
[ -x "$program" ] || { echo "no program at $program: build.sh builds it"; exit 2; }

# Kernels are compiled once and kept beside the tuning file.
export BANDSOLVE_TUNING=${BANDSOLVE_TUNING:-${TMPDIR:-/tmp}/bandsolve-gpu/tuning}
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

# All number types at a time: most of the first run is compiling kernels.
declare -A running
for dtype in f32 f64 c64 c128; do
    step "accuracy-$dtype" 130 "$program" bench gpu --quick --only accuracy --dtype "$dtype" &
    running[$dtype]=$!
done
for dtype in "${!running[@]}"; do
    wait "${running[$dtype]}" || failed=1
    cat "$folder/accuracy-$dtype.txt"
done

# The accuracy part runs every kernel, and none of cuSPARSE's.
if command -v compute-sanitizer >/dev/null; then
    for tool in memcheck racecheck; do
        step "$tool" 80 compute-sanitizer --tool "$tool" --error-exitcode 9 \
            "$program" bench gpu --quick --only accuracy || failed=1
        tail -n 20 "$folder/$tool.txt"
    done
else
    echo "== memcheck, racecheck: left out: no compute-sanitizer on the PATH"
fi

step table 170 "$program" bench gpu --json "$folder/gpu.json" || failed=1
cat "$folder/table.txt"
echo "reports: $folder"
exit "$failed"
