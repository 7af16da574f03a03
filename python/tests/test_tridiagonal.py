"""Tridiagonal systems: shapes, types, options, errors."""

import copy
import multiprocessing
import pickle
import re
import subprocess
import sys
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from conftest import backward_error, dense, eps, random

import bandsolve


def system(rng, n, dtype, shift=0.0):
    sub, diag, sup = random(rng, (3, n), dtype)
    return sub, diag + np.asarray(shift, dtype), sup


@pytest.mark.parametrize("n", [0, 1, 2, 3, 10, 64, 65, 1000])
@pytest.mark.parametrize("periodic", [False, True])
def test_every_size_and_type(n, periodic, dtype):
    rng = np.random.default_rng(n)
    sub, diag, sup = system(rng, n, dtype)
    for shape in [(n,), (n, 1), (n, 3), (n, 0)]:
        rhs = random(rng, shape, dtype)
        x, report = bandsolve.solve_tridiagonal(sub, diag, sup, rhs, periodic=periodic, padded=not periodic, full_output=True)
        assert x.shape == shape and x.dtype == dtype
        if n > 2 or not periodic:
            assert backward_error(dense(sub, diag, sup, periodic), x, rhs) <= 10 * eps(x)
        columns = 1 if len(shape) == 1 else shape[1]
        assert len(report.backward_errors) == (columns if n else 0)


def test_off_diagonals_may_be_shorter():
    rng = np.random.default_rng(1)
    sub, diag, sup = system(rng, 50, float)
    rhs = rng.random(50)
    x = bandsolve.solve_tridiagonal(sub, diag, sup, rhs, padded=True)
    assert np.array_equal(x, bandsolve.solve_tridiagonal(sub[1:], diag, sup[:-1], rhs))
    # What is outside of the matrix is not looked at.
    sub[0] = sup[-1] = np.nan
    assert np.array_equal(x, bandsolve.solve_tridiagonal(sub, diag, sup, rhs, padded=True))


@pytest.mark.parametrize("transpose", [False, True, "conj", np.False_, np.True_])
def test_transposes(transpose):
    rng = np.random.default_rng(2)
    sub, diag, sup = system(rng, 200, complex)
    rhs = random(rng, (200, 2), complex)
    a = dense(sub, diag, sup)
    a = {False: a, True: a.T, "conj": a.conj().T}[transpose]
    x = bandsolve.solve_tridiagonal(sub, diag, sup, rhs, transpose=transpose, padded=True)
    assert backward_error(a, x, rhs) <= 10 * eps(x)
    factor = bandsolve.factor_tridiagonal(sub, diag, sup, padded=True)
    assert backward_error(a, factor.solve(rhs, transpose=transpose), rhs) <= 10 * eps(x)


def test_types_are_joined():
    single, double = np.ones(4, np.float32), np.ones(4)
    diag = np.full(4, 4, np.float32)
    solve = partial(bandsolve.solve_tridiagonal, padded=True)
    assert solve(single, diag, single, single).dtype == np.float32
    assert solve(single, diag, single, double).dtype == np.float64
    assert solve(single, diag, single, single.astype(np.complex64)).dtype == np.complex64
    assert solve(single, diag, double, single.astype(np.complex64)).dtype == np.complex128
    assert bandsolve.solve_tridiagonal([1, 1, 1], [4, 4, 4, 4], [1, 1, 1], [5, 6, 6, 5]).dtype == np.float64
    assert solve(single, diag, single, single.astype(np.float16)).dtype == np.float32
    assert solve(single, diag, single, np.ones(4, np.longdouble)).dtype == np.float64
    assert solve(single, diag, single, single.astype(">f4")).dtype == np.float32


