"""Banded systems: drop-in replacements for functions of `scipy.linalg`."""

import math
from functools import partial

import numpy as np

from bandsolve import _bandsolve
from bandsolve._arguments import band_widths, check_on_host, result_type
from bandsolve._bandsolve import any_on_gpu, as_array
from bandsolve._banded_batch import is_narrow, solve_banded_batch, solveh_banded_batch
from bandsolve._batch import solve_batch
from bandsolve._labels import keeps_labels_of


#: Up to this number of right-hand sides per system, a batch is solved for one after the other. Above, each matrix is factored once, one after the
#: other.
COLUMNS_ONE_BY_ONE = 4


def _validated(array, check_finite):
    array = as_array(array)
    if array.dtype == object:
        raise ValueError("object arrays are not supported")
    if check_finite and array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise ValueError("array must not contain infs or NaNs")
    return array


def _arguments(ab, b, check_finite):
    """Return both arrays, with shapes that fit together."""
    ab, b = _validated(ab, check_finite), _validated(b, check_finite)
    rows = b.ndim - (2 if b.ndim >= 2 else 1)
    if ab.ndim < 2 or b.ndim < 1 or ab.shape[-1] != b.shape[rows]:
        raise ValueError("shapes of ab and b are not compatible.")
    return ab, b


def _check_open(periodic):
    """Bands on a GPU are open."""
    if periodic:
        raise ValueError("periodic is True, expected False: a device solves open bands only")


def _diagonals(ab, lower, upper, periodic):
    """Return sub, diag and sup of a matrix with at most one diagonal on each side."""
    n = ab.shape[-1]
    beside = n if periodic else max(n - 1, 0)
    zeros = np.zeros(ab.shape[:-2] + (beside,), ab.dtype)
    sub, sup = ab[..., -1, :] if lower else zeros, ab[..., 0, :] if upper else zeros
    if periodic:
        # Entry j of a row of `ab` is in column j, entry i of sub and sup in row i.
        return np.roll(sub, 1, axis=-1), ab[..., upper, :], np.roll(sup, -1, axis=-1)
    return sub[..., :beside], ab[..., upper, :], sup[..., 1:] if upper else sup


def _solve(kind, ab, b, verify, overwrite_b=False):
    """Solve one system, or a batch if the arrays have leading dimensions. `kind` is l, u, and whether the matrix is periodic."""
    lower, upper, periodic = kind
    if b.size == 0 and ab.ndim == 2 and b.ndim <= 2:
        return np.empty_like(b, dtype=result_type(ab, b))
    if ab.ndim > 2 or b.ndim > 2:
        return _solve_all(kind, ab, b, verify)
    if max(lower, upper) <= 1:
        return _bandsolve.solve_tridiagonal(*_diagonals(ab, *kind), b, periodic=periodic, verify=verify, overwrite_rhs=overwrite_b)
    return _bandsolve.solve_banded(lower, upper, ab, b, periodic=periodic, verify=verify)


def _solve_all(kind, ab, b, verify):
    """Solve a batch. `ab` has the shape (..., l + u + 1, n), and `b` (n,) or (..., n, k)."""
    core = 2 if b.ndim >= 2 else 1
    batch = np.broadcast_shapes(ab.shape[:-2], b.shape[:-core])
    if math.prod(batch) == 0:
        raise ValueError("`solve_banded` does not support zero-size batches.")
    shape = batch + b.shape[b.ndim - core:]
    if math.prod(ab.shape[:-2]) == 1 and core == 2:
        # One matrix: all right-hand sides are columns.
        columns = np.moveaxis(np.broadcast_to(b, shape), -2, 0)
        x = _solve(kind, ab.reshape(ab.shape[-2:]), columns.reshape(len(columns), -1), verify)
        return np.moveaxis(x.reshape(columns.shape), 0, -2)
    ab, b = np.broadcast_to(ab, batch + ab.shape[-2:]), np.broadcast_to(b, shape)
    if verify and is_narrow(*kind):
        if core == 1:
            return _solve_systems(kind, ab, b)
        if b.shape[-1] == 1:
            return _solve_systems(kind, ab, b[..., 0])[..., None]
        if b.shape[-1] <= COLUMNS_ONE_BY_ONE:
            return np.stack([_solve_systems(kind, ab, b[..., k]) for k in range(b.shape[-1])], axis=-1)
    x = np.empty(shape, result_type(ab, b))
    for index in np.ndindex(batch):
        x[index] = _solve(kind, ab[index], b[index], verify)
    return x


