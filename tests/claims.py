#!/usr/bin/env python3
"""Random problems for every solver of the Python package. No report may claim what is not true.

Each case draws a small problem and solves it. The solver may raise an error or report that it has not converged. What it does claim
(a backward error, convergence, completeness, a mean) is compared with a computation in long double precision, or with NumPy's LAPACK.

    python tests/claims.py [--cases N] [--seed S] [DOOR ...]

The last line counts the cases. A false claim is printed with the seed that draws it again: `--seed S --cases 1 DOOR`.
"""

import argparse
import sys
import warnings

import numpy as np

DOORS = {}


class FalseClaim(AssertionError):
    """What a report says is not true."""


def door(draw):
    """Add a door: a function of a random generator, which returns whether there was an answer, or raises FalseClaim."""
    DOORS[draw.__name__] = draw
    return draw


def claim(holds, *words):
    if not holds:
        raise FalseClaim(" ".join(map(str, words)))


# -- What is drawn ------------------------------------------------------------------------------------------------------


def a_dtype(rng, kinds="fdFD"):
    return np.dtype(str(rng.choice(list(kinds))))


def numbers(rng, shape, dtype):
    """Numbers of size 1; one array in five holds small whole numbers, so that zeros and equal entries occur."""
    def draw():
        return rng.integers(-2, 3, shape) if whole else rng.uniform(-1, 1, shape)

    whole = rng.random() < 0.2
    return (draw() + 1j * draw() if dtype.kind == "c" else draw()).astype(dtype)


def a_power(rng, dtype):
    """Usually 1, sometimes a power of ten near the ends of the range of the type."""
    if rng.random() < 0.6:
        return 1.0
    return 10.0 ** rng.integers(*((-34, 35) if dtype.char in "fF" else (-300, 300)))


def three_diagonals(rng, n, dtype):
    """sub, diag, sup of n entries each: dominant, random, with small pivots, or singular."""
    sub, diag, sup = (numbers(rng, n, dtype) for _ in range(3))
    kind = rng.integers(5)
    if kind < 2:
        diag += dtype.type(3)
    if kind == 3:
        diag *= (rng.random(n) < 0.5) + dtype.type(1e-12)
    if kind == 4 and n > 1:
        i = rng.integers(n - 1)
        diag[i], sup[i], sub[i + 1], diag[i + 1] = 1, 1, 1, 1
        if i:
            sub[i] = 0
        if i + 2 < n:
            sup[i + 1] = 0
    rows = dtype.type(a_power(rng, dtype)) * (10.0 ** rng.integers(-3, 4, n) if rng.random() < 0.3 else np.ones(n))
    return tuple((array * rows).astype(dtype) for array in (sub, diag, sup))


def a_dense(sub, diag, sup, periodic=False):
    n = len(diag)
    a = np.zeros((n, n), wide(diag.dtype))
    for i in range(n):
        a[i, i] += diag[i]
        if i or periodic:
            a[i, i - 1] += sub[i]
        if i + 1 < n or periodic:
            a[i, (i + 1) % n] += sup[i]
    return a


# -- What is compared with ----------------------------------------------------------------------------------------------


def wide(dtype):
    return np.clongdouble if np.dtype(dtype).kind == "c" else np.longdouble


def backward_errors(a, x, rhs):
    """The row-wise backward error of each column, in long double precision."""
    tiny = np.finfo(x.dtype).tiny
    a, x, rhs = (np.asarray(array, wide(array.dtype)) for array in (a, x, rhs))
    x, rhs = x.reshape(len(a), -1), rhs.reshape(len(a), -1)
    largest = np.maximum(abs(x).max(axis=0, initial=0), tiny)
    size = abs(a).sum(axis=1)[:, None] * largest + abs(rhs)
    residual = abs(rhs - a @ x)
    return np.divide(residual, size, out=np.zeros_like(residual), where=residual != 0).max(axis=0, initial=0)


