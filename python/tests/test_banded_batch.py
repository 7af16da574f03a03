"""Batches of banded systems: every order in memory against residuals in longer arithmetic."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.linalg
from conftest import eps, lines, random

import bandsolve

WIDTHS = [(0, 0), (1, 1), (2, 2), (0, 3), (3, 1), (8, 8)]


def dense(ab, lower, upper):
    """The matrix of `ab`, whose other entries may be anything."""
    n = ab.shape[-1]
    a = np.zeros((n, n), ab.dtype)
    for j in range(n):
        for i in range(max(0, j - upper), min(n, j + lower + 1)):
            a[i, j] = ab[upper + i - j, j]
    return a


def backward_error(a, x, rhs):
    """The row-wise backward error, in the longest numbers of the machine."""
    a, x, rhs = (np.asarray(array, np.clongdouble) for array in (a, x, rhs))
    if a.size == 0:
        return 0.0
    size = abs(a).sum(axis=1) * abs(x).max() + abs(rhs)
    residual = abs(rhs - a @ x)
    return float(np.divide(residual, size, out=np.zeros_like(residual), where=residual != 0).max())


def spoiled(ab, lower, upper):
    """The matrices with NaN in all entries that no solver may read."""
    ab, n = ab.copy(), ab.shape[-1]
    for r in range(lower + upper + 1):
        rows = np.arange(n) + r - upper
        ab[..., r, (rows < 0) | (rows >= n)] = np.nan
    return ab


def systems(rng, batch, n, widths, dtype):
    """Random matrices, not dominant, with NaN outside."""
    lower, upper = widths
    ab = random(rng, (*batch, lower + upper + 1, n), dtype)
    ab[..., upper, :] += 1
    return spoiled(ab, lower, upper)


def check(ab, widths, rhs, axis, transpose=False, **options):
    """Solve, and compare the report with the residual of each system. `ab` has the axes of `rhs` without `axis`, or none."""
    x, report = bandsolve.solve_banded_batch(widths, ab, rhs, axis=axis, transpose=transpose, full_output=True, **options)
    assert x.shape == rhs.shape and x.dtype == np.result_type(ab, rhs)
    assert report.backward_error <= (64 if report.fallback else 8) * eps(x)
    assert report.fallback == bool(report.fallback_systems)
    others = rhs.shape[:axis] + rhs.shape[axis + 1:]
    every = np.broadcast_to(ab, others + ab.shape[-2:]).reshape(int(np.prod(others)), *ab.shape[-2:])
    # The rounding of the residual that the solver computes.
    slack = (sum(widths) + 4) * eps(x)
    for a, of_x, of_rhs in zip(every, lines(x, axis), lines(rhs, axis)):
        a = dense(a, *widths)
        a = {False: a, True: a.T, "conj": a.conj().T}[transpose]
        assert backward_error(a, of_x, of_rhs) <= report.backward_error + slack
    return x


@pytest.mark.parametrize("widths", WIDTHS)
def test_every_axis_and_order(widths, dtype):
    rng = np.random.default_rng(sum(widths))
    for shape, axis in [((7,), 0), ((37, 9), 1), ((9, 37), 0), ((3, 9, 5), 1), ((2, 9, 70), 1), ((4, 5, 9), 2), ((2, 3, 4, 2), 1)]:
        n, others = shape[axis], shape[:axis] + shape[axis + 1:]
        ab, rhs = systems(rng, others, n, widths, dtype), random(rng, shape, dtype)
        first = check(ab, widths, rhs, axis)
        for transpose in (True, "conj"):
            check(ab, widths, rhs, axis, transpose)
        # Another order of either array: with the unknowns of `rhs` last, the bits are the same.
        for order in ("C", "F"):
            turned = np.array(rhs, order=order)
            x = check(np.array(ab, order=order), widths, turned, axis)
            assert x.flags.f_contiguous == turned.flags.f_contiguous
        same = bandsolve.solve_banded_batch(widths, np.array(ab, order="F"), rhs, axis=axis)
        assert np.array_equal(same, first)
        assert np.array_equal(bandsolve.solve_banded_batch(widths, ab, rhs, axis=axis, threads=3), first)
        assert np.array_equal(bandsolve.solve_banded_batch(widths, ab, rhs, axis=axis - len(shape)), first)
        # One matrix for all systems, and one for each index of the last of several axes.
        check(systems(rng, (), n, widths, dtype), widths, rhs, axis)
        if len(others) > 1:
            check(systems(rng, others[-1:], n, widths, dtype), widths, rhs, axis)


def test_small_and_empty_batches(dtype):
    rng = np.random.default_rng(2)
    for n in (0, 1, 2, 3):
        for count in (0, 1, 2, 20):
            ab, rhs = systems(rng, (count,), n, (2, 2), dtype), random(rng, (count, n), dtype)
            assert check(ab, (2, 2), rhs, 1).shape == (count, n)
            check(ab, (2, 2), np.ascontiguousarray(rhs.T), 0)
            check(systems(rng, (), n, (2, 2), dtype), (2, 2), rhs, 1)


def test_mixed_number_types():
    ab = np.array([[1, 1, 1], [9, 9, 9], [1, 1, 1]])
    for of_rhs, expected in [(np.float32, np.float64), (np.complex64, np.complex128), (np.int8, np.float64)]:
        x = bandsolve.solve_banded_batch((1, 1), ab, np.ones((2, 3), of_rhs))
        assert x.dtype == expected
    assert bandsolve.solve_banded_batch((1, 1), ab.astype(np.float32), np.ones((2, 3), np.float16)).dtype == np.float32
    with pytest.raises(TypeError, match="dtype"):
        bandsolve.solve_banded_batch((1, 1), ab.astype(object), np.ones((2, 3)))


def test_results_are_written_where_it_is_asked_for(dtype):
    rng = np.random.default_rng(3)
    for shape, axis, order in [((20, 30), 1, "C"), ((30, 20), 0, "C"), ((20, 30), 1, "F"), ((3, 30, 4), 1, "C")]:
        others = shape[:axis] + shape[axis + 1:]
        ab = systems(rng, others, 30, (2, 1), dtype)
        ab[..., 1, :] += 5
        rhs = np.array(random(rng, shape, dtype), order=order)
        expected = bandsolve.solve_banded_batch((2, 1), ab, rhs, axis=axis)
        out = np.full_like(rhs, np.nan)
        assert bandsolve.solve_banded_batch((2, 1), ab, rhs, axis=axis, out=out) is out
        assert np.array_equal(out, expected)
        same = rhs.copy(order="K")
        assert bandsolve.solve_banded_batch((2, 1), ab, same, axis=axis, out=same) is same
        assert np.array_equal(same, expected)
        again = rhs.copy(order="K")
        x = bandsolve.solve_banded_batch((2, 1), ab, again, axis=axis, overwrite_rhs=True)
        assert np.shares_memory(x, again) and np.array_equal(again, expected)
    with pytest.raises(ValueError, match="out is float16"):
        bandsolve.solve_banded_batch((2, 1), ab, rhs, axis=1, out=np.empty(rhs.shape, np.float16))


def memory_of_call(*arguments, **options):
    """The most memory of NumPy's arrays during a call, in bytes."""
    bandsolve.solve_banded_batch(*arguments, **options)
    tracemalloc.start()
    bandsolve.solve_banded_batch(*arguments, **options)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return most


