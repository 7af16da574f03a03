"""A NaN or an infinity in any array of any function is an error."""

import numpy as np
import pytest
import scipy.sparse as sp

import bandsolve
from bandsolve import compat, eigen, interpolate, poisson, smooth, sparse

N = 8
OFF, DIAG, RHS, RING = np.full(N - 1, -1.0), np.full(N, 4.0), np.arange(1.0, N + 1), np.full(N, -1.0)
A, I = np.diag(DIAG) + np.diag(OFF, 1) + np.diag(OFF, -1), np.eye(N)
AB = np.array([np.r_[0, OFF], DIAG, np.r_[OFF, 0]])
WIDE = np.vstack([np.zeros(N), AB, np.zeros(N)])
BLOCKS = [np.full((N - 1, 2, 2), -0.5), np.tile(4 * np.eye(2), (N, 1, 1)), np.full((N - 1, 2, 2), -0.5)]
MANY = [np.tile(x, (3, 1)) for x in (OFF, DIAG, OFF, RHS)]
F = np.ones((N, N))
NONE = np.zeros(N)

#: Functions, each with arrays for which it works.
CALLS = {
    "solve_tridiagonal": (bandsolve.solve_tridiagonal, OFF, DIAG, OFF, RHS),
    "solve_tridiagonal, periodic": (lambda *a: bandsolve.solve_tridiagonal(*a, periodic=True), RING, DIAG, RING, RHS),
    "solve_tridiagonal, transposed": (lambda *a: bandsolve.solve_tridiagonal(*a, transpose=True), OFF, DIAG, OFF, RHS),
    "factor_tridiagonal": (lambda s, d, p, b: bandsolve.factor_tridiagonal(s, d, p).solve(b), OFF, DIAG, OFF, RHS),
    "Factor.rcond": (lambda s, d, p: bandsolve.factor_tridiagonal(s, d, p).rcond(), OFF, DIAG, OFF),
    "Factor.slogdet": (lambda s, d, p: bandsolve.factor_tridiagonal(s, d, p).slogdet(), OFF, DIAG, OFF),
    "Factor.aslinearoperator": (lambda s, d, p, b: bandsolve.factor_tridiagonal(s, d, p).aslinearoperator() @ b, OFF, DIAG, OFF, RHS),
    "solve_banded, tridiagonal": (lambda ab, b: bandsolve.solve_banded((1, 1), ab, b), AB, RHS),
    "solve_banded": (lambda ab, b: bandsolve.solve_banded((2, 2), ab, b), WIDE, RHS),
    "solveh_banded": (bandsolve.solveh_banded, AB[:2], RHS),
    "factor_banded": (lambda ab, b: bandsolve.factor_banded((2, 2), ab).solve(b), WIDE, RHS),
    "solve_block_tridiagonal": (bandsolve.solve_block_tridiagonal, *BLOCKS, np.ones((N, 2))),
    "factor_block_tridiagonal": (lambda s, d, p, b: bandsolve.factor_block_tridiagonal(s, d, p).solve(b), *BLOCKS, np.ones(2 * N)),
    "solve_batch, one matrix": (bandsolve.solve_batch, OFF, DIAG, OFF, MANY[3]),
    "solve_batch": (bandsolve.solve_batch, *MANY),
    "factor_batch": (lambda s, d, p, b: bandsolve.factor_batch(s, d, p).solve(b), *MANY),
    "solve_banded_batch, one matrix": (lambda ab, b: bandsolve.solve_banded_batch((2, 2), ab, b), WIDE, MANY[3]),
    "solve_banded_batch": (lambda ab, b: bandsolve.solve_banded_batch((2, 2), ab, b), np.tile(WIDE, (3, 1, 1)), MANY[3]),
    "factor_banded_batch": (lambda ab, b: bandsolve.factor_banded_batch((2, 2), ab).solve(b), WIDE, MANY[3]),
    "solveh_banded_batch": (lambda ab, b: bandsolve.solveh_banded_batch(ab, b), np.tile(WIDE[:3], (3, 1, 1)), MANY[3]),
    "factorh_banded_batch": (lambda ab, b: bandsolve.factorh_banded_batch(ab).solve(b), WIDE[:3], MANY[3]),
    "solve_banded, a batch": (lambda ab, b: bandsolve.solve_banded((2, 2), ab, b), np.tile(WIDE, (3, 1, 1)), np.ones((3, N, 1))),
    "solve": (bandsolve.solve, A, RHS),
    "solve, sparse": (lambda a, b: bandsolve.solve(sp.csc_array(a), b), A, RHS),
    "factor": (lambda a, b: bandsolve.factor(a).solve(b), A, RHS),
    "compat, JAX": (lambda *a: compat.tridiagonal_solve(*a, RHS[:, None]), RING, DIAG, RING),
    "compat, TensorFlow": (compat.tridiagonal_solve, np.array([RING, DIAG, RING]), RHS),
    "Preconditioner": (lambda a: sparse.Preconditioner(a, "ilu0"), A),
    "PreparedProduct": (sparse.PreparedProduct, A),
    "forest": (sparse.forest, A),
    "forest, csc": (lambda a: sparse.forest(sp.csc_array(a)), A),
    "factor_graph": (sparse.factor_graph, A),
    "eigsh": (lambda a, m: eigen.eigsh(a, 2, m), A, I),
    "eigsh, sigma": (lambda a, m, v0: eigen.eigsh(a, 2, m, sigma=1.0, v0=v0), A, I, RHS),
    "eigsh, interval": (lambda a, m: eigen.eigsh(a, M=m, interval=(1.0, 3.0)), A, I),
    "eigsh, OPinv": (lambda a, inverse: eigen.eigsh(a, 2, sigma=1.0, OPinv=inverse), A, np.linalg.inv(A - I)),
    "eigs": (lambda a, m: eigen.eigs(a, 2, m), A, I),
    "eigs, sigma": (lambda a, m: eigen.eigs(a, 2, m, sigma=1.0), A, I),
    "eigh_tridiagonal": (eigen.eigh_tridiagonal, DIAG, OFF),
    "poisson": (poisson.solve, F),
    "poisson, coordinates": (lambda f, x: poisson.solve(f, coordinates=[x, None]), F, np.arange(N + 2.0)),
    "poisson, sides": (lambda f, g: poisson.solve(f, boundary=(("dirichlet", g), "dirichlet")), F, RHS),
    "poisson, pencils": (lambda f, *a: poisson.solve(f, pencils=[(a[:3], (NONE, a[3], NONE)), (a[:3], None)]), F, RING, DIAG, RING, np.ones(N)),
    "poisson, pencils of matrices": (lambda f, a, m: poisson.solve(f, pencils=[(a, m)]), RHS, A, I),
    "CubicSpline": (interpolate.CubicSpline, np.arange(N + 0.0), RHS),
    "hodrick_prescott": (smooth.hodrick_prescott, RHS),
    "whittaker": (lambda y: smooth.whittaker(y, 10.0), RHS),
}
for _name in ("gmres", "fgmres", "bicgstab", "cg", "idrs", "richardson", "solve"):
    _solver = getattr(sparse, _name)
    CALLS[f"sparse.{_name}"] = (lambda a, b, m, solver=_solver: solver(sp.csr_array(a), b, M=m), A, RHS, np.linalg.inv(A))
    CALLS[f"sparse.{_name}, x0"] = (lambda a, b, x0, solver=_solver: solver(a, b, x0=x0, M=bandsolve.factor(A)), A, RHS, RHS)


