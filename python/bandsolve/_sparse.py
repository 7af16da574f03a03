"""Sparse matrices of SciPy and dense arrays: which method solves with them, and that solve."""

from functools import partial

import numpy as np

from bandsolve import _bandsolve
from bandsolve._arguments import check_on_host
from bandsolve._bandsolve import as_array
from bandsolve._batch import first_not_finite
from bandsolve._labels import keeps_labels_of
from bandsolve._optional import scipy_module
from bandsolve.sparse import Preconditioner, _tolerance, check_finite
from bandsolve.sparse import solve as iterated

# A direct solve is chosen up to this work, in products with the matrix. Iterations with their set-up take about as long.
_PRODUCTS = 4000

# A matrix with this share of entries that are not zero is dense: products cost as much as a step of elimination.
_DENSE = 1 / 8

# Larger bands are not stored, unless the caller names a method.
_MOST_NUMBERS = 1 << 27


class _Matrix:
    """A square matrix by rows, with the unknowns in the given order or in another `order`, and the storage for a direct solver."""

    def __init__(self, n, arrays, blocks, order=None):
        self.n, self.arrays, self.order, self._blocks = n, arrays, order, blocks
        self._storage = _bandsolve.storage(n, arrays, blocks)

    @property
    def numbers(self):
        """How many numbers the storage has."""
        _, lower, upper, _ = self._storage
        return self.n * (2 * lower + upper + 1)

    def is_cheap(self):
        """Whether a direct solve takes less work than an iteration."""
        _, lower, upper, _ = self._storage
        count = max(len(self.arrays[1]), self.n)
        few = lower * (lower + upper) * self.n <= _PRODUCTS * count
        return self.numbers <= _MOST_NUMBERS and (few or count >= _DENSE * self.n**2)

    def reordered(self):
        """Return the matrix in reverse Cuthill-McKee order."""
        order = _bandsolve.reverse_cuthill_mckee(self.n, self.arrays)
        moved = self.csr()[order][:, order]
        return _Matrix(self.n, (moved.indptr, moved.indices, moved.data), self._blocks, order)

    def csr(self):
        """Return the matrix as a csr array of SciPy."""
        indptr, indices, data = self.arrays
        return scipy_module("sparse").csr_array((data, indices, indptr), shape=(self.n, self.n))

    def __str__(self):
        name, lower, upper, block = self._storage
        if name == "block tridiagonal":
            return f"block tridiagonal, with blocks of {block} rows"
        return f"banded, with {lower} diagonals below and {upper} above the main one" if name == "banded" else name

    def of_kind(self, tridiagonal, block_tridiagonal, banded):
        """Return the function for the storage, with the arrays as its first arguments."""
        name, lower, upper, block = self._storage
        arrays = _bandsolve.stored(self.n, self.arrays, self._storage)
        if name == "banded":
            return partial(banded, lower, upper, *arrays)
        if name == "block tridiagonal":
            return partial(block_tridiagonal, *(blocks.reshape(-1, block, block).transpose(2, 1, 0) for blocks in arrays))
        periodic = name == "periodic tridiagonal"
        return partial(tridiagonal, *arrays, periodic=periodic, padded=not periodic)

    def solve(self, rhs, why, options):
        """Solve directly. Return x and a report whose reason begins with `why`."""
        run = self.of_kind(_bandsolve.solve_tridiagonal, _bandsolve.solve_block_tridiagonal, _bandsolve.solve_banded)
        if self.order is None:
            x, report = run(rhs, full_output=True, **options)
            return x, report._explained(why)
        try:
            moved, report = run(rhs[self.order], full_output=True, **options)
        except np.linalg.LinAlgError as error:
            raise np.linalg.LinAlgError(f"{error}, where rows count in reverse Cuthill-McKee order") from None
        x = np.empty_like(moved)
        x[self.order] = moved
        return x, report._explained(why)


def _entries(a):
    """Return the number of rows of a square matrix, and its three arrays by rows."""
    if hasattr(a, "matvec") and not hasattr(a, "tocsr"):
        raise TypeError(f"a is a {type(a).__name__}, which does not tell its entries, expected a matrix of scipy.sparse or an array. Pass the matrix, "
                        "or call bandsolve.sparse.gmres with the operator and a preconditioner M")
    is_sparse = hasattr(a, "tocsr")
    a = a if is_sparse else as_array(a)
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"the matrix has the shape {a.shape}, expected a square matrix")
    n = a.shape[0]
    if is_sparse:
        a = a.tocsr()
        return n, (a.indptr, a.indices[: a.indptr[-1]], a.data[: a.indptr[-1]])
    rows, columns = np.nonzero(a)
    return n, (np.searchsorted(rows, np.arange(n + 1)), columns, a[rows, columns])


