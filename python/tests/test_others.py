"""Blocks, batches, sparse matrices, conventions of others, splines, smoothing, files."""

import gzip
from fractions import Fraction

import numpy as np
import pytest
import scipy.interpolate
import scipy.sparse as sp
from conftest import backward_error, dense, eps, lines, random

import bandsolve
from bandsolve.compat import tridiagonal_solve
from bandsolve.interpolate import CubicSpline
from bandsolve.smooth import hodrick_prescott, whittaker


def dense_blocks(sub, diag, sup, periodic):
    n, b = diag.shape[:2]
    a = np.zeros((n, b, n, b), diag.dtype)
    for i in range(n):
        a[i, :, i] += diag[i]
        if i > 0 or periodic:
            a[i, :, (i - 1) % n] += sub[i]
        if i + 1 < n or periodic:
            a[i, :, (i + 1) % n] += sup[i]
    return a.reshape(n * b, n * b)


@pytest.mark.parametrize("block", [1, 2, 3, 8, 11])
@pytest.mark.parametrize("periodic", [False, True])
def test_blocks(block, periodic, dtype):
    rng = np.random.default_rng(block)
    n = 12
    sub, diag, sup = (random(rng, (n, block, block), dtype) for _ in range(3))
    diag = (diag + 3 * np.eye(block)).astype(dtype)
    a = dense_blocks(sub, diag, sup, periodic)
    for shape in [(n, block), (n, block, 2)]:
        rhs = random(rng, shape, dtype)
        x, report = bandsolve.solve_block_tridiagonal(sub, diag, sup, rhs, periodic=periodic, padded=not periodic, full_output=True)
        assert x.shape == shape and x.dtype == dtype
        flat = (n * block, -1)
        assert backward_error(a, x.reshape(flat), rhs.reshape(flat)) <= 20 * eps(x)
        assert report.backward_error <= 10 * eps(x)
    factor = bandsolve.factor_block_tridiagonal(sub, diag, sup, periodic=periodic, padded=not periodic)
    rhs = random(rng, n * block, dtype)
    assert backward_error(a, factor.solve(rhs), rhs) <= 20 * eps(rhs)
    assert backward_error(a.T, factor.solve_transpose(rhs), rhs) <= 20 * eps(rhs)


def test_blocks_that_do_not_fit():
    ones = np.ones((3, 2, 2))
    with pytest.raises(ValueError, match=r"diag has the shape \(3, 2\)"):
        bandsolve.solve_block_tridiagonal(ones, np.ones((3, 2)), ones, np.ones((3, 2)))
    with pytest.raises(ValueError, match=r"expected \(3, 2\) or \(3, 2, k\)"):
        bandsolve.solve_block_tridiagonal(ones[1:], ones, ones[1:], np.ones((2, 3)))
    diag, rhs = np.array([np.eye(2) * 40] * 4), np.ones((4, 2))
    fits = np.ones((4, 2, 2))
    for off, periodic, expected in [
        (np.ones((1, 4, 4)), False, r"the shape \(1, 4, 4\), expected blocks of 2 rows"),
        (np.ones((16, 1, 1)), False, r"the shape \(16, 1, 1\), expected blocks of 2 rows"),
        (np.ones((5, 2, 2)), False, r"length 5, expected 3"),
        (np.ones((4, 2, 2)), False, r"length 4, expected 3: .* Pass sub\[1:\] and sup\[:-1\]\. .*padded=True"),
        (np.ones((3, 2, 2)), True, r"length 3, expected 4: .* periodic=True"),
    ]:
        beside = fits if periodic else fits[1:]
        for sub, sup, name in [(off, beside, "sub"), (beside, off, "sup")]:
            message = f"{name} has {expected}"
            with pytest.raises(ValueError, match=message):
                bandsolve.solve_block_tridiagonal(sub, diag, sup, rhs, periodic=periodic)
            with pytest.raises(ValueError, match=message):
                bandsolve.factor_block_tridiagonal(sub, diag, sup, periodic=periodic)
    x = bandsolve.solve_block_tridiagonal(fits[1:], diag, fits[1:], rhs)
    assert np.array_equal(x, bandsolve.solve_block_tridiagonal(fits, diag, fits, rhs, padded=True))


