"""Many tridiagonal systems at a time."""

import math
from contextlib import contextmanager

import numpy as np

from bandsolve import _bandsolve
from bandsolve._arguments import repeated
from bandsolve._bandsolve import any_on_gpu, as_array
from bandsolve._labels import axis_number, keeps_labels_of

_SLICES = "For SciPy's band storage, pass sub = ab[..., 2, :-1], diag = ab[..., 1, :], sup = ab[..., 0, 1:]."


@keeps_labels_of("rhs")
def solve_batch(sub, diag, sup, rhs, *, axis=-1, periodic=False, padded=False, method="auto", pivoting="scaled-partial", transpose=False,
                verify=True, threads=None, device="cpu", out=None, overwrite_rhs=False, full_output=False):
    """Solve many tridiagonal systems of the same size, along one axis of the arrays.

    Row i of every system is ``sub[i-1] * x[i-1] + diag[i] * x[i] + sup[i] * x[i+1] == rhs[i]``, where i counts along `axis`.

    Parameters
    ----------
    sub : array_like or number
        Entries below the diagonal, n - 1 along the axis: ``sub[i]`` is in row i + 1. The other axes broadcast against `rhs`. A number is the
        entry of every row of every system. If an array with several dimensions has one entry along the axis, this entry is that of every row.
    diag : array_like or number
        Entries on the diagonal, n along the axis. It broadcasts as `sub` does.
    sup : array_like or number
        Entries above the diagonal, n - 1 along the axis: ``sup[i]`` is in row i. It broadcasts as `sub` does.
    rhs : array_like
        Right-hand sides, with n entries along `axis` and any number of other axes.
    axis : int or str, default -1
        The axis of `rhs` along which the rows of a system run. If `rhs` is a DataArray of xarray, `axis` may be the name of a dimension.
    periodic : bool, default False
        Solve periodic systems. `sub` and `sup` then have n entries along the axis: the first entry of `sub` is in row 0 and column n - 1, the last
        entry of `sup` in row n - 1 and column 0.
    padded : bool, default False
        Pass `sub` and `sup` with n entries along the axis, indexed by row. The function ignores the first entry of `sub` and the last entry of
        `sup`. This saves a copy of both.
    method : str, default "auto"
        A name from `bandsolve.methods`. "auto" chooses by the kind and the size of the matrix.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows: "scaled-partial", "partial" or "none", see `bandsolve.solve_tridiagonal`.
    transpose : bool or "conj", default False
        True: solve with the transposes of the matrices. "conj": solve with their conjugate transposes.
    verify : bool, default True
        Compute the backward error of x, and repair x if the error is too large.
    threads : int, optional
        Number of threads. Default: the number that `bandsolve.get_num_threads` returns.
    device : str, default "cpu"
        "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. The function copies the systems to the GPU, and x back. Arrays
        on a GPU, such as those of CuPy, are solved there without copies (see `bandsolve.gpu`), and `device` is not needed.
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
        Only with ``full_output=True``. The backward error is the largest of all systems.

    Raises
    ------
    ValueError
        The shapes do not fit together, an entry is NaN or infinite, or an option is unknown.
    numpy.linalg.LinAlgError
        A matrix is singular, or with ``method="cholesky"`` not positive definite. The message counts the systems in the order of `numpy.ndindex` over
        all axes but `axis`.
    MemoryError
        The memory is not sufficient.
    RuntimeError
        The GPU that `device` names does not exist, or it reports an error.

    See Also
    --------
    - `bandsolve.factor_batch`: prepare the matrices once, and solve many times.
    - `bandsolve.solve_tridiagonal`: solve one system, or one matrix with many right-hand sides.
    - `bandsolve.mpi.solve_batch`: solve over the ranks of an MPI job.

    Notes
    -----
    **One matrix for all systems.** Pass `sub`, `diag` and `sup` with one dimension each. The function then factors the matrix once. This takes less
    time than a matrix for each system, along any axis.

    **Periodic systems and transposes.** Periodic systems take 1.05 to 1.25 times as long as open ones (float64, n = 50 to 1000, in cache). Transposes
    of systems with a matrix for each system are copied.

    **Memory order.** The function solves without copies if all four arrays have the same memory order, C or Fortran. Otherwise it copies `sub`,
    `diag` and `sup` to the order of `rhs`.

    **Band storage.** For SciPy's band storage `ab` of shape (..., 3, n), pass ``ab[..., 2, :-1]``, ``ab[..., 1, :]`` and ``ab[..., 0, 1:]``.

    **Accuracy.** The solver verifies every system. It solves a system with a backward error above 8 ε again, by itself, with pivoting; with
    ``method="cholesky"`` first without.

    **Threads.** x is the same, bit for bit, for any number of threads.

    Examples
    --------
    Implicit diffusion along the second axis of a field with three axes, one matrix for all systems:

    >>> import numpy as np, bandsolve
    >>> field = np.random.default_rng(1).random((4, 50, 6))
    >>> new = bandsolve.solve_batch(-0.1, 1.2, -0.1, field, axis=1)
    >>> new.shape
    (4, 50, 6)

    The same with arrays for the diagonals, and without a new array for x:

    >>> off, diag = np.full(49, -0.1), np.full(50, 1.2)
    >>> np.array_equal(bandsolve.solve_batch(off, diag, off, field, axis=1, out=field), new)
    True

    A matrix for each of two systems:

    >>> ones = np.ones((2, 2))
    >>> diag, rhs = [[4.0, 4, 4], [8, 8, 8]], [[5.0, 6, 5], [9, 10, 9]]
    >>> x, report = bandsolve.solve_batch(ones, diag, ones, rhs, full_output=True)
    >>> print(np.round(x, 9))
    [[1. 1. 1.]
     [1. 1. 1.]]
    >>> report.backward_error < 1e-15
    True
    """
    if any_on_gpu(sub, diag, sup, rhs):
        from bandsolve import gpu

        return gpu.solved(gpu.factor_batch, (sub, diag, sup), rhs, transpose, out, overwrite_rhs, full_output, axis=axis, periodic=periodic,
                          padded=padded, method=method, pivoting=pivoting, verify=verify, device=device, store_factors=False)
    axis, rhs = axis_number(axis, rhs, "rhs"), as_array(rhs)
    axis = checked_axis(axis, rhs)
    n = rhs.shape[axis]
    given = [as_array(array) for array in repeated((sub, diag, sup), n, periodic or padded, (rhs,))]
    matrix = _padded(given, n, axis, rhs.ndim, periodic, padded)
    options = dict(method=method, pivoting=pivoting, transpose=transpose, verify=verify, threads=threads, device=device, full_output=True)
    # Padding moves the entries of `sub`.
    own = {} if periodic or padded else {"sub": given[0]}
    with named_entries(rhs=rhs, **own):
        if rhs.ndim == 1:
            x, report = _bandsolve.solve_tridiagonal(*matrix, rhs, periodic=periodic, padded=not periodic, out=out,
                                                     overwrite_rhs=overwrite_rhs, **options)
        else:
            x, report = _in_memory_order(matrix, rhs, axis, (out, overwrite_rhs), dict(options, periodic=bool(periodic)))
    return (x, report) if full_output else x