def places(array):
    """Return indices of entries that the functions read: in the middle of an array, and near the diagonal of a matrix."""
    if array.ndim == 2 and array.shape[0] == array.shape[1]:
        return [(3, 3), (3, 4)]
    return [(array.shape[0] // 2, 4)] if array.ndim == 2 and array.shape[1] == N else [tuple(n // 2 for n in array.shape)]


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_every_entry_must_be_finite(name, value):
    function, *arrays = CALLS[name]
    function(*arrays)
    for k, array in enumerate(arrays):
        for place in places(array):
            bad = [x.copy() for x in arrays]
            bad[k][place] = value
            with pytest.raises(ValueError, match="finite|NaN|infinit"):
                function(*bad)


@pytest.mark.parametrize("shape", [(N,), (3, N), (2, 3, N)])
def test_entries_below_the_diagonal_have_the_indices_of_the_caller(shape):
    """The solver shifts them by one row."""
    rhs, diag, off = np.ones(shape), np.full(shape, 4.0), np.ones((*shape[:-1], N - 1))
    place = tuple(length - 1 for length in shape[:-1]) + (3,)
    off[place] = np.nan
    with pytest.raises(ValueError, match=rf"^sub\[{', '.join(map(str, place))}\] is not finite$"):
        bandsolve.solve_batch(off, diag, np.ones_like(off), rhs)
