"""Find some eigenvalues of large matrices, with SciPy's signatures; near a target by shift-and-invert.

>>> import numpy as np, scipy.sparse as sp
>>> from bandsolve.eigen import eigsh
>>> a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(1000, 1000))
>>> w, v = eigsh(a, 3, sigma=1.0)
>>> exact = 2 - 2 * np.cos(np.pi * np.arange(1, 1001) / 1001)
>>> nearest = np.sort(exact[np.argsort(abs(exact - 1.0))[:3]])
>>> bool(np.allclose(w, nearest, rtol=1e-12)), v.shape
(True, (1000, 3))
"""

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import any_on_gpu, as_array
from bandsolve._eigh_tridiagonal import eigh_tridiagonal
from bandsolve._operator import has_solve, of_solver
from bandsolve._optional import scipy_module
from bandsolve._arguments import seed_of, whole_number
from bandsolve.sparse import ON_GPU, Preconditioner, _number, _rows, _square, _tolerance, is_matrix

__all__ = ["eigh_tridiagonal", "eigs", "eigsh"]

_HERMITIAN = {"LM": "largest-magnitude", "SM": "smallest-magnitude", "LA": "largest-real", "SA": "smallest-real", "BE": "both-ends"}
_GENERAL = {"LM": "largest-magnitude", "SM": "smallest-magnitude", "LR": "largest-real", "SR": "smallest-real",
            "LI": "largest-imaginary", "SI": "smallest-imaginary"}

# Larger bands are not factored. Iterative methods then solve the systems.
_MOST_ENTRIES = 1 << 27

# The tolerance of eigenvalues divided by that of iterative solves. Errors of solves are relative to the largest 1 / (w - sigma).
_TIGHTER = 500


def _operator(a, n, name):
    """Return the number of rows of a matrix or an operator, its arrays or its function, and its number type."""
    if isinstance(a, ON_GPU):
        raise TypeError(f"{name} is on a GPU, which finds eigenvalues of one matrix without sigma and interval. Pass a matrix on the host")
    if is_matrix(a):
        rows, arrays = _rows(a, name)
        made, dtype = arrays, arrays[2].dtype
    else:
        operator = scipy_module("sparse.linalg").aslinearoperator(a)
        if operator.shape[0] != operator.shape[1]:
            raise ValueError(f"{name} has the shape {operator.shape}, expected a square operator")
        rows, made = operator.shape[0], operator.matvec
        dtype = _number(float if operator.dtype is None else operator.dtype)
    if n is not None and rows != n:
        raise ValueError(f"{name} has the shape {(rows, rows)}, expected {(n, n)}, the shape of A")
    return rows, made, dtype


def _solver(a, dtype, tol, preconditioner, hermitian):
    """Return an inverse of a sparse matrix: a function that solves with factors of its band, or an inverse by iteration if the band is too wide or
    a preconditioner is named."""
    lu = _bandsolve.factor_compact(a.shape[0], _MOST_ENTRIES, _rows(a)[1]) if preconditioner is None else None
    return lu.solve if lu else _iterative(a, preconditioner or "auto", dtype, tol, hermitian)


def _iterative(a, preconditioner, dtype, tol, hermitian=False):
    """Describe an inverse by iteration for `_compiled`. It solves to ``tol / 500`` or to rounding.

    For a Hermitian matrix with a preconditioner, it uses conjugate gradients while they converge. Otherwise it uses GMRES."""
    return {"a": a, "m": preconditioner, "rtol": _inner(tol, dtype), "hermitian": hermitian, "factor": 1.0}


def _inner(tol, dtype):
    """Return the tolerance of an inverse by iteration."""
    return max(tol / _TIGHTER, np.finfo(dtype).eps**0.8)


def _compiled(inverse, dtype):
    """Return an inverse as the compiled part takes it."""
    if not isinstance(inverse, dict):
        return inverse
    a, m = inverse["a"], inverse["m"]
    if not is_matrix(a):
        return inverse | {"a": scipy_module("sparse.linalg").aslinearoperator(a).matvec}
    a = scipy_module("sparse").csr_array(a, dtype=dtype)
    return inverse | {"a": _rows(a)[1], "m": m and Preconditioner(a, m)._made}


