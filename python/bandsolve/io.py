"""Read matrices from files."""

import gzip
import math
import os
import zipfile

import numpy as np

from bandsolve import _bandsolve
from bandsolve._optional import scipy_module

# Double precision represents all integers up to this one.
_EXACT = 2**53


def read(path):
    """Read a matrix or an array from a file.

    Parameters
    ----------
    path : str or path-like
        Name of the file. The ending tells the format: Matrix Market (``.mtx``, ``.mtx.gz``), NumPy (``.npy``, ``.npy.gz``), or
        `scipy.sparse.save_npz` (``.npz``). Sparse matrices need SciPy.

    Returns
    -------
    ndarray, or matrix or array of scipy.sparse
        The matrix, as `bandsolve.factor` and `bandsolve.solve` take it. A sparse matrix from a Matrix Market file has the format coo. A
        matrix from an ``.npz`` file has the format in which it was saved.

    Raises
    ------
    ValueError
        The ending is unknown, the file does not have the format of its ending, or it holds NaN or an infinity. For text, the message
        names the line.
    MemoryError
        The matrix needs more memory than is free. The function detects this before it unpacks the file.
    OSError
        The file cannot be opened, or cannot be read to its end.

    See Also
    --------
    - `bandsolve.solve`, `bandsolve.sparse.solve`: solve with the matrix.

    Notes
    -----
    The program ``bandsolve`` reads Matrix Market and ``.npz`` files with the same code, so both accept the same files. Integers beyond 2**53 in
    these files lose digits, because they are stored in double precision.

    Examples
    --------
    >>> import os, tempfile, bandsolve
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.mtx")
    ...     with open(path, "w") as file:
    ...         print("%%MatrixMarket matrix coordinate real general", file=file)
    ...         print("2 2 3", "1 1 2", "2 1 1", "2 2 4", sep="\\n", file=file)
    ...     a = bandsolve.io.read(path)
    >>> print(a.toarray())
    [[2. 0.]
     [1. 4.]]
    >>> print(bandsolve.solve(a, [2.0, 5.0]))
    [1. 1.]
    """
    path = os.fspath(path)
    if path.endswith((".npy", ".npy.gz")):
        return _read_array(path)
    if path.endswith(".npz") and os.path.exists(path) and not zipfile.is_zipfile(path):
        raise ValueError(f"{path}: not a .npz archive, expected a file that scipy.sparse.save_npz wrote")
    if path.endswith((".mtx", ".mtx.gz", ".npz")):
        kind, *parts = _bandsolve.read_file(path)
        return _typed(*parts) if kind == "dense" else _sparse(path, *parts)
    raise ValueError(f"{path} has an unknown ending, expected .mtx, .mtx.gz, .npy, .npy.gz or .npz")


def _typed(values, number):
    """Return numbers in the type that they have in the file."""
    dtype = np.dtype(number)
    if dtype.kind in "iu" and abs(values).max(initial=0) > _EXACT:
        return values
    return values.astype(dtype, copy=False)


def _sparse(path, shape, rows, columns, values, number, form):
    sp = scipy_module("sparse")
    # SciPy marks arrays in the file, but not matrices.
    marked = form is not None and "_is_array.npy" in zipfile.ZipFile(path).namelist()
    made = sp.coo_array if marked else sp.coo_matrix
    return made((_typed(values, number), (rows, columns)), shape=shape).asformat(form or "coo")


def _read_array(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        _check_memory(path, _promised(file))
        file.seek(0)
        # Reads the count of numbers in the header, also if the stream is longer.
        array = np.lib.format.read_array(file)
    if array.dtype.kind in "fc" and not np.isfinite(array).all():
        raise ValueError(f"{path} contains NaN or infinity, expected finite numbers")
    return array


def _promised(file):
    """Return the size in bytes that the header at this place of the file announces."""
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file)
    return math.prod(shape) * dtype.itemsize


def _check_memory(path, needed):
    free = _bandsolve.free_memory()
    if needed > free:
        raise MemoryError(f"{path} needs {needed / 2**30:.1f} GiB of memory, but only {free / 2**30:.1f} GiB are free")
