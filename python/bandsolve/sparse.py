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

import warnings
from functools import partial

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import as_array

__all__ = [
    "Preconditioner",
    "PreparedProduct",
    "bicgstab",
    "cg",
    "factor_graph",
    "fgmres",
    "forest",
    "gmres",
    "idrs",
    "richardson",
    "solve",
]


def _arrays(a):
    """Shape and arrays of a matrix by rows, those of SciPy where it has them so."""
    import scipy.sparse as sp

    if not sp.issparse(a):
        a = as_array(a)
        a = sp.csr_array(a.astype(_number(a.dtype), copy=False))
    if len(a.shape) != 2:
        raise ValueError(f"the matrix has the shape {a.shape}, expected two dimensions")
    a = a.tocsr()
    return a.shape, _compressed(a)


def _compressed(a):
    """The arrays of a matrix by rows or by columns, without what may stand behind its entries."""
    count = int(a.indptr[-1])
    return a.indptr, a.indices[:count], a.data[:count].astype(_number(a.data.dtype), copy=False)


def _square(shape):
    """Number of rows of a square matrix."""
    if shape[0] != shape[1]:
        raise ValueError(f"the matrix has the shape {shape}, expected a square one")
    return shape[0]


def _rows(a):
    """Number of rows of a square matrix, and its arrays."""
    shape, arrays = _arrays(a)
    return _square(shape), arrays


def _edges(a):
    """Number of rows of a square matrix, and its arrays or those of its transpose, which has the same graph: no copy of a matrix by columns."""
    if getattr(a, "format", None) == "csc":
        return _square(a.shape), _compressed(a)
    return _rows(a)


def _number(dtype):
    """The type in which numbers of a type are computed with: double precision, but for single precision."""
    dtype = np.dtype(dtype)
    if dtype.char in "fdFD":
        return dtype
    return np.dtype(complex if dtype.kind == "c" else float)


def _whole_number(name, value, least):
    """As an int, where it is a whole number from `least` on that the compiled part can hold."""
    most = (1 << 63) - 1
    try:
        number = int(value)
        whole = not isinstance(value, str) and number == value and number >= least
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise ValueError(f"{name} is {value!r}, expected a whole number from {least} on")
    if number > most:
        shown = value if number < 10**40 else "a number of more than 40 digits"
        raise ValueError(f"{name} is {shown}, expected a whole number from {least} to {most}")
    return number


def _by_parts(product, dtype, x):
    """The product with a vector; where it is real and the vector is complex, of its parts."""
    x = as_array(x)
    if x.dtype.kind == "c" and dtype.kind != "c":
        return product(x.real) + 1j * product(x.imag)
    return product(x)


_WITH_ADJOINT = ("none", "jacobi", "diagp1", "diagp2", "l1", "tridiagonal", "forest", "forest-block")


