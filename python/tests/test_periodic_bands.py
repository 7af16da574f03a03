"""Periodic bands, alone and in batches, against dense matrices of NumPy."""

import pickle

import numpy as np
import pytest

import bandsolve

WIDTHS = [(0, 0), (1, 1), (1, 0), (0, 2), (2, 2), (3, 1), (7, 6)]
SIZES = [1, 2, 3, 5, 9, 40]


def dense(l_and_u, ab):
    """The matrices of an array (..., l + u + 1, n): entry (r, j) is in row (j + r - u) mod n."""
    n = ab.shape[-1]
    a = np.zeros(ab.shape[:-2] + (n, n), np.result_type(ab, np.float32))
    for r in range(ab.shape[-2]):
        for j in range(n):
            a[..., (j + r - l_and_u[1]) % n, j] += ab[..., r, j]
    return a


def numbers(rng, shape, dtype=np.float64):
    values = rng.uniform(-1, 1, shape)
    return (values + 1j * rng.uniform(-1, 1, shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def dominant(rng, l_and_u, shape, dtype=np.float64):
    ab = numbers(rng, shape, dtype)
    ab[..., l_and_u[1], :] += 2 * sum(l_and_u) + 3
    return ab


def close(x, expected):
    np.testing.assert_allclose(x, expected, rtol=0, atol=200 * np.finfo(x.dtype).eps * max(1, np.abs(expected).max(initial=0)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("l_and_u", WIDTHS)
def test_one_matrix(l_and_u, dtype):
    rng = np.random.default_rng(1)
    for n in SIZES:
        ab = dominant(rng, l_and_u, (sum(l_and_u) + 1, n), dtype)
        a = dense(l_and_u, ab)
        for b in (numbers(rng, n, dtype), numbers(rng, (n, 3), dtype)):
            x = bandsolve.solve_banded(l_and_u, ab, b, periodic=True)
            assert x.dtype == dtype and x.shape == b.shape
            close(x, np.linalg.solve(a, b))
            lu = bandsolve.factor_banded(l_and_u, ab, periodic=True)
            close(lu.solve(b), np.linalg.solve(a, b))
            close(lu.solve(b, transpose=True), np.linalg.solve(a.T, b))
            close(lu.solve(b, transpose="conj"), np.linalg.solve(a.conj().T, b))


@pytest.mark.parametrize("l_and_u", WIDTHS)
@pytest.mark.parametrize("shape, axis", [((7, 12), -1), ((12, 7), 0), ((3, 12, 2), 1), ((2, 12, 80), 1), ((2, 3, 12), 2), ((3, 2), 1), ((40, 1), 1)])
def test_batches_along_any_axis(l_and_u, shape, axis):
    rng = np.random.default_rng(2)
    n, others = shape[axis], tuple(np.delete(shape, axis))
    diagonals = sum(l_and_u) + 1
    for ab in (dominant(rng, l_and_u, others + (diagonals, n)), dominant(rng, l_and_u, (diagonals, n))):
        rhs = numbers(rng, shape)
        x, report = bandsolve.solve_banded_batch(l_and_u, ab, rhs, axis=axis, periodic=True, full_output=True)
        assert report.backward_error < 1e-14
        expected = np.linalg.solve(dense(l_and_u, ab), np.moveaxis(rhs, axis, -1)[..., None])[..., 0]
        close(np.moveaxis(x, axis, -1), expected)
        y = bandsolve.solve_banded_batch(l_and_u, ab, np.asfortranarray(rhs), axis=axis, periodic=True, threads=1)
        close(y, x)
        lu = bandsolve.factor_banded_batch(l_and_u, ab, axis=axis, periodic=True)
        assert (lu.solve(rhs) == x).all()
        turned = np.linalg.solve(np.swapaxes(dense(l_and_u, ab), -1, -2), np.moveaxis(rhs, axis, -1)[..., None])[..., 0]
        close(np.moveaxis(lu.solve(rhs, transpose=True), axis, -1), turned)
        assert bandsolve.solve_banded_batch(l_and_u, ab, rhs, axis=axis, periodic=True, out=rhs) is rhs and (rhs == x).all()


@pytest.mark.parametrize("l_and_u", [(1, 1), (2, 2), (9, 2)])
@pytest.mark.parametrize("columns", [None, 1, 3, 30])
def test_leading_axes_as_scipy(l_and_u, columns):
    rng = np.random.default_rng(3)
    for batch in ((2, 3), (1,)):
        ab = dominant(rng, l_and_u, batch + (sum(l_and_u) + 1, 20))
        b = numbers(rng, (20,) if columns is None else batch + (20, columns))
        x = bandsolve.solve_banded(l_and_u, ab, b, periodic=True)
        expected = np.linalg.solve(dense(l_and_u, ab), b[..., None] if columns is None else b)
        close(x, expected[..., 0] if columns is None else expected)
        close(bandsolve.solve_banded(l_and_u, ab, b, check_finite=False, periodic=True), x)


def test_inspection_and_pickle():
    rng = np.random.default_rng(4)
    for n in SIZES:
        ab = dominant(rng, (2, 1), (4, n))
        a, b = dense((2, 1), ab), numbers(rng, n)
        lu = bandsolve.factor_banded((2, 1), ab, periodic=True)
        sign, log = np.linalg.slogdet(a)
        assert lu.slogdet()[0] == sign and abs(lu.slogdet()[1] - log) < 1e-12
        assert abs(lu.norm() / np.linalg.norm(a, 1) - 1) < 1e-14
        # An estimate, which is never too small and rarely more than three times too large.
        assert 1 - 1e-10 < lu.rcond() * np.linalg.cond(a, 1) <= 3
        again = pickle.loads(pickle.dumps(lu))
        assert (again.solve(b) == lu.solve(b)).all() and again.method == lu.method
        for method in ("pivoted", "rpts", "spike"):
            close(bandsolve.factor_banded((2, 1), ab, periodic=True, method=method).solve(b), np.linalg.solve(a, b))


def test_positive_definite():
    ab = np.repeat([[1.0], [-4], [7], [-4], [1]], 30, axis=1)
    x = bandsolve.factor_banded((2, 2), ab, periodic=True, method="cholesky").solve(np.ones(30))
    close(x, np.ones(30))


def test_wrong_arguments():
    ab, rhs = np.ones((5, 12)), np.ones(12)
    bad = ab.copy()
    bad[4, 11] = np.nan
    for call in (lambda: bandsolve.solve_banded_batch((2, 2), bad, rhs, periodic=True),
                 lambda: bandsolve.factor_banded_batch((2, 2), bad, periodic=True),
                 lambda: bandsolve.factor_banded((2, 2), bad, periodic=True)):
        with pytest.raises(ValueError, match=r"^ab\[4, 11\] is not finite$"):
            call()
    bandsolve.factor_banded_batch((2, 2), bad)  # unused in an open band
    with pytest.raises(ValueError, match="l and u are 8 and 1, expected at most 7 each. For more diagonals, use solve_banded"):
        bandsolve.solve_banded_batch((8, 1), np.ones((10, 12)), rhs, periodic=True)
    bad = np.full((5, 12), 0.1)
    bad[2] = 4
    bad[:, 7] = 0
    with pytest.raises(np.linalg.LinAlgError, match="singular.*row 7"):
        bandsolve.solve_banded((2, 2), bad, rhs, periodic=True)
    with pytest.raises(np.linalg.LinAlgError, match="system 1 is singular: no pivot in row 7"):
        bandsolve.solve_banded_batch((2, 2), np.stack([np.where(np.arange(12) == 7, 1, bad), bad]), np.ones((2, 12)), periodic=True)
    huge = np.zeros((5, 3))
    huge[2], huge[0], huge[3] = 1, 1e308, 1e308
    for call in (lambda: bandsolve.solve_banded_batch((2, 2), huge, np.ones((9, 3)), periodic=True),
                 lambda: bandsolve.solve_banded((2, 2), huge, np.ones(3), periodic=True)):
        with pytest.raises(ValueError, match="the periodic matrix has entries that meet in row . and column ., whose sum overflows"):
            call()
    definite = np.repeat([[1.0], [-4], [9], [-4], [1]], 60, axis=1)
    definite[2, 50] = -50
    with pytest.raises(np.linalg.LinAlgError, match="row 50"):
        bandsolve.factor_banded((2, 2), definite, periodic=True, method="cholesky")
    rhs[5] = np.inf
    with pytest.raises(ValueError, match=r"rhs\[5\] is not finite"):
        bandsolve.factor_banded((2, 2), np.where(bad == 0, 1, bad), periodic=True).solve(rhs)
    with pytest.raises(ValueError, match=r"rhs\[1, 5\] is not finite"):
        bandsolve.solve_banded_batch((2, 2), np.where(bad == 0, 1, bad), np.stack([np.ones(12), rhs]), periodic=True)


def test_empty():
    assert bandsolve.solve_banded((2, 2), np.ones((5, 0)), np.ones(0), periodic=True).shape == (0,)
    assert bandsolve.solve_banded_batch((2, 2), np.ones((5, 0)), np.ones((3, 0)), periodic=True).shape == (3, 0)
    assert bandsolve.solve_banded_batch((2, 2), np.ones((0, 5, 7)), np.ones((0, 7)), periodic=True).shape == (0, 7)


def test_a_gpu_solves_open_bands_only():
    with pytest.raises((ValueError, RuntimeError), match="device|GPU|CUDA|driver"):
        bandsolve.factor_banded((2, 2), np.ones((5, 9)), periodic=True, device="cuda")
