"""Times of the five eigenvalues nearest to 0.75 of the radiative transfer operator, beside SciPy, SLEPc and MKL, as a table for
docs/notebook/measurements.md.

usage: python docs/eig_table.py PROGRAM [L K]...

PROGRAM is the `bandsolve` program. Needs the Python package and SciPy. SLEPc is taken where `slepc4py` is installed (Debian's
`python3-slepc4py`), MKL where `libmkl_rt.so.3` or `.so.2` is found. Threads of all of them: OMP_NUM_THREADS, MKL_NUM_THREADS, RAYON_NUM_THREADS.
"""

import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np
import scipy.io
import scipy.sparse.linalg

from bandsolve.eigen import eigsh

SIGMA, COUNT, TOL, RUNS = 0.75, 5, 1e-8, 5


def ours(a):
    return eigsh(a, COUNT, sigma=SIGMA, tol=TOL, full_output=True)[2]["offsets"]


def scipys(a):
    return scipy.sparse.linalg.eigsh(a.tocsc(), COUNT, sigma=SIGMA, tol=TOL)[0] - SIGMA


def slepcs(a, factorization):
    """By shift-and-invert with PETSc's own factors, or those of MUMPS where PETSc has it."""
    from petsc4py import PETSc
    from slepc4py import SLEPc

    matrix = PETSc.Mat().createAIJ(size=a.shape, csr=(a.indptr, a.indices, a.data), comm=PETSc.COMM_SELF)
    matrix.setOption(PETSc.Mat.Option.SYMMETRIC, True)

    def search():
        solver = SLEPc.EPS().create(PETSc.COMM_SELF)
        solver.setOperators(matrix)
        solver.setProblemType(SLEPc.EPS.ProblemType.HEP)
        solver.setDimensions(COUNT, 16)
        solver.setTolerances(TOL)
        solver.setTarget(SIGMA)
        solver.setWhichEigenpairs(SLEPc.EPS.Which.TARGET_MAGNITUDE)
        spectral = solver.getST()
        spectral.setType(SLEPc.ST.Type.SINVERT)
        preconditioner = spectral.getKSP().getPC()
        preconditioner.setType(factorization)
        if PETSc.Sys.hasExternalPackage("mumps"):
            preconditioner.setFactorSolverType("mumps")
        solver.solve()
        return np.array([solver.getEigenvalue(k).real for k in range(COUNT)]) - SIGMA

    return search


class MatrixKind(ctypes.Structure):
    """What MKL is told of a matrix: 20 for a general one."""

    _fields_ = [("kind", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


def mkls(a):
    """The largest by products: MKL has no shift-and-invert."""
    try:
        mkl = ctypes.CDLL("libmkl_rt.so.3")
    except OSError:
        mkl = ctypes.CDLL("libmkl_rt.so.2")
    handle = ctypes.c_void_p()
    starts, indices = a.indptr.astype(np.int32), a.indices.astype(np.int32)
    status = mkl.mkl_sparse_d_create_csr(
        ctypes.byref(handle), 0, a.shape[0], a.shape[1], starts.ctypes.data_as(ctypes.c_void_p),
        starts[1:].ctypes.data_as(ctypes.c_void_p), indices.ctypes.data_as(ctypes.c_void_p), a.data.ctypes.data_as(ctypes.c_void_p),
    )
    assert status == 0, status

    def search():
        settings = np.zeros(128, np.int32)
        mkl.mkl_sparse_ee_init(settings.ctypes.data_as(ctypes.c_void_p))
        settings[1], settings[2], settings[6] = 8, 1, 1
        found, values = ctypes.c_int(0), np.zeros(COUNT)
        vectors, residuals = np.zeros((COUNT, a.shape[0])), np.zeros(COUNT)
        arrays = [array.ctypes.data_as(ctypes.c_void_p) for array in (values, vectors, residuals)]
        status = mkl.mkl_sparse_d_ev(
            b"L", settings.ctypes.data_as(ctypes.c_void_p), handle, MatrixKind(20, 40, 50), COUNT, ctypes.byref(found), *arrays
        )
        if status != 0 or found.value < COUNT:
            raise RuntimeError(f"status {status}, {found.value} of {COUNT} found")
        return values - SIGMA

    # It keeps the arrays alive.
    search.arrays = (starts, indices, a.data)
    return search


def peers(a):
    calls = {"ours, Python": lambda: ours(a), "SciPy": lambda: scipys(a)}
    makers = {"SLEPc, LU": lambda a: slepcs(a, "lu"), "SLEPc, Cholesky": lambda a: slepcs(a, "cholesky"), "MKL": mkls}
    for name, make in makers.items():
        try:
            calls[name] = make(a)
        except (ImportError, OSError) as missing:
            print(f"{name} is not installed: {missing}", file=sys.stderr)
    return calls


def race(calls):
    """Medians of alternating runs, and what the last of each returned. What fails, or takes ten times as long as others, runs once."""
    times, results = {name: [] for name in calls}, {}
    for _ in range(RUNS):
        for name, call in list(calls.items()):
            begin = time.perf_counter()
            try:
                results[name] = np.sort(np.abs(call()))[:COUNT]
            except RuntimeError as failed:
                results[name] = failed
                del calls[name]
            times[name].append(time.perf_counter() - begin)
        fastest = min(of[0] for of in times.values())
        calls = {name: call for name, call in calls.items() if times[name][0] <= 10 * fastest}
    return {name: float(np.median(of)) for name, of in times.items()}, results


def program(path, matrix, folder):
    """The seconds that the program reports, with its proof that none is missing, and the offsets."""
    report = folder / "report.json"
    command = [path, "eig", str(matrix), "--target", str(SIGMA), "-k", str(COUNT), "--tol", str(TOL), "--json", str(report)]
    subprocess.run(command, check=True, capture_output=True)
    read = json.loads(report.read_text())
    assert read["complete"], "not proved complete"
    return read["seconds"], np.sort(np.abs(read["offsets"]))


def main():
    path, numbers = sys.argv[1], [int(x) for x in sys.argv[2:]]
    cases = list(zip(numbers[::2], numbers[1::2])) or [(64, 64), (256, 64), (64, 256)]
    print("| L × K | who | seconds | 0.75 − λ: nearest … fifth | largest difference from the program's, relative |")
    print("| --- | --- | --- | --- | --- |")
    for levels, size in cases:
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            file = folder / "A.mtx"
            subprocess.run([path, "generate", "radiative", str(levels), str(size), "--out", str(file)], check=True, capture_output=True)
            a = scipy.io.mmread(file).tocsr()
            calls = peers(a)
            proved = [program(path, file, folder) for _ in range(RUNS)]
            times, results = race(calls)
            exact = proved[0][1]
            rows = {"ours, program, proved complete": (float(np.median([seconds for seconds, _ in proved])), exact)}
            rows |= {name: (times[name], results[name]) for name in results}
            for who, (seconds, offsets) in rows.items():
                if isinstance(offsets, RuntimeError):
                    print(f"| {levels} × {size} | {who} | {seconds:.4f} | failed: {offsets} | |", flush=True)
                    continue
                apart = abs(offsets - exact).max() / exact[0]
                print(f"| {levels} × {size} | {who} | {seconds:.4f} | {offsets[0]:.6e} … {offsets[-1]:.6e} | {apart:.1e} |", flush=True)


main()
