"""SciPy's own tests of `eigh_tridiagonal`, with ours in place of it; and beside it."""

import inspect

import numpy as np
import pytest
import scipy.linalg
import scipy.linalg.tests.test_decomp as theirs

from bandsolve.eigen import eigh_tridiagonal


@pytest.fixture(autouse=True)
def ours(monkeypatch):
    monkeypatch.setattr(theirs, "eigh_tridiagonal", eigh_tridiagonal)
    # eigvalsh_tridiagonal calls it.
    monkeypatch.setattr(scipy.linalg._decomp, "eigh_tridiagonal", eigh_tridiagonal)


class TestEigTridiagonal(theirs.TestEigTridiagonal):
    def test_ours_is_meant(self):
        assert theirs.eigh_tridiagonal is eigh_tridiagonal


def test_signature_is_that_of_scipy():
    parameters = [
        (parameter.name, parameter.default)
        for function in (eigh_tridiagonal, scipy.linalg.eigh_tridiagonal)
        for parameter in inspect.signature(function).parameters.values()
    ]
    assert parameters[:8] == parameters[8:]


def matrices():
    rng = np.random.default_rng(3)
    wilkinson = abs(np.arange(-10.0, 11.0)), np.ones(20)
    glue = np.full(11, 1e-12)
    yield "random", rng.standard_normal(200), rng.standard_normal(199)
    yield "wilkinson", *wilkinson
    yield "glued", np.tile(wilkinson[0], 12), np.insert(np.tile(wilkinson[1], 12), np.arange(20, 240, 20), glue)
    yield "identity", np.ones(30), np.zeros(29)
    yield "zeros", np.zeros(30), np.zeros(29)
    yield "two", np.array([1.0, 2.0]), np.array([3.0])
    yield "one", np.array([4.0]), np.array([])


@pytest.mark.parametrize("name, d, e", list(matrices()), ids=lambda value: value if isinstance(value, str) else "")
def test_beside_scipy(name, d, e):
    n = d.size
    w, v = eigh_tridiagonal(d, e)
    norm = abs(d).max() + 2 * abs(e).max(initial=0)
    rounding = n * np.finfo(float).eps
    assert abs(w - scipy.linalg.eigh_tridiagonal(d, e, eigvals_only=True)).max() <= rounding * norm
    assert abs(v.T @ v - np.eye(n)).max() <= 4 * rounding
    a = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    assert abs(a @ v - v * w).max() <= 4 * rounding * norm
    if n > 3:
        part, vectors = eigh_tridiagonal(d, e, select="i", select_range=(1, 3))
        assert abs(part - w[1:4]).max() <= rounding * norm and vectors.shape == (n, 3)


def test_types_and_batches():
    rng = np.random.default_rng(4)
    d, e = rng.standard_normal((2, 3, 8)), rng.standard_normal((3, 7))
    for dtype in (np.float32, np.float64):
        w, v = eigh_tridiagonal(d.astype(dtype), e.astype(dtype))
        assert w.dtype == v.dtype == dtype and w.shape == (2, 3, 8) and v.shape == (2, 3, 8, 8)
        one = eigh_tridiagonal(d[1, 2].astype(dtype), e[2].astype(dtype), eigvals_only=True)
        assert np.array_equal(w[1, 2], one)
    assert eigh_tridiagonal([2, 2], [1], eigvals_only=True).dtype == np.float64


def test_what_is_not_finite_is_refused():
    for check_finite in (True, False):
        with pytest.raises(ValueError):
            eigh_tridiagonal([1.0, np.nan], [1.0], check_finite=check_finite)


def test_intervals_are_half_open():
    # 1 and 3, exactly.
    for dtype in (np.float32, np.float64):
        d, e = np.full(2, 2, dtype), np.full(1, -1, dtype)
        for ends, expected in (((1, 3), [3.0]), ((0, 1), [1.0]), ((1, 2), []), ((0, 3), [1.0, 3.0])):
            w = eigh_tridiagonal(d, e, eigvals_only=True, select="v", select_range=ends)
            assert w.dtype == dtype and w.tolist() == expected, ends
            assert eigh_tridiagonal(d, e, select="v", select_range=ends)[0].tolist() == expected
    # Single precision rounds 0.1 up, out of the interval.
    w = eigh_tridiagonal(np.array([0.1, 5], np.float32), np.zeros(1, np.float32), True, "v", (0, float(np.float32(0.1))))
    assert w.tolist() == [float(np.float32(0.1))]
