"""SciPy's own tests of its banded solvers, with ours in place of them; and beside them."""

import itertools

import numpy as np
import pytest
import scipy.linalg
import scipy.linalg.tests.test_basic as theirs
from conftest import backward_error, eps, random

import bandsolve


@pytest.fixture(autouse=True)
def ours(monkeypatch):
    monkeypatch.setattr(theirs, "solve_banded", bandsolve.solve_banded)
    monkeypatch.setattr(theirs, "solveh_banded", bandsolve.solveh_banded)


class TestSolveBanded(theirs.TestSolveBanded):
    def test_ours_is_meant(self):
        assert theirs.solve_banded is bandsolve.solve_banded


class TestSolveHBanded(theirs.TestSolveHBanded):
    pass


@pytest.mark.parametrize("lower, upper", [(0, 0), (1, 1), (0, 1), (1, 0), (2, 1), (3, 5), (0, 4)])
def test_batches(lower, upper, dtype):
    rng = np.random.default_rng(lower + 10 * upper)
    n = 20
    for ab_batch, b_batch in [((), ()), ((4,), (4,)), ((4,), ()), ((), (4,)), ((2, 1), (1, 3))]:
        ab = random(rng, ab_batch + (lower + upper + 1, n), dtype)
        ab[..., upper, :] += 4
        for core in [(n,), (n, 2)]:
            # SciPy takes the last two dimensions of b for a matrix.
            if len(core) == 1 and b_batch:
                continue
            b = random(rng, b_batch + core, dtype)
            expected = scipy.linalg.solve_banded((lower, upper), ab, b)
            x = bandsolve.solve_banded((lower, upper), ab, b)
            assert x.shape == expected.shape and x.dtype == expected.dtype
            assert np.allclose(x, expected, rtol=0, atol=1000 * eps(x) * abs(expected).max())


def test_hermitian_ones_as_scipy(dtype):
    rng = np.random.default_rng(1)
    for width in range(5):
        for lower in (False, True):
            ab = random(rng, (3, width + 1, 30), dtype)
            ab[:, 0 if lower else width] += 10
            b = random(rng, (3, 30, 2), dtype)
            expected = scipy.linalg.solveh_banded(ab, b, lower=lower)
            x = bandsolve.solveh_banded(ab, b, lower=lower)
            assert x.dtype == expected.dtype
            assert np.allclose(x, expected, rtol=0, atol=1000 * eps(x))


def dense_hermitian(ab, lower):
    """The whole matrix of which `ab` holds one triangle. (The imaginary parts of its diagonal are not looked at.)"""
    width, n = len(ab) - 1, ab.shape[1]
    a = np.zeros((n, n), ab.dtype)
    for k in range(min(width + 1, n)):
        below = ab[k, : n - k] if lower else ab[width - k, k:].conj()
        a += np.diag(below.real if k == 0 else below, -k) + (np.diag(below.conj(), k) if k else 0)
    return a