def _solve_systems(kind, ab, b):
    """Solve systems with a matrix and a right-hand side each: (..., l + u + 1, n) and (..., n)."""
    lower, upper, periodic = kind
    if max(lower, upper) <= 1:
        return solve_batch(*_diagonals(ab, *kind), b, periodic=periodic)
    return solve_banded_batch((lower, upper), ab, b, periodic=periodic)


@keeps_labels_of("b")
def solve_banded(l_and_u, ab, b, overwrite_ab=False, overwrite_b=False, check_finite=True, *, periodic=False):
    """Solve ``a @ x = b`` for a banded matrix: a drop-in replacement for `scipy.linalg.solve_banded`.

    Parameters
    ----------
    l_and_u : (int, int)
        Number of diagonals below and above the main diagonal.
    ab : (..., l + u + 1, n) array_like
        The diagonals as rows: ``ab[u + i - j, j] == a[i, j]``. Leading dimensions count the matrices of a batch.
    b : (n,) or (..., n, k) array_like
        One right-hand side, or k right-hand sides as columns. The leading dimensions of `ab` and `b` broadcast.
    overwrite_ab : bool, default False
        For compatibility with SciPy. The function overwrites nothing.
    overwrite_b : bool, default False
        Write x to `b` if `b` is an array of the type and in the memory order of x, and l ≤ 1 and u ≤ 1. Else x is a new array.
    check_finite : bool, default True
        Raise a `ValueError` for NaN and infinities, and verify x. With False, the function does neither, but raises a `ValueError` for them in the
        `ab` of a periodic matrix with l or u above 1.
    periodic : bool, default False
        Solve with a periodic matrix, whose first and last unknowns are neighbors: all entries of `ab` count, and ``ab[r, j]`` is in row
        (j + r - u) mod n. SciPy does not have this option.

    Returns
    -------
    x : (..., n) or (..., n, k) ndarray
        The solution: the shape of `b`, with the leading dimensions of the batch. It has single precision if both arrays
        have at most single precision, else double precision.

    Raises
    ------
    ValueError
        The shapes do not fit together, or an entry is NaN or infinite.
    numpy.linalg.LinAlgError
        The matrix is singular, or no method reached a backward error of 64 ε. ε is 2.2e-16 in double precision, 1.2e-7 in single precision.
    MemoryError
        The memory is not sufficient.

    See Also
    --------
    - `bandsolve.solve_tridiagonal`: the same for three diagonals as separate arrays, with more options.
    - `bandsolve.solve`: take a matrix of `scipy.sparse` or a dense array.
    - `bandsolve.factor_banded`: factor a matrix once, solve many times.
    - `bandsolve.solveh_banded`: solve with a positive definite matrix.
    - `bandsolve.solve_banded_batch`: solve many systems, along any axis of `b`.

    Notes
    -----
    **Storage.** Column j of `ab` holds column j of the matrix. With l = u = 1 and n = 4, and ``*`` for unused entries:

    ```text
    matrix                    ab
    d0  u0                    ab[0] =  *   u0  u1  u2
    l0  d1  u1                ab[1] =  d0  d1  d2  d3
        l1  d2  u2            ab[2] =  l0  l1  l2  *
            l2  d3
    ```

    **Cost.** Time and memory are proportional to n. The function solves matrices with l ≤ 1 and u ≤ 1 as tridiagonal systems.

    **Periodic matrices** with more diagonals are solved as bands with 2 max(l, u) diagonals on each side, in the order 0, n - 1, 1, n - 2, … of the
    unknowns. If n ≤ l + u, entries of `ab` in the same row and column are added.

    **Batches.** If l ≤ 15 and u ≤ 15 (7 for periodic matrices), and each system has at most 4 right-hand sides, all systems are solved at once, as by `bandsolve.solve_batch` and
    `bandsolve.solve_banded_batch`. These functions take other memory orders without copies. If there is one matrix, it is factored once, and copies of
    all right-hand sides are its columns. In all other cases, the function solves one system after the other.

    **Accuracy and threads.** The backward error of x is at most 8 ε, or at most 64 ε after a fallback; see `bandsolve.solve_tridiagonal`. x is
    the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> ab = np.array([[0.0, 1, 1, 1], [4, 4, 4, 4], [1, 1, 1, 0]])
    >>> print(np.round(bandsolve.solve_banded((1, 1), ab, [5.0, 6, 6, 5]), 9))
    [1. 1. 1. 1.]

    A batch of two matrices:

    >>> x = bandsolve.solve_banded((1, 1), np.stack([ab, 2 * ab]), [5.0, 6, 6, 5])
    >>> print(np.round(x, 9))
    [[1.  1.  1.  1. ]
     [0.5 0.5 0.5 0.5]]

    A fourth derivative on a ring:

    >>> ab = np.repeat([[1.0], [-4], [7], [-4], [1]], 8, axis=1)
    >>> print(np.round(bandsolve.solve_banded((2, 2), ab, np.ones(8), periodic=True), 9))
    [1. 1. 1. 1. 1. 1. 1. 1.]
    """
    lower, upper = band_widths(l_and_u)
    if any_on_gpu(ab, b):
        _check_open(periodic)
        from bandsolve import gpu

        return gpu.solved(partial(gpu.factor_banded, (lower, upper)), (ab,), b, False, None, bool(overwrite_b), False)
    ab, b = _arguments(ab, b, check_finite)
    if lower + upper + 1 != ab.shape[-2]:
        raise ValueError(f"invalid values for the number of lower and upper diagonals: l+u+1 ({lower + upper + 1}) "
                         f"does not equal ab.shape[0] ({ab.shape[-2]})")
    return _solve((lower, upper, bool(periodic)), ab, b, bool(check_finite), bool(overwrite_b))


