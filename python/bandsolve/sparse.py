"""Solve sparse linear systems: Krylov methods with SciPy's signatures, preconditioners, linear forests.

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
from bandsolve._bandsolve import any_on_gpu, as_array
from bandsolve._batch import first_not_finite
from bandsolve._operator import by_parts, has_solve, of_solver
from bandsolve._optional import scipy_module
from bandsolve._arguments import seed_of, whole_number

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


def is_of_cupy(a):
    """Whether a matrix is one of CuPy, which copies itself to the host by `get`."""
    return hasattr(a, "tocsr") and hasattr(a, "get") and not scipy_module("sparse").issparse(a)


def matrix_arrays(a, name):
    """Return the shape of a matrix and its three arrays by rows. The arrays of a csr matrix are not copied."""
    sp = scipy_module("sparse")
    if isinstance(a, ON_GPU):
        raise TypeError(f"{name} is on a GPU, expected a matrix on the host")
    if is_of_cupy(a):
        raise TypeError(f"{name} is a {type(a).__name__}, expected a matrix of scipy.sparse or an array. Pass bandsolve.gpu.ascsr({name}) to compute on "
                        f"a GPU, or {name}.get()")
    if not sp.issparse(a):
        a = as_array(a)
        a = sp.csr_array(a.astype(_number(a.dtype), copy=False))
    if len(a.shape) != 2:
        raise ValueError(f"the matrix has the shape {a.shape}, expected two dimensions")
    a = a.tocsr()
    return a.shape, _compressed(a, name)


def _compressed(a, name):
    """Return the arrays of a csr or csc matrix, cut to the number of its entries, which must be finite."""
    count = int(a.indptr[-1])
    arrays = a.indptr, a.indices[:count], a.data[:count].astype(_number(a.data.dtype), copy=False)
    check_finite(arrays, name, by_columns=a.format == "csc")
    return arrays


def check_finite(arrays, name, by_columns=False):
    """Raise an error that names the first entry of a compressed matrix that is NaN or infinite."""
    pointers, indices, data = arrays
    finite = np.isfinite(data)
    if not finite.all():
        place = finite.argmin()
        i, j = np.searchsorted(pointers, place, side="right") - 1, indices[place]
        i, j = (j, i) if by_columns else (i, j)
        raise ValueError(f"{name}[{i}, {j}] is not finite")


def _square(shape):
    """Return the number of rows of a square matrix."""
    if shape[0] != shape[1]:
        raise ValueError(f"the matrix has the shape {shape}, expected a square matrix")
    return shape[0]


def _rows(a, name="a"):
    """Return the number of rows of a square matrix, and its arrays."""
    shape, arrays = matrix_arrays(a, name)
    return _square(shape), arrays


def _edges(a):
    """Return the number of rows of a square matrix, and its arrays. A csc matrix gives those of its transpose, which has the same graph."""
    if getattr(a, "format", None) == "csc":
        return _square(a.shape), _compressed(a, "a")
    return _rows(a)


def _number(dtype):
    """Return the number type of the computation: single precision for single precision, else double precision."""
    dtype = np.dtype(dtype)
    if dtype.char in "fdFD":
        return dtype
    return np.dtype(complex if dtype.kind == "c" else float)


#: The class of matrices on a GPU; without CUDA, there are none.
ON_GPU = getattr(_bandsolve, "DeviceCsr", ())


class Preconditioner:
    """Preconditioner of a sparse matrix: an approximate inverse that is cheap to apply.

    Parameters
    ----------
    a : (n, n) matrix or array of scipy.sparse, array_like, or DeviceCsr
        The matrix. The preconditioner keeps copies of what it needs. If the matrix is one of `bandsolve.gpu.ascsr`, the preconditioner is on its GPU, and
        shares the matrix. It then takes vectors on the GPU of shape (n,), and has no adjoint.
    kind : str, default "auto"
        Name of the preconditioner, see the notes. "auto" tries several kinds, predicts the time to solution of each, and takes the shortest.
    omega : float, default 0.01
        For "alt-i" and "alt-o": factor on the weight of the couplings of one forest before the next forest is extracted.
    rng : numpy.random.Generator or int, optional
        Source of the random numbers with which forests are extracted. An int is a seed, and `seed` is an alias for it. Default: 0.
    precision : str, optional
        "single": set up and apply the preconditioner of a double precision matrix in single precision. This halves its memory. The solvers still reach
        tolerances of double precision. None: the precision of the matrix.
    inner : str, optional
        Krylov method that each application runs in single precision, to a relative residual of 1e-4: for example "gmres:20", "bicgstab", "cg" or
        "idr:4". It needs ``precision="single"`` and a double precision matrix. With `richardson` as the solver, this is iterative refinement.

    Raises
    ------
    ValueError
        The matrix is not square, an entry is NaN or infinite, or an option is invalid.
    numpy.linalg.LinAlgError
        The preconditioner cannot be computed, for example because "ilu0" has no pivot in a row.

    See Also
    --------
    - `bandsolve.sparse.solve`: choose and solve in one call.
    - `bandsolve.sparse.forest`: see the forest that the preconditioner uses.

    Notes
    -----
    **Kinds.** A linear forest is a set of disjoint paths along large matrix entries. Numbered path by path, its part of the matrix is tridiagonal.

    ```text
    none                             the identity
    jacobi, diagp1, diagp2, l1       diagonal matrices
    tridiagonal                      the tridiagonal part of the matrix
    forest                           the tridiagonal system of one linear forest
    forest-block                     the block tridiagonal system of a forest of pairs
    alt-i:M                          solves with M forests in turn, with residuals in between
    alt-o:M                          one of M forests in each application; it changes from step to step
    mos-d:M                          the inverse of a product of the systems of M disjoint forests
    mos-a:M, mos-a:M:scaled          the same; each forest comes from what the factors before it leave
    ilu0                             incomplete LU with the pattern of the matrix
    ilu-isai:S                       the same, with approximate inverses of the triangles and S sweeps
    adi:NXxNY                        tridiagonal solves along the rows and the columns of a grid of NX times NY
    amg-lines:M                      algebraic multigrid with M forests as the smoother
    ```

    Without ``:M``, forests are added until they carry 90 % of the off-diagonal weight, at most four. "amg-lines" then has one.

    **Use.** ``m @ x`` applies the preconditioner. The solvers of this module and of SciPy take it as ``M``. With ``precision="single"``, `gmres` takes
    it on the right side only. SciPy's `bicg` and `qmr` need products with the adjoint. These kinds have them: none, jacobi, diagp1, diagp2, l1,
    tridiagonal, forest and forest-block.

    **Cost.** For one application: "forest" one tridiagonal solve, "mos-d:M" and "mos-a:M" M solves, "alt-i:M" M solves and M - 1 products with the
    matrix, "ilu0" two sequential triangular solves.

    **Threads.** The result is the same, bit for bit, for any number of threads.

    Examples
    --------
    As a preconditioner of a solver of SciPy:

    >>> import numpy as np, scipy.sparse as sp
    >>> from scipy.sparse.linalg import bicgstab
    >>> from bandsolve.sparse import Preconditioner
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(50, 50))
    >>> a = sp.kronsum(line, line, format="csr")
    >>> m = Preconditioner(a, "amg-lines:2")
    >>> x, info = bicgstab(a, np.ones(2500), M=m, rtol=1e-10)
    >>> info
    0

    Iterative refinement, with everything but the residuals in single precision:

    >>> from bandsolve.sparse import richardson
    >>> m = Preconditioner(a, "ilu0", precision="single", inner="gmres:20")
    >>> x, report = richardson(a, np.ones(2500), M=m, rtol=1e-13, full_output=True)
    >>> report["converged"], report["iterations"] <= 5
    (True, True)
    """

    # With this, `array @ self` calls this class, not NumPy.
    __array_ufunc__ = None

    def __init__(self, a, kind="auto", *, omega=0.01, rng=None, precision=None, inner=None, seed=None):
        on_gpu = isinstance(a, ON_GPU)
        n, arrays = (_square(a.shape), None) if on_gpu else _rows(a)
        if precision not in (None, "single"):
            raise ValueError(f"precision is {precision!r}, expected None or 'single'")
        if not isinstance(kind, str):
            raise ValueError(f"kind is {kind!r}, expected a name such as 'auto' or 'alt-i:2'")
        rounds = precision is not None and (a if on_gpu else arrays[2]).dtype.char in "dD"
        if inner is not None and not rounds:
            raise ValueError(f"inner is {inner!r}, which needs precision='single' and a matrix in double precision")
        options = {"kind": kind, "omega": _tolerance("omega", omega), "seed": seed_of(rng, seed), "single": rounds,
                   "inner": inner}
        self._made = _bandsolve.DevicePreconditioner(a, options) if on_gpu else _bandsolve.SparsePreconditioner(n, arrays, options)

    @property
    def kind(self):
        """Name of the preconditioner."""
        return self._made.kind

    @property
    def reason(self):
        """Why "auto" or the rule for M chose this preconditioner, in words; empty if you named it."""
        return self._made.reason

    @property
    def method(self):
        """Krylov method that "auto" chose with the preconditioner, such as "cg" or "gmres:30"; None for a named kind. `solve` runs it."""
        return self._made.method

    @property
    def shape(self):
        """Shape of the matrix, (n, n)."""
        return self._made.shape

    @property
    def dtype(self):
        """Number type of the matrix."""
        return self._made.dtype

    def apply(self, rhs):
        """Apply the preconditioner to a vector.

        Parameters
        ----------
        rhs : (n,) array_like
            The vector. It is an array on the GPU if the preconditioner is on a GPU.

        Returns
        -------
        (n,) ndarray or DeviceArray
            The product of the approximate inverse and `rhs`.

        See Also
        --------
        - `bandsolve.sparse.Preconditioner.rmatvec`: apply the adjoint.
        - `bandsolve.sparse.gmres` and the other solvers: they take the preconditioner as ``M``.
        """
        if self.is_on_gpu():
            return self._made.apply(rhs)
        return by_parts(self._made.apply, self.dtype, rhs)

    def is_on_gpu(self):
        """Whether the preconditioner is on a GPU."""
        return not isinstance(self._made, _bandsolve.SparsePreconditioner)

    def matvec(self, rhs):
        """Apply the preconditioner to an array of shape (n,) or (n, 1), as operators of SciPy do. The result has the shape (n,).

        See Also
        --------
        - `bandsolve.sparse.Preconditioner.apply`: the same for an array of shape (n,).
        - `bandsolve.sparse.Preconditioner.rmatvec`: apply the adjoint.
        """
        return self.apply(rhs if self.is_on_gpu() else np.reshape(rhs, -1))

    def rmatvec(self, rhs):
        """Apply the adjoint of the preconditioner to a vector.

        Parameters
        ----------
        rhs : (n,) or (n, 1) array_like
            The vector.

        Returns
        -------
        (n,) ndarray
            The product of the adjoint and `rhs`.

        Raises
        ------
        ValueError
            The kind has no adjoint.

        See Also
        --------
        - `bandsolve.sparse.Preconditioner.apply`: apply the preconditioner itself.
        """
        if self.is_on_gpu():
            raise ValueError("no preconditioner on a GPU has an adjoint. Make it with a matrix on the host")
        if not self._made.has_adjoint:
            raise ValueError(f"{self.kind} has no adjoint. `help(bandsolve.sparse.Preconditioner)` lists the kinds that have one")
        return by_parts(self._made.apply_adjoint, self.dtype, np.reshape(rhs, -1))

    def __matmul__(self, rhs):
        """Apply the preconditioner to an array of shape (n,) or (n, k).

        See Also
        --------
        - `bandsolve.sparse.Preconditioner.apply`: the same for one vector.
        """
        if self.is_on_gpu():
            return self.apply(rhs)
        rhs = as_array(rhs)
        if rhs.ndim != 2:
            return self.apply(rhs)
        return np.stack([self.apply(column) for column in rhs.T], axis=1) if rhs.shape[1] else np.empty(rhs.shape, self.dtype)

    def aslinearoperator(self):
        """Return the preconditioner as a `scipy.sparse.linalg.LinearOperator`.

        See Also
        --------
        - `bandsolve.sparse.gmres` and the other solvers: they take the preconditioner itself.
        """
        if self.is_on_gpu():
            raise TypeError("the preconditioner is on a GPU, where operators of SciPy have no arrays. Call apply, or pass it to a solver as M")
        return scipy_module("sparse.linalg").LinearOperator(self.shape, matvec=self.matvec, rmatvec=self.rmatvec, dtype=self.dtype)

    def __repr__(self):
        return f"Preconditioner({self.kind}, n={self.shape[0]})"


class PreparedProduct:
    """Sparse matrix, prepared for many products with vectors.

    Parameters
    ----------
    a : (m, n) matrix or array of scipy.sparse, or array_like
        The matrix. The object keeps a copy.

    Raises
    ------
    ValueError
        `a` does not have two dimensions, or an entry is NaN or infinite.

    See Also
    --------
    - `bandsolve.sparse.gmres` and the other solvers: they take a `PreparedProduct` as ``A``, and apply it without calling Python.

    Notes
    -----
    **Second copy.** The object stores a second copy of two kinds of matrices, in a form that is faster to multiply. For a stencil, where most rows have their
    entries at the same distances from the diagonal as the rows beside them, a product takes a third of the time if values repeat, else two thirds.
    If neighbouring entries of a row are far from each other, and x is larger than a cache of the processor, a product takes about half the time. The
    object multiplies other matrices as they are.

    **Accuracy.** Products round x to the precision of the matrix.

    **Threads.** Products use all threads. The result is the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.sparse import PreparedProduct, bicgstab
    >>> line = sp.diags_array([-1.0, 4.0, -1.0], offsets=[-1, 0, 1], shape=(4000, 4000))
    >>> a = PreparedProduct(line)
    >>> b = a @ np.ones(4000)
    >>> print(b[:3])
    [3. 2. 2.]
    >>> x, info = bicgstab(a, b, rtol=1e-12)
    >>> info, bool(np.abs(x - 1).max() < 1e-9), (a @ np.ones((4000, 3))).shape
    (0, True, (4000, 3))
    """

    # With this, `array @ self` calls this class, not NumPy.
    __array_ufunc__ = None

    def __init__(self, a):
        shape, arrays = matrix_arrays(a, "a")
        self._made = _bandsolve.SparseProduct(shape[1], arrays)

    @property
    def shape(self):
        """Shape of the matrix, (m, n)."""
        return self._made.shape

    @property
    def dtype(self):
        """Number type of the matrix."""
        return self._made.dtype

    @property
    def nbytes(self):
        """Size of the second copy in bytes; 0 if there is none."""
        return self._made.bytes

    def _multiply(self, product, x):
        return by_parts(product, self.dtype, x)

    def matvec(self, x):
        """Multiply the matrix by a vector.

        Parameters
        ----------
        x : (n,) or (n, 1) array_like
            The vector.

        Returns
        -------
        (m,) or (m, 1) ndarray
            A @ x, with as many dimensions as `x`.

        See Also
        --------
        - `bandsolve.sparse.PreparedProduct.matmat`: multiply by several columns.
        - `bandsolve.sparse.PreparedProduct.rmatvec`: multiply the adjoint.
        """
        x = as_array(x)
        if x.shape not in ((self.shape[1],), (self.shape[1], 1)):
            raise ValueError(f"the vector has the shape {x.shape}, expected ({self.shape[1]},) or ({self.shape[1]}, 1)")
        return self._multiply(self._made.product, x)

    def rmatvec(self, x):
        """Multiply the adjoint of the matrix by a vector.

        Parameters
        ----------
        x : (m,) or (m, 1) array_like
            The vector.

        Returns
        -------
        (n,) or (n, 1) ndarray
            The product, with as many dimensions as `x`.

        See Also
        --------
        - `bandsolve.sparse.PreparedProduct.rmatmat`: multiply by several columns.
        - `bandsolve.sparse.PreparedProduct.matvec`: multiply the matrix itself.
        """
        x = as_array(x)
        if x.shape not in ((self.shape[0],), (self.shape[0], 1)):
            raise ValueError(f"the vector has the shape {x.shape}, expected ({self.shape[0]},) or ({self.shape[0]}, 1)")
        return self._multiply(self._made.adjoint_product, x)

    def matmat(self, x):
        """Multiply the matrix by an array of shape (n, k). The result has the shape (m, k).

        See Also
        --------
        - `bandsolve.sparse.PreparedProduct.matvec`: multiply by one vector.
        - `bandsolve.sparse.PreparedProduct.rmatmat`: multiply the adjoint.
        """
        return self._multiply(self._made.product, x)

    def rmatmat(self, x):
        """Multiply the adjoint of the matrix by an array of shape (m, k). The result has the shape (n, k).

        See Also
        --------
        - `bandsolve.sparse.PreparedProduct.rmatvec`: multiply by one vector.
        - `bandsolve.sparse.PreparedProduct.matmat`: multiply the matrix itself.
        """
        return self._multiply(self._made.adjoint_product, x)

    def __matmul__(self, x):
        return self._multiply(self._made.product, x)

    def aslinearoperator(self):
        """Return the matrix as a `scipy.sparse.linalg.LinearOperator`.

        See Also
        --------
        - `bandsolve.sparse.gmres` and the other solvers: they take a `PreparedProduct` itself.
        """
        operator = scipy_module("sparse.linalg").LinearOperator
        return operator(self.shape, self.matvec, rmatvec=self.rmatvec, matmat=self.matmat, rmatmat=self.rmatmat, dtype=self.dtype)

    def __repr__(self):
        return f"PreparedProduct(shape={self.shape}, dtype={self.dtype}, nbytes={self.nbytes})"


def _vector(name, values, n):
    """Return an array of shape (n,) or (n, 1) with the shape (n,)."""
    values = as_array(values)
    if values.shape not in ((n,), (n, 1)):
        raise ValueError(f"{name} has the shape {values.shape}, expected ({n},) or ({n}, 1)")
    return values.reshape(-1)


def _matrix(a, b):
    """Return the number of rows of a matrix or an operator, its arrays or its product with a vector, and its number type."""
    if is_matrix(a):
        rows, matrix = _rows(a, "A")
        return rows, matrix, matrix[2].dtype
    if isinstance(a, PreparedProduct) and a.shape[0] == a.shape[1]:
        return a.shape[0], a._made, a.dtype
    operator = scipy_module("sparse.linalg").aslinearoperator(a)
    if operator.shape[0] != operator.shape[1]:
        raise ValueError(f"the operator has the shape {operator.shape}, expected a square operator")
    dtype = operator.matvec(np.asarray(b)).dtype if operator.dtype is None else operator.dtype
    return operator.shape[0], operator.matvec, _number(dtype)


def _named(kind, a):
    """Return the preconditioner with this name for a matrix."""
    if not (is_matrix(a) or isinstance(a, ON_GPU)):
        raise ValueError(f"M is {kind!r}, but A is an operator. A preconditioner by name needs the entries of A: pass A as a matrix, or "
                         "M=Preconditioner(matrix, name)")
    return Preconditioner(a, kind)


def is_matrix(a):
    """Whether the entries of a matrix are known."""
    return scipy_module("sparse").issparse(a) or isinstance(a, (np.ndarray, list))


def _inverse(m, a, n):
    """Return the preconditioner as the compiled part takes it, and its number type."""
    if m is None:
        # SciPy also takes the preconditioner as an attribute of the matrix.
        return getattr(a, "psolve", None), None
    m = _named(m, a) if isinstance(m, str) else m
    if isinstance(m, Preconditioner) and m.is_on_gpu():
        raise TypeError("M is on a GPU, but A and b are not. Pass A=bandsolve.gpu.ascsr(A) and b on the GPU, or a preconditioner of a matrix on the host")
    if isinstance(m, Preconditioner):
        shape, applied, dtype = m.shape, m._made, m.dtype
    elif has_solve(m):
        shape, applied, dtype = of_solver(m)
    else:
        if is_matrix(m):
            matrix_arrays(m, "M")
        m = scipy_module("sparse.linalg").aslinearoperator(m)
        shape, applied, dtype = m.shape, m.matvec, m.dtype
    _check_size(shape, n)
    return applied, dtype


def _check_size(shape, n):
    """Check the shape of a preconditioner."""
    if shape != (n, n):
        raise ValueError(f"the preconditioner has the shape {shape}, expected {(n, n)}")


def _tolerance(name, value):
    """Return the value as a number, which must not be negative."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not number >= 0:
        raise ValueError(f"{name} is {value!r}, expected a number that is not negative")
    return number