def _outer(tol, inverse):
    """Return a tolerance of eigenvalues that the errors of an inverse allow."""
    return max(tol, _TIGHTER * inverse["rtol"]) if isinstance(inverse, dict) else tol


def _inverse(a, m, sigma, dtype, tol, preconditioner, hermitian):
    """Return the inverse of A - sigma M, or of M if sigma is None: a function that solves, or a description for `_compiled`."""
    sp, linalg = scipy_module("sparse"), scipy_module("sparse.linalg")
    if sigma is None:
        if is_matrix(m):
            return _solver(sp.csr_array(m), dtype, tol, preconditioner, hermitian)
        if preconditioner is not None:
            raise ValueError(f"Minv is {preconditioner!r}, but M is {'None' if m is None else 'an operator'}. A preconditioner by name needs "
                             "M as a matrix")
        return _iterative(m, None, dtype, tol)
    if is_matrix(a) and (m is None or is_matrix(m)):
        a = sp.csr_array(a)
        shifted = a - sigma * (sp.eye_array(a.shape[0], dtype=a.dtype) if m is None else sp.csr_array(m))
        return _solver(shifted, dtype, tol, preconditioner, hermitian)
    if preconditioner is not None:
        raise ValueError(f"OPinv is {preconditioner!r}, but A or M is an operator. A preconditioner by name needs A and M as matrices")
    a = linalg.aslinearoperator(a)
    m = None if m is None else linalg.aslinearoperator(m)

    def shifted(x):
        return a.matvec(x) - sigma * (x if m is None else m.matvec(x))

    return _iterative(linalg.LinearOperator(a.shape, matvec=shifted, dtype=dtype), None, dtype, tol)


def _given(inverse, n, name):
    """Return the inverse that the caller passed, as a function, as arrays, or as a description for `_compiled`."""
    if isinstance(inverse, dict):
        return inverse
    if isinstance(inverse, Preconditioner) and inverse.is_on_gpu():
        raise TypeError(f"{name} is on a GPU, but A is not. Pass a preconditioner of a matrix on the host, or its name")
    if has_solve(inverse):
        shape, solve, _ = of_solver(inverse)
        if shape != (n, n):
            raise ValueError(f"{name} has the shape {shape}, expected {(n, n)}, the shape of A")
        return solve
    _, made, _ = _operator(inverse, n, name)
    return made


def _problem(a, m, v0, sigma, hermitian):
    """Return the number of rows, A and M for the compiled part, the start vector (empty without `v0`), and the number type."""
    n, matrix, dtype = _operator(a, None, "A")
    mass = None
    if m is not None:
        _, mass, own = _operator(m, n, "M")
        dtype = np.result_type(dtype, own)
    if np.iscomplexobj(sigma) and not hermitian:
        dtype = np.result_type(dtype, np.complex64)
    start = _start(v0, n, dtype)
    return n, _typed((matrix, mass), start.dtype), start, start.dtype


def _typed(converted, dtype):
    """Convert the entries of matrices to a number type. Operators stay as they are."""
    return tuple(made if made is None or callable(made) else (*made[:2], made[2].astype(dtype, copy=False)) for made in converted)


def _options(n, k, which, ncv, maxiter, tol, rng, hermitian, **more):
    """Return the options of the compiled part."""
    if not _tolerance("tol", tol) < 1:
        raise ValueError(f"tol is {tol!r}, expected 0 <= tol < 1")
    return {
        "k": k,
        "which": which,
        "ncv": None if ncv is None else whole_number("ncv", ncv, 1),
        "max_restarts": 10 * n if maxiter is None else whole_number("maxiter", maxiter, 1),
        "tol": float(tol),
        "seed": seed_of(rng, None),
        "hermitian": hermitian,
        "sigma": None,
        "interval": None,
        "complete": True,
        "cayley": False,
        "second_look": True,
    } | more


