"""Matrices of `scipy.sparse`, and dense ones that are banded."""

from functools import partial

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import as_array
from bandsolve._scipy import _diagonals


def bands(a):
    """The diagonals of a matrix as `solve_banded` takes them.

    Parameters
    ----------
    a : (n, n) array_like, or matrix or array of `scipy.sparse`

    Returns
    -------
    lower, upper : int
        Diagonals below and above the main one.
    ab : (lower + upper + 1, n) ndarray
        ``ab[upper + i - j, j] == a[i, j]``.
    """
    if hasattr(a, "tocoo"):
        a = a.tocoo()
        # Zeros that are stored would widen the band.
        rows, columns, values = (part[a.data != 0] for part in (a.row, a.col, a.data))
    else:
        a = as_array(a)
        rows, columns = np.nonzero(a) if a.ndim == 2 else ((), ())
        values = a[rows, columns] if a.ndim == 2 else a
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"the matrix has the shape {a.shape}, expected a square one")
    n = a.shape[0]
    offset = np.asarray(columns, dtype=np.int64) - np.asarray(rows, dtype=np.int64)
    lower, upper = (max(0, int(-offset.min())), max(0, int(offset.max()))) if len(offset) else (0, 0)
    ab = np.zeros((lower + upper + 1, n), values.dtype if values.dtype.kind in "fc" else float)
    # Entries that are there twice are added.
    np.add.at(ab, (upper - offset, columns), values)
    return lower, upper, ab


def _meant_for(a, tridiagonal, banded):
    """Which of two functions is for the matrix, with its diagonals as the first arguments."""
    lower, upper, ab = bands(a)
    if max(lower, upper) <= 1:
        return partial(tridiagonal, *_diagonals(ab, lower, upper))
    return partial(banded, lower, upper, ab)


def factor(a, *, method="auto", pivoting="scaled-partial", verify=True, threads=None, device="cpu"):
    """Factor a matrix whose entries lie in a band, to solve with it again and again.

    Parameters
    ----------
    a : (n, n) array_like, or matrix or array of `scipy.sparse`
        Tridiagonal matrices are recognized, all others are solved as banded ones.
    method, pivoting, verify, threads, device
        As for `factor_tridiagonal`. GPUs factor at most 4 diagonals on either side.

    Returns
    -------
    Factor

    Examples
    --------
    As a preconditioner of an iterative method of SciPy:

    >>> import numpy as np, bandsolve, scipy.sparse as sp
    >>> from scipy.sparse.linalg import gmres
    >>> n = 100
    >>> band = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    >>> a = band + sp.eye_array(n, k=20) * 0.1
    >>> x, info = gmres(a, np.ones(n), M=bandsolve.factor(band).aslinearoperator(), rtol=1e-10)
    >>> info, bool(np.abs(a @ x - 1).max() < 1e-8)
    (0, True)
    """
    make = _meant_for(a, _bandsolve.factor_tridiagonal, _bandsolve.factor_banded)
    return make(method=method, pivoting=pivoting, verify=verify, threads=threads, device=device)


def solve(a, rhs, *, method="auto", pivoting="scaled-partial", transpose=False, verify=True, threads=None, device="cpu",
          full_output=False):
    """Solve a system whose matrix has its entries in a band.

    Parameters
    ----------
    a : (n, n) array_like, or matrix or array of `scipy.sparse`
    rhs : (n,) or (n, k) array_like
    method, pivoting, transpose, verify, threads, device, full_output
        As for `solve_tridiagonal`. GPUs solve at most 4 diagonals on either side.

    Returns
    -------
    x : ndarray
        The solution, of the shape of `rhs`; with `full_output` a tuple of it and a `Report`.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> bandsolve.solve(np.array([[2.0, 1, 0], [1, 2, 1], [0, 1, 2]]), np.array([3.0, 4, 3]))
    array([1., 1., 1.])
    """
    run = _meant_for(a, _bandsolve.solve_tridiagonal, _bandsolve.solve_banded)
    return run(rhs, method=method, pivoting=pivoting, transpose=transpose, verify=verify, threads=threads, device=device,
               full_output=full_output)
