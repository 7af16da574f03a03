"""Systems, eigenvalues and Poisson problems over the processes (ranks) of an mpi4py communicator, every answer verified.

Each rank passes its own consecutive rows as NumPy arrays, or arrays of no rows, and gets its own part of x. All functions and methods are
collective: all ranks of the communicator call them in the same order. All get the same report, or raise the same error.

    from mpi4py import MPI
    import numpy as np, bandsolve.mpi

    comm = MPI.COMM_WORLD
    m = 100_000                                   # own rows; ranks may have different numbers
    off, diag = np.full(m, -1.0), np.full(m, 2.5)
    x = bandsolve.mpi.solve_tridiagonal(comm, off, diag, off, np.ones(m))

=====================================  ================================================================
one system                             `solve_tridiagonal`, `solve_block_tridiagonal`, `solve_banded`
one matrix, many solves                `Blocks` and `Banded`: ``factor()`` returns a `RankFactor`
many systems along an axis             `solve_batch`; `Batch`, which is factored as they are
Poisson problems in slabs              `solve_poisson`; `PoissonSlabs` for many right-hand sides
eigenvalues nearest to a number        `eigsh`
=====================================  ================================================================

The functions call a library of their own, ``libbandsolve_mpi_capi``, which is linked with MPI::

    cargo build --release -p bandsolve-mpi-capi
    export BANDSOLVE_MPI_LIBRARY=$PWD/target/release/libbandsolve_mpi_capi.so
"""

import ctypes
import functools
import hashlib
import math
import os
import pickle
import sys
import threading
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bandsolve._bandsolve import __VERSION__
from bandsolve._scipy import _result_type, _widths
from bandsolve.poisson import _axes, _checked_shape, _number, _real
from bandsolve.sparse import _tolerance, _whole_number

__all__ = ["Banded", "Batch", "Blocks", "PoissonSlabs", "RankFactor", "RankReport", "eigsh", "solve_banded", "solve_batch",
           "solve_block_tridiagonal", "solve_poisson", "solve_tridiagonal"]

# The environment variable that says where the library is, and its name.
_VARIABLE = "BANDSOLVE_MPI_LIBRARY"
_NAME = "libbandsolve_mpi_capi" + (".dylib" if sys.platform == "darwin" else ".so")
_KINDS = {np.dtype(np.float32): 0, np.dtype(np.float64): 1, np.dtype(np.complex64): 2, np.dtype(np.complex128): 3}
_HOW = f"""Build it beside an MPI library, in the folder of the sources of bandsolve {__VERSION__}, and say where it is:
    cargo build --release -p bandsolve-mpi-capi
    export {_VARIABLE}=$PWD/target/release/{_NAME}"""


class RankReport(NamedTuple):
    """How a solve over ranks went; the same on all ranks."""

    method: str
    reason: str
    backward_error: float
    backward_errors: list
    refinement_steps: int
    fallback: bool
    rcond: float
    """An estimate of 1 / ‖A⁻¹ diag(Σⱼ|aᵢⱼ|)‖∞, the reciprocal of the row-wise condition; of a batch, that of its worst system. NaN if it is
    not known."""
    attention: str | None
    """In words, whether x may have no correct digit, however small the backward error is; None if nothing suggests that."""


class _Solved(ctypes.Structure):
    _fields_ = [("refinement_steps", ctypes.c_int32), ("fallback", ctypes.c_int32), ("method", ctypes.c_char * 32),
                ("reason", ctypes.c_char * 160)]


class _Condition(ctypes.Structure):
    _fields_ = [("backward_error", ctypes.c_double), ("rcond", ctypes.c_double), ("attention", ctypes.c_char * 256)]


class _Eigen(ctypes.Structure):
    _fields_ = [("target", ctypes.c_double), ("tol", ctypes.c_double), ("k", ctypes.c_size_t), ("ncv", ctypes.c_size_t),
                ("max_restarts", ctypes.c_size_t), ("seed", ctypes.c_uint64), ("found", ctypes.c_size_t),
                ("restarts", ctypes.c_size_t), ("solves", ctypes.c_size_t), ("complete", ctypes.c_int32),
                ("converged", ctypes.c_int32), ("ending", ctypes.c_char * 64)]


class _Axis(ctypes.Structure):
    _fields_ = [("n", ctypes.c_size_t), ("grid", ctypes.c_int32), ("kinds", ctypes.c_int32 * 2), ("spacing", ctypes.c_double),
                ("coordinates", ctypes.c_void_p), ("n_coordinates", ctypes.c_size_t), ("values", ctypes.c_void_p * 2),
                ("n_values", ctypes.c_size_t * 2)]


class _Box(ctypes.Structure):
    _fields_ = [("n_axes", ctypes.c_size_t), ("shift", ctypes.c_double), ("mean", ctypes.c_double), ("removable", ctypes.c_double)]


