"""Poisson and Helmholtz problems on boxes of one, two or three dimensions, solved directly, every answer verified.

>>> import numpy as np
>>> from bandsolve import poisson
>>> n = 255
>>> u = poisson.solve(np.ones((n, n)), spacing=1 / (n + 1))          # -(u_xx + u_yy) = 1, u = 0 at the sides
>>> print(f"{u[n // 2, n // 2]:.5f}")
0.07367

The matrix is (-Δ + c): second differences (-u[i-1] + 2 u[i] - u[i+1]) / h**2 along each axis, added up, and c. With spacing 1 it has
2, 4 or 6 on its diagonal and -1 beside it. What stands at the sides goes to the right-hand side:

====================  ===============================================  ===========================================
side                  ``grid="node"``                                  ``grid="cell"``
====================  ===============================================  ===========================================
dirichlet, u = g      one spacing beyond the last unknown              half a spacing beyond the last unknown
neumann, ∂u/∂n = q    where the last unknown is, whose cell is half    half a spacing beyond the last unknown
periodic              u[n] = u[0]                                      u[n] = u[0]
====================  ===============================================  ===========================================

n is the outward normal. The error is of the order h**2 in all cases.
"""

import math
import operator
import threading

import numpy as np

from bandsolve import _bandsolve

__all__ = ["Solver", "solve"]

_PARAMETERS = """spacing : float, or one for each axis
        Distance of neighbouring unknowns.
    boundary : str, or a pair of name and value, or one entry for each axis
        ``"dirichlet"`` (u is given), ``"neumann"`` (its derivative along the outward normal is) or ``"periodic"``, for all sides. Or a
        sequence with an entry for each axis: what both sides have, or a pair of what the lower and the upper side has. A side has a name,
        or a pair of name and value: a number, or an array that broadcasts to the points of the side. Without value it is 0. Of one axis
        the entry may be given without a sequence around it.
    grid : str, or one for each axis
        ``"node"`` or ``"cell"``: where the sides are, see `bandsolve.poisson`.
    coordinates : sequence, optional
        For each axis None, or increasing coordinates in the place of a spacing: of nodes with those of Dirichlet sides (n to n + 2
        numbers; n + 1 if periodic), of cells their n + 1 faces.
    shift : float
        c of (-Δ + c).
    method : str
        ``auto, fft, gemm, bcr2, bcr4`` or ``pscr``. The report says what `auto` took, and why.
    mean : float
        The mean of u where it is free to choose: of singular problems (Neumann or periodic all around, no shift). It is the mean over the box:
        each unknown counts by the volume that belongs to it.
    removable : float
        How much may be subtracted from f so that a singular problem has a solution, in parts of the largest entry.
    threads : int, optional
        Default: all there are, or what `bandsolve.set_num_threads` said. The answer does not depend on it.
    pencils : sequence, optional
        In the place of `spacing`, `boundary`, `grid` and `coordinates`: for each axis a pair (A, M) of tridiagonal matrices. Then
        (A1 ⊗ M2 + M1 ⊗ A2 + shift M1 ⊗ M2) u = f is solved, and in three dimensions the sum of three such products. A matrix is square,
        of numpy or scipy.sparse, or three arrays (sub, diag, sup) of n numbers, of which the first of `sub` and the last of `sup` are
        ignored; M None is the identity. A is symmetric and M symmetric and definite, but along one axis, where they may be any. Methods:
        ``auto``, ``gemm``, and ``pscr`` where all M are diagonal."""


def _documented(item):
    item.__doc__ = item.__doc__.replace("@PARAMETERS", _PARAMETERS)
    return item


