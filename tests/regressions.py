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
                raises(np.linalg.LinAlgError, lambda: bandsolve.solve_tridiagonal(*a, rhs, verify=check, padded=True))
                batch = [np.stack([array, array]) for array in a]
                raises(np.linalg.LinAlgError, lambda: bandsolve.solve_batch(*batch, np.stack([rhs, rhs]), padded=True))


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
        x = bandsolve.solve_tridiagonal(beside * 1.0, np.zeros(n), 1.0 - beside, rhs, pivoting="none", padded=True)
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
        bandsolve.solve_tridiagonal(off, diag, off, rhs, padded=True)
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
    """`eig -k 18446744073709551615` ended in a panic, `-k 100000` of 1000 rows ran for minutes; `-k 0` was "complete"."""
    with tempfile.TemporaryDirectory() as folder:
        matrix = Path(folder) / "A.mtx"
        program(["generate", "random", "1000", "--out", matrix]).communicate(timeout=SECONDS)
        for k in ("0", "1001", "100000", str(2**64 - 1)):
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
    expected = bandsolve.solve_tridiagonal(off, diag, off, rhs, padded=True)
    # glibc's fenv_t; the last word is MXCSR.
    usual = (ctypes.c_uint32 * 8)()
    libm.fegetenv(usual)
    for bits in (0x8040, 0x2000, 0x4000, 0x6000):
        other = (ctypes.c_uint32 * 8)(*usual)
        other[7] |= bits
        libm.fesetenv(other)
        x = bandsolve.solve_tridiagonal(off, diag, off, rhs, padded=True)
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
        bandsolve.solve_tridiagonal(off, diag, off, rhs, method=method, threads=1, padded=True)
    assert threads() == before, f"{before} threads, then {threads()}"

# -- Krylov methods: range and claims

KRYLOV = ("cg", "gmres", "bicgstab", "idrs", "richardson")


@defect
def overflown_norms_of_krylov_methods():
    """A right-hand side whose norm overflows gave x = 0, converged, by every method and by the program."""
    import numpy as np
    import scipy.io
    import scipy.sparse as sp
    from bandsolve import sparse

    a, b = sp.eye_array(4, format="csr") * 0.75, np.full(4, 1.7e308) * 0.75
    for name in KRYLOV:
        for start in [None, np.ones(4)]:
            x, report = getattr(sparse, name)(a, b, start, full_output=True)
            assert report["converged"] and np.allclose(x / 1.7e308, 1.0, rtol=1e-4), (name, report)
            # A method that ends early claims nothing.
            x, report = getattr(sparse, name)(a, b, start, maxiter=0, full_output=True)
            assert not report["converged"], (name, report)
    with tempfile.TemporaryDirectory() as folder:
        scipy.io.mmwrite(f"{folder}/a.mtx", sp.coo_array(a))
        scipy.io.mmwrite(f"{folder}/b.mtx", b.reshape(-1, 1))
        run = program(["iterate", f"{folder}/a.mtx", "--rhs", f"{folder}/b.mtx", "--solver", "cg", "--out", f"{folder}/x.mtx"])
        said = run.communicate(timeout=SECONDS)
        assert run.returncode == 0, said
        assert np.allclose(scipy.io.mmread(f"{folder}/x.mtx") / 1.7e308, 1.0, rtol=1e-4)


@defect
def large_right_hand_sides_of_bicgstab():
    """BiCGStab broke down from |b| = 1e75 on, CG and IDR at 1e±160."""
    import numpy as np
    import scipy.sparse as sp
    from bandsolve import sparse

    n = 100
    a = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    b = np.sin(np.arange(n) + 1.0)
    for name in KRYLOV[:4]:
        for size in [1.0, 1e60, 1e80, 1e120, 1e160, 1e-160, 1e300, 1e-300]:
            x, report = getattr(sparse, name)(a, size * b, full_output=True)
            assert report["converged"] and np.linalg.norm(b - a @ (x / size)) <= 1.1e-5 * np.linalg.norm(b), (name, size, report)
        for size in [1e150, 1e-150]:
            x, report = getattr(sparse, name)(size * a, b, full_output=True)
            assert report["converged"] and np.linalg.norm(b - a @ (x * size)) <= 1.1e-5 * np.linalg.norm(b), (name, size, report)