def _check_shift(sigma, inverses, hermitian):
    """Check that the shift and the inverses fit together."""
    # SciPy raises these messages.
    if sigma is None and inverses[1] is not None:
        raise ValueError("OPinv should not be specified with sigma = None.")
    if sigma is not None and inverses[0] is not None:
        raise ValueError("Minv should not be specified when sigma is specified.")
    if sigma is not None and not np.isfinite(complex(sigma)):
        raise ValueError(f"sigma is {sigma!r}, expected a finite number")
    if hermitian and sigma is not None and np.imag(sigma) != 0:
        raise ValueError(f"sigma is {sigma!r}, expected a real number for a Hermitian matrix")


def _find(a, k, m, sigma, names, which, v0, ncv, maxiter, tol, inverses, rng, complete=None, cayley=False, second_look=True):
    if which not in names:
        raise ValueError(f"which is {which!r}, expected one of {', '.join(names)}")
    hermitian = names is _HERMITIAN
    _check_shift(sigma, inverses, hermitian)
    if isinstance(a, ON_GPU):
        given = {"M": m is not None, "sigma": sigma is not None, "Minv": inverses[0] is not None, "complete=True": bool(complete)}
        return _find_on_gpu(a, k, names[which], v0, ncv, maxiter, tol, rng, hermitian, second_look, given)
    n, converted, start, dtype = _problem(a, m, v0, sigma, hermitian)
    sigma = np.real(sigma) if hermitian and sigma is not None else sigma
    k = _count(k, n)
    ncv = _most_vectors(k, sigma is not None and which == "LM") if ncv is None else ncv
    options = _options(n, k, names[which], ncv, maxiter, tol, rng, hermitian, complete=complete is None or bool(complete), cayley=cayley,
                       sigma=None if sigma is None else (float(np.real(sigma)), float(np.imag(sigma))), second_look=bool(second_look))
    inverse, found = inverses[0] if sigma is None else inverses[1], None
    structured = inverse is None and not cayley and not any(map(callable, converted))
    if structured and sigma is None and which == "SM":
        # Search nearest to 0: products alone converge slowly, or to other eigenvalues, inside a spectrum.
        nearest = options | {"sigma": (0.0, 0.0), "which": names["LM"]}
        found = _bandsolve.eigenvalues_nearest(n, _MOST_ENTRIES, converted, start, nearest)
    elif structured and sigma is not None:
        found = _bandsolve.eigenvalues_nearest(n, _MOST_ENTRIES, converted, start, options)
    counted = hermitian and which == ("SM" if sigma is None else "LM")
    if complete and (found is None or not counted):
        raise ValueError("complete=True needs sigma with which='LM', or which='SM' without sigma, and matrices that can be factored. Leave out "
                         "complete, or change these arguments")
    if found is None:
        if hermitian and m is not None:
            _bandsolve.check_mass(n, _MOST_ENTRIES, converted[1], start)
        if isinstance(inverse, str):
            inverse = _inverse(a, m, sigma, dtype, tol, inverse, hermitian)
        elif inverse is not None:
            inverse = _given(inverse, n, "Minv" if sigma is None else "OPinv")
        elif sigma is not None or m is not None:
            inverse = _inverse(a, m, sigma, dtype, tol, None, hermitian)
        found = _searched((n, converted, start.astype(dtype)), inverse, options)
        if isinstance(inverse, dict) and dtype.char in "fF" and found[2]["ending"] == "large residuals":
            # In single precision, an inverse by iteration can be too inaccurate, because its products are.
            wide = np.result_type(dtype, np.float64)
            found = _searched((n, converted, start.astype(wide)), inverse | {"rtol": _inner(tol, wide)}, options)
    return _finished(found, dtype, hermitian, (a, m), f"{k} eigenvalues", which)