def _norm(v):
    """Return the 2-norm as a pair, scale and norm / scale, so that neither squares nor the norm overflow."""
    v = np.asarray(v)
    scale = max(np.abs(v.real).max(initial=0.0), np.abs(v.imag).max(initial=0.0))
    return (scale, np.linalg.norm(v / scale)) if scale > 0 and np.isfinite(scale) else (1.0, scale)


def _as(dtype, values, name):
    """Convert an array to this type. Complex numbers for a real type are an error."""
    if values.dtype.kind == "c" and np.dtype(dtype).kind != "c":
        raise TypeError(f"{name} contains complex numbers, but matrix, right-hand side and preconditioner are declared as {np.dtype(dtype)}. "
                        "Declare the operator with dtype=complex, or return real numbers.")
    return values.astype(dtype, copy=False)


def _start(x0, b, m, n):
    """Return the start vector that x0 describes. If the right-hand side is 0, the start is 0, as in SciPy."""
    if x0 is None or not b.any():
        return np.zeros(n, b.dtype)
    if _is_product(x0):
        return b if m is None else np.asarray(m(b) if callable(m) else m.apply(b))
    return _vector("x0", x0, n)


def _is_product(x0):
    """Whether x0 stands for the product of M and b."""
    if isinstance(x0, str) and x0 != "Mb":
        raise ValueError(f"x0 is {x0!r}, expected an array or 'Mb'")
    return isinstance(x0, str)


