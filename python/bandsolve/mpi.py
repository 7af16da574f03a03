"""Systems and eigenvalues over the processes (ranks) of an mpi4py communicator, every answer verified.

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
eigenvalues nearest to a number        `eigsh`
=====================================  ================================================================

The functions call a library of their own, ``libbandsolve_mpi_capi``, which is linked with MPI::

    cargo build --release -p bandsolve-mpi-capi
    export BANDSOLVE_MPI_LIBRARY=$PWD/target/release/libbandsolve_mpi_capi.so
"""

import ctypes
import functools
import os
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bandsolve._bandsolve import __VERSION__
from bandsolve._scipy import _result_type, _widths

__all__ = ["Banded", "Blocks", "RankFactor", "RankReport", "eigsh", "solve_banded", "solve_block_tridiagonal", "solve_tridiagonal"]

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


class _Solved(ctypes.Structure):
    _fields_ = [("refinement_steps", ctypes.c_int32), ("fallback", ctypes.c_int32), ("method", ctypes.c_char * 32),
                ("reason", ctypes.c_char * 160)]


class _Eigen(ctypes.Structure):
    _fields_ = [("target", ctypes.c_double), ("tol", ctypes.c_double), ("k", ctypes.c_size_t), ("ncv", ctypes.c_size_t),
                ("max_restarts", ctypes.c_size_t), ("seed", ctypes.c_uint64), ("found", ctypes.c_size_t),
                ("restarts", ctypes.c_size_t), ("solves", ctypes.c_size_t), ("complete", ctypes.c_int32),
                ("converged", ctypes.c_int32)]


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
        "apply": [pointer, size, pointer, pointer],
        "factor": [pointer, ctypes.c_char_p, pointer],
        "solve": [pointer, integer, size, pointer, size, pointer, pointer],
        "eigsh": [pointer, pointer, pointer, pointer, pointer, pointer, size, pointer],
        "free_ranks": [pointer],
        "free_matrix": [pointer],
        "free_factors": [pointer],
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
    """The ranks of a communicator, which is duplicated the first time."""
    ranks = comm.Get_attr(_keyval())
    if ranks is None:
        from mpi4py import MPI

        named = _library().bandsolve_mpi_library().decode().strip("\0\n ")
        theirs = MPI.Get_library_version().strip("\0\n ")
        if named != theirs:
            raise ImportError(f"mpi4py calls {theirs}, {_NAME} calls {named}: build the one with the MPI of the other")
        if comm.Is_inter():
            raise ValueError("comm is an intercommunicator")
        ranks = _Handle("bandsolve_mpi_free_ranks", "ranks", MPI._addressof(comm), MPI._sizeof(comm))
        comm.Set_attr(_keyval(), ranks)
    return ranks


_RAISED = {kind.__name__: kind for kind in (ValueError, TypeError, ImportError, MemoryError, np.linalg.LinAlgError)}


def _agreed(comm, prepare, *arguments):
    """What `prepare` returns: own arrays, and what has to be the same on all ranks. Where it raises on one rank, all raise."""
    made, error = None, None
    try:
        made = prepare(*arguments)
    except Exception as raised:  # noqa: BLE001 - the others would wait for this rank for ever
        error = raised
    told = comm.allgather((type(error).__name__, str(error)) if error else made[1])
    for rank, one in enumerate(told):
        if isinstance(one, tuple):
            raise _RAISED.get(one[0], RuntimeError)(f"rank {rank}: {one[1]}") from error
    for rank, one in enumerate(told):
        for what, value in one.items():
            if what != "dtype" and value != told[0][what]:
                raise ValueError(f"rank {rank}: {what} is {value!r}, but {told[0][what]!r} on rank 0")
    dtypes = [np.empty(0, one["dtype"]) for one in told]
    return made[0], _result_type(*dtypes)