@defect
def residuals_below_their_own_rounding():
    """fl(a x) = b was a residual of 0, whatever the tolerance: `converged` to 1e-18."""
    import numpy as np
    import scipy.sparse as sp
    from bandsolve import sparse
    from scipy.sparse.linalg import aslinearoperator

    a, x = sp.csr_array(np.array([[0.1]])), np.array([0.1])
    for name in KRYLOV:
        for matrix in [a, aslinearoperator(a)]:
            assert not getattr(sparse, name)(matrix, a @ x, x, rtol=1e-18, full_output=True)[1]["converged"], name
            assert getattr(sparse, name)(matrix, a @ x, x, rtol=1e-6, full_output=True)[1]["converged"], name


@defect
def imaginary_parts_that_were_dropped():
    """Operators that are declared real and return complex numbers lost their imaginary parts without a word."""
    import numpy as np
    from bandsolve import eigen, sparse
    from scipy.sparse.linalg import LinearOperator

    n = 20
    b, real = np.ones(n), LinearOperator((n, n), matvec=lambda v: 2 * v, dtype=float)
    wrong = LinearOperator((n, n), matvec=lambda v: (2 + 1j) * v, dtype=float)
    for name in KRYLOV:
        raises(TypeError, lambda: getattr(sparse, name)(wrong, b))
        raises(TypeError, lambda: getattr(sparse, name)(0.1 * real, b, M=wrong))
        raises(TypeError, lambda: getattr(sparse, name)(0.1 * real, b, "Mb", M=wrong))
    for call in [eigen.eigsh, eigen.eigs]:
        raises(TypeError, lambda: call(wrong, 2))
        raises(TypeError, lambda: call(np.diag(np.arange(20.0)), 2, sigma=0.5, OPinv=wrong))
    # A list of complex numbers as the start makes the system complex.
    x, info = sparse.gmres(2 * np.eye(n), b, [1j] * n)
    assert info == 0 and np.allclose(x, 0.5)


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
    bandsolve.solve_tridiagonal(off, diag, off, rhs, padded=True)  # starts the threads
    raised = 0
    for megabytes in range(8, 400, 24):
        for method in ["auto", "pivoted", "thomas", "spike-cr", "cr"]:
            raised += with_little_memory(
                megabytes, lambda: bandsolve.factor_tridiagonal(off, diag, off, method=method, padded=True).solve(rhs)
            )
        raised += with_little_memory(megabytes, lambda: bandsolve.solve_tridiagonal(off, diag, off, rhs, padded=True))
        raised += with_little_memory(megabytes, lambda: bandsolve.factor_banded((1, 1), ab).solve(ab[1]))
    assert raised > 20, raised


