"""`bandsolve.solve` and `bandsolve.factor`: the choice of the method by the structure of a matrix."""

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import backward_error, random
from scipy.sparse import linalg

import bandsolve

N = 60


def grid(*sizes):
    a = sp.csr_array((1, 1))
    for n in sizes:
        a = sp.kronsum(sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)), a, format="csr")
    return a


def structured(rng, dtype):
    """Matrices by the words of the report."""
    def band(lower, upper, n=N):
        return np.triu(np.tril(random(rng, (n, n), dtype), upper), -lower) + 3 * np.eye(n, dtype=dtype)

    cyclic = band(1, 1)
    cyclic[0, -1], cyclic[-1, 0] = 2, -1
    blocks = np.kron(np.triu(np.tril(np.ones((10, 10)), 1), -1), np.ones((12, 12))) * (random(rng, (2 * N, 2 * N), dtype) + 3 * np.eye(2 * N))
    return {"diagonal": band(0, 0), "tridiagonal": band(1, 1), "periodic tridiagonal": cyclic, "banded, with 2 diagonals below and 5 above": band(2, 5),
            "banded, with 59 diagonals": band(N, N), "block tridiagonal, with blocks of 12 rows": blocks.astype(dtype)}


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("transpose", [False, True, "conj"])
def test_the_structure_decides(dtype, sparse, transpose):
    rng = np.random.default_rng(1)
    for words, a in structured(rng, dtype).items():
        of = {False: a, True: a.T, "conj": a.conj().T}[transpose]
        given = sp.coo_array(a) if sparse else a
        for rhs in (random(rng, len(a), dtype), random(rng, (len(a), 3), dtype)):
            x, report = bandsolve.solve(given, rhs, transpose=transpose, full_output=True)
            assert report.reason.startswith(f"The matrix is {words}"), report.reason
            assert x.shape == rhs.shape and x.dtype == dtype
            assert backward_error(of, x, rhs) <= 100 * np.finfo(dtype).eps
            assert np.allclose(bandsolve.factor(given).solve(rhs, transpose=transpose), x, rtol=1e-3)


@pytest.mark.parametrize("transpose", [False, True, "conj"])
def test_another_order_reveals_a_band(dtype, transpose):
    rng = np.random.default_rng(2)
    n = 3000
    a = sp.diags_array([random(rng, n, dtype) + 4 * (k == 0) for k in range(-3, 3)], offsets=range(-3, 3), shape=(n, n)).tocsr().astype(dtype)
    order = rng.permutation(n)
    a, rhs = a[order][:, order], random(rng, (n, 2), dtype)
    x, report = bandsolve.solve(a, rhs, transpose=transpose, full_output=True)
    assert report.reason.startswith("The matrix is banded, with ") and "above the main one in reverse Cuthill-McKee order: " in report.reason
    of = {False: a, True: a.T, "conj": a.conj().T}[transpose].toarray()
    assert x.dtype == dtype and backward_error(of, x, rhs) <= 100 * np.finfo(dtype).eps
    assert report.backward_error <= 64 * np.finfo(dtype).eps
    a = sp.lil_array(a)
    a[:, 7] = 0
    with pytest.raises(np.linalg.LinAlgError, match="singular.*in reverse Cuthill-McKee order"):
        bandsolve.solve(a, rhs)


@pytest.mark.parametrize("transpose", [False, True, "conj"])
def test_wide_matrices_are_solved_by_iteration(dtype, transpose):
    rng = np.random.default_rng(3)
    a = grid(40, 40, 40).astype(dtype)
    a.data += (0.01 * random(rng, a.nnz, dtype)).astype(dtype)
    rhs = random(rng, (a.shape[0], 2), dtype)
    of = {False: a, True: a.T, "conj": a.conj().T}[transpose]
    x, report = bandsolve.solve(a, rhs, transpose=transpose, full_output=True)
    assert x.dtype == dtype and x.shape == rhs.shape
    rtol = 1e-5 if np.finfo(dtype).eps > 1e-10 else 1e-10
    assert (np.linalg.norm(rhs - of @ x, axis=0) <= 1.1 * rtol * np.linalg.norm(rhs, axis=0)).all()
    assert "which needs more work than an iteration: preconditioner" in report.reason
    assert len(report.backward_errors) == 2 and 0 < report.backward_error < rtol
    loose = bandsolve.solve(a, rhs[:, 0], transpose=transpose, rtol=0.01)
    residual = np.linalg.norm(rhs[:, 0] - of @ loose) / np.linalg.norm(rhs[:, 0])
    assert rtol < residual <= 0.011


