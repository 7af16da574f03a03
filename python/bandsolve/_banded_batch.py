"""Many banded systems at a time."""

import math
from contextlib import contextmanager

import numpy as np

from bandsolve import _bandsolve
from bandsolve._arguments import band_widths, check_on_host, result_type
from bandsolve._bandsolve import as_array
from bandsolve._batch import BatchFactor, MemoryOrder, checked_axis, first_where, named_entries
from bandsolve._labels import axis_number, keeps_labels_of


@keeps_labels_of("rhs")
def solve_banded_batch(l_and_u, ab, rhs, *, axis=-1, periodic=False, pivoting="scaled-partial", transpose=False, verify=True, threads=None,
                       out=None, overwrite_rhs=False, full_output=False):
    """Solve many banded systems of the same size, along one axis of `rhs`.

    Row i of a system is ``sum(a[i, j] * x[j] for j in range(n)) == rhs[i]``, where i counts along `axis`, and a[i, j] is stored as in
    `scipy.linalg.solve_banded`.

    Parameters
    ----------
    l_and_u : (int, int)
        Number of diagonals below and above the main diagonal, at most 15 each, of periodic matrices at most 7 each.
    ab : (..., l + u + 1, n) array_like
        The diagonals as rows: ``ab[..., u + i - j, j] == a[i, j]``. The leading axes broadcast against the axes of `rhs` other than `axis`, in their
        order. An array with two dimensions is the matrix of all systems.
    rhs : array_like
        Right-hand sides, with n entries along `axis` and any number of other axes.
    axis : int or str, default -1
        The axis of `rhs` along which the rows of a system run. If `rhs` is a DataArray of xarray, `axis` may be the name of a dimension.
    periodic : bool, default False
        Solve with periodic matrices, whose first and last unknowns are neighbors: all entries of `ab` count, and ``ab[..., r, j]`` is in row
        (j + r - u) mod n.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows: "scaled-partial", "partial" or "none", see `bandsolve.solve_tridiagonal`.
    transpose : bool or "conj", default False
        True: solve with the transposes of the matrices. "conj": solve with their conjugate transposes.
    verify : bool, default True
        Compute the backward error of x, and repair x if the error is too large.
    threads : int, optional
        Number of threads. Default: the number that `bandsolve.get_num_threads` returns.
    out : ndarray, optional
        Array for x: the shape and the memory order of `rhs`, contiguous, and the number type of x. It may be `rhs` itself.
    overwrite_rhs : bool, default False
        Write x to `rhs` if its type allows it, and it is contiguous. Else x is a new array.
    full_output : bool, default False
        Return a `bandsolve.Report` too.

    Returns
    -------
    x : ndarray, shape of rhs
        The solutions, in the memory order of `rhs`; `out` if you pass it. x has the labels of `rhs` if `rhs` is a Series or DataFrame of pandas, or
        a DataArray of xarray.
    report : Report
        Only with ``full_output=True``. The backward error is the largest of all systems. `Report.fallback_systems` lists the systems that needed
        repair.

    Raises
    ------
    ValueError
        The shapes do not fit together, an entry is NaN or infinite, or an option is unknown.
    numpy.linalg.LinAlgError
        A matrix is singular. The message counts the systems in the order of `numpy.ndindex` over all axes but `axis`.
    MemoryError
        The memory is not sufficient.

    See Also
    --------
    - `bandsolve.factor_banded_batch`: check the matrices once, and solve many times.
    - `bandsolve.solve_batch`: solve tridiagonal systems, which takes less time.
    - `bandsolve.solve_banded`: a drop-in replacement for `scipy.linalg.solve_banded`, also for batches and for matrices with more diagonals.

    Notes
    -----
    **Copies.** The function reads `ab` where it is, with any positive strides, also those of `numpy.moveaxis` and `numpy.broadcast_to`. It copies `ab`

    - if `ab` has another number type than x, or a negative stride,
    - if the matrices do not have a constant distance in memory, in the memory order of `rhs`: for example if one of two leading axes broadcasts.

    It copies `rhs` if `rhs` is not contiguous or has another number type than x. Only with ``axis`` between other axes, and fewer than 64 systems in
    the axes after it, the solver copies the right-hand sides in groups. If `out` is `rhs`, the solver keeps a copy of `rhs` during the call.

    **Diagonals that are constant** need no memory for each row: pass ``numpy.broadcast_to(column, (l + u + 1, n))`` of an array `column` with the shape
    (l + u + 1, 1).

    **Cost.** Time is proportional to the number of unknowns times l (l + u). One system is on each SIMD lane, and groups of systems are on each
    thread. No factors are stored. Periodic matrices are solved as bands with 2 max(l, u) diagonals on each side, in the order 0, n - 1, 1, n - 2, … of
    the unknowns. Entries of `ab` that are in the same row and column, for n ≤ l + u, are added.

    **Accuracy.** The solver verifies every system. It solves a system with a backward error above 8 ε again, by itself, with pivoting.

    **Threads.** x is the same, bit for bit, for any number of threads.

    Examples
    --------
    Two pentadiagonal systems, the second with twice the matrix:

    >>> import numpy as np, bandsolve
    >>> ab = np.array([[0.0, 0, 1, 1], [0, 1, 1, 1], [6, 6, 6, 6], [1, 1, 1, 0], [1, 1, 0, 0]])
    >>> rhs = np.array([[8.0, 9, 9, 8], [16, 18, 18, 16]])
    >>> x, report = bandsolve.solve_banded_batch((2, 2), np.stack([ab, 2 * ab]), rhs, full_output=True)
    >>> print(np.round(x, 9))
    [[1. 1. 1. 1.]
     [1. 1. 1. 1.]]
    >>> report.backward_error < 1e-15, report.fallback_systems
    (True, [])

    One matrix for all columns of a field, which x replaces:

    >>> field = np.ones((4, 300))
    >>> x = bandsolve.solve_banded_batch((2, 2), ab, field, axis=0, out=field)
    >>> print(x is field, round(field[0, 299], 6))
    True 0.131579

    A compact scheme on rings, whose rows sum to 10:

    >>> ab = np.repeat([[1.0], [1], [6], [1], [1]], 16, axis=1)
    >>> print(np.round(bandsolve.solve_banded_batch((2, 2), ab, np.full((3, 16), 20.0), periodic=True).max(axis=1), 9))
    [2. 2. 2.]
    """
    check_on_host(ab=ab, rhs=rhs)
    x, report = _solve(ab, rhs, axis, out, lambda ab, n: _checked_bands(band_widths(l_and_u), periodic, ab, n), periodic=bool(periodic),
                       pivoting=pivoting, verify=verify, threads=threads, transpose=transpose, overwrite_rhs=overwrite_rhs)
    return (x, report) if full_output else x


