"""Banded systems, as `scipy.linalg` has them."""

import math
import operator

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import as_array
from bandsolve._batch import solve_batch


def _validated(array, check_finite):
    array = as_array(array)
    if array.dtype == object:
        raise ValueError("object arrays are not supported")
    if check_finite and array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise ValueError("array must not contain infs or NaNs")
    return array


def _arguments(ab, b, check_finite):
    """The arrays of a call, whose shapes fit one another."""
    ab, b = _validated(ab, check_finite), _validated(b, check_finite)
    rows = b.ndim - (2 if b.ndim >= 2 else 1)
    if ab.ndim < 2 or b.ndim < 1 or ab.shape[-1] != b.shape[rows]:
        raise ValueError("shapes of ab and b are not compatible.")
    return ab, b


def _widths(l_and_u):
    lower, upper = (operator.index(width) for width in l_and_u)
    if min(lower, upper) < 0 or max(lower, upper) >= 1 << 63:
        raise ValueError(f"l and u are {lower} and {upper}, expected numbers that are not negative, below 2**63")
    return lower, upper


def _result_type(*arrays):
    """The type in which a system is solved: single precision where no array is of a larger type, or of integers."""
    single = all(array.dtype.newbyteorder("=") in (np.float16, np.float32, np.complex64) for array in arrays)
    if any(array.dtype.kind == "c" for array in arrays):
        return np.dtype(np.complex64 if single else np.complex128)
    return np.dtype(np.float32 if single else np.float64)


def _diagonals(ab, lower, upper):
    """sub, diag, sup of a matrix with at most one diagonal on either side."""
    n = ab.shape[-1]
    zeros = np.zeros(ab.shape[:-2] + (max(n - 1, 0),), ab.dtype)
    sup = ab[..., 0, 1:] if upper else zeros
    sub = ab[..., upper + 1, : max(n - 1, 0)] if lower else zeros
    return sub, ab[..., upper, :], sup


def _solve(lower, upper, ab, b, verify):
    """Solves one system, or if the arrays have more dimensions than it needs, as many."""
    if b.size == 0 and ab.ndim == 2 and b.ndim <= 2:
        return np.empty_like(b, dtype=_result_type(ab, b))
    if ab.ndim > 2 or b.ndim > 2:
        return _solve_all(lower, upper, ab, b, verify)
    if max(lower, upper) <= 1:
        return _bandsolve.solve_tridiagonal(*_diagonals(ab, lower, upper), b, verify=verify)
    return _bandsolve.solve_banded(lower, upper, ab, b, verify=verify)


def _solve_all(lower, upper, ab, b, verify):
    core = 2 if b.ndim >= 2 else 1
    batch = np.broadcast_shapes(ab.shape[:-2], b.shape[:-core])
    if math.prod(batch) == 0:
        raise ValueError("`solve_banded` does not support zero-size batches.")
    shape = batch + b.shape[b.ndim - core:]
    if max(lower, upper) <= 1 and verify and ab.ndim > 2:
        if core == 1:
            ab = np.broadcast_to(ab, batch + ab.shape[-2:])
            return solve_batch(*_diagonals(ab, lower, upper), np.broadcast_to(b, shape))
    ab, b = np.broadcast_to(ab, batch + ab.shape[-2:]), np.broadcast_to(b, shape)
    x = np.empty(shape, _result_type(ab, b))
    for index in np.ndindex(batch):
        x[index] = _solve(lower, upper, ab[index], b[index], verify)
    return x


