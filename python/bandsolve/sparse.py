"""Sparse systems: Krylov methods with SciPy's signatures, tridiagonal preconditioners, linear forests.

>>> import numpy as np, scipy.sparse as sp
>>> from bandsolve.sparse import Preconditioner, gmres
>>> n = 60
>>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
>>> a = sp.kronsum(line, 0.01 * line, format="csr")
>>> b = np.ones(n * n)
>>> x, info = gmres(a, b, M=Preconditioner(a), rtol=1e-8)
>>> info, bool(np.linalg.norm(b - a @ x) <= 1e-8 * np.linalg.norm(b))
(0, True)
"""

import numpy as np

from bandsolve import _bandsolve

__all__ = ["Preconditioner", "bicgstab", "cg", "factor_graph", "forest", "gmres", "idrs", "richardson"]


def _rows(a):
    """Number of rows, and the arrays of a matrix by rows, those of SciPy where it has them so."""
    import scipy.sparse as sp

    a = a if sp.issparse(a) else sp.csr_array(np.asarray(a))
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"the matrix has the shape {a.shape}, expected a square one")
    a = a.tocsr()
    data = a.data if a.data.dtype.kind in "fc" else a.data.astype(float)
    return a.shape[0], (a.indptr, a.indices, data)


class Preconditioner:
    """A preconditioner of a sparse matrix: an approximate inverse that is cheap to apply.

    Parameters
    ----------
    a : (n, n) matrix or array of `scipy.sparse`, or array_like
    kind : str
        One of ``auto, none, jacobi, diagp1, diagp2, l1, tridiagonal, forest, forest-block, alt-i:M, alt-o:M, mos-d:M, mos-a:M, mos-a:M:scaled, ilu0,
        ilu-isai:S, adi:NXxNY, amg-lines:M``. `auto` chooses by dominance and by the weight that forests have.
    omega : float
        What the weight of couplings is multiplied by that a forest has taken, before the next is looked for (alt-i, alt-o).
    seed : int
        Seed of the forests.

    Attributes
    ----------
    kind, reason : str
        What it is, and why: empty where it was asked for as it is.

    Notes
    -----
    The matrix is copied. `aslinearoperator` makes it an operator that SciPy's own solvers take as ``M``.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from scipy.sparse.linalg import bicgstab
    >>> from bandsolve.sparse import Preconditioner
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(50, 50))
    >>> a = sp.kronsum(line, line, format="csr")
    >>> m = Preconditioner(a, "amg-lines:2")
    >>> x, info = bicgstab(a, np.ones(2500), M=m.aslinearoperator(), rtol=1e-10)
    >>> info
    0
    """

    def __init__(self, a, kind="auto", *, omega=0.01, seed=0):
        n, arrays = _rows(a)
        self._made = _bandsolve.SparsePreconditioner(n, arrays, kind, omega, seed)

    @property
    def kind(self):
        return self._made.kind

    @property
    def reason(self):
        return self._made.reason

    @property
    def shape(self):
        return self._made.shape

    @property
    def dtype(self):
        return self._made.dtype

    def apply(self, rhs):
        """The product of the approximate inverse and a vector."""
        return self._made.apply(rhs)

    def aslinearoperator(self):
        """As `scipy.sparse.linalg.LinearOperator`."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.shape, matvec=lambda rhs: self.apply(rhs.reshape(-1)), dtype=self.dtype)

    def __repr__(self):
        return f"Preconditioner({self.kind}, n={self.shape[0]})"


def _krylov(method, a, b, x0, rtol, atol, limit, m, callback, side="right"):
    import scipy.sparse as sp
    from scipy.sparse.linalg import aslinearoperator

    b = np.asarray(b)
    shape, b = b.shape, b.reshape(-1)
    n = len(b)
    if shape not in ((n,), (n, 1)):
        raise ValueError(f"the right-hand side has the shape {shape}, expected ({n},) or ({n}, 1)")
    if side not in ("right", "left"):
        raise ValueError(f"side is {side!r}, expected 'right' or 'left'")
    if sp.issparse(a) or isinstance(a, (np.ndarray, list)):
        rows, matrix = _rows(a)
        own = matrix[2].dtype
    else:
        operator = aslinearoperator(a)
        rows, matrix, own = operator.shape[0], operator.matvec, operator.dtype
        if operator.shape[0] != operator.shape[1]:
            raise ValueError(f"the operator has the shape {operator.shape}, expected a square one")
    if rows != n:
        raise ValueError(f"the matrix has {rows} rows, the right-hand side {n}")
    x0 = np.zeros(n) if x0 is None else np.asarray(x0).reshape(-1)
    if len(x0) != n:
        raise ValueError(f"x0 has {len(x0)} elements, expected {n}")
    if isinstance(m, Preconditioner):
        m, other = m._made, m.dtype
    elif m is not None:
        m = aslinearoperator(m)
        m, other = m.matvec, m.dtype
    else:
        other = None
    # Integers, and operators that do not say of what type they are, count as double precision.
    types = [kind for kind in (own, b.dtype, x0.dtype if x0.dtype.kind == "c" else None, other) if kind is not None]
    dtype = np.result_type(*types, np.float32)
    if isinstance(matrix, tuple):
        matrix = (*matrix[:2], matrix[2].astype(dtype, copy=False))
    if isinstance(m, _bandsolve.SparsePreconditioner) and m.dtype != dtype:
        m = m.apply
    options = {
        "method": method,
        "rtol": float(rtol),
        "atol": float(atol),
        "max_iterations": limit,
        "left": side == "left",
        "callback": callback,
    }
    x, report = _bandsolve.krylov(matrix, m, b.astype(dtype, copy=False), x0.astype(dtype, copy=False), options)
    return x.reshape(shape), report


def _answer(x, report, full_output):
    if full_output:
        return x, report
    return x, 0 if report["converged"] else max(report["iterations"], 1)


_PARAMETERS = """
    Parameters
    ----------
    A : (n, n) matrix or array of `scipy.sparse`, array_like, or LinearOperator
        Matrices by rows (csr) are taken as they are, others converted.
    b : (n,) or (n, 1) array_like
    x0 : (n,) array_like, optional
        Where it begins.
    rtol, atol : float
        Stop when ``norm(b - A @ x) <= max(rtol * norm(b), atol)``; the residual is computed from x.
    maxiter : int, optional
        {maxiter}
    M : Preconditioner, LinearOperator or matrix, optional
        An approximate inverse of A.
    callback : callable, optional
        Called with the norm of the residual after each iteration.
    full_output : bool
        Return a dictionary in the place of `info`: converged, ending (why it ended), iterations, restarts, residual_norm, rhs_norm,
        tolerance, history.{more}

    Returns
    -------
    x : ndarray
        The solution, or the best there is.
    info : int
        0 if converged, else the number of iterations.
    """
_LIMIT = "Most iterations. Default: 10 n, at most 10,000."


def _documented(maxiter=_LIMIT, more=""):
    def fill(function):
        function.__doc__ = function.__doc__.replace("@PARAMETERS", _PARAMETERS.format(maxiter=maxiter, more=more).strip())
        return function

    return fill


@_documented(
    "Most restarts. Default: as many as 10 n iterations need, at most 10,000 iterations.",
    "\n    restart : int, optional\n        Iterations between restarts. Default: 20."
    "\n    side : 'right' or 'left'\n        Where the preconditioner stands.",
)
def gmres(A, b, x0=None, *, rtol=1e-5, atol=0.0, restart=None, maxiter=None, M=None, callback=None, side="right",
          full_output=False):
    """Generalised minimal residuals, preconditioned on the right, orthogonalised twice.

    @PARAMETERS
    """
    restart = 20 if restart is None else int(restart)
    limit = None if maxiter is None else maxiter * restart
    return _answer(*_krylov(f"gmres:{restart}", A, b, x0, rtol, atol, limit, M, callback, side), full_output)


@_documented()
def bicgstab(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, full_output=False):
    """Stabilised bi-conjugate gradients: any matrix.

    @PARAMETERS
    """
    return _answer(*_krylov("bicgstab", A, b, x0, rtol, atol, maxiter, M, callback), full_output)


@_documented()
def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, full_output=False):
    """Conjugate gradients: Hermitian positive definite matrices and preconditioners.

    @PARAMETERS
    """
    return _answer(*_krylov("cg", A, b, x0, rtol, atol, maxiter, M, callback), full_output)


@_documented(more="\n    space : int\n        Shadow vectors.")
def idrs(A, b, x0=None, *, rtol=1e-5, atol=0.0, space=4, maxiter=None, M=None, callback=None, full_output=False):
    """Induced dimension reduction, IDR(s): any matrix.

    @PARAMETERS
    """
    return _answer(*_krylov(f"idr:{int(space)}", A, b, x0, rtol, atol, maxiter, M, callback), full_output)


@_documented(more="\n    omega : float\n        What each step is multiplied by.")
def richardson(A, b, x0=None, *, rtol=1e-5, atol=0.0, omega=1.0, maxiter=None, M=None, callback=None, full_output=False):
    """Richardson's iteration, x += omega * M @ (b - A @ x): the preconditioner alone.

    @PARAMETERS
    """
    return _answer(*_krylov(f"richardson:{omega}", A, b, x0, rtol, atol, maxiter, M, callback), full_output)


def forest(a, *, rounds=5, seed=0):
    """The tridiagonal system that carries most of a matrix's weight: disjoint paths along its strong couplings.

    Parameters
    ----------
    a : (n, n) matrix or array of `scipy.sparse`, or array_like
    rounds : int
        Most rounds of proposals.
    seed : int

    Returns
    -------
    dict
        ``order``: the unknowns path by path; ``lengths`` of the paths; ``coverage``: the share of the weight beside the diagonal that
        lies on them; ``cycles`` that were broken.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.sparse import forest
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(6, 6)).tocsr()
    >>> order = np.array([3, 0, 4, 1, 5, 2])
    >>> found = forest(line[order][:, order])
    >>> found["coverage"], found["lengths"].tolist(), order[found["order"]].tolist()
    (1.0, [6], [0, 1, 2, 3, 4, 5])
    """
    return _bandsolve.graph_factor(*_rows(a), 2, rounds, seed, True)


def factor_graph(a, n=2, *, rounds=5, seed=0):
    """A factor of a matrix's graph in which each vertex has at most n edges, of much weight.

    Parameters
    ----------
    a : (k, k) matrix or array of `scipy.sparse`, or array_like
    n : int
        1 (a matching) to 4.
    rounds, seed : int
        As for `forest`.

    Returns
    -------
    dict
        ``partners``: (k, n) array, -1 where there is none; ``coverage``; ``maximal``: whether no edge can be added.
    """
    found = _bandsolve.graph_factor(*_rows(a), n, rounds, seed, False)
    found["partners"] = found["partners"].reshape(-1, n)
    return found