def check_direct(a, x, rhs, reported, entries):
    """What was reported for each column. A residual of `entries` products in working precision has an error of `entries` + 2 roundings."""
    eps = float(np.finfo(x.dtype).eps)
    true = backward_errors(a, x, rhs)
    for column, (true, said) in enumerate(zip(true, np.atleast_1d(reported), strict=True)):
        rounding = (entries + 2) * eps
        claim(np.isfinite(said) and said <= 64 * eps, "column", column, "accepted with the backward error", said)
        claim(true <= said + rounding, "column", column, "has the backward error", float(true), "reported as", said)


def solved(solve):
    """What `solve` returns, or None where it raises the error of a matrix that cannot be solved."""
    try:
        return solve()
    except np.linalg.LinAlgError:
        return None


# -- Direct solvers -----------------------------------------------------------------------------------------------------


def tridiagonal_of(rng, periodic):
    import bandsolve

    dtype, n = a_dtype(rng), int(rng.choice([1, 2, 3, 5, 17, 33, 70]))
    n = max(n, 3) if periodic else n
    sub, diag, sup = three_diagonals(rng, n, dtype)
    shape = (n,) if rng.random() < 0.5 else (n, int(rng.integers(1, 4)))
    rhs = numbers(rng, shape, dtype) * dtype.type(a_power(rng, dtype))
    method = str(rng.choice(["auto", "auto", *bandsolve.methods()]))
    arrays = (sub, diag, sup) if periodic else (sub[1:], diag, sup[:-1])
    try:
        answer = solved(lambda: bandsolve.solve_tridiagonal(*arrays, rhs, periodic=periodic, method=method, full_output=True))
    except ValueError as error:
        claim(method != "auto", "auto raised", error)
        return False
    if answer is None:
        return False
    check_direct(a_dense(sub, diag, sup, periodic), answer[0], rhs, answer[1].backward_errors, 3)
    return True


@door
def tridiagonal(rng):
    return tridiagonal_of(rng, False)


@door
def periodic(rng):
    return tridiagonal_of(rng, True)


@door
def banded(rng):
    import bandsolve

    dtype, n = a_dtype(rng), int(rng.choice([1, 2, 5, 20, 40]))
    lower, upper = (int(width) for width in rng.integers(0, min(n, 6), 2))
    ab = numbers(rng, (lower + upper + 1, n), dtype)
    ab[upper] += dtype.type(rng.choice([0, 0, 3, 8]))
    ab *= dtype.type(a_power(rng, dtype))
    rhs = numbers(rng, n, dtype) * dtype.type(a_power(rng, dtype))
    factor = solved(lambda: bandsolve.factor_banded((lower, upper), ab))
    answer = solved(lambda: factor.solve(rhs, full_output=True)) if factor else None
    if answer is None:
        return False
    a = np.zeros((n, n), dtype)
    for d in range(-lower, upper + 1):
        for j in range(max(0, d), min(n, n + d)):
            a[j - d, j] = ab[upper - d, j]
    check_direct(a, answer[0], rhs, answer[1].backward_errors, lower + upper + 1)
    return True


@door
def blocks(rng):
    import bandsolve

    dtype, block, count = a_dtype(rng), int(rng.choice([1, 2, 3, 5, 9])), int(rng.integers(1, 9))
    arrays = [numbers(rng, (count, block, block), dtype) * dtype.type(1) for _ in range(3)]
    arrays[1] += dtype.type(rng.choice([0, 0, 3, 9])) * np.eye(block, dtype=dtype)
    power = dtype.type(a_power(rng, dtype))
    sub, diag, sup = (array * power for array in arrays)
    rhs = numbers(rng, (count, block), dtype) * dtype.type(a_power(rng, dtype))
    answer = solved(lambda: bandsolve.solve_block_tridiagonal(sub[1:], diag, sup[:-1], rhs, full_output=True))
    if answer is None:
        return False
    n = count * block
    a = np.zeros((n, n), dtype)
    for i in range(count):
        for array, j in ((sub, i - 1), (diag, i), (sup, i + 1)):
            if 0 <= j < count:
                a[i * block:][:block, j * block:][:, :block] = array[i]
    check_direct(a, answer[0].reshape(n), rhs.reshape(n), answer[1].backward_errors, 3 * block)
    return True


