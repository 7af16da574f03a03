"""Solve Poisson and Helmholtz problems on boxes of one, two or three dimensions, directly, and check every answer.

>>> import numpy as np
>>> from bandsolve import poisson
>>> n = 255
>>> u = poisson.solve(np.ones((n, n)), spacing=1 / (n + 1))
>>> print(f"{u[n // 2, n // 2]:.5f}")
0.07367

The matrix is that of (-Δ + shift): the sum of the second differences (-u[i-1] + 2 u[i] - u[i+1]) / h**2 along all axes, and the shift. With
spacing 1 and shift 0, its diagonal is 2, 4 or 6, and its other non-zero entries are -1. The solver moves the values at the sides to the right-hand side:

====================  ===============================================  ===========================================
side                  ``grid="node"``                                  ``grid="cell"``
====================  ===============================================  ===========================================
dirichlet, u = g      one spacing beyond the last unknown              half a spacing beyond the last unknown
neumann, ∂u/∂n = q    at the last unknown, whose cell is half          half a spacing beyond the last unknown
robin, αu + β∂u/∂n    as neumann; αu + β∂u/∂n = g with β other than 0  half a spacing beyond the last unknown
periodic              u[n] = u[0]                                      u[n] = u[0]
====================  ===============================================  ===========================================

n is the outward normal. The error is of the order h**2 in all cases.
"""

import math
import operator
import threading

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import any_on_gpu, as_array
from bandsolve._batch import named_entries
from bandsolve._labels import dimensions, keeps_labels_of
from bandsolve._arguments import whole_number

__all__ = ["Solver", "solve"]

_PARAMETERS = """spacing : float, sequence of float or dict, default 1.0
        Distance between neighbouring unknowns: one number for all axes, or one for each axis. Or a dict, as for `boundary`.
    boundary : str, pair, sequence or dict, default "dirichlet"
        Boundary conditions. One entry for all sides: ``"dirichlet"`` (u is given), ``"neumann"`` (the derivative along the outward normal
        is given), ``("robin", alpha, beta)`` (the sum of alpha times u and beta times this derivative is given; beta is not 0) or
        ``"periodic"``. Or a sequence with one entry for each axis. The entry of an axis is one condition for both sides, or a pair
        ``(lower, upper)``. Or a dict with entries for some axes: the keys are numbers of axes, or "x", "y", "z" for the axes 0, 1, 2 (in
        `solve`, the names of its dimensions if `f` is a DataArray of xarray), and an entry may be a dict with "lower" and "upper". Sides
        without an entry are ``"dirichlet"``. Instead of a name, a side takes ``(name, value)``, or ``("robin", alpha, beta, value)``: the
        value is a number, or an array that broadcasts to the points of the side. Default value: 0. See the notes of
        `bandsolve.poisson.solve`.
    grid : str, sequence of str or dict, default "node"
        ``"node"`` or ``"cell"``: where the sides are relative to the unknowns. One for all axes, one for each axis, or a dict. See the notes
        of `bandsolve.poisson.solve`.
    shift : float, default 0.0
        The constant that multiplies u in the equation.
    method : str, default "auto"
        "fft": sine, cosine or Fourier transforms. "gemm": products with eigenvectors. "bcr2", "bcr4": block cyclic reduction. "pscr": partial
        solutions. "auto" chooses one of these, and the report gives the reason.
    mean : float, default 0.0
        Mean of u over the box for a singular problem: Neumann or periodic sides everywhere, and ``shift=0``. The volume of an unknown is its weight.
    coordinates : sequence or dict, optional
        For each axis None, or increasing coordinates that replace the spacing. ``grid="node"``: the nodes, with those on Dirichlet sides (n to
        n + 2 numbers; n + 1 for a periodic axis). ``grid="cell"``: the n + 1 faces of the cells.
    removable : float, default 0.1
        For a singular problem: how much the solver may subtract from f to make the problem solvable, relative to the largest entry of f.
    threads : int, optional
        Number of threads. Default: the number that `bandsolve.get_num_threads` returns.
    pencils : sequence of pairs, optional
        Replaces `spacing`, `boundary`, `grid` and `coordinates`: for each axis a pair (A, M) of tridiagonal matrices. In two dimensions, the
        solver solves (A1 ⊗ M2 + M1 ⊗ A2 + shift · M1 ⊗ M2) u = f. A matrix is a square matrix of NumPy or `scipy.sparse`, or three arrays (sub,
        diag, sup) of n entries. The first entry of sub and the last entry of sup are ignored. M = None is the identity. Along all axes but one, A
        must be symmetric, and M symmetric and definite. Methods: "auto", "gemm", and "pscr" if all M are diagonal."""


