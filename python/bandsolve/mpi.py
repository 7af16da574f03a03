"""Solve systems, eigenvalue and Poisson problems over the processes (ranks) of an mpi4py communicator, and check every answer.

Each rank passes its own consecutive rows as NumPy arrays, and gets its own part of x. A rank may have no rows. All functions and methods are collective: all
ranks of the communicator call them in the same order. All get the same report, or raise the same error.

    from mpi4py import MPI
    import numpy as np, bandsolve.mpi

    comm = MPI.COMM_WORLD
    m = 100_000                                   # rows of this rank; ranks may have different numbers
    off, diag = np.full(m, -1.0), np.full(m, 2.5)
    x = bandsolve.mpi.solve_tridiagonal(comm, off, diag, off, np.ones(m))

=====================================  ================================================================
one system                             `solve_tridiagonal`, `solve_block_tridiagonal`, `solve_banded`
one matrix, many solves                `Blocks` and `Banded`: ``factor()`` returns a `RankFactor`
many systems along an axis             `solve_batch`; `Batch`: ``factor()`` returns a `RankFactor`
Poisson problems in slabs              `solve_poisson`; `PoissonSlabs` for many right-hand sides
eigenvalues nearest to a number        `eigsh`
=====================================  ================================================================

The functions call a separate library, ``libbandsolve_mpi_capi``, which is linked with MPI. Build it, and set its path:

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
from bandsolve.poisson import _axes, _checked_shape, _number, _real
from bandsolve._arguments import band_widths, result_type, seed_of, whole_number
from bandsolve.sparse import _tolerance

__all__ = ["Banded", "Batch", "Blocks", "PoissonSlabs", "RankFactor", "RankReport", "eigsh", "solve_banded", "solve_batch",
           "solve_block_tridiagonal", "solve_poisson", "solve_tridiagonal"]

# The environment variable with the path of the library, and the default file name of the library.
_VARIABLE = "BANDSOLVE_MPI_LIBRARY"
_NAME = "libbandsolve_mpi_capi" + (".dylib" if sys.platform == "darwin" else ".so")
_KINDS = {np.dtype(np.float32): 0, np.dtype(np.float64): 1, np.dtype(np.complex64): 2, np.dtype(np.complex128): 3}
_HOW = f"""Build the library from the sources of bandsolve {__VERSION__}, and set {_VARIABLE} to its path:
    cargo build --release -p bandsolve-mpi-capi
    export {_VARIABLE}=$PWD/target/release/{_NAME}"""


class RankReport(NamedTuple):
    """How a solve over ranks went, and the backward error of x; the same on all ranks.

    Attributes
    ----------
    method : str
        Name of the method.
    reason : str
        Why the solver used this method, in words.
    backward_error : float
        Largest row-wise backward error of all right-hand sides.
    backward_errors : list of float
        Row-wise backward error of each right-hand side.
    refinement_steps : int
        Number of iterative refinement steps.
    fallback : bool
        Whether the pivoted method solved the whole system again on rank 0, or systems of a batch on one rank each.
    rcond : float
        Estimate of the reciprocal of the row-wise condition number, 1 / ‖A⁻¹ diag(Σⱼ|aᵢⱼ|)‖∞; for a batch, that of its worst system. NaN if unknown.
    attention : str or None
        A warning in words if x may have no correct digit, however small the backward error is; else None.

    See Also
    --------
    - `bandsolve.mpi.RankFactor`: ``solve(rhs, full_output=True)`` returns a report.
    - `bandsolve.Report`: the report of a solve on one machine.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> off, diag = np.full(5, -1.0), np.full(5, 2.0)
    >>> factors = bandsolve.mpi.Blocks(MPI.COMM_WORLD, off, diag, off).factor()
    >>> x, report = factors.solve(np.ones(5), full_output=True)
    >>> report.backward_error < 1e-15, report.fallback, report.attention
    (True, False, None)
    """

    method: str
    reason: str
    backward_error: float
    backward_errors: list
    refinement_steps: int
    fallback: bool
    rcond: float
    attention: str | None


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
    _fields_ = [("n", ctypes.c_size_t), ("grid", ctypes.c_int32), ("kinds", ctypes.c_int32 * 2),
                ("coefficients", (ctypes.c_double * 2) * 2), ("spacing", ctypes.c_double),
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
    """Load the library, and check that it has the version and the functions that this module needs."""
    packaged = Path(__file__).parent / _NAME
    path = os.environ.get(_VARIABLE) or (str(packaged) if packaged.exists() else _NAME)
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(f"bandsolve.mpi cannot load its library {path}: {error}\n{_HOW}") from None
    try:
        return _declared(library, path)
    except AttributeError as error:
        raise ImportError(f"The library {path} is not the library of bandsolve.mpi, or it is out of date: {error}\n{_HOW}") from None


def _declared(library, path):
    """Declare the functions of the library, after a check of its version."""
    library.bandsolve_mpi_version.restype = ctypes.c_char_p
    version = library.bandsolve_mpi_version().decode()
    if version != __VERSION__:
        raise ImportError(f"The library {path} has version {version}, but the Python package bandsolve has version {__VERSION__}.\n{_HOW}")
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
    """An object of the library. The library frees it when Python deletes the handle."""

    def __init__(self, free, name, *arguments):
        self._as_parameter_, self._free = ctypes.c_void_p(), free
        _call(name, *arguments, ctypes.byref(self._as_parameter_))

    def __del__(self):
        # When the interpreter exits, `_library` may already be None.
        if self._as_parameter_ and _library is not None:
            getattr(_library(), self._free)(self._as_parameter_)


@functools.cache
def _keyval():
    from mpi4py import MPI

    return MPI.Comm.Create_keyval()


def _ranks_of(comm):
    """Return the ranks of a communicator. The first call duplicates the communicator. Collective."""
    ranks = comm.Get_attr(_keyval())
    if ranks is None:
        from mpi4py import MPI

        ranks = _Handle("bandsolve_mpi_free_ranks", "ranks", MPI._addressof(comm), MPI._sizeof(comm))
        ranks.thread = threading.get_ident()
        comm.Set_attr(_keyval(), ranks)
    return ranks


@functools.cache
def _check_library():
    """Raise an error unless the library and mpi4py are linked with the same MPI library."""
    from mpi4py import MPI

    named = _library().bandsolve_mpi_library().decode().strip("\0\n ")
    theirs = MPI.Get_library_version().strip("\0\n ")
    if named != theirs:
        raise ImportError(f"mpi4py is linked with {theirs}, but {_NAME} is linked with {named}. "
                          "Rebuild one of them with the MPI library of the other: set MPICC to the compiler of that MPI library.")


def _check_comm(comm):
    """Raise an error if `comm` is an intercommunicator, or if another thread has used it first."""
    _check_library()
    if comm.Is_inter():
        raise ValueError("comm is an intercommunicator, expected an intracommunicator. Pass for example comm.Merge().")
    ranks = comm.Get_attr(_keyval())
    if ranks is not None and ranks.thread != threading.get_ident():
        raise RuntimeError("comm was first used in another thread. Make all calls with one communicator in the same thread.")


def _check_thread():
    """End this process if MPI must not be called in this thread. No other rank can get a message then, but mpirun ends them."""
    from mpi4py import MPI

    if MPI.Query_thread() < MPI.THREAD_SERIALIZED and not MPI.Is_thread_main():
        print("bandsolve.mpi: this MPI job allows calls only in the main thread, but the call is in another thread. Call in the main "
              "thread, or set mpi4py.rc.thread_level = 'serialized' before you import mpi4py.MPI.", file=sys.stderr, flush=True)
        os.abort()


_RAISED = {kind.__name__: kind for kind in (ValueError, TypeError, ImportError, MemoryError, RuntimeError, np.linalg.LinAlgError)}


def _name_of(error):
    """Return the name of the exception that the other ranks raise for `error`."""
    return next((kind.__name__ for kind in type(error).__mro__ if kind.__name__ in _RAISED), "RuntimeError")


def _agreed(comm, prepare, *arguments):
    """Call `prepare` on all ranks. Return its result, and the number type for all ranks.

    `prepare` returns the arrays of this rank, and a dictionary of options that must be the same on all ranks. If it raises on one rank, all ranks raise. So
    put every step that can fail on one rank alone into `prepare`: allocations, conversions and checks of arguments.
    """
    made, error = None, None
    _check_thread()
    try:
        _check_comm(comm)
        made, same = prepare(*arguments)
        # Pickle here, because an error in `allgather` would leave the other ranks waiting.
        told = pickle.dumps({"call": prepare.__qualname__.split(".<locals>")[0], **same})
    except BaseException as raised:  # noqa: BLE001 - otherwise the other ranks would wait forever
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
                raise ValueError(f"rank {rank}: {what} is {value!r}, but {told[0].get(what)!r} on rank 0. "
                                 "All ranks must call the same function with the same options.")
    dtypes = [np.empty(0, one["dtype"]) for one in told]
    return made, result_type(*dtypes)


def _numbers(name, array, *dimensions):
    if isinstance(array, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array. Replace its masked entries first, for example with {name}.filled().")
    array = np.asarray(array)
    if dimensions and array.ndim not in dimensions:
        expected = " or ".join(str(count) for count in dimensions)
        raise ValueError(f"{name} has {array.ndim} dimensions, expected {expected}")
    if array.dtype.kind not in "fciub":
        raise TypeError(f"{name} has the dtype {array.dtype}, expected numbers")
    return array


def _in_memory(array, dtype):
    """Return the array as the library reads it: C-contiguous and aligned. Copy it only if necessary."""
    return np.require(array, dtype, ["C_CONTIGUOUS", "ALIGNED"])


def _type_of(named, dtype):
    """Return the number type for the computation."""
    if dtype is None:
        return result_type(*named.values())
    if np.dtype(dtype) not in _KINDS:
        raise ValueError(f"dtype is {np.dtype(dtype)}, expected one of {', '.join(map(str, _KINDS))}")
    for name, array in named.items():
        if array.dtype.kind == "c" and np.dtype(dtype).kind != "c":
            raise ValueError(f"{name} is complex, but dtype is {np.dtype(dtype)}. Pass {name}.real, or a complex dtype.")
    return np.dtype(dtype)


def _converted(comm, convert, arrays, dtype):
    """Convert arrays to the form that the library reads. If a conversion fails on one rank, all ranks raise."""
    def prepare():
        return [_in_memory(convert(array), dtype) for array in arrays], {"dtype": dtype}

    return _agreed(comm, prepare)[0]


_NAMES = "sub", "diag", "sup"


def _check_alike(arrays):
    """Raise an error unless sub and sup have the shape of diag."""
    for name, array in zip(_NAMES, arrays):
        if array.shape != arrays[1].shape:
            raise ValueError(f"{name} has the shape {array.shape}, expected {arrays[1].shape}, the shape of diag")


class _Distributed:
    """A matrix with its rows distributed over the ranks."""

    comm = None
    dtype = None
    _rows = 0

    def _columns(self, name, array):
        """Return the rows of this rank as contiguous columns of the type of the matrix, and an empty array of the caller's shape for the result."""
        array = _numbers(name, array, *self._dimensions)
        if array.shape[:-1] != self._own and array.shape != self._own:
            own = ", ".join(map(str, self._own))
            raise ValueError(f"{name} has the shape {array.shape}, expected {self._own} or ({own}, k)")
        if array.dtype.kind == "c" and self.dtype.kind != "c":
            raise ValueError(f"{name} is complex, but the matrix is real. Pass {name}.real, or create the matrix with a complex dtype.")
        columns = np.empty((1 if array.shape == self._own else array.shape[-1], self._rows), self.dtype)
        self._as_given(columns, array.shape)[...] = array
        return (columns, np.empty(array.shape, self.dtype)), {"dtype": self.dtype, f"number of dimensions of {name}": array.ndim}

    def _as_solved(self, array):
        """Return the array with its axes in the order of the library."""
        return array

    def _as_given(self, columns, shape):
        """Return a view of columns with the caller's shape."""
        columns = columns.reshape(len(columns), *self._own)
        return columns[0] if shape == self._own else np.moveaxis(columns, 0, -1)

    def factor(self, method="auto"):
        """Factor the matrix, to solve many systems with it.

        All ranks call it (collective).

        Parameters
        ----------
        method : str, default "auto"
            `Blocks`: "auto", "bcyclic", "block-spike" or "spike-truncated". `Banded`: "auto", "spike" or "spike-truncated". `Batch`: "auto".

        Returns
        -------
        RankFactor
            An object with the method `solve`.

        Raises
        ------
        ValueError
            The method is unknown, or the ranks pass different methods.
        MemoryError
            The memory of a rank is not sufficient.
        """
        def prepare():
            return str(method).encode(), {"dtype": self.dtype, "method": str(method)}

        name, _ = _agreed(self.comm, prepare)
        return RankFactor(self, name)

    def __matmul__(self, x):
        """Return the rows of A @ x that this rank owns. `x` has the rows that this rank owns. All ranks call it (collective)."""
        def prepare():
            (columns, given), told = self._columns("x", x)
            return (columns, np.empty_like(columns), given), told

        (columns, y, given), _ = _agreed(self.comm, prepare)
        _call("apply", self._handle, columns.size, columns.ctypes.data, y.ctypes.data)
        given[...] = self._as_given(y, given.shape)
        return given