@pytest.mark.parametrize("shape", [(5, 7), (3, 4, 6), (2, 3, 4, 5), (9,), (1, 1), (0, 4), (4, 0), (300, 64)])
def test_batches_along_any_axis(shape, dtype):
    rng = np.random.default_rng(len(shape))
    sub, diag, sup, rhs = (random(rng, shape, dtype) for _ in range(4))
    diag = diag + np.asarray(4, dtype)
    for axis in range(-len(shape), len(shape)):
        x, report = bandsolve.solve_batch(sub, diag, sup, rhs, axis=axis, full_output=True, padded=True)
        assert x.shape == shape and x.dtype == dtype
        for a, b, c, d, own in zip(*(lines(array, axis) for array in (sub, diag, sup, rhs, x))):
            assert backward_error(dense(a, b, c), own, d) <= 10 * eps(x)


def test_batches_are_broadcast():
    rng = np.random.default_rng(1)
    rhs = rng.random((3, 50, 4))
    off, diag = rng.random(50), rng.random(50) + 4
    one = bandsolve.solve_batch(off, diag, off, rhs, axis=1, padded=True)
    full = [np.broadcast_to(array[:, None], rhs.shape) for array in (off, diag, off)]
    assert np.allclose(one, bandsolve.solve_batch(*full, rhs, axis=1, padded=True), rtol=0, atol=1e-14)
    assert np.allclose(one, bandsolve.solve_batch(off, full[1], off, rhs, axis=1, padded=True), rtol=0, atol=1e-14)
    with pytest.raises(ValueError, match="axis 3 is out of bounds"):
        bandsolve.solve_batch(off, diag, off, rhs, axis=3)


def test_singular_systems_of_batches_are_named():
    for shape, axis, at, system in [((3, 5), 1, (1, 4), 1), ((5, 3), 0, (4, 1), 1), ((2, 5, 3), 1, (1, 4, 2), 5)]:
        diag, zeros = np.ones(shape), np.zeros(shape)
        diag[at] = 0
        with pytest.raises(np.linalg.LinAlgError, match=f"^system {system} is singular: no pivot in row 4$"):
            bandsolve.solve_batch(zeros, diag, zeros, diag, axis=axis, padded=True)
        report = bandsolve.solve_batch(zeros, diag + 1, zeros, diag, axis=axis, full_output=True, padded=True)[1]
        assert report.backward_errors == [report.backward_error]


@pytest.mark.parametrize("form", ["csr_array", "csc_array", "coo_array", "dia_array", "csr_matrix"])
def test_sparse_matrices(form):
    rng = np.random.default_rng(2)
    n = 60
    for lower, upper in [(1, 1), (0, 0), (3, 2), (0, 6)]:
        a = sum(sp.diags_array(rng.random(n - abs(k)) + 5 * (k == 0), offsets=k, shape=(n, n)) for k in range(-lower, upper + 1))
        a = getattr(sp, form)(a)
        rhs = rng.random((n, 2))
        name = "banded" if upper > 1 else "tridiagonal" if upper else "diagonal"
        assert bandsolve._bandsolve.storage(*bandsolve._sparse._entries(a), True) == (name, lower, upper, 1)
        assert np.allclose(a @ bandsolve.solve(a, rhs), rhs)
        assert np.allclose(a.T @ bandsolve.factor(a).solve_transpose(rhs), rhs)
        assert np.allclose(a @ bandsolve.solve(a.toarray(), rhs), rhs)
    with pytest.raises(ValueError, match="expected a square matrix"):
        bandsolve.solve(sp.csr_array((3, 4)), np.ones(3))