def _documented(item):
    # `python -OO` removes docstrings.
    if item.__doc__:
        item.__doc__ = item.__doc__.replace("@PARAMETERS", _PARAMETERS)
    return item


@keeps_labels_of("f")
@_documented
def solve(f, spacing=1.0, boundary="dirichlet", grid="node", shift=0.0, method="auto", mean=0.0, *, coordinates=None,
          removable=0.1, threads=None, pencils=None, full_output=False):
    """Solve the Poisson or Helmholtz problem (-Δ + shift) u = f on a box.

    Parameters
    ----------
    f : array_like
        The right-hand side, real: one to three dimensions, one for each axis of the box. If it is an array on a GPU (see `bandsolve.gpu`), the function
        solves on this GPU.
    @PARAMETERS
    full_output : bool, default False
        Return a report too.

    Returns
    -------
    u : ndarray or DeviceArray, shape of f
        The solution, in the memory order of `f`. It has single precision if `f` has, else double precision. It has the labels of `f` if `f` is a
        DataFrame of pandas or a DataArray of xarray.
    report : dict
        Only with ``full_output=True``. "method" and "reason": the method, and why. "shape": that of the box. "backward_error": the largest of
        "backward_errors", one for each right-hand side. "refinement_steps": number of iterative refinement steps. "subproblems": number of
        tridiagonal systems. "removed": what the solver subtracted from f. "mean": mean of u if it was free to choose, else None. "rcond":
        estimate of the reciprocal condition number, NaN if unknown. "attention": a warning in words if u may have no correct digit, else None.

    Raises
    ------
    ValueError
        Shapes or names are wrong, a number is NaN or infinite, or the method does not solve this problem.
    TypeError
        An array does not hold real numbers.
    numpy.linalg.LinAlgError
        The problem is singular, and f does not balance the values at the sides. Or u would have no correct digit: a negative shift, or a
        negative alpha / beta at a Robin side, makes the matrix singular up to rounding, or the matrices of `pencils` are singular. Or u is
        not accurate enough.
    MemoryError
        The memory is not sufficient.

    See Also
    --------
    - `bandsolve.poisson.Solver`: prepare once, solve for many right-hand sides.
    - `bandsolve.mpi.solve_poisson`: solve over the ranks of an MPI job.

    Notes
    -----
    **Sides.** A sequence in `boundary` has one entry for each axis, not for the lower and the upper side:

    ```text
    boundary, for f of shape (n0, n1)             axis 0, lower  axis 0, upper  axis 1, lower  axis 1, upper
    "neumann"                                     neumann        neumann        neumann        neumann
    ("dirichlet", 1.0)                            u = 1          u = 1          u = 1          u = 1
    ("dirichlet", "neumann")                      dirichlet      dirichlet      neumann        neumann
    (("dirichlet", "neumann"), "periodic")        dirichlet      neumann        periodic       periodic
    ((("dirichlet", 1.0), "neumann"), "periodic") u = 1          neumann        periodic       periodic
    {0: {"upper": "neumann"}, 1: "periodic"}      dirichlet      neumann        periodic       periodic
    ("robin", 2.0, 1.0, 5.0)                      2 u + ∂u/∂n = 5, at all four sides
    ("neumann", (("robin", 2.0, 1.0), "neumann")) neumann        neumann        2 u + ∂u/∂n = 0  neumann
    ```

    If `f` has one dimension, ``("dirichlet", "neumann")`` means the lower and the upper side of its axis.

    **Grids.** On a Dirichlet side, the boundary is one spacing beyond the last unknown with ``grid="node"``, and half a spacing with
    ``grid="cell"``. On a Neumann or Robin side, it is at the last unknown with ``grid="node"``, and half a spacing beyond with ``grid="cell"``.

    **Robin sides.** If alpha / beta is positive at one side, and not negative at any other side, −Δ is definite. With alpha = 0, the side is a
    Neumann side. If alpha / beta is negative, −Δ can have negative eigenvalues, or be singular: check "attention" in the report. With
    ``grid="cell"``, beta + alpha · h / 2 must have the sign of beta.

    **Cost.** O(log n) operations for each unknown, except for "gemm", and for several axes with `coordinates`, Robin sides or `pencils`,
    which need O(n) along such an axis. Memory: at most twice that of u for 32768 unknowns or more, in addition to f and u, and n² numbers
    for each axis with products by eigenvectors.

    **Accuracy.** The discretization error is of the order h². The solver computes the backward error of u, and refines u if the error is too large.
    The error of u relative to its largest entry is at most about 2 · backward_error / rcond.

    **Threads.** u is the same, bit for bit, for any number of threads.

    Examples
    --------
    A square membrane under constant load, u = 0 at all sides:

    >>> import numpy as np
    >>> from bandsolve import poisson
    >>> n = 255
    >>> f, h = np.ones((n, n)), 1 / (n + 1)
    >>> u, report = poisson.solve(f, spacing=h, full_output=True)
    >>> print(round(u[n // 2, n // 2], 5))
    0.07367
    >>> report["method"], report["backward_error"] < 2e-15
    ('fft', True)

    One condition for each axis: u = 0 at both sides of axis 0, no flow through both sides of axis 1.

    >>> f = np.ones((4, 3))
    >>> u = poisson.solve(f, boundary=("dirichlet", "neumann"))
    >>> print(np.round(u, 3))
    [[2. 2. 2.]
     [3. 3. 3.]
     [3. 3. 3.]
     [2. 2. 2.]]

    A pair for the two sides of axis 0: u = 1 at the lower side, no flow through the upper side. Axis 1 is periodic.

    >>> u = poisson.solve(f, boundary=((("dirichlet", 1.0), "neumann"), "periodic"))
    >>> print(np.round(u, 3))
    [[4.5 4.5 4.5]
     [7.  7.  7. ]
     [8.5 8.5 8.5]
     [9.  9.  9. ]]

    A plate of thickness 1 with a source of heat 1 in cells of width 0.2. Air of temperature 20 cools its upper side: 2 (u - 20) + ∂u/∂n = 0.

    >>> u = poisson.solve(np.ones(5), 0.2, ("neumann", ("robin", 2.0, 1.0, 40.0)), "cell")
    >>> print(np.round(u, 3))
    [21.   20.96 20.88 20.76 20.6 ]
    """
    if any_on_gpu(f):
        shape, double, by_columns, device = _bandsolve.box_on_gpu(f)
        names, dtype, device = None, np.float64 if double else np.float32, device or "cpu"
        if pencils is not None:
            raise ValueError("pencils is given, but f is on a GPU, which does not solve such problems. Pass f as an array of NumPy")
    else:
        names, f = dimensions(f), _real("f", f)
        shape, dtype, by_columns, device = f.shape, _number(f.dtype), _by_columns(f), "cpu"
    spacing, boundary, grid, coordinates = (_numbered(given, names) for given in (spacing, boundary, grid, coordinates))
    solver = Solver(shape, spacing, boundary, grid, shift, method, mean, coordinates=coordinates, removable=removable, threads=threads,
                    pencils=pencils, dtype=dtype, order="F" if by_columns else "C", device=device)
    return solver.solve(f, full_output=full_output)


