"""Solves inside JAX programs: `jit`, `vmap`, `grad`, `jvp` and higher derivatives. Import it by its own name; it needs the package `jax`.

XLA calls the solvers on the host: the tridiagonal solver directly, the others through Python. Derivatives follow from A x = b: with the tangents dA and
db, A dx = db - dA x; a cotangent of x is solved for with the transpose of A. Every solve is verified, also those of derivatives. A singular matrix, NaN
and infinities raise an exception of JAX with the message of `bandsolve`.
"""

from functools import partial

import numpy as np

import bandsolve
from bandsolve import _differentiable
from bandsolve._arguments import length_of
from bandsolve._differentiable import Factors
from bandsolve._optional import missing

try:
    import jax
    import jax.numpy as jnp
except ImportError as error:
    raise missing("jax", error) from error

__all__ = ["solve_banded", "solve_block_tridiagonal", "solve_poisson", "solve_tridiagonal"]


_TRIDIAGONAL = "bandsolve_solve_tridiagonal"


def _register(name, handler):
    """Register a compiled function with XLA. Return whether this version of JAX accepts it."""
    try:
        jax.ffi.register_ffi_target(name, handler, platform="cpu")
    except Exception:
        # Older versions of JAX have no `jax.ffi`. XLA raises an error for a version of its interface that it does not support.
        return False
    return True


_REGISTERED = _register(_TRIDIAGONAL, bandsolve._bandsolve.xla_solve_tridiagonal())


def _solved(matvec, host, matrix, b, direct=None):
    """Return x with matvec(x) == b. `host(transpose, *matrix, b)` solves with NumPy arrays that may have more axes in front.

    `direct(shape, transpose)` is a function of JAX that computes the same on the CPU without Python, if there is one.
    """

    def call(transpose, _, b):
        shape = jax.ShapeDtypeStruct(b.shape, b.dtype)
        # Arrays that are not mapped over get axes of length 1, so that the host sees which matrices are the same.
        through_python = partial(jax.pure_callback, partial(host, transpose), shape, vmap_method="expand_dims")
        if direct is None:
            return through_python(*matrix, b)
        return jax.lax.platform_dependent(*matrix, b, cpu=direct(shape, transpose), default=through_python)

    return jax.lax.custom_linear_solve(matvec, b, solve=partial(call, False), transpose_solve=partial(call, True))


def _on_host(solve, vector, transpose, *arrays):
    """Solve with NumPy arrays, by a function that takes right-hand sides as columns."""
    *matrix, b = map(np.asarray, arrays)
    x = solve(transpose, matrix, b[..., None] if vector else b)
    return x[..., 0] if vector else x


def _promoted(*arrays):
    """The arrays with the number type of the solve."""
    arrays = [jnp.asarray(array) for array in arrays]
    dtype = jnp.result_type(*arrays, jnp.float32)
    return [array.astype(dtype) for array in arrays]


