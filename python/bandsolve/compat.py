"""Functions with the signatures of other libraries."""

import numpy as np

from bandsolve import _bandsolve
from bandsolve._arguments import result_type
from bandsolve._bandsolve import as_array
from bandsolve._batch import solve_batch


def tridiagonal_solve(*args, **keywords):
    """Solve tridiagonal systems, with the signatures of JAX and TensorFlow.

    - JAX: ``tridiagonal_solve(dl, d, du, b, *, partial_pivoting=True, perturb_singular=False)``, as `jax.lax.linalg.tridiagonal_solve`.
    - TensorFlow: ``tridiagonal_solve(diagonals, rhs, diagonals_format="compact", transpose_rhs=False, conjugate_rhs=False, name=None,
      partial_pivoting=True, perturb_singular=False)``, as `tf.linalg.tridiagonal_solve`.

    You can pass every argument by name.

    Parameters
    ----------
    dl : (..., n) array_like
        JAX: entries below the diagonal. The function ignores the first one.
    d : (..., n) array_like
        JAX: entries on the diagonal.
    du : (..., n) array_like
        JAX: entries above the diagonal. The function ignores the last one.
    b : (..., n, k) array_like
        JAX: k right-hand sides as columns.
    diagonals : array_like or sequence of three array_like
        TensorFlow: the diagonals in the format of `diagonals_format`.
    rhs : (..., n) or (..., n, k) array_like
        TensorFlow: one right-hand side, or k right-hand sides as columns.
    diagonals_format : str, default "compact"
        "compact": shape (..., 3, n), the diagonal above the main one first. The function ignores its last entry, and the first entry of the
        diagonal below. "sequence": three arrays in the same order, of shape (..., n); the first and the last may be (..., n - 1). "matrix": shape
        (..., n, n).
    transpose_rhs : bool, default False
        Whether `rhs` has the shape (..., k, n).
    conjugate_rhs : bool, default False
        Whether to solve for the complex conjugate of `rhs`.
    name : str, optional
        For compatibility. The function ignores it.
    partial_pivoting : bool, default True
        Exchange rows. Use False only for matrices that need no pivoting.
    perturb_singular : bool, default False
        If a matrix is singular, add multiples of ε times its largest entry to its diagonal until it can be solved. It needs `partial_pivoting`.

    Returns
    -------
    x : (..., n) or (..., n, k) ndarray
        The solutions, one for each right-hand side.

    Raises
    ------
    ValueError
        The shapes do not fit together, an entry is NaN or infinite, or the options contradict each other.
    numpy.linalg.LinAlgError
        A matrix is singular, and `perturb_singular` is False.

    See Also
    --------
    - `bandsolve.solve_batch`: solve along any axis, with more options.

    Notes
    -----
    The function verifies every solution, and runs on the CPU. Time and memory are proportional to the size of the right-hand sides. If each of
    many matrices has several right-hand sides, the function solves one matrix after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from bandsolve.compat import tridiagonal_solve
    >>> dl, d, du = np.array([0.0, 1, 1]), np.array([4.0, 4, 4]), np.array([1.0, 1, 0])

    As in JAX:

    >>> x = tridiagonal_solve(dl, d, du, np.array([[5.0], [6], [5]]))
    >>> print(np.round(x.ravel(), 9))
    [1. 1. 1.]

    As in TensorFlow:

    >>> x = tridiagonal_solve(np.array([du, d, dl]), np.array([5.0, 6, 5]))
    >>> print(np.round(x, 9))
    [1. 1. 1.]
    """
    # The third argument is a diagonal in JAX, and the name of a format in TensorFlow.
    jax = not {"dl", "d", "du", "b"}.isdisjoint(keywords) or len(args) > 2 and not isinstance(args[2], str)
    return (_jax if jax else _tensorflow)(*args, **keywords)


def _jax(dl, d, du, b, *, partial_pivoting=True, perturb_singular=False):
    dl, d, du, b = (as_array(array) for array in (dl, d, du, b))
    if b.ndim < 2:
        raise ValueError(f"b has the shape {b.shape}, expected (..., n, k). For one right-hand side, pass b[..., None]")
    return _solve(dl, d, du, b, partial_pivoting, perturb_singular)