def test_any_memory_order():
    rng = np.random.default_rng(3)
    wide = rng.random((3, 2 * 300))
    sub, diag, sup = wide[:, ::2] + [[0], [3], [0]]
    rhs = rng.random((300, 4))
    x = bandsolve.solve_tridiagonal(sub, diag, sup, rhs, padded=True)
    for other in (np.asfortranarray(rhs), rhs[::-1].copy()[::-1], np.repeat(rhs, 2, axis=1)[:, ::2]):
        assert np.array_equal(x, bandsolve.solve_tridiagonal(sub.copy(), diag, sup, other, padded=True))
    # Not aligned, and read-only.
    raw = np.zeros(300 * 8 + 1, np.uint8)
    odd = raw[1:].view(float)
    odd[:] = diag
    odd.flags.writeable = False
    assert not odd.flags.aligned
    assert np.array_equal(x, bandsolve.solve_tridiagonal(sub, odd, sup, rhs, padded=True))


def test_given_arrays_are_not_changed():
    rng = np.random.default_rng(4)
    arrays = [rng.random(100) + 1 for _ in range(4)]
    copies = [array.copy() for array in arrays]
    bandsolve.solve_tridiagonal(*arrays, padded=True)
    assert all(np.array_equal(a, b) for a, b in zip(arrays, copies))


@pytest.mark.parametrize("method", bandsolve.methods())
def test_methods(method):
    n = 300
    sub, diag, sup, rhs = np.full(n, -1.0), np.full(n, 4.0), np.full(n, -1.5), np.ones(n)
    if method in ("spike", "bcyclic", "block-spike"):
        with pytest.raises(ValueError, match="does not solve"):
            bandsolve.solve_tridiagonal(sub, diag, sup, rhs, method=method, padded=True)
        return
    if method == "cholesky":
        with pytest.raises(np.linalg.LinAlgError, match="not Hermitian positive definite: first seen in row 0"):
            bandsolve.solve_tridiagonal(sub, diag, sup, rhs, method=method, padded=True)
        sup = sub
    x, report = bandsolve.solve_tridiagonal(sub, diag, sup, rhs, method=method, full_output=True, padded=True)
    assert method == "auto" or report.method == method
    assert backward_error(dense(sub, diag, sup), x, rhs) <= 10 * eps(x)


def test_threads_do_not_change_a_bit():
    rng = np.random.default_rng(5)
    sub, diag, sup = system(rng, 200_000, float)
    rhs = rng.random(200_000)
    one = bandsolve.solve_tridiagonal(sub, diag, sup, rhs, threads=1, padded=True)
    assert np.array_equal(one, bandsolve.solve_tridiagonal(sub, diag, sup, rhs, threads=2, padded=True))
    before = bandsolve.get_num_threads()
    bandsolve.set_num_threads(3)
    try:
        assert bandsolve.get_num_threads() == 3
        assert np.array_equal(one, bandsolve.solve_tridiagonal(sub, diag, sup, rhs, padded=True))
        for threads in (0, -1):
            with pytest.raises(ValueError, match=f"threads is {threads}, expected a positive number"):
                bandsolve.set_num_threads(threads)
        assert bandsolve.get_num_threads() == 3
    finally:
        bandsolve.set_num_threads(None)
    assert bandsolve.get_num_threads() == before


def test_other_threads_go_on_meanwhile():
    rng = np.random.default_rng(6)
    n = 1_000_000
    sub, diag, sup = system(rng, n, float, 4)
    rhs, counted, done = rng.random(n), 0, threading.Event()

    def solve():
        for _ in range(3):
            bandsolve.solve_tridiagonal(sub, diag, sup, rhs, method="pivoted", padded=True)
        done.set()

    worker = threading.Thread(target=solve)
    worker.start()
    while not done.is_set():
        counted += 1
    worker.join()
    # With the interpreter's lock held it would count in between solves only.
    assert counted > 1000


