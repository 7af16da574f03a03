"""Many tridiagonal systems at a time."""

import math

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import as_array

_SLICES = "Of band storage as SciPy has it, pass sub = ab[..., 2, :-1], diag = ab[..., 1, :], sup = ab[..., 0, 1:]."


def solve_batch(sub, diag, sup, rhs, *, axis=-1, padded=False, method="auto", pivoting="scaled-partial", verify=True, threads=None,
                device="cpu", full_output=False):
    """Solve many tridiagonal systems, whose rows run along one axis of the arrays.

    Parameters
    ----------
    sub, diag, sup : array_like
        Entries below, on and above the diagonal: along the axis n - 1, n and n - 1 of them, or one, which then stands in every row. The
        other axes are broadcast against `rhs`. Arrays with one dimension are one matrix for all systems.
    rhs : array_like
        Right-hand sides, of any number of dimensions.
    axis : int
        The axis along which the rows of a system run.
    padded : bool
        `sub` and `sup` have n entries along the axis. The first of `sub` and the last of `sup` are ignored. That saves a copy of both.
    method, pivoting, verify, threads, device, full_output
        As for `solve_tridiagonal`.

    Returns
    -------
    x : ndarray
        The solutions, of the shape and the memory order of `rhs`; with `full_output` a tuple of it and a `Report`.

    Raises
    ------
    ValueError
        Shapes do not fit, or a number is not finite.
    numpy.linalg.LinAlgError
        A matrix is singular. Systems are counted as `numpy.ndindex` does, without `axis`.

    Notes
    -----
    All arrays are solved as they lie in memory if they have the same memory order, be it C or Fortran order; otherwise `sub`, `diag` and
    `sup` are copied to the order of `rhs`. One matrix for all systems takes less time than a matrix for each.

    Examples
    --------
    Implicit diffusion along the second axis of a field of three dimensions:

    >>> import numpy as np, bandsolve
    >>> field = np.random.default_rng(1).random((4, 50, 6))
    >>> n = field.shape[1]
    >>> off, diag = np.full(n - 1, -0.1), np.full(n, 1.2)
    >>> new = bandsolve.solve_batch(off, diag, off, field, axis=1)
    >>> new.shape
    (4, 50, 6)
    """
    sub, diag, sup, rhs = (as_array(array) for array in (sub, diag, sup, rhs))
    if rhs.ndim == 0:
        raise ValueError("rhs has no axis")
    if not -rhs.ndim <= axis < rhs.ndim:
        raise ValueError(f"axis {axis} is out of bounds for rhs of {rhs.ndim} dimensions")
    axis %= rhs.ndim
    n = rhs.shape[axis]
    matrix = _padded((sub, diag, sup), n, axis, rhs.ndim, padded)
    options = dict(method=method, pivoting=pivoting, verify=verify, threads=threads, device=device, full_output=True)
    if rhs.ndim == 1:
        x, report = _bandsolve.solve_tridiagonal(*matrix, rhs, padded=True, **options)
    else:
        x, report = _in_memory_order(matrix, rhs, axis, options)
    return (x, report) if full_output else x


def _padded(arrays, n, axis, dimensions, padded):
    """sub, diag and sup with n entries along the axis: all with one dimension, or as many as `rhs`."""
    alone = all(array.ndim == 1 for array in arrays)
    if not alone:
        along = [-1 if k == axis else 1 for k in range(dimensions)]
        arrays = [array.reshape(along) if array.ndim == 1 else array for array in arrays]
        for array, name in zip(arrays, ("sub", "diag", "sup")):
            if array.ndim > dimensions:
                raise ValueError(f"{name} has {array.ndim} dimensions, rhs has {dimensions}")
    # Where there are fewer axes, those in front are left out.
    own = [0 if alone else axis - (dimensions - array.ndim) for array in arrays]
    lengths = [1 if k < 0 else array.shape[k] for array, k in zip(arrays, own)]
    # An array with one entry along the axis stands for all rows, but where it could be a diagonal.
    rows = [array.ndim > 1 and length == 1 for array, length in zip(arrays, lengths)]
    expected = n if padded else max(n - 1, 0)
    if lengths[1] != n and not rows[1]:
        raise ValueError(f"diag has length {lengths[1]} along the axis, expected {n} as rhs has")
    _bandsolve.check_off_diagonals(tuple(expected if rows[k] else lengths[k] for k in (0, 2)), n, None, padded, _SLICES)
    if padded:
        return arrays
    ends = ((1, 0), (0, 0), (0, 1))
    return [array if row or k == 1 or n == 0 else _extended(array, own[k], ends[k])
            for k, (array, row) in enumerate(zip(arrays, rows))]


def _extended(array, axis, ends):
    return np.pad(array, [ends if k == axis else (0, 0) for k in range(array.ndim)])


def _in_memory_order(matrix, rhs, axis, options):
    """Solves with the axes of the arrays in the order in which those of `rhs` lie in memory."""
    order = sorted(range(rhs.ndim), key=lambda k: -abs(rhs.strides[k]))
    back = np.argsort(order)
    own = order.index(axis)
    alone = matrix[0].ndim == matrix[1].ndim == matrix[2].ndim == 1
    if not alone:
        matrix = [np.broadcast_to(array, rhs.shape).transpose(order) for array in matrix]
    rhs = rhs.transpose(order)
    shape = math.prod(rhs.shape[:own]), rhs.shape[own], math.prod(rhs.shape[own + 1 :])

    def place(number, of_entry):
        """The caller's number of a system, or indices of an entry, in words."""
        if of_entry:
            return ", ".join(str(index) for index in np.array(np.unravel_index(number, rhs.shape))[back])
        others = [k for k in range(rhs.ndim) if k != own]
        found = dict(zip(others, np.unravel_index(number, [rhs.shape[k] for k in others])))
        places = [k for k in back if k != own]
        return np.ravel_multi_index([found[k] for k in places], [rhs.shape[k] for k in places])

    x, report = _solve(matrix, rhs, shape, alone, place, options)
    return x.reshape(rhs.shape).transpose(back), report


def _solve(matrix, rhs, shape, alone, place, options):
    """Solves along the middle axis of arrays of the shape `shape`, by rows."""
    before, n, after = shape
    few = options["device"] != "cpu" or options["method"] != "auto" or not _bandsolve.batch_shares(n, before * after, after > 1)
    if alone and few:
        columns = np.moveaxis(rhs.reshape(shape), 1, 0).reshape(n, before * after)
        x, report = _bandsolve.solve_tridiagonal(*matrix, columns, padded=True, **options)
        return np.ascontiguousarray(np.moveaxis(x.reshape(n, before, after), 0, 1)), report
    if options["device"] != "cpu" and before > 1 and after > 1:
        # As many interleaved batches as there are planes: put side by side they are one.
        planes = [np.moveaxis(array.reshape(shape), 1, 0).reshape(1, n, before * after) for array in (*matrix, rhs)]
        x, report = _bandsolve.solve_batch((1, n, before * after), *planes, place, **options)
        return np.ascontiguousarray(np.moveaxis(x.reshape(n, before, after), 0, 1)), report
    return _bandsolve.solve_batch(shape, *matrix, rhs, place, **options)