def _tensorflow(diagonals, rhs, diagonals_format="compact", transpose_rhs=False, conjugate_rhs=False, name=None,
                partial_pivoting=True, perturb_singular=False):
    dl, d, du = _three(diagonals, diagonals_format)
    rhs = as_array(rhs)
    if conjugate_rhs:
        rhs = rhs.conj()
    if transpose_rhs and rhs.ndim > d.ndim:
        rhs = np.swapaxes(rhs, -1, -2)
    return _solve(dl, d, du, rhs, partial_pivoting, perturb_singular)


def _three(diagonals, form):
    """Return the diagonals below, on and above the main diagonal, from a format of TensorFlow."""
    if form == "compact":
        diagonals = as_array(diagonals)
        if diagonals.ndim < 2 or diagonals.shape[-2] != 3:
            raise ValueError(f"diagonals has the shape {diagonals.shape}, expected (..., 3, n)")
        du, d, dl = (diagonals[..., k, :] for k in range(3))
    elif form == "sequence":
        du, d, dl = (as_array(array) for array in diagonals)
        pad = [(0, 0)] * (d.ndim - 1)
        if du.shape[-1] == d.shape[-1] - 1:
            du = np.pad(du, [*pad, (0, 1)])
        if dl.shape[-1] == d.shape[-1] - 1:
            dl = np.pad(dl, [*pad, (1, 0)])
    elif form == "matrix":
        a = as_array(diagonals)
        pad = [(0, 0)] * (a.ndim - 2)
        d = np.diagonal(a, 0, -2, -1)
        du = np.pad(np.diagonal(a, 1, -2, -1), [*pad, (0, 1)])
        dl = np.pad(np.diagonal(a, -1, -2, -1), [*pad, (1, 0)])
    else:
        raise ValueError(f'diagonals_format is {form!r}, expected "compact", "sequence" or "matrix"')
    return dl, d, du


def _solve(dl, d, du, b, pivot, perturb):
    """Solve systems of shape (..., n) with right-hand sides of shape (..., n) or (..., n, k)."""
    if b.ndim == d.ndim:
        return _solve(dl, d, du, b[..., None], pivot, perturb)[..., 0]
    if perturb and not pivot:
        raise ValueError("partial_pivoting is False, expected True with perturb_singular=True")
    if not dl.shape == d.shape == du.shape or b.shape[:-1] != d.shape:
        raise ValueError(f"the diagonals have the shapes {dl.shape}, {d.shape} and {du.shape}, and the right-hand sides {b.shape}, "
                         "expected (..., n) for each diagonal, and (..., n) or (..., n, k)")
    options = dict(pivoting="scaled-partial" if pivot else "none", padded=True)
    try:
        if not d.shape[:-1]:
            return _bandsolve.solve_tridiagonal(dl, d, du, b, **options)
        if b.shape[-1] == 1:
            return solve_batch(dl, d, du, b[..., 0], **options)[..., None]
        return _one_by_one(_bandsolve.solve_tridiagonal, dl, d, du, b, options)
    except np.linalg.LinAlgError:
        if not perturb:
            raise
    return _one_by_one(_perturbed, dl, d, du, b, options)


def _one_by_one(solve, dl, d, du, b, options):
    x = np.empty(b.shape, result_type(dl, d, du, b))
    for index in np.ndindex(d.shape[:-1]):
        x[index] = solve(dl[index], d[index], du[index], b[index], **options)
    return x


def _perturbed(dl, d, du, b, **options):
    try:
        return _bandsolve.solve_tridiagonal(dl, d, du, b, **options)
    except np.linalg.LinAlgError:
        pass
    kind = result_type(dl, d, du, b)
    size = max(abs(dl[1:]).max(initial=0), abs(d).max(initial=0), abs(du[:-1]).max(initial=0)) or 1.0
    step = np.finfo(kind).eps * size
    for _ in range(20):
        try:
            return _bandsolve.solve_tridiagonal(dl, d + step, du, b, **options)
        except np.linalg.LinAlgError:
            step *= 4
    raise np.linalg.LinAlgError("the matrix is singular, also with the changes of the diagonal that perturb_singular=True allows")
