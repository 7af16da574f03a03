"""Batches of positive definite bands: every triangle, axis and memory order against dense matrices."""

import pickle

import bandsolve
import numpy as np
import pytest
import scipy.linalg

TYPES = [np.float64, np.float32, np.complex128, np.complex64]


def numbers(random, shape, kind):
    values = random.uniform(-1, 1, shape)
    return (values + 1j * random.uniform(-1, 1, shape) if np.dtype(kind).kind == "c" else values).astype(kind)


def triangles(random, count, width, n, kind, lower, periodic=False):
    """The stored triangles, and the dense matrices. Entries outside of the matrices are NaN."""
    ab = np.full((count, width + 1, n), np.nan, kind)
    dense = np.zeros((count, n, n), kind)
    for k in range(width + 1):
        for j in range(n if periodic else n - k):
            i = (j + k) % n
            entry = numbers(random, count, kind) if k else np.full(count, 3 * width + 2, kind)
            dense[:, i, j] += entry
            if k:
                dense[:, j, i] += entry.conj()
            if lower:
                ab[:, k, j] = entry
            else:
                ab[:, width - k, i] = entry.conj()
    return ab, dense


def error(dense, rhs, x):
    """The largest backward error, for systems along the last axis."""
    residual = np.abs(np.einsum("...ij,...j->...i", dense.astype(np.clongdouble), x) - rhs)
    scale = np.abs(dense).sum(-1) * np.abs(x).max(-1, keepdims=True) + np.abs(rhs)
    return (residual / scale).max() / np.finfo(x.dtype).eps


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("periodic", [False, True])
@pytest.mark.parametrize("lower", [False, True])
def test_triangles_along_each_axis(kind, periodic, lower):
    random = np.random.default_rng(3)
    for width, n in [(0, 4), (1, 1), (1, 2), (1, 20), (2, 20), (4, 9), (7, 16)]:
        ab, dense = triangles(random, 6, width, n, kind, lower, periodic)
        rhs = numbers(random, (6, n), kind)
        options = dict(lower=lower, periodic=periodic)
        x, report = bandsolve.solveh_banded_batch(ab, rhs, full_output=True, **options)
        assert error(dense, rhs, x) <= 8 + 4 * width and report.method == "cholesky"
        for order in "CF":
            turned = np.array(rhs.T, order=order)
            y = bandsolve.solveh_banded_batch(ab, turned, axis=0, threads=1, **options)
            assert error(dense, rhs, y.T) <= 8 + 4 * width
        cube = numbers(random, (2, n, 3), kind)
        y = bandsolve.solveh_banded_batch(ab.reshape(2, 3, width + 1, n), cube, axis=1, **options)
        assert error(dense.reshape(2, 3, n, n), np.moveaxis(cube, 1, -1), np.moveaxis(y, 1, -1)) <= 8 + 4 * width
        conjugates = bandsolve.solveh_banded_batch(ab, rhs, transpose=True, **options)
        assert error(dense.conj(), rhs, conjugates) <= 8 + 4 * width
        assert np.array_equal(bandsolve.solveh_banded_batch(ab, rhs, transpose="conj", **options), x)


def test_one_matrix_out_and_factors():
    random = np.random.default_rng(4)
    ab, dense = triangles(random, 1, 2, 30, np.float64, True)
    rhs = random.uniform(size=(100, 30))
    x = bandsolve.solveh_banded_batch(ab[0], rhs, lower=True)
    assert error(dense[0], rhs, x) <= 16
    factor = pickle.loads(pickle.dumps(bandsolve.factorh_banded_batch(ab[0], lower=True)))
    out = np.empty_like(rhs)
    assert factor.solve(rhs, out=out) is out and np.array_equal(out, x)
    y = rhs.copy()
    assert bandsolve.solveh_banded_batch(ab[0], y, lower=True, overwrite_rhs=True) is not rhs and np.array_equal(y, x)
    with pytest.raises(ValueError, match=r"ab\[0, 7\] is not finite"):
        ab[0, 0, 7] = np.inf
        bandsolve.factorh_banded_batch(ab[0], lower=True)