class _PoissonSolved(ctypes.Structure):
    _fields_ = [("removed", ctypes.c_double), ("mean", ctypes.c_double), ("refinement_steps", ctypes.c_size_t),
                ("subproblems", ctypes.c_size_t), ("rcond", ctypes.c_double), ("attention", ctypes.c_char * 256),
                ("method", ctypes.c_char * 32), ("reason", ctypes.c_char * 160)]


@functools.cache
def _library():
    """The library, whose version is this one's."""
    named = os.environ.get(_VARIABLE)
    beside = Path(__file__).parent / _NAME
    try:
        library = ctypes.CDLL(named or (str(beside) if beside.exists() else _NAME))
    except OSError as error:
        raise ImportError(f"bandsolve.mpi needs the library {named or _NAME}, which could not be opened: {error}\n{_HOW}") from None
    library.bandsolve_mpi_version.restype = ctypes.c_char_p
    version = library.bandsolve_mpi_version().decode()
    if version != __VERSION__:
        raise ImportError(f"{named or _NAME} is of bandsolve {version}, this package of {__VERSION__}.\n{_HOW}")
    pointer, size, integer = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int32
    for name, arguments in {
        "ranks": [pointer, size, pointer],
        "blocks": [pointer, integer, integer, size, size, pointer, pointer, pointer, pointer],
        "banded": [pointer, integer, size, size, size, pointer, pointer],
        "batch": [pointer, integer, integer, integer, size, size, pointer, pointer, pointer, pointer],
        "poisson": [pointer, integer, pointer, pointer, size, pointer],
        "poisson_solve": [pointer, size, pointer, size, pointer, pointer],
        "apply": [pointer, size, pointer, pointer],
        "factor": [pointer, ctypes.c_char_p, pointer],
        "solve": [pointer, integer, size, pointer, size, pointer, pointer],
        "condition": [pointer, pointer],
        "eigsh": [pointer, pointer, pointer, pointer, pointer, pointer, size, pointer],
        "free_ranks": [pointer],
        "free_matrix": [pointer],
        "free_factors": [pointer],
        "free_poisson": [pointer],
    }.items():
        function = getattr(library, f"bandsolve_mpi_{name}")
        function.argtypes, function.restype = arguments, (None if name.startswith("free") else integer)
    library.bandsolve_mpi_library.restype = library.bandsolve_mpi_last_error.restype = ctypes.c_char_p
    return library


def _call(name, *arguments):
    library = _library()
    status = getattr(library, f"bandsolve_mpi_{name}")(*arguments)
    if status:
        message = library.bandsolve_mpi_last_error().decode()
        raise {2: np.linalg.LinAlgError, 3: MemoryError}.get(status, ValueError)(message)


class _Handle:
    """What the library made, until it is freed."""

    def __init__(self, free, name, *arguments):
        self._as_parameter_, self._free = ctypes.c_void_p(), free
        _call(name, *arguments, ctypes.byref(self._as_parameter_))

    def __del__(self):
        # While Python ends, there may be no library any more.
        if self._as_parameter_ and _library is not None:
            getattr(_library(), self._free)(self._as_parameter_)


@functools.cache
def _keyval():
    from mpi4py import MPI

    return MPI.Comm.Create_keyval()


def _ranks_of(comm):
    """The ranks of a communicator, which is duplicated the first time. Collective."""
    ranks = comm.Get_attr(_keyval())
    if ranks is None:
        from mpi4py import MPI

        ranks = _Handle("bandsolve_mpi_free_ranks", "ranks", MPI._addressof(comm), MPI._sizeof(comm))
        ranks.thread = threading.get_ident()
        comm.Set_attr(_keyval(), ranks)
    return ranks


@functools.cache
def _check_library():
    """The library calls the MPI of mpi4py."""
    from mpi4py import MPI

    named = _library().bandsolve_mpi_library().decode().strip("\0\n ")
    theirs = MPI.Get_library_version().strip("\0\n ")
    if named != theirs:
        raise ImportError(f"mpi4py calls {theirs}, {_NAME} calls {named}: build the one with the MPI of the other")


def _check_comm(comm):
    """The communicator has one group, and is used in the thread that used it first."""
    _check_library()
    if comm.Is_inter():
        raise ValueError("comm is an intercommunicator")
    ranks = comm.Get_attr(_keyval())
    if ranks is not None and ranks.thread != threading.get_ident():
        raise RuntimeError("comm is used in another thread than at first: make all calls with one communicator in one thread")


def _check_thread():
    """MPI may be called in this thread. If not, no other rank can be told, and this process ends, so that mpirun ends them."""
    from mpi4py import MPI

    if MPI.Query_thread() < MPI.THREAD_SERIALIZED and not MPI.Is_thread_main():
        print("bandsolve.mpi: MPI was started for calls of one thread, and is called in another", file=sys.stderr, flush=True)
        os.abort()


_RAISED = {kind.__name__: kind for kind in (ValueError, TypeError, ImportError, MemoryError, RuntimeError, np.linalg.LinAlgError)}