def _krylov(method, a, b, x0, rtol, atol, limit, m, callback, side="right", tells_x=True, chosen=False):
    if side not in ("right", "left"):
        raise ValueError(f"side is {side!r}, expected 'right' or 'left'")
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
    if _is_on_gpu(a, b):
        return _krylov_on_gpu(a, b, x0, m, options)
    n, matrix, own = _matrix(a, b)
    b = _vector("b", b, n)
    if not np.isfinite(b).all():
        raise ValueError(f"b[{first_not_finite(b)}] is not finite")
    m, other = _inverse(m, a, n)
    x0 = x0 if x0 is None or isinstance(x0, str) else as_array(x0)
    # The matrix and b give the precision. The preconditioner and x0 can only make the type complex.
    dtype = np.result_type(own, _number(b.dtype))
    if any(kind is not None and kind.kind == "c" for kind in (other, getattr(x0, "dtype", None))):
        dtype = np.result_type(dtype, np.complex64)
    b = b.astype(dtype, copy=False)
    if isinstance(matrix, tuple):
        matrix = (*matrix[:2], matrix[2].astype(dtype, copy=False))
    if isinstance(matrix, _bandsolve.SparseProduct) and matrix.dtype != dtype:
        matrix = a.matvec
    if isinstance(m, _bandsolve.SparsePreconditioner) and m.dtype != dtype:
        m = partial(by_parts, m.apply, m.dtype)
    x0 = _as(dtype, _start(x0, b, m, n), "x0")
    return _bandsolve.krylov(matrix, m, b, x0, options)


