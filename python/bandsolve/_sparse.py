"""Banded matrices as sparse matrices of SciPy or as dense arrays."""

from functools import partial

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import as_array


def diagonals(a):
    """Return the numbers of diagonals below and above the main diagonal of a matrix, and a list of arrays: sub, diag and sup with n numbers each
    if there is at most one diagonal on each side, else the diagonals as `solve_banded` takes them.

    Parameters
    ----------
    a : (n, n) array_like, or matrix or array of scipy.sparse
    """
    sparse = hasattr(a, "tocsr")
    a = a if sparse else as_array(a)
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"the matrix has the shape {a.shape}, expected a square matrix")
    n = a.shape[0]
    if sparse:
        a = a.tocsr()
        return _bandsolve.diagonals(n, (a.indptr, a.indices, a.data))
    rows, columns = np.nonzero(a)
    return _bandsolve.diagonals(n, (np.searchsorted(rows, np.arange(n + 1)), columns, a[rows, columns]))


def _meant_for(a, tridiagonal, banded):
    """Return the function for the kind of the matrix, with the diagonals as its first arguments."""
    lower, upper, arrays = diagonals(a)
    if max(lower, upper) <= 1:
        return partial(tridiagonal, *arrays, padded=True)
    return partial(banded, lower, upper, *arrays)


def factor(a, *, method="auto", pivoting="scaled-partial", verify=True, threads=None, device="cpu"):
    """Factor a sparse or dense matrix whose entries lie in a band, to solve many systems with it.

    Parameters
    ----------
    a : (n, n) array_like, or matrix or array of scipy.sparse
        The matrix. Its entries must lie near the diagonal: the function stores all diagonals from the lowest to the highest.
    method : str, default "auto"
        A name from `bandsolve.methods`. "auto" chooses by the kind and the size of the matrix.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows: "scaled-partial", "partial" or "none", see `bandsolve.solve_tridiagonal`.
    verify : bool, default True
        Compute the backward error of each x, and repair x if the error is too large.
    threads : int, optional
        Number of threads of each solve. Default: the number that `bandsolve.get_num_threads` returns.
    device : str, default "cpu"
        "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. A GPU solves tridiagonal systems, and bands of at most 4 diagonals on each side.

    Returns
    -------
    Factor
        An object with the method `solve`.

    Raises
    ------
    ValueError
        The matrix is not square, or an option is unknown.
    MemoryError
        The memory is not sufficient.
    RuntimeError
        The GPU that `device` names does not exist, or it reports an error.

    See Also
    --------
    - `bandsolve.solve`: solve once.
    - `bandsolve.factor_tridiagonal`, `bandsolve.factor_banded`, `bandsolve.factor_block_tridiagonal`: take the diagonals or blocks.
    - `bandsolve.sparse.solve`: solve with a matrix whose entries lie anywhere.

    Notes
    -----
    **Kind of the matrix.** The function detects tridiagonal matrices. It factors all others as banded matrices.

    **Errors in the matrix.** The function accepts a singular matrix, NaN and infinities. `Factor.solve` raises the error.

    **Cost.** Finding the band takes several passes over the entries, and memory for n · (l + u + 1) numbers. A solve costs the same as after
    `bandsolve.factor_banded` or `bandsolve.factor_tridiagonal`.

    **Accuracy and threads.** The backward error of x is at most 8 ε, or at most 64 ε after a fallback; see `bandsolve.solve_tridiagonal`. x is
    the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np, bandsolve, scipy.sparse as sp
    >>> n = 100
    >>> band = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    >>> band = band.tocsr()
    >>> lu = bandsolve.factor(band)
    >>> print(np.round(lu.solve(np.ones(n))[n // 2], 9))
    2.0

    Use the factors of a band as a preconditioner of an iterative method of SciPy:

    >>> from scipy.sparse.linalg import gmres
    >>> a = band + sp.eye_array(n, k=20) * 0.1
    >>> x, info = gmres(a, np.ones(n), M=lu.aslinearoperator(), rtol=1e-10)
    >>> info, bool(np.abs(a @ x - 1).max() < 1e-8)
    (0, True)
    """
    make = _meant_for(a, _bandsolve.factor_tridiagonal, _bandsolve.factor_banded)
    return make(method=method, pivoting=pivoting, verify=verify, threads=threads, device=device)


