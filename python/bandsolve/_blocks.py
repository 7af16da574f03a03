"""Block tridiagonal systems."""

import math
from contextlib import contextmanager

import numpy as np

from bandsolve import _bandsolve
from bandsolve._arguments import check_on_host
from bandsolve._bandsolve import any_on_gpu, as_array
from bandsolve._batch import first_where, named_entries
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


@keeps_labels_of("rhs")
def solve_block_tridiagonal_batch(sub, diag, sup, rhs, *, periodic=False, padded=False, pivoting="scaled-partial", transpose=False,
                                  verify=True, threads=None, full_output=False):
    """Solve many block tridiagonal systems of the same size, open or periodic.

    Block row i of an open system is ``sub[i-1] @ x[i-1] + diag[i] @ x[i] + sup[i] @ x[i+1] == rhs[i]``.

    Parameters
    ----------
    sub : (..., n - 1, b, b) array_like
        Blocks below the diagonal: ``sub[..., i, :, :]`` is in block row i + 1 and block column i. With `periodic` or `padded`, `sub` has n blocks
        along its third last axis, and ``sub[..., i, :, :]`` is in block row i.
    diag : (..., n, b, b) array_like
        Blocks on the diagonal. They have at most 8 rows. Those of periodic systems have at most 5.
    sup : (..., n - 1, b, b) array_like
        Blocks above the diagonal: ``sup[..., i, :, :]`` is in block row i and block column i + 1. With `periodic` or `padded`, `sup` has n blocks.
    rhs : (..., n, b) array_like
        A right-hand side of each system. The leading axes of `sub`, `diag` and `sup` broadcast against those of `rhs`.
    periodic : bool, default False
        Solve periodic systems: ``sub[..., 0, :, :]`` is in block row 0 and block column n - 1, ``sup[..., n-1, :, :]`` in block row n - 1 and block
        column 0.
    padded : bool, default False
        Pass `sub` and `sup` with n blocks, indexed by block row. The function ignores the first block of `sub` and the last one of `sup`.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows: "scaled-partial", "partial" or "none", see `bandsolve.solve_tridiagonal`.
    transpose : bool or "conj", default False
        True: solve with the transposes of the matrices. "conj": solve with their conjugate transposes.
    verify : bool, default True
        Compute the backward error of x, and repair x if the error is too large.
    threads : int, optional
        Number of threads. Default: the number that `bandsolve.get_num_threads` returns.
    full_output : bool, default False
        Return a `bandsolve.Report` too.

    Returns
    -------
    x : ndarray, shape of rhs
        The solutions. x has the labels of `rhs` if `rhs` is a DataFrame of pandas or a DataArray of xarray.
    report : Report
        Only with ``full_output=True``. The backward error is the largest of all systems. `Report.fallback_systems` lists the systems that needed
        repair.

    Raises
    ------
    ValueError
        The shapes do not fit together, an entry is NaN or infinite, or an option is unknown.
    numpy.linalg.LinAlgError
        A matrix is singular. The message counts the systems in the order of `numpy.ndindex` over the leading axes of `rhs`, and the rows of a system
        from 0 to n b - 1.
    MemoryError
        The memory is not sufficient.

    See Also
    --------
    - `bandsolve.solve_block_tridiagonal`: solve one system, with blocks of any size.
    - `bandsolve.solve_banded_batch`: solve many banded systems, along any axis.

    Notes
    -----
    **Cost.** The solver treats the matrices as bands with 2 b - 1 diagonals on each side. Periodic matrices become bands with 3 b - 1 diagonals, in the
    order 0, n - 1, 1, n - 2, … of the block rows. One system is on each SIMD lane, and groups of systems are on each thread. No factors are stored.

    **Copies.** The function reads arrays in C order and with the number type of x where they are. It copies all others, `sub` and `sup` with n - 1
    blocks, and matrices whose leading axes broadcast. It does not copy a single matrix for all systems.

    **Accuracy.** The solver verifies every system. It solves a system with a backward error above 8 ε again, by itself, with pivoting.

    **Threads.** x is the same, bit for bit, for any number of threads.

    Examples
    --------
    A thousand systems with one matrix:

    >>> import numpy as np, bandsolve
    >>> diag, off = np.array([[[4.0, 1.0], [0.0, 3.0]]] * 3), np.array([np.eye(2)] * 2)
    >>> rhs = np.broadcast_to([[6.0, 4], [7, 5], [6, 4]], (1000, 3, 2))
    >>> x, report = bandsolve.solve_block_tridiagonal_batch(off, diag, off, rhs, full_output=True)
    >>> print(np.round(x[999], 9), report.backward_error < 1e-15)
    [[1. 1.]
     [1. 1.]
     [1. 1.]] True
    """
    check_on_host(sub=sub, diag=diag, sup=sup, rhs=rhs)
    sub, diag, sup, rhs = as_array(sub), as_array(diag), as_array(sup), as_array(rhs)
    for blocks, name in ((sub, "sub"), (diag, "diag"), (sup, "sup")):
        if blocks.ndim < 3 or blocks.shape[-1] != blocks.shape[-2] or blocks.shape[-1] != diag.shape[-1]:
            raise ValueError(f"{name} has the shape {blocks.shape}, expected (..., n, b, b): n square blocks, all of the size of those of diag")
    n, b = diag.shape[-3:-1]
    most = _bandsolve.BATCH_PERIODIC_BLOCK_ROWS if periodic else _bandsolve.BATCH_BLOCK_ROWS
    if not 1 <= b <= most:
        raise ValueError(f"diag has blocks of {b} rows, expected 1 to {most}. For larger blocks, call solve_block_tridiagonal for each system")
    _bandsolve.check_off_diagonals((sub.shape[-3], sup.shape[-3]), n, bool(periodic), bool(padded), _SLICES)
    if rhs.ndim < 2 or rhs.shape[-2:] != (n, b):
        raise ValueError(f"rhs has the shape {rhs.shape}, expected (..., {n}, {b})")
    systems = rhs.shape[:-2]
    count = math.prod(systems)
    full = periodic or padded or n == 0
    arrays = [_by_block_row(sub, 1, full), diag, _by_block_row(sup, 0, full)]
    if any(math.prod(blocks.shape[:-3]) != 1 for blocks in arrays):
        try:
            arrays = [np.broadcast_to(blocks, systems + (n, b, b)) for blocks in arrays]
        except ValueError:
            shapes = ", ".join(str(blocks.shape[:-3]) for blocks in arrays)
            raise ValueError(f"sub, diag and sup have the leading axes {shapes}, expected axes that broadcast to those of rhs, {systems}") from None
    flat = [blocks.reshape(-1, n, b, b) if blocks.size else np.empty((count, n, b, b), blocks.dtype) for blocks in arrays]
    ignored = dict(sub=0, sup=n - 1) if padded and not periodic and n > 0 else {}
    with named_entries(rhs=rhs), _named_block_entries(dict(sub=sub, diag=diag, sup=sup), ignored):
        x, report = _bandsolve.solve_block_batch(*flat, rhs.reshape(count, n * b), periodic=bool(periodic), pivoting=pivoting, verify=verify,
                                                 threads=threads, transpose=transpose, full_output=True)
    x = x.reshape(rhs.shape)
    return (x, report) if full_output else x


def _by_block_row(blocks, before, full):
    """The array with n blocks, indexed by block row: with a block of zeros before or after the n - 1 blocks of the caller."""
    if full:
        return blocks
    return np.pad(blocks, [(0, 0)] * (blocks.ndim - 3) + [(before, 1 - before), (0, 0), (0, 0)])


@contextmanager
def _named_block_entries(arrays, ignored):
    """Name a NaN or infinity by its indices in the caller's array. `ignored` has the number of the block that is ignored, by the name of its array."""
    try:
        yield
    except ValueError as error:
        name = str(error).partition("[")[0]
        if name not in arrays:
            raise
        bad = ~np.isfinite(arrays[name])
        if name in ignored:
            bad[..., ignored[name], :, :] = False
        place = first_where(bad)
        if place is None:
            raise
        raise ValueError(f"{name}[{place}] is not finite") from None
