#!/usr/bin/env python3
"""The tables of amg-lines: iterations by size and direction, and times beside pyamg's smoothed aggregation and ILU(0).

usage: amg_table.py [--sides 100,200,400,800] [--problems aniso1,aniso2,...] [--times] [--solvers amg-lines:2/cg,...]

Without --times: iterations to 10⁻⁶. With it: seconds for set-up + iteration (iterations), the least of three, solvers taking turns. Right-hand
sides are A·x of x = sin(16πi/n). A solver is a preconditioner of bandsolve and a method, cg or gmres (GMRES(20)), as in amg-lines:2/cg; `pyamg`
(smoothed aggregation with its default Gauss–Seidel, and cg), `hypre` (BoomerAMG as PETSc calls it by default, and cg), `spilu` (SciPy's, with its GMRES(20))
or `mkl` (dcsrilu0 and dfgmres, with restart 20). Prints Markdown. Needs bandsolve and SciPy; pyamg, MKL (`pip install mkl`) and petsc4py (Debian's
`python3-petsc4py`) for theirs. RAYON_NUM_THREADS sets our threads, MKL_NUM_THREADS MKL's. PETSc has no threads: `mpiexec -n 2 python amg_table.py --times
--solvers hypre` runs it on two processes.
"""

import argparse
import importlib.util
import os
import sys
import time

import numpy as np
import scipy.sparse as sp
from scipy.sparse import linalg

from bandsolve import sparse

TOLERANCE, REPEATS, LIMIT, RESTART = 1e-6, 3, 2000, 20


def nine_point(stencil, side):
    """A stencil on a square grid, numbered row by row; what leaves the grid is dropped."""
    shift = {d: sp.eye_array(side, k=d) for d in (-1, 0, 1)}
    places = [(dy, dx) for dy in (-1, 0, 1) for dx in (-1, 0, 1) if stencil[dy + 1][dx + 1] != 0]
    a = sum(stencil[dy + 1][dx + 1] * sp.kron(shift[dy], shift[dx]) for dy, dx in places)
    return sp.csr_array(a)


def turned(degrees, epsilon=1e-3):
    """−(u_ξξ + ε·u_ηη), turned by an angle, by central differences on nine points."""
    s, c = np.sin(np.deg2rad(degrees)), np.cos(np.deg2rad(degrees))
    a, b, m = c * c + epsilon * s * s, s * s + epsilon * c * c, (1 - epsilon) * c * s
    stencil = [[-m / 2, -b, m / 2], [-a, 2 * a + 2 * b, -a], [m / 2, -b, -m / 2]]
    return [[v if abs(v) > 1e-15 else 0.0 for v in row] for row in stencil]


def seven_point(weights):
    """Seven points on a cube, with these weights along its directions."""

    def make(side):
        line = sp.diags_array([-np.ones(side - 1), 2 * np.ones(side), -np.ones(side - 1)], offsets=[-1, 0, 1])
        one = sp.eye_array(side)
        along = [sp.kron(one, sp.kron(one, line)), sp.kron(one, sp.kron(line, one)), sp.kron(line, sp.kron(one, one))]
        return sp.csr_array(sum(w * part for w, part in zip(weights, along)))

    return make


def plane(stencil):
    return lambda side: nine_point(stencil, side)


PROBLEMS = {
    "aniso1": plane([[-0.2, -0.1, -0.2], [-1.0, 3.0, -1.0], [-0.2, -0.1, -0.2]]),
    "aniso2": plane([[-1.0, -0.2, -0.1], [-0.2, 3.0, -0.2], [-0.1, -0.2, -1.0]]),
    "five-point": plane([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]]),
    "model8": plane([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]]),
    "45": plane(turned(45)),
    "30": plane(turned(30)),
    "0": plane(turned(0)),
    "1:1:0.001": seven_point([1.0, 1.0, 1e-3]),
    "1:30:1000": seven_point([1.0, 30.0, 1000.0]),
}
IN_PLANE = "aniso1,aniso2,five-point,45,30,0"


def seconds(work):
    """What a function returns, and the time that it took."""
    started = time.perf_counter()
    made = work()
    return made, time.perf_counter() - started


