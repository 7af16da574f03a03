"""Solves inside JAX programs: `jit`, `vmap`, `grad`, `jvp` and higher derivatives. Import it by its own name; it needs the package `jax`.

XLA calls the solvers on the host. Derivatives follow from A x = b: with the tangents dA and db, A dx = db - dA x; a cotangent of x is solved for with
the transpose of A. Every solve is verified, also those of derivatives. A singular matrix, NaN and infinities raise an exception of JAX with the message
of `bandsolve`.
"""

from functools import partial

import numpy as np

import bandsolve
from bandsolve._optional import missing

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise missing("jax", error) from error

__all__ = ["solve_banded", "solve_block_tridiagonal", "solve_tridiagonal"]


def _solved(matvec, host, matrix, b):
    """Return x with matvec(x) == b. `host(transpose, *matrix, b)` solves with NumPy arrays that may have more axes in front."""

    def call(transpose, _, b):
        shape = jax.ShapeDtypeStruct(b.shape, b.dtype)
        # Arrays that are not mapped over get axes of length 1, so that the host sees which matrices are the same.
        return jax.pure_callback(partial(host, transpose), shape, *matrix, b, vmap_method="expand_dims")

    return jax.lax.custom_linear_solve(matvec, b, solve=partial(call, False), transpose_solve=partial(call, True))


def _promoted(*arrays):
    """The arrays with the number type of the solve."""
    arrays = [jnp.asarray(array) for array in arrays]
    dtype = jnp.result_type(*arrays, jnp.float32)
    return [array.astype(dtype) for array in arrays]


def solve_tridiagonal(sub, diag, sup, rhs, *, periodic=False, padded=False):
    """Solve a tridiagonal system, open or periodic, with derivatives with respect to all arrays.

    Parameters
    ----------
    sub : (n - 1,) array_like
        Entries below the diagonal, as for `bandsolve.solve_tridiagonal`; n entries with `periodic` or `padded`.
    diag : (n,) array_like
        Entries on the diagonal.
    sup : (n - 1,) array_like
        Entries above the diagonal; n entries with `periodic` or `padded`.
    rhs : (n,) or (n, k) array_like
        One right-hand side, or k right-hand sides as columns.
    periodic : bool, default False
        Solve a periodic system.
    padded : bool, default False
        Pass `sub` and `sup` with n entries, indexed by row. The function ignores ``sub[0]`` and ``sup[n-1]``.

    Returns
    -------
    x : jax.Array, shape of rhs
        The solution.

    See Also
    --------
    - `bandsolve.solve_tridiagonal`: the same for NumPy arrays, with more options and a report.

    Notes
    -----
    With `jax.vmap`, many systems are solved by one call of `bandsolve.solve_batch`; a matrix that is not mapped over is factored once.

    Examples
    --------
    The derivative of sum(x) with respect to the diagonal:

    >>> import jax, numpy as np
    >>> from bandsolve.jax import solve_tridiagonal
    >>> total = lambda diag: solve_tridiagonal(np.ones(2), diag, np.ones(2), np.array([5.0, 6, 5])).sum()
    >>> print(np.round(np.array(jax.grad(total)(np.full(3, 4.0)), float), 3))
    [-0.214 -0.143 -0.214]
    """
    sub, diag, sup, rhs = _promoted(sub, diag, sup, rhs)
    n = _checked("diag", diag, 1).shape[0]
    bandsolve._bandsolve.check_off_diagonals((_checked("sub", sub, 1).shape[0], _checked("sup", sup, 1).shape[0]), n, bool(periodic),
                                             bool(padded), "Pass sub[1:] and sup[:-1].")
    if rhs.ndim not in (1, 2) or rhs.shape[0] != n:
        raise ValueError(f"rhs has the shape {rhs.shape}, expected ({n},) or ({n}, k)")
    if padded:
        sub, sup = sub[1:], sup[:-1]
    if not periodic:
        sub, sup = jnp.pad(sub, (min(n, 1), 0)), jnp.pad(sup, (0, min(n, 1)))
    by_rows = (lambda array: array[:, None]) if rhs.ndim == 2 else (lambda array: array)

    def matvec(x):
        return by_rows(diag) * x + by_rows(sub) * jnp.roll(x, 1, 0) + by_rows(sup) * jnp.roll(x, -1, 0)

    return _solved(matvec, partial(_tridiagonal_on_host, bool(periodic), rhs.ndim), (sub, diag, sup), rhs)


def _checked(name, array, ndim):
    if array.ndim != ndim:
        raise ValueError(f"{name} has {array.ndim} dimensions, expected {ndim}")
    return array


def _tridiagonal_on_host(periodic, ndim, transpose, sub, diag, sup, b):
    matrix, b = [np.asarray(array) for array in (sub, diag, sup)], np.asarray(b)
    n = matrix[1].shape[-1]
    batch = np.broadcast_shapes(*(array.shape[:-1] for array in matrix), b.shape[: b.ndim - ndim])
    rhs = np.broadcast_to(b, batch + b.shape[b.ndim - ndim :])
    options = dict(periodic=periodic, padded=not periodic, transpose=transpose)
    if all(array.size == n for array in matrix):
        matrix = [array.reshape(n) for array in matrix]
    elif ndim == 2:
        matrix = [array[..., None] for array in matrix]
    solve = bandsolve.solve_tridiagonal if rhs.ndim == 1 else partial(bandsolve.solve_batch, axis=-ndim)
    return np.ascontiguousarray(solve(*matrix, np.ascontiguousarray(rhs), **options), b.dtype)