def _is_on_gpu(a, b):
    """Whether a system is on a GPU. Its matrix then is, too."""
    if isinstance(a, ON_GPU):
        return True
    if any_on_gpu(b):
        raise TypeError(f"A is a {type(a).__name__}, but b is on a GPU. Pass A=bandsolve.gpu.ascsr(A), or b as an array of NumPy")
    return False


def _krylov_on_gpu(a, b, x0, m, options):
    """Solve as `_krylov` does, with a matrix and vectors on a GPU."""
    n = _square(a.shape)
    if options["callback"] is not None:
        raise ValueError("callback is given, but on a GPU the iteration does not stop to show its vectors. Omit callback; with full_output=True, the "
                         "report has the norms of all residuals")
    m = _named(m, a) if isinstance(m, str) else m
    if m is not None and not (isinstance(m, Preconditioner) and m.is_on_gpu()):
        raise TypeError(f"M is a {type(m).__name__}, expected the name of a preconditioner, or Preconditioner(A) of a matrix A on the GPU")
    _check_size((n, n) if m is None else m.shape, n)
    if _is_product(x0):
        x0 = b if m is None else m.apply(b)
    return _bandsolve.krylov_on_gpu(a, m and m._made, b, x0, options)


def _answer(x, report, full_output):
    if full_output:
        return x, report
    return x, 0 if report["converged"] else max(report["iterations"], 1)