@keeps_labels_of("rhs")
def solveh_banded_batch(ab, rhs, *, lower=False, axis=-1, periodic=False, transpose=False, verify=True, threads=None, out=None, overwrite_rhs=False,
                        full_output=False):
    """Solve many positive definite banded systems of the same size, along one axis of `rhs`.

    Row i of a system is ``sum(a[i, j] * x[j] for j in range(n)) == rhs[i]``, where i counts along `axis`, and a is symmetric, or Hermitian if complex.
    `ab` has one triangle of a, stored as in `scipy.linalg.solveh_banded`.

    Parameters
    ----------
    ab : (..., u + 1, n) array_like
        The diagonals of one triangle as rows, at most 15 beside the main one, of periodic matrices at most 7. Upper triangle:
        ``ab[..., u + i - j, j] == a[i, j]`` for i <= j. Lower triangle: ``ab[..., i - j, j] == a[i, j]`` for i >= j. The leading axes broadcast
        against the axes of `rhs` other than `axis`, in their order. An array with two dimensions is the matrix of all systems.
    rhs : array_like
        Right-hand sides, with n entries along `axis` and any number of other axes.
    lower : bool, default False
        Whether `ab` has the lower triangle.
    axis : int or str, default -1
        The axis of `rhs` along which the rows of a system run. If `rhs` is a DataArray of xarray, `axis` may be the name of a dimension.
    periodic : bool, default False
        Solve with periodic matrices, whose first and last unknowns are neighbors: all entries of `ab` count, and indices of a are taken modulo n.
    transpose : bool or "conj", default False
        True: solve with the transposes of the matrices, which are their conjugates. "conj": the same as False.
    verify : bool, default True
        Compute the backward error of x, and repair x if the error is too large.
    threads : int, optional
        Number of threads. Default: the number that `bandsolve.get_num_threads` returns.
    out : ndarray, optional
        Array for x: the shape and the memory order of `rhs`, contiguous, and the number type of x. It may be `rhs` itself.
    overwrite_rhs : bool, default False
        Write x to `rhs` if its type allows it, and it is contiguous. Else x is a new array.
    full_output : bool, default False
        Return a `bandsolve.Report` too.

    Returns
    -------
    x : ndarray, shape of rhs
        The solutions, in the memory order of `rhs`; `out` if you pass it. x has the labels of `rhs` if `rhs` is a Series or DataFrame of pandas, or
        a DataArray of xarray.
    report : Report
        Only with ``full_output=True``. The backward error is the largest of all systems. `Report.fallback_systems` lists the systems that needed
        repair.

    Raises
    ------
    ValueError
        The shapes do not fit together, an entry is NaN or infinite, or an option is unknown.
    numpy.linalg.LinAlgError
        A matrix is not positive definite. The message counts the systems in the order of `numpy.ndindex` over all axes but `axis`.
    MemoryError
        The memory is not sufficient.

    See Also
    --------
    - `bandsolve.factorh_banded_batch`: keep the matrices, and solve many times.
    - `bandsolve.solve_banded_batch`: solve with other matrices. Its notes say when `ab` and `rhs` are copied.
    - `bandsolve.solveh_banded`: a drop-in replacement for `scipy.linalg.solveh_banded`, also for batches.

    Notes
    -----
    **Cost.** Time is proportional to the number of unknowns times (u + 1) (u + 8). The matrices are eliminated without exchanges of rows, by L D L^H, which
    takes less time than `bandsolve.solve_banded_batch`. One system is on each SIMD lane, and groups of systems are on each thread. No
    factors are stored. One matrix for all systems is tested, and then factored with exchanges of rows.

    Imaginary parts of the main diagonal, and entries of `ab` outside of the matrices, are ignored.

    **Accuracy.** The solver verifies every system. It solves a system with a backward error above 8 ε again, by itself.

    **Threads.** x is the same, bit for bit, for any number of threads.

    Examples
    --------
    Two systems, the second with twice the matrix:

    >>> import numpy as np, bandsolve
    >>> ab = np.array([[0.0, -1, -1, -1], [3, 3, 3, 3]])
    >>> rhs = np.array([[2.0, 1, 1, 2], [4, 2, 2, 4]])
    >>> print(np.round(bandsolve.solveh_banded_batch(np.stack([ab, 2 * ab]), rhs), 9))
    [[1. 1. 1. 1.]
     [1. 1. 1. 1.]]

    A matrix that is not positive definite:

    >>> ab[1, 2] = 0.0
    >>> bandsolve.solveh_banded_batch(np.stack([2 * ab, ab]), rhs)
    Traceback (most recent call last):
    numpy.linalg.LinAlgError: system 0 is not Hermitian positive definite: first seen in row 2
    """
    check_on_host(ab=ab, rhs=rhs)
    x, report = _solve(ab, rhs, axis, out, lambda ab, n: _checked_triangle(lower, periodic, ab, n), definite=bool(lower), periodic=bool(periodic),
                       verify=verify, threads=threads, transpose=transpose, overwrite_rhs=overwrite_rhs)
    return (x, report) if full_output else x