def checked_axis(axis, rhs):
    """The axis as a number that is not negative."""
    if rhs.ndim == 0:
        raise ValueError("rhs is a single number, expected an array with one dimension at least")
    if not -rhs.ndim <= axis < rhs.ndim:
        raise ValueError(f"axis {axis} is out of bounds for rhs of {rhs.ndim} dimensions, expected {-rhs.ndim} to {rhs.ndim - 1}")
    return axis % rhs.ndim


class BatchFactor:
    """Tridiagonal or banded matrices, prepared to solve many batches with them. `factor_batch`, `factor_banded_batch` and `factorh_banded_batch` return
    a `BatchFactor`.

    Notes
    -----
    A `BatchFactor` keeps copies of the arrays. It can be pickled and copied, and several threads may use it at the same time.

    See Also
    --------
    - `bandsolve.Factor`: factors of a single matrix.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> lu = bandsolve.factor_batch(np.full(2, 1.0), np.full(3, 4.0), np.full(2, 1.0))
    >>> print(np.round(lu.solve([[5.0, 6, 5], [10, 12, 10]]), 9))
    [[1. 1. 1.]
     [2. 2. 2.]]
    """

    def __init__(self, solve, matrix, axis, options):
        """`solve` is `solve_batch`, `solve_banded_batch` or `solveh_banded_batch`, and `matrix` are its arguments before the right-hand sides."""
        self._solve, self._matrix, self._axis, self._options = solve, matrix, axis, options

    @keeps_labels_of("rhs")
    def solve(self, rhs, *, transpose=False, out=None, overwrite_rhs=False, full_output=False):
        """Solve for a batch of right-hand sides.

        Parameters
        ----------
        rhs : array_like
            Right-hand sides, as `bandsolve.solve_batch`, `bandsolve.solve_banded_batch` and `bandsolve.solveh_banded_batch` take them.
        transpose : bool or "conj", default False
            True: solve with the transposes of the matrices. "conj": solve with their conjugate transposes.
        out : ndarray, optional
            Array for x: the shape and the memory order of `rhs`, contiguous, and the number type of x. It may be `rhs` itself.
        overwrite_rhs : bool, default False
            Write x to `rhs` if its type allows it, and it is contiguous. Else x is a new array.
        full_output : bool, default False
            Return a `bandsolve.Report` too.

        Returns
        -------
        x : ndarray, shape of rhs
            The solutions; `out` if you pass it.
        report : Report
            Only with ``full_output=True``.

        Raises
        ------
        ValueError
            The shapes do not fit together, or an entry is NaN or infinite.
        numpy.linalg.LinAlgError
            A matrix is singular, or it is not positive definite although the method requires it.
        """
        return self._solve(*self._matrix, rhs, axis=self._axis, transpose=transpose, out=out, overwrite_rhs=overwrite_rhs,
                           full_output=full_output, **self._options)

    def __repr__(self):
        shapes = ", ".join(str(np.shape(array)) for array in self._matrix if not isinstance(array, tuple))
        return f"BatchFactor(shapes {shapes}, axis={self._axis})"


