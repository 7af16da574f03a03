"""Numbers instead of arrays for constant diagonals."""

import numpy as np
import pytest
from conftest import DTYPES

import bandsolve

N = 7


def arrays(values, n, full):
    return [np.full(n if full or k == 1 else n - 1, value) for k, value in enumerate(values)]


@pytest.mark.parametrize("options", [{}, {"periodic": True}, {"padded": True}], ids=str)
@pytest.mark.parametrize("rhs", [np.arange(1.0, N + 1), np.ones((N, 3))], ids=["vector", "columns"])
def test_one_system(options, rhs):
    sub, diag, sup = arrays((-1.0, 2.5, -0.5), N, bool(options))
    expected = bandsolve.solve_tridiagonal(sub, diag, sup, rhs, **options)
    for given in [(-1, 2.5, -0.5), (-1.0, diag, -0.5), (sub, 2.5, sup), (np.array(-1.0), np.float64(2.5), sup)]:
        assert np.array_equal(bandsolve.solve_tridiagonal(*given, rhs, **options), expected)
    for given in [(-1, diag, -0.5), (sub, diag, -0.5)]:
        assert np.array_equal(bandsolve.factor_tridiagonal(*given, **options).solve(rhs), bandsolve.factor_tridiagonal(sub, diag, sup, **options).solve(rhs))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("options", [{}, {"periodic": True}, {"padded": True}], ids=str)
def test_batches(axis, options):
    rhs = np.random.default_rng(1).random((4, 5, 6))
    n = rhs.shape[axis]
    sub, diag, sup = arrays((-1.0, 2.5, -0.5), n, bool(options))
    expected = bandsolve.solve_batch(sub, diag, sup, rhs, axis=axis, **options)
    assert np.array_equal(bandsolve.solve_batch(-1, 2.5, -0.5, rhs, axis=axis, **options), expected)
    assert np.array_equal(bandsolve.solve_batch(sub, 2.5, -0.5, rhs, axis=axis, **options), expected)
    for given in [(-1, 2.5, -0.5), (-1, diag, -0.5)]:
        lu = bandsolve.factor_batch(*given, axis=axis, **options)
        assert np.array_equal(lu.solve(rhs), expected) and "BatchFactor(shapes" in repr(lu)
    # A matrix for each system, with constant off-diagonals.
    many = 2.5 + rhs
    expected = bandsolve.solve_batch(sub, many, sup, rhs, axis=axis, **options)
    assert np.array_equal(bandsolve.solve_batch(-1, many, -0.5, rhs, axis=axis, **options), expected)
    assert np.array_equal(bandsolve.factor_batch(-1, many, -0.5, axis=axis, **options).solve(rhs), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_python_keep_the_precision(dtype):
    rhs = np.ones((N, 2), dtype)
    assert bandsolve.solve_tridiagonal(-1, 2.5, -1.0, rhs).dtype == dtype
    assert bandsolve.factor_tridiagonal(-1, np.full(N, 2.5, dtype), -1.0).dtype == dtype
    assert bandsolve.solve_batch(-1, 2.5, -1.0, rhs, axis=0).dtype == dtype
    assert bandsolve.factor_batch(-1, 2.5, -1.0, axis=0).solve(rhs).dtype == dtype
    assert bandsolve.solve_tridiagonal(-1, 2.5 + 1j, -1.0, rhs).dtype == np.result_type(dtype, np.complex64)
    assert bandsolve.solve_tridiagonal(np.float64(-1), 2.5, -1.0, rhs).dtype == np.result_type(dtype, float)


def test_errors_and_small_systems():
    for n in (0, 1, 2):
        assert np.allclose(bandsolve.solve_tridiagonal(-1, 4, -1, np.ones(n)), np.ones(n) / (5 - max(n, 1) if n else 1))
        assert bandsolve.solve_batch(-1, 4, -1, np.ones((n, 3)), axis=0).shape == (n, 3)
    with pytest.raises(ValueError, match=r"diag is a single number, expected an array with n entries for diag: .*Pass np.full\(n, diag\)"):
        bandsolve.factor_tridiagonal(-1, 4.0, -1)
    with pytest.raises(ValueError, match="expected an array with n entries for diag or rhs"):
        bandsolve.solve_tridiagonal(-1, 4.0, -1, 3.0)
    with pytest.raises(ValueError, match="sub has length 9, expected 6"):
        bandsolve.solve_tridiagonal(np.ones(9), 4.0, -1, np.ones(7))
    for value in (np.nan, np.inf):
        for solve in (bandsolve.solve_tridiagonal, bandsolve.solve_batch):
            for k in range(3):
                given = [-1.0, 4.0, -1.0]
                given[k] = value
                with pytest.raises(ValueError, match="is not finite"):
                    solve(*given, np.ones(5))
    with pytest.raises(TypeError):
        bandsolve.solve_tridiagonal("a", 4.0, -1, np.ones(7))
    with pytest.raises(TypeError):
        bandsolve.solve_tridiagonal(None, 4.0, -1, np.ones(7))


def test_numbers_in_jax_and_their_derivatives():
    jax = pytest.importorskip("jax")
    from bandsolve.jax import solve_tridiagonal

    rhs = np.arange(1.0, N + 1)
    expected = bandsolve.solve_tridiagonal(-1, 2.5, -1, rhs)
    assert np.allclose(jax.jit(solve_tridiagonal)(-1, 2.5, -1, rhs), expected, rtol=1e-5)
    by_number = jax.grad(lambda d: solve_tridiagonal(-1.0, d, -1.0, rhs).sum())(2.5)
    by_array = jax.grad(lambda d: solve_tridiagonal(-1.0, d, -1.0, rhs).sum())(np.full(N, 2.5, np.float32))
    assert np.allclose(by_number, by_array.sum(), rtol=1e-5)


def test_numbers_in_torch_and_their_derivatives():
    torch = pytest.importorskip("torch")
    from bandsolve.torch import solve_tridiagonal

    rhs = torch.arange(1.0, N + 1, dtype=torch.float64)
    x = solve_tridiagonal(-0.1, 2.5, -0.1, rhs)
    assert x.dtype == torch.float64 and np.allclose(x, bandsolve.solve_tridiagonal(-0.1, 2.5, -0.1, rhs.numpy()), rtol=1e-14)
    assert solve_tridiagonal(-1, 2.5, -1, rhs.float()).dtype == torch.float32
    number, array = torch.tensor(2.5, dtype=torch.float64, requires_grad=True), torch.full((N,), 2.5, dtype=torch.float64, requires_grad=True)
    solve_tridiagonal(-1, number, -1, rhs).sum().backward()
    solve_tridiagonal(-1, array, -1, rhs).sum().backward()
    assert torch.allclose(number.grad, array.grad.sum())
    with pytest.raises(ValueError, match="diag is a single number, and rhs has 2 dimensions"):
        solve_tridiagonal(-1, 2.5, -1, rhs[:, None])