@_documented
def solve(f, spacing=1.0, boundary="dirichlet", grid="node", shift=0.0, method="auto", mean=0.0, *, coordinates=None,
          removable=0.1, threads=None, pencils=None, full_output=False):
    """Solve (-Δ + shift) u = f on a box.

    Parameters
    ----------
    f : array_like
        The right-hand side, of one to three dimensions, one for each axis of the box.
    @PARAMETERS
    full_output : bool
        Return a report, too.

    Returns
    -------
    u : ndarray
        Of the shape and order of `f`; single precision if `f` is.
    report : dict
        With `full_output`: method, reason, shape, backward_error, backward_errors (of each right-hand side), refinement_steps,
        subproblems (tridiagonal systems that were solved), removed (what was subtracted from f), mean (that of u as it is returned, weighted by
        volumes; None unless it was free), rcond (an estimate of the reciprocal condition, NaN where it is not known), attention (says in words
        where u may have no correct digit, else None).

    Raises
    ------
    ValueError
        Shapes or names do not fit, a number is not finite, the method does not solve this problem.
    numpy.linalg.LinAlgError
        The problem is singular and f does not balance what is given at the sides; or no answer was accurate enough; or u would have no correct
        digit, because the shift is an eigenvalue of the matrix up to rounding, or because pencils have a null space.
    MemoryError
        The problem does not fit into memory.

    Examples
    --------
    A plate that is hot on its lower side of the first axis, insulated on the upper one, and closed to a ring along the other axis:

    >>> import numpy as np
    >>> from bandsolve import poisson
    >>> u, report = poisson.solve(np.zeros((4, 6)), boundary=((("dirichlet", 100.0), "neumann"), "periodic"), full_output=True)
    >>> bool(np.allclose(u, 100)), report["method"]
    (True, 'fft')
    """
    f = _real("f", f)
    solver = Solver(f.shape, spacing, boundary, grid, shift, method, mean, coordinates=coordinates, removable=removable, threads=threads,
                    pencils=pencils, dtype=_number(f.dtype), order="F" if _by_columns(f) else "C")
    return solver.solve(f, full_output=full_output)