def _name_of(error):
    """The name of the error that other ranks raise."""
    return next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _RAISED), "RuntimeError")


def _agreed(comm, prepare, *arguments):
    """What `prepare` returns: own arrays, and what has to be the same on all ranks. Where it raises on one rank, all raise.

    Whatever can fail on one rank alone belongs into `prepare`: memory, conversions, what is wrong with arguments.
    """
    made, error = None, None
    _check_thread()
    try:
        _check_comm(comm)
        made, same = prepare(*arguments)
        # Bytes are sent, which no rank fails to make once the others wait.
        told = pickle.dumps({"call": prepare.__qualname__.split(".<locals>")[0], **same})
    except BaseException as raised:  # noqa: BLE001 - the others would wait for this rank for ever
        error = raised
        told = pickle.dumps((_name_of(raised), str(raised)))
    told = [pickle.loads(one) for one in comm.allgather(told)]
    for rank, one in enumerate(told):
        if isinstance(one, tuple):
            if error is not None and not isinstance(error, Exception):
                raise error
            raise _RAISED[one[0]](f"rank {rank}: {one[1]}") from error
    for rank, one in enumerate(told):
        for what, value in one.items():
            if what != "dtype" and value != told[0].get(what):
                raise ValueError(f"rank {rank}: {what} is {value!r}, but {told[0].get(what)!r} on rank 0")
    dtypes = [np.empty(0, one["dtype"]) for one in told]
    return made, _result_type(*dtypes)