def test_imaginary_diagonals_are_ignored():
    ab = np.array([[[4.0 + np.nan * 1j, 4, 4], [1j, 1, np.nan]]] * 2)
    ab[:, 0, 0] = complex(4, np.nan)
    rhs = np.array([[4 - 1j, 5 + 1j, 5]] * 2)
    assert np.allclose(bandsolve.solveh_banded_batch(ab, rhs, lower=True), 1)
    assert np.allclose(bandsolve.factorh_banded_batch(ab, lower=True).solve(rhs), 1)


def test_drop_in_batches_and_scipy():
    random = np.random.default_rng(5)
    for kind, width, columns in [(np.float64, 1, None), (np.float32, 2, 3), (np.complex128, 3, 5), (np.float64, 16, 2)]:
        ab, _ = triangles(random, 6, width, 40, kind, False)
        ab = np.nan_to_num(ab).reshape(2, 3, width + 1, 40)
        rhs = numbers(random, (2, 3, 40) if columns is None else (2, 3, 40, columns), kind)
        if columns is None:
            rhs = rhs[..., None]
        x = bandsolve.solveh_banded(ab, rhs)
        for index in np.ndindex(2, 3):
            expected = scipy.linalg.solveh_banded(ab[index], rhs[index])
            assert np.allclose(x[index], expected, rtol=1e-4 if kind == np.float32 else 1e-12)
        assert x.dtype == kind and x.shape == rhs.shape
    with pytest.raises(ValueError, match="infs or NaNs"):
        ab[1, 1, 0, 0] = np.nan
        bandsolve.solveh_banded(ab, rhs)


def test_errors():
    ab, rhs = np.tile([[-1.0], [3.0]], (4, 3, 1, 10)), np.ones((4, 3, 10))
    ab[2, 1, 1, 6] = 0.0
    with pytest.raises(np.linalg.LinAlgError, match=r"^system 7 is not Hermitian positive definite: first seen in row 6$"):
        bandsolve.solveh_banded_batch(ab, rhs)
    with pytest.raises(np.linalg.LinAlgError, match=r"^system 7 is not Hermitian positive definite: first seen in row 6$"):
        bandsolve.solveh_banded_batch(ab, np.moveaxis(rhs, -1, 0), axis=0)
    with pytest.raises(np.linalg.LinAlgError, match=r"^system 7 is not"):
        bandsolve.solveh_banded_batch(ab, np.moveaxis(rhs, -1, 1), axis=1)
    with pytest.raises(np.linalg.LinAlgError, match=r"^system 7 is not"):
        bandsolve.factorh_banded_batch(ab).solve(rhs)
    with pytest.raises(np.linalg.LinAlgError, match=r"positive definite"):
        bandsolve.solveh_banded(ab, rhs[..., None])
    with pytest.raises(np.linalg.LinAlgError, match=r"^system 1 is not Hermitian positive definite: first seen in row 1$"):
        bandsolve.solve_batch(np.ones((2, 3)), np.array([[4.0, 4, 4, 4], [4, 0, 4, 4]]), np.ones((2, 3)), np.ones((2, 4)), method="cholesky")
    ab[2, 1, 1, 6] = 3.0
    rhs[3, 0, 4] = np.nan
    with pytest.raises(ValueError, match=r"^rhs\[3, 0, 4\] is not finite$"):
        bandsolve.solveh_banded_batch(ab, rhs)
    ab[1, 2, 0, 5] = np.inf
    with pytest.raises(ValueError, match=r"^ab\[1, 2, 0, 5\] is not finite$"):
        bandsolve.solveh_banded_batch(ab, rhs)
    with pytest.raises(ValueError, match=r"ab has the shape \(2, 9\), expected \(\.\.\., u \+ 1, 10\)"):
        bandsolve.solveh_banded_batch(np.ones((2, 9)), np.ones(10))
    with pytest.raises(ValueError, match="ab has 16 diagonals beside the main one, expected at most 15"):
        bandsolve.solveh_banded_batch(np.ones((17, 40)), np.ones(40))
    with pytest.raises(ValueError, match="expected at most 7"):
        bandsolve.solveh_banded_batch(np.ones((9, 40)), np.ones(40), periodic=True)


