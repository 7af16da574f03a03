"""Matrices from files."""

import os

import numpy as np


def read(path):
    """Read a matrix.

    Parameters
    ----------
    path : str or path
        A Matrix Market file (``.mtx``, also ``.mtx.gz``), an array of NumPy (``.npy``), or a matrix of `scipy.sparse`
        (``.npz``). Reading all but ``.npy`` needs SciPy.

    Returns
    -------
    ndarray, or array of `scipy.sparse`
        What `factor` and `solve` take.

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
    if path.endswith(".npy"):
        return np.load(path)
    if path.endswith(".npz"):
        from scipy.sparse import load_npz

        return load_npz(path)
    if path.endswith((".mtx", ".mtx.gz")):
        from scipy.io import mmread

        return mmread(path)
    raise ValueError(f"{path} is no .mtx, .npy or .npz file")