def ours(kind, solver):
    def run(a, b):
        m, setup = seconds(lambda: sparse.Preconditioner(a, kind))
        options = dict(rtol=TOLERANCE, maxiter=LIMIT, full_output=True)
        if solver is sparse.gmres:
            options.update(restart=RESTART, maxiter=LIMIT // RESTART)
        (x, report), solve = seconds(lambda: solver(a, b, M=m, **options))
        return x, report["iterations"], setup, solve

    return run


def smoothed_aggregation(a, b):
    import pyamg

    a = sp.csr_matrix(a)
    levels, setup = seconds(lambda: pyamg.smoothed_aggregation_solver(a))
    calls = []
    call = lambda: levels.solve(b, tol=TOLERANCE, accel="cg", maxiter=LIMIT, callback=lambda _: calls.append(1))
    x, solve = seconds(call)
    return x, len(calls), setup, solve


def boomer_amg(a, b):
    """On all processes, each of which has the whole matrix and gives PETSc rows of its own."""
    from petsc4py import PETSc

    n, ranks, rank = a.shape[0], PETSc.COMM_WORLD.size, PETSc.COMM_WORLD.rank
    first, last = n * rank // ranks, n * (rank + 1) // ranks
    own = sp.csr_matrix(a)[first:last]
    sizes = ((last - first, n), (last - first, n))
    matrix = PETSc.Mat().createAIJ(size=sizes, csr=(own.indptr, own.indices, own.data), comm=PETSc.COMM_WORLD)
    x, rhs = matrix.createVecs()
    rhs.setArray(b[first:last])
    solver = PETSc.KSP().create(PETSc.COMM_WORLD)
    solver.setOperators(matrix)
    solver.setType("cg")
    solver.setNormType(PETSc.KSP.NormType.UNPRECONDITIONED)
    solver.setTolerances(rtol=TOLERANCE, max_it=LIMIT)
    solver.getPC().setType("hypre")
    solver.getPC().setHYPREType("boomeramg")
    PETSc.COMM_WORLD.barrier()
    _, setup = seconds(solver.setUp)
    _, solve = seconds(lambda: solver.solve(rhs, x))
    scatter, whole = PETSc.Scatter.toAll(x)
    scatter.scatter(x, whole)
    found, count = whole.getArray().copy(), solver.getIterationNumber()
    for made in (solver, matrix, x, rhs, scatter, whole):
        made.destroy()
    return found, count, setup, solve


def spilu(a, b):
    factors, setup = seconds(lambda: linalg.spilu(a.tocsc()))
    m, calls = linalg.LinearOperator(a.shape, factors.solve, dtype=a.dtype), []
    options = dict(rtol=TOLERANCE, restart=RESTART, maxiter=LIMIT // RESTART, callback_type="pr_norm")
    (x, _), solve = seconds(lambda: linalg.gmres(a, b, M=m, callback=lambda _: calls.append(1), **options))
    return x, len(calls), setup, solve


def of_mkl(mkl):
    def run(a, b):
        import mkl_gmres

        def prepared():
            matrix, factors = mkl_gmres.SparseMatrix(mkl, a, a.data), mkl_gmres.IncompleteLu(mkl, a)
            matrix.prepare()
            return matrix, factors

        (matrix, factors), setup = seconds(prepared)
        (x, count), solve = seconds(lambda: mkl_gmres.gmres(matrix, b, factors, TOLERANCE, RESTART, LIMIT))
        return x, count, setup, solve

    return run


def solver(name):
    """Its title, and a function of a matrix and a right-hand side: x, iterations, and seconds to set up and to solve; None if it is not installed."""
    if name == "spilu":
        return f"SciPy `spilu`, gmres:{RESTART}", spilu
    if name == "pyamg":
        return "pyamg, cg", smoothed_aggregation if importlib.util.find_spec("pyamg") else None
    if name == "hypre":
        return "hypre BoomerAMG, cg", boomer_amg if importlib.util.find_spec("petsc4py") else None
    if name == "mkl":
        import mkl_gmres

        mkl = mkl_gmres.library()
        return f"MKL `dcsrilu0`, dfgmres:{RESTART}", of_mkl(mkl) if mkl else None
    kind, _, method = name.partition("/")
    restart = f":{RESTART}" if method == "gmres" else ""
    return f"`{kind}`, {method}{restart}", ours(kind, {"cg": sparse.cg, "gmres": sparse.gmres}[method])


def solvers(names):
    known = dict(solver(name) for name in names)
    for title in [title for title, run in known.items() if run is None]:
        print(f"{title}: not installed", file=sys.stderr)
    return {title: run for title, run in known.items() if run is not None}


def row(a, runs, times):
    """A cell for each solver; they take turns."""
    n = a.shape[0]
    b = a @ np.sin(16 * np.pi * np.arange(n) / n)
    tries = [[run(a, b) for run in runs] for _ in range(REPEATS if times else 1)]
    cells = []
    for results in zip(*tries):
        x, count, _, _ = results[0]
        solved = np.linalg.norm(b - a @ x) <= 1.01 * TOLERANCE * np.linalg.norm(b)
        setup, solve = (min(result[k] for result in results) for k in (2, 3))
        text = f"{setup:.2f} + {solve:.2f} ({count})" if times else str(count)
        cells.append(text if solved else f"✗ {text}")
    return cells


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sides", default="100,200,400,800")
    parser.add_argument("--problems", default=IN_PLANE, help=", ".join(PROBLEMS))
    parser.add_argument("--times", action="store_true")
    parser.add_argument("--solvers")
    args = parser.parse_args()
    usual = "amg-lines:1/cg,amg-lines:2/cg,ilu0/gmres,pyamg" if args.times else "amg-lines:2/cg,amg-lines:1/cg,pyamg"
    known = solvers((args.solvers or usual).split(","))
    if boomer_amg in known.values():
        from petsc4py import PETSc

        if PETSc.COMM_WORLD.rank > 0:
            sys.stdout = open(os.devnull, "w")
    print("| problem |", " | ".join(known), "|")
    print("| --- |", " | ".join("---" for _ in known), "|")
    for name in args.problems.split(","):
        for side in map(int, args.sides.split(",")):
            a = PROBLEMS[name](side)
            a.sort_indices()
            print(f"| {name}, {side} |", " | ".join(row(a, known.values(), args.times)), "|", flush=True)


if __name__ == "__main__":
    main()
