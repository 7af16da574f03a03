#!/usr/bin/env python3
"""Defects that were found from outside, as a user would meet them.

Every function below reproduces one: it fails while the defect is there. Each runs in a process of its own, since some of them
end a process that has the defect. Usage, with the Python package installed:

    python tests/regressions.py [NAME ...]      # all, or those whose names hold one of these words

BANDSOLVE_TARGET names the folder of the compiled program and libraries (default: target/release beside this folder).
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TARGET = Path(os.environ.get("BANDSOLVE_TARGET", REPOSITORY / "target" / "release"))
SECONDS = 120

DEFECTS = []


def defect(function):
    """Adds `function` to the list; its docstring says what used to go wrong."""
    DEFECTS.append(function)
    return function


# -- Wrong or silent --------------------------------------------------------------------------------------------------


def pair_of_equal_rows(dtype, off=0.0):
    """sub, diag, sup: 4 on the diagonal, but rows 100 and 101 are [1 1; 1 1]."""
    import numpy as np

    n = 256
    sub, diag, sup = np.full(n, off, dtype), np.full(n, 4, dtype), np.full(n, off, dtype)
    sub[[100, 101, 102]], diag[[100, 101]], sup[[99, 100, 101]] = [0, 1, 0], 1, [0, 1, 0]
    return sub, diag, sup


def raises(error, call):
    """Whether `call` raises `error`; what it returns is in the message if it does not."""
    try:
        answer = call()
    except error:
        return True
    raise AssertionError(f"no {error.__name__}: {answer}")


@defect
def singular_beside_large_numbers():
    """A singular pair of rows was accepted where another row's right-hand side allowed an x of 1e11."""
    import bandsolve
    import numpy as np

    for dtype, small in [(np.float32, 1e-7), (np.float64, 1e-250)]:
        a = pair_of_equal_rows(dtype)
        for others in [100, small]:
            rhs = np.full(256, others, dtype)
            rhs[100], rhs[101] = small, 2 * small
            for check in [True, False]:
                raises(np.linalg.LinAlgError, lambda: bandsolve.solve_tridiagonal(*a, rhs, verify=check))
                batch = [np.stack([array, array]) for array in a]
                raises(np.linalg.LinAlgError, lambda: bandsolve.solve_batch(*batch, np.stack([rhs, rhs])))


@defect
def zero_pivots_unverified():
    """Without verification a singular matrix gave x of 6.5e143."""
    import bandsolve
    import numpy as np

    sub, diag, sup = pair_of_equal_rows(np.float64, off=1.0)
    ab, rhs = np.stack([np.r_[0, sup[:-1]], diag, np.r_[sub[1:], 0]]), np.ones(256)
    raises(np.linalg.LinAlgError, lambda: bandsolve.solve_banded((1, 1), ab, rhs, check_finite=False))
    wide = np.vstack([np.zeros((1, 256)), ab, np.zeros((1, 256))])
    raises(np.linalg.LinAlgError, lambda: bandsolve.solve_banded((2, 2), wide, rhs, check_finite=False))


@defect
def pairs_without_exchanges():
    """Small systems were singular where rows may not be exchanged, larger ones were solved."""
    import bandsolve
    import numpy as np

    for n in [2, 126, 128]:
        beside = np.arange(n) % 2
        rhs = np.arange(n) + 1.0
        x = bandsolve.solve_tridiagonal(beside * 1.0, np.zeros(n), 1.0 - beside, rhs, pivoting="none")
        assert (x == rhs.reshape(-1, 2)[:, ::-1].ravel()).all(), x


@defect
def columns_after_a_bad_one():
    """Right-hand sides after the first bad one were left unsolved."""
    import bandsolve
    import numpy as np

    n = 300
    off, diag, rhs = np.ones(n), np.full(n, 4.0), np.ones((n, 7))
    rhs[17, 1] = rhs[0, 4] = np.nan
    try:
        bandsolve.solve_tridiagonal(off, diag, off, rhs)
    except ValueError as error:
        assert "right-hand side 1; also 4" in str(error), error
    else:
        raise AssertionError("no ValueError")


# -- Eigenvalues ------------------------------------------------------------------------------------------------------


@defect
def intervals_that_end_at_an_eigenvalue():
    """eigh_tridiagonal(select="v") took [from, to) or [from, to] for (from, to] where an end was an eigenvalue."""
    import numpy as np
    from bandsolve.eigen import eigh_tridiagonal

    # 1 and 3, exactly.
    d, e = np.array([2.0, 2.0]), np.array([-1.0])
    for ends, expected in (((1, 3), [3.0]), ((0, 1), [1.0]), ((1, 2), []), ((0, 3), [1.0, 3.0])):
        w = eigh_tridiagonal(d, e, eigvals_only=True, select="v", select_range=ends)
        assert w.tolist() == expected, (ends, w)


