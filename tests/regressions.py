#!/usr/bin/env python3
"""Defects that were found from outside, as a user would meet them.

Every function below reproduces one: it fails while the defect is there. Each runs in a process of its own, since some of them
end a process that has the defect. Usage, with the Python package installed:

    python tests/regressions.py [NAME ...]      # all, or those whose names hold one of these words

BANDSOLVE_TARGET names the folder of the compiled program and libraries (default: target/debug beside this folder).
"""

import os
import subprocess
import sys
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("BANDSOLVE_TARGET", REPOSITORY / "target" / "debug"))
SECONDS = 120

DEFECTS = []


def defect(function):
    """Adds `function` to the list; its docstring says what used to go wrong."""
    DEFECTS.append(function)
    return function


# -- Wrong or silent --------------------------------------------------------------------------------------------------

# -- Crashes ----------------------------------------------------------------------------------------------------------

# -- Files ------------------------------------------------------------------------------------------------------------

# -- Advice -----------------------------------------------------------------------------------------------------------


def run_alone(name):
    """Runs one function in a fresh interpreter; returns what it printed if it failed."""
    command = [sys.executable, __file__, "--alone", name]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"still running after {SECONDS} s"
    return None if done.returncode == 0 else f"{done.stdout.strip()}\n(exit status {done.returncode})"


def main(words):
    failed = 0
    chosen = [f for f in DEFECTS if not words or any(word in f.__name__ for word in words)]
    for function in chosen:
        start = time.monotonic()
        trouble = run_alone(function.__name__)
        print(f"{'FAILED' if trouble else 'ok    '} {function.__name__} ({time.monotonic() - start:.1f} s)", flush=True)
        if trouble:
            failed += 1
            print("    " + trouble.replace("\n", "\n    "), flush=True)
    print(f"{len(chosen) - failed} passed, {failed} failed")
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--alone"]:
        next(f for f in DEFECTS if f.__name__ == sys.argv[2])()
    else:
        sys.exit(main(sys.argv[1:]))
