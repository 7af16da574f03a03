"""What `bandsolve.jax` and `bandsolve.torch` share: solves of NumPy arrays with axes in front, which count systems."""

import math
from contextlib import contextmanager
from functools import lru_cache, partial, reduce

import numpy as np

import bandsolve
from bandsolve import poisson


def solve_tridiagonal(periodic, transpose, matrix, rhs):
    """Solve tridiagonal systems.

    `matrix` is (sub, diag, sup), whose last axes count rows, and `rhs` has the shape (..., n, k). Axes in front broadcast. Each call eliminates
    again: this takes less time than storing factors and reading them.
    """
    n, columns = rhs.shape[-2:]
    batch = np.broadcast_shapes(*(array.shape[:-1] for array in matrix), rhs.shape[:-2])
    flat = np.broadcast_to(rhs, batch + (n, columns))
    options = dict(periodic=periodic, padded=not periodic and matrix[0].shape[-1] == n, transpose=transpose)
    flat = np.ascontiguousarray(flat[..., 0] if columns == 1 else flat)
    if all(array.size == array.shape[-1] for array in matrix):
        matrix = [array.reshape(-1) for array in matrix]
    elif columns != 1:
        # Contiguous systems take the least time.
        matrix, flat = [array[..., None] for array in matrix], np.ascontiguousarray(flat.swapaxes(-1, -2)).swapaxes(-1, -2)
    solve = bandsolve.solve_tridiagonal if flat.ndim == 1 else partial(bandsolve.solve_batch, axis=-1 if columns == 1 else -2)
    return np.ascontiguousarray(solve(*matrix, flat, **options), rhs.dtype).reshape(batch + (n, columns))


class Factors:
    """Factors of one matrix, or of matrices that axes in front count.

    Parameters
    ----------
    factor : callable
        Returns the factor of one matrix.
    matrix : sequence of ndarray
        The arrays that `factor` takes, with more axes in front, which broadcast.
    cores : tuple of int
        Number of axes that each array has for one matrix.
    rows : int, default 1
        Number of axes of a right-hand side that count rows: 2 for block rows and rows within a block.
    """

    def __init__(self, factor, matrix, cores, rows=1):
        self._rows = rows
        self._batch = np.broadcast_shapes(*(array.shape[: array.ndim - core] for array, core in zip(matrix, cores)))
        matrix = [np.broadcast_to(array, self._batch + array.shape[array.ndim - core :]) for array, core in zip(matrix, cores)]
        self._factors = np.empty(self._batch, object)
        for index in np.ndindex(self._batch):
            with _located(index):
                self._factors[index] = factor(*(array[index] for array in matrix))

    def solve(self, rhs, transpose):
        """Solve with right-hand sides of the shape (..., *rows, k), whose axes in front broadcast with those of the matrices."""
        *front, columns = rhs.shape
        batch, rows = front[: len(front) - self._rows], front[len(front) - self._rows :]
        flat = rhs.reshape(*batch, math.prod(rows), columns)
        x = self._solve_with_one(flat, transpose) if self._factors.size == 1 else self._solve_with_each(flat, transpose)
        return x.reshape(*x.shape[:-2], *rows, columns)

    def _solve_with_each(self, rhs, transpose):
        """Solve with one matrix after the other."""
        batch = np.broadcast_shapes(self._batch, rhs.shape[:-2])
        factors, rhs = np.broadcast_to(self._factors, batch), np.broadcast_to(rhs, batch + rhs.shape[-2:])
        x = np.empty(rhs.shape, rhs.dtype)
        for index in np.ndindex(batch):
            with _located(index):
                x[index] = factors[index].solve(rhs[index], transpose=transpose)
        return x

    def _solve_with_one(self, rhs, transpose):
        """Solve with one matrix: all right-hand sides are columns."""
        batch = np.broadcast_shapes(self._batch, rhs.shape[:-2])
        rhs = np.broadcast_to(rhs, batch + rhs.shape[-2:])
        rows_first = np.moveaxis(rhs, -2, 0)
        x = self._factors.item().solve(rows_first.reshape(len(rows_first), -1), transpose=transpose)
        return np.ascontiguousarray(np.moveaxis(x.reshape(rows_first.shape), 0, -2), rhs.dtype)