class Preconditioner:
    """A preconditioner of a sparse matrix: an approximate inverse that is cheap to apply.

    Parameters
    ----------
    a : (n, n) matrix or array of `scipy.sparse`, or array_like
    kind : str
        One of ``auto, none, jacobi, diagp1, diagp2, l1, tridiagonal, forest, forest-block, alt-i:M, alt-o:M, mos-d:M, mos-a:M, mos-a:M:scaled, ilu0,
        ilu-isai:S, adi:NXxNY, amg-lines:M``. `auto` looks at the rows, tries some, and predicts the time to solution. M is the number of forests; without ``:M``
        it is chosen by their weight, and is 1 for `amg-lines`.
    omega : float
        Factor on the weight of couplings that an earlier forest contains, before the next forest is extracted (alt-i, alt-o).
    seed : int
        Seed of the forests.
    precision : None or 'single'
        'single': the preconditioner of a matrix in double precision is made and applied in single precision. It takes half the memory; the
        solvers still reach tolerances of double precision. None: the precision of the matrix.
    inner : str, optional
        A method that each application runs in single precision, with this preconditioner, to a residual of 1e-4: ``gmres:20``, ``bicgstab``,
        ``cg`` or ``idr:4``. With `richardson` as the solver this is iterative refinement. It needs ``precision='single'`` and a matrix in double precision.

    Attributes
    ----------
    kind, reason : str
        The name of what was made, and why `auto` or the rule for M has chosen it; `reason` is empty if nothing was chosen.
    method : str or None
        The Krylov method that `auto` has chosen with the preconditioner, such as ``cg`` or ``gmres:30``; None for all other kinds. `solve` runs it.

    Notes
    -----
    The matrix is copied. ``m @ x`` is one application. With `precision` 'single', `gmres` takes the preconditioner on the right only. SciPy's own
    solvers take it as ``M``, too. `bicg` and `qmr` need products with the adjoint; of these kinds there are some: ``none, jacobi, diagp1, diagp2,
    l1, tridiagonal, forest, forest-block``.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from scipy.sparse.linalg import bicgstab
    >>> from bandsolve.sparse import Preconditioner
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(50, 50))
    >>> a = sp.kronsum(line, line, format="csr")
    >>> m = Preconditioner(a, "amg-lines:2")
    >>> x, info = bicgstab(a, np.ones(2500), M=m, rtol=1e-10)
    >>> info
    0

    Iterative refinement, with all but the residuals in single precision:

    >>> from bandsolve.sparse import richardson
    >>> m = Preconditioner(a, "ilu0", precision="single", inner="gmres:20")
    >>> x, report = richardson(a, np.ones(2500), M=m, rtol=1e-13, full_output=True)
    >>> report["converged"], report["iterations"] <= 5
    (True, True)
    """

    # NumPy's arrays leave products with it to it.
    __array_ufunc__ = None

    def __init__(self, a, kind="auto", *, omega=0.01, seed=0, precision=None, inner=None):
        n, arrays = _rows(a)
        if precision not in (None, "single"):
            raise ValueError(f"precision is {precision!r}, expected None or 'single'")
        if not isinstance(kind, str):
            raise ValueError(f"kind is {kind!r}, expected a name such as 'auto' or 'alt-i:2'")
        if not np.isfinite(arrays[2]).all():
            raise ValueError("the matrix holds NaN or an infinity")
        rounds = precision is not None and arrays[2].dtype.char in "dD"
        if inner is not None and not rounds:
            raise ValueError("inner takes precision='single' and a matrix in double precision")
        options = {"kind": kind, "omega": _tolerance("omega", omega), "seed": _whole_number("seed", seed, 0), "single": rounds,
                   "inner": inner}
        self._made = _bandsolve.SparsePreconditioner(n, arrays, options)

    @property
    def kind(self):
        return self._made.kind

    @property
    def reason(self):
        return self._made.reason

    @property
    def method(self):
        return self._made.method

    @property
    def shape(self):
        return self._made.shape

    @property
    def dtype(self):
        return self._made.dtype

    def apply(self, rhs):
        """The product of the approximate inverse and a vector."""
        return _by_parts(self._made.apply, self.dtype, rhs)

    def matvec(self, rhs):
        """The same of an array of shape (n,) or (n, 1), as SciPy's operators have it."""
        return self.apply(np.reshape(rhs, -1))

    def rmatvec(self, rhs):
        """The product of the adjoint of the approximate inverse and a vector, of those kinds that have it."""
        if self.kind not in _WITH_ADJOINT:
            raise ValueError(f"{self.kind} has no adjoint; these have: {', '.join(_WITH_ADJOINT)}")
        return _by_parts(self._made.apply_adjoint, self.dtype, np.reshape(rhs, -1))

    def __matmul__(self, rhs):
        """The product of the approximate inverse and an array of shape (n,) or (n, k)."""
        rhs = as_array(rhs)
        if rhs.ndim != 2:
            return self.apply(rhs)
        return np.stack([self.apply(column) for column in rhs.T], axis=1) if rhs.shape[1] else np.empty(rhs.shape, self.dtype)

    def aslinearoperator(self):
        """As `scipy.sparse.linalg.LinearOperator`."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.shape, matvec=self.matvec, rmatvec=self.rmatvec, dtype=self.dtype)

    def __repr__(self):
        return f"Preconditioner({self.kind}, n={self.shape[0]})"


class PreparedProduct:
    """The product with a sparse matrix, prepared for many products.

    A second copy of the matrix, in a form that is faster to multiply, is stored in two cases. If neighboring entries of a row are far from each
    other in an x that is larger than a processor's cache, it has panels sorted by columns: a product takes about half the time. If most rows have
    their entries at the same distances from the diagonal as the rows beside them, as those of stencils, it has slices of eight rows: a product takes
    a third of the time if values repeat, else two thirds. All other matrices are multiplied as they are. Products use all threads, and are the same for any number of them.

    Parameters
    ----------
    a : (m, n) matrix or array of `scipy.sparse`, or array_like

    Attributes
    ----------
    shape, dtype
        Those of the matrix.
    nbytes : int
        Bytes of the second copy: 0 if there is none.

    Notes
    -----
    The matrix is copied. The solvers of this module take a prepared product as ``A`` and apply it without calling Python; those of SciPy also take it.
    x is rounded to the precision of the matrix.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.sparse import PreparedProduct, bicgstab
    >>> a = PreparedProduct(sp.random_array((4000, 4000), density=0.001, rng=1) + 9 * sp.eye_array(4000))
    >>> b = a @ np.ones(4000)
    >>> x, info = bicgstab(a, b, rtol=1e-12)
    >>> info, bool(np.abs(x - 1).max() < 1e-9), (a @ np.ones((4000, 3))).shape
    (0, True, (4000, 3))
    """

    # NumPy's arrays leave products with it to it.
    __array_ufunc__ = None

    def __init__(self, a):
        shape, arrays = _arrays(a)
        self._made = _bandsolve.SparseProduct(shape[1], arrays)

    @property
    def shape(self):
        return self._made.shape

    @property
    def dtype(self):
        return self._made.dtype

    @property
    def nbytes(self):
        return self._made.bytes

    def _multiply(self, product, x):
        return _by_parts(product, self.dtype, x)

    def matvec(self, x):
        """A @ x, for an array of shape (n,) or (n, 1): the result has as many dimensions."""
        x = as_array(x)
        if x.shape not in ((self.shape[1],), (self.shape[1], 1)):
            raise ValueError(f"the vector has the shape {x.shape}, expected ({self.shape[1]},) or ({self.shape[1]}, 1)")
        return self._multiply(self._made.product, x)

    def rmatvec(self, x):
        """The product of the adjoint of A and a vector."""
        x = as_array(x)
        if x.shape not in ((self.shape[0],), (self.shape[0], 1)):
            raise ValueError(f"the vector has the shape {x.shape}, expected ({self.shape[0]},) or ({self.shape[0]}, 1)")
        return self._multiply(self._made.adjoint_product, x)

    def matmat(self, x):
        """A @ x, for an array of shape (n, k)."""
        return self._multiply(self._made.product, x)

    def rmatmat(self, x):
        """The product of the adjoint of A and an array of shape (m, k)."""
        return self._multiply(self._made.adjoint_product, x)

    def __matmul__(self, x):
        return self._multiply(self._made.product, x)

    def aslinearoperator(self):
        """As `scipy.sparse.linalg.LinearOperator`."""
        from scipy.sparse.linalg import LinearOperator

        return LinearOperator(self.shape, self.matvec, rmatvec=self.rmatvec, matmat=self.matmat, rmatmat=self.rmatmat, dtype=self.dtype)

    def __repr__(self):
        return f"PreparedProduct(shape={self.shape}, dtype={self.dtype}, nbytes={self.nbytes})"


def _vector(name, values, n):
    """An array of shape (n,) or (n, 1), as one of shape (n,)."""
    values = as_array(values)
    if values.shape not in ((n,), (n, 1)):
        raise ValueError(f"{name} has the shape {values.shape}, expected ({n},) or ({n}, 1)")
    return values.reshape(-1)


def _matrix(a, b):
    """Rows of the matrix, its arrays or its product with a vector, and in which type of numbers it computes."""
    import scipy.sparse as sp
    from scipy.sparse.linalg import aslinearoperator

    if sp.issparse(a) or isinstance(a, (np.ndarray, list)):
        rows, matrix = _rows(a)
        return rows, matrix, matrix[2].dtype
    if isinstance(a, PreparedProduct) and a.shape[0] == a.shape[1]:
        return a.shape[0], a._made, a.dtype
    operator = aslinearoperator(a)
    if operator.shape[0] != operator.shape[1]:
        raise ValueError(f"the operator has the shape {operator.shape}, expected a square one")
    dtype = operator.matvec(np.asarray(b)).dtype if operator.dtype is None else operator.dtype
    return operator.shape[0], operator.matvec, _number(dtype)


def _inverse(m, a, n):
    """The preconditioner as the compiled part takes it, and in which type of numbers it computes."""
    from scipy.sparse.linalg import aslinearoperator

    if m is None:
        # SciPy's way to give one with the matrix.
        return getattr(a, "psolve", None), None
    if isinstance(m, Preconditioner):
        shape, applied, dtype = m.shape, m._made, m.dtype
    else:
        m = aslinearoperator(m)
        shape, applied, dtype = m.shape, m.matvec, m.dtype
    if shape != (n, n):
        raise ValueError(f"the preconditioner has the shape {shape}, expected {(n, n)}")
    return applied, dtype


def _tolerance(name, value):
    """As a number, where it is one from 0 on."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not number >= 0:
        raise ValueError(f"{name} is {value!r}, expected a number that is not negative")
    return number