def _rows_of(a, b):
    """Return the number of rows of a system."""
    return a.shape[0] if _is_on_gpu(a, b) else np.size(b)


def _iterations(maxiter, n):
    """Return the maximum number of iterations of a method that SciPy has too."""
    return 10 * n if maxiter is None else whole_number("maxiter", maxiter, 0)


def _limit(maxiter):
    """Return the maximum number of iterations of a method that SciPy does not have. None: the compiled part chooses."""
    return None if maxiter is None else whole_number("maxiter", maxiter, 0)


_PARAMETERS = """
    Parameters
    ----------
    A : (n, n) matrix or array of scipy.sparse, array_like, PreparedProduct, LinearOperator, or DeviceCsr
        The matrix. The solver uses the values of a csr matrix without a copy, and copies its indices. SciPy converts other formats (csc, coo, dia,
        bsr) at each call, which takes memory for one more matrix and the time of a few products. If `A` is a matrix of `bandsolve.gpu.ascsr`, the vectors
        are arrays on the GPU of shape (n,), with the number type of `A`, and `M` is a name or a preconditioner of `A`; there is no callback.
    b : (n,) or (n, 1) array_like
        The right-hand side.
    x0 : (n,) array_like or "Mb", optional
        Start of the iteration. "Mb": the product of `M` and `b`. Default: 0.
    rtol : float, default 1e-5
        Relative tolerance: the iteration stops if ``norm(b - A @ x) <= max(rtol * norm(b), atol)``.
    atol : float, default 0.0
        Absolute tolerance, see `rtol`.
    maxiter : int, optional
        {maxiter}
    M : str, Preconditioner, Factor, LinearOperator or matrix, optional
        An approximate inverse of `A`, or the name of a preconditioner of `bandsolve.sparse.Preconditioner`, such as "alt-i:2" or "amg-lines". The solver
        also takes an object with the attribute `shape` and the method `solve`: a `bandsolve.Factor`, or the result of `scipy.sparse.linalg.splu`.
    callback : callable, optional
        {callback} An exception in it ends the iteration, and the solver raises it again. After `StopIteration`, the solver returns the best x so
        far, with the ending "cancelled".
    full_output : bool, default False
        Return a report instead of `info`. It is a dict: "converged"; "ending" (why the iteration ended); "method"; "iterations"; "restarts"; "residual_norm";
        "rhs_norm"; "tolerance"; "history" (norms of the residuals); "attention" (a warning in words if x is so large that the matrix must be
        singular to working precision, else None).{more}

    Returns
    -------
    x : (n,) ndarray or DeviceArray
        The solution, or the best x so far if the iteration did not converge.
    info : int
        0 if the iteration converged, else {info}. With ``full_output=True``, the report takes its place.

    Raises
    ------
    ValueError
        The shapes do not fit together, an entry of `A`, `b`, `x0` or a matrix `M` is NaN or infinite, or an option is invalid.
    TypeError
        An operator returns complex numbers, but all types are declared as real.
    """
_LIMIT = "Maximum number of iterations. Default: 10 n."
_CAPPED = "Maximum number of iterations. Default: 10 n, at most 10,000."
_CALLBACK = "The solver calls it with x after each iteration."
_ITERATIONS = "the number of iterations"


def _documented(maxiter=_LIMIT, more="", callback=_CALLBACK, info=_ITERATIONS):
    def fill(function):
        parameters = _PARAMETERS.format(maxiter=maxiter, more=more, callback=callback, info=info)
        # `python -OO` removes docstrings.
        if function.__doc__:
            function.__doc__ = function.__doc__.replace("@PARAMETERS", parameters.strip())
        return function

    return fill