@contextmanager
def _located(index):
    """Name the system in errors, if there are several."""
    try:
        yield
    except (ValueError, np.linalg.LinAlgError) as error:
        if not index:
            raise
        raise type(error)(f"system [{', '.join(map(str, index))}]: {error}") from None


class PoissonProblem:
    """The linear map from f to u of a Poisson problem with values 0 at the sides and mean 0, its transpose, and factors of the values at the sides.

    The arguments are those of `bandsolve.poisson.solve`. The values in `boundary` may be of any type.
    """

    def __init__(self, shape, dtype, spacing, boundary, grid, shift, method, *, coordinates, removable, threads):
        self.shape, count = tuple(shape), len(shape)
        conditions = poisson._conditions(boundary, count)
        kinds = [tuple(kind for kind, _ in sides) for sides in conditions]
        axes = poisson._axes(self.shape, spacing, kinds, grid, coordinates)
        key = tuple(
            (kinds, axis["grid"], axis["spacing"], None if axis["coordinates"] is None else tuple(axis["coordinates"].tolist()))
            for kinds, axis in zip(kinds, axes)
        )
        threads = bandsolve.get_num_threads() if threads is None else threads
        shift = poisson._finite("shift", shift)
        prepared = partial(_prepared, self.shape, key, shift, method, threads, np.dtype(dtype).char)
        self._checked = prepared(removable)
        self._prepared_free = partial(prepared, np.inf)
        self.lines = [_Line(n, *axis) for n, axis in zip(self.shape, key)]
        self.singular = shift == 0 and not any(line.gap.any() for line in self.lines)
        self.sides = [(axis, side, value) for axis, pair in enumerate(conditions) for side, (kind, value) in enumerate(pair)
                      if kind != "periodic" or _without_values(axis, value)]

    def solve(self, f):
        """Return u. If the problem is singular, f must be balanced as far as `removable` says."""
        return self._checked.solve(np.ascontiguousarray(f))

    def solve_free(self, transpose, f):
        """Return u, or the solution with the transpose. If the problem is singular, any f will do: the solver subtracts its mean.

        Multiplied by the volumes of the unknowns, the matrix is symmetric. So its transpose is solved with by weights before and after.
        """
        solver = self._prepared_free() if self.singular else self._checked
        if not transpose:
            return solver.solve(np.ascontiguousarray(f))
        volumes = self._volumes(f.dtype)
        f = np.ascontiguousarray(f) / volumes
        return np.multiply(solver.solve(f, out=f), volumes, out=f)

    def _volumes(self, dtype):
        """Volumes of the unknowns relative to the largest."""
        return reduce(np.multiply.outer, [line.volumes / line.volumes.max(initial=0) for line in self.lines]).astype(dtype)

    def place(self, axis, side, f, value):
        """Where values at a side belong in f, from the shapes of both.

        Returns the shape of f after broadcasting its axes in front with those of the values, the index of the unknowns at the side, and what the
        values are multiplied by.
        """
        front = max(len(value) - len(self.shape) + 1, 0)
        poisson.side_shape(value[front:], axis, self.shape)
        shape = np.broadcast_shapes(f[: len(f) - len(self.shape)], value[:front]) + self.shape
        index = [slice(None)] * len(shape)
        index[axis - len(self.shape)] = -side
        return shape, tuple(index), float(self.lines[axis].inflow[side])