@_documented
class Solver:
    """Solver of (-Δ + shift) u = f on a box, prepared once for many right-hand sides.

    Parameters
    ----------
    shape : int or tuple of int
        Number of unknowns along each axis; one to three axes.
    @PARAMETERS
    dtype : dtype, default numpy.float64
        Number type of u: float64 or float32. The solver converts right-hand sides to it.
    order : str, default "C"
        Memory order, "C" or "F", of the right-hand sides for which the solver prepares. For the other order, it prepares at the first such
        right-hand side.
    device : str, default "cpu"
        "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. A GPU solves by the method "fft", takes right-hand sides on the GPU in order C, or one in
        order F, and copies those of the host. Along all axes but one that is not periodic, a line of unknowns must fit in the shared memory of a thread
        block. 96 KiB have room for about 3000 unknowns in double precision.

    Raises
    ------
    ValueError
        Shapes, names or numbers are wrong, or the method does not solve this problem.
    numpy.linalg.LinAlgError
        u would have no correct digit: the shift is an eigenvalue of the matrix up to rounding.
    MemoryError
        The memory is not sufficient.

    See Also
    --------
    - `bandsolve.poisson.solve`: solve once. Its notes explain `boundary` and `grid`.
    - `bandsolve.mpi.PoissonSlabs`: the same over the ranks of an MPI job.

    Notes
    -----
    Several threads may use one solver at the same time. On a GPU, their solves wait for each other. For cost and accuracy see `bandsolve.poisson.solve`.

    Examples
    --------
    Five pressure fields on cells, no flow through the walls. The problem is singular, so each f must have the mean 0:

    >>> import numpy as np
    >>> from bandsolve.poisson import Solver
    >>> pressure = Solver((64, 96), spacing=0.1, boundary="neumann", grid="cell")
    >>> f = np.random.default_rng(1).normal(size=(5, 64, 96))
    >>> f -= f.mean(axis=(1, 2), keepdims=True)
    >>> p = pressure.solve(f)
    >>> p.shape, bool(abs(p.mean(axis=(1, 2))).max() < 1e-12)
    ((5, 64, 96), True)

    A time loop that overwrites u with the solution, without a new array. Lower and upper side of axis 0 differ:

    >>> sides = (("dirichlet", "neumann"), "periodic")
    >>> step = Solver((50, 40), boundary=sides, shift=0.1)
    >>> u = np.ones((50, 40))
    >>> for _ in range(10):
    ...     u *= 0.1
    ...     u = step.solve(u, out=u)
    >>> print(round(u[0, 0], 4), round(u[49, 0], 4))
    0.0586 0.9978
    """

    def __init__(self, shape, spacing=1.0, boundary="dirichlet", grid="node", shift=0.0, method="auto", mean=0.0, *, coordinates=None,
                 removable=0.1, threads=None, pencils=None, dtype=np.float64, order="C", device="cpu"):
        self._shape = _checked_shape(shape)
        self._dtype = np.dtype(dtype)
        if self._dtype.char not in "fd":
            raise ValueError(f"dtype is {self._dtype}, expected float32 or float64")
        if order not in ("C", "F"):
            raise ValueError(f"order is {order!r}, expected 'C' or 'F'")
        self._pencils = None if pencils is None else _pencils(self._shape, pencils)
        if pencils is not None and not (_is_default(spacing, 1.0) and _is_default(boundary, "dirichlet") and _is_default(grid, "node")
                                        and coordinates is None and mean == 0.0):
            raise ValueError("pencils replaces spacing, boundary, grid, coordinates and mean: these arguments must be left out")
        if not isinstance(device, str):
            raise TypeError(f"device is {device!r}, expected \"cpu\", or \"cuda\", \"cuda:0\", \"cuda:1\", … for GPUs")
        if pencils is not None and device != "cpu":
            raise ValueError(f"device is {device!r}, expected 'cpu' for a problem with pencils")
        self._device = device
        self._axes = _axes(self._shape, spacing, boundary, grid, coordinates)
        threads = None if threads is None else whole_number("threads", threads, 1)
        shift, mean = _finite("shift", shift), _finite("mean", mean)
        self._options = {"shift": shift, "method": method, "mean": mean, "removable": removable, "threads": threads}
        self._lock, self._plans = threading.Lock(), {}
        self._first = self._plan(order == "F")

    def _plan(self, by_columns):
        """Return the plan for C-ordered arrays, or for Fortran-ordered ones, which are C-ordered with the axes reversed."""
        with self._lock:
            step = -1 if by_columns else 1
            if by_columns not in self._plans and self._pencils is not None:
                self._plans[by_columns] = _bandsolve.PoissonPlan.of_pencils(self._pencils[::step], self._options, self._dtype.char == "d")
            if by_columns not in self._plans:
                axes = [{**axis, "values": [_numbers(side.T if by_columns else side) for side in axis["values"]]} for axis in self._axes]
                made, device = (_bandsolve.PoissonPlan, ()) if self._device == "cpu" else (_plan_on_gpu(), (self._device,))
                self._plans[by_columns] = made(self._shape[::step], axes[::step], self._options, self._dtype.char == "d", *device)
            return self._plans[by_columns]

    @keeps_labels_of("f")
    def solve(self, f, *, out=None, full_output=False):
        """Solve for one right-hand side, or for many.

        Parameters
        ----------
        f : array_like
            The right-hand side, of the shape of the solver. Further axes in front count right-hand sides. It may be on the GPU of the solver.
        out : ndarray or array on the GPU, optional
            Array for u: the shape of `f`, the number type of the solver, and contiguous in the memory order of `f`. It may be `f` itself.
        full_output : bool, default False
            Return a report too.

        Returns
        -------
        u : ndarray, shape of f
            The solution; `out` if you pass it. It is a `bandsolve.gpu.DeviceArray` if `f` is on a GPU.
        report : dict
            Only with ``full_output=True``, see `bandsolve.poisson.solve`. For many right-hand sides, it holds the largest numbers.

        Raises
        ------
        ValueError
            `f` or `out` does not fit, or an entry of `f` is NaN or infinite.
        TypeError
            `f` does not hold real numbers.
        numpy.linalg.LinAlgError
            The problem is singular and `f` does not balance the values at the sides, or u is not accurate enough.

        See Also
        --------
        - `bandsolve.poisson.solve`: solve once, without a solver.
        """
        if any_on_gpu(f):
            return self._solve_on_gpu(f, out, full_output)
        f = _real("f", f)
        by_columns = self._checked(f.shape) == 0 and _by_columns(f)
        plan = self._plan(by_columns)
        u = None if out is None else self._checked_out(out, f, by_columns)
        with named_entries(f=f):
            if self._device != "cpu":
                u, report = self._solve_copied(plan, f, u, by_columns)
            elif out is None:
                u, report = plan.solve(f.T if by_columns else f)
                u = u.reshape(f.shape[::-1]).T if by_columns else u.reshape(f.shape)
            else:
                _, report = plan.solve(f.T if by_columns else f, u.T if by_columns else u)
        report["shape"] = self._shape
        return (u, report) if full_output else u

    def _checked(self, shape):
        """Return the number of axes in front of those of the box."""
        many = len(shape) - len(self._shape)
        if many < 0 or tuple(shape[many:]) != self._shape:
            raise ValueError(f"f has the shape {tuple(shape)}, expected {self._shape}, or more axes in front of these")
        return many

    def _solve_on_gpu(self, f, out, full_output):
        """Solve for a right-hand side on a GPU."""
        if self._device == "cpu":
            raise TypeError("f is on a GPU, but the solver is on the CPU. Make the solver with device=\"cuda\"")
        shape, _, by_columns, _ = _bandsolve.box_on_gpu(f)
        by_columns = self._checked(shape) == 0 and by_columns
        u, report = self._plan(by_columns).solve(f, out, by_columns)
        report["shape"] = self._shape
        return (u, report) if full_output else u

    def _solve_copied(self, plan, f, u, by_columns):
        """Copy a right-hand side to the GPU, and the solution back, to `u` if it is given."""
        axes = range(f.ndim)
        order = list(axes if by_columns else reversed(axes))
        solution, report = plan.solve(_bandsolve.gpu_array(f.astype(self._dtype, copy=False), order, self._device), by_columns=by_columns)
        if u is None:
            return solution.numpy(), report
        u[...] = solution.numpy()
        return u, report

    def _checked_out(self, out, f, by_columns):
        order = "F" if by_columns else "C"
        if not isinstance(out, np.ndarray) or out.shape != f.shape or out.dtype != self._dtype:
            found = f"{out.dtype} of the shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise ValueError(f"out is {found}, expected an array of {self._dtype} of the shape {f.shape}")
        if not out.flags.aligned or not out.flags.writeable or not out.flags[f"{order}_CONTIGUOUS"]:
            raise ValueError(f"out must be writable, aligned, and contiguous in order {order}, the memory order of f")
        same = out.ctypes.data == f.ctypes.data and out.strides == f.strides and out.dtype == f.dtype
        if not same and np.may_share_memory(out, f):
            raise ValueError("out overlaps f in memory, but is not f. Pass f itself, or a separate array")
        return out

    @property
    def shape(self):
        """Number of unknowns along each axis."""
        return self._shape

    @property
    def dtype(self):
        """Number type of u."""
        return self._dtype

    @property
    def method(self):
        """Name of the method."""
        return self._first.method

    @property
    def reason(self):
        """Why the solver chose this method, in words."""
        return self._first.reason

    def __repr__(self):
        device = "" if self._device == "cpu" else f", device={self._device!r}"
        return f"Solver(shape={self._shape}, method={self.method!r}, dtype={self._dtype}{device})"