def test_errors():
    ones = np.ones(4)
    solve = partial(bandsolve.solve_tridiagonal, padded=True)
    with pytest.raises(np.linalg.LinAlgError, match="singular: no pivot in row"):
        solve(ones, np.zeros(4), np.zeros(4), ones)
    with pytest.raises(ValueError, match=r"diag\[2\] is not finite"):
        solve(ones, [1, 1, np.nan, 1], ones, ones)
    with pytest.raises(ValueError, match=r"rhs\[1\] is not finite"):
        solve(ones, ones * 4, ones, [1, np.inf, 1, 1])
    with pytest.raises(ValueError, match="sub has length 2, expected"):
        solve(ones[:2], ones, ones, ones)
    with pytest.raises(ValueError, match="rhs has 3 rows, expected 4"):
        solve(ones, ones, ones, ones[:3])
    with pytest.raises(ValueError, match="rhs has 3 dimensions"):
        solve(ones, ones, ones, np.ones((4, 1, 1)))
    with pytest.raises(ValueError, match="diag has 2 dimensions, expected 1"):
        solve(ones, np.ones((2, 2)), ones, ones)
    with pytest.raises(ValueError, match='method is "magic", expected one of auto, pivoted'):
        solve(ones, ones * 4, ones, ones, method="magic")
    with pytest.raises(ValueError, match='pivoting is "full", expected one of none, partial'):
        solve(ones, ones * 4, ones, ones, pivoting="full")
    with pytest.raises(ValueError, match="threads is 0"):
        solve(ones, ones * 4, ones, ones, threads=0)
    with pytest.raises(ValueError, match="threads is -1"):
        solve(ones, ones * 4, ones, ones, threads=-1)
    with pytest.raises(ValueError, match='transpose is "T"'):
        solve(ones, ones * 4, ones, ones, transpose="T")
    with pytest.raises(ValueError, match='device is "tpu", expected "cpu", or "cuda"'):
        solve(ones, ones * 4, ones, ones, device="tpu")
    with pytest.raises(RuntimeError, match="no GPU: "):
        solve(ones, ones * 4, ones, ones, device="cuda:4096")
    with pytest.raises(TypeError, match="expected numbers"):
        solve(ones, ["a", "b", "c", "d"], ones, ones)
    with pytest.raises(TypeError, match="expected numbers"):
        solve(ones, ones.astype(object), ones, ones)


def test_unverified_answers_say_so():
    ones = np.ones(1000)
    x, report = bandsolve.solve_tridiagonal(ones, 4 * ones, ones, ones, verify=False, full_output=True, padded=True)
    assert np.isnan(report.backward_error) and report.backward_errors == []
    assert np.allclose(x, bandsolve.solve_tridiagonal(ones, 4 * ones, ones, ones, padded=True))


def test_reports():
    ones = np.ones(1000)
    report = bandsolve.solve_tridiagonal(ones, 4 * ones, ones, ones, full_output=True, padded=True)[1]
    text = repr(report)
    assert text.startswith(f"Report(method='{report.method}', backward_error=") and report.reason in text
    assert report.refinement_steps == 0 and report.fallback is False
    with pytest.raises(AttributeError):
        report.fallback = True


def test_determinants_and_conditions():
    rng = np.random.default_rng(7)
    for dtype in (float, complex):
        sub, diag, sup = system(rng, 30, dtype)
        for periodic in (False, True):
            a = dense(sub, diag, sup, periodic)
            factor = bandsolve.factor_tridiagonal(sub, diag, sup, periodic=periodic, padded=not periodic)
            sign, log_abs = factor.slogdet()
            expected = np.linalg.slogdet(a)
            assert np.allclose([sign, log_abs], expected, rtol=1e-10)
            for norm in (1, np.inf):
                assert np.isclose(factor.norm(norm), np.linalg.norm(a, norm))
                true = 1 / np.linalg.cond(a, norm)
                assert true / 1.01 <= factor.rcond(norm) <= 10 * true
    assert factor.shape == (30, 30) and factor.dtype == complex
    assert repr(factor) == f"Factor(30 x 30, complex128, method='{factor.method}')"


def test_complex_right_hand_sides_with_a_real_matrix():
    rng = np.random.default_rng(8)
    sub, diag, sup = system(rng, 40, float)
    rhs = random(rng, (40, 2), complex)
    factor = bandsolve.factor_tridiagonal(sub, diag, sup, padded=True)
    x, report = factor.solve(rhs, full_output=True)
    assert backward_error(dense(sub, diag, sup), x, rhs) <= 20 * eps(x)
    assert np.allclose(x, bandsolve.solve_tridiagonal(sub, diag, sup, rhs, padded=True))
    assert report.backward_error <= 10 * eps(x)