def test_arrays_are_used_where_they_are():
    rng = np.random.default_rng(4)
    count, n = 400, 50
    rhs, turned = rng.random((count, n)), rng.random((n, count))
    contiguous = rng.random((count, 5, n)) + 1
    interleaved = np.moveaxis(rng.random((5, n, count)) + 1, -1, 0)
    lapack = np.moveaxis(rng.random((count, n, 7)), -1, 1)[:, 2:]
    constant = np.broadcast_to(np.array([[1.0], [1], [9], [1], [1]]), (5, n))
    for ab in (contiguous, interleaved, lapack, constant):
        for b, axis in ((rhs, 1), (turned, 0)):
            assert memory_of_call((2, 2), ab, b, axis=axis, out=np.empty_like(b)) < contiguous.nbytes / 20
    # Three axes whose order in memory is that of the right-hand sides.
    field, three = rng.random((20, n, 20)), rng.random((20, 20, 5, n))
    assert memory_of_call((2, 2), three, field, axis=1, out=np.empty_like(field)) < three.nbytes / 20
    # These are copied.
    for ab in (contiguous[::-1], contiguous[..., ::-1], contiguous.astype(np.float32)):
        assert memory_of_call((2, 2), ab, rhs, out=np.empty_like(rhs)) >= contiguous.nbytes


