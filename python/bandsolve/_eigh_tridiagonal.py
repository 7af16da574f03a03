"""Eigenvalues of symmetric tridiagonal matrices, with the signature of `scipy.linalg`."""

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import as_array

_DRIVERS = ("auto", "stemr", "sterf", "stebz", "stev", "stevd")
_ONLY_ALL = ("sterf", "stev", "stevd")
_SELECT = {
    0: "a", 1: "v", 2: "i", "a": "a", "v": "v", "i": "i", "all": "a", "value": "v", "index": "i",
}


def eigh_tridiagonal(
    d, e, eigvals_only=False, select="a", select_range=None, check_finite=True, tol=0.0, lapack_driver="auto"
):
    """Compute eigenvalues and eigenvectors of a real symmetric tridiagonal matrix.

    The signature is that of `scipy.linalg.eigh_tridiagonal`.

    Parameters
    ----------
    d : (..., n) array_like
        Entries on the diagonal, real. Leading dimensions count the matrices of a batch.
    e : (..., n - 1) array_like
        Off-diagonal entries, real.
    eigvals_only : bool, default False
        Return the eigenvalues only.
    select : str, default "a"
        "a": all eigenvalues. "v": those in the half-open interval (`select_range[0]`, `select_range[1]`]. "i": those with the indices
        `select_range[0]` to `select_range[1]`, both included, counted in ascending order from 0.
    select_range : (2,) array_like, optional
        The interval or the indices, see `select`.
    check_finite : bool, default True
        With True, NaN and infinities raise the error of SciPy. With False, they raise a `ValueError` with another message.
    tol : float, default 0.0
        Absolute accuracy of the eigenvalues; 0 means accuracy to rounding. The function ignores it if it computes eigenvectors.
    lapack_driver : str, default "auto"
        For compatibility: one of "auto", "stemr", "sterf", "stebz", "stev", "stevd". The function checks the name as SciPy does, and uses its own
        method.

    Returns
    -------
    w : (..., m) ndarray
        The eigenvalues in ascending order.
    v : (..., n, m) ndarray
        Only with ``eigvals_only=False``: the eigenvectors, as columns of norm 1.

    Raises
    ------
    ValueError
        A shape or an option is invalid, or an entry is NaN or infinite.
    TypeError
        An array is complex.
    numpy.linalg.LinAlgError
        A residual is larger than rounding explains.

    See Also
    --------
    - `bandsolve.eigen.eigsh`: find some eigenvalues of any sparse symmetric matrix.

    Notes
    -----
    **Method.** Sturm counts find the eigenvalues, many at a time, so that none is missing. Twisted factorizations find the eigenvectors. An eigenvalue at an end
    of two neighbouring intervals belongs to the lower interval.

    **Accuracy.** The function computes the residual of every pair.

    **Batches.** The function solves one matrix after the other. Each matrix must have the same number of wanted eigenvalues.

    **Threads.** The function uses all threads. The result is the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np
    >>> from bandsolve.eigen import eigh_tridiagonal
    >>> w, v = eigh_tridiagonal([2.0, 2.0], [1.0])
    >>> print(np.round(w, 12))
    [1. 3.]
    >>> print(np.round(abs(v), 6))
    [[0.707107 0.707107]
     [0.707107 0.707107]]

    The eigenvalues from 0 to 0.001 of second differences:

    >>> d, e = np.full(300, 2.0), np.full(299, -1.0)
    >>> w, v = eigh_tridiagonal(d, e, select="v", select_range=(0, 0.001))
    >>> print(np.round(w, 7))
    [0.0001089 0.0004357 0.0009803]
    """
    d, e = (_real(array, check_finite) for array in (d, e))
    if d.ndim > 1 or e.ndim > 1:
        return _each(d, e, eigvals_only, select, select_range, check_finite, tol, lapack_driver)
    if d.ndim != 1 or e.ndim != 1:
        raise ValueError("expected a 1-D array")
    if d.size != e.size + 1:
        raise ValueError(f"d ({d.size}) must have one more element than e ({e.size})")
    part = _part(select, select_range, d.size)
    _check_driver(lapack_driver, part, eigvals_only)
    single = all(array.dtype in (np.float16, np.float32) for array in (d, e))
    dtype = np.dtype(np.float32 if single else np.float64)
    d, e = d.astype(np.float64, copy=False), e.astype(np.float64, copy=False)
    w, v = _bandsolve.eigh_tridiagonal(d, e, not eigvals_only, part, float(tol))
    w = w.astype(dtype, copy=False)
    if single and part and part[0] == "v":
        w = _inside(w, *part[1:])
    return w if v is None else (w, v.reshape(w.size, d.size).T.astype(dtype, copy=False))


def _real(array, check_finite):
    array = as_array(array)
    if array.dtype.kind == "c":
        raise TypeError("Only real arrays currently supported")
    if array.dtype.kind not in "fiub":
        raise ValueError("object arrays are not supported")
    if check_finite and not np.isfinite(array).all():
        raise ValueError("array must not contain infs or NaNs")
    return array


def _part(select, select_range, n):
    """Which eigenvalues, as the compiled function takes it: None for all."""
    kind = _SELECT.get(select.lower() if isinstance(select, str) else select)
    if kind is None:
        raise ValueError("invalid argument for select")
    if kind == "a":
        return None
    ends = np.asarray(select_range)
    if ends.ndim != 1 or ends.size != 2 or not ends[0] <= ends[1]:
        raise ValueError("select_range must be a 2-element array-like in nondecreasing order")
    if kind == "v":
        return "v", float(ends[0]), float(ends[1])
    if ends.dtype.kind not in "iu":
        raise ValueError(f'when using select="i", select_range must contain integers, got dtype {ends.dtype}')
    if ends[0] < 0 or ends[1] >= n:
        raise ValueError("select_range out of bounds")
    return "i", float(ends[0]), float(ends[1]) + 1


def _inside(w, low, high):
    """Eigenvalues of (low, high] that were rounded to single precision, perhaps out of the interval: the next number inside."""
    inf = np.float32(np.inf)
    w = np.where(w.astype(np.float64) > high, np.nextafter(w, -inf), w)
    return np.where(w.astype(np.float64) <= low, np.nextafter(w, inf), w)


def _check_driver(driver, part, eigvals_only):
    """Refuses what SciPy refuses."""
    if not isinstance(driver, str):
        raise TypeError("lapack_driver must be str")
    if driver not in _DRIVERS:
        raise ValueError(f"lapack_driver must be one of {_DRIVERS}, got {driver}")
    if driver in _ONLY_ALL and part:
        raise ValueError(f'{driver} can only be used when select == "a"')
    if driver == "sterf" and not eigvals_only:
        raise ValueError("sterf can only be used when eigvals_only is True")


def _each(d, e, eigvals_only, *options):
    """Matrices along all dimensions but the last, which must have as many of the wanted eigenvalues each."""
    batch = np.broadcast_shapes(d.shape[:-1], e.shape[:-1])
    d, e = np.broadcast_to(d, batch + d.shape[-1:]), np.broadcast_to(e, batch + e.shape[-1:])
    found = [eigh_tridiagonal(d[k], e[k], eigvals_only, *options) for k in np.ndindex(batch)]
    if not found:
        raise ValueError("`eigh_tridiagonal` does not support zero-size batches.")
    if eigvals_only:
        return np.reshape(found, batch + found[0].shape)
    w, v = ([pair[part] for pair in found] for part in (0, 1))
    return np.reshape(w, batch + w[0].shape), np.reshape(v, batch + v[0].shape)