def _find_on_gpu(a, k, which, v0, ncv, maxiter, tol, rng, hermitian, second_look, given):
    """Search for eigenvalues of a matrix on a GPU, by products. `given` names arguments that need solves, and says whether the caller passed them."""
    for name, passed in given.items():
        if passed:
            raise ValueError(f"{name} is given, but A is on a GPU, where the search uses products with A alone. Leave out {name}, or pass a matrix on "
                             "the host")
    n = _square(a.shape)
    if any_on_gpu(v0):
        raise TypeError("v0 is on a GPU, expected an array on the host")
    k, start = _count(k, n), _start(v0, n, a.dtype)
    if start.dtype != a.dtype:
        raise TypeError(f"v0 has the dtype {start.dtype}, expected {a.dtype}, the dtype of A")
    options = _options(n, k, which, _most_vectors(k, False) if ncv is None else ncv, maxiter, tol, rng, hermitian, second_look=bool(second_look))
    return _finished(_bandsolve.eigenvalues_on_gpu(a, start, options), a.dtype, hermitian, (), f"{k} eigenvalues", which)


def _count(k, n):
    """Return a number of eigenvalues as an int."""
    k = whole_number("k", k, 1)
    if k > n:
        raise ValueError(f"k is {k}, expected at most n = {n}, the number of rows")
    return k


def _start(v0, n, dtype):
    """Return the start vector, empty without `v0`, of a number type, or of its complex counterpart if `v0` is complex."""
    if v0 is None:
        return np.zeros(0, dtype)
    start = as_array(v0).reshape(-1)
    if start.shape != (n,):
        raise ValueError(f"v0 has the shape {np.shape(v0)}, expected ({n},)")
    if not np.isfinite(start).all():
        raise ValueError("v0 contains NaN or infinity, expected finite numbers")
    return start.astype(np.result_type(dtype, np.complex64) if np.iscomplexobj(start) else dtype, copy=False)


def _searched(problem, inverse, options):
    """Search for eigenvalues in the number type of the start vector."""
    n, converted, start = problem
    return _bandsolve.eigenvalues(n, (*_typed(converted, start.dtype), _compiled(inverse, start.dtype)), start, options)


def _finished(found, dtype, hermitian, matrices, wanted, which):
    """Return eigenvalues, in order and in their type, eigenvectors and the report. Raise an error if the search did not end well."""
    w, v, report = found
    if hermitian:
        order = np.argsort(w)
        w, v = w[order].astype(np.finfo(dtype).dtype), v[:, order].astype(dtype, copy=False)
        report |= {name: report[name][order] for name in ("residuals", "offsets")}
    elif dtype.char in "fF":
        w, v = w.astype(np.complex64), v.astype(np.complex64)
    if not report["converged"]:
        message = f"{len(w)} of {wanted} found: {report['ending']} after {report['restarts']} restarts"
        if report["ending"] == "may be incomplete":
            message += "; eigenvalues that which=" + repr(which) + " prefers may be missing"
        if hermitian and not all(_is_hermitian(matrix) for matrix in matrices):
            message += ". The matrix is not Hermitian: use eigs"
        else:
            message += ". Increase maxiter or ncv, or pass sigma near the eigenvalues"
        raise scipy_module("sparse.linalg").ArpackNoConvergence(message, w, v)
    return w, v, report


def _ends(interval):
    """Return the ends of an interval as numbers."""
    try:
        low, high = (float(end) for end in interval)
    except (TypeError, ValueError):
        low = high = np.nan
    if not (np.isfinite([low, high]).all() and low < high):
        raise ValueError(f"interval is {interval!r}, expected two finite numbers (a, b) with a < b")
    return low, high


def _between(a, m, interval, v0, ncv, maxiter, tol, rng, others):
    """Find all eigenvalues in an interval. `others` says which arguments the caller passed that the interval replaces."""
    low, high = _ends(interval)
    for name, passed in others.items():
        if passed:
            raise ValueError(f"{name} and interval are both given, expected at most one of them. Leave out {name}: with interval, the function finds "
                             f"all eigenvalues from {low} to {high}")
    n, converted, start, dtype = _problem(a, m, v0, None, True)
    if any(map(callable, converted)):
        raise ValueError("A or M is an operator, expected matrices with interval: their factors count the eigenvalues. Pass matrices, or sigma")
    options = _options(n, 1, _HERMITIAN["LM"], ncv, maxiter, tol, rng, True, interval=(low, high))
    found = _bandsolve.eigenvalues_nearest(n, _MOST_ENTRIES, converted, start, options)
    if found is None:
        raise ValueError("the factors of A or M are too large, expected at most 2**27 numbers with interval. Pass sigma and k, and OPinv='amg-lines' "
                         "or another preconditioner")
    return _finished(found, dtype, True, (a, m), f"all eigenvalues from {low} to {high}", "LM")


