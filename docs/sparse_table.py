#!/usr/bin/env python3
"""The table of docs/notebook/measurements.md: every preconditioner on the matrices of a folder, beside SciPy's and pyamg's.

usage: sparse_table.py FOLDER [NAME ...]      FOLDER holds NAME.mtx; without names, all of them

Prints Markdown. Right-hand sides are A·x of x = sin(16πi/n), as `bandsolve iterate` makes them; every solver stops at
‖b − A·x‖ ≤ 10⁻⁶·‖b‖, which is computed again from x. Times are the best of three. Needs bandsolve and SciPy; pyamg where it is installed.
"""

import sys
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp
from scipy.sparse import linalg

from bandsolve import sparse

TOLERANCE, RESTART, REPEATS = 1e-6, 30, 3
# Most iterations, of all.
LIMIT = 10_000
KINDS = ["auto", "none", "jacobi", "diagp1", "diagp2", "l1", "tridiagonal", "forest", "forest-block", "alt-i:2", "alt-i:4", "alt-o:2", "mos-d:2",
         "mos-d:4", "mos-a:2", "mos-a:4", "mos-a:2:scaled", "mos-a:4:scaled", "ilu0", "ilu-isai:2", "amg-lines:1", "amg-lines:2", "amg-lines:4"]


def seconds(work):
    """What a function returns, and the time that it took."""
    started = time.perf_counter()
    made = work()
    return made, time.perf_counter() - started


def is_definite(a):
    """Whether conjugate gradients apply, to A or to −A: Hermitian, and the signs of the diagonal are one."""
    diagonal = a.diagonal()
    hermitian = abs(a - a.conj().T).max() <= 1e-14 * abs(a).max()
    return hermitian and (np.all(diagonal.real > 0) or np.all(diagonal.real < 0))


def ours(kind):
    def run(a, b):
        m, setup = seconds(lambda: sparse.Preconditioner(a, kind))
        given = None if m.kind == "none" else m
        options = dict(rtol=TOLERANCE, restart=RESTART, maxiter=LIMIT // RESTART, full_output=True)
        (x, report), solve = seconds(lambda: sparse.gmres(a, b, M=given, **options))
        chosen = "" if m.kind == kind else m.kind
        return x, report["iterations"], setup, solve, chosen if report["converged"] else report["ending"]

    return run


def counted(solver, a, b, m, **options):
    """SciPy's solver, and how often it called back."""
    calls = []
    cycle = options.get("restart", 1)
    x, _ = solver(a, b, M=m, rtol=TOLERANCE, maxiter=LIMIT // cycle, callback=lambda _: calls.append(1), **options)
    return x, len(calls)


def spilu(a, b):
    factors, setup = seconds(lambda: linalg.spilu(a.tocsc()))
    m = linalg.LinearOperator(a.shape, factors.solve, dtype=a.dtype)
    options = dict(restart=RESTART, callback_type="pr_norm")
    (x, count), solve = seconds(lambda: counted(linalg.gmres, a, b, m, **options))
    return x, count, setup, solve, ""


def smoothed_aggregation(a, b):
    import pyamg

    # Of −A, where that is the definite one; CG for what is Hermitian, else GMRES.
    sign = np.sign(a.diagonal().real.sum()) or 1.0
    a, b = sp.csr_matrix(sign * a), sign * b
    symmetry = "hermitian" if is_definite(a) else "nonsymmetric"
    levels, setup = seconds(lambda: pyamg.smoothed_aggregation_solver(a, symmetry=symmetry))
    options = {} if is_definite(a) else dict(restart=RESTART, callback_type="pr_norm")
    solver = linalg.cg if is_definite(a) else linalg.gmres
    (x, count), solve = seconds(lambda: counted(solver, a, b, levels.aspreconditioner(), **options))
    return x, count, setup, solve, "cg" if is_definite(a) else "gmres"


def others():
    known = {"SciPy `spilu`": spilu}
    try:
        import pyamg  # noqa: F401
    except ImportError:
        return known
    return {**known, "pyamg smoothed aggregation": smoothed_aggregation}


def cell(run, a, b):
    """Iterations, and milliseconds to set up and to solve; or what went wrong."""
    try:
        tries = [run(a, b) for _ in range(REPEATS)]
    except (ArithmeticError, ValueError, RuntimeError, np.linalg.LinAlgError) as error:
        return f"– ({str(error).removeprefix('the matrix is singular: ')})"
    x, count, _, _, note = tries[0]
    setup, solve = (min(part[k] for part in tries) * 1e3 for k in (2, 3))
    within = np.linalg.norm(b - a @ x) <= 1.001 * TOLERANCE * np.linalg.norm(b)
    words = note if within else note if note not in ("", "cg", "gmres") else "not converged"
    text = f"{count}: {short(setup)} + {short(solve)}" if within else f"✗ {count}"
    return f"{text} ({words})" if words else text


def short(milliseconds):
    return f"{milliseconds:.0f}" if milliseconds >= 10 else f"{milliseconds:.2g}"


def matrix(path):
    a = scipy.io.mmread(path)
    a = sp.csr_array(a, dtype=complex if np.iscomplexobj(a.data) else float)
    x = np.sin(16 * np.pi * np.arange(a.shape[0]) / a.shape[0])
    return a, a @ x


def main(folder, names):
    warnings.simplefilter("ignore")
    names = names or sorted(path.stem for path in Path(folder).glob("*.mtx"))
    systems = [matrix(Path(folder) / f"{name}.mtx") for name in names]
    print("| |", " | ".join(f"{name}, n = {a.shape[0]}" for name, (a, _) in zip(names, systems)), "|")
    print("| --- |", " | ".join("---" for _ in names), "|")
    runs = {**{f"`{kind}`": ours(kind) for kind in KINDS}, **others()}
    for name, run in runs.items():
        print(f"| {name} |", " | ".join(cell(run, a, b) for a, b in systems), "|", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2:])