@door
def batch(rng):
    import bandsolve

    dtype, n, count = a_dtype(rng), int(rng.choice([1, 2, 5, 16, 33])), int(rng.choice([1, 2, 7, 9, 33]))
    systems = [three_diagonals(rng, n, dtype) for _ in range(count)]
    arrays = [np.stack([system[k] for system in systems]) for k in range(3)]
    rhs = numbers(rng, (count, n), dtype) * dtype.type(a_power(rng, dtype))
    sub, diag, sup = arrays
    order, axis = rng.choice(["C", "F"]), -1
    if rng.random() < 0.5:
        sub, diag, sup, rhs, axis = sub.T, diag.T, sup.T, rhs.T, 0
    given = [np.array(array, order=order) for array in (sub, diag, sup, rhs)]
    answer = solved(lambda: bandsolve.solve_batch(*given, axis=axis, padded=True, full_output=True))
    if answer is None:
        return False
    x, right = np.moveaxis(answer[0], axis, -1), np.moveaxis(rhs, axis, -1)
    eps = np.finfo(dtype).eps
    true = [backward_errors(a_dense(*system), x[i], right[i])[0] for i, system in enumerate(systems)]
    claim(max(true) <= answer[1].backward_error + 5 * eps, "a system has the backward error", max(true), "reported", answer[1].backward_error)
    claim(answer[1].backward_error <= 64 * eps, "accepted with", answer[1].backward_error)
    return True


# -- Iterations ---------------------------------------------------------------------------------------------------------


@door
def krylov(rng):
    import scipy.sparse as sp
    from bandsolve import sparse

    dtype, n = a_dtype(rng), int(rng.integers(1, 30))
    a = sp.random_array((n, n), density=0.3, rng=rng, format="csr").toarray().astype(dtype) * numbers(rng, (n, n), dtype)
    kind = rng.integers(4)
    if kind < 3:
        a = a + dtype.type(rng.choice([1, 3])) * np.eye(n, dtype=dtype)
    if kind == 1:
        a = a @ a.conj().T
    a = sp.csr_array(a)
    b = numbers(rng, n, dtype) * dtype.type(a_power(rng, dtype))
    rtol, atol = 10.0 ** -rng.uniform(0, 17), float(rng.choice([0, 0, 0, 1e-300, 1e-5]))
    method = getattr(sparse, str(rng.choice(["gmres", "bicgstab", "cg", "idrs", "richardson"])))
    options = {"rtol": rtol, "atol": atol, "maxiter": 60, "full_output": True}
    try:
        if rng.random() < 0.5:
            options["M"] = sparse.Preconditioner(a, str(rng.choice(["jacobi", "tridiagonal", "forest", "ilu0", "amg-lines", "diagp1"])))
        if rng.random() < 0.2:
            options["x0"] = numbers(rng, n, dtype)
        x, report = method(a, b, **options)
    except (np.linalg.LinAlgError, ValueError, ArithmeticError):
        return False
    if not report["converged"]:
        return False
    dense, right, x = (np.asarray(array, wide(dtype)) for array in (a.toarray(), b, x))
    norm = np.sqrt((abs(right - dense @ x) ** 2).sum())
    allowed = max(rtol * np.sqrt((abs(right) ** 2).sum()), atol)
    # Norms are sums of n squares in double precision.
    claim(norm <= allowed * (1 + (n + 4) * np.finfo(float).eps), method.__name__, "converged at", norm, "allowed", allowed)
    return True


# -- Eigenvalues --------------------------------------------------------------------------------------------------------

ORDERS = {
    "LM": lambda w: -abs(w), "SM": abs, "LA": lambda w: -w.real, "SA": lambda w: w.real, "LR": lambda w: -w.real, "SR": lambda w: w.real,
    "LI": lambda w: -abs(w.imag), "SI": lambda w: abs(w.imag),
}