def _most_vectors(k, nearest):
    """Return the default size of a Krylov space. Eigenvalues nearest to a shift need fewer vectors than others."""
    return max(2 * k + 6, 16 if nearest else 20)


def _is_hermitian(a):
    """Whether a matrix is Hermitian up to rounding. The function returns True for operators."""
    if a is None or not is_matrix(a):
        return True
    a = scipy_module("sparse").csr_array(a)
    difference, largest = abs(a - a.conj().T), abs(a).max() if a.nnz else 0
    return difference.nnz == 0 or difference.max() <= 1e3 * np.finfo(_number(a.dtype)).eps * largest


def _buckling(a, k, m, sigma, which, v0, ncv, maxiter, tol, inverse, rng, second_look):
    """Solve A x = w M x with a positive definite A, as M x = u A x with u = 1 / w near 1 / sigma."""
    sp = scipy_module("sparse")
    if sigma is None or np.imag(sigma) != 0 or sigma == 0:
        raise ValueError(f"sigma is {sigma!r}, expected a real number other than 0 for mode='buckling'")
    sigma = np.real(sigma)
    n, _, dtype = _operator(a, None, "A")
    m = sp.eye_array(n, dtype=dtype, format="csr") if m is None else m
    named = inverse if isinstance(inverse, str) else None
    solve = _inverse(a, m, sigma, dtype, tol, named, True) if inverse is None or named else _given(inverse, n, "OPinv")

    # M - A / sigma = -(A - sigma M) / sigma
    # Its eigenvalues are -sigma times the eigenvalues of (A - sigma M)^-1 A.
    turned = {"LA": "SA", "SA": "LA"} if sigma > 0 else {}
    if isinstance(solve, dict):
        inverse = solve | {"factor": -sigma}
    else:
        inverse = scipy_module("sparse.linalg").LinearOperator((n, n), matvec=lambda b: -sigma * solve(b), dtype=dtype)
    tol = _outer(tol, solve)
    u, v, report = _find(m, k, a, 1 / sigma, _HERMITIAN, turned.get(which, which), v0, ncv, maxiter, tol, (None, inverse), rng,
                         second_look=second_look)
    w = 1 / u
    order = np.argsort(w)
    report |= {"residuals": report["residuals"][order], "offsets": w[order] - sigma}
    return w[order], v[:, order], report


def _answer(w, v, report, return_eigenvectors, full_output):
    found = (w, v) if return_eigenvectors else (w,)
    if full_output:
        return (*found, report)
    return found if return_eigenvectors else w