@_documented
class Solver:
    """A solver of (-Δ + shift) u = f that is kept for many right-hand sides.

    Parameters
    ----------
    shape : int or tuple of int
        Number of unknowns along each axis, of which there are one to three.
    @PARAMETERS
    dtype : dtype
        ``float32`` or ``float64``: the type of u, to which right-hand sides are converted.
    order : "C" or "F"
        How right-hand sides lie in memory, for which the solver is made. Those of the other order are solved, too; it is made for them
        when the first comes.

    Attributes
    ----------
    shape, dtype
        As given.
    method, reason : str
        How it solves, and why so.

    Examples
    --------
    >>> import numpy as np
    >>> from bandsolve.poisson import Solver
    >>> pressure = Solver((64, 96), spacing=0.1, boundary="neumann", grid="cell")
    >>> f = np.random.default_rng(1).normal(size=(5, 64, 96))
    >>> f -= f.mean(axis=(1, 2), keepdims=True)
    >>> p = pressure.solve(f)
    >>> p.shape, bool(abs(p.mean(axis=(1, 2))).max() < 1e-12)
    ((5, 64, 96), True)
    """

    def __init__(self, shape, spacing=1.0, boundary="dirichlet", grid="node", shift=0.0, method="auto", mean=0.0, *, coordinates=None,
                 removable=0.1, threads=None, pencils=None, dtype=np.float64, order="C"):
        self._shape = _checked_shape(shape)
        self._dtype = np.dtype(dtype)
        if self._dtype.char not in "fd":
            raise ValueError(f"dtype is {self._dtype}, expected float32 or float64")
        if order not in ("C", "F"):
            raise ValueError(f"order is {order!r}, expected 'C' or 'F'")
        self._pencils = None if pencils is None else _pencils(self._shape, pencils)
        if pencils is not None and not (_is_default(spacing, 1.0) and _is_default(boundary, "dirichlet") and _is_default(grid, "node")
                                        and coordinates is None and mean == 0.0):
            raise ValueError("pencils say all of an axis: spacing, boundary, grid, coordinates and mean must be left out")
        self._axes = _axes(self._shape, spacing, boundary, grid, coordinates)
        self._options = {"shift": shift, "method": method, "mean": mean, "removable": removable, "threads": threads}
        self._lock, self._plans = threading.Lock(), {}
        self._first = self._plan(order == "F")

    def _plan(self, by_columns):
        """The plan for arrays whose last index runs fastest, or the first: then it is one of the axes in reverse."""
        with self._lock:
            step = -1 if by_columns else 1
            if by_columns not in self._plans and self._pencils is not None:
                self._plans[by_columns] = _bandsolve.PoissonPlan.of_pencils(self._pencils[::step], self._options, self._dtype.char == "d")
            if by_columns not in self._plans:
                axes = [{**axis, "values": [_numbers(side.T if by_columns else side) for side in axis["values"]]} for axis in self._axes]
                self._plans[by_columns] = _bandsolve.PoissonPlan(self._shape[::step], axes[::step], self._options, self._dtype.char == "d")
            return self._plans[by_columns]

    def solve(self, f, *, out=None, full_output=False):
        """Solve for one right-hand side, or for many.

        Parameters
        ----------
        f : array_like
            Of the shape of the solver, or with more axes in front of it, along which right-hand sides are counted.
        out : ndarray, optional
            Where u goes, in the place of a new array: of the shape of `f` and the type of the solver, contiguous as `f` is. It may be
            `f` itself.
        full_output : bool
            Return a report, too, as `bandsolve.poisson.solve` does.

        Returns
        -------
        u : ndarray
            Of the shape of `f`; `out` if it was given.
        report : dict
            With `full_output`; of many right-hand sides the largest numbers.
        """
        f = _real("f", f)
        many = f.ndim - len(self._shape)
        if many < 0 or f.shape[many:] != self._shape:
            raise ValueError(f"f has the shape {f.shape}, expected {self._shape}, or more axes in front of it")
        by_columns = many == 0 and _by_columns(f)
        plan = self._plan(by_columns)
        if out is None:
            u, report = plan.solve(f.T if by_columns else f)
            u = u.reshape(f.shape[::-1]).T if by_columns else u.reshape(f.shape)
        else:
            u = self._checked_out(out, f, by_columns)
            _, report = plan.solve(f.T if by_columns else f, u.T if by_columns else u)
        report["shape"] = self._shape
        return (u, report) if full_output else u

    def _checked_out(self, out, f, by_columns):
        order = "F" if by_columns else "C"
        if not isinstance(out, np.ndarray) or out.shape != f.shape or out.dtype != self._dtype:
            found = f"{out.dtype} of the shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise ValueError(f"out is {found}, expected an array of {self._dtype} of the shape {f.shape}")
        if not out.flags.aligned or not out.flags.writeable or not out.flags[f"{order}_CONTIGUOUS"]:
            raise ValueError(f"out must be writable, aligned and contiguous in the order {order} of f")
        same = out.ctypes.data == f.ctypes.data and out.strides == f.strides and out.dtype == f.dtype
        if not same and np.may_share_memory(out, f):
            raise ValueError("out overlaps f, but is not f")
        return out

    @property
    def shape(self):
        return self._shape

    @property
    def dtype(self):
        return self._dtype

    @property
    def method(self):
        return self._first.method

    @property
    def reason(self):
        return self._first.reason

    def __repr__(self):
        return f"Solver(shape={self._shape}, method={self.method!r}, dtype={self._dtype})"


def _real(name, values):
    """As an array of real numbers."""
    values = np.asarray(values)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} has the type {values.dtype}, expected real numbers")
    return values