@_documented(
    "Maximum number of restarts. Default: 10 n.",
    "\n    restart : int, optional\n        Iterations between restarts. Default: 20, or n if n is less."
    "\n    callback_type : str, optional\n        'x': the solver calls `callback` with x after each restart. 'pr_norm': after each "
    "iteration with the norm of the\n        residual divided by that of b; with ``side='left'``, of the preconditioned residual. 'legacy': as 'pr_norm', and "
    "`maxiter`\n        counts iterations. Default: 'legacy', with a warning."
    "\n    side : str, default 'right'\n        'right' or 'left': the side of `A` on which the preconditioner acts. SciPy's `gmres` has it on the left.",
    "The solver calls it as `callback_type` says.",
    "the number of restarts, or with ``callback_type='legacy'`` the number of iterations",
)
def gmres(A, b, x0=None, *, rtol=1e-5, atol=0.0, restart=None, maxiter=None, M=None, callback=None, callback_type=None,
          side="right", full_output=False):
    """Solve ``A @ x = b`` with the generalized minimal residual method (GMRES), for any square matrix.

    @PARAMETERS

    See Also
    --------
    - `bandsolve.sparse.solve`: choose the method and the preconditioner by the matrix.
    - `bandsolve.sparse.Preconditioner`: make `M`.
    - `scipy.sparse.linalg.gmres`: the function with the same signature.

    Notes
    -----
    **Cost.** One product with `A` and one application of `M` for each iteration, and memory for restart + 5 vectors. If
    `M` changes from step to step, memory for 2 · restart + 5 vectors.

    **Accuracy.** The solver computes the residual from x, not by recurrence. If the entries of `A` are known, the last residual has about twice the
    working precision. A small residual does not show that the error is small: the error also depends on the condition of `A`.

    **Flexible GMRES.** The method is FGMRES if the preconditioner changes from step to step: "alt-o:M", ``precision="single"``, or an inner iteration.
    `fgmres` is another name of this function. The solver assumes that a `LinearOperator` does not change.

    **Orthogonalization.** The solver orthogonalizes every vector twice, by classical Gram–Schmidt.

    **Threads.** x is the same, bit for bit, for any number of threads.

    Examples
    --------
    Convection and diffusion on a grid of 50 × 50 nodes:

    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.sparse import Preconditioner, gmres
    >>> offsets, shape = [-1, 0, 1], (50, 50)
    >>> diffusion = sp.diags_array([-1.0, 2.0, -1.0], offsets=offsets, shape=shape)
    >>> convection = sp.diags_array([-0.5, 0.0, 0.5], offsets=offsets, shape=shape)
    >>> a = sp.kronsum(diffusion + convection, diffusion, format="csr")
    >>> b, m = a @ np.ones(2500), Preconditioner(a, "ilu0")
    >>> x, info = gmres(a, b, M=m, rtol=1e-10)
    >>> info, bool(np.abs(x - 1).max() < 1e-8)
    (0, True)

    With a report:

    >>> x, report = gmres(a, b, M=m, restart=10, full_output=True)
    >>> report["converged"], report["ending"]
    (True, 'converged')
    """
    if callback_type not in (None, "x", "pr_norm", "legacy"):
        raise ValueError(f"callback_type is {callback_type!r}, expected 'x', 'pr_norm' or 'legacy'")
    if callback is not None and callback_type is None:
        message = "bandsolve.sparse.gmres called without specifying `callback_type`: 'legacy' is taken, by which maxiter is of iterations"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        callback_type = "legacy"
    legacy = callback is not None and callback_type == "legacy"
    n = _rows_of(A, b)
    restart = max(min(20 if restart is None else whole_number("restart", restart, 1), n), 1)
    # The compiled part takes 63 bits.
    limit = min(_iterations(maxiter, n) * (1 if legacy else restart), (1 << 63) - 1)
    report_norm = callback
    if callback is not None and callback_type != "x" and not _is_on_gpu(A, b):
        scale, size = _norm(b)

        def report_norm(norm):
            callback(np.float64(norm / scale / size))

    x, report = _krylov(f"gmres:{restart}", A, b, x0, rtol, atol, limit, M, report_norm, side, callback_type == "x")
    if full_output or report["converged"] or legacy:
        return _answer(x, report, full_output)
    return x, report["restarts"] + 1


#: Another name of `gmres`.
fgmres = gmres


@_documented(info="the number of iterations, or -10 after a breakdown")
def bicgstab(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, full_output=False):
    """Solve ``A @ x = b`` with the stabilized biconjugate gradient method (BiCGSTAB), for any square matrix.

    @PARAMETERS

    See Also
    --------
    - `bandsolve.sparse.solve`: choose the method and the preconditioner by the matrix.
    - `bandsolve.sparse.Preconditioner`: make `M`.
    - `scipy.sparse.linalg.bicgstab`: the function with the same signature.

    Notes
    -----
    **Cost.** Two products with `A` and two applications of `M` for each iteration, and memory for 11 vectors.

    **Accuracy.** The solver computes the residual from x, not by recurrence. If the entries of `A` are known, the last residual has about twice the
    working precision. A small residual does not show that the error is small: the error also depends on the condition of `A`.

    **Threads.** x is the same, bit for bit, for any number of threads.

    Examples
    --------
    Convection and diffusion on a grid of 50 × 50 nodes:

    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.sparse import Preconditioner, bicgstab
    >>> offsets, shape = [-1, 0, 1], (50, 50)
    >>> diffusion = sp.diags_array([-1.0, 2.0, -1.0], offsets=offsets, shape=shape)
    >>> convection = sp.diags_array([-0.5, 0.0, 0.5], offsets=offsets, shape=shape)
    >>> a = sp.kronsum(diffusion + convection, diffusion, format="csr")
    >>> b, m = a @ np.ones(2500), Preconditioner(a, "ilu0")
    >>> x, info = bicgstab(a, b, M=m, rtol=1e-10)
    >>> info, bool(np.abs(x - 1).max() < 1e-8)
    (0, True)
    """
    x, report = _krylov("bicgstab", A, b, x0, rtol, atol, _iterations(maxiter, _rows_of(A, b)), M, callback)
    if report["ending"] == "breakdown" and not full_output:
        return x, -10
    return _answer(x, report, full_output)