class Blocks(_Distributed):
    """Block tridiagonal or tridiagonal matrix over ranks.

    Block row i is ``sub[i] @ x[i-1] + diag[i] @ x[i] + sup[i] @ x[i+1]``. ``factor()`` returns a `RankFactor`, ``a @ x`` multiplies.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    sub : (m, b, b) or (m,) array_like
        Blocks or numbers below the diagonal, in the m block rows that this rank owns: ``sub[i]`` is in block row i. m = 0 is allowed. In the
        first row of the matrix, the entry is a corner if the matrix is periodic. Otherwise the solver ignores it.
    diag : (m, b, b) or (m,) array_like
        Blocks or numbers on the diagonal.
    sup : (m, b, b) or (m,) array_like
        Blocks or numbers above the diagonal. In the last row of the matrix, the entry is a corner if the matrix is periodic. Otherwise the solver ignores
        it.
    periodic : bool, default False
        Whether the matrix is periodic, so that its first and its last row are neighbours.
    dtype : dtype, optional
        Number type: float32, float64, complex64 or complex128. Default: the type that the arrays of all ranks need.

    Attributes
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    dtype : numpy.dtype
        The number type.
    block : int
        Number of rows of a block.

    Raises
    ------
    ValueError
        On any rank, a shape or an option is invalid; or the ranks pass different options.
    TypeError
        On any rank, an array does not hold numbers.
    MemoryError
        The memory of a rank is not sufficient.
    ImportError
        The library or mpi4py is missing, or they use different MPI libraries.

    See Also
    --------
    - `bandsolve.mpi.solve_tridiagonal`, `bandsolve.mpi.solve_block_tridiagonal`: solve once.
    - `bandsolve.mpi.eigsh`: find eigenvalues of the matrix.

    Notes
    -----
    **Collective.** All ranks of the communicator make the object, with the same options, and call its methods in the same order.

    Examples
    --------
    Factor once, solve in a loop:

    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> comm = MPI.COMM_WORLD
    >>> m = 1000 if comm.rank == 0 else 2000
    >>> off, diag = np.full(m, -1.0), np.full(m, 3.0)
    >>> a = bandsolve.mpi.Blocks(comm, off, diag, off)
    >>> factors = a.factor()
    >>> u = np.ones(m)
    >>> for step in range(3):
    ...     u = factors.solve(u)
    >>> print(round(u[m // 2], 6))
    1.0
    >>> print(np.round((a @ u)[m // 2], 6))
    1.0
    """

    def __init__(self, comm, sub, diag, sup, *, periodic=False, dtype=None):
        arrays, dtype = _agreed(comm, self._prepared, (sub, diag, sup), periodic, dtype)
        # The library reads blocks column-major.
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
            raise ValueError(f"diag has the shape {shape}, expected (m, b, b)")
        _check_alike(arrays)
        return arrays, {"shape of blocks": shape[1:], "periodic": bool(periodic), "dtype": _type_of(dict(zip(_NAMES, arrays)), dtype)}