def _numbers(name, array, *dimensions):
    if isinstance(array, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array: fill its masked entries first")
    array = np.asarray(array)
    if dimensions and array.ndim not in dimensions:
        expected = " or ".join(str(count) for count in dimensions)
        raise ValueError(f"{name} has {array.ndim} dimensions, expected {expected}")
    if array.dtype.kind not in "fciub":
        raise TypeError(f"{name} holds {array.dtype}, expected numbers")
    return array


def _in_memory(array, dtype):
    """The numbers one after the other, each at a multiple of its size, as the library reads them."""
    return np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def _type_of(named, dtype):
    """The type in which numbers are computed with."""
    if dtype is None:
        return _result_type(*named.values())
    if np.dtype(dtype) not in _KINDS:
        raise ValueError(f"dtype is {np.dtype(dtype)}, expected one of {', '.join(map(str, _KINDS))}")
    for name, array in named.items():
        if array.dtype.kind == "c" and np.dtype(dtype).kind != "c":
            raise ValueError(f"{name} is complex, but dtype is {np.dtype(dtype)}: pass its real part, or a complex dtype")
    return np.dtype(dtype)


def _converted(comm, convert, arrays, dtype):
    """Arrays as the library reads them, on all ranks."""
    def prepare():
        return [_in_memory(convert(array), dtype) for array in arrays], {"dtype": dtype}

    return _agreed(comm, prepare)[0]


_NAMES = "sub", "diag", "sup"


def _check_alike(arrays):
    """sub and sup have the shape of diag."""
    for name, array in zip(_NAMES, arrays):
        if array.shape != arrays[1].shape:
            raise ValueError(f"{name} has the shape {array.shape}, expected {arrays[1].shape}, that of diag")


class _Distributed:
    """A matrix of which this rank has rows."""

    comm = None
    dtype = None
    _rows = 0

    def _columns(self, name, array):
        """Columns of own rows, of this matrix's type, and room for what comes of them in the caller's shape."""
        array = _numbers(name, array, *self._dimensions)
        if array.shape[:-1] != self._own and array.shape != self._own:
            own = ", ".join(map(str, self._own))
            raise ValueError(f"{name} has the shape {array.shape}, expected ({own}) or ({own}, k)")
        if array.dtype.kind == "c" and self.dtype.kind != "c":
            raise ValueError(f"{name} is complex, the matrix is real")
        columns = np.empty((1 if array.shape == self._own else array.shape[-1], self._rows), self.dtype)
        self._as_given(columns, array.shape)[...] = array
        return (columns, np.empty(array.shape, self.dtype)), {"dtype": self.dtype, f"number of dimensions of {name}": array.ndim}

    def _as_solved(self, array):
        """An array with its axes in the order in which they are solved."""
        return array

    def _as_given(self, columns, shape):
        """A view of columns as an array of the caller's shape."""
        columns = columns.reshape(len(columns), *self._own)
        return columns[0] if shape == self._own else np.moveaxis(columns, 0, -1)

    def factor(self, method="auto"):
        """Factor, to solve again and again. Collective.

        Parameters
        ----------
        method : str
            'auto'; of `Blocks` 'bcyclic', 'block-spike', 'spike-truncated', of `Banded` 'spike', 'spike-truncated'; of `Batch` 'auto' alone.

        Returns
        -------
        RankFactor
        """
        def prepare():
            return str(method).encode(), {"dtype": self.dtype, "method": str(method)}

        name, _ = _agreed(self.comm, prepare)
        return RankFactor(self, name)

    def __matmul__(self, x):
        """Own rows of A @ x; x has own rows. Collective."""
        def prepare():
            (columns, given), told = self._columns("x", x)
            return (columns, np.empty_like(columns), given), told

        (columns, y, given), _ = _agreed(self.comm, prepare)
        _call("apply", self._handle, columns.size, columns.ctypes.data, y.ctypes.data)
        given[...] = self._as_given(y, given.shape)
        return given


class Blocks(_Distributed):
    """A block tridiagonal matrix over ranks, or a tridiagonal one. Collective.

    Block row i reads ``sub[i] @ x[i-1] + diag[i] @ x[i] + sup[i] @ x[i+1]``. The first `sub` of the first rank that has rows and the last
    `sup` of the last are ignored, or are the corners of a periodic matrix.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    sub, diag, sup : (m, b, b) or (m,) array_like
        Blocks, or numbers, of the m own rows; m = 0 is allowed.
    periodic : bool
        Whether the first and the last row of all are neighbours.
    dtype : dtype, optional
        Type of the numbers; else that which the arrays of all ranks need.
    """

    def __init__(self, comm, sub, diag, sup, *, periodic=False, dtype=None):
        arrays, dtype = _agreed(comm, self._prepared, (sub, diag, sup), periodic, dtype)
        # Blocks by columns.
        blocks = _converted(comm, lambda array: array.swapaxes(-1, -2) if array.ndim == 3 else array, arrays, dtype)
        diag = arrays[1]
        block = diag.shape[-1] if diag.ndim == 3 else 1
        self.comm, self.dtype, self.block = comm, dtype, block
        self._own = diag.shape[:1] if diag.ndim == 1 else diag.shape[:2]
        self._dimensions = (len(self._own), len(self._own) + 1)
        self._rows = diag.shape[0] * block
        ranks, pointers = _ranks_of(comm), [array.ctypes.data for array in blocks]
        self._handle = _Handle("bandsolve_mpi_free_matrix", "blocks", ranks, _KINDS[dtype], bool(periodic), block, blocks[1].size, *pointers)

    @staticmethod
    def _prepared(arrays, periodic, dtype):
        arrays = [_numbers(name, array, 1, 3) for name, array in zip(_NAMES, arrays)]
        shape = arrays[1].shape
        if len(shape) == 3 and (shape[1] != shape[2] or shape[1] == 0):
            raise ValueError(f"diag has the shape {shape}, expected (block rows, block, block)")
        _check_alike(arrays)
        return arrays, {"shape of blocks": shape[1:], "periodic": bool(periodic), "dtype": _type_of(dict(zip(_NAMES, arrays)), dtype)}


class Banded(_Distributed):
    """A banded matrix over ranks. Collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    l_and_u : (int, int)
        Diagonals below and above the main one.
    rows : (m, l + u + 1) array_like
        The m own rows from left to right: ``rows[i, l + j - i] == A[i, j]``, i and j counted from the first own row. What is left of the
        first column of A or right of its last is ignored; m = 0 is allowed.
    dtype : dtype, optional
        Type of the numbers; else that which the arrays of all ranks need.
    """

    def __init__(self, comm, l_and_u, rows, *, dtype=None):
        (rows, (lower, upper)), dtype = _agreed(comm, self._prepared, l_and_u, rows, dtype)
        [numbers] = _converted(comm, np.asarray, [rows], dtype)
        self.comm, self.dtype, self._rows, self._own, self._dimensions = comm, dtype, len(rows), rows.shape[:1], (1, 2)
        self._handle = _Handle("bandsolve_mpi_free_matrix", "banded", _ranks_of(comm), _KINDS[dtype], lower, upper, numbers.size,
                               numbers.ctypes.data)

    @staticmethod
    def _prepared(l_and_u, rows, dtype):
        lower, upper = (int(width) for width in _widths(l_and_u))
        rows = _numbers("rows", rows, 2)
        if rows.shape[1] != lower + upper + 1:
            raise ValueError(f"rows has the shape {rows.shape}, expected (own rows, {lower + upper + 1})")
        return (rows, (lower, upper)), {"l_and_u": (lower, upper), "dtype": _type_of({"rows": rows}, dtype)}


class Batch(_Distributed):
    """Many tridiagonal matrices of one size, rows of each over ranks: lines of a field that is cut across them. Collective.

    Along `axis`, row i of every system reads ``sub[i]*x[i-1] + diag[i]*x[i] + sup[i]*x[i+1] == rhs[i]``. A solve has two exchanges of all
    ranks with all, whatever the number of systems.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    sub, diag, sup : (m, ...) array_like
        The m own rows of all systems, of one shape; m = 0 is allowed. The other axes count the systems, and are alike on all ranks. The
        first `sub` of the first rank that has rows and the last `sup` of the last are ignored, or are the corners of periodic matrices.
    axis : int
        The axis along which the rows of a system run, which is cut between the ranks. The first one is solved as it lies in memory; the
        last one is turned, others are moved.
    periodic : bool
        Whether the first and the last row of each system are neighbours.
    dtype : dtype, optional
        Type of the numbers; else that which the arrays of all ranks need.
    """

    def __init__(self, comm, sub, diag, sup, *, axis=0, periodic=False, dtype=None):
        (arrays, axis), dtype = _agreed(comm, self._prepared, (sub, diag, sup), axis, periodic, dtype)
        shape = arrays[0].shape
        self.comm, self.dtype, self.axis, self._own, self._rows = comm, dtype, axis, shape, math.prod(shape)
        self._dimensions = (len(shape), len(shape) + 1)
        # What lies in between is moved to the front.
        self._turned = 0 < axis == len(shape) - 1
        count = math.prod(shape[:axis] + shape[axis + 1 :])
        numbers = _converted(comm, self._as_solved, arrays, dtype)
        pointers = [array.ctypes.data for array in numbers]
        self._handle = _Handle("bandsolve_mpi_free_matrix", "batch", _ranks_of(comm), _KINDS[dtype], bool(periodic), not self._turned, count,
                               self._rows, *pointers)

    def _as_solved(self, array):
        return array if self._turned else np.moveaxis(array, self.axis, 0)

    def _as_given(self, columns, shape):
        if self._turned:
            return super()._as_given(columns, shape)
        moved = (self._own[self.axis], *self._own[: self.axis], *self._own[self.axis + 1 :])
        columns = np.moveaxis(columns.reshape(len(columns), *moved), 1, self.axis + 1)
        return columns[0] if shape == self._own else np.moveaxis(columns, 0, -1)

    @staticmethod
    def _prepared(arrays, axis, periodic, dtype):
        arrays = [_numbers(name, array) for name, array in zip(_NAMES, arrays)]
        shape = arrays[1].shape
        if not shape:
            raise ValueError("diag has no axis")
        _check_alike(arrays)
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"axis {axis} is out of bounds for arrays of {len(shape)} dimensions")
        axis = int(axis) % len(shape)
        others = shape[:axis] + shape[axis + 1 :]
        told = {"shape of the systems": others, "axis": axis, "periodic": bool(periodic)}
        return (arrays, axis), {**told, "dtype": _type_of(dict(zip(_NAMES, arrays)), dtype)}