def a_spectrum(rng, n):
    """Real numbers between -1 and 1, distinct ones at least 0.02 apart, some of them several times."""
    distinct = rng.choice(np.arange(-50, 51), size=max(1, n if rng.random() < 0.4 else n // 3), replace=n > 100) / 50
    return rng.permutation(np.concatenate([distinct, rng.choice(distinct, n - len(distinct))]))


def norm_of(a):
    return float(np.linalg.norm(np.asarray(a, complex if a.dtype.kind == "c" else float), 2))


def check_pairs(a, w, v, k, exact, key, b=None, tol=0.0):
    """Residuals of all pairs of A x = w B x, and that no eigenvalue that is wanted more was missed; of a Hermitian pencil, where w is real,
    that each is one as often as it was found."""
    eps, n = float(np.finfo(v.dtype).eps), len(a)
    b = np.eye(n) if b is None else b
    claim(len(w) == k, len(w), "eigenvalues where", k, "were asked for")
    norms, inverse = (norm_of(a), norm_of(b)), norm_of(np.linalg.inv(b.astype(np.result_type(b.dtype, float))))
    size = max(norms[0] + abs(exact).max() * norms[1], np.finfo(float).tiny)
    # What is documented, and the rounding of the two products in which residuals are formed.
    limit = max(tol, 32 * eps * np.sqrt(n)) + 2 * (n + 2) * eps
    a, b, v = (np.asarray(array, wide(array.dtype)) for array in (a, b, v))
    for value, x in zip(w, v.T, strict=True):
        norm = np.sqrt((abs(x) ** 2).sum())
        residual = np.sqrt((abs(a @ x - value * (b @ x)) ** 2).sum())
        allowed = limit * (norms[0] + abs(value) * norms[1]) * norm
        claim(norm > 0 and residual <= allowed, "a pair with the residual", float(residual), "allowed", float(allowed))
    # Rounding of a search is a modest multiple of n eps; a residual is at most so many times nearer than an eigenvalue.
    margin = (200 * n * eps + 4 * tol) * size * inverse
    found, wanted = np.sort(key(w)), np.sort(key(exact))[:k]
    claim(abs(found - wanted).max(initial=0) <= margin, "found", w, "of", np.sort(exact), "; wanted by", found, "expected", wanted)
    if w.dtype.kind != "c":
        gram = float(abs(v.conj().T @ b @ v - np.eye(k)).max(initial=0))
        claim(gram <= 200 * n * eps * norms[1] * inverse, "vectors are orthogonal to", gram)
        left = list(np.sort(exact))
        for value in np.sort(w):
            left = [other for other in left if other >= value - margin]
            claim(left and left.pop(0) <= value + margin, value, "of", w, "is not an eigenvalue as often: ", np.sort(exact))


@door
def eigsh(rng):
    from bandsolve import eigen
    from scipy.sparse.linalg import ArpackError

    dtype, n = a_dtype(rng), int(rng.integers(2, 40))
    w = a_spectrum(rng, n)
    q = np.linalg.qr(numbers(rng, (n, n), np.dtype(complex if dtype.kind == "c" else float)) + 3 * np.eye(n))[0]
    a = ((q * w) @ q.conj().T).astype(dtype)
    k, which = int(rng.integers(1, n + 1)), str(rng.choice(["LM", "LA", "SA"]))
    try:
        found, v, report = eigen.eigsh(a, k, which=which, full_output=True, rng=int(rng.integers(1000)))
    except ArpackError:
        return False
    check_pairs(a, found, v, k, np.linalg.eigvalsh(a.astype(q.dtype)), ORDERS[which])
    return True


def a_band(rng, dtype):
    """A Hermitian band with equal eigenvalues: equal blocks, a ring, a diagonal; one with eigenvalues near each other, or a random one."""
    n, kind = int(rng.integers(2, 40)), rng.integers(5)
    if kind == 0:
        part = numbers(rng, (3, 3), dtype)
        return np.kron(np.eye((n + 2) // 3, dtype=dtype), part + part.conj().T)
    if kind == 1:
        shift = np.roll(np.eye(n, dtype=dtype), 1, axis=0)
        return np.eye(n, dtype=dtype) * dtype.type(2) - shift - shift.T
    if kind == 2:
        return np.diag(rng.choice(np.arange(-4, 5), n) / 4).astype(dtype)
    if kind == 3:
        near = rng.choice(rng.integers(-4, 5, 3), n) / 4
        return np.diag(near + rng.uniform(-1, 1, n) * 10.0 ** rng.uniform(-14, -1, n)).astype(dtype)
    part = np.triu(np.tril(numbers(rng, (n, n), dtype)), -2)
    return part + part.conj().T


def a_mass(rng, a):
    """A positive definite matrix with entries where A has some: its diagonal exceeds the sums of the others by 0.1 or more."""
    beside = np.where((a != 0) & ~np.eye(len(a), dtype=bool), numbers(rng, a.shape, a.dtype), 0)
    beside = (beside + beside.conj().T) / 2
    return (beside + np.diag(abs(beside).sum(axis=1) + rng.uniform(0.1, 1, len(a)))).astype(a.dtype)


def eigenvalues_of(a, b=None):
    """All of a Hermitian matrix or pencil, in double precision."""
    scale = float(abs(a).max()) or 1.0
    a = a.astype(np.result_type(a.dtype, float)) / scale
    if b is not None:
        inverse = np.linalg.inv(np.linalg.cholesky(b.astype(a.dtype)))
        a = inverse @ a @ inverse.conj().T
    return np.linalg.eigvalsh(a) * scale


def near_problem(rng):
    """A Hermitian matrix or pencil in a band, its eigenvalues, and of which number the nearest are asked for, how many and how well.

    No eigenvalues: the other matrix of the pencil has a negative eigenvalue, which is to be refused."""
    dtype = a_dtype(rng)
    a = a_band(rng, dtype)
    b = a_mass(rng, a) if rng.random() < 0.4 else None
    a = (a * dtype.type(a_power(rng, dtype))).astype(dtype)
    exact = eigenvalues_of(a, b)
    size, at = float(abs(exact).max()), float(rng.choice(exact))
    sigma = float(rng.choice([
        at, at + size * rng.choice([-1, 1]) * 10.0 ** rng.uniform(-14, -3), (at + rng.choice(exact)) / 2, 0, size * rng.uniform(-1, 1)]))
    k = int(rng.integers(1, len(a) + 1)) if rng.random() < 0.3 else int(rng.integers(1, min(len(a), 6) + 1))
    tol = float(rng.choice([0, 0, 10.0 ** rng.uniform(-12, -2)]))
    if b is not None and rng.random() < 0.1:
        b, exact = b - (1.1 * eigenvalues_of(b)[0] * np.eye(len(b))).astype(dtype), None
    return a, b, exact, {"k": k, "sigma": sigma, "tol": tol}


@door
def eigsh_near(rng):
    import scipy.sparse as sp
    from bandsolve import eigen
    from scipy.sparse.linalg import ArpackError

    a, b, exact, asked = near_problem(rng)
    options = {"complete": True} if rng.random() < 0.5 else {}
    mass = None if b is None else sp.csr_array(b)
    try:
        found, v, report = eigen.eigsh(sp.csr_array(a), M=mass, full_output=True, **asked, **options)
    except (ArpackError, np.linalg.LinAlgError):
        return False
    claim(exact is not None, "eigenvalues for a matrix M with a negative eigenvalue")
    check_pairs(a, found, v, asked["k"], exact, lambda w: abs(w - asked["sigma"]), b, asked["tol"])
    return True


@door
def eigs(rng):
    from bandsolve import eigen
    from scipy.sparse.linalg import ArpackError

    dtype, n = a_dtype(rng), int(rng.integers(2, 30))
    w = a_spectrum(rng, n).astype(complex if dtype.kind == "c" else float)
    if dtype.kind == "c":
        w = w + 1j * a_spectrum(rng, n)
    # Eigenvectors at angles of at least 45 degrees, so that eigenvalues are well conditioned.
    x = np.linalg.qr(numbers(rng, (n, n), np.dtype(w.dtype)) + 3 * np.eye(n))[0] @ (np.eye(n) + np.triu(rng.uniform(-1, 1, (n, n)), 1) / (2 * n))
    a = (x * w @ np.linalg.inv(x)).astype(dtype)
    k, which = int(rng.integers(1, n + 1)), str(rng.choice(["LM", "LR", "SR"]))
    try:
        found, v, report = eigen.eigs(a, k, which=which, full_output=True, rng=int(rng.integers(1000)))
    except ArpackError:
        return False
    check_pairs(a, found, v, k, w, ORDERS[which])
    return True


def exact_count(d, e, at):
    """The number of eigenvalues <= `at` of a tridiagonal matrix of whole numbers, by exact arithmetic: those of each unreduced part below
    `at` are the changes of sign of its leading minors, and `at` is one if the last minor is zero."""
    count, start = 0, 0
    for end in [i + 1 for i in range(len(e)) if e[i] == 0] + [len(d)]:
        before, minor, sign = 0, 1, 1
        for i in range(start, end):
            before, minor = minor, (int(d[i]) - at) * minor - (int(e[i - 1]) ** 2 * before if i > start else 0)
            # A minor of zero counts as a change; the next one is then of the sign of the one before.
            changed = minor == 0 or (minor < 0) == (sign > 0)
            count += changed
            sign = -sign if changed else sign
        start = end
    return count


@door
def eigh_tridiagonal(rng):
    from bandsolve import eigen

    n = int(rng.integers(1, 7))
    d, e = rng.integers(-3, 4, n), rng.integers(-1, 2, n - 1)
    low, high = sorted(int(end) for end in rng.integers(-5, 6, 2))
    if low == high:
        return False
    w = eigen.eigh_tridiagonal(d.astype(float), e.astype(float), eigvals_only=True, select="v", select_range=(low, high))
    expected = exact_count(d, e, high) - exact_count(d, e, low)
    claim(len(w) == expected, d, e, "in", (low, high), "are", expected, "eigenvalues, found", w)
    claim(((w > low) & (w <= high)).all(), w, "are not in", (low, high))
    return True


# -- Poisson problems ---------------------------------------------------------------------------------------------------


def an_axis(rng, n):
    """Options of an axis, its matrix in long double precision, and the lengths of its volumes."""
    grid, sides = str(rng.choice(["node", "cell"])), str(rng.choice(["dirichlet", "neumann", "periodic"]))
    widths = np.ones(n, np.longdouble)
    graded = grid == "cell" and rng.random() < 0.4
    if graded:
        faces = np.concatenate([[0.0], np.cumsum(10.0 ** rng.uniform(-1.5, 1.5, n))])
        widths = np.diff(faces.astype(np.longdouble))
    if sides == "neumann" and grid == "node" and n > 1:
        widths[[0, -1]] = 0.5
    between = (widths + np.roll(widths, -1)) / 2 if graded else np.ones(n, np.longdouble)
    a = np.zeros((n, n), np.longdouble)
    for i in range(n):
        j = (i + 1) % n
        if i + 1 < n or sides == "periodic":
            for row, column in ((i, j), (j, i)):
                a[row, row] += 1 / (between[i] * widths[row])
                a[row, column] -= 1 / (between[i] * widths[row])
    if sides == "dirichlet":
        for i in (0, n - 1):
            a[i, i] += 1 / (widths[i] * (widths[i] / 2 if grid == "cell" else 1))
    return {"boundary": sides, "grid": grid, "coordinates": faces if graded else None}, a, widths


class Box:
    """A Poisson problem on a random box, with its matrix in long double precision."""

    def __init__(self, rng):
        self.shape = tuple(int(n) for n in rng.integers(3, 9, rng.integers(1, 4)))
        axes = [an_axis(rng, n) for n in self.shape]
        a, volumes = np.zeros((1, 1), np.longdouble), np.ones(1, np.longdouble)
        for n, (_, own, widths) in zip(self.shape, axes, strict=True):
            a = np.kron(a, np.eye(n)) + np.kron(np.eye(len(a)), own)
            volumes = np.kron(volumes, widths)
        eigenvalues = np.sort(np.linalg.eigvals(a.astype(float)).real)
        shift = float(rng.choice([0, 0, 0, rng.uniform(0, 2), -rng.choice(eigenvalues), -rng.uniform(0, eigenvalues[-1])]))
        self.volumes, self.parts = volumes, abs(a).sum(axis=1) + abs(shift)
        self.a = a + np.longdouble(shift) * np.eye(len(a))
        self.f, mean = rng.normal(size=self.shape), float(rng.choice([0, 3, -1e-3]))
        if rng.random() < 0.5:
            self.f -= float((self.f.ravel() * volumes).sum() / volumes.sum())
        self.options = {name: [axis[0][name] for axis in axes] for name in ("boundary", "grid", "coordinates")}
        self.options |= {"shift": shift, "mean": mean, "removable": 10.0}

    def norm(self, v):
        return np.sqrt((self.volumes * v**2).sum())

    def check(self, u, report):
        """What a report says of a solution."""
        a, u, eps = self.a, u.ravel(), float(np.finfo(float).eps)
        right = self.f.ravel() - (report["removed"] or 0.0)
        true = backward_errors(a, u, right)[0]
        # The oracle's entries are right to long double precision. The solver rounds the parts of an entry, of at most 3 axes and the shift,
        # and their sum, in which they may cancel.
        rounding = 16 * eps * float((self.parts / abs(a).sum(axis=1)).max())
        told = self.shape, self.options
        claim(true <= report["backward_error"] + rounding, *told, "has the backward error", float(true), "reported", report["backward_error"])
        if report["mean"] is not None:
            measured, size = float((u * self.volumes).sum() / self.volumes.sum()), float(abs(u).max())
            claim(abs(measured - report["mean"]) <= 64 * eps * size, "the mean is", measured, "reported", report["mean"])
            claim(abs(measured - self.options["mean"]) <= 64 * eps * size, "the mean is", measured, "asked for", self.options["mean"])
        # `rcond` is the least eigenvalue by the mean of sums of moduli in rows, both weighted by volumes. The eigenvalue is at most |f|/|u|.
        # The factor is for u's own error, which is of the size of u here, and for estimates of the condition, which may be a few times too
        # small.
        elif np.average(self.parts, weights=self.volumes) * self.norm(u) > 16 / eps * self.norm(right):
            claim(report["attention"], *told, "is singular, |u| is", float(abs(u).max()), "and the report says nothing")
        elif report["attention"] is None:
            expected = np.zeros_like(right, np.longdouble)
            for _ in range(6):
                expected += np.linalg.solve(a.astype(float), (right - a @ expected).astype(float))
            claim(abs(u - expected).max() < abs(expected).max(), *told, "has no correct digit, and the report says nothing")


@door
def poisson(rng):
    from bandsolve import poisson

    box = Box(rng)
    answer = solved(lambda: poisson.solve(box.f, full_output=True, **box.options))
    if answer is not None:
        box.check(*answer)
    return answer is not None


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=200, help="cases of each door (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first case (default: 0)")
    parser.add_argument("doors", nargs="*", metavar="DOOR", help=f"default: all of {', '.join(DOORS)}")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    # Singular matrices, and numbers near the ends of the range, are what is asked for.
    np.seterr(all="ignore")
    passed = failed = 0
    for name in options.doors or DOORS:
        answers, false = 0, 0
        for seed in range(options.seed, options.seed + options.cases):
            try:
                answers += DOORS[name](np.random.default_rng([seed, list(DOORS).index(name)]))
            except FalseClaim as what:
                false += 1
                if false <= 5:
                    print(f"{name}, seed {seed}: {what}")
        print(f"{name:20} {options.cases:7} cases  {answers:7} answers  {false:4} false claims", flush=True)
        passed, failed = passed + options.cases - false, failed + false
        if options.cases > 50 and answers < options.cases // 10:
            print(f"{name}: too few answers to say anything")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