# -- Numbers and threads ----------------------------------------------------------------------------------------------


@defect
def numbers_that_the_caller_flushes_to_zero():
    """Where -ffast-math had been at work, a right-hand side of 1e-310 gave x = 0, with a backward error of 0."""
    import ctypes
    import platform

    import bandsolve
    import numpy as np

    if platform.machine() != "x86_64" or platform.libc_ver()[0] != "glibc":
        return
    libm = ctypes.CDLL("libm.so.6")
    off, diag, rhs = np.ones(1000), np.full(1000, 4.0), np.full(1000, 1e-310)
    expected = bandsolve.solve_tridiagonal(off, diag, off, rhs)
    # glibc's fenv_t; the last word is MXCSR.
    usual = (ctypes.c_uint32 * 8)()
    libm.fegetenv(usual)
    for bits in (0x8040, 0x2000, 0x4000, 0x6000):
        other = (ctypes.c_uint32 * 8)(*usual)
        other[7] |= bits
        libm.fesetenv(other)
        x = bandsolve.solve_tridiagonal(off, diag, off, rhs)
        libm.fegetenv(other)
        libm.fesetenv(usual)
        assert (x == expected).all() and x.any(), hex(bits)
        assert other[7] & bits == bits


@defect
def one_thread_is_one_thread():
    """With threads=1 a pool was started nevertheless, and answers were measured there."""
    import bandsolve
    import numpy as np

    def threads():
        return len(os.listdir("/proc/self/task"))

    if not os.path.isdir("/proc/self/task"):
        return
    n = 200_000
    before = threads()
    off, diag, rhs = np.ones(n), np.full(n, 4.0), np.random.default_rng(1).standard_normal((n, 2))
    for method in ("auto", "pivoted", "thomas", "cr"):
        bandsolve.solve_tridiagonal(off, diag, off, rhs, method=method, threads=1)
    assert threads() == before, f"{before} threads, then {threads()}"

# -- Crashes ----------------------------------------------------------------------------------------------------------


def with_little_memory(megabytes, solve):
    """Calls `solve` with so many megabytes more than are in use; returns whether MemoryError was raised."""
    import resource

    with open("/proc/self/statm") as statm:
        used = int(statm.read().split()[0]) * resource.getpagesize()
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + (megabytes << 20), most))
    try:
        solve()
    except MemoryError:
        return True
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    return False