class RankFactor:
    """Factors of a matrix over ranks: `Blocks.factor`, `Banded.factor` and `Batch.factor` make them."""

    def __init__(self, matrix, method):
        self._matrix = matrix
        self._handle = _Handle("bandsolve_mpi_free_factors", "factor", matrix._handle, method)

    def solve(self, rhs, *, transpose=False, full_output=False):
        """Solve A @ x == rhs. Collective.

        Parameters
        ----------
        rhs : array_like
            Own rows of one right-hand side, or of k: (m,) or (m, k); of blocks (m, b) or (m, b, k); of a batch one in the shape of its
            arrays, or k along one more axis at the end.
        transpose : bool or 'H'
            True for Aᵀ, 'H' for Aᴴ.
        full_output : bool
            Whether to return a `RankReport`, too, the same on all ranks. The first report of these factors estimates the condition by at most
            12 more solves.

        Returns
        -------
        x : ndarray
            Own rows, of the shape of `rhs`; with `full_output` a tuple of it and a `RankReport`.

        Raises
        ------
        ValueError
            Shapes do not fit, or a number is not finite, on any rank.
        numpy.linalg.LinAlgError
            The matrix is singular.
        """
        matrix = self._matrix

        def prepare():
            if transpose not in (False, True, "H"):
                raise ValueError(f"transpose is {transpose!r}, expected True, False or 'H'")
            (columns, given), told = matrix._columns("rhs", rhs)
            op = {False: 0, True: 1, "H": 2}[transpose]
            return (columns, given, np.full(len(columns), np.nan), op), {**told, "transpose": op, "full_output": bool(full_output)}

        (columns, x, errors, op), _ = _agreed(matrix.comm, prepare)
        solved = _Solved()
        _call("solve", self._handle, op, columns.size, columns.ctypes.data, len(columns), errors.ctypes.data, ctypes.byref(solved))
        x[...] = matrix._as_given(columns, x.shape)
        if not full_output:
            return x
        worst = float(errors.max()) if len(errors) else 0.0
        condition = _Condition(worst)
        _call("condition", self._handle, ctypes.byref(condition))
        attention = condition.attention.decode(errors="replace") or None
        return x, RankReport(solved.method.decode(), solved.reason.decode(), worst, errors.tolist(), solved.refinement_steps,
                             bool(solved.fallback), condition.rcond, attention)


_SOLVED = """rhs, full_output
        As for `RankFactor.solve`.

    Returns
    -------
    x : ndarray
        Own rows, of the shape of `rhs`; with `full_output` a tuple of it and a `RankReport`."""

_PROBLEM = """spacing, boundary, grid, shift, mean, coordinates, removable
        As for `bandsolve.poisson.solve`, the same on all ranks: of the whole box, also coordinates along the first axis and arrays of values
        at its sides."""