class Banded(_Distributed):
    """Banded matrix over ranks, stored by rows.

    ``factor()`` returns a `RankFactor`, ``a @ x`` multiplies.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    l_and_u : (int, int)
        Number of diagonals below and above the main diagonal, l and u.
    rows : (m, l + u + 1) array_like
        The m rows that this rank owns, each from left to right: ``rows[i, l + j - i] == A[i, j]``. Indices i and j start at the first row of this rank.
        m = 0 is allowed. The solver ignores entries left of the first column of A, and right of its last column.
    dtype : dtype, optional
        Number type: float32, float64, complex64 or complex128. Default: the type that the arrays of all ranks need.

    Attributes
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    dtype : numpy.dtype
        The number type.

    Raises
    ------
    ValueError
        On any rank, a shape or an option is invalid; or the ranks pass different options.
    TypeError
        On any rank, an array does not hold numbers.
    MemoryError
        The memory of a rank is not sufficient.
    ImportError
        The library or mpi4py is missing, or they use different MPI libraries.

    See Also
    --------
    - `bandsolve.mpi.solve_banded`: solve once.

    Notes
    -----
    **Collective.** All ranks of the communicator make the object, with the same options, and call its methods in the same order.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> comm = MPI.COMM_WORLD
    >>> rows = np.tile([-1.0, 4.0, -1.0, -0.5], (100, 1))
    >>> a = bandsolve.mpi.Banded(comm, (1, 2), rows)
    >>> x = a.factor().solve(np.ones(100))
    >>> print(bool(np.allclose(a @ x, 1)))
    True
    """

    def __init__(self, comm, l_and_u, rows, *, dtype=None):
        (rows, (lower, upper)), dtype = _agreed(comm, self._prepared, l_and_u, rows, dtype)
        [numbers] = _converted(comm, np.asarray, [rows], dtype)
        self.comm, self.dtype, self._rows, self._own, self._dimensions = comm, dtype, len(rows), rows.shape[:1], (1, 2)
        self._handle = _Handle("bandsolve_mpi_free_matrix", "banded", _ranks_of(comm), _KINDS[dtype], lower, upper, numbers.size,
                               numbers.ctypes.data)

    @staticmethod
    def _prepared(l_and_u, rows, dtype):
        lower, upper = (int(width) for width in band_widths(l_and_u))
        rows = _numbers("rows", rows, 2)
        if rows.shape[1] != lower + upper + 1:
            raise ValueError(f"rows has the shape {rows.shape}, expected (m, {lower + upper + 1}) for l_and_u = {(lower, upper)}")
        return (rows, (lower, upper)), {"l_and_u": (lower, upper), "dtype": _type_of({"rows": rows}, dtype)}