def test_errors_name_the_system_and_the_entry(dtype):
    rng = np.random.default_rng(5)
    for shape, axis, order in [((30, 10), 1, "C"), ((10, 30), 0, "C"), ((5, 10, 6), 1, "C"), ((2, 10, 80), 1, "C"), ((5, 6, 10), 2, "F")]:
        others = shape[:axis] + shape[axis + 1:]
        ab, rhs = systems(rng, others, 10, (2, 1), dtype), np.array(random(rng, shape, dtype), order=order)
        ab[..., 1, :] += 6
        where = tuple(length - 2 for length in others)
        number = np.ravel_multi_index(where, others)
        for value in (np.nan, np.inf):
            wrong = ab.copy()
            wrong[(*where, 2, 4)] = value
            named = ", ".join(map(str, (*where, 2, 4)))
            with pytest.raises(ValueError, match=rf"^ab\[{named}\] is not finite"):
                bandsolve.solve_banded_batch((2, 1), wrong, rhs, axis=axis)
            wrong = rhs.copy(order="K")
            at = where[:axis] + (7,) + where[axis:]
            wrong[at] = value
            named = ", ".join(map(str, at))
            with pytest.raises(ValueError, match=rf"^rhs\[{named}\] is not finite"):
                bandsolve.solve_banded_batch((2, 1), ab, wrong, axis=axis)
        # Column 3 is zero.
        singular = ab.copy()
        singular[(*where, slice(None), 3)] = 0
        with pytest.raises(np.linalg.LinAlgError, match=f"system {number} is singular: no pivot in row 3"):
            bandsolve.solve_banded_batch((2, 1), singular, rhs, axis=axis)


def test_reports_name_the_systems_that_needed_repair():
    rng = np.random.default_rng(8)
    for shape, axis, order in [((30, 10), 1, "C"), ((10, 30), 0, "C"), ((5, 10, 6), 1, "C"), ((2, 10, 80), 1, "C"), ((5, 6, 10), 2, "F")]:
        others = shape[:axis] + shape[axis + 1:]
        ab, rhs = rng.random((*others, 4, 10)), np.array(rng.random(shape), order=order)
        ab[..., 1, :] += 4
        bad = sorted(rng.choice(np.prod(others), 3, replace=False).tolist())
        # A zero pivot is no error, because the fallback exchanges rows.
        ab.reshape(-1, 4, 10)[bad, 1, 0] = 0
        x, report = bandsolve.solve_banded_batch((2, 1), ab, rhs, axis=axis, pivoting="none", full_output=True)
        assert report.fallback_systems == bad and report.backward_error <= 64 * eps(x)
        tridiagonal = ab[..., 2, :-1].copy(), ab[..., 1, :].copy(), ab[..., 0, 1:].copy()
        tridiagonal = [np.moveaxis(array, -1, axis) for array in tridiagonal]
        report = bandsolve.solve_batch(*tridiagonal, rhs, axis=axis, pivoting="none", full_output=True)[1]
        assert report.fallback_systems == bad
        assert bandsolve.solve_banded_batch((2, 1), ab, rhs, axis=axis, full_output=True)[1].fallback_systems == []