def solve_banded(l_and_u, ab, b):
    """Solve ``a @ x = b`` for a banded matrix, with derivatives with respect to both arrays.

    Parameters
    ----------
    l_and_u : (int, int)
        Number of diagonals below and above the main diagonal.
    ab : (l + u + 1, n) array_like
        The diagonals as rows: ``ab[u + i - j, j] == a[i, j]``. Entries outside of the matrix are ignored, and their derivatives are 0.
    b : (n,) or (n, k) array_like
        One right-hand side, or k right-hand sides as columns.

    Returns
    -------
    x : jax.Array, shape of b
        The solution.

    See Also
    --------
    - `bandsolve.solve_banded`: the same for NumPy arrays.

    Examples
    --------
    >>> import jax, numpy as np
    >>> from bandsolve.jax import solve_banded
    >>> ab = np.array([[0.0, 1, 1], [4, 4, 4], [1, 1, 0]])
    >>> print(jax.jit(lambda b: solve_banded((1, 1), ab, b))(np.array([5.0, 6, 5])).round(3))
    [1. 1. 1.]
    """
    lower, upper = (int(width) for width in l_and_u)
    ab, b = _promoted(ab, b)
    n = _checked("ab", ab, 2).shape[1]
    if min(lower, upper) < 0 or ab.shape[0] != lower + upper + 1:
        raise ValueError(f"ab has the shape {ab.shape}, expected ({lower + upper + 1}, n): one row for each of the l + u + 1 diagonals")
    if b.ndim not in (1, 2) or b.shape[0] != n:
        raise ValueError(f"b has the shape {b.shape}, expected ({n},) or ({n}, k)")

    def matvec(x):
        # Row i takes ab[u - d, i + d] x[i + d] from diagonal d.
        y = jnp.zeros_like(x)
        for d in range(-min(lower, n - 1), min(upper, n - 1) + 1):
            product = (ab[upper - d][:, None] if x.ndim == 2 else ab[upper - d]) * x
            rows = slice(0, n - d) if d >= 0 else slice(-d, n)
            y = y.at[rows].add(product[d:] if d >= 0 else product[: n + d])
        return y

    return _solved(matvec, partial(_on_host, _banded_on_host(lower, upper), (2,), b.ndim), (ab,), b)


def _banded_on_host(lower, upper):
    def solve(transpose, ab, b):
        return bandsolve.factor_banded((lower, upper), ab).solve(b, transpose=transpose)

    return solve


def _on_host(solve, ndims, ndim, transpose, *arrays):
    """Solve one system after the other. `ndims` and `ndim` are the numbers of axes of the arrays of one matrix and of its right-hand side."""
    arrays, cores = [np.asarray(array) for array in arrays], (*ndims, ndim)
    batch = np.broadcast_shapes(*(array.shape[: array.ndim - core] for array, core in zip(arrays, cores)))
    arrays = [np.broadcast_to(array, batch + array.shape[array.ndim - core :]) for array, core in zip(arrays, cores)]
    x = np.empty(arrays[-1].shape, arrays[-1].dtype)
    for index in np.ndindex(batch):
        x[index] = solve(transpose, *(array[index] for array in arrays))
    return x


def solve_block_tridiagonal(sub, diag, sup, rhs):
    """Solve a block tridiagonal system, with derivatives with respect to all arrays.

    Parameters
    ----------
    sub : (n - 1, b, b) array_like
        Blocks below the diagonal.
    diag : (n, b, b) array_like
        Blocks on the diagonal.
    sup : (n - 1, b, b) array_like
        Blocks above the diagonal.
    rhs : (n, b) or (n, b, k) array_like
        One right-hand side, or k right-hand sides along the last axis.

    Returns
    -------
    x : jax.Array, shape of rhs
        The solution.

    See Also
    --------
    - `bandsolve.solve_block_tridiagonal`: the same for NumPy arrays.

    Examples
    --------
    >>> import jax, numpy as np
    >>> from bandsolve.jax import solve_block_tridiagonal
    >>> diag, off = np.array([4 * np.eye(2)] * 3), np.array([np.eye(2)] * 2)
    >>> print(solve_block_tridiagonal(off, diag, off, np.array([[5.0, 5], [6, 6], [5, 5]])).round(3))
    [[1. 1.]
     [1. 1.]
     [1. 1.]]
    """
    sub, diag, sup, rhs = _promoted(sub, diag, sup, rhs)
    n, b = _checked("diag", diag, 3).shape[:2]
    for name, array, count in (("diag", diag, n), ("sub", sub, max(n - 1, 0)), ("sup", sup, max(n - 1, 0))):
        if array.shape != (count, b, b):
            raise ValueError(f"{name} has the shape {array.shape}, expected ({count}, {b}, {b})")
    if rhs.ndim not in (2, 3) or rhs.shape[:2] != (n, b):
        raise ValueError(f"rhs has the shape {rhs.shape}, expected ({n}, {b}) or ({n}, {b}, k)")

    def matvec(x):
        product = partial(jnp.einsum, "iab,ib...->ia...")
        return product(diag, x).at[1:].add(product(sub, x[:-1])).at[:-1].add(product(sup, x[1:]))

    def solve(transpose, sub, diag, sup, rhs):
        return bandsolve.solve_block_tridiagonal(sub, diag, sup, rhs, transpose=transpose)

    return _solved(matvec, partial(_on_host, solve, (3, 3, 3), rhs.ndim), (sub, diag, sup), rhs)