def _documented(item):
    """With the parts that documentation has in common."""
    item.__doc__ = item.__doc__.replace("@SOLVED", _SOLVED).replace("@PROBLEM", _PROBLEM)
    return item


@_documented
def solve_tridiagonal(comm, sub, diag, sup, rhs, *, periodic=False, full_output=False):
    """Solve a tridiagonal system over ranks. Collective.

    Row i reads ``sub[i]*x[i-1] + diag[i]*x[i] + sup[i]*x[i+1] == rhs[i]``.

    Parameters
    ----------
    comm, sub, diag, sup, periodic
        As for `Blocks`: m numbers of own rows each.
    @SOLVED
    """
    return _solved_blocks(comm, (sub, diag, sup), rhs, periodic, full_output)


@_documented
def solve_block_tridiagonal(comm, sub, diag, sup, rhs, *, periodic=False, full_output=False):
    """Solve a block tridiagonal system over ranks. Collective.

    Parameters
    ----------
    comm, sub, diag, sup, periodic
        As for `Blocks`: m blocks of own block rows each.
    @SOLVED
    """
    return _solved_blocks(comm, (sub, diag, sup), rhs, periodic, full_output)


@_documented
def solve_banded(comm, l_and_u, rows, rhs, *, full_output=False):
    """Solve a banded system over ranks. Collective.

    Parameters
    ----------
    comm, l_and_u, rows
        As for `Banded`: by rows, not by columns as in `bandsolve.solve_banded`.
    @SOLVED
    """
    return _solved(lambda dtype: Banded(comm, l_and_u, rows, dtype=dtype), comm, (rows,), rhs, full_output)


@_documented
def solve_batch(comm, sub, diag, sup, rhs, *, axis=0, periodic=False, full_output=False):
    """Solve many tridiagonal systems whose rows run along an axis that is cut between the ranks. Collective.

    Parameters
    ----------
    comm, sub, diag, sup, axis, periodic
        As for `Batch`: own rows of all systems.
    @SOLVED
    """
    arrays = sub, diag, sup
    return _solved(lambda dtype: Batch(comm, *arrays, axis=axis, periodic=periodic, dtype=dtype), comm, arrays, rhs, full_output)


def _solved_blocks(comm, arrays, rhs, periodic, full_output):
    return _solved(lambda dtype: Blocks(comm, *arrays, periodic=periodic, dtype=dtype), comm, arrays, rhs, full_output)


def _solved(matrix, comm, arrays, rhs, full_output):
    """Solves with a matrix that is complex where the right-hand sides are."""
    def prepare():
        return None, {"dtype": _result_type(_numbers("rhs", rhs), *(_numbers("an array of the matrix", array) for array in arrays))}

    _, dtype = _agreed(comm, prepare)
    return matrix(dtype).factor().solve(rhs, full_output=full_output)