def _numbers(name, array, *dimensions):
    array = np.asarray(array)
    if array.ndim not in dimensions:
        expected = " or ".join(str(count) for count in dimensions)
        raise ValueError(f"{name} has {array.ndim} dimensions, expected {expected}")
    if array.dtype.kind not in "fciub":
        raise TypeError(f"{name} holds {array.dtype}, expected numbers")
    return array


def _type_of(arrays, dtype):
    """The type in which numbers are computed with."""
    if dtype is None:
        return _result_type(*arrays)
    if np.dtype(dtype) not in _KINDS:
        raise ValueError(f"dtype is {np.dtype(dtype)}, expected one of {', '.join(map(str, _KINDS))}")
    return np.dtype(dtype)


class _Distributed:
    """A matrix of which this rank has rows."""

    comm = None
    dtype = None
    _rows = 0

    def _columns(self, name, array):
        """Columns of own rows, of this matrix's type; its shape is kept by the caller."""
        array = _numbers(name, array, *self._dimensions)
        if array.shape[:-1] != self._own and array.shape != self._own:
            own = ", ".join(map(str, self._own))
            raise ValueError(f"{name} has the shape {array.shape}, expected ({own}) or ({own}, k)")
        if array.dtype.kind == "c" and self.dtype.kind != "c":
            raise ValueError(f"{name} is complex, the matrix is real")
        columns = 1 if array.shape == self._own else array.shape[-1]
        by_columns = np.asarray(array, self.dtype).reshape(self._rows, columns).T
        return (by_columns.copy(), array.shape), {"dtype": self.dtype, f"number of dimensions of {name}": array.ndim}

    def factor(self, method="auto"):
        """Factor, to solve again and again. Collective.

        Parameters
        ----------
        method : str
            'auto'; of `Blocks` 'bcyclic', 'block-spike', 'spike-truncated', of `Banded` 'spike', 'spike-truncated'.

        Returns
        -------
        RankFactor
        """
        _agreed(self.comm, lambda: (None, {"dtype": self.dtype, "method": str(method)}))
        return RankFactor(self, str(method))

    def __matmul__(self, x):
        """Own rows of A @ x; x has own rows. Collective."""
        (x, shape), _ = _agreed(self.comm, self._columns, "x", x)
        y = np.empty_like(x)
        _call("apply", self._handle, x.size, x.ctypes.data, y.ctypes.data)
        return np.ascontiguousarray(y.T).reshape(shape)


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
        arrays, dtype = _agreed(comm, self._prepared, (sub, diag, sup), bool(periodic), dtype)
        # Blocks by columns.
        blocks = [np.ascontiguousarray(array.swapaxes(-1, -2) if array.ndim == 3 else array, dtype) for array in arrays]
        diag = arrays[1]
        block = diag.shape[-1] if diag.ndim == 3 else 1
        self.comm, self.dtype, self.block = comm, dtype, block
        self._own = diag.shape[:1] if diag.ndim == 1 else diag.shape[:2]
        self._dimensions = (len(self._own), len(self._own) + 1)
        self._rows = diag.shape[0] * block
        ranks, pointers = _ranks_of(comm), [array.ctypes.data for array in blocks]
        self._handle = _Handle("bandsolve_mpi_free_matrix", "blocks", ranks, _KINDS[dtype], periodic, block, blocks[1].size, *pointers)

    @staticmethod
    def _prepared(arrays, periodic, dtype):
        arrays = [_numbers(name, array, 1, 3) for name, array in zip(("sub", "diag", "sup"), arrays)]
        shape = arrays[1].shape
        if len(shape) == 3 and (shape[1] != shape[2] or shape[1] == 0):
            raise ValueError(f"diag has the shape {shape}, expected (block rows, block, block)")
        for name, array in (("sub", arrays[0]), ("sup", arrays[2])):
            if array.shape != shape:
                raise ValueError(f"{name} has the shape {array.shape}, expected {shape}, that of diag")
        _library()
        return arrays, {"shape of blocks": shape[1:], "periodic": periodic, "dtype": _type_of(arrays, dtype)}


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
        numbers = np.ascontiguousarray(rows, dtype)
        self.comm, self.dtype, self._rows, self._own, self._dimensions = comm, dtype, len(rows), rows.shape[:1], (1, 2)
        self._handle = _Handle("bandsolve_mpi_free_matrix", "banded", _ranks_of(comm), _KINDS[dtype], lower, upper, numbers.size,
                               numbers.ctypes.data)

    @staticmethod
    def _prepared(l_and_u, rows, dtype):
        lower, upper = (int(width) for width in _widths(l_and_u))
        rows = _numbers("rows", rows, 2)
        if rows.shape[1] != lower + upper + 1:
            raise ValueError(f"rows has the shape {rows.shape}, expected (own rows, {lower + upper + 1})")
        _library()
        return (rows, (lower, upper)), {"l_and_u": (lower, upper), "dtype": _type_of([rows], dtype)}