class Batch(_Distributed):
    """Many tridiagonal matrices of the same size over ranks.

    Row i of every system is ``sub[i]*x[i-1] + diag[i]*x[i] + sup[i]*x[i+1]``, where i counts along `axis`, which the ranks share. ``factor()`` returns a
    `RankFactor`, ``a @ x`` multiplies.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    sub : array_like
        Entries below the diagonal, in the m rows of all systems that this rank owns, along `axis`. The other axes count the systems, and are the same on all
        ranks. m = 0 is allowed. In the first row of the systems, the entries are corners if the matrices are periodic. Otherwise the solver ignores them.
    diag : array_like, shape of sub
        Entries on the diagonal.
    sup : array_like, shape of sub
        Entries above the diagonal. In the last row of the systems, the entries are corners if the matrices are periodic. Otherwise the solver ignores
        them.
    axis : int, default 0
        The axis along which the rows of a system run. The function solves along axis 0 without rearrangement. It transposes the
        last axis, and moves other axes to the front.
    periodic : bool, default False
        Whether the first and the last row of each system are neighbours.
    dtype : dtype, optional
        Number type: float32, float64, complex64 or complex128. Default: the type that the arrays of all ranks need.

    Attributes
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    dtype : numpy.dtype
        The number type.
    axis : int
        The axis along which the rows run.

    Raises
    ------
    ValueError
        On any rank, a shape or an option is invalid; or the ranks pass different options.
    TypeError
        On any rank, an array does not hold numbers.
    MemoryError
        The memory of a rank is not sufficient.
    ImportError
        The library or mpi4py is missing, or they use different MPI libraries.

    See Also
    --------
    - `bandsolve.mpi.solve_batch`: solve once.
    - `bandsolve.solve_batch`: solve on one machine.

    Notes
    -----
    **Collective.** All ranks of the communicator make the object, with the same options, and call its methods in the same order.

    **Cost.** A solve has two all-to-all exchanges, for any number of systems.

    Examples
    --------
    Implicit steps along the first axis of a field that the ranks share:

    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> comm = MPI.COMM_WORLD
    >>> field = np.ones((1000, 50))
    >>> off, diag = np.full_like(field, -0.1), np.full_like(field, 1.2)
    >>> steps = bandsolve.mpi.Batch(comm, off, diag, off).factor()
    >>> for step in range(3):
    ...     field = steps.solve(field)
    >>> print(field.shape, round(field[500, 0], 6))
    (1000, 50) 1.0
    """

    def __init__(self, comm, sub, diag, sup, *, axis=0, periodic=False, dtype=None):
        (arrays, axis), dtype = _agreed(comm, self._prepared, (sub, diag, sup), axis, periodic, dtype)
        shape = arrays[0].shape
        self.comm, self.dtype, self.axis, self._own, self._rows = comm, dtype, axis, shape, math.prod(shape)
        self._dimensions = (len(shape), len(shape) + 1)
        # The library solves along the first or the last axis. Another axis is moved to the front.
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
            raise ValueError("diag is a single number, expected an array with at least one axis")
        _check_alike(arrays)
        if not -len(shape) <= axis < len(shape):
            raise ValueError(f"axis {axis} is out of bounds for arrays of {len(shape)} dimensions, expected {-len(shape)} to {len(shape) - 1}")
        axis = int(axis) % len(shape)
        others = shape[:axis] + shape[axis + 1 :]
        told = {"shape of the systems": others, "axis": axis, "periodic": bool(periodic)}
        return (arrays, axis), {**told, "dtype": _type_of(dict(zip(_NAMES, arrays)), dtype)}


class RankFactor:
    """Factors of a matrix over ranks, to solve many systems with it.

    `Blocks`, `Banded` and `Batch` have a method `factor` that returns a `RankFactor`.

    See Also
    --------
    - `bandsolve.mpi.Blocks`, `bandsolve.mpi.Banded`, `bandsolve.mpi.Batch`: make a matrix.
    - `bandsolve.Factor`: factors on one machine.

    Notes
    -----
    **Collective.** All ranks of the communicator call `solve` in the same order.

    **Accuracy.** The backward error of x, measured over all rows of all ranks, is at most 8 ε, after iterative refinement if needed. Otherwise the pivoted
    method solves the system on rank 0, and the report has ``fallback=True``.

    **Reproducibility.** x is the same, bit for bit, for the same number of ranks.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> comm = MPI.COMM_WORLD
    >>> off, diag = np.full(100, -1.0), np.full(100, 2.5)
    >>> factors = bandsolve.mpi.Blocks(comm, off, diag, off).factor()
    >>> x, report = factors.solve(np.ones((100, 3)), full_output=True)
    >>> x.shape, len(report.backward_errors), report.backward_error < 2e-15
    ((100, 3), 3, True)
    """

    def __init__(self, matrix, method):
        self._matrix = matrix
        self._handle = _Handle("bandsolve_mpi_free_factors", "factor", matrix._handle, method)

    def solve(self, rhs, *, transpose=False, full_output=False):
        """Solve A @ x = rhs, for one right-hand side or for many.

        All ranks call it (collective).

        Parameters
        ----------
        rhs : array_like
            The rows of the right-hand sides that this rank owns. `Blocks` of numbers and `Banded`: (m,), or (m, k) for k right-hand sides. `Blocks` of
            blocks: (m, b) or (m, b, k). `Batch`: the shape of its arrays, or one more axis at the end for k right-hand sides.
        transpose : bool or str, default False
            True: solve with the transpose of A. "H": solve with its conjugate transpose.
        full_output : bool, default False
            Return a `RankReport` too. The first report of these factors takes at most 12 more solves, to estimate the condition number.

        Returns
        -------
        x : ndarray, shape of rhs
            The rows of the solution that this rank owns.
        report : RankReport
            Only with ``full_output=True``, the same on all ranks.

        Raises
        ------
        ValueError
            On any rank, `rhs` does not fit, or an entry is NaN or infinite.
        numpy.linalg.LinAlgError
            The matrix is singular, or x is not accurate enough.
        """
        matrix = self._matrix

        def prepare():
            if transpose not in (False, True, "H"):
                raise ValueError(f"transpose is {transpose!r}, expected True, False or 'H'")
            (columns, given), told = matrix._columns("rhs", rhs)
            op = {False: 0, True: 1, "H": 2}[transpose]
            return (columns, given, np.full(len(columns), np.nan), op), {**told, "transpose": [False, True, "H"][op], "full_output": bool(full_output)}

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