def factor_batch(sub, diag, sup, *, axis=-1, periodic=False, padded=False, method="auto", pivoting="scaled-partial", verify=True, threads=None,
                 device="cpu"):
    """Prepare tridiagonal matrices to solve many batches with them.

    Parameters
    ----------
    sub : array_like or number
        Entries below the diagonal, as for `bandsolve.solve_batch`.
    diag : array_like or number
        Entries on the diagonal.
    sup : array_like or number
        Entries above the diagonal.
    axis : int or str, default -1
        The axis of the right-hand sides along which the rows of a system run; for a DataArray of xarray, `axis` may be the name of a dimension.
    periodic : bool, default False
        The systems are periodic, and `sub` and `sup` have n entries along the axis.
    padded : bool, default False
        Pass `sub` and `sup` with n entries along the axis, indexed by row.
    method : str, default "auto"
        A name from `bandsolve.methods`. "auto" chooses by the kind and the size of the matrix.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows: "scaled-partial", "partial" or "none", see `bandsolve.solve_tridiagonal`.
    verify : bool, default True
        Compute the backward error of each x, and repair x if the error is too large.
    threads : int, optional
        Number of threads of each solve. Default: the number that `bandsolve.get_num_threads` returns.
    device : str, default "cpu"
        "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. The systems are copied to the GPU for each solve.

    Returns
    -------
    BatchFactor
        An object with the method `solve`; a `bandsolve.gpu.DeviceFactor` for arrays on a GPU.

    Raises
    ------
    ValueError
        `sub`, `diag` and `sup` have one dimension each, and lengths that do not fit together. Other errors are raised by `solve`.
    TypeError
        An array does not hold numbers.

    See Also
    --------
    - `bandsolve.solve_batch`: solve once. It explains the shapes.

    Notes
    -----
    **Cost.** With one matrix for all systems, each solve factors the matrix again, which takes about as long as two right-hand sides. With a matrix for
    each system, each solve eliminates again: reading the matrices takes no longer than reading factors would. Arrays with n entries along the axis, in the
    memory order of the right-hand sides, are not copied by the solves.

    Examples
    --------
    Ten implicit steps of diffusion along the first axis of a field, without a new array:

    >>> import numpy as np, bandsolve
    >>> field = np.zeros((50, 80))
    >>> field[25] = 1.0
    >>> lu = bandsolve.factor_batch(np.full(49, -0.5), np.full(50, 2.0), np.full(49, -0.5), axis=0)
    >>> for step in range(10):
    ...     field = lu.solve(field, out=field)
    >>> print(round(field.max(), 4))
    0.1333
    """
    if any_on_gpu(sub, diag, sup):
        from bandsolve import gpu

        return gpu.factor_batch(sub, diag, sup, axis=axis, periodic=periodic, padded=padded, method=method, pivoting=pivoting, verify=verify,
                                device=device)
    arrays = (sub, diag, sup)
    if np.ndim(diag) == 1:
        arrays = repeated(arrays, np.size(diag), periodic or padded)
    # Other numbers wait for the length of the right-hand sides.
    arrays = [array if np.ndim(array) == 0 else np.array(as_array(array)) for array in arrays]
    for array in map(np.asarray, arrays):
        if array.dtype.kind not in "bfiuc":
            raise TypeError(f"an array has the dtype {array.dtype}, expected numbers")
    if all(np.ndim(array) == 1 for array in arrays):
        arrays = _padded(arrays, len(arrays[1]), 0, 1, periodic, padded)
        padded = not periodic
    options = dict(periodic=periodic, padded=padded, method=method, pivoting=pivoting, verify=verify, threads=threads, device=device)
    return BatchFactor(solve_batch, arrays, axis, options)