@defect
def factoring_without_memory():
    """`factor_tridiagonal` aborted the interpreter where there was no memory for its copy of the matrix."""
    import bandsolve
    import numpy as np

    n = 4_000_000
    off, diag, rhs = np.ones(n), np.full(n, 4.0), np.ones(n)
    ab = np.ones((3, n // 4)) + np.array([[0.0], [3.0], [0.0]])
    bandsolve.solve_tridiagonal(off, diag, off, rhs)  # starts the threads
    raised = 0
    for megabytes in range(8, 400, 24):
        for method in ["auto", "pivoted", "thomas", "spike-cr", "cr"]:
            raised += with_little_memory(
                megabytes, lambda: bandsolve.factor_tridiagonal(off, diag, off, method=method).solve(rhs)
            )
        raised += with_little_memory(megabytes, lambda: bandsolve.solve_tridiagonal(off, diag, off, rhs))
        raised += with_little_memory(megabytes, lambda: bandsolve.factor_banded((1, 1), ab).solve(ab[1]))
    assert raised > 20, raised


@defect
def factors_that_lacked_memory_once():
    """Factors that are made late were given up for ever where there was no memory the first time."""
    import bandsolve
    import numpy as np

    n = 1_000_000
    off, diag, rhs = np.ones(n), np.full(n, 4.0), np.ones(n)
    lu = bandsolve.factor_tridiagonal(off, diag, off, method="thomas")
    expected = lu.solve(rhs)
    assert with_little_memory(12, lambda: lu.solve_transpose(rhs))
    assert np.abs(lu.solve_transpose(rhs) - expected).max() < 1e-14


@defect
def widths_that_wrap():
    """The sum of widths panicked, or wrapped around."""
    import bandsolve
    import numpy as np

    ab = np.ones((3, 5))
    for widths in [(2**63, 2**63), (2**64 - 1, 0), (2**63, 2**63 - 1), (2**64 - 1, 4)]:
        for call in [bandsolve.factor_banded, lambda *system: bandsolve.solve_banded(*system, np.ones(5))]:
            try:
                call(widths, ab)
            except ValueError:
                continue
            raise AssertionError(f"no ValueError for {widths}")


@defect
def threads_that_cannot_be_started():
    """Under a limit of memory every solve panicked, and LAPACK's symbols returned INFO = -1000, even for two unknowns."""
    import ctypes
    import resource

    os.environ["RAYON_NUM_THREADS"] = "4000"
    import bandsolve
    import numpy as np

    lapack = ctypes.CDLL(str(TARGET / "liblapack_bandsolve.so"))
    resource.setrlimit(resource.RLIMIT_AS, (4_000_000 * 1024, resource.RLIM_INFINITY))
    n = 400_000
    x = bandsolve.solve_tridiagonal(np.ones(n), np.full(n, 4.0), np.ones(n), np.full(n, 6.0))
    assert abs(x[n // 2] - 1) < 1e-12
    two, one, info = ctypes.c_int(2), ctypes.c_int(1), ctypes.c_int(77)
    arrays = [(ctypes.c_double * 2)(*values) for values in ((1, 0), (4, 4), (1, 0), (5, 5))]
    lapack.dgtsv_(ctypes.byref(two), ctypes.byref(one), *arrays, ctypes.byref(two), ctypes.byref(info))
    assert info.value == 0 and list(arrays[3]) == [1, 1], info.value

# -- Files ------------------------------------------------------------------------------------------------------------


def program(arguments, **options):
    """Starts `bandsolve`; what it says goes into pipes."""
    command = [TARGET / "bandsolve", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def limit_memory():
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))


def zeros_of_45000_squared(folder):
    """An array of bytes that takes 2 GB, packed into 2 MB."""
    import gzip

    header = b"{'descr': '|u1', 'fortran_order': False, 'shape': (45000, 45000), }\n"
    path = Path(folder) / "zeros.npy.gz"
    header = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    path.write_bytes(gzip.compress(header) + 45 * gzip.compress(bytes(45000 * 1000)))
    return path


@defect
def packed_files_beyond_memory():
    """A file of 2 MB that unpacks to more than there is ended the program."""
    with tempfile.TemporaryDirectory() as folder:
        run = program(["info", zeros_of_45000_squared(folder)], preexec_fn=limit_memory)
        _, message = run.communicate()
        assert run.returncode == 3 and "GiB are free" in message, (run.returncode, message)


@defect
def tuning_files_that_never_end():
    """A pipe as the tuning file was waited for, a device read, for ever."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        for path in (pipe, "/dev/zero", folder):
            run = program(["tune", "--show"], env={**os.environ, "BANDSOLVE_TUNING": path})
            try:
                _, message = run.communicate(timeout=20)
            finally:
                run.kill()
            assert run.returncode == 3 and "no regular file" in message, (path, run.returncode, message)


@defect
def signals_that_leave_files():
    """Ctrl-C and SIGTERM left a temporary file behind."""
    for number in (signal.SIGINT, signal.SIGTERM):
        with tempfile.TemporaryDirectory() as folder:
            arguments = ["generate", "random", 10_000_000, "--out", os.path.join(folder, "A.mtx")]
            run = program(arguments, preexec_fn=lambda: signal.signal(number, signal.SIG_DFL))
            while not os.listdir(folder):
                assert run.poll() is None, "it ended before"
                time.sleep(0.01)
            run.send_signal(number)
            run.communicate()
            assert run.returncode == -number and not os.listdir(folder), (run.returncode, os.listdir(folder))

# -- Over ranks -------------------------------------------------------------------------------------------------------


def rank_program(*arguments, **options):
    """`bandsolve-mpi` on one rank; None where it is not compiled because there is no MPI."""
    path = TARGET / "bandsolve-mpi"
    if not path.exists():
        print("bandsolve-mpi is not compiled: there is no MPI")
        return None
    environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run([path, *map(str, arguments)], text=True, timeout=60, env=environment, **options)


def small_matrix(folder, n=5, symmetric=True):
    """A Matrix Market file of the tridiagonal matrix (-1, 2, -1)."""
    entries = [(i, j, 2 if i == j else -1) for i in range(1, n + 1) for j in range(max(1, i - 1), (i if symmetric else min(n, i + 1)) + 1)]
    kind = "symmetric" if symmetric else "general"
    path = Path(folder) / "A.mtx"
    lines = "".join(f"{i} {j} {v}\n" for i, j, v in entries)
    path.write_text(f"%%MatrixMarket matrix coordinate real {kind}\n{n} {n} {len(entries)}\n{lines}")
    return path


@defect
def inputs_that_the_program_over_ranks_replaced():
    """`bandsolve-mpi solve A.mtx --out A.mtx` replaced the matrix by the solution, also through a link or as the right-hand side."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = small_matrix(folder)
        rhs = Path(folder) / "b.mtx"
        rhs.write_text("%%MatrixMarket matrix array real general\n5 1\n1\n2\n3\n4\n5\n")
        hard, soft = Path(folder) / "hard.mtx", Path(folder) / "soft.mtx"
        os.link(matrix, hard)
        soft.symlink_to(rhs)
        before = matrix.read_bytes(), rhs.read_bytes()
        for out in (matrix, rhs, hard, soft):
            run = rank_program("solve", matrix, "--rhs", rhs, "--out", out)
            if run is None:
                return
            assert run.returncode == 2 and "also an input" in run.stderr, (out, run)
            assert (matrix.read_bytes(), rhs.read_bytes()) == before
        # What is replaced keeps its permissions.
        out = Path(folder) / "x.mtx"
        out.write_text("")
        out.chmod(0o640)
        assert rank_program("solve", matrix, "--rhs", rhs, "--out", out).returncode == 0
        assert out.stat().st_mode & 0o777 == 0o640, oct(out.stat().st_mode)


@defect
def reports_over_ranks_that_are_lost():
    """A report that could not be written was no error."""
    with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
        matrix = small_matrix(folder)
        for arguments in (["solve", matrix], ["solve", matrix, "--json"], ["eig", matrix, "-k", 2], ["eig", matrix, "-k", 2, "--json"]):
            run = rank_program(*arguments, stdout=full)
            assert run is None or run.returncode == 1 and "cannot be written" in run.stderr, (arguments, run)


@defect
def options_over_ranks_that_make_no_sense():
    """`--method bogus` meant auto, `-k 0` was proved complete, `-k 7` of 5 rows looked for more than there are."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = small_matrix(folder)
        for arguments, said in (
            (["solve", matrix, "--block", 1, "--method", "bogus"], "no such method"),
            (["eig", matrix, "-k", 0], "from 1 to 5"),
            (["eig", matrix, "-k", 7], "from 1 to 5"),
            (["eig", matrix, "-k", 2, "--tol", 2], "below 1"),
        ):
            run = rank_program(*arguments)
            assert run is None or run.returncode == 2 and said in run.stderr, (arguments, run)


@defect
def singular_matrices_over_ranks():
    """`bandsolve-mpi solve` returned an x without a correct digit, and said nothing of it."""
    with tempfile.TemporaryDirectory() as folder:
        # Rows [1 1; 1 1 + epsilon], and others.
        matrix, rhs = Path(folder) / "A.mtx", Path(folder) / "b.mtx"
        matrix.write_text("%%MatrixMarket matrix coordinate real general\n4 4 6\n1 1 1\n1 2 1\n2 1 1\n2 2 1.0000000000000002\n3 3 2\n4 4 5\n")
        rhs.write_text("%%MatrixMarket matrix array real general\n4 1\n1\n-1\n1\n1\n")
        run = rank_program("solve", matrix, "--rhs", rhs)
        if run is None:
            return
        assert run.returncode == 0 and "attention" in run.stdout and "no correct digit" in run.stdout, run
        import json

        report = json.loads(rank_program("solve", matrix, "--rhs", rhs, "--json").stdout)
        assert "no correct digit" in report["attention"] and report["rcond"] < 1e-15, report
        fine = json.loads(rank_program("solve", small_matrix(folder), "--json").stdout)
        assert fine["attention"] is None and fine["rcond"] > 1e-2, fine

# -- Advice -----------------------------------------------------------------------------------------------------------


@defect
def factors_that_made_loops_slower():
    """`factor_banded` took methods that keep nothing, and solved bands of width one as bands: every solve was slower than without."""
    import bandsolve
    import numpy as np

    n, random = 10_000, np.random.default_rng(0)
    for width in (1, 2, 4):
        ab = random.uniform(-1, 1, (2 * width + 1, n))
        ab[width] += 2 * width + 1
        lu = bandsolve.factor_banded((width, width), ab)
        if width == 1:
            assert "tridiagonal system" in lu.reason, lu.reason
        else:
            assert lu.method in ("pivoted", "spike"), (lu.method, lu.reason)
        rhs = random.uniform(-1, 1, n)
        assert np.allclose(lu.solve(rhs), bandsolve.solve_banded((width, width), ab, rhs), rtol=1e-12, atol=0)



# -- Poisson problems: resonance, means, memory -------------------------------------------------------------------------


def finite_elements(n, lumped):
    """Stiffness and mass of linear elements on [0, 1] with no flow through the ends: A has the null space of constants."""
    import numpy as np

    h = 1 / (n - 1)
    end = np.ones(n)
    end[[0, -1]] = 0.5
    beside = np.full(n, -1 / h)
    mass = np.full(n, 0.0 if lumped else h / 6)
    return (beside, 2 * end / h, beside), (mass, (1 if lumped else 2 / 3) * h * end, mass)


@defect
def poisson_at_resonance():
    """The shift -4 is an eigenvalue of 31 x 31 nodes: u of 9e15 came back with a backward error of 1.1e-16 and no error."""
    import numpy as np
    from bandsolve import poisson

    f = np.random.default_rng(0).normal(size=(31, 31))
    for method in ("auto", "gemm", "bcr4", "pscr"):
        raises(np.linalg.LinAlgError, lambda: poisson.solve(f, shift=-4.0, method=method))
    u, report = poisson.solve(f, shift=-4.01, full_output=True)
    assert report["attention"] is None and report["rcond"] > 1e-5, report


@defect
def pencils_with_a_null_space():
    """Finite elements with Neumann sides and no shift have no solution: u of 7.5e15 came back without an error."""
    import numpy as np
    from bandsolve import poisson

    rng = np.random.default_rng(0)
    for shape in ((17,), (17, 17), (33, 20), (9, 9, 9), (50, 60)):
        for method in ("auto", "pscr"):
            for lumped in (False, True):
                pencils = [finite_elements(n, lumped) for n in shape]
                f = rng.normal(size=shape) + 1
                raises((np.linalg.LinAlgError, ValueError), lambda: poisson.solve(f, pencils=pencils, method=method))
    poisson.solve(rng.normal(size=(17, 17)), pencils=[finite_elements(17, False)] * 2, shift=1.0)


@defect
def mean_on_graded_grids():
    """Asked for the mean 3 on cells of sizes from 1e-2 to 1e2, u had the mean 2.985, and the report said 3."""
    import numpy as np
    from bandsolve import poisson

    for seed in range(5):
        rng = np.random.default_rng(seed)
        steps = [10 ** rng.uniform(-2, 2, n) for n in (60, 50)]
        faces = [np.r_[0, np.cumsum(h)] for h in steps]
        weights = np.outer(*[np.diff(p) for p in faces])
        weights /= weights.sum()
        f = rng.normal(size=(60, 50))
        for boundary in ("neumann", "periodic"):
            u, report = poisson.solve(f, boundary=boundary, grid="cell", coordinates=faces, mean=3.0, removable=np.inf, full_output=True)
            # u and the sum here are rounded: by ε/2 of each of 3000 terms at most, and 13ε is what the solver accepts.
            bound = (13 + 3000 / 2) * np.finfo(float).eps * ((weights * abs(u)).sum() + 3)
            assert abs((weights * u).sum() - report["mean"]) <= bound and abs(report["mean"] - 3) <= bound, report


@defect
def one_unknown_that_balances():
    """f and the flows through the sides of one cell cancel to rounding: the problem was refused."""
    import numpy as np
    from bandsolve import poisson

    for dimensions in (1, 2, 3):
        boundary = [(("neumann", 0.1), ("neumann", 0.2))] + ["neumann"] * (dimensions - 1)
        f = np.full((1,) * dimensions, -0.3)
        u = poisson.solve(f, boundary=boundary[0] if dimensions == 1 else boundary, grid="cell", mean=2.0)
        assert u.ravel()[0] == 2.0, u


@defect
def boxes_beyond_memory():
    """A box that does not fit into memory aborted the interpreter."""
    import resource

    import numpy as np
    from bandsolve import poisson

    resource.setrlimit(resource.RLIMIT_AS, (12 << 30, 12 << 30))
    for shape, options in [
        ((2 * 10**9,), {}),
        ((10**13,), {}),
        ((10**10, 1), {}),
        ((1, 2 * 10**9), {}),
        ((3 * 10**9,), {"boundary": "neumann", "grid": "cell"}),
        ((8, 100000), {"coordinates": (np.linspace(0, 1, 10), np.linspace(0, 1, 100002)), "method": "gemm"}),
        ((200000, 3, 200000), {"coordinates": (np.linspace(0, 1, 200002), None, np.linspace(0, 1, 200002))}),
    ]:
        raises(MemoryError, lambda: poisson.Solver(shape, **options))


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