def _plan_on_gpu():
    """Return the class of plans on a GPU."""
    made = getattr(_bandsolve, "DevicePoissonPlan", None)
    if made is None:
        raise RuntimeError("bandsolve was built without CUDA; `pip install .` builds it with CUDA")
    return made


def _real(name, values):
    """Return the values as an array of real numbers."""
    values = as_array(values)
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name} has the type {values.dtype}, expected real numbers")
    return values


def _number(dtype):
    """Return the number type of u for a right-hand side of this type."""
    return np.dtype(np.float32 if dtype.kind == "f" and dtype.itemsize <= 4 else np.float64)


def _finite(name, value):
    """Return the value as a finite number."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ValueError(f"{name} is {value!r}, expected a finite number")
    return number


def _positive(name, value):
    """Return the value as a finite number above 0."""
    number = _finite(name, value)
    if number <= 0:
        raise ValueError(f"{name} is {value!r}, expected a positive number")
    return number


def _by_columns(f):
    return f.flags.f_contiguous and not f.flags.c_contiguous


def _numbers(values):
    """Return the values as a contiguous vector in double precision."""
    return np.ascontiguousarray(values, np.float64).reshape(-1)


def _checked_shape(shape):
    lengths = (shape,) if np.ndim(shape) == 0 else tuple(shape)
    lengths = tuple(operator.index(n) for n in lengths)
    if not 1 <= len(lengths) <= 3:
        raise ValueError(f"a box of the shape {lengths} has {len(lengths)} axes, expected 1 to 3")
    if min(lengths) < 0 or max(lengths) >= 1 << 63:
        raise ValueError(f"the shape is {lengths}, expected numbers from 0 to 2**63 - 1")
    return lengths


def _axes(shape, spacing, boundary, grid, coordinates):
    """Return the arguments of the compiled part for each axis; the values of a side keep its shape."""
    count = len(shape)
    defaults = {"spacing": (spacing, 1.0), "grid": (grid, "node"), "coordinates": (coordinates, None)}
    spacing, grid, coordinates = (_by_axis(name, given, count, default) if isinstance(given, dict) else given
                                  for name, (given, default) in defaults.items())
    spacings = _each("spacing", spacing, count, np.ndim(spacing) == 0)
    grids = _each("grid", grid, count, isinstance(grid, str))
    boundaries = _conditions(boundary, count)
    if coordinates is not None and count == 1 and len(coordinates) and np.ndim(coordinates[0]) == 0 and coordinates[0] is not None:
        coordinates = [coordinates]
    coordinates = _each("coordinates", coordinates, count, coordinates is None)
    made = []
    for axis in range(count):
        points = coordinates[axis] if coordinates[axis] is None else _real("coordinates", coordinates[axis])
        if points is not None and points.ndim != 1:
            raise ValueError(f"coordinates of axis {axis} have the shape {points.shape}, expected one dimension")
        kinds = [kind for kind, _ in boundaries[axis]]
        _check_cells(axis, kinds, shape[axis], grids[axis], spacings[axis] if points is None else np.diff(points))
        made.append({
            "kinds": [kind if isinstance(kind, str) else kind[0] for kind in kinds],
            "coefficients": [(0.0, 1.0) if isinstance(kind, str) else kind[1:] for kind in kinds],
            "values": [_side_values(value, axis, shape) for _, value in boundaries[axis]],
            "grid": grids[axis],
            "spacing": _positive("spacing", spacings[axis]),
            "coordinates": None if points is None else _numbers(points),
        })
    return made


def _conditions(boundary, count):
    """Return (kind, value) of the lower and of the upper side of each axis. The values are as the caller gave them.

    A kind is a name, or ("robin", alpha, beta). A kind is also a condition, with the value 0.
    """
    if isinstance(boundary, dict):
        boundary = [_both_sides(given) for given in _by_axis("boundary", boundary, count, "dirichlet")]
    alone = _is_side(boundary) or count == 1 and len(boundary) == 2
    entries = _each("boundary", boundary, count, alone)
    return [[_kind_and_value(side, f"the {end} side of axis {axis}") for side, end in zip(_sides(given, axis), ("lower", "upper"))]
            for axis, given in enumerate(entries)]


def _kind_and_value(side, where):
    """Return the kind and the value of the condition of one side."""
    name, *numbers = (side,) if isinstance(side, str) else side
    if name != "robin":
        return name, numbers[0] if numbers else 0.0
    if len(numbers) < 2:
        raise ValueError(f'{where} has the condition {side!r}, expected ("robin", alpha, beta), or ("robin", alpha, beta, value)')
    alpha, beta = (_coefficient(f"{what} at {where}", number) for what, number in zip(("alpha", "beta"), numbers))
    if beta == 0:
        raise ValueError(f'beta at {where} is 0. Pass another number, or ("dirichlet", value) for u = value')
    return (name, alpha, beta), numbers[2] if len(numbers) == 3 else 0.0


def _coefficient(name, value):
    """Return a coefficient of a Robin side as a finite number."""
    if getattr(value, "requires_grad", False):
        raise TypeError(f"{name} requires derivatives, but there are none with respect to alpha and beta. Pass the number without derivatives")
    return _finite(name, value)


def _check_cells(axis, kinds, n, grid, widths):
    """Raise an error if a cell next to a Robin side is so wide that the condition does not give the derivative at the side."""
    if grid != "cell" or n == 0 or np.size(widths) == 0:
        return
    for kind, end, width in zip(kinds, ("lower", "upper"), (np.ravel(widths)[0], np.ravel(widths)[-1])):
        if not isinstance(kind, str) and not 1 + kind[1] / kind[2] * width / 2 > 0:
            raise ValueError(f"the {end} side of axis {axis} has alpha / beta = {kind[1] / kind[2]:g}, next to a cell of width {width:g}, "
                             f"expected cells narrower than {-2 * kind[2] / kind[1]:g} at this side")


def _is_default(given, default):
    return type(given) is type(default) and given == default


def _pencils(shape, pencils):
    """Return sub, diag and sup of A and of M for each axis."""
    if len(pencils) != len(shape):
        raise ValueError(f"pencils has {len(pencils)} entries, expected {len(shape)}, one for each axis")
    made = []
    for axis, (pencil, n) in enumerate(zip(pencils, shape)):
        if len(pencil) != 2:
            raise ValueError(f"the pencil of axis {axis} has {len(pencil)} entries, expected two: A and M")
        a, m = pencil
        m = (np.zeros(n), np.ones(n), np.zeros(n)) if m is None else m
        made.append([*_diagonals(f"A of axis {axis}", a, n), *_diagonals(f"M of axis {axis}", m, n)])
    return made


def _diagonals(name, matrix, n):
    """Return sub, diag and sup with n entries each."""
    if not hasattr(matrix, "diagonal"):
        arrays = [_numbers(_real(name, x)) for x in matrix]
        if [len(x) for x in arrays] != [n] * 3:
            raise ValueError(f"{name} has arrays of the lengths {[len(x) for x in arrays]}, expected three of length {n}: sub, diag and sup")
        return arrays
    if matrix.shape != (n, n):
        raise ValueError(f"{name} has the shape {matrix.shape}, expected {(n, n)}")
    # A matrix with one row has no off-diagonals.
    below, diag, above = (np.asarray(matrix.diagonal(k) if abs(k) < n else np.zeros(0), np.float64) for k in (-1, 0, 1))
    count = matrix.count_nonzero() if hasattr(matrix, "count_nonzero") else np.count_nonzero(matrix)
    if count != sum(map(np.count_nonzero, (below, diag, above))):
        raise ValueError(f"{name} has non-zero entries outside its three diagonals, expected a tridiagonal matrix")
    none = np.zeros(min(n, 1))
    return [np.concatenate([none, below]), np.ascontiguousarray(diag), np.concatenate([above, none])]


def _each(name, given, count, alone):
    """Return one value for each axis: the same value for all axes, or the entries of a sequence."""
    if alone:
        return [given] * count
    if len(given) != count:
        raise ValueError(f"{name} has {len(given)} entries, expected {count}, one for each axis")
    return list(given)


def _is_named(given):
    return isinstance(given, str) or isinstance(given, (tuple, list)) and any(map(_is_named, given))


def _is_side(given):
    """Whether this is the condition of one side: a name, or a name and a value, or "robin" and two or three numbers."""
    if isinstance(given, (tuple, list)) and given and isinstance(given[0], str):
        return len(given) in ((2, 3, 4) if given[0] == "robin" else (2,)) and not any(map(_is_named, given[1:]))
    return isinstance(given, str)


_AXES = {"x": 0, "y": 1, "z": 2}


def _numbered(given, names):
    """Return a dict with numbers of axes as keys, where names of dimensions were."""
    return {names.index(key) if key in names else key: entry for key, entry in given.items()} if names and isinstance(given, dict) else given


def _by_axis(name, by_axis, count, default):
    """Return the entry of each axis of a dict. The default is that of axes without an entry."""
    entries = [default] * count
    seen = set()
    for key, given in by_axis.items():
        axis = _AXES.get(key, key) if isinstance(key, str) else key
        if isinstance(axis, bool) or not isinstance(axis, (int, np.integer)) or not -count <= axis < count:
            raise ValueError(f"{name} has the key {key!r}, expected a number of an axis from {-count} to {count - 1}, or one of "
                             f"{', '.join(map(repr, list(_AXES)[:count]))}")
        axis = int(axis) % count
        if axis in seen:
            raise ValueError(f"{name} has two keys for axis {axis}, expected one")
        seen.add(axis)
        entries[axis] = given
    return entries


def _both_sides(given):
    """Return a pair for a dict with "lower" and "upper", and anything else as it is."""
    if not isinstance(given, dict):
        return given
    wrong = [key for key in given if key not in ("lower", "upper")]
    if wrong:
        raise ValueError(f"boundary of an axis has the key {wrong[0]!r}, expected 'lower' or 'upper'")
    return given.get("lower", "dirichlet"), given.get("upper", "dirichlet")


def _sides(given, axis):
    """Return the conditions of the two sides of an axis."""
    sides = (given, given) if _is_side(given) else given
    if not (isinstance(sides, (tuple, list)) and len(sides) == 2 and all(map(_is_side, sides))):
        raise ValueError(f"the boundary of axis {axis} is {given!r}, expected a name, (name, value), (\"robin\", alpha, beta, value), "
                         "or a pair (lower, upper) of these")
    return sides


def _side_values(value, axis, shape):
    """Return the values of a side: one number, or one for each point, in the shape of the side."""
    values = _real("the value of a side", value)
    return np.broadcast_to(values, side_shape(values.shape, axis, shape)) if values.ndim else values


def side_shape(values, axis, shape):
    """Return the shape of the sides of an axis. Values of the shape `values` must broadcast to it."""
    side = shape[:axis] + shape[axis + 1 :]
    try:
        fits = np.broadcast_shapes(values, side) == side
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"the values at a side of axis {axis} have the shape {tuple(values)}, expected {side}, or a shape that broadcasts to it")
    return side