_PARAMETERS = """
    Parameters
    ----------
    A : (n, n) matrix or array of scipy.sparse, array_like, LinearOperator, or DeviceCsr
        The matrix. If it is one of `bandsolve.gpu.ascsr`, the search runs on its GPU, without `M`, `sigma`, `Minv` and `OPinv`. The results are arrays of NumPy.
    k : int, default 6
        Number of eigenvalues, at most n.
    M : (n, n) matrix or array of scipy.sparse, array_like, or LinearOperator, optional
        The matrix M of the problem ``A x = w M x``{mass}. Default: the identity.
    sigma : {number}, optional
        Target: the function finds eigenvalues near `sigma` by solves with ``A - sigma M``. It factors ``A - sigma M``. If the factors
        are too large (more than 2**27 numbers), or a matrix is an operator, it solves by GMRES, unless you pass `OPinv`.
    which : str, default "LM"
        {which}. With `sigma`, `which` refers to ``1 / (w - sigma)``, so that "LM" means the eigenvalues nearest to `sigma`. Without `sigma`, the
        function finds "SM" of matrices that it can factor by solves, as those nearest to 0. On a GPU it uses products, which are slow for "SM".
    v0 : (n,) array_like, optional
        Start vector. Default: a random vector, the same in each call.
    ncv : int, optional
        Maximum number of vectors of the Krylov space. Default: ``max(2 * k + 6, 20)``, and ``max(2 * k + 6, 16)`` for the eigenvalues nearest to
        `sigma`.
    maxiter : int, optional
        Maximum number of restarts, of the search and of each second look. Default: 10 n.
    tol : float, default 0
        Relative accuracy of the eigenvalues, below 1. 0 means the accuracy of the number type. If solves are iterative, the accuracy is at most 2e-10 in
        double precision and 2e-3 in single precision.
    return_eigenvectors : bool, default True
        Return eigenvectors too.
    Minv : matrix, LinearOperator, Factor or str, optional
        The inverse of M, for problems without `sigma`: an operator that applies the inverse, factors of M with the method `solve` (a `bandsolve.Factor`, or
        the result of `scipy.sparse.linalg.splu`), or the name of a preconditioner of `bandsolve.sparse`, such as "amg-lines". With a name, the function
        solves by conjugate gradients or GMRES, to ``tol / 500`` or to rounding.
    OPinv : matrix, LinearOperator, Factor or str, optional
        The inverse of ``A - sigma M``, in the same forms as `Minv`.{own}
    rng : numpy.random.Generator or int, optional
        Source of the seed of random vectors. Default: a fixed seed.
    full_output : bool, default False
        Return a report too.{complete}
    second_look : bool, default True
        Search again for copies of multiple eigenvalues, from a random vector orthogonal to the vectors found. A Krylov space has only one copy of a multiple
        eigenvalue. The search ends when the probability that an eigenvalue is missing is approximately 1e-8. {looks} With False{counts}, the
        function may miss equal eigenvalues.{interval}

    Returns
    -------
    w : (k,) ndarray
        {order}
    v : (n, k) ndarray
        Only with ``return_eigenvectors=True``: the eigenvectors, as columns.
    report : dict
        Only with ``full_output=True``. "converged"; "ending" (why the search ended); "residuals", which are
        ``norm(A x - w M x) / ((norm(A) + abs(w) * norm(M)) * norm(x))``; "norms"; "orthogonality"; "restarts"; "solves"; "offsets", which are ``w - sigma``
        with all digits, also if w and sigma agree in many digits; "complete".

    Raises
    ------
    ValueError
        A shape, an entry or an option is invalid.
    numpy.linalg.LinAlgError
        {refused}. Or ``A - sigma M`` is singular to working precision, there and at shifts nearby. Or an iterative solve did not converge.
    scipy.sparse.linalg.ArpackNoConvergence
        The search found fewer than k eigenvalues, or it cannot exclude that wanted eigenvalues are missing (ending "may be incomplete"). The exception has
        what was found as `eigenvalues` and `eigenvectors`.
    """


def _documented(**words):
    def fill(function):
        # `python -OO` removes docstrings.
        if function.__doc__:
            function.__doc__ = function.__doc__.replace("@PARAMETERS", _PARAMETERS.format(**words).strip())
        return function

    return fill


