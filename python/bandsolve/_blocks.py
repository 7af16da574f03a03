"""Block tridiagonal systems."""

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import as_array

_SLICES = "Pass sub[1:] and sup[:-1]."


def _by_columns(blocks, name):
    """Blocks with the indices inside of a block first, as the compiled part takes them."""
    blocks = as_array(blocks)
    if blocks.ndim != 3 or blocks.shape[1] != blocks.shape[2]:
        raise ValueError(f"{name} has the shape {blocks.shape}, expected (block rows, block, block)")
    return blocks.transpose(1, 2, 0)


def _matrix(sub, diag, sup, periodic, padded):
    sub, diag, sup = _by_columns(sub, "sub"), _by_columns(diag, "diag"), _by_columns(sup, "sup")
    block, block_rows = diag.shape[1:]
    for blocks, name in ((sub, "sub"), (sup, "sup")):
        if blocks.shape[1] != block:
            raise ValueError(f"{name} has the shape {blocks.shape[::-1]}, expected blocks of {block} rows as diag has")
    _bandsolve.check_off_diagonals((sub.shape[2], sup.shape[2]), block_rows, bool(periodic), bool(padded), _SLICES)
    return sub, diag, sup


def solve_block_tridiagonal(sub, diag, sup, rhs, *, periodic=False, padded=False, method="auto", pivoting="scaled-partial",
                            transpose=False, verify=True, threads=None, device="cpu", full_output=False):
    """Solve a block tridiagonal system.

    Block row i reads ``sub[i-1] @ x[i-1] + diag[i] @ x[i] + sup[i] @ x[i+1] == rhs[i]``. With `periodic` or `padded`, ``sub[i]`` takes
    the place of ``sub[i-1]``.

    Parameters
    ----------
    sub, diag, sup : (n - 1, b, b), (n, b, b) and (n - 1, b, b) array_like
        Blocks below, on and above the diagonal. With `periodic` or `padded` all three have n blocks.
    rhs : (n, b) or (n, b, k) array_like
        Right-hand sides.
    periodic : bool
        Whether the first and the last block row are neighbours. ``sub[0]`` and ``sup[n-1]`` then couple them.
    padded : bool
        `sub` and `sup` have n blocks, indexed by row: ``sub[0]`` and ``sup[n-1]`` are ignored.
    method, pivoting, transpose, verify, threads, device, full_output
        As for `solve_tridiagonal`. GPUs solve blocks of at most 4 rows.

    Returns
    -------
    x : ndarray
        The solution, of the shape of `rhs`; with `full_output` a tuple of it and a `Report`.

    Raises
    ------
    ValueError
        Shapes do not fit, or a number is not finite.
    numpy.linalg.LinAlgError
        The matrix is singular.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> diag = np.array([[[4.0, 1.0], [0.0, 3.0]]] * 3)
    >>> off = np.array([np.eye(2)] * 2)
    >>> x = bandsolve.solve_block_tridiagonal(off, diag, off, np.ones((3, 2)))
    >>> np.allclose(diag[1] @ x[1] + x[0] + x[2], 1)
    True
    """
    sub, diag, sup = _matrix(sub, diag, sup, periodic, padded)
    rhs = as_array(rhs)
    block, block_rows = diag.shape[1:]
    if rhs.ndim not in (2, 3) or rhs.shape[:2] != (block_rows, block):
        raise ValueError(f"rhs has the shape {rhs.shape}, expected ({block_rows}, {block}) or ({block_rows}, {block}, k)")
    flat = rhs.reshape(block_rows * block, *rhs.shape[2:])
    found = _bandsolve.solve_block_tridiagonal(sub, diag, sup, flat, periodic=periodic, method=method, pivoting=pivoting,
                                               transpose=transpose, verify=verify, threads=threads, device=device,
                                               full_output=full_output)
    if full_output:
        return found[0].reshape(rhs.shape), found[1]
    return found.reshape(rhs.shape)


def factor_block_tridiagonal(sub, diag, sup, *, periodic=False, padded=False, method="auto", pivoting="scaled-partial", verify=True,
                             threads=None, device="cpu"):
    """Factor a block tridiagonal matrix, to solve with it again and again.

    Parameters
    ----------
    sub, diag, sup, periodic, padded, method, pivoting, verify, threads, device
        As for `solve_block_tridiagonal` and `factor_tridiagonal`.

    Returns
    -------
    Factor
        It takes right-hand sides of shape (n·b,) or (n·b, k).

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> diag, off = np.array([4 * np.eye(2)] * 3), np.array([np.eye(2)] * 2)
    >>> bandsolve.factor_block_tridiagonal(off, diag, off).solve(np.ones(6)).shape
    (6,)
    """
    return _bandsolve.factor_block_tridiagonal(*_matrix(sub, diag, sup, periodic, padded), periodic=periodic, method=method,
                                               pivoting=pivoting, verify=verify, threads=threads, device=device)