def first_not_finite(array):
    """The indices of the first NaN or infinity of an array of numbers, in words; None if there is none."""
    return first_where(~np.isfinite(array))


def first_where(bad):
    """The indices of the first True, in words; None if there is none."""
    return ", ".join(map(str, np.unravel_index(bad.argmax(), bad.shape))) if bad.any() else None


@contextmanager
def named_entries(**arrays):
    """Name a NaN or infinity by its indices in the caller's array: the compiled part may see the array in another shape."""
    try:
        yield
    except ValueError as error:
        name = str(error).partition("[")[0]
        place = first_not_finite(arrays[name]) if name in arrays else None
        if place is None:
            raise
        raise ValueError(f"{name}[{place}] is not finite") from None


def _padded(arrays, n, axis, dimensions, periodic, padded):
    """Return sub, diag and sup with n entries along the axis, all with one dimension or all with those of `rhs`."""
    alone = all(array.ndim == 1 for array in arrays)
    if not alone:
        along = [-1 if k == axis else 1 for k in range(dimensions)]
        arrays = [array.reshape(along) if array.ndim == 1 else array for array in arrays]
        for array, name in zip(arrays, ("sub", "diag", "sup")):
            if array.ndim > dimensions:
                raise ValueError(f"{name} has {array.ndim} dimensions, expected at most {dimensions}, as many as rhs has")
    # An array with fewer axes than `rhs` lacks the first ones.
    own = [0 if alone else axis - (dimensions - array.ndim) for array in arrays]
    lengths = [1 if k < 0 else array.shape[k] for array, k in zip(arrays, own)]
    # One entry along the axis stands for all rows. An array with one dimension is a diagonal.
    rows = [array.ndim > 1 and length == 1 for array, length in zip(arrays, lengths)]
    full = periodic or padded
    expected = n if full else max(n - 1, 0)
    if lengths[1] != n and not rows[1]:
        raise ValueError(f"diag has length {lengths[1]} along axis {axis}, expected {n}, the length of rhs")
    _bandsolve.check_off_diagonals(tuple(expected if rows[k] else lengths[k] for k in (0, 2)), n, bool(periodic), bool(padded), _SLICES)
    if full:
        return arrays
    ends = ((1, 0), (0, 0), (0, 1))
    return [array if row or k == 1 or n == 0 else _extended(array, own[k], ends[k])
            for k, (array, row) in enumerate(zip(arrays, rows))]