_SOLVED = """full_output : bool, default False
        Return a `RankReport` too. The estimate of the condition number takes at most 12 more solves.

    Returns
    -------
    x : ndarray, shape of rhs
        The rows of the solution that this rank owns.
    report : RankReport
        Only with ``full_output=True``, the same on all ranks.

    Raises
    ------
    ValueError
        On any rank, the shapes do not fit together, or an entry is NaN or infinite; or the ranks pass different options.
    TypeError
        On any rank, an array does not hold numbers.
    numpy.linalg.LinAlgError
        The matrix is singular, or x is not accurate enough.
    MemoryError
        The memory of a rank is not sufficient.
    ImportError
        The library or mpi4py is missing, or they use different MPI libraries."""

_PROBLEM = """spacing : float, sequence of float or dict, default 1.0
        Distance between neighbouring unknowns: one number for all axes, or one for each axis. Or a dict by axis, as for `bandsolve.poisson.solve`.
    boundary : str, pair, sequence or dict, default "dirichlet"
        Boundary conditions of the whole box, as for `bandsolve.poisson.solve`. A sequence has one entry for each axis; the entry of an axis may be a pair
        ``(lower, upper)``. Arrays of values cover the whole side of the box.
    grid : str or sequence of str, default "node"
        ``"node"`` or ``"cell"``, as for `bandsolve.poisson.solve`.
    shift : float, default 0.0
        The constant that multiplies u in the equation.
    mean : float, default 0.0
        Mean of u over the box for a singular problem.
    coordinates : sequence, optional
        For each axis None, or increasing coordinates that replace the spacing: those of the whole box.
    removable : float, default 0.1
        For a singular problem: how much the solver may subtract from f, relative to the largest entry of f."""


def _documented(item):
    """Insert the sections that several docstrings share."""
    item.__doc__ = item.__doc__.replace("@SOLVED", _SOLVED).replace("@PROBLEM", _PROBLEM)
    return item


@_documented
def solve_tridiagonal(comm, sub, diag, sup, rhs, *, periodic=False, full_output=False):
    """Solve a tridiagonal system over the ranks of a communicator.

    Row i of the system is ``sub[i]*x[i-1] + diag[i]*x[i] + sup[i]*x[i+1] == rhs[i]``.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    sub : (m,) array_like
        Entries below the diagonal in the m rows that this rank owns: ``sub[i]`` is in row i. m = 0 is allowed. In the first row of the matrix, the
        entry is a corner if the matrix is periodic. Otherwise the solver ignores it.
    diag : (m,) array_like
        Entries on the diagonal.
    sup : (m,) array_like
        Entries above the diagonal: ``sup[i]`` is in row i. In the last row of the matrix, the entry is a corner if the matrix is periodic. Otherwise the
        solver ignores it.
    rhs : (m,) or (m, k) array_like
        The rows of one right-hand side, or of k right-hand sides, that this rank owns.
    periodic : bool, default False
        Whether the matrix is periodic, so that its first and its last row are neighbours.
    @SOLVED

    See Also
    --------
    - `bandsolve.mpi.Blocks`: factor a matrix once, solve many times.
    - `bandsolve.solve_tridiagonal`: solve on one machine, where `sub` and `sup` have n - 1 entries.

    Notes
    -----
    **Collective.** All ranks of the communicator call the function, with the same options. All return, or all raise the same error.

    **Accuracy.** The backward error of x, measured over all rows of all ranks, is at most 8 ε, after iterative refinement if needed. Otherwise the pivoted
    method solves the system on rank 0, and the report has ``fallback=True``.

    **Reproducibility.** x is the same, bit for bit, for the same number of ranks.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> comm = MPI.COMM_WORLD
    >>> m = 1000
    >>> off, diag = np.full(m, -1.0), np.full(m, 2.5)
    >>> x = bandsolve.mpi.solve_tridiagonal(comm, off, diag, off, np.ones(m))
    >>> print(round(x[m // 2], 6))
    2.0
    """
    return _solved_blocks(comm, (sub, diag, sup), rhs, periodic, full_output)