def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True):
    """Solve ``a @ x = b`` for a banded matrix, in place of `scipy.linalg.solve_banded`.

    Parameters
    ----------
    l_and_u : tuple of two int
        Diagonals below and above the main one.
    ab : (..., l + u + 1, n) array_like
        The diagonals as rows: ``ab[u + i - j, j] == a[i, j]``. Leading dimensions, if there are any, are those of a batch.
    b : (..., n) or (..., n, k) array_like
        Right-hand sides.
    overwrite_ab, overwrite_b : bool
        For compatibility: nothing is overwritten.
    check_finite : bool
        Whether numbers that are not finite are looked for. If not, x is not verified either.

    Returns
    -------
    x : ndarray
        The solution, of the shape of `b`.

    Raises
    ------
    ValueError
        Shapes do not fit, or a number is not finite.
    numpy.linalg.LinAlgError
        The matrix is singular.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> ab = np.array([[0.0, 1, 1, 1], [4, 4, 4, 4], [1, 1, 1, 0]])
    >>> bandsolve.solve_banded((1, 1), ab, [5.0, 6, 6, 5])
    array([1., 1., 1., 1.])
    """
    lower, upper = _widths(l_and_u)
    ab, b = _arguments(ab, b, check_finite)
    if lower + upper + 1 != ab.shape[-2]:
        raise ValueError(f"invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) "
                         f"does not equal ab.shape[0] ({ab.shape[-2]})")
    return _solve(lower, upper, ab, b, bool(check_finite))


def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    """Solve ``a @ x = b`` for a positive definite banded matrix, in place of `scipy.linalg.solveh_banded`.

    `solve_banded` solves systems of matrices that are not positive definite.

    Parameters
    ----------
    ab : (..., u + 1, n) array_like
        The diagonals as rows: ``ab[u + i - j, j] == a[i, j]`` for i <= j, or if `lower` ``ab[i - j, j] == a[i, j]`` for i >= j.
    b : (..., n) or (..., n, k) array_like
        Right-hand sides.
    overwrite_ab, overwrite_b : bool
        For compatibility: nothing is overwritten.
    lower : bool
        Whether `ab` holds the diagonals below the main one.
    check_finite : bool
        Whether numbers that are not finite are looked for. If not, x is not verified either.

    Returns
    -------
    x : ndarray
        The solution, of the shape of `b`.

    Raises
    ------
    ValueError
        Shapes do not fit, or a number is not finite.
    numpy.linalg.LinAlgError
        The matrix is not positive definite.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> bandsolve.solveh_banded(np.array([[0.0, 1, 1], [4, 4, 4]]), [5.0, 6, 5])
    array([1., 1., 1.])
    """
    # Whether the matrix is finite is seen on the way.
    ab, b = _arguments(_validated(ab, False), _validated(b, check_finite), False)
    # Small integers are solved in single precision, other than by `solve_banded`.
    kind = np.result_type(ab.dtype, b.dtype, np.float32)
    ab, b, lower = ab.astype(kind, copy=False), b.astype(kind, copy=False), bool(lower)
    if ab.shape[-2] == 0:
        raise ValueError("ab has no diagonal")
    if ab.ndim == 2 and b.ndim <= 2:
        return _solveh(ab, b, lower, check_finite)
    core = 2 if b.ndim >= 2 else 1
    batch = np.broadcast_shapes(ab.shape[:-2], b.shape[:-core])
    if math.prod(batch) == 0:
        raise ValueError("`solveh_banded` does not support zero-size batches.")
    ab, b = np.broadcast_to(ab, batch + ab.shape[-2:]), np.broadcast_to(b, batch + b.shape[b.ndim - core:])
    x = np.empty(b.shape, kind)
    for index in np.ndindex(batch):
        x[index] = _solveh(ab[index], b[index], lower, check_finite)
    return x


def _solveh(ab, b, lower, verify):
    """Solves one system."""
    return _bandsolve.solveh_banded(ab, b, lower, bool(verify)) if b.size else np.empty_like(b)


def factor_banded(l_and_u, ab, *, method="auto", pivoting="scaled-partial", verify=True, threads=None, device="cpu"):
    """Factor a banded matrix, to solve with it again and again.

    Parameters
    ----------
    l_and_u, ab
        As for `solve_banded`, one matrix.
    method, pivoting, verify, threads, device
        As for `factor_tridiagonal`. GPUs factor at most 4 diagonals on either side.

    Returns
    -------
    Factor

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> lu = bandsolve.factor_banded((1, 1), np.array([[0.0, 1, 1], [4, 4, 4], [1, 1, 0]]))
    >>> lu.solve(np.array([5.0, 6, 5]))
    array([1., 1., 1.])
    """
    lower, upper = _widths(l_and_u)
    return _bandsolve.factor_banded(lower, upper, ab, method=method, pivoting=pivoting, verify=verify, threads=threads,
                                    device=device)
