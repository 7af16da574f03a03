"""Test matrices: those of the papers' stability tables, and others with known properties."""

import numpy as np

from bandsolve import _bandsolve


def names():
    """Names of all families of matrices, and what they are.

    Returns
    -------
    dict of str to str

    Examples
    --------
    >>> import bandsolve
    >>> "klein-16" in bandsolve.gallery.names()
    True
    """
    return dict(_bandsolve.families())


def _generate(name, n, seed):
    for number, what in ((n, "n"), (seed, "seed")):
        if not 0 <= number < 1 << 63:
            raise ValueError(f"{what} is {number}, expected a number that is not negative, below 2**63")
    # A few diagonals, at least.
    needed, free = 32 * n, _bandsolve.free_memory()
    if needed > free:
        raise MemoryError(f"a matrix of {n} rows takes {needed / 2**30:.1f} GiB of memory and {free / 2**30:.1f} GiB are free")
    return _bandsolve.generate(name, n, seed)


def bands(name, n, seed=1):
    """A matrix of n rows as `solve_banded` takes it.

    Parameters
    ----------
    name : str
        One of `names`.
    n : int
        Rows.
    seed : int
        Which of the random ones.

    Returns
    -------
    lower, upper : int
        Diagonals below and above the main one.
    ab : (lower + upper + 1, n) ndarray
        ``ab[upper + i - j, j] == a[i, j]``.

    Examples
    --------
    >>> import bandsolve
    >>> lower, upper, ab = bandsolve.gallery.bands("klein-16", 5)
    >>> lower, upper, ab.shape
    (1, 1, (3, 5))
    """
    kind, *parts = _generate(name, n, seed)
    if kind == "banded":
        lower, upper, columns = parts
        return lower, upper, columns.T
    sub, diag, sup, periodic = parts
    if periodic:
        raise ValueError(f"{name} is periodic, and no banded matrix: see `tridiagonal`")
    ab = np.zeros((3, n))
    if n > 0:
        ab[0, 1:], ab[1], ab[2, :-1] = sup[: n - 1], diag, sub[len(sub) - n + 1 :]
    return 1, 1, ab


def tridiagonal(name, n, seed=1):
    """A tridiagonal matrix of n rows.

    Parameters
    ----------
    name, n, seed
        As for `bands`.

    Returns
    -------
    sub, diag, sup : (n - 1,), (n,) and (n - 1,) ndarray
        As `solve_tridiagonal` takes them; of periodic matrices all three have n entries.
    periodic : bool
        Whether the first and the last row are neighbours.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> sub, diag, sup, periodic = bandsolve.gallery.tridiagonal("klein-16", 100)
    >>> x = bandsolve.solve_tridiagonal(sub, diag, sup, np.ones(100), periodic=periodic)
    """
    kind, *parts = _generate(name, n, seed)
    if kind == "banded":
        raise ValueError(f"{name} is not tridiagonal: see `bands`")
    sub, diag, sup, periodic = parts
    if not periodic and n > 0:
        sub, sup = sub[len(sub) - n + 1 :], sup[: n - 1]
    return sub, diag, sup, periodic