@pytest.mark.filterwarnings("ignore:overflow encountered in cast")
def test_right_hand_sides_are_rounded_to_the_precision_of_the_factors():
    factor = bandsolve.factor(4 * np.eye(3, dtype=np.float32))
    rhs = np.array([[1 / 3, 1], [0, 1], [2, 5]])
    assert np.array_equal(factor.solve(rhs), factor.solve(rhs.astype(np.float32))) and factor.solve(rhs).dtype == np.float32
    rhs[1, 1] = 1e39
    for given in (rhs, rhs * 1j):
        with pytest.raises(ValueError, match=r"rhs\[1, 1\] is beyond the range of float32"):
            factor.solve(given)
    rhs[0, 1] = np.inf
    with pytest.raises(ValueError, match=r"rhs\[0, 1\] is not finite"):
        factor.solve(rhs)


def test_errors_name_an_entry_by_its_indices():
    off, diag = np.stack([np.eye(2)] * 2), np.stack([4 * np.eye(2)] * 3)
    bands = np.array([[0.0, 1, 1], [4, 4, 4], [1, 1, 0]])
    bad_blocks, bad_bands, rhs = diag.copy(), bands.copy(), np.ones((3, 2))
    bad_blocks[1, 0, 1] = bad_bands[2, 1] = rhs[1, 0] = np.nan
    blocks = bandsolve.factor_block_tridiagonal(off, bad_blocks, off)
    for solve, place in [
        (lambda: bandsolve.solve_block_tridiagonal(off, bad_blocks, off, np.ones((3, 2))), "diag[1, 0, 1]"),
        (lambda: blocks.solve(np.ones(6)), "diag[1, 0, 1]"),
        (blocks.rcond, "diag[1, 0, 1]"),
        (lambda: bandsolve.solve_block_tridiagonal(off, diag, off, rhs), "rhs[1, 0]"),
        (lambda: bandsolve.solve_block_tridiagonal(off, diag, off, np.stack([np.ones((3, 2)), rhs], axis=2)), "rhs[1, 0, 1]"),
        (lambda: bandsolve.factor_banded((1, 1), bad_bands).solve(np.ones(3)), "ab[2, 1]"),
        (bandsolve.factor_banded((1, 1), bad_bands).slogdet, "ab[2, 1]"),
        (lambda: bandsolve.factor_banded((1, 1), bands).solve(rhs), "rhs[1, 0]"),
        (lambda: bandsolve.solve_tridiagonal(np.ones(2), np.full(3, 4.0), np.ones(2), rhs), "rhs[1, 0]"),
    ]:
        with pytest.raises(ValueError, match=f"^{re.escape(place)} is not finite"):
            solve()


def test_what_is_not_finite_is_found_by_what_is_done_with_factors():
    factor = bandsolve.factor_tridiagonal(np.ones(3), [4, np.nan, 4], np.ones(3), padded=True)
    for ask in (factor.slogdet, factor.rcond, lambda: factor.solve(np.ones(3))):
        with pytest.raises(ValueError, match=r"diag\[1\] is not finite"):
            ask()