def box_axes(dimensions, ndim):
    """Number of axes of the box in an f with this number of dimensions. `ndim` is the argument of the caller."""
    count = dimensions if ndim is None else int(ndim)
    if not 1 <= count <= min(dimensions, 3):
        raise ValueError(f"f has {dimensions} dimensions and ndim is {ndim}, expected a box of 1 to 3 axes, the last axes of f")
    return count


def _without_values(axis, value):
    """Raise an error if a periodic side has values, else return False."""
    if np.ndim(value):
        raise ValueError(f"the boundary of axis {axis} has values at a periodic side. Pass 'periodic' alone")
    return False


# A loop prepares its solver once.
@lru_cache(maxsize=4)
def _prepared(shape, axes, shift, method, threads, dtype, removable):
    kinds, grids, spacings, coordinates = zip(*axes)
    coordinates = None if all(points is None for points in coordinates) else coordinates
    return poisson.Solver(shape, spacings, list(kinds), grids, shift, method, coordinates=coordinates, removable=removable, threads=threads, dtype=dtype)


class _Line:
    """The matrix of one axis: sub, diag and sup with n entries, those of a periodic matrix; volumes; factors of the values at both sides.

    `gap` are the sums of the rows. They are 0 if constants solve the problem with f = 0.
    """

    def __init__(self, n, kinds, grid, spacing, coordinates):
        points = n + 1 if grid == "cell" or kinds[0] == "periodic" else n + kinds.count("dirichlet")
        steps = np.full(max(points - 1, 0), spacing) if coordinates is None else np.diff(coordinates)
        distances = _distances(steps, kinds, grid)
        within = np.where(np.isinf(distances), 0, distances)
        self.volumes = steps if grid == "cell" else (within[1:] + within[:-1]) / 2
        # A single unknown that lies on both of its sides.
        self.volumes = np.where(self.volumes == 0, 1, self.volumes)
        lower, upper = 1 / distances[:-1] / self.volumes, 1 / distances[1:] / self.volumes
        self.inflow, self.gap = [], np.zeros(n)
        for kind, coupling, at in zip(kinds, (lower, upper), (slice(0, 1), slice(-1, None))):
            gap, inflow = _side(kind, coupling[at], self.volumes[at], grid)
            self.gap[at] += gap
            self.inflow.append(inflow.sum())
        within = [lower if kinds[0] == "periodic" else np.where(np.arange(n) > 0, lower, 0),
                  upper if kinds[0] == "periodic" else np.where(np.arange(n) < n - 1, upper, 0)]
        self.sub, self.diag, self.sup = -lower, within[0] + within[1] + self.gap, -upper
        if kinds[0] != "periodic":
            self.sub[:1] = self.sup[-1:] = 0


def _distances(steps, kinds, grid):
    """Distances from each unknown to the one below, and from the last one to what is above. Infinite at a Neumann or Robin side."""
    kinds = ["neumann" if kind[0] == "robin" else kind for kind in kinds]
    if grid == "node" and kinds[0] == "periodic":
        return np.concatenate([steps[-1:], steps])
    if grid == "node":
        return np.concatenate([[np.inf] * (kinds[0] == "neumann"), steps, [np.inf] * (kinds[1] == "neumann")])
    ends = {"dirichlet": lambda width: width / 2, "neumann": lambda width: np.full_like(width, np.inf),
            "periodic": lambda _: (steps[:1] + steps[-1:]) / 2}
    return np.concatenate([ends[kinds[0]](steps[:1]), (steps[1:] + steps[:-1]) / 2, ends[kinds[1]](steps[-1:])])


def _side(kind, coupling, volume, grid):
    """What a side adds to the sum of the row next to it, and the factor of its value."""
    if kind == "dirichlet":
        return coupling, coupling
    if kind[0] == "robin":
        _, alpha, beta = kind
        width = (1 + alpha / beta * (volume / 2 if grid == "cell" else 0)) * volume
        return alpha / beta / width, 1 / (width * beta)
    return 0 * volume, 1 / volume if kind == "neumann" else 0 * volume