@_documented()
def cg(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, full_output=False):
    """Solve ``A @ x = b`` with the conjugate gradient method (CG), for Hermitian positive definite `A` and `M`.

    @PARAMETERS

    See Also
    --------
    - `bandsolve.sparse.solve`: choose the method and the preconditioner by the matrix.
    - `bandsolve.sparse.Preconditioner`: make `M`.
    - `scipy.sparse.linalg.cg`: the function with the same signature.

    Notes
    -----
    **Cost.** One product with `A` and one application of `M` for each iteration, and memory for 7 vectors.

    **Accuracy.** The solver computes the residual from x, not by recurrence. If the entries of `A` are known, the last residual has about twice the
    working precision. A small residual does not show that the error is small: the error also depends on the condition of `A`.

    **Other matrices.** The iteration ends with "breakdown" if it finds that `A` or `M` is not positive definite. Use `gmres` then.

    **Threads.** x is the same, bit for bit, for any number of threads.

    Examples
    --------
    Second differences on a grid of 50 × 50 nodes:

    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.sparse import Preconditioner, cg
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(50, 50))
    >>> a = sp.kronsum(line, line, format="csr")
    >>> b, m = a @ np.ones(2500), Preconditioner(a, "amg-lines:1")
    >>> x, info = cg(a, b, M=m, rtol=1e-10)
    >>> info, bool(np.abs(x - 1).max() < 1e-8)
    (0, True)
    """
    return _answer(*_krylov("cg", A, b, x0, rtol, atol, _iterations(maxiter, _rows_of(A, b)), M, callback), full_output)


@_documented(_CAPPED, "\n    space : int, default 4\n        Number s of shadow vectors.")
def idrs(A, b, x0=None, *, rtol=1e-5, atol=0.0, space=4, maxiter=None, M=None, callback=None, full_output=False):
    """Solve ``A @ x = b`` with induced dimension reduction, IDR(s), for any square matrix.

    @PARAMETERS

    See Also
    --------
    - `bandsolve.sparse.solve`: choose the method and the preconditioner by the matrix.
    - `bandsolve.sparse.Preconditioner`: make `M`.

    Notes
    -----
    **Cost.** One product with `A` and one application of `M` for each iteration, and memory for 3 · space + 7 vectors.

    **Accuracy.** The solver computes the residual from x, not by recurrence. If the entries of `A` are known, the last residual has about twice the
    working precision. A small residual does not show that the error is small: the error also depends on the condition of `A`.

    **Threads.** x is the same, bit for bit, for any number of threads.

    Examples
    --------
    Convection and diffusion on a grid of 50 × 50 nodes:

    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.sparse import Preconditioner, idrs
    >>> offsets, shape = [-1, 0, 1], (50, 50)
    >>> diffusion = sp.diags_array([-1.0, 2.0, -1.0], offsets=offsets, shape=shape)
    >>> convection = sp.diags_array([-0.5, 0.0, 0.5], offsets=offsets, shape=shape)
    >>> a = sp.kronsum(diffusion + convection, diffusion, format="csr")
    >>> b, m = a @ np.ones(2500), Preconditioner(a, "ilu0")
    >>> x, info = idrs(a, b, M=m, rtol=1e-10)
    >>> info, bool(np.abs(x - 1).max() < 1e-7)
    (0, True)
    """
    method = f"idr:{whole_number('space', space, 1)}"
    return _answer(*_krylov(method, A, b, x0, rtol, atol, _limit(maxiter), M, callback), full_output)


@_documented(_CAPPED, "\n    omega : float, default 1.0\n        Factor of each step.")
def richardson(A, b, x0=None, *, rtol=1e-5, atol=0.0, omega=1.0, maxiter=None, M=None, callback=None, full_output=False):
    """Solve ``A @ x = b`` with Richardson's iteration: x ← x + omega · M (b - A x).

    @PARAMETERS

    See Also
    --------
    - `bandsolve.sparse.solve`: choose the method and the preconditioner by the matrix.
    - `bandsolve.sparse.Preconditioner`: make `M`.

    Notes
    -----
    **Cost.** One product with `A` and one application of `M` for each iteration, and memory for 5 vectors.

    **Accuracy.** The solver computes the residual from x, not by recurrence. If the entries of `A` are known, the last residual has about twice the
    working precision. A small residual does not show that the error is small: the error also depends on the condition of `A`.

    **Convergence.** The iteration converges if all eigenvalues of I - omega · M A are inside the unit circle. With a preconditioner that has an `inner`
    method, it is iterative refinement.

    **Threads.** x is the same, bit for bit, for any number of threads.

    Examples
    --------
    Multigrid cycles alone, for second differences on a grid of 50 × 50 nodes:

    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.sparse import Preconditioner, richardson
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(50, 50))
    >>> a = sp.kronsum(line, line, format="csr")
    >>> b, m = a @ np.ones(2500), Preconditioner(a, "amg-lines:1")
    >>> x, info = richardson(a, b, M=m, rtol=1e-10)
    >>> info, bool(np.abs(x - 1).max() < 1e-8)
    (0, True)
    """
    omega = float(omega)
    if not np.isfinite(omega):
        raise ValueError(f"omega is {omega!r}, expected a finite number")
    return _answer(*_krylov(f"richardson:{omega}", A, b, x0, rtol, atol, _limit(maxiter), M, callback), full_output)