def _iterated(a, rhs, rtol):
    """Solve by iteration. Return x, the report, and None; or the reason of a failure in words as the last."""
    try:
        inverse = Preconditioner(a)
    except np.linalg.LinAlgError as error:
        return None, None, str(error)
    solved = []
    for column in rhs.reshape(len(rhs), -1).T:
        x, report = iterated(a, column, M=inverse, rtol=rtol, full_output=True)
        if not report["converged"]:
            norm = report["residual_norm"] / (report["rhs_norm"] or 1)
            return None, None, f"{report['method']} with {inverse.kind} ended with \"{report['ending']}\" at the relative residual {norm:.0e}"
        solved.append((x, report))
    x = np.stack([x for x, _ in solved], axis=-1)
    errors = _backward_errors(a, x, rhs.reshape(x.shape))
    attention = next((report["attention"] for _, report in solved if report["attention"]), None)
    why = f"preconditioner {inverse.kind}: {inverse.reason}"
    return x.reshape(rhs.shape), _bandsolve.Report._of_iteration(solved[0][1]["method"], why, errors, attention), None


def _backward_errors(a, x, rhs):
    """Return the row-wise backward error of each column."""
    sizes = abs(a).sum(axis=1)[:, None] * abs(x).max(axis=0, initial=0) + abs(rhs)
    residuals = abs(rhs - a @ x)
    return np.divide(residuals, sizes, out=np.zeros_like(residuals), where=residuals != 0).max(axis=0, initial=0).tolist()


def _solve_any(given, rhs, rtol, transpose, options):
    """Solve directly if this is cheap, in the given order of the unknowns or in another. Otherwise iterate."""
    if given.is_cheap():
        return given.solve(rhs, f"The matrix is {given}", options)
    moved = given.reordered()
    if moved.is_cheap():
        return moved.solve(rhs, f"The matrix is {given}, but {moved} in reverse Cuthill-McKee order", options)
    both = f"The matrix is {given}, and {moved} in reverse Cuthill-McKee order"
    a = given.csr()
    a = a if not transpose else (a.conj() if transpose == "conj" else a).T.tocsr()
    x, report, failure = _iterated(a, rhs, rtol) if rhs.size else (np.zeros_like(rhs), None, "there is nothing to solve")
    if failure is None:
        return x, report._explained(f"{both}, which needs more work than an iteration")
    narrow = min(given, moved, key=lambda matrix: matrix.numbers)
    if narrow.numbers > _MOST_NUMBERS:
        raise np.linalg.LinAlgError(f"no x within rtol={rtol:.0e} was found: {failure}. {both}, which is too wide to factor. Pass a larger rtol, "
                                    "or call bandsolve.sparse.gmres with another preconditioner, or scipy.sparse.linalg.splu")
    return narrow.solve(rhs, f"{both}. The iteration failed ({failure})", options)