@keeps_labels_of("b")
def solveh_banded(ab, b, overwrite_ab=False, overwrite_b=False, lower=False, check_finite=True):
    """Solve ``a @ x = b`` for a positive definite banded matrix: a drop-in replacement for `scipy.linalg.solveh_banded`.

    Parameters
    ----------
    ab : (..., u + 1, n) array_like
        The diagonals of one triangle as rows. Upper triangle: ``ab[u + i - j, j] == a[i, j]`` for i <= j. Lower triangle:
        ``ab[i - j, j] == a[i, j]`` for i >= j. Leading dimensions count the matrices of a batch.
    b : (n,) or (..., n, k) array_like
        One right-hand side, or k right-hand sides as columns. The leading dimensions of `ab` and `b` broadcast.
    overwrite_ab : bool, default False
        For compatibility with SciPy. The function overwrites nothing.
    overwrite_b : bool, default False
        For compatibility with SciPy. The function overwrites nothing.
    lower : bool, default False
        Whether `ab` holds the lower triangle.
    check_finite : bool, default True
        Raise a `ValueError` for NaN and infinities, and verify x. With False, the function does neither.

    Returns
    -------
    x : (..., n) or (..., n, k) ndarray
        The solution: the shape of `b`, with the leading dimensions of the batch. It has single precision if both arrays
        have at most single precision or are integers of at most 16 bits.

    Raises
    ------
    ValueError
        The shapes do not fit together, or an entry is NaN or infinite.
    numpy.linalg.LinAlgError
        The matrix is not positive definite.
    MemoryError
        The memory is not sufficient.

    See Also
    --------
    - `bandsolve.solve_banded`: solve with a matrix that is not positive definite.
    - `bandsolve.solveh_banded_batch`: solve many systems, along any axis of an array.

    Notes
    -----
    **Cost.** Time and memory are proportional to n.

    **Batches.** If u ≤ 15, each system has at most 4 right-hand sides, and ``check_finite=True``, all systems are solved at once, as by `bandsolve.solveh_banded_batch`, which
    takes other memory orders without copies. In all other cases, the function solves one system after the other.

    **Accuracy and threads.** The backward error of x is at most 8 ε, or at most 64 ε after a fallback; see `bandsolve.solve_tridiagonal`. x is
    the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> upper = np.array([[0.0, 1, 1], [4, 4, 4]])
    >>> print(np.round(bandsolve.solveh_banded(upper, [5.0, 6, 5]), 9))
    [1. 1. 1.]
    >>> lower = np.array([[4.0, 4, 4], [1, 1, 0]])
    >>> print(np.round(bandsolve.solveh_banded(lower, [5.0, 6, 5], lower=True), 9))
    [1. 1. 1.]
    """
    check_on_host(ab=ab, b=b)
    # The solver detects NaN and infinities in the matrix.
    ab, b = _arguments(_validated(ab, False), _validated(b, check_finite), False)
    # SciPy solves small integers in single precision here, but not in `solve_banded`.
    kind = np.result_type(ab.dtype, b.dtype, np.float32)
    ab, b, lower = ab.astype(kind, copy=False), b.astype(kind, copy=False), bool(lower)
    if ab.shape[-2] == 0:
        raise ValueError("ab has no rows, expected one diagonal at least")
    if ab.ndim == 2 and b.ndim <= 2:
        return _solveh(ab, b, lower, check_finite)
    core = 2 if b.ndim >= 2 else 1
    batch = np.broadcast_shapes(ab.shape[:-2], b.shape[:-core])
    if math.prod(batch) == 0:
        raise ValueError("`solveh_banded` does not support zero-size batches.")
    ab, b = np.broadcast_to(ab, batch + ab.shape[-2:]), np.broadcast_to(b, batch + b.shape[b.ndim - core:])
    if b.size and check_finite and is_narrow(ab.shape[-2] - 1, 0):
        if core == 1:
            return solveh_banded_batch(_validated(ab, True), b, lower=lower)
        if b.shape[-1] == 1:
            return solveh_banded_batch(_validated(ab, True), b[..., 0], lower=lower)[..., None]
        if b.shape[-1] <= COLUMNS_ONE_BY_ONE:
            _validated(ab, True)
            return np.stack([solveh_banded_batch(ab, b[..., k], lower=lower) for k in range(b.shape[-1])], axis=-1)
    x = np.empty(b.shape, kind)
    for index in np.ndindex(batch):
        x[index] = _solveh(ab[index], b[index], lower, check_finite)
    return x