@_documented
def solve_block_tridiagonal(comm, sub, diag, sup, rhs, *, periodic=False, full_output=False):
    """Solve a block tridiagonal system over the ranks of a communicator.

    Block row i of the system is ``sub[i] @ x[i-1] + diag[i] @ x[i] + sup[i] @ x[i+1] == rhs[i]``.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    sub : (m, b, b) array_like
        Blocks below the diagonal, in the m block rows that this rank owns: ``sub[i]`` is in block row i. m = 0 is allowed. In the first block row of the
        matrix, the block is a corner if the matrix is periodic. Otherwise the solver ignores it.
    diag : (m, b, b) array_like
        Blocks on the diagonal.
    sup : (m, b, b) array_like
        Blocks above the diagonal. In the last block row of the matrix, the block is a corner if the matrix is periodic. Otherwise the solver ignores it.
    rhs : (m, b) or (m, b, k) array_like
        The rows of one right-hand side, or of k right-hand sides, that this rank owns.
    periodic : bool, default False
        Whether the matrix is periodic, so that its first and its last row are neighbours.
    @SOLVED

    See Also
    --------
    - `bandsolve.mpi.Blocks`: factor a matrix once, solve many times.
    - `bandsolve.solve_block_tridiagonal`: solve on one machine.

    Notes
    -----
    **Collective.** All ranks of the communicator call the function, with the same options. All return, or all raise the same error.

    **Accuracy.** The backward error of x, measured over all rows of all ranks, is at most 8 ε, after iterative refinement if needed. Otherwise the pivoted
    method solves the system on rank 0, and the report has ``fallback=True``.

    **Reproducibility.** x is the same, bit for bit, for the same number of ranks.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> comm = MPI.COMM_WORLD
    >>> diag = np.array([[[4.0, 1.0], [0.0, 3.0]]] * 100)
    >>> off = np.array([-0.5 * np.eye(2)] * 100)
    >>> rhs = np.array([[4.0, 2.0]] * 100)
    >>> x = bandsolve.mpi.solve_block_tridiagonal(comm, off, diag, off, rhs)
    >>> print(np.round(x[50], 6))
    [1. 1.]
    """
    return _solved_blocks(comm, (sub, diag, sup), rhs, periodic, full_output)


@_documented
def solve_banded(comm, l_and_u, rows, rhs, *, full_output=False):
    """Solve a banded system over the ranks of a communicator.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    l_and_u : (int, int)
        Number of diagonals below and above the main diagonal, l and u.
    rows : (m, l + u + 1) array_like
        The m rows that this rank owns, each from left to right: ``rows[i, l + j - i] == A[i, j]``. Indices i and j start at the first row of this rank.
        m = 0 is allowed. The solver ignores entries left of the first column of A, and right of its last column.
    rhs : (m,) or (m, k) array_like
        The rows of one right-hand side, or of k right-hand sides, that this rank owns.
    @SOLVED

    See Also
    --------
    - `bandsolve.mpi.Banded`: factor a matrix once, solve many times.
    - `bandsolve.solve_banded`: solve on one machine. It stores the matrix by columns, as SciPy does.

    Notes
    -----
    **Collective.** All ranks of the communicator call the function, with the same options. All return, or all raise the same error.

    **Storage.** The matrix is stored by rows, not by columns as in `bandsolve.solve_banded`. Each rank can then create its rows without other ranks.

    **Accuracy.** The backward error of x, measured over all rows of all ranks, is at most 8 ε, after iterative refinement if needed. Otherwise the pivoted
    method solves the system on rank 0, and the report has ``fallback=True``.

    **Reproducibility.** x is the same, bit for bit, for the same number of ranks.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> comm = MPI.COMM_WORLD
    >>> rows = np.tile([-1.0, -1.0, 6.0, -1.0, -1.0], (100, 1))
    >>> x = bandsolve.mpi.solve_banded(comm, (2, 2), rows, np.full(100, 2.0))
    >>> print(round(x[50], 6))
    1.0
    """
    return _solved(lambda dtype: Banded(comm, l_and_u, rows, dtype=dtype), comm, (rows,), rhs, full_output)


@_documented
def solve_batch(comm, sub, diag, sup, rhs, *, axis=0, periodic=False, full_output=False):
    """Solve many tridiagonal systems of the same size over the ranks of a communicator.

    Row i of every system is ``sub[i]*x[i-1] + diag[i]*x[i] + sup[i]*x[i+1] == rhs[i]``, where i counts along `axis`, which the ranks share.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    sub : array_like
        Entries below the diagonal, in the m rows of all systems that this rank owns, along `axis`. The other axes count the systems, and are the same on all
        ranks. m = 0 is allowed. In the first row of the systems, the entries are corners if the matrices are periodic. Otherwise the solver ignores them.
    diag : array_like, shape of sub
        Entries on the diagonal.
    sup : array_like, shape of sub
        Entries above the diagonal. In the last row of the systems, the entries are corners if the matrices are periodic. Otherwise the solver ignores
        them.
    rhs : array_like
        The rows of the right-hand sides that this rank owns: the shape of `sub`, or one more axis at the end for k right-hand sides.
    axis : int, default 0
        The axis along which the rows of a system run.
    periodic : bool, default False
        Whether the first and the last row of each system are neighbours.
    @SOLVED

    See Also
    --------
    - `bandsolve.mpi.Batch`: factor the matrices once, solve many times.
    - `bandsolve.solve_batch`: solve on one machine.

    Notes
    -----
    **Collective.** All ranks of the communicator call the function, with the same options. All return, or all raise the same error.

    **Cost.** A solve has two all-to-all exchanges, for any number of systems.

    **Accuracy.** The solver verifies every system. It refines systems with a backward error above 8 ε. If the error stays above, one rank solves the whole system
    with the pivoted method, and the report has ``fallback=True``.

    Examples
    --------
    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> comm = MPI.COMM_WORLD
    >>> rhs = np.ones((1000, 50))
    >>> off, diag = np.full_like(rhs, -0.1), np.full_like(rhs, 1.2)
    >>> x = bandsolve.mpi.solve_batch(comm, off, diag, off, rhs)
    >>> print(x.shape, round(x[500, 0], 6))
    (1000, 50) 1.0
    """
    arrays = sub, diag, sup
    return _solved(lambda dtype: Batch(comm, *arrays, axis=axis, periodic=periodic, dtype=dtype), comm, arrays, rhs, full_output)


def _solved_blocks(comm, arrays, rhs, periodic, full_output):
    return _solved(lambda dtype: Blocks(comm, *arrays, periodic=periodic, dtype=dtype), comm, arrays, rhs, full_output)


def _solved(matrix, comm, arrays, rhs, full_output):
    """Solve once, with a number type that is complex if the matrix or the right-hand sides are."""
    def prepare():
        names = _NAMES if len(arrays) == 3 else ("rows",)
        return None, {"dtype": result_type(_numbers("rhs", rhs), *map(_numbers, names, arrays))}

    _, dtype = _agreed(comm, prepare)
    return matrix(dtype).factor().solve(rhs, full_output=full_output)