@_documented
class PoissonSlabs:
    """A solver of (-Δ + shift) u = f on a box that is cut into slabs, for many right-hand sides. Collective.

    Transforms run on each rank by itself; along the first axis, which is cut between the ranks, stand tridiagonal systems, as in `Batch`.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    shape : tuple of int
        The planes that this rank owns along the first axis, which may be none, and the unknowns along the others: the shape of its f.
    @PROBLEM
    dtype : dtype
        ``float32`` or ``float64``: the type of u, to which right-hand sides are converted.

    Attributes
    ----------
    shape, whole : tuple of int
        Of the own slab, and of the box.
    dtype
        As given.
    """

    def __init__(self, comm, shape, spacing=1.0, boundary="dirichlet", grid="node", shift=0.0, mean=0.0, *, coordinates=None,
                 removable=0.1, dtype=np.float64):
        shape, _ = _agreed(comm, self._slab, shape, dtype)
        whole = (comm.allreduce(shape[0]), *shape[1:])
        (axes, numbers), _ = _agreed(comm, self._prepared, whole, spacing, boundary, grid, coordinates, (shift, mean, removable))
        self.comm, self.shape, self.whole, self.dtype = comm, shape, whole, np.dtype(dtype)
        box = _Box(len(whole), *numbers)
        self._handle = _Handle("bandsolve_mpi_free_poisson", "poisson", _ranks_of(comm), _KINDS[self.dtype], (_Axis * len(axes))(*axes),
                               ctypes.byref(box), shape[0])

    @staticmethod
    def _slab(shape, dtype):
        shape = _checked_shape(shape)
        if np.dtype(dtype).char not in "fd":
            raise ValueError(f"dtype is {np.dtype(dtype)}, expected float32 or float64")
        return shape, {"number of axes": len(shape), "shape of a plane": shape[1:], "dtype of u": np.dtype(dtype).name, "dtype": np.dtype(dtype)}

    @staticmethod
    def _prepared(whole, spacing, boundary, grid, coordinates, numbers):
        numbers = tuple(map(float, numbers))
        axes, told = [], {"shift, mean and removable": numbers, "dtype": np.float64}
        for k, (n, axis) in enumerate(zip(whole, _axes(whole, spacing, boundary, grid, coordinates))):
            for what, known in (("grid", _GRIDS), ("boundary", _BOUNDARIES)):
                for name in axis["kinds"] if what == "boundary" else [axis[what]]:
                    if name not in known:
                        raise ValueError(f"there is no {what} {name!r}; there are {', '.join(known)}")
            values = [_in_memory(side, np.float64).reshape(-1) for side in axis["values"]]
            if any(kind == "periodic" and side.any() for kind, side in zip(axis["kinds"], values)):
                raise ValueError("a periodic side has no value")
            points = axis["coordinates"] if axis["coordinates"] is None else _in_memory(axis["coordinates"], np.float64)
            made = _Axis(n, _GRIDS.index(axis["grid"]), tuple(map(_BOUNDARIES.index, axis["kinds"])), axis["spacing"])
            made.coordinates, made.n_coordinates = (None, 0) if points is None else (points.ctypes.data, len(points))
            made.values, made.n_values = tuple(side.ctypes.data for side in values), tuple(map(len, values))
            # They live as long as what points to them.
            made.arrays = points, values
            axes.append(made)
            given = [np.zeros(0) if points is None else points, *values]
            # Ranks that mean other boxes would not fit together, or wait for ever.
            told[f"axis {k}"] = (axis["grid"], *axis["kinds"], axis["spacing"], *(_digest(array) for array in given))
        return (axes, numbers), told

    def solve(self, f, *, full_output=False):
        """Solve for one right-hand side, or for many. Collective.

        Parameters
        ----------
        f : array_like
            The own planes, of the shape of the solver, or with one more axis in front of it, along which right-hand sides are counted.
        full_output : bool
            Return a report, too.

        Returns
        -------
        u : ndarray
            Of the shape of `f`.
        report : dict
            With `full_output`: as that of `bandsolve.poisson.solve`, of the whole box; the same on all ranks.

        Raises
        ------
        ValueError
            Shapes do not fit, or a number is not finite, on any rank.
        numpy.linalg.LinAlgError
            The problem is singular and f does not balance what is given at the sides, or no answer was accurate enough.
        """
        def prepare():
            own = _real("f", _numbers("f", f))
            if own.shape != self.shape and own.shape[1:] != self.shape:
                raise ValueError(f"f has the shape {own.shape}, expected {self.shape}, or one more axis in front of it")
            columns = 1 if own.shape == self.shape else len(own)
            room = np.array(own, self.dtype, order="C"), np.full(columns, np.nan)
            return (*room, columns), {"number of right-hand sides": columns, "dtype": self.dtype}

        (u, errors, columns), _ = _agreed(self.comm, prepare)
        solved = _PoissonSolved()
        _call("poisson_solve", self._handle, u.size, u.ctypes.data, columns, errors.ctypes.data, ctypes.byref(solved))
        if not full_output:
            return u
        worst = float(errors.max()) if columns else 0.0
        return u, {"method": solved.method.decode(), "reason": solved.reason.decode(), "shape": self.whole, "backward_error": worst,
                   "backward_errors": errors.tolist(), "refinement_steps": solved.refinement_steps, "subproblems": solved.subproblems,
                   "removed": solved.removed, "mean": None if math.isnan(solved.mean) else solved.mean, "rcond": solved.rcond,
                   "attention": solved.attention.decode(errors="replace") or None}

    def __repr__(self):
        return f"PoissonSlabs(shape={self.shape}, whole={self.whole}, dtype={self.dtype})"


_BOUNDARIES, _GRIDS = ("dirichlet", "neumann", "periodic"), ("node", "cell")


def _digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:12]


@_documented
def solve_poisson(comm, f, spacing=1.0, boundary="dirichlet", grid="node", shift=0.0, mean=0.0, *, coordinates=None, removable=0.1,
                  full_output=False):
    """Solve (-Δ + shift) u = f on a box that is cut into slabs along its first axis. Collective.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
    f : array_like
        The planes that this rank owns, which may be none, of one to three dimensions, one for each axis of the box.
    @PROBLEM
    full_output : bool
        Return a report, too, as `PoissonSlabs.solve` does.

    Returns
    -------
    u : ndarray
        Of the shape of `f`; single precision if `f` is on all ranks.
    """
    def prepare():
        own = _real("f", _numbers("f", f))
        return own.shape, {"dtype": _number(own.dtype)}

    shape, dtype = _agreed(comm, prepare)
    slabs = PoissonSlabs(comm, shape, spacing, boundary, grid, shift, mean, coordinates=coordinates, removable=removable, dtype=dtype)
    return slabs.solve(f, full_output=full_output)