def _solveh(ab, b, lower, verify):
    """Solve one system."""
    return _bandsolve.solveh_banded(ab, b, lower, bool(verify)) if b.size else np.empty_like(b)


def factor_banded(l_and_u, ab, *, periodic=False, method="auto", pivoting="scaled-partial", verify=True, threads=None, device="cpu"):
    """Factor a banded matrix, to solve many systems with it.

    Parameters
    ----------
    l_and_u : (int, int)
        Number of diagonals below and above the main diagonal.
    ab : (l + u + 1, n) array_like
        The diagonals as rows: ``ab[u + i - j, j] == a[i, j]``.
    periodic : bool, default False
        Factor a periodic matrix, as `bandsolve.solve_banded` explains. A GPU factors open bands only.
    method : str, default "auto"
        A name from `bandsolve.methods`. "auto" chooses by the kind and the size of the matrix.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows: "scaled-partial", "partial" or "none", see `bandsolve.solve_tridiagonal`.
    verify : bool, default True
        Compute the backward error of each x, and repair x if the error is too large.
    threads : int, optional
        Number of threads of each solve. Default: the number that `bandsolve.get_num_threads` returns.
    device : str, default "cpu"
        "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. A GPU solves bands of at most 4 diagonals on each side.

    Returns
    -------
    Factor
        An object with the method `solve`.

    Raises
    ------
    ValueError
        `ab` has the wrong shape, an option is unknown, or an entry of a periodic matrix is NaN or infinite.
    TypeError
        `ab` does not hold numbers.
    MemoryError
        The memory is not sufficient.
    RuntimeError
        The GPU that `device` names does not exist, or it reports an error.

    See Also
    --------
    - `bandsolve.solve_banded`: solve once. Its notes draw the storage of `ab`.
    - `bandsolve.factor`: factor a matrix of `scipy.sparse` or a dense array.

    Notes
    -----
    **Errors in the matrix.** The function accepts a singular matrix, and NaN and infinities in an open band. `Factor.solve` raises the error.

    **Periodic matrices with l ≤ 1 and u ≤ 1** take less time with `bandsolve.factor_tridiagonal`.

    **Cost.** A solve with factors takes a quarter to a half of the time of `bandsolve.solve_banded`. If l or u is 2 and n ≥ 4096, the gain is
    smaller. Tridiagonal matrices gain nothing for n ≥ 128.

    **Accuracy and threads.** The backward error of x is at most 8 ε, or at most 64 ε after a fallback; see `bandsolve.solve_tridiagonal`. x is
    the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> ab = np.array([[0.0, 1, 1], [4, 4, 4], [1, 1, 0]])
    >>> lu = bandsolve.factor_banded((1, 1), ab)
    >>> print(np.round(lu.solve(np.array([5.0, 6, 5])), 9))
    [1. 1. 1.]
    >>> print(np.round(lu.solve(np.array([10.0, 12, 10])), 9))
    [2. 2. 2.]
    """
    lower, upper = band_widths(l_and_u)
    if any_on_gpu(ab):
        from bandsolve import gpu

        _check_open(periodic)
        return gpu.factor_banded((lower, upper), ab, method=method, pivoting=pivoting, verify=verify, device=device)
    return _bandsolve.factor_banded(lower, upper, ab, periodic=bool(periodic), method=method, pivoting=pivoting, verify=verify,
                                    threads=threads, device=device)