def _norm(v):
    """The 2-norm as a pair, scale and norm / scale: neither squares nor the norm itself leave the range."""
    v = np.asarray(v)
    scale = max(np.abs(v.real).max(initial=0.0), np.abs(v.imag).max(initial=0.0))
    return (scale, np.linalg.norm(v / scale)) if scale > 0 and np.isfinite(scale) else (1.0, scale)


def _as(dtype, values, name):
    """The array in this type. Imaginary parts are never dropped."""
    if values.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        raise TypeError(f"{name} holds complex numbers, but matrix, right-hand side and preconditioner are declared as {np.dtype(dtype)}. "
                        "Declare the operator with dtype=complex, or return real numbers.")
    return values.astype(dtype, copy=False)


def _start(x0, b, m, n):
    """The vector that x0 means; 0 where the right-hand side is 0, as of SciPy's."""
    if x0 is None or not b.any():
        return np.zeros(n, b.dtype)
    if isinstance(x0, str):
        if x0 != "Mb":
            raise ValueError(f"x0 is {x0!r}, expected an array or 'Mb'")
        return b if m is None else np.asarray(m(b) if callable(m) else m.apply(b))
    return _vector("x0", x0, n)


def _krylov(method, a, b, x0, rtol, atol, limit, m, callback, side="right", tells_x=True, chosen=False):
    if side not in ("right", "left"):
        raise ValueError(f"side is {side!r}, expected 'right' or 'left'")
    n, matrix, own = _matrix(a, b)
    b = _vector("the right-hand side", b, n)
    m, other = _inverse(m, a, n)
    x0 = x0 if x0 is None or isinstance(x0, str) else as_array(x0)
    # The precision is that of matrix and right-hand side; what else there is can make it complex.
    dtype = np.result_type(own, _number(b.dtype))
    if any(kind is not None and kind.kind == "c" for kind in (other, getattr(x0, "dtype", None))):
        dtype = np.result_type(dtype, np.complex64)
    b = b.astype(dtype, copy=False)
    if isinstance(matrix, tuple):
        matrix = (*matrix[:2], matrix[2].astype(dtype, copy=False))
    if isinstance(matrix, _bandsolve.SparseProduct) and matrix.dtype != dtype:
        matrix = a.matvec
    if isinstance(m, _bandsolve.SparsePreconditioner) and m.dtype != dtype:
        m = partial(_by_parts, m.apply, m.dtype)
    x0 = _as(dtype, _start(x0, b, m, n), "x0")
    options = {
        "method": method,
        "rtol": _tolerance("rtol", rtol),
        "atol": _tolerance("atol", atol),
        "max_iterations": limit,
        "left": side == "left",
        "callback": callback,
        "tells_x": tells_x,
        "chosen": chosen,
    }
    return _bandsolve.krylov(matrix, m, b, x0, options)


