"""Matrices from files."""

import gzip
import math
import os
import zipfile

import numpy as np

from bandsolve import _bandsolve

# As many bytes at most come of one of a gzip file: 258 of two bits.
_DEFLATE = 1032


def read(path):
    """Read a matrix.

    Parameters
    ----------
    path : str or path
        A Matrix Market file (``.mtx``, ``.mtx.gz``), an array of NumPy (``.npy``, ``.npy.gz``), or a matrix of
        `scipy.sparse` (``.npz``). Reading Matrix Market files and ``.npz`` needs SciPy.

    Returns
    -------
    ndarray, or array of `scipy.sparse`
        What `factor` and `solve` take.

    Raises
    ------
    ValueError
        The file is not what its name says, or promises more than it can hold.
    MemoryError
        What it promises does not fit into the memory that is free. Nothing has been unpacked then.

    Examples
    --------
    >>> import os, tempfile, bandsolve
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "a.mtx")
    ...     with open(path, "w") as file:
    ...         _ = file.write("%%MatrixMarket matrix coordinate real general\\n2 2 3\\n1 1 2\\n2 1 1\\n2 2 4\\n")
    ...     bandsolve.solve(bandsolve.io.read(path), [2.0, 5.0])
    array([1., 1.])
    """
    path = os.fspath(path)
    if path.endswith((".npy", ".npy.gz")):
        return _read_array(path)
    if path.endswith(".npz"):
        return _read_archive(path)
    if path.endswith((".mtx", ".mtx.gz")):
        return _read_market(path)
    raise ValueError(f"{path} is no .mtx, .npy or .npz file")


def _read_array(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        _check_memory(path, _promised(file))
        file.seek(0)
        # As many numbers as the header says, whatever else the stream delivers.
        return np.lib.format.read_array(file)


def _read_archive(path):
    from scipy.sparse import load_npz

    with open(path, "rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError(f"{path} is no .npz archive")
        needed = 0
        with zipfile.ZipFile(file) as archive:
            for name in (name for name in archive.namelist() if name.endswith(".npy")):
                with archive.open(name) as member:
                    needed += _promised(member)
    _check_memory(path, needed)
    return load_npz(path)


def _read_market(path):
    from scipy.io import mminfo, mmread

    rows, columns, entries, layout, field, symmetry = mminfo(path)
    number, sparse, general = 16 if field == "complex" else 8, layout == "coordinate", symmetry == "general"
    # Lines of an entry have at least 4 bytes, those of a number 2.
    shortest = 4 * entries if sparse else rows * columns * (2 if general else 1)
    size = os.path.getsize(path) * (_DEFLATE if path.endswith(".gz") else 1)
    if shortest > size + 4:
        raise ValueError(f"{path}: the header promises {entries} entries, more than the file can hold")
    # Two indices an entry; what is symmetric is written out.
    _check_memory(path, entries * (16 + number) * (1 if general else 2) if sparse else rows * columns * number)
    return mmread(path)


def _promised(file):
    """Bytes of the array whose header follows."""
    version = np.lib.format.read_magic(file)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = header(file)
    return math.prod(shape) * dtype.itemsize


def _check_memory(path, needed):
    free = _bandsolve.free_memory()
    if needed > free:
        raise MemoryError(f"{path}: it takes {needed / 2**30:.1f} GiB of memory and {free / 2**30:.1f} GiB are free")