def _solve(ab, rhs, axis, out, checked, **options):
    """Return x and the report. ``checked(ab, n)`` returns the numbers of stored diagonals below and above the main one, and the array."""
    axis, rhs = axis_number(axis, rhs, "rhs"), as_array(rhs)
    axis = checked_axis(axis, rhs)
    widths, ab = checked(as_array(ab), rhs.shape[axis])
    memory = MemoryOrder(rhs, axis)
    matrices = _in_order_of_systems(ab, rhs.shape, axis, memory)
    turned = out.transpose(memory.order) if isinstance(out, np.ndarray) and out.ndim == rhs.ndim else out
    in_order = rhs.transpose(memory.order)
    triangle = "definite" in options
    with named_entries(rhs=rhs), _named_band_entries(ab, widths[1], options["periodic"], triangle):
        x, report = _bandsolve.solve_banded_batch(memory.shape, widths, matrices, in_order, memory.place, out=turned, full_output=True, **options)
    return out if out is not None else x.reshape(in_order.shape).transpose(memory.back), report


def factor_banded_batch(l_and_u, ab, *, axis=-1, periodic=False, pivoting="scaled-partial", verify=True, threads=None):
    """Prepare banded matrices to solve many batches with them.

    Parameters
    ----------
    l_and_u : (int, int)
        Number of diagonals below and above the main diagonal, at most 15 each, of periodic matrices at most 7 each.
    ab : (..., l + u + 1, n) array_like
        The diagonals as rows, as for `bandsolve.solve_banded_batch`.
    axis : int or str, default -1
        The axis of the right-hand sides along which the rows of a system run; for a DataArray of xarray, `axis` may be the name of a dimension.
    periodic : bool, default False
        Prepare periodic matrices, as `bandsolve.solve_banded_batch` explains.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows: "scaled-partial", "partial" or "none", see `bandsolve.solve_tridiagonal`.
    verify : bool, default True
        Compute the backward error of each x, and repair x if the error is too large.
    threads : int, optional
        Number of threads of each solve. Default: the number that `bandsolve.get_num_threads` returns.

    Returns
    -------
    BatchFactor
        An object with the method `solve`.

    Raises
    ------
    ValueError
        `ab` has the wrong shape, or an entry is NaN or infinite.
    TypeError
        `ab` does not hold numbers.

    See Also
    --------
    - `bandsolve.solve_banded_batch`: solve once. It explains the shapes.
    - `bandsolve.factor_banded`: factor one matrix.

    Notes
    -----
    **What is stored.** The object stores a copy of `ab` in the number type of the solver, in the memory order of `ab`. It stores no factors: each solve
    eliminates again, and takes as long as `bandsolve.solve_banded_batch`. The function checks the shapes and the entries once. Changes of your array
    after the call change nothing.

    Examples
    --------
    Ten implicit steps with a fourth derivative along the first axis of a field, without a new array:

    >>> import numpy as np, bandsolve
    >>> ab = np.empty((5, 50))
    >>> ab[:] = np.array([[0.1], [-0.4], [1.6], [-0.4], [0.1]])
    >>> field = np.zeros((50, 80))
    >>> field[25] = 1.0
    >>> lu = bandsolve.factor_banded_batch((2, 2), ab, axis=0)
    >>> for step in range(10):
    ...     field = lu.solve(field, out=field)
    >>> print(round(field.max(), 4))
    0.3089
    """
    check_on_host(ab=ab)
    widths = band_widths(l_and_u)
    kept = _kept(ab, lambda ab, n: _checked_bands(widths, periodic, ab, n), periodic)
    return BatchFactor(solve_banded_batch, (widths, kept), axis, dict(periodic=bool(periodic), pivoting=pivoting, verify=verify,
                                                                 threads=threads))