def _answer(x, report, full_output):
    if full_output:
        return x, report
    return x, 0 if report["converged"] else max(report["iterations"], 1)


def _iterations(maxiter, b):
    """Most iterations of methods that SciPy has, too."""
    return 10 * np.size(b) if maxiter is None else _whole_number("maxiter", maxiter, 0)


def _limit(maxiter):
    """The same of methods that SciPy does not have, whose limit is chosen where they run."""
    return None if maxiter is None else _whole_number("maxiter", maxiter, 0)


_PARAMETERS = """
    Parameters
    ----------
    A : (n, n) matrix or array of `scipy.sparse`, array_like, PreparedProduct, or LinearOperator
        The numbers of a csr matrix are used without a copy, its indices are copied. SciPy converts other formats (csc, coo, dia, bsr) once a call, which takes memory for one
        more matrix and the time of a few products.
    b : (n,) or (n, 1) array_like
    x0 : (n,) array_like, optional
        The start of the iteration. Default: 0.
    rtol, atol : float
        Stop when ``norm(b - A @ x) <= max(rtol * norm(b), atol)``; the residual is computed from x.
    maxiter : int, optional
        {maxiter}
    M : Preconditioner, LinearOperator or matrix, optional
        An approximate inverse of A.
    callback : callable, optional
        {callback} An exception in it ends the iteration and is raised again; after `StopIteration` there is an answer,
        the best x so far, with the ending ``cancelled``.
    full_output : bool
        Return a dictionary in the place of `info`, with converged, ending (why the iteration ended), method, iterations, restarts, residual_norm,
        rhs_norm, tolerance, history (norms of residuals), and attention (says in words where x is so large that the matrix must be
        singular to working precision, else None).{more}

    Returns
    -------
    x : ndarray of shape (n,)
        The solution, or the best x that was found.
    info : int
        0 if converged, else {info}.
    """
