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


@defect
def targets_that_are_eigenvalues():
    """A target that is an eigenvalue was moved, and those nearest to the moved one were returned, as proved complete."""
    import numpy as np
    import scipy.sparse as sp
    from bandsolve.eigen import eigs, eigsh

    d = np.r_[0.0, -1.0, 1 + 1e-5, np.linspace(50, 100, 40)]
    a = sp.diags_array(d).tocsr()
    for call in (dict(sigma=0.0, complete=True), dict(which="SM", complete=True), dict(sigma=0.0)):
        w = eigsh(a, 2, return_eigenvectors=False, **call)
        assert np.allclose(w, [-1, 0], atol=1e-9), (call, w)
    w = eigs(a, 2, sigma=0.0, return_eigenvectors=False)
    assert np.allclose(np.sort(w.real), [-1, 0], atol=1e-9), w


@defect
def single_precision_that_nobody_verified():
    """Eigenvalues of f32 matrices that are not symmetric were "converged" with residuals above 0.01."""
    import numpy as np
    from bandsolve.eigen import eigsh
    from scipy.sparse.linalg import ArpackNoConvergence

    rng = np.random.default_rng(1)
    for _ in range(30):
        try:
            _, _, report = eigsh(rng.normal(size=(100, 100)).astype("f4"), 2, full_output=True, maxiter=300)
        except ArpackNoConvergence:
            continue
        assert report["residuals"].max() < 1e-3, report


@defect
def eigenvalues_of_large_and_small_matrices():
    """eigsh of a matrix times 1e160 or 1e-160: "(A x)[0] is not finite"."""
    import numpy as np
    import scipy.sparse as sp
    from bandsolve.eigen import eigs, eigsh

    a = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(50, 50)).tocsr()
    exact = np.linalg.eigvalsh(a.toarray())[-3:]
    for scale in (1e-300, 1e-160, 1e160, 1e300):
        for w in (eigsh(a * scale, 3, which="LA")[0], eigs(a * scale, 3, which="LR")[0].real, eigsh(a * scale, 3, sigma=5 * scale)[0]):
            assert np.allclose(np.sort(w) / scale, exact, rtol=1e-9), (scale, w)


@defect
def more_eigenvalues_than_rows():
    """`eig -k 18446744073709551615` ended in a panic, `-k 100000` of 1000 rows ran for minutes."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = Path(folder) / "A.mtx"
        program(["generate", "random", "1000", "--out", matrix]).communicate(timeout=SECONDS)
        for k in ("1001", "100000", str(2**64 - 1)):
            run = program(["eig", matrix, "-k", k])
            _, error = run.communicate(timeout=20)
            assert run.returncode == 2 and "has 1000 rows" in error, error


# -- Numbers and threads ----------------------------------------------------------------------------------------------


@defect
def equal_eigenvalues():
    """`eigsh` and `eigs` said converged, and had missed copies of double eigenvalues of rings and of equal blocks."""
    import numpy as np
    import scipy.sparse as sp
    from bandsolve.eigen import eigs, eigsh

    for n in (50, 100, 200, 400):
        a = sp.diags_array([-0.5, -0.5, 1.0, -0.5, -0.5], offsets=[-n + 1, -1, 0, 1, n - 1], shape=(n, n), format="csr")
        exact = np.sort(2 * np.sin(np.pi * np.arange(n) / n) ** 2)
        for k in range(1, 10):
            for find, ends in ((eigsh, ("SA", "LA")), (eigs, ("SR", "LR"))):
                for which, expected in zip(ends, (exact[:k], exact[-k:])):
                    w = np.sort(find(a, k, which=which, tol=1e-9, ncv=40, return_eigenvectors=False).real)
                    assert np.abs(w - expected).max() < 1e-8, (n, k, which, w, expected)
    for seed in range(10):
        block = np.random.default_rng(seed).normal(size=(12, 12))
        block = np.where(abs(np.subtract.outer(np.arange(12), np.arange(12))) <= 2, block + block.T, 0)
        a, exact = sp.block_diag([block] * 6, format="csr"), np.repeat(np.linalg.eigvalsh(block), 6)
        for k in (1, 4, 6, 7, 13):
            w = eigsh(a, k, which="LA", tol=1e-9, return_eigenvectors=False)
            assert np.abs(w - exact[-k:]).max() < 1e-7, (seed, k, w)
            nearest = np.sort(exact[np.argsort(abs(exact - 0.3), kind="stable")[:k]])
            w = eigsh(a, k, sigma=0.3, tol=1e-9, return_eigenvectors=False)
            assert np.abs(w - nearest).max() < 1e-7, (seed, k, w)


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