def factorh_banded_batch(ab, *, lower=False, axis=-1, periodic=False, verify=True, threads=None):
    """Prepare positive definite banded matrices to solve many batches with them.

    Parameters
    ----------
    ab : (..., u + 1, n) array_like
        The diagonals of one triangle as rows, as for `bandsolve.solveh_banded_batch`.
    lower : bool, default False
        Whether `ab` has the lower triangle.
    axis : int or str, default -1
        The axis of the right-hand sides along which the rows of a system run; for a DataArray of xarray, `axis` may be the name of a dimension.
    periodic : bool, default False
        Prepare periodic matrices, as `bandsolve.solveh_banded_batch` explains.
    verify : bool, default True
        Compute the backward error of each x, and repair x if the error is too large.
    threads : int, optional
        Number of threads of each solve. Default: the number that `bandsolve.get_num_threads` returns.

    Returns
    -------
    BatchFactor
        An object with the method `solve`, which raises a `numpy.linalg.LinAlgError` if a matrix is not positive definite.

    Raises
    ------
    ValueError
        `ab` has the wrong shape, or an entry is NaN or infinite.
    TypeError
        `ab` does not hold numbers.

    See Also
    --------
    - `bandsolve.solveh_banded_batch`: solve once. It explains the shapes.
    - `bandsolve.factor_banded_batch`: prepare matrices that are not positive definite.

    Notes
    -----
    **What is stored.** The object stores a copy of `ab` in the number type of the solver, and no factors: each solve eliminates again, and takes as
    long as `bandsolve.solveh_banded_batch`. Changes of your array after the call change nothing.

    Examples
    --------
    Implicit steps of diffusion with another coefficient in each of 80 columns:

    >>> import numpy as np, bandsolve
    >>> kappa = np.linspace(0.1, 0.5, 80)[:, None]
    >>> ab = np.stack([np.broadcast_to(-kappa, (80, 50)), np.broadcast_to(1 + 2 * kappa, (80, 50))], axis=1)
    >>> field = np.zeros((50, 80))
    >>> field[25] = 1.0
    >>> step = bandsolve.factorh_banded_batch(ab, axis=0)
    >>> for _ in range(10):
    ...     field = step.solve(field, out=field)
    >>> print(np.round(field[25, [0, 79]], 4))
    [0.3244 0.1333]
    """
    check_on_host(ab=ab)
    kept = _kept(ab, lambda ab, n: _checked_triangle(lower, periodic, ab, n), periodic, triangle=True)
    return BatchFactor(solveh_banded_batch, (kept,), axis, dict(lower=bool(lower), periodic=bool(periodic), verify=verify, threads=threads))


