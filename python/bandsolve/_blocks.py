"""Block tridiagonal systems."""

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import any_on_gpu, as_array
from bandsolve._batch import named_entries
from bandsolve._labels import keeps_labels_of

_SLICES = "Pass sub[1:] and sup[:-1]."


def _by_columns(blocks, name):
    """Return blocks as the compiled part takes them: the indices within a block first."""
    blocks = as_array(blocks)
    if blocks.ndim != 3 or blocks.shape[1] != blocks.shape[2]:
        raise ValueError(f"{name} has the shape {blocks.shape}, expected (n, b, b): n square blocks")
    return blocks.transpose(1, 2, 0)


def _matrix(sub, diag, sup, periodic, padded):
    sub, diag, sup = _by_columns(sub, "sub"), _by_columns(diag, "diag"), _by_columns(sup, "sup")
    block, block_rows = diag.shape[1:]
    for blocks, name in ((sub, "sub"), (sup, "sup")):
        if blocks.shape[1] != block:
            raise ValueError(f"{name} has the shape {blocks.shape[::-1]}, expected blocks of {block} rows, the size of those of diag")
    _bandsolve.check_off_diagonals((sub.shape[2], sup.shape[2]), block_rows, bool(periodic), bool(padded), _SLICES)
    return sub, diag, sup


@keeps_labels_of("rhs")
def solve_block_tridiagonal(sub, diag, sup, rhs, *, periodic=False, padded=False, method="auto", pivoting="scaled-partial",
                            transpose=False, verify=True, threads=None, device="cpu", full_output=False):
    """Solve a block tridiagonal system, open or periodic.

    Block row i of an open system is ``sub[i-1] @ x[i-1] + diag[i] @ x[i] + sup[i] @ x[i+1] == rhs[i]``.

    Parameters
    ----------
    sub : (n - 1, b, b) array_like
        Blocks below the diagonal: ``sub[i]`` is in block row i + 1 and block column i. With `periodic` or `padded`, `sub` has n blocks, and
        ``sub[i]`` is in block row i.
    diag : (n, b, b) array_like
        Blocks on the diagonal.
    sup : (n - 1, b, b) array_like
        Blocks above the diagonal: ``sup[i]`` is in block row i and block column i + 1. With `periodic` or `padded`, `sup` has n blocks.
    rhs : (n, b) or (n, b, k) array_like
        One right-hand side, or k right-hand sides along the last axis.
    periodic : bool, default False
        Solve a periodic system: ``sub[0]`` is in block row 0 and block column n - 1, ``sup[n-1]`` in block row n - 1 and block column 0.
    padded : bool, default False
        Pass `sub` and `sup` with n blocks, indexed by block row. The function ignores ``sub[0]`` and ``sup[n-1]``.
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
        "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. On a GPU, blocks of more than 4 rows need cuBLAS. Arrays on a GPU
        are solved there without copies, see `bandsolve.gpu`.
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
        An array has the wrong shape, an entry is NaN or infinite, or an option is unknown.
    numpy.linalg.LinAlgError
        The matrix is singular, or no method reached a backward error of 64 ε. ε is 2.2e-16 in double precision, 1.2e-7 in single precision.
    MemoryError
        The memory is not sufficient.
    RuntimeError
        The GPU that `device` names does not exist, or it reports an error.

    See Also
    --------
    - `bandsolve.factor_block_tridiagonal`: factor a matrix once, solve many times.
    - `bandsolve.mpi.solve_block_tridiagonal`: solve over the ranks of an MPI job.

    Notes
    -----
    **Cost.** Time is proportional to n · b³ for the elimination and n · b² for each right-hand side. Memory is proportional to n · b².

    **Accuracy and threads.** The backward error of x is at most 8 ε, or at most 64 ε after a fallback; see `bandsolve.solve_tridiagonal`. x is
    the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> diag = np.array([[[4.0, 1.0], [0.0, 3.0]]] * 3)
    >>> off = np.array([np.eye(2)] * 2)
    >>> rhs = [[6.0, 4], [7, 5], [6, 4]]
    >>> x = bandsolve.solve_block_tridiagonal(off, diag, off, rhs)
    >>> print(np.round(x, 9))
    [[1. 1.]
     [1. 1.]
     [1. 1.]]
    """
    if any_on_gpu(sub, diag, sup, rhs):
        from bandsolve import gpu

        return gpu.solved(gpu.factor_block_tridiagonal, (sub, diag, sup), rhs, transpose, None, False, full_output, periodic=periodic,
                          padded=padded, method=method, pivoting=pivoting, verify=verify, device=device, store_factors=False)
    sub, diag, sup = _matrix(sub, diag, sup, periodic, padded)
    rhs = as_array(rhs)
    block, block_rows = diag.shape[1:]
    if rhs.ndim not in (2, 3) or rhs.shape[:2] != (block_rows, block):
        raise ValueError(f"rhs has the shape {rhs.shape}, expected ({block_rows}, {block}) or ({block_rows}, {block}, k)")
    flat = rhs.reshape(block_rows * block, *rhs.shape[2:])
    with named_entries(rhs=rhs):
        x, report = _bandsolve.solve_block_tridiagonal(sub, diag, sup, flat, periodic=periodic, method=method, pivoting=pivoting,
                                                       transpose=transpose, verify=verify, threads=threads, device=device,
                                                       full_output=True)
    x = x.reshape(rhs.shape)
    return (x, report) if full_output else x