def test_method_cholesky_of_tridiagonal_batches():
    random = np.random.default_rng(6)
    off, rhs = random.uniform(-1, 1, (50, 29)), random.uniform(size=(50, 30))
    x, report = bandsolve.solve_batch(off, np.full((50, 30), 3.0), off, rhs, method="cholesky", full_output=True)
    assert report.method == "cholesky" and report.backward_error < 8 * np.finfo(float).eps
    assert np.allclose(x, bandsolve.solve_batch(off, np.full((50, 30), 3.0), off, rhs), rtol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="not Hermitian positive definite: first seen in row 3"):
        wrong = off.copy()
        wrong[7, 3] += 1.0
        bandsolve.solve_batch(off, np.full((50, 30), 3.0), wrong, rhs, method="cholesky")


@pytest.mark.parametrize("lower", [False, True])
def test_columns_in_the_order_of_lapack(lower):
    """Few, many, large and badly scaled systems, and one matrix, with the entries of a column side by side."""
    random = np.random.default_rng(7)
    for count, n, width in [(2, 4, 1), (30, 12, 2), (5, 9000, 1), (30, 12, 9)]:
        ab, _ = triangles(random, count, width, n, np.float64, lower) if n < 100 else (np.empty((count, width + 1, n)), None)
        if n >= 100:
            ab[:] = np.array([[3.0], [-1.0]])[:: 1 if lower else -1]
        columns = np.ascontiguousarray(ab.transpose(0, 2, 1)).transpose(0, 2, 1)
        rhs = random.uniform(size=(count, n))
        x = bandsolve.solveh_banded_batch(ab, rhs, lower=lower)
        assert np.allclose(bandsolve.solveh_banded_batch(columns, rhs, lower=lower), x, rtol=1e-12)
        shared = bandsolve.solveh_banded_batch(columns[0], np.tile(rhs[0], (100, 1)), lower=lower)
        assert np.allclose(shared, x[0], rtol=1e-12)
    ab = np.tile([[3.0], [-1.0]], (30, 1, 12)) if lower else np.tile([[-1.0], [3.0]], (30, 1, 12))
    ab[4, 0 if lower else 1, 7] = 0.3
    columns = np.ascontiguousarray(ab.transpose(0, 2, 1)).transpose(0, 2, 1)
    with pytest.raises(np.linalg.LinAlgError, match="^system 4 is not Hermitian positive definite: first seen in row 7$"):
        bandsolve.solveh_banded_batch(columns, np.ones((30, 12)), lower=lower)
    large = ab * 1e305
    large[4, 0 if lower else 1, 7] = 3e305
    columns = np.ascontiguousarray(large.transpose(0, 2, 1)).transpose(0, 2, 1)
    x, report = bandsolve.solveh_banded_batch(columns, np.full((30, 12), 1e305), lower=lower, full_output=True)
    assert np.allclose(x, bandsolve.solveh_banded_batch(large / 1e305, np.ones((30, 12)), lower=lower)) and report.backward_error < 1e-14


def test_ignored_entries_are_not_named():
    ab = np.tile([[-1.0 + 0j], [3.0]], (5, 1, 4))
    ab[0, 1, 0], ab[4, 0, 2] = complex(3, np.nan), np.inf
    with pytest.raises(ValueError, match=r"^ab\[4, 0, 2\] is not finite$"):
        bandsolve.solveh_banded_batch(ab, np.ones((5, 4)))