@_documented(_CAPPED, " It also has\n        \"preconditioner\", the name.")
def solve(A, b, x0=None, *, rtol=1e-5, atol=0.0, maxiter=None, M=None, callback=None, full_output=False):
    """Solve ``A @ x = b``, and choose the preconditioner and the Krylov method by the matrix.

    Without `M`, the function makes ``Preconditioner(A)`` and runs its `method`. With a preconditioner as `M`, it runs the `method` of `M`, or GMRES(30) if
    `M` has none. A named preconditioner has none. If `A` is an operator, pass `M`. If conjugate gradients break down, GMRES(30) continues from their x, and the report is that of GMRES.

    @PARAMETERS

    See Also
    --------
    - `bandsolve.solve`: solve directly if the entries lie in a narrow band in some order, else iterate.
    - `bandsolve.sparse.Preconditioner`: keep the preconditioner for many right-hand sides.
    - `bandsolve.sparse.gmres`, `bandsolve.sparse.cg`, `bandsolve.sparse.bicgstab`, `bandsolve.sparse.idrs`: run one method.

    Notes
    -----
    **Cost.** Each call sets up the preconditioner again if you do not pass `M`. The choice takes a few trial steps with each candidate.

    **Accuracy.** The solver computes the residual from x, not by recurrence. If the entries of `A` are known, the last residual has about twice the
    working precision. A small residual does not show that the error is small: the error also depends on the condition of `A`.

    **Threads.** x is the same, bit for bit, for any number of threads.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.sparse import solve
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(50, 50))
    >>> a = sp.kronsum(line, line, format="csr")
    >>> x, report = solve(a, a @ np.ones(2500), rtol=1e-10, full_output=True)
    >>> report["converged"], report["method"], bool(np.abs(x - 1).max() < 1e-7)
    (True, 'cg', True)
    """
    _is_on_gpu(A, b)
    if M is None or isinstance(M, str):
        M = _named(M or "auto", A)
    chosen = M if isinstance(M, Preconditioner) else None
    method = chosen and chosen.method or "gmres:30"
    x, report = _krylov(method, A, b, x0, rtol, atol, _limit(maxiter), M, callback, chosen=True)
    if full_output:
        report.update(preconditioner=chosen and chosen.kind)
    return _answer(x, report, full_output)


def forest(a, *, rounds=5, rng=None, seed=None):
    """Find a linear forest: disjoint paths along the large off-diagonal entries of a sparse matrix.

    Numbered path by path, the part of the matrix on the paths is tridiagonal.

    Parameters
    ----------
    a : (n, n) matrix or array of scipy.sparse, or array_like
        The matrix. The function copies the indices, but not the values, of csr and csc matrices.
    rounds : int, default 5
        Maximum number of rounds of proposals. The search ends earlier if no edge can be added.
    rng : numpy.random.Generator or int, optional
        Source of the random numbers. An int is a seed, and `seed` is an alias for it. Default: 0.

    Returns
    -------
    dict
        "order": the unknowns, path by path. "lengths": number of unknowns of each path. "coverage": share of the off-diagonal weight that lies on the paths.
        "cycles": number of cycles that the search broke. "maximal": whether the last round proved that no edge can be added.

    Raises
    ------
    ValueError
        The matrix is not square, an entry is NaN or infinite, or an option is invalid.

    See Also
    --------
    - `bandsolve.sparse.Preconditioner`: use forests as a preconditioner.
    - `bandsolve.sparse.factor_graph`: find matchings, and edges without the condition that they form paths.

    Notes
    -----
    If neighbours in the given order have more weight than the paths, the function returns the given order, cut between unknowns without coupling. The
    result is the same, bit for bit, for any number of threads.

    Examples
    --------
    Find the line in a tridiagonal matrix whose unknowns are shuffled:

    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.sparse import forest
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(6, 6))
    >>> line = line.tocsr()
    >>> order = np.array([3, 0, 4, 1, 5, 2])
    >>> paths = forest(line[order][:, order])
    >>> paths["coverage"], paths["lengths"].tolist(), order[paths["order"]].tolist()
    (1.0, [6], [0, 1, 2, 3, 4, 5])
    """
    return _bandsolve.graph_factor(*_edges(a), 2, whole_number("rounds", rounds, 0), seed_of(rng, seed), True)


def factor_graph(a, n=2, *, rounds=5, rng=None, seed=None):
    """Find a [0, n]-factor of the graph of a matrix: a set of heavy edges with at most n at each vertex.

    Parameters
    ----------
    a : (k, k) matrix or array of scipy.sparse, or array_like
        The matrix. The function copies the indices, but not the values, of csr and csc matrices.
    n : int, default 2
        Maximum number of edges at a vertex, 1 to 4. 1 gives a matching, 2 gives paths and cycles.
    rounds : int, default 5
        Maximum number of rounds of proposals. The search ends earlier if no edge can be added.
    rng : numpy.random.Generator or int, optional
        Source of the random numbers. An int is a seed, and `seed` is an alias for it. Default: 0.

    Returns
    -------
    dict
        "partners": (k, n) array with the neighbours of each vertex, -1 where there is none. "coverage": share of the off-diagonal weight that lies on the
        edges. "maximal": whether the last round proved that no edge can be added.

    Raises
    ------
    ValueError
        The matrix is not square, an entry is NaN or infinite, or an option is invalid.

    See Also
    --------
    - `bandsolve.sparse.forest`: find paths, without cycles.

    Notes
    -----
    The weight of an edge is ``abs(a[i, j]) + abs(a[j, i])``. The result is the same, bit for bit, for any number of threads.

    Examples
    --------
    A matching on four vertices in a row, with the weights 5, 1 and 4:

    >>> import numpy as np
    >>> from bandsolve.sparse import factor_graph
    >>> a = np.array([[2.0, 5, 0, 0], [5, 2, 1, 0], [0, 1, 2, 4], [0, 0, 4, 2]])
    >>> matching = factor_graph(a, 1)
    >>> matching["partners"].ravel().tolist(), matching["coverage"]
    ([1, 0, 3, 2], 0.9)
    """
    n = whole_number("n", n, 1)
    if n > 4:
        raise ValueError(f"n is {n}, expected 1 to 4")
    found = _bandsolve.graph_factor(*_edges(a), n, whole_number("rounds", rounds, 0), seed_of(rng, seed), False)
    found["partners"] = found["partners"].reshape(-1, n)
    return found