def factor(a, *, method="auto", pivoting="scaled-partial", verify=True, threads=None, device="cpu"):
    """Factor a sparse or dense matrix whose entries lie in a band, to solve many systems with it.

    Parameters
    ----------
    a : (n, n) array_like, or matrix or array of scipy.sparse
        The matrix. Its entries must lie near the diagonal: the function stores all diagonals from the lowest to the highest.
    method : str, default "auto"
        A name from `bandsolve.methods`. "auto" chooses by the kind and the size of the matrix.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows: "scaled-partial", "partial" or "none", see `bandsolve.solve_tridiagonal`.
    verify : bool, default True
        Compute the backward error of each x, and repair x if the error is too large.
    threads : int, optional
        Number of threads of each solve. Default: the number that `bandsolve.get_num_threads` returns.
    device : str, default "cpu"
        "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. A GPU solves tridiagonal systems, and bands of at most 4 diagonals on each side.

    Returns
    -------
    Factor
        An object with the method `solve`.

    Raises
    ------
    ValueError
        The matrix is not square, or an option is unknown.
    MemoryError
        The memory is not sufficient.
    RuntimeError
        The GPU that `device` names does not exist, or it reports an error.

    See Also
    --------
    - `bandsolve.solve`: solve once.
    - `bandsolve.factor_tridiagonal`, `bandsolve.factor_banded`, `bandsolve.factor_block_tridiagonal`: take the diagonals or blocks.
    - `bandsolve.sparse.Preconditioner`: approximate the inverse of a matrix whose entries lie anywhere.

    Notes
    -----
    **Kind of the matrix.** The function detects tridiagonal, periodic tridiagonal and block tridiagonal matrices. It factors all others as banded
    matrices. With a `method` other than "auto", and on a GPU, it factors block tridiagonal matrices as banded too.

    **Errors in the matrix.** The function accepts a singular matrix, NaN and infinities. `Factor.solve` raises the error.

    **Cost.** Finding the band takes several passes over the entries, and memory for n · (l + u + 1) numbers. A solve costs the same as after
    `bandsolve.factor_banded` or `bandsolve.factor_tridiagonal`.

    **Accuracy and threads.** The backward error of x is at most 8 ε, or at most 64 ε after a fallback; see `bandsolve.solve_tridiagonal`. x is
    the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np, bandsolve, scipy.sparse as sp
    >>> n = 100
    >>> band = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    >>> band = band.tocsr()
    >>> lu = bandsolve.factor(band)
    >>> print(np.round(lu.solve(np.ones(n))[n // 2], 9))
    2.0

    Use the factors of a band as a preconditioner of an iterative method of SciPy:

    >>> from scipy.sparse.linalg import gmres
    >>> a = band + sp.eye_array(n, k=20) * 0.1
    >>> x, info = gmres(a, np.ones(n), M=lu.aslinearoperator(), rtol=1e-10)
    >>> info, bool(np.abs(a @ x - 1).max() < 1e-8)
    (0, True)
    """
    check_on_host(a=a)
    matrix = _Matrix(*_entries(a), blocks=method == "auto" and device == "cpu")
    make = matrix.of_kind(_bandsolve.factor_tridiagonal, _bandsolve.factor_block_tridiagonal, _bandsolve.factor_banded)
    return make(method=method, pivoting=pivoting, verify=verify, threads=threads, device=device)