def scrambled(n):
    """A sparse matrix with which no Krylov method makes progress: a cyclic shift by random steps, plus edges that make the band wide."""
    rng = np.random.default_rng(4)
    shift = sp.csr_array((np.ones(n), (rng.permutation(n), rng.permutation(n))), shape=(n, n))
    return shift + 0.7 * sp.csr_array((np.ones(n), (rng.permutation(n), rng.permutation(n))), shape=(n, n))


def test_a_failed_iteration_falls_back_to_the_band(monkeypatch):
    a = scrambled(600)
    rhs = np.random.default_rng(5).random(600)
    monkeypatch.setattr(bandsolve._sparse, "_PRODUCTS", 0)
    x, report = bandsolve.solve(a, rhs, full_output=True)
    assert backward_error(a.toarray(), x, rhs) <= 1e-13
    assert "The iteration failed (" in report.reason
    monkeypatch.setattr(bandsolve._sparse, "_MOST_NUMBERS", 0)
    with pytest.raises(np.linalg.LinAlgError, match="no x within rtol=1e-10 was found: .*too wide to factor. Pass a larger rtol"):
        bandsolve.solve(a, rhs)


def test_what_is_not_solved():
    operator = linalg.aslinearoperator(grid(5, 5))
    for a in (operator, bandsolve.sparse.PreparedProduct(grid(5, 5))):
        with pytest.raises(TypeError, match="does not tell its entries.*bandsolve.sparse.gmres"):
            bandsolve.solve(a, np.ones(25))
    with pytest.raises(ValueError, match=r"rhs has the shape \(24,\), expected \(25,\) or \(25, k\)"):
        bandsolve.solve(grid(5, 5), np.ones(24))
    with pytest.raises(ValueError, match="rtol is -1, expected a number that is not negative"):
        bandsolve.solve(grid(5, 5), np.ones(25), rtol=-1)
    bad = np.ones((25, 2))
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"rhs\[3, 1\] is not finite"):
        bandsolve.solve(grid(5, 5), bad)
    for form in (sp.csr_array, sp.csc_array, np.asarray):
        a = grid(5, 5).toarray()
        a[2, 1] = np.nan
        with pytest.raises(ValueError, match=r"a\[2, 1\] is not finite"):
            bandsolve.solve(form(a), np.ones(25))


def test_small_and_empty():
    for n in (0, 1, 2, 3):
        a = 4 * np.eye(n) - np.ones((n, n))
        for rhs in (np.ones(n), np.ones((n, 2)), np.ones((n, 0))):
            x = bandsolve.solve(a, rhs)
            assert x.shape == rhs.shape and np.allclose(a @ x, rhs)


def test_a_named_method_solves_directly():
    a = grid(30, 30)
    x, report = bandsolve.solve(a, np.ones(900), method="pivoted", full_output=True)
    assert report.method == "pivoted" and report.reason.startswith("The matrix is banded, with 30 diagonals below")


def test_columns_in_either_order(dtype):
    """Arrays in C order are copied to columns in pieces: sizes around those of a piece."""
    rng = np.random.default_rng(5)
    for n in (2, 31, 32, 33, 129):
        ab = random(rng, (5, n), dtype)
        ab[2] += 9
        for columns in (1, 2, 3, 40):
            rhs = random(rng, (n, columns), dtype)
            x = bandsolve.solve_banded((2, 2), np.asfortranarray(ab), np.asfortranarray(rhs))
            assert np.array_equal(bandsolve.solve_banded((2, 2), ab, rhs), x)
            lu = bandsolve.factor_banded((2, 2), ab)
            assert np.array_equal(lu.solve(rhs), lu.solve(np.asfortranarray(rhs)))
            assert np.allclose(sp.dia_array((ab, range(2, -3, -1)), shape=(n, n)) @ x, rhs, atol=1e-4)