_LIMIT = "Most iterations. Default: 10 n."
_CAPPED = "Most iterations. Default: 10 n, at most 10,000."
_CALLBACK = "Called with x after each iteration."
_ITERATIONS = "the number of iterations"


def _documented(maxiter=_LIMIT, more="", callback=_CALLBACK, info=_ITERATIONS):
    def fill(function):
        parameters = _PARAMETERS.format(maxiter=maxiter, more=more, callback=callback, info=info)
        # (Without docstrings, as by `python -OO`, there is nothing to fill.)
        if function.__doc__:
            function.__doc__ = function.__doc__.replace("@PARAMETERS", parameters.strip())
        return function

    return fill


@_documented(
    "Most restarts. Default: 10 n.",
    "\n    restart : int, optional\n        Iterations between restarts. Default: 20, or n if that is less."
    "\n    callback_type : 'x', 'pr_norm' or 'legacy'\n        'x': called with x after each restart; 'pr_norm': after each iteration with the norm of the "
    "residual over\n        that of b (with side='left' of the preconditioned residual); 'legacy': the same, and `maxiter` counts "
    "iterations.\n        None: 'legacy', with a warning."
    "\n    side : 'right' or 'left'\n        The side of A that the preconditioner is on. (SciPy has it on the left.)",
    "Called as `callback_type` says.",
    "the number of restarts, or with callback_type='legacy' of iterations",
)
def gmres(A, b, x0=None, *, rtol=1e-5, atol=0.0, restart=None, maxiter=None, M=None, callback=None, callback_type=None,
          side="right", full_output=False):
    """Generalised minimal residuals, preconditioned on the right, orthogonalised twice.

    It is flexible (FGMRES) where the preconditioner changes from step to step: ``alt-o:M``, ``precision='single'``, and whatever iterates inside. So
    `fgmres` is another name of it. A `LinearOperator` is taken for one that does not change.

    @PARAMETERS
    """
    if callback_type not in (None, "x", "pr_norm", "legacy"):
        raise ValueError(f"callback_type is {callback_type!r}, expected 'x', 'pr_norm' or 'legacy'")
    if callback is not None and callback_type is None:
        message = "bandsolve.sparse.gmres called without specifying `callback_type`: 'legacy' is taken, by which maxiter is of iterations"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        callback_type = "legacy"
    legacy = callback is not None and callback_type == "legacy"
    restart = max(min(20 if restart is None else _whole_number("restart", restart, 1), np.size(b)), 1)
    # More iterations than a number of 63 bits take longer than anybody waits.
    limit = min(_iterations(maxiter, b) * (1 if legacy else restart), (1 << 63) - 1)
    told = callback
    if callback is not None and callback_type != "x":
        scale, size = _norm(b)

        def told(norm):
            callback(np.float64(norm / scale / size))

    x, report = _krylov(f"gmres:{restart}", A, b, x0, rtol, atol, limit, M, told, side, callback_type == "x")
    if full_output or report["converged"] or legacy:
        return _answer(x, report, full_output)
    return x, report["restarts"] + 1


#: Another name of `gmres`.
fgmres = gmres