@defect
def factors_that_lacked_memory_once():
    """Factors that are made late were given up for ever where there was no memory the first time."""
    import bandsolve
    import numpy as np

    n = 1_000_000
    off, diag, rhs = np.ones(n), np.full(n, 4.0), np.ones(n)
    lu = bandsolve.factor_tridiagonal(off, diag, off, method="thomas", padded=True)
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
    x = bandsolve.solve_tridiagonal(np.ones(n), np.full(n, 4.0), np.ones(n), np.full(n, 6.0), padded=True)
    assert abs(x[n // 2] - 1) < 1e-12
    two, one, info = ctypes.c_int(2), ctypes.c_int(1), ctypes.c_int(77)
    arrays = [(ctypes.c_double * 2)(*values) for values in ((1, 0), (4, 4), (1, 0), (5, 5))]
    lapack.dgtsv_(ctypes.byref(two), ctypes.byref(one), *arrays, ctypes.byref(two), ctypes.byref(info))
    assert info.value == 0 and list(arrays[3]) == [1, 1], info.value

# -- LAPACK's symbols ---------------------------------------------------------------------------------------------------


LAPACK_TYPES = {"s": ("f4", "f4"), "d": ("f8", "f8"), "c": ("c8", "f4"), "z": ("c16", "f8")}


def lapack_call(name, *arguments):
    """Calls a routine with numbers, letters and arrays; a letter may be an array of one byte. Returns INFO."""
    import ctypes

    keep, letters = [], 0
    for argument in arguments:
        if isinstance(argument, str):
            letters += 1
            keep.append(ctypes.create_string_buffer(argument.encode()))
        elif isinstance(argument, int):
            keep.append(ctypes.byref(ctypes.c_int(argument)))
        else:
            letters += argument.dtype == "u1"
            keep.append(argument.ctypes.data_as(ctypes.c_void_p))
    info = ctypes.c_int(-77)
    routine = getattr(ctypes.CDLL(str(TARGET / "liblapack_bandsolve.so")), name + "_")
    routine.restype = None
    routine(*keep, ctypes.byref(info), *[ctypes.c_long(1)] * letters)
    return info.value


def read_only(array):
    """A copy in pages that nobody may write, as constants of a program are."""
    import ctypes
    import mmap

    import numpy as np

    array = np.asarray(array)
    pages = mmap.mmap(-1, max(1, array.nbytes))
    copy = np.frombuffer(pages, array.dtype, array.size)
    copy[:] = array.ravel(order="F")
    libc = ctypes.CDLL(None, use_errno=True)
    size = -(-max(1, array.nbytes) // mmap.PAGESIZE) * mmap.PAGESIZE
    assert libc.mprotect(ctypes.c_void_p(copy.ctypes.data), ctypes.c_size_t(size), 1) == 0, ctypes.get_errno()
    return copy


@defect
def lapack_conditions_at_the_ends_of_the_range():
    """`?ptcon` returned infinity for 1.8e308 and 0 for 1e-310, matrices of one row; `?gtsvx` and others FERR = infinity near 1e-307."""
    import numpy as np

    one = lambda kind: np.zeros(1, kind)
    for letter, (dtype, real) in LAPACK_TYPES.items():
        about = np.finfo(real)
        for number in (about.max, 1.0, about.tiny, 8 * about.smallest_subnormal, about.smallest_subnormal):
            a, d, norm = np.array([number], dtype), np.array([number], real), np.array([number], real)
            pivot, none, few = np.ones(1, "i4"), one(dtype), np.zeros(8, dtype)
            found = {}

            def con(name, *arguments):
                rcond = one(real)
                info = lapack_call(letter + name, *arguments, norm, rcond, few, np.zeros(8, "f8"))
                found[name] = (info, rcond[0])

            for side in "1I":
                con("gbcon", side, 1, 0, 0, a, 1, pivot)
            rcond = one(real)
            more = [np.zeros(8, "i4")] if dtype == real else []
            info = lapack_call(letter + "gtcon", "1", 1, none, a, none, none, pivot, norm, rcond, few, *more)
            found["gtcon"] = (info, rcond[0])
            rcond = one(real)
            found["ptcon"] = (lapack_call(letter + "ptcon", 1, d, none, norm, rcond, np.zeros(8, real)), rcond[0])
            root = a.copy()
            assert lapack_call(letter + "pbtrf", "L", 1, 0, root, 1) == 0
            con("pbcon", "L", 1, 0, root, 1)
            # The expert drivers, with x = 1.
            for name in ("gtsvx", "gbsvx", "ptsvx", "pbsvx"):
                x, rcond, bounds, b, work, extra = one(dtype), one(real), [one(real), one(real)], a.copy(), few, np.zeros(8, "f8")
                end = [b, 1, x, 1, rcond, *bounds, work, extra]
                if name == "gtsvx":
                    factors = [one(dtype) for _ in range(4)]
                    info = lapack_call(letter + name, "N", "N", 1, 1, none, a, none, *factors, pivot, *end)
                elif name == "gbsvx":
                    given = [a.copy(), 1, one(dtype), 1, pivot, one("u1"), one(real), one(real)]
                    info = lapack_call(letter + name, "N", "N", 1, 0, 0, 1, *given, *end)
                elif name == "ptsvx":
                    end = end if dtype != real else end[:-1]
                    info = lapack_call(letter + name, "N", 1, 1, d, none, one(real), one(dtype), *end)
                else:
                    given = [a.copy(), 1, one(dtype), 1, one("u1"), one(real)]
                    info = lapack_call(letter + name, "N", "L", 1, 0, 1, *given, *end)
                found[name] = (info, rcond[0])
                assert 0.99 < abs(x[0]) < 1.01, (letter, name, number, x)
            # A root of a number below the normal range is exact to few digits, as is the number itself.
            for name, (info, rcond) in found.items():
                assert info == 0 and 0.5 < rcond < 2, (letter, name, number, info, rcond)
    # Scales whose product is beyond the range: a row and a diagonal entry below the smallest normal number.
    for letter, tiny in (("d", 2.0**-1030), ("s", 2.0**-130)):
        dtype, n = LAPACK_TYPES[letter][0], 3
        a = np.array([[tiny * 2**10, tiny * 2**6, 0], [tiny, tiny / 8, tiny / 8], [0, tiny * 2**10, tiny * 2**4]], dtype)
        ab = np.asfortranarray([[0, a[0, 1], a[1, 2]], np.diag(a), [a[1, 0], a[2, 1], 0]], dtype=dtype)
        b, x, few = a.sum(1).astype(dtype), np.zeros(n, dtype), np.zeros(12, dtype)
        one, rcond = np.zeros(1, dtype), np.zeros(1, dtype)
        scales = [np.zeros(n, dtype), np.zeros(n, dtype)]
        info = lapack_call(
            letter + "gbsvx", "E", "N", n, 1, 1, 1, ab, 3, np.zeros((4, n), dtype, order="F"), 4, np.zeros(n, "i4"), np.zeros(1, "u1"),
            *scales, b, n, x, n, rcond, one, one.copy(), few, np.zeros(n, "i4"),
        )  # fmt: skip
        assert info == 0 and rcond[0] > 1e-6 and abs(x - 1).max() < 1e-3, (letter, info, rcond, x)
    # The bound of the error of x, which is far below infinity although 1/|A| is not.
    for letter, scale, size in (("d", 3e-307, 1e290), ("s", 3e-37, 1e30)):
        # Second differences: entries of the inverse are up to n / (4 scale), beyond the range.
        dtype, n = LAPACK_TYPES[letter][0], 600
        off, diag = np.full(n - 1, -scale, dtype), np.full(n, 2 * scale, dtype)
        b, x = np.zeros(n, dtype), np.zeros(n, dtype)
        b[0] = b[-1] = scale * size  # of x = size everywhere
        factors = [np.zeros(n, dtype) for _ in range(4)]
        rcond, ferr, berr = np.zeros(1, dtype), np.zeros(1, dtype), np.zeros(1, dtype)
        info = lapack_call(
            letter + "gtsvx", "N", "N", n, 1, off, diag, off, *factors, np.zeros(n, "i4"), b, n, x, n, rcond, ferr, berr,
            np.zeros(3 * n, dtype), np.zeros(n, "i4"),
        )  # fmt: skip
        assert info == 0 and np.isfinite(ferr[0]), (letter, info, ferr, rcond)


@defect
def lapack_inputs_that_may_not_be_written():
    """`?gbsvx` and `?pbsvx` wrote EQUED although FACT = 'F': a literal ended the program. All that LAPACK only reads is read-only here."""
    import numpy as np

    random, n = np.random.default_rng(0), 6
    for letter, (dtype, real) in LAPACK_TYPES.items():
        noise = lambda *shape: np.asfortranarray(random.uniform(0.1, 1, shape).astype(dtype))
        zeros, ro = lambda *shape: np.zeros(shape, dtype, order="F"), read_only
        expected, work, extra = noise(n, 2), zeros(4 * n), np.zeros(4 * n)

        def expert(name, fact, arguments, matrix):
            b = ro((matrix @ expected).astype(dtype))
            x, tail = zeros(n, 2), [np.zeros(1, real), np.zeros(2, real), np.zeros(2, real), work]
            if not (name == "ptsvx" and dtype == real):
                tail.append(extra)
            info = lapack_call(letter + name, fact, *arguments, b, n, x, n, *tail)
            assert info == 0 and abs(x - expected).max() < 1e-3, (letter, name, fact, info)

        # Tridiagonal.
        dl, d, du = noise(n - 1), noise(n) + 3, noise(n - 1)
        a = np.diag(d) + np.diag(dl, -1) + np.diag(du, 1)
        lu = [dl.copy(), d.copy(), du.copy(), zeros(n - 2), np.zeros(n, "i4")]
        assert lapack_call(letter + "gttrf", n, *lu) == 0
        constants = [ro(array) for array in (dl, d, du)]
        empty = [zeros(n), zeros(n), zeros(n), zeros(n), np.zeros(n, "i4")]
        expert("gtsvx", "N", ["N", n, 2, *constants, *empty], a)
        expert("gtsvx", "F", ["N", n, 2, *constants, *[ro(array) for array in lu]], a)
        # Banded, with and without scales that are given.
        full = np.asfortranarray(np.vstack([np.zeros(n), np.r_[0, du], d, np.r_[dl, 0]]).astype(dtype))
        ab, factors, pivots = np.asfortranarray(full[1:]), full.copy(order="F"), np.zeros(n, "i4")
        assert lapack_call(letter + "gbtrf", n, n, 1, 1, factors, 4, pivots) == 0
        scales = ro(np.full(n, 2, real))
        for equed in "NRCB":
            by = [2 if equed in "RB" else 1, 2 if equed in "CB" else 1]
            b = (a / by[0] / by[1] @ expected).astype(dtype)
            b, x = (ro(b) if equed in "NC" else np.asfortranarray(b)), zeros(n, 2)
            info = lapack_call(
                letter + "gbsvx", "F", "N", n, 1, 1, 2, ro(ab), 3, ro(factors), 4, ro(pivots), ro(np.array([ord(equed)], "u1")),
                scales, scales, b, n, x, n, np.zeros(1, real), np.zeros(2, real), np.zeros(2, real), work, extra,
            )  # fmt: skip
            assert info == 0 and abs(x - expected).max() < 1e-3, (letter, equed, info)
        untouched, equed = ro(np.zeros(n, real)), np.zeros(1, "u1")
        expert("gbsvx", "N", ["N", n, 1, 1, 2, ro(ab), 3, zeros(4, n), 4, np.zeros(n, "i4"), equed, untouched, untouched], a)
        assert equed.tobytes() == b"N"
        # Where scaling is not worth it, it leaves the matrix and b alone.
        equed, own = np.zeros(1, "u1"), [np.zeros(n, real), np.zeros(n, real)]
        expert("gbsvx", "E", ["N", n, 1, 1, 2, ro(ab), 3, zeros(4, n), 4, np.zeros(n, "i4"), equed, *own], a)
        assert equed.tobytes() == b"N"
        # Positive definite.
        e, d = noise(n - 1), np.full(n, 3, real)
        a = np.diag(d.astype(dtype)) + np.diag(e, -1) + np.diag(e.conj(), 1)
        ldl = [d.copy(), e.copy()]
        assert lapack_call(letter + "pttrf", n, *ldl) == 0
        expert("ptsvx", "N", [n, 2, ro(d), ro(e), np.zeros(n, real), zeros(n)], a)
        expert("ptsvx", "F", [n, 2, ro(d), ro(e), ro(ldl[0]), ro(ldl[1])], a)
        ab = np.asfortranarray(np.vstack([d, np.r_[e, 0]]).astype(dtype))
        factor = ab.copy(order="F")
        assert lapack_call(letter + "pbtrf", "L", n, 1, factor, 2) == 0
        for equed in "NY":
            by = 4 if equed == "Y" else 1
            b, x = (a / by @ expected).astype(dtype), zeros(n, 2)
            b = ro(b) if equed == "N" else np.asfortranarray(b)
            info = lapack_call(
                letter + "pbsvx", "F", "L", n, 1, 2, ro(ab), 2, ro(factor), 2, ro(np.array([ord(equed)], "u1")), scales, b, n, x, n,
                np.zeros(1, real), np.zeros(2, real), np.zeros(2, real), work, extra,
            )  # fmt: skip
            assert info == 0 and abs(x - expected).max() < 1e-3, (letter, equed, info)
        for fact in "NE":
            s, equed = (untouched if fact == "N" else np.zeros(n, real)), np.zeros(1, "u1")
            expert("pbsvx", fact, ["L", n, 1, 2, ro(ab), 2, zeros(2, n), 2, equed, s], a)
            assert equed.tobytes() == b"N"
        # What is not known is not written: row 3 is zero, or column 3 once rows are scaled, or a diagonal entry.
        for full, name, info, known in ((np.diag([1, 1, 0, 1]), "gbequ", 3, [7, 7, 1]), (np.diag([1, 1, 0, 1]), "pbequ", 3, [7, 1])):
            ab, out = np.asfortranarray(np.diag(full)[None, :].astype(dtype)), [np.full(1, 7, real) for _ in known]
            arrays = [np.zeros(4, real) for _ in range(2 if name == "gbequ" else 1)]
            shape = [4, 4, 0, 0] if name == "gbequ" else ["L", 4, 0]
            assert lapack_call(letter + name, *shape, ro(ab), 1, *arrays, *out) == info
            assert [value[0] for value in out] == known, (name, out)
        ab, out = np.asfortranarray([[1, 1, 0, 1], [1, 0, 1, 0]], dtype=dtype), [np.full(1, 7, real) for _ in range(3)]
        ab[:] = [[1, 1, 0, 0], [0, 1, 0, 0]]  # rows 1, 2, 3 of four columns: columns 3 and 4 are zero
        assert lapack_call(letter + "gbequ", 3, 4, 1, 0, ro(ab), 2, np.zeros(3, real), np.zeros(4, real), *out) == 3 + 3
        assert [value[0] for value in out] == [1, 7, 1], out


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
            assert run.returncode == 3 and "not a regular file" in message, (path, run.returncode, message)


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

# -- What never ended, or could not be stopped ------------------------------------------------------------------------


@defect
def ctrl_c_in_eigsh():
    """Ctrl-C was not seen in `eigsh` until the search had ended. (This one would take far longer than a test may.)"""
    code = """
import scipy.sparse as sp
from bandsolve.eigen import eigsh
a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(200_000, 200_000)).tocsr()
print("begun", flush=True)
try:
    eigsh(a, 6, which="SA", maxiter=10**6)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
    default = lambda: signal.signal(signal.SIGINT, signal.default_int_handler)
    run = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, preexec_fn=default)
    try:
        assert run.stdout.readline() == "begun\n"
        time.sleep(1)
        run.send_signal(signal.SIGINT)
        assert run.communicate()[0] == "interrupted\n"
    finally:
        run.kill()


@defect
def forests_with_rounds_without_a_bound():
    """Rounds that change nothing were made as often as was asked for: 2^63 - 1 times."""
    import numpy as np
    import scipy.sparse as sp

    from bandsolve.sparse import factor_graph, forest

    line = sp.diags_array([-1.0, 4.0, -1.0], offsets=[-1, 0, 1], shape=(32, 32)).tocsr()
    for rounds in (10**6, 2**63 - 1):
        assert forest(line, rounds=rounds)["coverage"] == 1.0
        assert np.asarray(factor_graph(line, 1, rounds=rounds)["partners"]).shape[0] == 32


@defect
def incomplete_factors_of_a_star():
    """ILU(0) of a star whose hub comes first took n^2 steps, and could not be interrupted: ten minutes for a million rows."""
    import numpy as np
    import scipy.sparse as sp

    from bandsolve.sparse import Preconditioner

    n = 1_000_000
    leaves = sp.coo_array((np.ones(n - 1), (np.arange(1, n), np.zeros(n - 1, int))), shape=(n, n))
    graph = (leaves + leaves.T).tocsr()
    a = sp.csr_array(sp.diags_array(graph.sum(axis=1) + 1e-3) - graph)
    for kind in ("ilu0", "ilu-isai:1"):
        assert np.isfinite(Preconditioner(a, kind) @ np.ones(n)).all()


# -- The border of Python ---------------------------------------------------------------------------------------------


@defect
def rows_of_band_storage_as_diagonals():
    """`solve_tridiagonal(ab[2], ab[1], ab[0], b)` solved another matrix without a word."""
    import bandsolve
    import numpy as np

    ab, b = np.array([[0.0, 1, 2], [9, 9, 9], [5, 6, 0]]), np.ones(3)
    for solve in (bandsolve.solve_tridiagonal, bandsolve.solve_batch):
        try:
            solve(ab[2], ab[1], ab[0], b)
        except ValueError as error:
            assert all(part in str(error) for part in ("2, :-1]", "0, 1:]", "padded=True")), error
        else:
            raise AssertionError("no ValueError")
    assert raises(ValueError, lambda: bandsolve.factor_tridiagonal(ab[2], ab[1], ab[0]))


@defect
def masks_that_were_dropped():
    """The masked entries of masked arrays were numbers like all others."""
    import bandsolve
    import numpy as np

    off, diag, rhs = np.ones(3), np.full(4, 4.0), np.ma.masked_equal([1.0, 2, 3, 4], 2)
    raises(ValueError, lambda: bandsolve.solve_tridiagonal(off, diag, off, rhs))
    raises(ValueError, lambda: bandsolve.solve_batch(off, diag, off, [rhs, rhs]))
    raises(ValueError, lambda: bandsolve.solve_banded((0, 0), diag[None], rhs))
    raises(ValueError, lambda: bandsolve.poisson.solve(rhs))


def market(entry, sizes="2 2 2", kind="coordinate real general"):
    """The bytes of a Matrix Market file."""
    return b"%%MatrixMarket matrix " + f"{kind}\n{sizes}\n".encode() + entry


@defect
def files_that_python_read_otherwise():
    """Python took the beginnings of malformed numbers, accepted impossible matrices, and was killed by two files."""
    import bandsolve

    numbers = [b"4,5", b"0.25-270", b"1_000", b"0x4", b"4;", b"4\0"]
    files = [market(b"1 1 " + number + b"\n2 2 4\n") for number in numbers]
    files.append(market(b"1 1 1\n", "3 4 1", "coordinate real symmetric"))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.mtx")
        for content in files:
            Path(path).write_bytes(content)
            raises(ValueError, lambda: bandsolve.io.read(path))
            run = program(["info", path])
            run.communicate()
            assert run.returncode == 3, content
        Path(path).write_bytes(market(b"", "0 0", "array real general"))
        assert bandsolve.io.read(path).shape == (0, 0)


@defect
def matrices_of_scipy_in_archives():
    """The program did not read what `scipy.sparse.save_npz` had written."""
    import bandsolve
    import scipy.sparse as sp

    a = sp.diags_array([1.0, 4.0, 1.0], offsets=[-1, 0, 1], shape=(12, 12))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a.npz")
        for form in ("csr", "csc", "coo", "dia", "bsr"):
            sp.save_npz(path, a.asformat(form))
            assert (bandsolve.io.read(path).toarray() == a.toarray()).all()
            run = program(["solve", path])
            _, message = run.communicate()
            assert run.returncode == 0, (form, message)


@defect
def callbacks_that_write_to_indices():
    """A callback that wrote to the indices of the matrix ended in a panic."""
    import numpy as np
    import scipy.sparse as sp
    from bandsolve import sparse

    for what, to in [("indices", 2**31 - 1), ("indices", -1), ("indptr", 2**31 - 1), ("indptr", 0), ("indptr", -5)]:
        a = (sp.random_array((2000, 2000), density=0.005, rng=1) + 30 * sp.eye_array(2000)).tocsr()
        b = np.ones(2000)
        expected = sparse.bicgstab(a, b, rtol=1e-14, full_output=True)

        def callback(_):
            getattr(a, what)[:] = to

        x, report = sparse.bicgstab(a, b, rtol=1e-14, callback=callback, full_output=True)
        assert (x == expected[0]).all() and report == expected[1], (what, to)


@defect
def packages_without_docstrings():
    """`python -OO` could not import the package."""
    subprocess.run([sys.executable, "-OO", "-c", "import bandsolve"], check=True)


@defect
def integers_beyond_the_range():
    """A huge integer as an option named a field of the compiled part."""
    import bandsolve
    import numpy as np
    import scipy.sparse as sp

    a, b, off = sp.csr_array(4 * np.eye(4)), np.ones(4), np.ones(3)
    for name, call in {
        "maxiter": lambda: bandsolve.sparse.cg(a, b, maxiter=2**70),
        "seed": lambda: bandsolve.sparse.Preconditioner(a, "forest", seed=2**70),
        "ncv": lambda: bandsolve.eigen.eigsh(a, 1, ncv=2**70),
        "threads": lambda: bandsolve.solve_tridiagonal(off, 4 * b, off, b, threads=2**70),
        "shape": lambda: bandsolve.poisson.Solver((2**70,)),
    }.items():
        try:
            call()
        except ValueError as error:
            assert name in str(error) and str(2**70) in str(error) and "expected" in str(error), error
        else:
            raise AssertionError(f"no ValueError for {name}")


@defect
def batches_that_turned_around():
    """Results of `solve_batch` had another memory order than the right-hand sides."""
    import bandsolve
    import numpy as np

    off, diag = np.ones(40), np.full(40, 4.0)
    for order in "CF":
        rhs = np.ones((40, 40), order=order)
        for axis in (0, 1):
            x = bandsolve.solve_batch(off, diag, off, rhs, axis=axis, padded=True)
            assert x.strides == rhs.strides, (order, axis)


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
            (["solve", matrix, "--block", 1, "--method", "bogus"], "no method over ranks `bogus`"),
            (["eig", matrix, "-k", 0], "from 1 to 5"),
            (["eig", matrix, "-k", 7], "from 1 to 5"),
            (["eig", matrix, "-k", 2, "--tol", 2], "not including, 1"),
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


@defect
def growing_solutions():
    """Batches and methods by partitions returned x of 1e31 without a correct digit, and said nothing of it: no pivot is small."""
    import bandsolve
    import numpy as np

    n = 5000
    sub, sup = np.zeros(n - 1), np.where(np.arange(n - 1) < 65, -3.0, 0.0)
    for diag, said in ((1.0, True), (4.0, False)):
        matrix = sub, np.full(n, diag), sup
        for options in ({}, {"method": "rpts"}, {"method": "spike-cr"}, {"method": "pivoted"}):
            report = bandsolve.solve_tridiagonal(*matrix, np.ones(n), full_output=True, **options)[1]
            assert (report.attention is not None) == said, (options, report)
        batch = [np.stack([array, array]) for array in matrix]
        batch[0][0], batch[1][0], batch[2][0] = 0, 4, 0
        for axis, arrays in ((1, batch), (0, [array.T.copy() for array in batch])):
            rhs = np.ones((2, n) if axis else (n, 2))
            report = bandsolve.solve_batch(*arrays, rhs, axis=axis, full_output=True)[1]
            assert (report.attention is not None) == said, (axis, report)


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
        assert np.allclose(lu.solve(rhs), bandsolve.solve_banded((width, width), ab, rhs), rtol=1e-12, atol=1e-14)



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
        ((100000, 100000), {"coordinates": (np.linspace(0, 1, 100002),) * 2, "method": "gemm"}),
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