def _kept(ab, checked, periodic, triangle=False):
    """A copy of `ab`, whose entries are finite. ``checked(ab, n)`` is that of `_solve`, and `triangle` that of `_first_bad_entry`."""
    ab = as_array(ab)
    if ab.dtype.kind not in "bfiuc":
        raise TypeError(f"ab has the dtype {ab.dtype}, expected numbers")
    (_, upper), ab = checked(ab, ab.shape[-1] if ab.ndim else 0)
    kept = np.array(ab, result_type(ab))
    place = _first_bad_entry(kept, upper, periodic, triangle)
    if place is not None:
        raise ValueError(f"ab[{place}] is not finite")
    return kept


def _most_diagonals(periodic):
    """The number of diagonals on each side that the solver for batches takes."""
    return _bandsolve.BATCH_DIAGONALS // 2 if periodic else _bandsolve.BATCH_DIAGONALS


def is_narrow(lower, upper, periodic=False):
    """Whether the solver for batches takes matrices with these numbers of diagonals below and above the main one."""
    return max(lower, upper) <= _most_diagonals(periodic)


def _checked_bands(widths, periodic, ab, n):
    """The widths, and the array `ab`, whose shape fits systems of n unknowns."""
    lower, upper = widths
    if not is_narrow(lower, upper, periodic):
        raise ValueError(f"l and u are {lower} and {upper}, expected at most {_most_diagonals(periodic)} each. For more diagonals, use solve_banded, "
                         "which solves one matrix of a batch after the other")
    if ab.ndim < 2 or ab.shape[-2:] != (lower + upper + 1, n):
        raise ValueError(f"ab has the shape {ab.shape}, expected (..., {lower + upper + 1}, {n}): l + u + 1 diagonals as rows, with one entry for "
                         "each unknown")
    return widths, ab


def _checked_triangle(lower, periodic, ab, n):
    """The numbers of diagonals below and above the main one that `ab` has, and `ab`, whose shape fits systems of n unknowns."""
    if ab.ndim < 2 or ab.shape[-2] == 0 or ab.shape[-1] != n:
        raise ValueError(f"ab has the shape {ab.shape}, expected (..., u + 1, {n}): the main diagonal and u more as rows, with one entry for each unknown")
    width = ab.shape[-2] - 1
    if not is_narrow(width, width, periodic):
        raise ValueError(f"ab has {width} diagonals beside the main one, expected at most {_most_diagonals(periodic)}. For more, use solveh_banded, which "
                         "solves one matrix of a batch after the other")
    return (width, 0) if lower else (0, width), ab


def _in_order_of_systems(ab, shape, axis, memory):
    """The matrices as an array (count, l + u + 1, n) in the memory order of right-hand sides of this shape; a single one if they share it."""
    others = [k for k in range(len(shape)) if k != axis]
    systems, core = tuple(shape[k] for k in others), ab.shape[-2:]
    if math.prod(ab.shape[:-2]) == 1:
        return ab.reshape(1, *core)
    try:
        ab = np.broadcast_to(ab, systems + core)
    except ValueError:
        raise ValueError(f"ab has the leading axes {ab.shape[:-2]}, expected axes that broadcast to {systems}: the axes of rhs, whose shape is {shape}, "
                         f"without axis {axis}") from None
    order = [others.index(k) for k in memory.order if k != axis]
    ab = ab.transpose(*order, len(order), len(order) + 1)
    return ab.reshape(memory.shape[0] * memory.shape[2], *core)


def _first_bad_entry(ab, upper, periodic, triangle):
    """The indices of the first NaN or infinity inside of a matrix, in words; None if there is none. Imaginary parts of the main diagonal, number `upper`,
    do not count if `ab` has one `triangle`."""
    bad = ~np.isfinite(ab)
    if triangle:
        bad[..., upper, :] = ~np.isfinite(ab[..., upper, :].real)
    if not periodic:
        diagonals, n = ab.shape[-2:]
        row = np.arange(diagonals)[:, None] - upper + np.arange(n)
        bad &= (row >= 0) & (row < n)
    return first_where(bad)


@contextmanager
def _named_band_entries(ab, upper, periodic, triangle):
    """Name a NaN or infinity in `ab` by its indices in the caller's array."""
    try:
        yield
    except ValueError as error:
        place = _first_bad_entry(ab, upper, periodic, triangle) if str(error).startswith("bands[") else None
        if place is None:
            raise
        raise ValueError(f"ab[{place}] is not finite") from None