def test_what_is_not_positive_definite_is_refused_as_scipy_does(dtype):
    rng = np.random.default_rng(5)
    refused = 0
    for _ in range(400):
        # SciPy has no answer for one row with a diagonal too many.
        n, width, lower = rng.integers(2, 9), rng.integers(0, 5), bool(rng.integers(2))
        ab = random(rng, (width + 1, n), dtype)
        ab[0 if lower else width] = abs(ab[0 if lower else width]) * rng.choice([1, 2, 4])
        b = random(rng, n, dtype)
        try:
            expected = scipy.linalg.solveh_banded(ab, b, lower=lower)
        except np.linalg.LinAlgError as error:
            refused += 1
            with pytest.raises(np.linalg.LinAlgError, match=str(error)):
                bandsolve.solveh_banded(ab, b, lower=lower)
        else:
            x = bandsolve.solveh_banded(ab, b, lower=lower)
            assert x.shape == expected.shape and x.dtype == expected.dtype
            assert backward_error(dense_hermitian(ab, lower), x, b) <= 10 * eps(x)
    assert 100 < refused < 300
    indefinite = np.array([[0, 5, 5], [1, 1, 1]], dtype)
    assert bandsolve.solveh_banded(indefinite, np.empty((3, 0))).shape == (3, 0)
    indefinite[1, 0] = np.nan
    for solve in (scipy.linalg.solveh_banded, bandsolve.solveh_banded):
        assert np.isnan(solve(indefinite, np.ones(3), check_finite=False)).any()
    for n in (1000, 1001):
        ab = np.array([np.ones(n), np.full(n, 2.0)], dtype)
        assert bandsolve.solveh_banded(ab, np.ones(n)).shape == (n,)
        for row in (0, 1, n // 2 - 1, n // 2, n - 2, n - 1):
            spoiled = ab.copy()
            spoiled[1, row] = 0.25
            with pytest.raises(np.linalg.LinAlgError, match=f"{max(row + 1, 2)}th leading minor"):
                bandsolve.solveh_banded(spoiled, np.ones(n))


def test_more_diagonals_than_the_matrix_has_room_for():
    rng = np.random.default_rng(2)
    for n in (1, 2, 3):
        ab = rng.random((7, n)) + 1
        b = rng.random(n)
        a = np.array([[ab[3 + i - j, j] for j in range(n)] for i in range(n)])
        assert np.allclose(a @ bandsolve.solve_banded((3, 3), ab, b), b)


def test_nothing_is_looked_for_where_that_is_asked_for():
    ab = np.ones((3, 5))
    ab[1] = np.nan
    x = bandsolve.solve_banded((1, 1), ab, np.ones(5), check_finite=False)
    assert np.isnan(x).any()
    with pytest.raises(ValueError, match="infs or NaNs"):
        bandsolve.solve_banded((1, 1), ab, np.ones(5))


def test_types_of_hermitian_ones_are_those_of_scipy():
    kinds = [np.bool_, np.int8, np.uint16, np.int32, np.float16, np.float32, np.float64, np.complex64, np.complex128]
    for a, b in itertools.product(kinds, kinds):
        ab, b = np.array([[0, 0, 0], [1, 1, 1]], a), np.ones(3, b)
        x, expected = bandsolve.solveh_banded(ab, b), scipy.linalg.solveh_banded(ab, b)
        assert x.dtype == expected.dtype and np.array_equal(x, expected), (a, b)


def test_flags_are_what_is_true_or_false():
    ab, b = np.array([[4.0, 4, 4], [1, 1, 0]]), np.ones(3)
    for flags in (dict(lower=1), dict(lower=True, check_finite=0), dict(lower=np.True_, check_finite=None)):
        assert np.allclose(bandsolve.solveh_banded(ab, b, **flags), scipy.linalg.solveh_banded(ab, b, lower=True))
    for flags in (dict(lower=0), dict(lower=None, check_finite=1)):
        assert np.allclose(bandsolve.solveh_banded(ab[::-1, ::-1], b, **flags), scipy.linalg.solveh_banded(ab[::-1, ::-1], b))
    for width, flag in itertools.product((1, 2), (0, None, 1)):
        ab = np.zeros((2 * width + 1, 5))
        ab[width] = 2
        assert np.array_equal(bandsolve.solve_banded((width, width), ab, np.ones(5), check_finite=flag), np.full(5, 0.5))


def test_widths_are_not_negative():
    for l_and_u, rows in (((-1, 3), 3), ((3, -1), 3), ((0, -1), 0)):
        for call in (bandsolve.solve_banded, scipy.linalg.solve_banded):
            with pytest.raises(ValueError):
                call(l_and_u, np.ones((rows, 4)), np.ones(4))
        with pytest.raises(ValueError, match="l and u are .* expected numbers that are not negative"):
            bandsolve.factor_banded(l_and_u, np.ones((rows, 4)))


def test_singular_ones():
    with pytest.raises(np.linalg.LinAlgError):
        bandsolve.solve_banded((1, 1), np.zeros((3, 5)), np.ones(5))
    with pytest.raises(np.linalg.LinAlgError):
        bandsolve.solve_banded((2, 2), np.zeros((5, 5)), np.ones(5))


def test_factors_of_bands():
    rng = np.random.default_rng(3)
    ab = rng.random((6, 40))
    ab[2] += 5
    factor = bandsolve.factor_banded((3, 2), ab)
    b = rng.random((40, 3))
    assert np.allclose(factor.solve(b), scipy.linalg.solve_banded((3, 2), ab, b))
    a = np.zeros((40, 40))
    for k in range(-3, 3):
        a += np.diag(ab[2 - k, max(k, 0) : 40 + min(k, 0)], k)
    assert np.allclose(a.T @ factor.solve_transpose(b), b)