@keeps_labels_of("rhs")
def solve(a, rhs, *, method="auto", pivoting="scaled-partial", transpose=False, verify=True, threads=None, device="cpu",
          rtol=None, full_output=False):
    """Solve ``a @ x = rhs`` for a sparse or dense matrix, by a method that its structure decides.

    The function solves directly if the entries lie in a band, also after a reordering of the unknowns. Otherwise it iterates with a preconditioner.

    Parameters
    ----------
    a : (n, n) array_like, or matrix or array of scipy.sparse
        The matrix.
    rhs : (n,) or (n, k) array_like
        One right-hand side, or k right-hand sides as columns.
    method : str, default "auto"
        "auto", or a name from `bandsolve.methods`. With a name, the function solves directly, without a reordering.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows: "scaled-partial", "partial" or "none", see `bandsolve.solve_tridiagonal`.
    transpose : bool or "conj", default False
        True: solve with the transpose of the matrix. "conj": solve with its conjugate transpose.
    verify : bool, default True
        Compute the backward error of x, and repair x if the error is too large.
    threads : int, optional
        Number of threads. Default: the number that `bandsolve.get_num_threads` returns.
    device : str, default "cpu"
        "cpu", or "cuda", "cuda:0", "cuda:1", … for an NVIDIA GPU. A GPU solves tridiagonal systems, and bands of at most 4 diagonals on each side.
    rtol : float, optional
        If the function iterates: relative tolerance, ``norm(rhs - a @ x) <= rtol * norm(rhs)``. Default: 1e-10 in double precision, 1e-5 in single
        precision.
    full_output : bool, default False
        Return a `bandsolve.Report` too.

    Returns
    -------
    x : ndarray, shape of rhs
        The solution.
    report : Report
        Only with ``full_output=True``: the method, the reason in words, and the backward error.

    Raises
    ------
    ValueError
        The matrix is not square, `rhs` has the wrong length, an entry is NaN or infinite, or an option is unknown.
    numpy.linalg.LinAlgError
        The matrix is singular, or no direct method reached a backward error of 64 ε, where ε is 2.2e-16 in double precision and 1.2e-7 in single
        precision. Or the iteration did not reach `rtol`, and the band is too wide to factor.
    TypeError
        `a` is an operator, which does not tell its entries. Use `bandsolve.sparse.gmres`.
    MemoryError
        The memory is not sufficient.
    RuntimeError
        The GPU that `device` names does not exist, or it reports an error.

    See Also
    --------
    - `bandsolve.factor`: factor a matrix once, solve many times.
    - `bandsolve.solve_tridiagonal`, `bandsolve.solve_banded`, `bandsolve.solve_block_tridiagonal`: take the diagonals or blocks.
    - `bandsolve.sparse.solve`: iterate, and keep a preconditioner for many right-hand sides.

    Notes
    -----
    **Choice.** The first line that fits decides:

    ```text
    matrix                                               method
    diagonal, tridiagonal, periodic tridiagonal          direct
    block tridiagonal or banded, at moderate work        direct
    the same in reverse Cuthill-McKee order              direct, in that order
    any other                                            iteration: the library chooses the preconditioner and the Krylov method
    any other, if the iteration fails                    direct, if the band has at most 2²⁷ numbers
    ```

    The work of a direct solve is moderate if n · l · (l + u) is at most 4000 times the number of entries, or if more than an eighth of the entries are not
    zero. l and u are the numbers of diagonals below and above the main one.

    **Cost.** Finding the structure takes several passes over the entries, and a direct solve memory for n · (2 l + u + 1) numbers. If you have the
    diagonals, pass them to `bandsolve.solve_tridiagonal` or `bandsolve.solve_banded`.

    **Accuracy.** Direct: the backward error of x is at most 8 ε, or at most 64 ε after a fallback; see `bandsolve.solve_tridiagonal`. Iteration: the
    residual, computed from x, is within `rtol`. The report has the backward error in both cases.

    **Threads.** x is the same, bit for bit, for any number of threads. Iterations use the number that `bandsolve.get_num_threads` returns.

    Examples
    --------
    >>> import numpy as np, bandsolve
    >>> a = np.array([[2.0, 1, 0], [1, 2, 1], [0, 1, 2]])
    >>> x = bandsolve.solve(a, np.array([3.0, 4, 3]))
    >>> print(np.round(x, 9))
    [1. 1. 1.]

    A sparse matrix with two diagonals on each side:

    >>> import scipy.sparse as sp
    >>> offsets = [-2, -1, 0, 1, 2]
    >>> a = sp.diags_array([1.0, -4, 7, -4, 1], offsets=offsets, shape=(1000, 1000))
    >>> x, report = bandsolve.solve(a, np.ones(1000), full_output=True)
    >>> print(np.round(x[500], 9), report.backward_error < 1e-15)
    1.0 True

    A grid of 120 × 120 × 40 nodes, whose band is wide in any order of the nodes:

    >>> line = [sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)) for n in (120, 120, 40)]
    >>> a = sp.kronsum(sp.kronsum(line[0], line[1]), line[2], format="csr")
    >>> x, report = bandsolve.solve(a, a @ np.ones(a.shape[0]), full_output=True)
    >>> print(report.method, bool(np.abs(x - 1).max() < 1e-7))
    cg True
    """
    check_on_host(a=a, rhs=rhs)
    n, arrays = _entries(a)
    rhs = as_array(rhs)
    if rhs.ndim not in (1, 2) or len(rhs) != n:
        raise ValueError(f"rhs has the shape {rhs.shape}, expected ({n},) or ({n}, k)")
    if verify:
        check_finite(arrays, "a")
        place = first_not_finite(rhs)
        if place is not None:
            raise ValueError(f"rhs[{place}] is not finite")
    automatic = method == "auto" and device == "cpu"
    given = _Matrix(n, arrays, blocks=automatic)
    options = dict(method=method, pivoting=pivoting, transpose=transpose, verify=verify, threads=threads, device=device)
    if automatic:
        single = np.result_type(arrays[2], rhs, np.float32).char in "fF"
        rtol = _tolerance("rtol", (1e-5 if single else 1e-10) if rtol is None else rtol)
        x, report = _solve_any(given, rhs, rtol, transpose, options)
    else:
        x, report = given.solve(rhs, f"The matrix is {given}", options)
    return (x, report) if full_output else x