def _extended(array, axis, ends):
    return np.pad(array, [ends if k == axis else (0, 0) for k in range(array.ndim)])


def _broadcast(array, name, shape):
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise ValueError(f"{name} has axes of other lengths than rhs. Apart from the rows, each axis needs the length 1 or that of rhs, "
                         f"whose shape is {shape}") from None


class MemoryOrder:
    """The axes of an array in the order of its memory, the largest stride first. The systems run along one of them.

    `order` are the axes, `back` is the inverse, and `shape` is the number of systems in axes before that of the systems, their length, and the
    number of systems in axes after it."""

    def __init__(self, array, axis):
        self.order = sorted(range(array.ndim), key=lambda k: -abs(array.strides[k]))
        self.back = np.argsort(self.order)
        self.own = self.order.index(axis)
        self.lengths = [array.shape[k] for k in self.order]
        self.shape = math.prod(self.lengths[: self.own]), array.shape[axis], math.prod(self.lengths[self.own + 1 :])

    def place(self, number, of_entry):
        """The caller's number of a system, or the indices of an entry as text."""
        if of_entry:
            return ", ".join(str(index) for index in np.array(np.unravel_index(number, self.lengths))[self.back])
        others = [k for k in range(len(self.order)) if k != self.own]
        if not others:
            return number
        found = dict(zip(others, np.unravel_index(number, [self.lengths[k] for k in others])))
        places = [k for k in self.back if k != self.own]
        return np.ravel_multi_index([found[k] for k in places], [self.lengths[k] for k in places])


def _in_memory_order(matrix, rhs, axis, target, options):
    """Solve with the axes of all arrays in the memory order of `rhs`. `target` is (out, overwrite_rhs)."""
    memory = MemoryOrder(rhs, axis)
    order, back = memory.order, memory.back
    alone = matrix[0].ndim == matrix[1].ndim == matrix[2].ndim == 1
    if not alone:
        matrix = [_broadcast(array, name, rhs.shape).transpose(order) for array, name in zip(matrix, ("sub", "diag", "sup"))]
    rhs = rhs.transpose(order)
    out, overwrite_rhs = target
    given = out
    if isinstance(out, np.ndarray) and out.ndim == rhs.ndim:
        out = out.transpose(order)
    out = _bandsolve.target_of(*matrix, rhs, out, overwrite_rhs)
    x, report = _solve(matrix, rhs, memory.shape, alone, memory.place, dict(options, out=out))
    if out is not None and x is not out:
        np.copyto(out, x.reshape(rhs.shape))
        x = out
    return given if given is not None else x.reshape(rhs.shape).transpose(back), report


def _solve(matrix, rhs, shape, alone, place, options):
    """Solve along the middle axis of C-ordered arrays of the shape `shape`."""
    before, n, after = shape
    out = options.pop("out")
    chosen = options["device"] != "cpu" or options["method"] != "auto"
    if alone and (chosen or _bandsolve.solved_as_columns(before * after)):
        columns = np.moveaxis(rhs.reshape(shape), 1, 0).reshape(n, before * after)
        x, report = _bandsolve.solve_tridiagonal(*matrix, columns, padded=not options["periodic"], **options)
        return np.ascontiguousarray(np.moveaxis(x.reshape(n, before, after), 0, 1)), report
    if options["device"] != "cpu" and before > 1 and after > 1:
        # A GPU takes one interleaved batch: the planes side by side.
        planes = [np.moveaxis(array.reshape(shape), 1, 0).reshape(1, n, before * after) for array in (*matrix, rhs)]
        x, report = _bandsolve.solve_batch((1, n, before * after), *planes, place, **options)
        return np.ascontiguousarray(np.moveaxis(x.reshape(n, before, after), 0, 1)), report
    return _bandsolve.solve_batch(shape, *matrix, rhs, place, out=out, **options)
