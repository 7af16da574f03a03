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