def eigsh(A, k=6, M=None, sigma=0.0, *, ncv=None, tol=0, maxiter=None, seed=0, return_eigenvectors=True, full_output=False):
    """Eigenvalues of a real symmetric or complex Hermitian matrix, or pencil, that are nearest to `sigma`, by shift-and-invert. Collective.

    Defaults and errors are those of `bandsolve.eigen.eigsh`.

    Parameters
    ----------
    A, M : Blocks
        Matrices that are not periodic, spread alike over the ranks and of one type; M positive definite, or None for I. That they are
        Hermitian is not checked.
    k : int
        How many, at most the number of rows.
    sigma : float
        The number to which they are nearest.
    ncv : int, optional
        Maximum number of vectors of the Krylov space; by default max(2*k + 6, 16).
    tol : float
        Relative accuracy of the operator's eigenvalues, below 1; 0 for that of the number type.
    maxiter : int, optional
        Maximum number of restarts; by default 10 times the number of rows.
    seed : int
        Of the random start vector, the same on all ranks.
    return_eigenvectors, full_output : bool
        What is returned.

    Returns
    -------
    w : ndarray
        Eigenvalues, ascending.
    v : ndarray
        With `return_eigenvectors`: own rows of the eigenvectors, one a column.
    info : dict
        With `full_output`: 'offsets' (w - sigma to full precision), 'residuals', 'restarts', 'solves', 'complete' (whether counts prove that
        none is missing), 'converged'.

    Raises
    ------
    ValueError
        A parameter is wrong, on any rank.
    numpy.linalg.LinAlgError
        M is not positive definite, or no shift near `sigma` can be solved with.
    scipy.sparse.linalg.ArpackNoConvergence
        Fewer than k eigenvalues were found. Its attributes ``eigenvalues`` and ``eigenvectors`` (own rows) are those found. Without SciPy
        it is a `RuntimeError` with the same attributes.
    """
    def prepare():
        for name, matrix in (("A", A), ("M", M)):
            if not isinstance(matrix, Blocks) and (name == "A" or matrix is not None):
                raise TypeError(f"{name} is no Blocks")
        if M is not None and (M._own != A._own or M.dtype != A.dtype):
            raise ValueError("A and M are not spread alike, or of different types")
        if not np.isfinite(float(sigma)):
            raise ValueError(f"sigma is {sigma!r}, expected a finite number")
        if not _tolerance("tol", tol) < 1:
            raise ValueError(f"tol is {tol!r}, expected a number from 0 to below 1")
        if _whole_number("seed", seed, 0) >= 1 << 64:
            raise ValueError(f"seed is {seed!r}, expected a number below 2**64")
        optional = {name: 0 if given is None else _whole_number(name, given, 1) for name, given in (("ncv", ncv), ("maxiter", maxiter))}
        for name, given in optional.items():
            if given >= 1 << 63:
                raise ValueError(f"{name} is {given}, expected a number below 2**63")
        told = {"k": _whole_number("k", k, 1), "M": M is None, "sigma": float(sigma), "tol": float(tol), "seed": int(seed), **optional}
        return told, {"dtype": A.dtype, **told}

    if not isinstance(A, Blocks):
        raise TypeError("A is no Blocks")
    told, _ = _agreed(A.comm, prepare)
    rows = A.comm.allreduce(A._rows)
    if told["k"] > rows:
        raise ValueError(f"k is {told['k']}, expected at most n = {rows}")
    asked = _Eigen(told["sigma"], told["tol"], told["k"], told["ncv"], told["maxiter"] or 10 * rows, told["seed"])

    def room():
        numbers = [np.empty(asked.k) for _ in range(3)]
        vectors = np.empty((asked.k, A._rows), A.dtype)
        return (numbers, vectors, np.empty((A._rows, asked.k), A.dtype)), {"dtype": A.dtype}

    ((values, offsets, residuals), vectors, v), _ = _agreed(A.comm, room)
    _call("eigsh", A._handle, M and M._handle, ctypes.byref(asked), values.ctypes.data, offsets.ctypes.data,
          residuals.ctypes.data, vectors.size, vectors.ctypes.data)
    order = np.argsort(offsets[: asked.found], kind="stable")
    w, v = values[order], v[:, : asked.found]
    for column, place in enumerate(order):
        v[:, column] = vectors[place]
    if not asked.converged:
        ending = asked.ending.decode(errors="replace")
        raise _no_convergence(f"{asked.found} of {asked.k} eigenvalues found: {ending} after {asked.restarts} restarts", w, v)
    found = [w, v] if return_eigenvectors else [w]
    if full_output:
        found.append({"offsets": offsets[order], "residuals": residuals[order], "restarts": asked.restarts,
                      "solves": asked.solves, "complete": bool(asked.complete), "converged": bool(asked.converged)})
    return found[0] if len(found) == 1 else tuple(found)


def _no_convergence(message, w, v):
    """The exception of `bandsolve.eigen.eigsh`, with what was found."""
    try:
        from scipy.sparse.linalg import ArpackNoConvergence
    except ImportError:
        error = RuntimeError(message)
        error.eigenvalues, error.eigenvectors = w, v
        return error
    return ArpackNoConvergence(message, w, v)