def test_factors_are_shared_by_threads():
    rng = np.random.default_rng(9)
    sub, diag, sup = system(rng, 5000, float, 4)
    factor = bandsolve.factor_tridiagonal(sub, diag, sup, padded=True)
    rhs = rng.random((8, 5000))
    alone = [factor.solve(one) for one in rhs]
    found = [None] * 8

    def solve(k):
        found[k] = factor.solve(rhs[k])

    workers = [threading.Thread(target=solve, args=(k,)) for k in range(8)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert all(np.array_equal(a, b) for a, b in zip(alone, found))


def factors_of_all_kinds(rng, n, dtype):
    """Factors of tridiagonal, periodic, banded and block tridiagonal matrices, with the number of their unknowns."""
    off, diag = random(rng, (2, n), dtype), random(rng, n, dtype) + np.asarray(9, dtype)
    bands = random(rng, (5, n), dtype) + np.array([0, 0, 9, 0, 0], dtype)[:, None]
    blocks = random(rng, (3, n, 2, 2), dtype) + np.array([0, 1, 0], dtype)[:, None, None, None] * (9 * np.eye(2, dtype=dtype))
    yield n, bandsolve.factor_tridiagonal(off[0], diag, off[1], padded=True)
    yield n, bandsolve.factor_tridiagonal(off[0], diag, off[1], periodic=True, pivoting="partial", threads=1)
    yield n, bandsolve.factor_banded((2, 2), bands, verify=False)
    yield 2 * n, bandsolve.factor_block_tridiagonal(*blocks, periodic=True, method="pivoted")


@pytest.mark.parametrize("n", [3, 300])
def test_x_is_written_where_out_says(n, dtype):
    rng = np.random.default_rng(n)
    for rows, factor in factors_of_all_kinds(rng, n, dtype):
        for shape in [(rows,), (rows, 5), (rows, 0)]:
            rhs = np.asfortranarray(random(rng, shape, dtype))
            for transpose in [False, "conj"]:
                expected, given = factor.solve(rhs, transpose=transpose), rhs.copy("F")
                out = np.full_like(rhs, np.nan)
                assert factor.solve(rhs, transpose=transpose, out=out) is out and np.array_equal(out, expected)
                assert factor.solve(given, transpose=transpose, out=given) is given and np.array_equal(given, expected)
                given = rhs.copy("F")
                x, report = factor.solve(given, transpose=transpose, overwrite_rhs=True, full_output=True)
                assert np.shares_memory(x, given) == (x.size > 0) and np.array_equal(x, expected)
            assert np.array_equal(factor.solve_transpose(rhs, out=out), factor.solve_transpose(rhs))
    # What cannot be overwritten is not.
    for rhs in [np.ones(rows, int), np.ones((rows, 2), dtype), np.ones(2 * rows, dtype)[::2], np.ones(rows, dtype)]:
        rhs.flags.writeable = rhs.ndim == 2 or not rhs.flags.c_contiguous
        before = rhs.copy()
        assert factor.solve(rhs, overwrite_rhs=True) is not rhs and np.array_equal(rhs, before)


def test_arrays_for_x_that_do_not_fit():
    n = 200
    one = np.ones(n)
    solve = bandsolve.factor_tridiagonal(one, 4 * one, one, padded=True).solve
    both, locked = np.ones(2 * n), np.ones(n)
    locked.flags.writeable = False
    for out, words in [
        (np.ones(n, np.float32), "out is float32 of the shape (200,), expected an array of float64 of the shape (200,)"),
        (np.ones(n + 1), "out is float64 of the shape (201,), expected"),
        ([0.0] * n, "out is list, expected"),
        (np.ones(2 * n)[::2], "contiguous in order F"),
        (locked, "out must be writable"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            solve(one, out=out)
    with pytest.raises(ValueError, match="out overlaps rhs"):
        solve(both[:n], out=both[1 : n + 1])
    with pytest.raises(ValueError, match="out overlaps rhs"):
        solve(both[::2], out=both[:n])
    assert np.array_equal(solve(both[:n], out=both[n:]), solve(one))
    # A complex right-hand side with a real matrix, and a solve without factors.
    z, out = one + 2j * one, np.empty(n, complex)
    assert solve(z, out=out) is out and np.array_equal(out, solve(z))
    x, rhs = np.empty(n), one.copy()
    assert bandsolve.solve_tridiagonal(one, 4 * one, one, one, padded=True, out=x) is x
    assert np.array_equal(bandsolve.solve_tridiagonal(one, 4 * one, one, rhs, padded=True, overwrite_rhs=True), x) and rhs is not x
    assert np.array_equal(rhs, x)
    ab, b = np.array([one, 4 * one, one]), one.copy()
    assert np.array_equal(bandsolve.solve_banded((1, 1), ab, b, overwrite_b=True), x) and np.array_equal(b, x)


@pytest.mark.parametrize("shape, axis", [((70, 30), 1), ((30, 70), 0), ((4, 30, 70), 1), ((3, 30, 20), 1), ((30, 5), 0), ((200, 30, 65), 1)])
@pytest.mark.parametrize("alone", [True, False])
def test_batches_are_written_where_out_says(shape, axis, alone, dtype):
    rng = np.random.default_rng(shape[0])
    n = shape[axis]
    rhs = random(rng, shape, dtype)
    off, diag = random(rng, (2, n), dtype), random(rng, n, dtype) + np.asarray(3, dtype)
    along = [1] * axis + [n] + [1] * (len(shape) - axis - 1)
    matrix = [off[0], diag, off[1]] if alone else [np.ones(shape, dtype) * array.reshape(along) for array in (off[0], diag, off[1])]
    a = dense(off[0], diag, off[1])
    for order in "CF":
        given = rhs.copy(order)
        solve = partial(bandsolve.solve_batch, *matrix, axis=axis, padded=True)
        x, report = solve(given, full_output=True)
        systems = [np.moveaxis(array, axis, -1).reshape(-1, n) for array in (x, rhs)]
        assert max(backward_error(a, *pair) for pair in zip(*systems)) <= 10 * eps(x) and not report.fallback
        assert np.array_equal(given, rhs) and x.flags[f"{order}_CONTIGUOUS"]
        for threads in [1, 2, 3]:
            assert np.array_equal(solve(given, threads=threads), x)
        out = np.empty_like(given)
        assert solve(given, out=out) is out and np.array_equal(out, x)
        assert solve(given, out=given) is given and np.array_equal(given, x)
        given = rhs.copy(order)
        assert np.array_equal(solve(given, overwrite_rhs=True), x) and np.array_equal(given, x)
        for wrong in [np.empty(shape, np.float16), np.empty(shape, dtype, "F" if order == "C" else "C"), np.empty(shape[1:], dtype), [1.0]]:
            with pytest.raises(ValueError, match="^out "):
                solve(rhs.copy(order), out=wrong)
        # A right-hand side that is not finite is named by its indices.
        bad = rhs.copy(order)
        place = tuple(length // 2 for length in shape)
        bad[place] = np.inf
        with pytest.raises(ValueError, match=re.escape(f"rhs[{', '.join(map(str, place))}] is not finite")):
            solve(bad)


@pytest.mark.parametrize("shape, axis", [((100, 30), 1), ((30, 100), 0), ((3, 30, 2), 1), ((30, 5), 0)])
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("transpose", [False, True, "conj"])
def test_periodic_and_transposed_batches(shape, axis, periodic, alone, transpose, dtype):
    rng = np.random.default_rng(shape[0])
    n, rhs = shape[axis], random(rng, shape, dtype)
    along = [1] * axis + [n] + [1] * (len(shape) - axis - 1)
    arrays = random(rng, (3, n), dtype)
    arrays[1] += 3
    matrix = list(arrays) if alone else [np.ones(shape, dtype) * array.reshape(along) for array in arrays]
    options = dict(axis=axis, periodic=periodic, padded=not periodic)
    x, report = bandsolve.solve_batch(*matrix, rhs, transpose=transpose, full_output=True, **options)
    a = dense(*arrays, periodic)
    a = a.T.conj() if transpose == "conj" else a.T if transpose else a
    systems = [np.moveaxis(array, axis, -1).reshape(-1, n) for array in (x, rhs)]
    assert max(backward_error(a, *pair) for pair in zip(*systems)) <= 10 * eps(x) and not report.fallback
    lu = bandsolve.factor_batch(*matrix, **options)
    out = np.empty_like(rhs)
    assert lu.solve(rhs, transpose=transpose, out=out) is out and np.array_equal(out, x)
    assert np.array_equal(pickle.loads(pickle.dumps(lu)).solve(rhs, transpose=transpose), x)
    bad = rhs.copy()
    place = tuple(length // 2 for length in shape)
    bad[place] = np.nan
    with pytest.raises(ValueError, match=re.escape(f"rhs[{', '.join(map(str, place))}] is not finite")):
        lu.solve(bad, transpose=transpose)
    if not alone and n > 4:
        matrix[1] = matrix[1].copy()
        singular = np.moveaxis(matrix[1], axis, -1)
        singular[(0,) * (singular.ndim - 1)] = 0
        for k in (0, 2):
            matrix[k] = matrix[k].copy()
            np.moveaxis(matrix[k], axis, -1)[(0,) * (singular.ndim - 1)] = 0
        with pytest.raises(np.linalg.LinAlgError, match="system 0 is singular: no pivot in row 0"):
            bandsolve.solve_batch(*matrix, rhs, transpose=transpose, **options)


def test_factors_are_pickled_and_copied(dtype):
    rng = np.random.default_rng(5)
    for rows, factor in factors_of_all_kinds(rng, 150, dtype):
        assert copy.copy(factor) is factor and copy.deepcopy([factor])[0] is factor
        again = pickle.loads(pickle.dumps(factor))
        rhs = random(rng, (rows, 2), dtype)
        (x, report), (y, other) = factor.solve(rhs, full_output=True), again.solve(rhs, full_output=True)
        assert np.array_equal(x, y) and repr(again) == repr(factor) and again.reason == factor.reason
        assert report.method == other.method and np.isnan(report.backward_error) == np.isnan(other.backward_error)


def test_operators():
    from scipy.sparse.linalg import bicgstab, gmres

    rng = np.random.default_rng(10)
    n = 200
    sub, diag, sup = system(rng, n, float, 5)
    a = dense(sub, diag, sup) + 0.1 * np.diag(np.ones(n - 7), 7)
    rhs = rng.random(n)
    inverse = bandsolve.factor_tridiagonal(sub, diag, sup, padded=True).aslinearoperator()
    for method in (gmres, bicgstab):
        x, info = method(a, rhs, M=inverse, rtol=1e-12)
        assert info == 0 and np.allclose(a @ x, rhs)
    matrix = dense(sub, diag, sup)
    assert np.allclose(matrix @ (inverse @ np.eye(n)), np.eye(n))
    assert np.allclose(matrix.T @ inverse.rmatvec(rhs), rhs)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork here")
@pytest.mark.parametrize("before", ["nothing", "counted", "small", "all"])
def test_children_of_a_fork_solve_too(before):
    # In a process without the threads of other libraries, which do not all bear a fork.
    program = Path(__file__).with_name("forked.py")
    done = subprocess.run([sys.executable, program, before], capture_output=True, text=True, timeout=300)
    assert done.stdout == "as the parent\n", done.stderr


def test_solutions_without_a_digit_are_named():
    one, near = np.ones(1), np.array([1, 1 + 2.0**-52])
    solves = {
        "solve_tridiagonal": lambda diag: bandsolve.solve_tridiagonal(one, diag, one, [1.0, -1.0], full_output=True),
        "solve_batch": lambda diag: bandsolve.solve_batch(one, diag, one, [1.0, -1.0], full_output=True),
        "solve_banded": lambda diag: bandsolve.factor_banded((1, 1), [[0, 1], diag, [1, 0]]).solve(np.array([1.0, -1.0]), full_output=True),
        "factor_tridiagonal": lambda diag: bandsolve.factor_tridiagonal(one, diag, one).solve([1.0, -1.0], full_output=True),
    }
    for name, solve in solves.items():
        assert "no correct digit" in solve(near)[1].attention, name
        assert solve(near + 2)[1].attention is None, name


def growing(steps, n):
    """Rows (sub, diag, sup) without small pivots, by which x grows by a factor 3 from row to row, and others."""
    sup = np.where(np.arange(n - 1) < steps, -3.0, 0.0)
    return [np.zeros(n - 1), np.ones(n), sup], [np.zeros(n - 1), np.full(n, 4.0), sup]


@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("count, n", [(3, 50), (6, 20000)])
def test_few_systems_and_large_ones_are_solved_alone(count, n, transpose, dtype):
    rng = np.random.default_rng(12)
    sub, diag, sup, rhs = (random(rng, (count, n), dtype) for _ in range(4))
    diag += 3
    options = dict(padded=True, transpose=transpose)
    for threads in (1, 2, 8):
        x = bandsolve.solve_batch(sub, diag, sup, rhs, threads=threads, **options)
        for s in range(count):
            assert np.array_equal(x[s], bandsolve.solve_tridiagonal(sub[s], diag[s], sup[s], rhs[s], threads=1, **options))
    out = rhs.copy()
    assert np.array_equal(bandsolve.solve_batch(sub, diag, sup, out, out=out, **options), x)
    sub[1, 7] = np.nan
    with pytest.raises(ValueError, match=r"^sub\[1, 7\] is not finite$"):
        bandsolve.solve_batch(sub, diag, sup, rhs, **options)
    sub[1] = sup[1] = diag[1, 7] = 0
    with pytest.raises(np.linalg.LinAlgError, match="^system 1 is singular: no pivot in row 7$"):
        bandsolve.solve_batch(sub, diag, sup, rhs, **options)


@pytest.mark.parametrize("layout", ["rows", "columns", "middle", "strided"])
def test_batches_tell_of_solutions_without_a_digit(layout):
    # x is about 3**66, 1/eps**2.
    n, count = 80, 600
    bad, good = growing(65, n)
    said = bandsolve.solve_tridiagonal(*bad, np.ones(n), method="pivoted", full_output=True)[1].attention
    assert "no correct digit" in said
    for which in ([], [0], [599], [123, 400]):
        arrays = [np.array([(bad if s in which else good)[k] for s in range(count)]) for k in range(3)] + [np.ones((count, n))]
        axis = -1
        if layout == "columns":
            arrays, axis = [a.T.copy() for a in arrays], 0
        elif layout == "middle":
            arrays, axis = [a.reshape(20, 30, -1).swapaxes(1, 2).copy() for a in arrays], 1
        elif layout == "strided":
            arrays = [np.repeat(a, 2, axis=0)[::2] for a in arrays]
        for threads in (1, 2, 3):
            report = bandsolve.solve_batch(*arrays, axis=axis, threads=threads, full_output=True)[1]
            assert report.attention == (said if which else None), (which, threads)
        assert bandsolve.solve_batch(*arrays, axis=axis, verify=False, full_output=True)[1].attention is None


@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_shared_matrices_tell_of_solutions_without_a_digit(axis):
    n = 80
    bad, good = growing(65, n)
    for matrix, some, expected in ((bad, 1.0, True), (bad, 0.0, False), (good, 1.0, False)):
        rhs = np.zeros((6, 40, n))
        # The exact answer of zeros is zeros; of A @ ones it is ones.
        rhs[...] = matrix[1] + np.append(matrix[2], 0)
        rhs[3, 17] = np.where(some, 1.0, rhs[3, 17])
        rhs = np.moveaxis(rhs, -1, axis)
        reports = [bandsolve.solve_batch(*matrix, rhs, axis=axis, threads=threads, full_output=True)[1] for threads in (1, 3)]
        assert reports[0].attention == reports[1].attention and (reports[0].attention is not None) == expected, reports


@pytest.mark.parametrize("method", [None, "rpts", "spike-cr", "spike-thomas"])
@pytest.mark.parametrize("n", [100, 5000])
def test_methods_by_partitions_tell_of_growing_solutions(method, n):
    bad, good = growing(65, n)
    options = {"method": method} if method else {}
    for matrix, expected in ((bad, True), (good, False)):
        report = bandsolve.solve_tridiagonal(*matrix, np.ones(n), full_output=True, **options)[1]
        assert ("no correct digit" in (report.attention or "")) == expected, report