def test_wrong_arguments():
    ab, rhs = np.ones((4, 5, 6)), np.ones((4, 6))
    for message, call in {
        "l and u are 16 and 2, expected at most 15": lambda: bandsolve.solve_banded_batch((16, 2), np.ones((19, 6)), rhs),
        "l and u are -1 and 2": lambda: bandsolve.solve_banded_batch((-1, 2), ab, rhs),
        r"ab has the shape \(4, 5, 6\), expected \(..., 4, 6\)": lambda: bandsolve.solve_banded_batch((1, 2), ab, rhs),
        r"ab has the shape \(4, 5, 6\), expected \(..., 5, 4\)": lambda: bandsolve.solve_banded_batch((2, 2), ab, rhs, axis=0),
        r"ab has the leading axes \(3,\), expected axes that broadcast to \(4,\)": lambda: bandsolve.solve_banded_batch((2, 2), ab[:3], rhs),
        r"ab has the leading axes \(4,\), expected axes that broadcast to \(\)": lambda: bandsolve.solve_banded_batch((2, 2), ab, rhs[0]),
        "axis 2 is out of bounds": lambda: bandsolve.solve_banded_batch((2, 2), ab, rhs, axis=2),
        "rhs is a single number": lambda: bandsolve.solve_banded_batch((2, 2), ab, 1.0),
        "pivoting is": lambda: bandsolve.solve_banded_batch((2, 2), ab, rhs, pivoting="full"),
        r"ab\[0, 2\] is not finite": lambda: bandsolve.factor_banded_batch((2, 2), np.full((5, 6), np.inf)),
        r"ab has the shape \(6,\)": lambda: bandsolve.factor_banded_batch((0, 0), ab[0, 0]),
    }.items():
        with pytest.raises(ValueError, match=message):
            call()


def test_factors():
    rng = np.random.default_rng(6)
    ab, field = systems(rng, (7, 8), 9, (2, 2), np.float64), rng.random((7, 9, 8))
    expected = bandsolve.solve_banded_batch((2, 2), ab, field, axis=1)
    lu = bandsolve.factor_banded_batch((2, 2), ab, axis=1)
    again = pickle.loads(pickle.dumps(lu))
    turned = bandsolve.solve_banded_batch((2, 2), ab, field, axis=1, transpose=True)
    ab[:] = 0
    for factor in (lu, again):
        assert np.array_equal(factor.solve(field), expected)
        assert np.array_equal(factor.solve(field, transpose=True), turned)
        x, report = factor.solve(field, out=np.empty_like(field), full_output=True)
        assert np.array_equal(x, expected) and report.backward_error <= 64 * eps(x)
    assert repr(lu) == "BatchFactor(shapes (7, 8, 5, 9), axis=1)"


def test_solve_banded_solves_batches_at_once():
    rng = np.random.default_rng(7)
    for widths in [(1, 1), (0, 1), (2, 1), (9, 2), (16, 2)]:
        lower, upper = widths
        ab = rng.random((6, lower + upper + 1, 12))
        ab[:, upper] += lower + upper + 1
        for columns in (1, 3, 7):
            rhs = rng.random((6, 12, columns))
            x = bandsolve.solve_banded(widths, ab, rhs)
            for s in range(6):
                for k in range(columns):
                    assert backward_error(dense(ab[s], lower, upper), x[s, :, k], rhs[s, :, k]) <= 64 * eps(x)
            one = bandsolve.solve_banded(widths, ab[:1], rhs)
            assert one.shape == rhs.shape
            for s in range(6):
                for k in range(columns):
                    assert backward_error(dense(ab[0], lower, upper), one[s, :, k], rhs[s, :, k]) <= 64 * eps(x)
            expected = scipy.linalg.solve_banded(widths, ab, rhs)
            # The matrices are dominant: their condition is less than 100.
            assert np.allclose(x, expected, rtol=0, atol=1e4 * eps(x))
    singular = np.ones((6, 4, 12))
    singular[4, :, 5] = 0
    singular[:, 1] += 9 * (np.arange(12) != 5)
    with pytest.raises(np.linalg.LinAlgError, match="system 4 is singular: no pivot in row 5"):
        bandsolve.solve_banded((2, 1), singular, np.ones((6, 12, 1)))