@_documented
class PoissonSlabs:
    """Solver of (-Δ + shift) u = f on a box whose planes the ranks share, for many right-hand sides.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    shape : tuple of int
        Shape of f on this rank: the number of planes along axis 0 that this rank owns, which may be 0, and the number of unknowns along the other axes.
    @PROBLEM
    dtype : dtype, default numpy.float64
        Number type of u: float64 or float32. The solver converts right-hand sides to it.

    Attributes
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    shape : tuple of int
        Shape of f on this rank.
    whole : tuple of int
        Shape of the whole box.
    dtype : numpy.dtype
        Number type of u.

    Raises
    ------
    ValueError
        On any rank, a shape, a name or a number is invalid; or the ranks describe different boxes.
    MemoryError
        The memory of a rank is not sufficient.
    ImportError
        The library or mpi4py is missing, or they use different MPI libraries.

    See Also
    --------
    - `bandsolve.mpi.solve_poisson`: solve once.
    - `bandsolve.poisson.Solver`: solve on one machine. The notes of `bandsolve.poisson.solve` explain `boundary` and `grid`.

    Notes
    -----
    **Collective.** All ranks of the communicator make the object, with the same options, and call its methods in the same order.

    **Method.** Each rank transforms its own planes. Along axis 0, which the ranks share, the solver solves tridiagonal systems, as in `Batch`.

    **Accuracy.** The solver measures the backward error over the whole box. u agrees with the solution on one machine to rounding.

    Examples
    --------
    Axis 0 has u = 0 at both sides, axis 1 is periodic, and no flow goes through the sides of axis 2:

    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> comm = MPI.COMM_WORLD
    >>> sides = ("dirichlet", "periodic", "neumann")
    >>> slabs = bandsolve.mpi.PoissonSlabs(comm, (20, 31, 31), boundary=sides)
    >>> u, report = slabs.solve(np.ones(slabs.shape), full_output=True)
    >>> u.shape, report["backward_error"] < 2e-15
    ((20, 31, 31), True)
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
                        raise ValueError(f"{what} of axis {k} is {name!r}, expected one of {', '.join(known)}")
            values = [_in_memory(side, np.float64).reshape(-1) for side in axis["values"]]
            if any(kind == "periodic" and side.any() for kind, side in zip(axis["kinds"], values)):
                raise ValueError(f"boundary of axis {k} has a value on a periodic side. Pass 'periodic' without a value.")
            points = axis["coordinates"] if axis["coordinates"] is None else _in_memory(axis["coordinates"], np.float64)
            coefficients = tuple(map(tuple, axis["coefficients"]))
            made = _Axis(n, _GRIDS.index(axis["grid"]), tuple(map(_BOUNDARIES.index, axis["kinds"])), coefficients, axis["spacing"])
            made.coordinates, made.n_coordinates = (None, 0) if points is None else (points.ctypes.data, len(points))
            made.values, made.n_values = tuple(side.ctypes.data for side in values), tuple(map(len, values))
            # Keep the arrays alive as long as the structure that points to them.
            made.arrays = points, values
            axes.append(made)
            given = [np.zeros(0) if points is None else points, *values]
            # Ranks with different boxes would compute a wrong result, or wait forever.
            told[f"axis {k}"] = (axis["grid"], *axis["kinds"], *coefficients, axis["spacing"], *(_digest(array) for array in given))
        return (axes, numbers), told

    def solve(self, f, *, full_output=False):
        """Solve for one right-hand side, or for many.

        All ranks call it (collective).

        Parameters
        ----------
        f : array_like
            The planes that this rank owns, of the shape of the solver. One more axis in front counts right-hand sides.
        full_output : bool, default False
            Return a report too.

        Returns
        -------
        u : ndarray, shape of f
            The planes of the solution that this rank owns.
        report : dict
            Only with ``full_output=True``: the entries of the report of `bandsolve.poisson.solve`, for the whole box; the same on all ranks.

        Raises
        ------
        ValueError
            On any rank, `f` does not fit, or an entry is NaN or infinite.
        TypeError
            On any rank, `f` does not hold real numbers.
        numpy.linalg.LinAlgError
            The problem is singular and f does not balance the values at the sides, or u is not accurate enough.
        """
        def prepare():
            own = _real("f", _numbers("f", f))
            if own.shape != self.shape and own.shape[1:] != self.shape:
                raise ValueError(f"f has the shape {own.shape}, expected {self.shape} or (k, {', '.join(map(str, self.shape))})")
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


_BOUNDARIES, _GRIDS = ("dirichlet", "neumann", "periodic", "robin"), ("node", "cell")


def _digest(array):
    return hashlib.sha256(array.tobytes()).hexdigest()[:12]


@_documented
def solve_poisson(comm, f, spacing=1.0, boundary="dirichlet", grid="node", shift=0.0, mean=0.0, *, coordinates=None, removable=0.1,
                  full_output=False):
    """Solve (-Δ + shift) u = f on a box whose planes the ranks share.

    Parameters
    ----------
    comm : mpi4py.MPI.Comm
        The communicator.
    f : array_like
        The planes along axis 0 that this rank owns, which may be none: one to three dimensions, one for each axis of the box.
    @PROBLEM
    full_output : bool, default False
        Return a report too.

    Returns
    -------
    u : ndarray, shape of f
        The planes of the solution that this rank owns. u has single precision if `f` has on all ranks, else double precision.
    report : dict
        Only with ``full_output=True``: the entries of the report of `bandsolve.poisson.solve`, for the whole box; the same on all ranks.

    Raises
    ------
    ValueError
        On any rank, a shape, a name or a number is invalid; or the ranks describe different boxes.
    TypeError
        On any rank, `f` does not hold real numbers.
    numpy.linalg.LinAlgError
        The problem is singular and f does not balance the values at the sides, or u is not accurate enough.
    MemoryError
        The memory of a rank is not sufficient.
    ImportError
        The library or mpi4py is missing, or they use different MPI libraries.

    See Also
    --------
    - `bandsolve.mpi.PoissonSlabs`: prepare once, solve for many right-hand sides.
    - `bandsolve.poisson.solve`: solve on one machine. Its notes explain `boundary` and `grid`.

    Notes
    -----
    **Collective.** All ranks of the communicator call the function, with the same options. All return, or all raise the same error.

    Examples
    --------
    u = 0 at both sides of axis 0, no flow through both sides of axis 1:

    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> comm = MPI.COMM_WORLD
    >>> f, sides = np.ones((4, 3)), ("dirichlet", "neumann")
    >>> u = bandsolve.mpi.solve_poisson(comm, f, boundary=sides)
    >>> print(np.round(u, 3)[:, 0])
    [2. 3. 3. 2.]
    """
    def prepare():
        own = _real("f", _numbers("f", f))
        return own.shape, {"dtype": _number(own.dtype)}

    shape, dtype = _agreed(comm, prepare)
    slabs = PoissonSlabs(comm, shape, spacing, boundary, grid, shift, mean, coordinates=coordinates, removable=removable, dtype=dtype)
    return slabs.solve(f, full_output=full_output)


def eigsh(A, k=6, M=None, sigma=0.0, *, ncv=None, tol=0, maxiter=None, rng=None, return_eigenvectors=True, full_output=False, seed=None):
    """Find the eigenvalues nearest to `sigma` of a Hermitian matrix over the ranks of a communicator.

    The problem is ``A x = w x``, or ``A x = w M x`` with `M`.

    Parameters
    ----------
    A : Blocks
        A real symmetric or complex Hermitian matrix that is not periodic. The function does not check that it is Hermitian.
    k : int, default 6
        Number of eigenvalues, at most the number of rows.
    M : Blocks, optional
        A positive definite matrix, with the rows on the same ranks and of the same type as `A`. Default: the identity.
    sigma : float, default 0.0
        Target: the function finds the eigenvalues nearest to it.
    ncv : int, optional
        Maximum number of vectors of the Krylov space. Default: ``max(2 * k + 6, 16)``.
    tol : float, default 0
        Relative accuracy of the eigenvalues of the inverse operator, below 1. 0 means the accuracy of the number type.
    maxiter : int, optional
        Maximum number of restarts. Default: 10 times the number of rows.
    rng : numpy.random.Generator or int, optional
        Source of the random start vector, the same on all ranks. An int is a seed, and `seed` is an alias for it. Default: 0.
    return_eigenvectors : bool, default True
        Return eigenvectors too.
    full_output : bool, default False
        Return a report too.

    Returns
    -------
    w : (k,) ndarray
        The eigenvalues in ascending order, the same on all ranks.
    v : (m, k) ndarray
        Only with ``return_eigenvectors=True``: the m rows of the eigenvectors that this rank owns, as columns.
    info : dict
        Only with ``full_output=True``. "offsets": ``w - sigma`` with all digits. "residuals". "restarts". "solves". "complete": whether counts prove that no
        nearer eigenvalue is missing. "converged".

    Raises
    ------
    ValueError
        On any rank, an option is invalid; or the ranks pass different options.
    TypeError
        `A` or `M` is not of the class `Blocks`.
    numpy.linalg.LinAlgError
        `M` is not positive definite, or A - sigma M is singular to working precision, there and at shifts nearby.
    scipy.sparse.linalg.ArpackNoConvergence
        The search found fewer than k eigenvalues. The exception has the attributes `eigenvalues` and `eigenvectors` (the rows of this
        rank). Without SciPy, the exception is a `RuntimeError` with the same attributes.

    See Also
    --------
    - `bandsolve.eigen.eigsh`: find eigenvalues on one machine.

    Notes
    -----
    **Collective.** All ranks of the communicator call the function, with the same options. All return, or all raise the same error.

    **Method.** Krylov–Schur with factors of A - sigma M over the ranks (shift-and-invert).

    Examples
    --------
    Second differences of 100 points, the smallest eigenvalues:

    >>> from mpi4py import MPI
    >>> import numpy as np, bandsolve.mpi
    >>> comm = MPI.COMM_WORLD
    >>> off, diag = np.full(100, -1.0), np.full(100, 2.0)
    >>> a = bandsolve.mpi.Blocks(comm, off, diag, off)
    >>> w, v, info = bandsolve.mpi.eigsh(a, 3, sigma=0.0, full_output=True)
    >>> print(np.round(w, 6))
    [0.000967 0.003869 0.008701]
    >>> info["complete"], v.shape
    (True, (100, 3))
    """
    def prepare():
        for name, matrix in (("A", A), ("M", M)):
            if not isinstance(matrix, Blocks) and (name == "A" or matrix is not None):
                raise TypeError(f"{name} has the type {type(matrix).__name__}, expected bandsolve.mpi.Blocks")
        if M is not None and M._own != A._own:
            raise ValueError(f"M has the shape {M._own} on this rank, expected {A._own}, the shape of A. Distribute M as A.")
        if M is not None and M.dtype != A.dtype:
            raise ValueError(f"M has the dtype {M.dtype}, expected {A.dtype}, the dtype of A. Create both with the same dtype.")
        if not np.isfinite(float(sigma)):
            raise ValueError(f"sigma is {sigma!r}, expected a finite number")
        if not _tolerance("tol", tol) < 1:
            raise ValueError(f"tol is {tol!r}, expected a number from 0 to below 1")
        optional = {name: 0 if given is None else whole_number(name, given, 1) for name, given in (("ncv", ncv), ("maxiter", maxiter))}
        told = {"k": whole_number("k", k, 1), "M": None if M is None else "Blocks", "sigma": float(sigma), "tol": float(tol), "seed": seed_of(rng, seed), **optional}
        return told, {"dtype": A.dtype, **told, **{name: told[name] or None for name in optional}}

    if not isinstance(A, Blocks):
        raise TypeError(f"A has the type {type(A).__name__}, expected bandsolve.mpi.Blocks")
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
    """Return the exception that `bandsolve.eigen.eigsh` raises too, with the eigenpairs that the search found."""
    try:
        from scipy.sparse.linalg import ArpackNoConvergence
    except ImportError:
        error = RuntimeError(message)
        error.eigenvalues, error.eigenvectors = w, v
        return error
    return ArpackNoConvergence(message, w, v)