class RankFactor:
    """Factors of a matrix over ranks: `Blocks.factor` and `Banded.factor` make them."""

    def __init__(self, matrix, method):
        self._matrix = matrix
        self._handle = _Handle("bandsolve_mpi_free_factors", "factor", matrix._handle, method.encode())

    def solve(self, rhs, *, transpose=False, full_output=False):
        """Solve A @ x == rhs. Collective.

        Parameters
        ----------
        rhs : array_like
            Own rows of one right-hand side, or of k: (m,) or (m, k); of blocks (m, b) or (m, b, k).
        transpose : bool or 'H'
            True for Aᵀ, 'H' for Aᴴ.
        full_output : bool
            Whether to return a `RankReport`, too.

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
            own, told = matrix._columns("rhs", rhs)
            return own, {**told, "transpose": transpose}

        (x, shape), _ = _agreed(matrix.comm, prepare)
        columns = x.shape[0]
        errors, solved = np.full(columns, np.nan), _Solved()
        op = {False: 0, True: 1, "H": 2}[transpose]
        _call("solve", self._handle, op, x.size, x.ctypes.data, columns, errors.ctypes.data, ctypes.byref(solved))
        x = np.ascontiguousarray(x.T).reshape(shape)
        if not full_output:
            return x
        worst = float(errors.max()) if columns else 0.0
        return x, RankReport(solved.method.decode(), solved.reason.decode(), worst, errors.tolist(), solved.refinement_steps,
                             bool(solved.fallback))


def solve_tridiagonal(comm, sub, diag, sup, rhs, *, periodic=False, full_output=False):
    """Solve a tridiagonal system over ranks. Collective.

    Row i reads ``sub[i]*x[i-1] + diag[i]*x[i] + sup[i]*x[i+1] == rhs[i]``.

    Parameters
    ----------
    comm, sub, diag, sup, periodic
        As for `Blocks`: m numbers of own rows each.
    rhs, full_output
        As for `RankFactor.solve`.

    Returns
    -------
    x : ndarray
        Own rows, of the shape of `rhs`; with `full_output` a tuple of it and a `RankReport`.
    """
    def blocks(dtype):
        return Blocks(comm, sub, diag, sup, periodic=periodic, dtype=dtype)

    return _solved(blocks, comm, (sub, diag, sup), rhs, full_output)


def solve_block_tridiagonal(comm, sub, diag, sup, rhs, *, periodic=False, full_output=False):
    """Solve a block tridiagonal system over ranks. Collective.

    Parameters
    ----------
    comm, sub, diag, sup, periodic
        As for `Blocks`: m blocks of own block rows each.
    rhs, full_output
        As for `RankFactor.solve`.

    Returns
    -------
    x : ndarray
        Own rows, of the shape of `rhs`; with `full_output` a tuple of it and a `RankReport`.
    """
    def blocks(dtype):
        return Blocks(comm, sub, diag, sup, periodic=periodic, dtype=dtype)

    return _solved(blocks, comm, (sub, diag, sup), rhs, full_output)


def solve_banded(comm, l_and_u, rows, rhs, *, full_output=False):
    """Solve a banded system over ranks. Collective.

    Parameters
    ----------
    comm, l_and_u, rows
        As for `Banded`: by rows, not by columns as in `bandsolve.solve_banded`.
    rhs, full_output
        As for `RankFactor.solve`.

    Returns
    -------
    x : ndarray
        Own rows, of the shape of `rhs`; with `full_output` a tuple of it and a `RankReport`.
    """
    return _solved(lambda dtype: Banded(comm, l_and_u, rows, dtype=dtype), comm, (rows,), rhs, full_output)


def _solved(matrix, comm, arrays, rhs, full_output):
    """Solves with a matrix that is complex where the right-hand sides are."""
    def prepare():
        return None, {"dtype": _result_type(_numbers("rhs", rhs, 1, 2, 3), *map(np.asarray, arrays))}

    _, dtype = _agreed(comm, prepare)
    return matrix(dtype).factor().solve(rhs, full_output=full_output)


def eigsh(A, k=6, M=None, sigma=0.0, *, ncv=None, tol=0, maxiter=None, seed=0, return_eigenvectors=True, full_output=False):
    """Eigenvalues of a real symmetric or complex Hermitian matrix, or pencil, that are nearest to `sigma`, by shift-and-invert. Collective.

    Parameters
    ----------
    A, M : Blocks
        Matrices that are not periodic, spread alike over the ranks and of one type; M positive definite, or None for I. That they are
        Hermitian is not checked.
    k : int
        How many.
    sigma : float
        The number to which they are nearest.
    ncv, tol, maxiter
        As for `scipy.sparse.linalg.eigsh`.
    seed : int
        Of the random start vector.
    return_eigenvectors, full_output : bool
        What is returned.

    Returns
    -------
    w : ndarray
        Eigenvalues, ascending, as many as were found.
    v : ndarray
        With `return_eigenvectors`: own rows of the eigenvectors, one a column.
    info : dict
        With `full_output`: 'offsets' (w - sigma to full precision), 'residuals', 'restarts', 'solves', 'complete' (whether counts prove that
        none is missing), 'converged'.
    """
    def prepare():
        for name, matrix in (("A", A), ("M", M)):
            if not isinstance(matrix, Blocks) and (name == "A" or matrix is not None):
                raise TypeError(f"{name} is no Blocks")
        if M is not None and (M._own != A._own or M.dtype != A.dtype):
            raise ValueError("A and M are not spread alike, or of different types")
        return None, {"dtype": A.dtype, "k": int(k), "M": M is None, "sigma": float(sigma), "ncv": ncv, "tol": float(tol),
                      "maxiter": maxiter}

    if not isinstance(A, Blocks):
        raise TypeError("A is no Blocks")
    _agreed(A.comm, prepare)
    asked = _Eigen(float(sigma), float(tol), int(k), ncv or 0, maxiter or 0, seed + A.comm.rank)
    values, offsets, residuals = (np.empty(int(k)) for _ in range(3))
    vectors = np.empty((int(k), A._rows), A.dtype)
    _call("eigsh", A._handle, M and M._handle, ctypes.byref(asked), values.ctypes.data, offsets.ctypes.data,
          residuals.ctypes.data, vectors.size, vectors.ctypes.data)
    order = np.argsort(offsets[: asked.found], kind="stable")
    found = [values[order]]
    if return_eigenvectors:
        found.append(np.ascontiguousarray(vectors[order].T))
    if full_output:
        found.append({"offsets": offsets[order], "residuals": residuals[order], "restarts": asked.restarts,
                      "solves": asked.solves, "complete": bool(asked.complete), "converged": bool(asked.converged)})
    return found[0] if len(found) == 1 else tuple(found)