def factor_block_tridiagonal(sub, diag, sup, *, periodic=False, padded=False, method="auto", pivoting="scaled-partial", verify=True,
                             threads=None, device="cpu"):
    """Factor a block tridiagonal matrix, to solve many systems with it.

    Parameters
    ----------
    sub : (n - 1, b, b) array_like
        Blocks below the diagonal: ``sub[i]`` is in block row i + 1 and block column i. With `periodic` or `padded`, `sub` has n blocks, and
        ``sub[i]`` is in block row i.
    diag : (n, b, b) array_like
        Blocks on the diagonal.
    sup : (n - 1, b, b) array_like
        Blocks above the diagonal: ``sup[i]`` is in block row i and block column i + 1. With `periodic` or `padded`, `sup` has n blocks.
    periodic : bool, default False
        Factor a periodic matrix: ``sub[0]`` is in block row 0 and block column n - 1, ``sup[n-1]`` in block row n - 1 and block column 0.
    padded : bool, default False
        Pass `sub` and `sup` with n blocks, indexed by block row. The function ignores ``sub[0]`` and ``sup[n-1]``.
    method : str, default "auto"
        A name from `bandsolve.methods`. "auto" chooses by the kind and the size of the matrix.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows: "scaled-partial", "partial" or "none", see `bandsolve.solve_tridiagonal`.
    verify : bool, default True
        Compute the backward error of each x, and repair x if the error is too large.
    threads : int, optional
        Number of threads of each solve. Default: the number that `bandsolve.get_num_threads` returns.
    device : str, default "cpu"
        "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. On a GPU, blocks of more than 4 rows need cuBLAS.

    Returns
    -------
    Factor
        An object with the method `solve`. It takes flat right-hand sides, of shape (n · b,) or (n · b, k). For arrays on a GPU, the object is a
        `bandsolve.gpu.DeviceFactor`.

    Raises
    ------
    ValueError
        An array has the wrong shape, or an option is unknown.
    TypeError
        An array does not hold numbers.
    MemoryError
        The memory is not sufficient.
    RuntimeError
        The GPU that `device` names does not exist, or it reports an error.

    See Also
    --------
    - `bandsolve.solve_block_tridiagonal`: solve once.

    Notes
    -----
    **Errors in the matrix.** The function accepts a singular matrix, NaN and infinities. `Factor.solve` raises the error.

    **Cost.** A solve with factors takes a quarter to a half of the time of `bandsolve.solve_block_tridiagonal` for blocks of 4 to 8 rows, and a
    sixth for larger blocks. For blocks of 2 rows with n ≥ 4096, and of 3 rows with 10⁵ unknowns or more, it takes the same time.

    **Accuracy and threads.** The backward error of x is at most 8 ε, or at most 64 ε after a fallback; see `bandsolve.solve_tridiagonal`. x is
    the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> diag, off = np.array([4 * np.eye(2)] * 3), np.array([np.eye(2)] * 2)
    >>> lu = bandsolve.factor_block_tridiagonal(off, diag, off)
    >>> x = lu.solve(np.array([[5.0, 5], [6, 6], [5, 5]]).ravel())
    >>> print(np.round(x.reshape(3, 2), 9))
    [[1. 1.]
     [1. 1.]
     [1. 1.]]
    """
    if any_on_gpu(sub, diag, sup):
        from bandsolve import gpu

        return gpu.factor_block_tridiagonal(sub, diag, sup, periodic=periodic, padded=padded, method=method, pivoting=pivoting, verify=verify,
                                            device=device)
    return _bandsolve.factor_block_tridiagonal(*_matrix(sub, diag, sup, periodic, padded), periodic=periodic, method=method,
                                               pivoting=pivoting, verify=verify, threads=threads, device=device)