def test_entries_that_are_there_twice_are_added():
    a = sp.coo_array(([1.0, 1.0, 3.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    assert np.allclose(bandsolve.solve(a, [2.0, 3.0]), 1)


def test_zeros_that_are_stored_do_not_widen_the_band():
    n = 100_000
    rows, columns = np.append(np.arange(n), [n - 1, 0]), np.append(np.arange(n), [0, n - 1])
    a = sp.csr_array((np.append(np.full(n, 2.0), [0, 0]), (rows, columns)), shape=(n, n))
    assert a.nnz == n + 2 and "diagonal" in bandsolve.solve(a, np.ones(n), full_output=True)[1].reason
    assert np.array_equal(bandsolve.solve(a, np.ones(n)), np.full(n, 0.5))
    with pytest.raises(ValueError, match="not finite"):
        bandsolve.solve(sp.coo_array(([1.0, np.nan, 1.0], ([0, 1, 2], [0, 0, 2])), shape=(3, 3)), np.ones(3))


def test_jax():
    rng = np.random.default_rng(3)
    dl, d, du = rng.random((3, 4, 50)).astype(np.float32)
    d = d + 2
    b = rng.random((4, 50, 3)).astype(np.float32)
    x = tridiagonal_solve(dl, d, du, b)
    for k in range(4):
        assert backward_error(dense(dl[k], d[k], du[k]), x[k], b[k]) <= 10 * eps(x)
    assert np.array_equal(tridiagonal_solve(dl, d, du, b=b), x)
    assert np.array_equal(tridiagonal_solve(b=b, d=d, du=du, dl=dl, perturb_singular=True), x)
    for wrong in (lambda: tridiagonal_solve(dl, d, du), lambda: tridiagonal_solve(dl), lambda: tridiagonal_solve(d=d, b=b),
                  lambda: tridiagonal_solve(dl, d, du, b, transpose_rhs=True)):
        with pytest.raises(TypeError, match="argument"):
            wrong()
    jax = pytest.importorskip("jax")
    theirs = np.asarray(jax.lax.linalg.tridiagonal_solve(dl, d, du, b))
    assert x.shape == theirs.shape and x.dtype == theirs.dtype
    assert np.allclose(x, theirs, rtol=0, atol=100 * eps(x))


def test_tensorflow():
    rng = np.random.default_rng(4)
    du, d, dl = rng.random((3, 2, 5, 30))
    d = d + 2
    rhs = rng.random((2, 5, 30, 3))
    expected = tridiagonal_solve(dl, d, du, rhs)
    compact = np.stack([du, d, dl], axis=-2)
    for diagonals, form in [
        (compact, "compact"),
        ((du, d, dl), "sequence"),
        ((du[..., :-1], d, dl[..., 1:]), "sequence"),
        (np.array([[dense(dl[i, j], d[i, j], du[i, j]) for j in range(5)] for i in range(2)]), "matrix"),
    ]:
        assert np.array_equal(tridiagonal_solve(diagonals, rhs, diagonals_format=form), expected)
        assert np.array_equal(tridiagonal_solve(diagonals, np.swapaxes(rhs, -1, -2), diagonals_format=form, transpose_rhs=True),
                              expected)
    assert np.allclose(tridiagonal_solve(compact, rhs[..., 0]), expected[..., 0], rtol=0, atol=1e-14)
    assert np.allclose(tridiagonal_solve(compact, rhs + 1j, conjugate_rhs=True), tridiagonal_solve(compact, rhs - 1j))
    swapped = np.swapaxes(rhs, -1, -2)
    assert np.array_equal(tridiagonal_solve((du, d, dl), swapped, "sequence", True, False, "x", True, False), expected)
    assert np.array_equal(tridiagonal_solve(rhs=rhs, diagonals=compact, name=None), expected)
    with pytest.raises(ValueError, match="partial_pivoting is False, expected True with perturb_singular=True"):
        tridiagonal_solve(compact, rhs, partial_pivoting=False, perturb_singular=True)
    tf = pytest.importorskip("tensorflow")
    for diagonals, b, keywords in [
        (compact, rhs, {}),
        (compact.astype(np.float32), rhs.astype(np.float32), {}),
        (compact, rhs[..., 0], {}),
        (compact, np.swapaxes(rhs, -1, -2).copy(), {"transpose_rhs": True}),
        (compact + 0.5j, rhs + 1j, {"conjugate_rhs": True}),
        ((du, d, dl), rhs, {"diagonals_format": "sequence"}),
        (compact, rhs, {"partial_pivoting": False}),
        (compact, rhs, {"name": "x"}),
    ]:
        theirs = tf.linalg.tridiagonal_solve(tf.nest.map_structure(tf.constant, diagonals), tf.constant(b), **keywords).numpy()
        x = tridiagonal_solve(diagonals, b, **keywords)
        assert x.shape == theirs.shape and x.dtype == theirs.dtype
        assert np.allclose(x, theirs, rtol=0, atol=100 * eps(x))


def test_singular_systems_are_perturbed():
    zeros, ones = np.zeros((2, 4)), np.ones((2, 4, 1))
    d = np.array([[1.0, 1, 1, 1], [1, 0, 1, 1]])
    with pytest.raises(np.linalg.LinAlgError):
        tridiagonal_solve(zeros, d, zeros, ones)
    x = tridiagonal_solve(zeros, d, zeros, ones, perturb_singular=True)
    assert np.isfinite(x).all() and np.array_equal(x[0], ones[0]) and x[1, 1, 0] > 1e15


@pytest.mark.parametrize("end", ["not-a-knot", "natural", "clamped", "periodic", ((1, 0.5), (2, -1.0)), ("natural", (1, 2.0))])
@pytest.mark.parametrize("n", [2, 3, 4, 5, 40])
@pytest.mark.parametrize("shape", [(), (3,), (2, 2)])
def test_splines_as_scipy(end, n, shape):
    rng = np.random.default_rng(n)
    x, y = np.cumsum(rng.random(n) + 0.1), rng.random((n,) + shape)
    if end == "periodic":
        y[-1] = y[0]
    given = end
    if not isinstance(end, str):
        # SciPy wants values of the shape of y.
        given = tuple(side if isinstance(side, str) else (side[0], np.full(shape, side[1])) for side in end)
    theirs, ours = scipy.interpolate.CubicSpline(x, y, bc_type=given), CubicSpline(x, y, bc_type=end)
    assert ours.c.shape == theirs.c.shape
    t = np.linspace(x[0] - 1, x[-1] + 1, 101).reshape(1, 101)
    for nu in range(5):
        assert np.allclose(ours(t, nu), theirs(t, nu), rtol=1e-9, atol=1e-9 * abs(theirs.c).max())
    assert np.allclose(ours(t, extrapolate=False), theirs(t, extrapolate=False), equal_nan=True)
    assert np.allclose(ours.integrate(x[0], x[-1]), theirs.integrate(x[0], x[-1]))
    assert np.allclose(ours.integrate(x[-1], x[0] + 0.05), theirs.integrate(x[-1], x[0] + 0.05))


def test_splines_along_an_axis():
    rng = np.random.default_rng(5)
    x, y = np.arange(10.0), rng.random((2, 10, 3)) + 1j
    theirs, ours = scipy.interpolate.CubicSpline(x, y, axis=1), CubicSpline(x, y, axis=1)
    t = rng.random((4, 5)) * 9
    assert ours(t).shape == (2, 4, 5, 3) and np.allclose(ours(t), theirs(t))
    for axis in (-2, 1, 4):
        assert CubicSpline(x, y, axis=axis).axis == scipy.interpolate.CubicSpline(x, y, axis=axis).axis == 1
    assert CubicSpline(x, x, axis=-2).axis == CubicSpline(x, x, axis=1).axis == 0


@pytest.mark.parametrize("end", ["not-a-knot", "periodic"])
@pytest.mark.parametrize("axis, shape, kind", [(0, (12,), float), (1, (2, 12, 3), float), (2, (3, 2, 12), complex)])
def test_splines_as_polynomials_of_scipy(end, axis, shape, kind):
    rng = np.random.default_rng(axis)
    x, y = np.cumsum(rng.random(12) + 0.1), random(rng, shape, kind)
    if end == "periodic":
        y.swapaxes(0, axis)[-1] = y.swapaxes(0, axis)[0]
    theirs, ours = (make(x, y, axis, end) for make in (scipy.interpolate.CubicSpline, CubicSpline))
    t = np.linspace(x[0] - 9, x[-1] + 9, 70).reshape(2, 35)
    for nu in (-1, 0, 1, 2, 5):
        for one, other in [(ours.derivative(nu), theirs.derivative(nu)), (ours.antiderivative(nu), theirs.antiderivative(nu))]:
            assert one.axis == other.axis and one.extrapolate == other.extrapolate and one(t).shape == other(t).shape
            assert np.allclose(one(t), other(t), rtol=1e-8, atol=1e-8 * abs(other.c).max(), equal_nan=True)
    for extrapolate in (None, True, False, "periodic"):
        for a, b in [(x[2], x[5]), (x[0], x[-1]), (x[0] - 3, x[4]), (x[3], x[-1] + 30), (x[-1] + 8, x[0] - 9), (x[-1] + 1, x[-1] + 2)]:
            one, other = ours.integrate(a, b, extrapolate), theirs.integrate(a, b, extrapolate=extrapolate)
            assert np.shape(one) == other.shape
            assert np.allclose(one, other, rtol=1e-8, atol=1e-8 * np.nan_to_num(abs(other)).max(), equal_nan=True)
        if kind is complex:
            with pytest.raises(ValueError, match="real-valued"):
                ours.roots(extrapolate=extrapolate)
            continue
        for one, other in [(ours.roots(True, extrapolate), theirs.roots(True, extrapolate)),
                           (ours.solve(0.1, False, extrapolate), theirs.solve(0.1, False, extrapolate))]:
            assert np.shape(one) == np.shape(other)
            for own, expected in zip(np.ravel(one), np.ravel(other)):
                assert np.allclose(own, expected, rtol=1e-6)


@pytest.mark.parametrize("kind", [float, complex])
@pytest.mark.parametrize("shape", [(), (3,)])
@pytest.mark.parametrize("equal", [False, True])
def test_splines_at_many_points(equal, shape, kind):
    rng = np.random.default_rng(len(shape))
    n = 300
    x = np.arange(n) * 0.25 - 7 if equal else np.cumsum(rng.uniform(0.01, 1, n))
    y = random(rng, (n, *shape), kind)
    theirs, ours = scipy.interpolate.CubicSpline(x, y), CubicSpline(x, y)
    # Beyond the knots, at the knots, and NaN. So many that threads share them.
    t = np.concatenate([rng.uniform(x[0] - 2, x[-1] + 2, 150_000), x, [np.nan]])
    for points in (t, np.sort(t), t[::-3], t.astype(np.float32)):
        for nu in range(5):
            for extrapolate in (True, False, "periodic"):
                expected = theirs(points, nu, extrapolate)
                scale = abs(theirs.c).max() * 4.0 ** (3 - min(nu, 3))
                assert np.allclose(ours(points, nu, extrapolate), expected, rtol=0, atol=1e-12 * scale, equal_nan=True)
    many = ours(t)
    bandsolve.set_num_threads(1)
    try:
        assert np.array_equal(ours(t), many, equal_nan=True)
    finally:
        bandsolve.set_num_threads(None)


def test_splines_at_points_of_other_types():
    x = np.arange(10.0)
    spline = CubicSpline(x, np.stack([x**2, x**3], axis=1))
    for t in (3, 3.0, np.float32(3), np.array(3), True + 2, [3], [[3, 3]], (3, 3.0), np.array([3, 3], ">f8"), [Fraction(3)], np.zeros((0, 2))):
        value = spline(t)
        assert isinstance(value, np.ndarray) and value.shape == (*np.shape(t), 2) and np.allclose(value, [9, 27])
    with pytest.raises(ValueError, match="could not convert"):
        spline(["a"])
    with pytest.raises(ValueError, match="masked"):
        spline(np.ma.masked_array([1.0, 2.0], [False, True]))
    spline.c = np.asfortranarray(spline.c)
    assert np.allclose(spline(3.0), [9, 27])
    spline.x = x[:5]
    with pytest.raises(ValueError, match=r"c has the shape \[4, 9, 2\], expected \(4, 4, ...\) for 5 knots"):
        spline(3.0)


@pytest.mark.filterwarnings("error")
def test_splines_at_infinity():
    x = np.arange(6.0)
    spline = CubicSpline(x, 3 * np.sin(x))
    first, last = np.sign(spline.c[0, [0, -1]]) * np.inf
    for nu, expected in enumerate([[-first, last], [first, last], [-first, last], 6 * spline.c[0, [0, -1]], [0, 0]]):
        assert np.array_equal(spline([-np.inf, np.inf], nu), expected)
    assert np.isnan(spline(np.nan, 3)) and np.isnan(spline([-np.inf, np.inf], extrapolate=False)).all()
    assert np.isnan(spline([-np.inf, np.inf], extrapolate="periodic")).all()


def test_splines_keep_their_knots():
    x = np.arange(5.0)
    spline = CubicSpline(x, x**2)
    x += 100
    assert np.isclose(spline(2.5), 6.25)


def test_splines_that_cannot_be():
    with pytest.raises(ValueError, match="increase"):
        CubicSpline([0, 1, 1], [0, 1, 2])
    with pytest.raises(ValueError, match="3 values along axis 0, expected 4"):
        CubicSpline([0, 1, 2, 3], [0, 1, 2])
    with pytest.raises(ValueError, match="expected to be equal"):
        CubicSpline([0, 1, 2], [0, 1, 2], bc_type="periodic")
    with pytest.raises(ValueError, match="'curly' is unknown"):
        CubicSpline([0, 1, 2], [0, 1, 2], bc_type="curly")
    with pytest.raises(ValueError, match="finite"):
        CubicSpline([0, 1, 2], [0, np.nan, 2])
    x = np.arange(5.0)
    for x_of, y, keywords, message in [
        (x + 1j, x, {}, "x is complex"),
        (x, 1.0, {}, "y has no axis"),
        (x, x, {"bc_type": (1, 0)}, r"bc_type has 1 for an end, expected a name or \(order, value\)"),
        (x, x, {"bc_type": (None, None)}, "bc_type has None for an end"),
        (x, x, {"bc_type": ((1, 0.0, 0.0), "natural")}, "bc_type has .* for an end"),
        (x, x, {"bc_type": ((1, np.nan), "natural")}, "bc_type has the value nan for an end, expected finite numbers"),
        (x, x, {"bc_type": ("natural", (2, -np.inf))}, "bc_type has the value -inf for an end, expected finite numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            CubicSpline(x_of, y, **keywords)
    spline = CubicSpline(x, x**2)
    with pytest.raises(ValueError, match="t is complex, expected real numbers"):
        spline([1.0 + 1j])
    assert spline(1.5, nu=1.0) == spline(1.5, nu=np.int64(1)) == spline(1.5, 1)
    for nu in (-1, 0.5):
        with pytest.raises(ValueError, match=f"nu is {nu}, expected 0, 1, 2"):
            spline(1.5, nu)


@pytest.mark.parametrize("order", [1, 2, 3, 5])
def test_smoothing_solves_its_equation(order):
    rng = np.random.default_rng(order)
    n, lam = 60, 37.5
    y, weights = rng.random((n, 3)), rng.random(n)
    d = np.diff(np.eye(n), order, axis=0)
    expected = np.linalg.solve(np.diag(weights) + lam * d.T @ d, weights[:, None] * y)
    assert np.allclose(whittaker(y, lam, order=order, weights=weights, axis=0), expected)
    assert np.allclose(whittaker(y.T, lam, order=order, weights=weights), expected.T)
    missing = weights.copy()
    missing[10:20] = 0
    gap = y.copy()
    gap[10:20] = 1e6
    assert np.allclose(whittaker(gap, lam, order=order, weights=missing, axis=0),
                       whittaker(y, lam, order=order, weights=missing, axis=0))


def test_smoothing_of_what_cannot_be_smoothed():
    with pytest.raises(ValueError, match="order is 9"):
        whittaker(np.ones(20), 1, order=9)
    with pytest.raises(ValueError, match="2 values along the axis, expected more than 2"):
        whittaker(np.ones(2), 1)
    with pytest.raises(ValueError, match="lam is -1"):
        whittaker(np.ones(20), -1)
    with pytest.raises(ValueError, match=r"weights has the shape \(3,\), expected \(20,\)"):
        whittaker(np.ones(20), 1, weights=np.ones(3))
    y, ones, gap = np.arange(20.0), np.ones(20), np.where(np.arange(20) == 3, np.nan, 1)
    for values, lam, weights, message in [
        (y, np.nan, None, "lam is nan"),
        (y, np.inf, None, "lam is inf"),
        (y, 1e308, None, "lam is 1e.308, with which the matrix is beyond the range"),
        (y.astype(np.float32), 1e308, None, "lam is 1e.308"),
        (y, 1, gap, r"weights\[3\] is nan, expected a finite number that is not negative"),
        (y, 1, ones * np.inf, r"weights\[0\] is inf, expected a finite number that is not negative"),
        (gap, 1, ones, "y or weights . y is not finite where a weight is positive"),
        (gap, 1, None, "y or weights . y is not finite where a weight is positive"),
        (y * 1e300, 1, ones * 1e300, "weights . y"),
    ]:
        with pytest.raises(ValueError, match=message):
            whittaker(values, lam, weights=weights)
    with pytest.raises(TypeError, match="weights is complex"):
        whittaker(y, 1, weights=ones + 1j)
    for order in (1, 2, 3, 5):
        weights = np.zeros(20)
        weights[: order - 1] = 1
        with pytest.raises(np.linalg.LinAlgError, match=f"{order - 1} weights are positive, expected at least {order}"):
            whittaker(y, 1, order=order, weights=weights)
        weights[-1] = 1
        assert np.allclose(whittaker(0 * y + 1, 1, order=order, weights=weights), 1)


def test_a_penalty_that_leaves_no_digit_is_an_error():
    for n, lam, order in ((400, 1e16, 2), (300, 1e17, 2), (200, 1e17, 1)):
        with pytest.raises(np.linalg.LinAlgError, match="too large for double precision|singular"):
            whittaker(np.ones(n), lam, order=order)
    # Weights of the size of the penalty.
    assert np.allclose(whittaker(np.ones(50), 1e16, weights=np.full(50, 1e16)), 1)



@pytest.mark.parametrize("kind, found", [(np.float16, np.float32), (np.float32, np.float32), (np.complex64, np.complex64)])
def test_smoothing_in_single_precision(kind, found):
    y = (np.arange(100) % 7 + np.arange(100)).astype(kind)
    double = y.astype(np.result_type(kind, float))
    for lam in (10.0, 129600.0, 1e7):
        z, expected = whittaker(y, lam), whittaker(double, lam)
        assert z.dtype == found and np.array_equal(z, expected.astype(found))
        for one, other in zip(hodrick_prescott(y, lam), hodrick_prescott(double, lam)):
            assert one.dtype == found and np.array_equal(one, other.astype(found))
    for lam in (1e30, 1e39):
        assert outcome(y, lam) == outcome(double, lam)


def outcome(y, lam):
    """What comes of smoothing: an error, or values in single precision."""
    try:
        return whittaker(y, lam).astype(np.complex64).tolist()
    except np.linalg.LinAlgError as error:
        return str(error)


def test_missing_values_may_be_nan():
    y, weights = np.random.default_rng(1).random((2, 30)), np.ones(30)
    weights[10:15] = 0
    gap = np.where(weights > 0, y, [[np.nan], [np.inf]])
    assert np.array_equal(whittaker(gap, 100.0, weights=weights), whittaker(y, 100.0, weights=weights))


def test_trends():
    t = np.arange(100.0)
    wave = np.sin(t)
    cycle, trend = hodrick_prescott(t + wave)
    assert np.allclose(cycle + trend, t + wave) and abs(trend - t).max() < 0.5


def test_gallery():
    names = bandsolve.gallery.names()
    assert len(names) > 40
    for name, description in names.items():
        assert description
        try:
            sub, diag, sup, periodic = bandsolve.gallery.tridiagonal(name, 50)
            assert len(diag) == 50 and len(sub) == len(sup) == (50 if periodic else 49)
            if not periodic:
                lower, upper, ab = bandsolve.gallery.bands(name, 50)
                assert (lower, upper, ab.shape) == (1, 1, (3, 50))
        except ValueError as error:
            assert "is not tridiagonal" in str(error)
            lower, upper, ab = bandsolve.gallery.bands(name, 50)
            assert ab.shape == (lower + upper + 1, 50)
    for call in (bandsolve.gallery.bands, bandsolve.gallery.tridiagonal):
        with pytest.raises(ValueError, match="n is -1, expected a whole number of at least 0"):
            call("klein-16", -1)
        with pytest.raises(ValueError, match="seed is -1, expected"):
            call("klein-16", 5, seed=-1)
    with pytest.raises(ValueError, match='name is "none", expected one of chang-1'):
        bandsolve.gallery.bands("none", 5)


def test_files(tmp_path):
    a = sp.diags_array([1.0, 4.0, 2.0], offsets=[-1, 0, 1], shape=(20, 20)).tocsr()
    rhs = np.ones(20)
    sp.save_npz(tmp_path / "a.npz", a)
    np.save(tmp_path / "a.npy", a.toarray())
    from scipy.io import mmwrite

    mmwrite(tmp_path / "a.mtx", a)
    for name in ("a.npy", "a.mtx"):
        (tmp_path / f"{name}.gz").write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    for name in ("a.npz", "a.npy", "a.npy.gz", "a.mtx", "a.mtx.gz"):
        assert np.allclose(a @ bandsolve.solve(bandsolve.io.read(tmp_path / name), rhs), rhs)
    with pytest.raises(ValueError, match="a.txt has an unknown ending, expected .mtx"):
        bandsolve.io.read("a.txt")
    (tmp_path / "b.npz").write_text("text")
    with pytest.raises(ValueError, match="b.npz: not a .npz archive"):
        bandsolve.io.read(tmp_path / "b.npz")
    with pytest.raises(FileNotFoundError):
        bandsolve.io.read(tmp_path / "c.npz")


def test_arrays_that_are_not_finite(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[1.0, np.nan], [0.0, 1.0]]))
    with pytest.raises(ValueError, match="a.npy contains NaN or infinity"):
        bandsolve.io.read(tmp_path / "a.npy")


def test_arrays_that_promise_more_than_memory(tmp_path, monkeypatch):
    # (Files that the compiled reader reads: test_borders.py, and the tests of the program.)
    np.save(tmp_path / "a.npy", np.eye(300))
    (tmp_path / "a.npy.gz").write_bytes(gzip.compress((tmp_path / "a.npy").read_bytes()))
    monkeypatch.setattr(bandsolve._bandsolve, "free_memory", lambda: 3000)
    for name in ("a.npy", "a.npy.gz"):
        with pytest.raises(MemoryError, match=f"{name} needs .* GiB of memory, but only .* GiB are free"):
            bandsolve.io.read(tmp_path / name)
    monkeypatch.undo()
    assert bandsolve._bandsolve.free_memory() > 2**20