@_documented(
    mass=""". M is Hermitian and positive definite; with ``mode="buckling"``, A is, and M need not be. The
        function counts the negative eigenvalues of a matrix that it can factor. For an operator, or a matrix with large factors, it looks for a negative
        xᴴ M x in a few products and in the search. For a matrix, it also looks for a negative diagonal entry, and for abs(m_ij)**2 > m_ii m_jj.
        Otherwise it trusts you""",
    number="float",
    which='"LM", "SM": largest, smallest magnitude. "LA", "SA": largest, smallest. "BE": half from each end',
    order="The eigenvalues in ascending order.",
    own="""
    mode : str, default "normal"
        "normal", "buckling" or "cayley": which spectral transformation the search uses. With "buckling", `which` refers to ``w / (w - sigma)``, with "cayley" to
        ``(w + sigma) / (w - sigma)``, as in SciPy. Both need `sigma`.""",
    looks="Counts that prove the set complete replace this search.",
    counts=" and without counts",
    refused="M is not positive definite",
    complete="""
    complete : bool, optional
        Count the eigenvalues around those found, by the inertia of ``A - s M`` with two shifts s, and search for missing ones. The entry "complete" of the
        report says whether the counts prove that no nearer eigenvalue is missing. Counts need `sigma` with ``which="LM"``, or ``which="SM"`` without `sigma`,
        and matrices that the function factors. A count takes approximately the time of a factorization. Default: count where it is possible. True:
        raise a `ValueError` where it is not. False: do not count.""",
    interval="""
    interval : (float, float), optional
        Ends a < b: find all eigenvalues a <= w < b, however many there are, and prove by counts that none is missing. The function must be able to factor the matrices.
        Leave out `k`, `sigma`, `which`, `mode`, `Minv` and `OPinv`.""",
)
def eigsh(A, k=6, M=None, sigma=None, which="LM", v0=None, ncv=None, maxiter=None, tol=0, return_eigenvectors=True, Minv=None,
          OPinv=None, mode="normal", *, rng=None, full_output=False, complete=None, second_look=True, interval=None):
    """Find some eigenvalues and eigenvectors of a real symmetric or complex Hermitian matrix.

    The problem is ``A x = w x``, or ``A x = w M x`` with `M`. The signature is that of `scipy.sparse.linalg.eigsh`.

    @PARAMETERS

    See Also
    --------
    - `bandsolve.eigen.eigs`: find eigenvalues of a matrix that is not Hermitian.
    - `bandsolve.eigen.eigh_tridiagonal`: find all eigenvalues of a tridiagonal matrix.
    - `bandsolve.mpi.eigsh`: find eigenvalues over the ranks of an MPI job.

    Notes
    -----
    **Method.** Krylov–Schur, with thick restarts. Without `sigma`, the search uses products with A, which find eigenvalues at the ends of the spectrum. Use
    `sigma` for eigenvalues inside the spectrum.

    **Cost.** One product or solve for each vector, 8 · n · ncv operations to orthogonalize it, and memory for n · (2 · ncv + 3) numbers. With `sigma`, one
    factorization, and two more for counts.

    **Accuracy.** The function computes every residual from the vectors. A residual is at most `tol`, or 32 · ε · √n where that is more.

    **Threads.** The result is the same, bit for bit, for any number of threads.

    Examples
    --------
    The eigenvalues nearest to 1 of second differences, with a proof that none is missing:

    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.eigen import eigsh
    >>> a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(1000, 1000))
    >>> w, v, report = eigsh(a, 3, sigma=1.0, full_output=True)
    >>> print(np.round(w, 6))
    [0.996378 1.001813 1.007257]
    >>> report["complete"], bool(np.allclose(a @ v, v * w, atol=1e-12))
    (True, True)

    All eigenvalues from 1 to 1.02, with a proof that none is missing:

    >>> w, v, report = eigsh(a, interval=(1.0, 1.02), full_output=True)
    >>> print(np.round(w, 6), report["complete"])
    [1.001813 1.007257 1.012711 1.018174] True

    Finite elements, ``A x = w M x``, the smallest eigenvalues:

    >>> m = sp.diags_array([1.0, 4.0, 1.0], offsets=[-1, 0, 1], shape=(1000, 1000)) / 6
    >>> w, v = eigsh(a, 2, M=m, sigma=0.0)
    >>> print(np.round(w * 1001**2 / np.pi**2, 4))
    [1. 4.]

    A grid of 100 × 100 nodes, whose band is wide: solves by iteration with a preconditioner.

    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(100, 100))
    >>> grid = sp.csr_array(sp.kronsum(line, line))
    >>> w, v = eigsh(grid, 3, sigma=0, OPinv="amg-lines", tol=1e-8)
    >>> print(np.round(w, 6))
    [0.001935 0.004836 0.004836]
    """
    if interval is not None:
        replaced = {"k": k != 6, "sigma": sigma is not None, "which": which != "LM", "mode": mode != "normal", "Minv": Minv is not None,
                    "OPinv": OPinv is not None, "complete=False": complete is not None and not complete}
        found = _between(A, M, interval, v0, ncv, maxiter, tol, rng, replaced)
    elif mode == "buckling":
        if complete:
            raise ValueError("complete=True needs mode='normal', but mode is 'buckling'")
        found = _buckling(A, k, M, sigma, which, v0, ncv, maxiter, tol, OPinv, rng, second_look)
    elif mode in ("normal", "cayley"):
        cayley = mode == "cayley"
        if cayley and not sigma:
            raise ValueError(f"sigma is {sigma!r}, expected a number other than 0 for mode='cayley'")
        if cayley and complete:
            raise ValueError("complete=True needs mode='normal', but mode is 'cayley'")
        found = _find(A, k, M, sigma, _HERMITIAN, which, v0, ncv, maxiter, tol, (Minv, OPinv), rng, complete, cayley, second_look)
    else:
        raise ValueError(f"mode is {mode!r}, expected 'normal', 'buckling' or 'cayley'")
    return _answer(*found, return_eigenvectors, full_output)