def solve(a, rhs, *, method="auto", pivoting="scaled-partial", transpose=False, verify=True, threads=None, device="cpu",
          full_output=False):
    """Solve ``a @ x = rhs`` for a sparse or dense matrix whose entries lie in a band.

    Parameters
    ----------
    a : (n, n) array_like, or matrix or array of scipy.sparse
        The matrix. Its entries must lie near the diagonal: the function stores all diagonals from the lowest to the highest.
    rhs : (n,) or (n, k) array_like
        One right-hand side, or k right-hand sides as columns.
    method : str, default "auto"
        A name from `bandsolve.methods`. "auto" chooses by the kind and the size of the matrix.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows: "scaled-partial", "partial" or "none", see `bandsolve.solve_tridiagonal`.
    transpose : bool or "conj", default False
        True: solve with the transpose of the matrix. "conj": solve with its conjugate transpose.
    verify : bool, default True
        Compute the backward error of x, and repair x if the error is too large.
    threads : int, optional
        Number of threads. Default: the number that `bandsolve.get_num_threads` returns.
    device : str, default "cpu"
        "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. A GPU solves tridiagonal systems, and bands of at most 4 diagonals on each side.
    full_output : bool, default False
        Return a `bandsolve.Report` too.

    Returns
    -------
    x : ndarray, shape of rhs
        The solution.
    report : Report
        Only with ``full_output=True``: the method, its reason, and the backward error.

    Raises
    ------
    ValueError
        The matrix is not square, `rhs` has the wrong length, an entry is NaN or infinite, or an option is unknown.
    numpy.linalg.LinAlgError
        The matrix is singular, or no method reached a backward error of 64 ε. ε is 2.2e-16 in double precision, 1.2e-7 in single precision.
    MemoryError
        The memory is not sufficient.
    RuntimeError
        The GPU that `device` names does not exist, or it reports an error.

    See Also
    --------
    - `bandsolve.factor`: factor a matrix once, solve many times.
    - `bandsolve.solve_tridiagonal`, `bandsolve.solve_banded`, `bandsolve.solve_block_tridiagonal`: take the diagonals or blocks.
    - `bandsolve.sparse.solve`: solve with a matrix whose entries lie anywhere.

    Notes
    -----
    **Kind of the matrix.** The function detects tridiagonal matrices. It solves all others as banded matrices.

    **Cost.** Finding the band takes several passes over the entries, and memory for n · (l + u + 1) numbers, where l and u are the numbers of
    diagonals below and above the main one. If you have the diagonals, pass them to `bandsolve.solve_tridiagonal` or `bandsolve.solve_banded`.

    **Accuracy and threads.** The backward error of x is at most 8 ε, or at most 64 ε after a fallback; see `bandsolve.solve_tridiagonal`. x is
    the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> a = np.array([[2.0, 1, 0], [1, 2, 1], [0, 1, 2]])
    >>> x = bandsolve.solve(a, np.array([3.0, 4, 3]))
    >>> print(np.round(x, 9))
    [1. 1. 1.]

    A sparse matrix with two diagonals on each side:

    >>> import scipy.sparse as sp
    >>> offsets = [-2, -1, 0, 1, 2]
    >>> a = sp.diags_array([1.0, -4, 7, -4, 1], offsets=offsets, shape=(1000, 1000))
    >>> x, report = bandsolve.solve(a, np.ones(1000), full_output=True)
    >>> print(np.round(x[500], 9), report.backward_error < 1e-15)
    1.0 True
    """
    run = _meant_for(a, _bandsolve.solve_tridiagonal, _bandsolve.solve_banded)
    return run(rhs, method=method, pivoting=pivoting, transpose=transpose, verify=verify, threads=threads, device=device,
               full_output=full_output)