@_documented(info="the number of iterations, or -10 after a breakdown")
def bicgstab(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, full_output=False):
    """Stabilised bi-conjugate gradients: any matrix.

    @PARAMETERS
    """
    x, report = _krylov("bicgstab", A, b, x0, rtol, atol, _iterations(maxiter, b), M, callback)
    if report["ending"] == "breakdown" and not full_output:
        return x, -10
    return _answer(x, report, full_output)


@_documented()
def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, full_output=False):
    """Conjugate gradients: Hermitian positive definite matrices and preconditioners.

    @PARAMETERS
    """
    return _answer(*_krylov("cg", A, b, x0, rtol, atol, _iterations(maxiter, b), M, callback), full_output)


@_documented(_CAPPED, "\n    space : int\n        Shadow vectors.")
def idrs(A, b, x0=None, *, rtol=1e-5, atol=0.0, space=4, maxiter=None, M=None, callback=None, full_output=False):
    """Induced dimension reduction, IDR(s): any matrix.

    @PARAMETERS
    """
    method = f"idr:{_whole_number('space', space, 1)}"
    return _answer(*_krylov(method, A, b, x0, rtol, atol, _limit(maxiter), M, callback), full_output)


@_documented(_CAPPED, "\n    omega : float\n        What each step is multiplied by.")
def richardson(A, b, x0=None, *, rtol=1e-5, atol=0.0, omega=1.0, maxiter=None, M=None, callback=None, full_output=False):
    """Richardson's iteration, x += omega * M @ (b - A @ x): the preconditioner alone.

    @PARAMETERS
    """
    omega = float(omega)
    if not np.isfinite(omega):
        raise ValueError(f"omega is {omega!r}, expected a finite number")
    return _answer(*_krylov(f"richardson:{omega}", A, b, x0, rtol, atol, _limit(maxiter), M, callback), full_output)


@_documented(_CAPPED, "\n        It also has `preconditioner`, its name.")
def solve(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, full_output=False):
    """A sparse system by the preconditioner and the Krylov method that suit the matrix, as ``Preconditioner(A)`` chooses them.

    With a preconditioner as `M`, its `method` is used, or GMRES(30) if it has none. If only products with A are known, pass `M`. Where conjugate
    gradients break down, GMRES(30) goes on from their x; the report then is of GMRES alone.

    @PARAMETERS

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.sparse import solve
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(50, 50))
    >>> x, report = solve(sp.kronsum(line, line, format="csr"), np.ones(2500), full_output=True)
    >>> report["converged"], report["method"]
    (True, 'cg')
    """
    if M is None:
        M = Preconditioner(A)
    method = getattr(M, "method", None) or "gmres:30"
    x, report = _krylov(method, A, b, x0, rtol, atol, _limit(maxiter), M, callback, chosen=True)
    if full_output:
        report.update(preconditioner=getattr(M, "kind", None))
    return _answer(x, report, full_output)


def forest(a, *, rounds=5, seed=0):
    """The tridiagonal system that carries most of a matrix's weight: disjoint paths along its strong couplings.

    Parameters
    ----------
    a : (n, n) matrix or array of `scipy.sparse`, or array_like
        Of those by rows (csr) or columns (csc), indices are copied, values are not.
    rounds : int
        Most rounds of proposals. The search ends earlier if no edge can be added.
    seed : int

    Returns
    -------
    dict
        ``order``: the unknowns path by path; ``lengths``: those of the paths; ``coverage``: the share of the weight beside the diagonal that
        lies on the paths; ``cycles``: how many were broken; ``maximal``: whether no edge can be added, as a last round has shown.

    Notes
    -----
    If the unknowns that follow each other in the given order have more weight than the paths that were found, the result is the given order, cut
    where two unknowns are not coupled.

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
    return _bandsolve.graph_factor(*_edges(a), 2, _whole_number("rounds", rounds, 0), _whole_number("seed", seed, 0), True)


def factor_graph(a, n=2, *, rounds=5, seed=0):
    """A [0, n]-factor of a matrix's graph: heavy edges, at most n at each vertex.

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
    n = _whole_number("n", n, 1)
    if n > 4:
        raise ValueError(f"n is {n}, expected 1 to 4")
    found = _bandsolve.graph_factor(*_edges(a), n, _whole_number("rounds", rounds, 0), _whole_number("seed", seed, 0), False)
    found["partners"] = found["partners"].reshape(-1, n)
    return found
