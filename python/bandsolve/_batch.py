"""Many tridiagonal systems at a time."""

import math

import numpy as np

from bandsolve import _bandsolve


def solve_batch(sub, diag, sup, rhs, *, axis=-1, method="auto", pivoting="scaled-partial", verify=True, threads=None,
                device="cpu", full_output=False):
    """Solve many tridiagonal systems, whose rows run along one axis of the arrays.

    Parameters
    ----------
    sub, diag, sup : array_like
        Entries below, on and above the diagonal; the first of `sub` and the last of `sup` along the axis are ignored. They are
        broadcast against `rhs`; with one dimension they are one matrix for all systems.
    rhs : array_like
        Right-hand sides, of any number of dimensions.
    axis : int
        The axis along which the rows of a system run. The last one, and the first one, are solved as they lie in memory.
    method, pivoting, verify, threads, device, full_output
        As for `solve_tridiagonal`.

    Returns
    -------
    x : ndarray
        The solutions, of the shape of `rhs`; with `full_output` a tuple of it and a `Report`.

    Raises
    ------
    ValueError
        Shapes do not fit, or a number is not finite.
    numpy.linalg.LinAlgError
        A matrix is singular. Systems are counted as `numpy.ndindex` does, without `axis`.

    Examples
    --------
    Implicit diffusion along the second axis of a field of three dimensions:

    >>> import numpy as np, bandsolve
    >>> field = np.random.default_rng(1).random((4, 50, 6))
    >>> n = field.shape[1]
    >>> off, diag = np.full(n, -0.1), np.full(n, 1.2)
    >>> new = bandsolve.solve_batch(off, diag, off, field, axis=1)
    >>> new.shape
    (4, 50, 6)
    """
    sub, diag, sup, rhs = (np.asarray(array) for array in (sub, diag, sup, rhs))
    if rhs.ndim == 0:
        raise ValueError("rhs has no axis")
    if not -rhs.ndim <= axis < rhs.ndim:
        raise ValueError(f"axis {axis} is out of bounds for rhs of {rhs.ndim} dimensions")
    axis %= rhs.ndim
    options = dict(method=method, pivoting=pivoting, verify=verify, threads=threads, device=device, full_output=True)
    n = rhs.shape[axis]
    if sub.ndim == diag.ndim == sup.ndim == 1:
        x, report = _one_matrix(sub, diag, sup, rhs, axis, options)
    else:
        before, after = math.prod(rhs.shape[:axis]), math.prod(rhs.shape[axis + 1:])
        # Arrays with one dimension run along the axis, too.
        along = [n if k == axis else 1 for k in range(rhs.ndim)]
        arrays = [array.reshape(along) if array.ndim == 1 and len(array) == n else array for array in (sub, diag, sup)]
        arrays = [np.broadcast_to(array, rhs.shape) for array in arrays] + [rhs]
        x, report = _systems(arrays, (before, n, after), options)
        x = x.reshape(rhs.shape)
    return (x, report) if full_output else x


def _one_matrix(sub, diag, sup, rhs, axis, options):
    moved = np.moveaxis(rhs, axis, 0)
    flat = moved.reshape(moved.shape[0], math.prod(moved.shape[1:]))
    x, report = _bandsolve.solve_tridiagonal(sub, diag, sup, flat, **options)
    return np.moveaxis(x.reshape(moved.shape), 0, axis), report


def _systems(arrays, shape, options):
    """Solves arrays of three dimensions along the second."""
    before, n, after = shape
    if after == 1:
        return _bandsolve.solve_batch(False, *(array.reshape(before, n) for array in arrays), **options)
    if before == 1:
        return _bandsolve.solve_batch(True, *(array.reshape(n, after) for array in arrays), **options)
    # As many interleaved batches as there are planes: put side by side they are one.
    planes = [np.ascontiguousarray(np.moveaxis(array.reshape(shape), 1, 0)).reshape(n, before * after) for array in arrays]
    x, report = _bandsolve.solve_batch(True, *planes, **options)
    return np.moveaxis(x.reshape(n, before, after), 0, 1), report