def _number(dtype):
    """The type in which a right-hand side of this type is solved for."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def _by_columns(f):
    return f.flags.f_contiguous and not f.flags.c_contiguous


def _numbers(values):
    """Numbers one after the other, in double precision."""
    return np.ascontiguousarray(values, np.float64).reshape(-1)


def _checked_shape(shape):
    lengths = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    lengths = tuple(operator.index(n) for n in lengths)
    if not 1 <= len(lengths) <= 3:
        raise ValueError(f"a box of the shape {lengths} has {len(lengths)} axes, expected 1 to 3")
    if min(lengths) < 0:
        raise ValueError(f"the shape is {lengths}, expected no negative number")
    return lengths


def _axes(shape, spacing, boundary, grid, coordinates):
    """What the compiled part is told of each axis; values of sides in their shape."""
    count = len(shape)
    spacings = _each("spacing", spacing, count, np.ndim(spacing) == 0)
    grids = _each("grid", grid, count, isinstance(grid, str))
    alone = _is_side(boundary) or count == 1 and len(boundary) == 2
    boundaries = _each("boundary", boundary, count, alone)
    if coordinates is not None and count == 1 and len(coordinates) and np.ndim(coordinates[0]) == 0 and coordinates[0] is not None:
        coordinates = [coordinates]
    coordinates = _each("coordinates", coordinates, count, coordinates is None)
    made = []
    for axis in range(count):
        points = coordinates[axis] if coordinates[axis] is None else _real("coordinates", coordinates[axis])
        if points is not None and points.ndim != 1:
            raise ValueError(f"coordinates of axis {axis} have the shape {points.shape}, expected one dimension")
        sides = [_side(given, axis, shape) for given in _sides(boundaries[axis], axis)]
        made.append({
            "kinds": [kind for kind, _ in sides],
            "values": [values for _, values in sides],
            "grid": grids[axis],
            "spacing": float(spacings[axis]),
            "coordinates": None if points is None else _numbers(points),
        })
    return made


def _is_default(given, default):
    return type(given) is type(default) and given == default


def _pencils(shape, pencils):
    """sub, diag and sup of A and of M for each axis."""
    if len(pencils) != len(shape):
        raise ValueError(f"pencils has {len(pencils)} entries, expected {len(shape)}, one for each axis")
    made = []
    for axis, (pencil, n) in enumerate(zip(pencils, shape)):
        if len(pencil) != 2:
            raise ValueError(f"the pencil of axis {axis} has {len(pencil)} entries, expected A and M")
        a, m = pencil
        m = (np.zeros(n), np.ones(n), np.zeros(n)) if m is None else m
        made.append([*_diagonals(f"A of axis {axis}", a, n), *_diagonals(f"M of axis {axis}", m, n)])
    return made


def _diagonals(name, matrix, n):
    """sub, diag and sup, n numbers of each."""
    if not hasattr(matrix, "diagonal"):
        arrays = [_numbers(_real(name, x)) for x in matrix]
        if [len(x) for x in arrays] != [n] * 3:
            raise ValueError(f"{name} has arrays of {[len(x) for x in arrays]} numbers, expected three of {n}: sub, diag, sup")
        return arrays
    if matrix.shape != (n, n):
        raise ValueError(f"{name} has the shape {matrix.shape}, expected {(n, n)}")
    # Beside matrices of one row there is nothing.
    below, diag, above = (np.asarray(matrix.diagonal(k) if abs(k) < n else np.zeros(0), np.float64) for k in (-1, 0, 1))
    count = matrix.count_nonzero() if hasattr(matrix, "count_nonzero") else np.count_nonzero(matrix)
    if count != sum(map(np.count_nonzero, (below, diag, above))):
        raise ValueError(f"{name} has entries beside its three diagonals")
    none = np.zeros(min(n, 1))
    return [np.concatenate([none, below]), np.ascontiguousarray(diag), np.concatenate([above, none])]


def _each(name, given, count, alone):
    """For each axis what is given, alone for all of them or one by one."""
    if alone:
        return [given] * count
    if len(given) != count:
        raise ValueError(f"{name} has {len(given)} entries, expected {count}, one for each axis")
    return list(given)


def _is_named(given):
    return isinstance(given, str) or isinstance(given, (tuple, list)) and any(map(_is_named, given))


def _is_side(given):
    """Whether it is what one side has: a name, or a name and a value."""
    if isinstance(given, (tuple, list)) and len(given) == 2:
        return isinstance(given[0], str) and not _is_named(given[1])
    return isinstance(given, str)


def _sides(given, axis):
    """What the two sides of an axis have."""
    sides = (given, given) if _is_side(given) else given
    if not (isinstance(sides, (tuple, list)) and len(sides) == 2 and all(map(_is_side, sides))):
        raise ValueError(f"the boundary of axis {axis} is {given!r}, expected a name, (name, value), or a pair of them")
    return sides


def _side(given, axis, shape):
    """Kind of a side, and its values: one, or those of all its points in their shape."""
    kind, value = (given, 0.0) if isinstance(given, str) else given
    values = _real("the value of a side", value)
    if values.ndim == 0:
        return kind, values
    side = shape[:axis] + shape[axis + 1 :]
    try:
        return kind, np.broadcast_to(values, side)
    except ValueError:
        message = f"the values at a side of axis {axis} have the shape {values.shape}, expected {side}, or what broadcasts to it"
        raise ValueError(message) from None
