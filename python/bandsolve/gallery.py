"""Test matrices: matrices from stability tables in the literature, and others with known properties."""

import numpy as np

from bandsolve import _bandsolve
from bandsolve._arguments import seed_of, whole_number


def names():
    """Return the names of all families of test matrices, with a description of each.

    Returns
    -------
    dict of str to str
        Descriptions by name.

    See Also
    --------
    - `bandsolve.gallery.tridiagonal`, `bandsolve.gallery.bands`: make a matrix.

    Examples
    --------
    >>> import bandsolve
    >>> bandsolve.gallery.names()["spline"]
    'tridiagonal (1, 4, 1): cubic splines'
    """
    return dict(_bandsolve.families())


def _generate(name, n, seed):
    n = whole_number("n", n, 0)
    # Four numbers for each row: no family needs less.
    needed, free = 32 * n, _bandsolve.free_memory()
    if needed > free:
        raise MemoryError(f"a matrix of {n} rows needs {needed / 2**30:.1f} GiB of memory, but only {free / 2**30:.1f} GiB are free")
    return _bandsolve.generate(name, n, seed)


def bands(name, n, rng=None, *, seed=None):
    """Make a test matrix in the band storage of `bandsolve.solve_banded`.

    Parameters
    ----------
    name : str
        A name from `bandsolve.gallery.names`.
    n : int
        Number of rows.
    rng : numpy.random.Generator or int, optional
        Source of the random numbers. An int is a seed, and `seed` is an alias for it. The same seed gives the same matrix. Default: 0.

    Returns
    -------
    lower : int
        Number of diagonals below the main diagonal.
    upper : int
        Number of diagonals above the main diagonal.
    ab : (lower + upper + 1, n) ndarray
        The diagonals as rows: ``ab[upper + i - j, j] == a[i, j]``.

    Raises
    ------
    ValueError
        The name is unknown, `n` or `rng` is negative or too large, or the matrix is periodic.
    MemoryError
        The memory is not sufficient.

    See Also
    --------
    - `bandsolve.gallery.names`: list the families.
    - `bandsolve.gallery.tridiagonal`: make a tridiagonal matrix, open or periodic.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> lower, upper, ab = bandsolve.gallery.bands("pentadiagonal-biharmonic", 5)
    >>> lower, upper
    (2, 2)
    >>> print(ab[:, 2])
    [ 1. -4.  6. -4.  1.]
    >>> x = bandsolve.solve_banded((lower, upper), ab, np.ones(5))
    >>> print(np.round(x, 9))
    [2.5 5.  6.  5.  2.5]
    """
    kind, *parts = _generate(name, n, seed_of(rng, seed))
    if kind == "banded":
        lower, upper, columns = parts
        return lower, upper, columns.T
    sub, diag, sup, periodic = parts
    if periodic:
        raise ValueError(f"{name} is periodic, and has no band storage. Use bandsolve.gallery.tridiagonal")
    ab = np.zeros((3, n))
    if n > 0:
        ab[0, 1:], ab[1], ab[2, :-1] = sup[: n - 1], diag, sub[len(sub) - n + 1 :]
    return 1, 1, ab


def tridiagonal(name, n, rng=None, *, seed=None):
    """Make a tridiagonal test matrix, open or periodic.

    Parameters
    ----------
    name : str
        A name from `bandsolve.gallery.names`.
    n : int
        Number of rows.
    rng : numpy.random.Generator or int, optional
        Source of the random numbers. An int is a seed, and `seed` is an alias for it. The same seed gives the same matrix. Default: 0.

    Returns
    -------
    sub : (n - 1,) ndarray
        Entries below the diagonal; (n,) for a periodic matrix.
    diag : (n,) ndarray
        Entries on the diagonal.
    sup : (n - 1,) ndarray
        Entries above the diagonal; (n,) for a periodic matrix.
    periodic : bool
        Whether the matrix is periodic. Pass it on to `bandsolve.solve_tridiagonal`.

    Raises
    ------
    ValueError
        The name is unknown, `n` or `rng` is negative or too large, or the matrix is not tridiagonal.
    MemoryError
        The memory is not sufficient.

    See Also
    --------
    - `bandsolve.gallery.names`: list the families.
    - `bandsolve.gallery.bands`: make a matrix in band storage.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> sub, diag, sup, periodic = bandsolve.gallery.tridiagonal("periodic-spline", 4)
    >>> print(sub, diag, sup, periodic)
    [1. 1. 1. 1.] [4. 4. 4. 4.] [1. 1. 1. 1.] True
    >>> rhs = np.full(4, 6.0)
    >>> x = bandsolve.solve_tridiagonal(sub, diag, sup, rhs, periodic=periodic)
    >>> print(np.round(x, 9))
    [1. 1. 1. 1.]
    """
    kind, *parts = _generate(name, n, seed_of(rng, seed))
    if kind == "banded":
        raise ValueError(f"{name} is not tridiagonal. Use bandsolve.gallery.bands")
    sub, diag, sup, periodic = parts
    if not periodic and n > 0:
        sub, sup = sub[len(sub) - n + 1 :], sup[: n - 1]
    return sub, diag, sup, periodic