def solve_tridiagonal(sub, diag, sup, rhs, *, periodic=False, padded=False):
    """Solve a tridiagonal system, open or periodic, with derivatives with respect to all arrays.

    Parameters
    ----------
    sub : (n - 1,) array_like, or number
        Entries below the diagonal, as for `bandsolve.solve_tridiagonal`; n entries with `periodic` or `padded`. A number is the entry of every row.
    diag : (n,) array_like, or number
        Entries on the diagonal.
    sup : (n - 1,) array_like, or number
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
    - `bandsolve.torch.solve_tridiagonal`: the same for PyTorch.

    Notes
    -----
    **Many systems.** With `jax.vmap`, one call solves all systems, as `bandsolve.solve_batch` does. It factors a matrix that is not mapped over once.

    **Calls.** On the CPU, XLA calls the solver directly. If the installed version of JAX has no `jax.ffi`, XLA calls the solver through Python, which
    takes about 0.1 ms more for each call. The solution is the same, bit for bit.

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
    n = length_of(diag, rhs)
    off = n if periodic or padded else max(n - 1, 0)
    sub, diag, sup = (jnp.broadcast_to(x, (length,)) if x.ndim == 0 else x for x, length in ((sub, off), (diag, n), (sup, off)))
    _checked("diag", diag, 1)
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

    def direct(shape, transpose):
        call = jax.ffi.ffi_call(_TRIDIAGONAL, shape, vmap_method="expand_dims")
        return partial(call, periodic=bool(periodic), transpose=transpose)

    host = partial(_differentiable.solve_tridiagonal, bool(periodic))
    return _solved(matvec, partial(_on_host, host, rhs.ndim == 1), (sub, diag, sup), rhs, direct if _REGISTERED else None)


def _checked(name, array, ndim):
    if array.ndim != ndim:
        raise ValueError(f"{name} has {array.ndim} dimensions, expected {ndim}")
    return array


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
    - `bandsolve.torch.solve_banded`: the same for PyTorch.

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

    def solve(transpose, matrix, b):
        return Factors(partial(bandsolve.factor_banded, (lower, upper)), matrix, (2,)).solve(b, transpose)

    return _solved(matvec, partial(_on_host, solve, b.ndim == 1), (ab,), b)


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
    - `bandsolve.torch.solve_block_tridiagonal`: the same for PyTorch.

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

    def solve(transpose, matrix, rhs):
        return Factors(bandsolve.factor_block_tridiagonal, matrix, (3, 3, 3), rows=2).solve(rhs, transpose)

    return _solved(matvec, partial(_on_host, solve, rhs.ndim == 2), (sub, diag, sup), rhs)


def solve_poisson(f, spacing=1.0, boundary="dirichlet", grid="node", shift=0.0, method="auto", mean=0.0, *, ndim=None, coordinates=None,
                  removable=0.1, threads=None):
    """Solve Poisson or Helmholtz problems (-Δ + shift) u = f on a box, with derivatives with respect to f and the values at the sides.

    Parameters
    ----------
    f : array_like
        The right-hand side, real: one axis for each axis of the box, and axes in front that count right-hand sides if you pass `ndim`.
    spacing : float or sequence of float, default 1.0
        Distance between neighbouring unknowns: one number for all axes, or one for each axis.
    boundary : str, pair, sequence or dict, default "dirichlet"
        Boundary conditions, as for `bandsolve.poisson.solve`. Axes of a value in front of those of the side broadcast with the axes of `f` that
        count right-hand sides. There are no derivatives with respect to alpha and beta of Robin sides.
    grid : str or sequence of str, default "node"
        ``"node"`` or ``"cell"``.
    shift : float, default 0.0
        The constant that multiplies u in the equation.
    method : str, default "auto"
        "auto", "fft", "gemm", "bcr2", "bcr4" or "pscr".
    mean : float, default 0.0
        Mean of u over the box for a singular problem.
    ndim : int, optional
        Number of axes of the box, the last axes of `f`. Default: all axes of `f`.
    coordinates : sequence, optional
        For each axis None, or increasing coordinates that replace the spacing.
    removable : float, default 0.1
        For a singular problem: how much the solver may subtract from f to make the problem solvable, relative to the largest entry of f with the
        values at the sides.
    threads : int, optional
        Number of threads. Default: the number that `bandsolve.get_num_threads` returns.

    Returns
    -------
    u : jax.Array, shape of f
        The solution.

    See Also
    --------
    - `bandsolve.poisson.solve`: the same for NumPy arrays, with a report. It explains the arguments.
    - `bandsolve.torch.solve_poisson`: the same for PyTorch.

    Notes
    -----
    **Derivatives.** There are none with respect to `spacing`, `shift` and `coordinates`. For a singular problem, derivatives are those of the solution
    after the solver has subtracted the mean of f.

    **Repeated solves.** The function keeps the solvers of the last four problems, and a compiled function keeps its solver.

    Examples
    --------
    The derivative of the temperature in the middle of a square plate with respect to the temperature of one of its four sides:

    >>> import jax, jax.numpy as jnp
    >>> from bandsolve.jax import solve_poisson
    >>> middle = lambda side: solve_poisson(jnp.ones((15, 15)), 1 / 16, {0: {"lower": ("dirichlet", side)}})[7, 7]
    >>> print(round(float(jax.grad(middle)(0.0)), 4))
    0.25
    """
    f = jnp.asarray(f)
    if f.dtype.kind == "c":
        raise TypeError(f"f has the type {f.dtype}, expected real numbers")
    f = f.astype(jnp.result_type(f, jnp.float32))
    shape = f.shape[f.ndim - _differentiable.box_axes(f.ndim, ndim) :]
    problem = _differentiable.PoissonProblem(shape, f.dtype, spacing, boundary, grid, shift, method, coordinates=coordinates,
                                             removable=removable, threads=threads)
    for axis, side, value in problem.sides:
        value = jnp.asarray(value, f.dtype)
        broadcast, index, factor = problem.place(axis, side, f.shape, value.shape)
        f = jnp.broadcast_to(f, broadcast).at[index].add(factor * value)
    u = _poisson(problem, shift)(f)
    return u + mean if problem.singular else u


def _poisson(problem, shift):
    """The function from f to u. Tangents need not balance the sides of a singular problem, but f must."""

    def matvec(u):
        y = shift * u
        for axis, line in enumerate(problem.lines, -len(problem.lines)):
            sub, diag, sup = (jnp.asarray(np.expand_dims(entries, tuple(range(1, -axis))), u.dtype) for entries in (line.sub, line.diag, line.sup))
            y += diag * u + sub * jnp.roll(u, 1, axis) + sup * jnp.roll(u, -1, axis)
        return y

    @jax.custom_jvp
    def solve(f):
        return _solved(matvec, lambda _, f: problem.solve(np.asarray(f)), (), f)

    @solve.defjvp
    def tangent(primals, tangents):
        return solve(*primals), _solved(matvec, lambda transpose, f: problem.solve_free(transpose, np.asarray(f)), (), *tangents)

    return solve