@_documented(
    mass="",
    number="float or complex",
    which='"LM", "SM": largest, smallest magnitude. "LR", "SR": largest, smallest real part. "LI", "SI": largest, smallest imaginary part',
    order="The eigenvalues, complex, in the order of `which`: the most wanted first.",
    own="\n    OPpart : optional\n        For compatibility. The function ignores it.",
    looks="Each copy takes one more search.",
    counts="",
    refused="M is singular, without `sigma`",
    complete="",
    interval="",
)
def eigs(A, k=6, M=None, sigma=None, which="LM", v0=None, ncv=None, maxiter=None, tol=0, return_eigenvectors=True, Minv=None,
         OPinv=None, OPpart=None, *, rng=None, full_output=False, second_look=True):
    """Find some eigenvalues and eigenvectors of a square matrix that need not be symmetric.

    The problem is ``A x = w x``, or ``A x = w M x`` with `M`. The signature is that of `scipy.sparse.linalg.eigs`.

    @PARAMETERS

    See Also
    --------
    - `bandsolve.eigen.eigsh`: find eigenvalues of a symmetric or Hermitian matrix, in less time and with counts.

    Notes
    -----
    **Method.** Krylov–Schur, with thick restarts. Without `sigma`, the search uses products with A, which find eigenvalues at the ends of the spectrum. Use
    `sigma` for eigenvalues inside the spectrum.

    **Cost.** One product or solve for each vector, 8 · n · ncv operations to orthogonalize it, and memory for n · (2 · ncv + 3) numbers. With `sigma`, one
    factorization of the band, and two more for counts.

    **Accuracy.** The function computes every residual from the vectors. A residual is at most `tol`, or 32 · ε · √n where that is more.

    **Threads.** The result is the same, bit for bit, for any number of threads.

    **Complex shift.** With a complex `sigma`, the computation is complex, also for real matrices.

    **Ill-conditioned eigenvalues.** If the matrix is far from normal, small residuals do not prove that the eigenvalues are accurate.

    Examples
    --------
    The eigenvalues with the largest real part of a convection–diffusion matrix:

    >>> import numpy as np, scipy.sparse as sp
    >>> from bandsolve.eigen import eigs
    >>> a = sp.diags_array([-1.2, 2.0, -0.8], offsets=[-1, 0, 1], shape=(100, 100))
    >>> w, v = eigs(a, 2, which="LR")
    >>> print(np.round(w.real, 6))
    [3.958644 3.955801]
    >>> bool(np.allclose(a @ v, v * w, atol=1e-8))
    True

    The complex pair nearest to 2 of a rotation and a diagonal matrix:

    >>> rotation = np.array([[2.0, 1.0], [-1.0, 2.0]])
    >>> a = sp.block_diag([rotation, sp.diags_array(np.arange(5.0, 30.0))])
    >>> w = eigs(a, 2, sigma=2.0, return_eigenvectors=False)
    >>> print(np.round(sorted(w, key=np.imag), 6))
    [2.-1.j 2.+1.j]
    """
    found = _find(A, k, M, sigma, _GENERAL, which, v0, ncv, maxiter, tol, (Minv, OPinv), rng, second_look=second_look)
    return _answer(*found, return_eigenvectors, full_output)
