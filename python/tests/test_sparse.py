"""`bandsolve.sparse`: Krylov methods, preconditioners and forests."""

import os

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import interrupted
from scipy.sparse import linalg

import bandsolve
from bandsolve import sparse

SOLVERS = [sparse.gmres, sparse.bicgstab, sparse.cg, sparse.idrs]
KINDS = ["auto", "none", "jacobi", "diagp1", "diagp2", "l1", "tridiagonal", "forest", "forest-block", "alt-i", "alt-i:2", "alt-o:2", "mos-d:2",
         "mos-a:2", "mos-a:2:scaled", "ilu0", "ilu-isai:1", "adi:30x30", "amg-lines:2"]


def laplacian(n=30, weak=0.1):
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    return sp.csr_array(sp.kronsum(line, weak * line))


@pytest.mark.parametrize("kind", KINDS)
def test_every_preconditioner_serves_ours_and_scipy(kind):
    a = laplacian()
    b = np.sin(np.arange(a.shape[0]))
    m = sparse.Preconditioner(a, kind)
    x, report = sparse.gmres(a, b, M=m, rtol=1e-10, full_output=True)
    assert report["converged"] and report["ending"] == "converged"
    assert np.linalg.norm(b - a @ x) <= 1.01e-10 * np.linalg.norm(b)
    assert len(report["history"]) == report["iterations"] + 1
    if kind != "alt-o:2":
        x, info = linalg.bicgstab(a, b, M=m.aslinearoperator(), rtol=1e-8)
        assert info == 0 and np.linalg.norm(b - a @ x) <= 1e-7 * np.linalg.norm(b)


ALL = [*SOLVERS, sparse.fgmres, sparse.richardson, sparse.solve]


@pytest.mark.parametrize("solver", ALL)
@pytest.mark.parametrize("name", ["amg-lines", "amg-lines:1"])
def test_preconditioners_by_name(solver, name):
    a = laplacian()
    b = np.sin(np.arange(a.shape[0]))
    x, info = solver(a, b, M=name, rtol=1e-8)
    assert info == 0 and np.linalg.norm(b - a @ x) <= 1.01e-8 * np.linalg.norm(b)
    assert np.array_equal(x, solver(a, b, M=sparse.Preconditioner(a, name), rtol=1e-8)[0])


def test_names_need_a_matrix_and_are_checked():
    a = laplacian(8)
    b = np.ones(64)
    x, report = sparse.solve(a.toarray(), b, M="alt-i:2", full_output=True)
    assert report["preconditioner"] == "alt-i:2" and report["method"] == "gmres:30"
    assert sparse.solve(a, b, M="auto", full_output=True)[1]["preconditioner"] == sparse.Preconditioner(a).kind
    with pytest.raises(ValueError, match="no preconditioner `ilu`. Choose one of: auto, none, jacobi"):
        sparse.gmres(a, b, M="ilu")
    for operator in (linalg.aslinearoperator(a), sparse.PreparedProduct(a)):
        with pytest.raises(ValueError, match="M is 'ilu0', but A is an operator.*Preconditioner"):
            sparse.cg(operator, b, M="ilu0")
    with pytest.raises(ValueError, match="A is an operator"):
        sparse.solve(linalg.aslinearoperator(a), b)


def factors(a):
    """Objects that solve with a matrix approximately, or with its tridiagonal part."""
    n = a.shape[0]
    sub, diag, sup = a.diagonal(-1), a.diagonal(), a.diagonal(1)
    ab = np.array([np.r_[0.0, sup], diag, np.r_[sub, 0.0]])
    blocks = [x.reshape(-1, 1, 1) for x in (sub, diag, sup)]
    return [bandsolve.factor_tridiagonal(sub, diag, sup), bandsolve.factor_banded((1, 1), ab), bandsolve.factor_block_tridiagonal(*blocks),
            linalg.spilu(sp.csc_array(a)), linalg.LinearOperator((n, n), bandsolve.factor_tridiagonal(sub, diag, sup).solve, dtype=float)]


@pytest.mark.parametrize("solver", ALL)
@pytest.mark.parametrize("k", range(5))
def test_factors_are_preconditioners(solver, k):
    a = laplacian()
    b = np.sin(np.arange(a.shape[0]))
    m = factors(a)[k]
    x, info = solver(a, b, M=m, rtol=1e-6, maxiter=20000)
    assert info == 0 and np.linalg.norm(b - a @ x) <= 1.01e-6 * np.linalg.norm(b)
    if k < 4 and solver is sparse.gmres:
        iterations = [solver(a, b, M=given, full_output=True)[1]["iterations"] for given in (m, None)]
        assert iterations[0] < iterations[1]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("of", ["f4", "f8", "c8", "c16"])
def test_factors_of_any_type_precondition_any_type(dtype, of):
    a = laplacian(12)
    b = np.sin(np.arange(a.shape[0])).astype(dtype)
    for m in (linalg.splu(sp.csc_array(a.astype(of))), bandsolve.factor(a.astype(of))):
        x, report = sparse.gmres(a.astype(dtype), b, M=m, rtol=1e-4, full_output=True)
        assert report["converged"] and report["iterations"] <= 2
        assert x.dtype == (np.result_type(dtype, "c8") if of[0] == "c" else dtype)
    with pytest.raises(ValueError, match=r"preconditioner has the shape \(5, 5\), expected \(144, 144\)"):
        sparse.cg(a, np.ones(144), M=bandsolve.factor(np.eye(5)))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_types(solver, dtype):
    a = laplacian().astype(dtype)
    b = np.sin(np.arange(a.shape[0])).astype(dtype)
    rtol = 1e-4 if dtype in ("f4", "c8") else 1e-10
    x, info = solver(a, b, M=sparse.Preconditioner(a, "jacobi"), rtol=rtol)
    assert info == 0 and x.dtype == dtype
    assert np.linalg.norm(b - a @ x) <= 1.1 * rtol * np.linalg.norm(b)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_single_precision_inside(dtype):
    a = laplacian().astype(dtype)
    b = np.sin(np.arange(a.shape[0])).astype(dtype)
    plain, single = (sparse.Preconditioner(a, "ilu0", precision=precision) for precision in (None, "single"))
    assert single.kind == "ilu0" and single.dtype == dtype
    change = np.linalg.norm(plain.apply(b) - single.apply(b)) / np.linalg.norm(plain.apply(b))
    double = dtype in ("f8", "c16")
    assert (0 < change < 1e-5) if double else change == 0
    rtol = 1e-10 if double else 1e-4
    counts = []
    for m in (plain, single):
        x, report = sparse.gmres(a, b, M=m, rtol=rtol, full_output=True)
        assert report["converged"] and x.dtype == dtype
        assert np.linalg.norm(b - a @ x) <= 1.1 * rtol * np.linalg.norm(b)
        counts.append(report["iterations"])
    assert abs(counts[0] - counts[1]) <= 2


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("inner", ["gmres:20", "bicgstab", "cg", "idr:4"])
def test_iterative_refinement(dtype, inner):
    a = laplacian().astype(dtype)
    b = np.sin(np.arange(a.shape[0])).astype(dtype)
    m = sparse.Preconditioner(a, "ilu0", precision="single", inner=inner)
    x, report = sparse.richardson(a, b, M=m, rtol=1e-13, full_output=True)
    assert report["converged"] and report["iterations"] <= 6
    assert np.linalg.norm(b - a @ x) <= 1.1e-13 * np.linalg.norm(b)


def test_all_kinds_of_matrices():
    a = laplacian(12)
    b = np.ones((144, 1))
    expected = linalg.spsolve(a.tocsc(), b[:, 0])
    wide = sp.csr_array((a.data, a.indices.astype(np.int64), a.indptr.astype(np.int64)), shape=a.shape)
    matrices = [a, a.tocsc(), a.tocoo(), a.todia(), wide, a.toarray(), linalg.aslinearoperator(a)]
    for matrix in matrices:
        x, info = sparse.gmres(matrix, b, rtol=1e-12, maxiter=100)
        assert info == 0 and x.shape == (144,) and np.allclose(x, expected, rtol=1e-9)
    # A preconditioner by a matrix, and one of another type.
    for m in [linalg.inv(a.tocsc()), sparse.Preconditioner(a.astype("f4"), "ilu0")]:
        x, info = sparse.gmres(a, b[:, 0], M=m, rtol=1e-12)
        assert info == 0 and np.allclose(x, expected, rtol=1e-9)
    # Integers.
    x, info = sparse.cg(sp.csr_array([[2, 1], [1, 3]]), [3, 4], rtol=1e-12)
    assert info == 0 and np.allclose(x, 1)


def scattered(n, dtype, columns=None):
    """Five entries a row at random, one of them on the diagonal and large."""
    rng = np.random.default_rng(n)
    values = rng.uniform(-1, 1, (n, 5)) + (1j * rng.uniform(-1, 1, (n, 5)) if np.dtype(dtype).kind == "c" else 0)
    indices = rng.integers(0, columns or n, (n, 5))
    if columns is None:
        values[:, 0], indices[:, 0] = 9, np.arange(n)
    pointers = np.arange(n + 1) * 5
    return sp.csr_array((values.ravel().astype(dtype), indices.ravel(), pointers), shape=(n, columns or n))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_prepared_products(dtype):
    rng = np.random.default_rng(3)
    size = np.dtype(dtype).itemsize
    eps = np.finfo(dtype).eps
    for a in [laplacian().astype(dtype), scattered(50, dtype, 70), scattered((2 << 20) // size, dtype)]:
        product = sparse.PreparedProduct(a)
        assert product.shape == a.shape and product.dtype == a.dtype
        panels = (size + 4) * a.nnz
        if a.shape[0] == 50:
            assert product.nbytes == 0
        elif a.nnz == 5 * a.shape[0]:
            # In panels: a value and 4 bytes an entry, and where blocks begin.
            assert product.nbytes > panels
        else:
            # In slices: slices of the same values share them.
            assert 0 < product.nbytes < panels / 2
        x, y = (rng.uniform(-1, 1, (n, 3)).astype(dtype) for n in a.shape[::-1])
        for k in (x[:, 0], x[:, :1], x):
            got = product @ k
            assert got.shape == (a @ k).shape and got.dtype == a.dtype
            assert np.abs(got - a @ k).max() <= 20 * eps * abs(a).sum(axis=1).max()
        adjoint = a.conj().T.tocsr()
        bound = 20 * eps * abs(adjoint).sum(axis=1).max()
        assert np.abs(product.rmatvec(y[:, 0]) - adjoint @ y[:, 0]).max() <= bound
        operator = linalg.aslinearoperator(product)
        assert np.array_equal(operator.matmat(x), product @ x) and np.array_equal(operator.rmatmat(y), product.rmatmat(y))
        assert np.array_equal(product.aslinearoperator() @ x, product @ x)
        assert operator.matvec(x[:, :1]).shape == (a.shape[0], 1)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_solvers_take_prepared_products(dtype):
    a = scattered((2 << 20) // np.dtype(dtype).itemsize, dtype)
    product = sparse.PreparedProduct(a)
    assert product.nbytes > 0
    b = np.sin(np.arange(a.shape[0]))
    m = sparse.Preconditioner(a, "jacobi")
    for solver in (sparse.gmres, sparse.bicgstab, sparse.idrs, linalg.bicgstab):
        x, info = solver(product, b, M=m, rtol=1e-10)
        assert info == 0 and np.linalg.norm(b - a @ x) <= 1.01e-10 * np.linalg.norm(b)
    # A right-hand side of another type.
    x, info = sparse.bicgstab(product, b * (1 + 2j), M=m, rtol=1e-10)
    assert info == 0 and np.linalg.norm(b * (1 + 2j) - a @ x) <= 1.01e-10 * np.linalg.norm(b * (1 + 2j))


def test_what_prepared_products_refuse():
    product = sparse.PreparedProduct(scattered(50, "f8", 70))
    for vector in (np.ones(50), np.ones((50, 2)), np.ones((70, 2, 2))):
        with pytest.raises(ValueError, match="the vector has the shape"):
            product @ vector
    with pytest.raises(ValueError, match="the vector has the shape"):
        product.matvec(np.ones((70, 2)))
    with pytest.raises(ValueError, match="square"):
        sparse.bicgstab(product, np.ones(50))
    with pytest.raises(TypeError):
        np.ones(50) @ product
    with pytest.raises(ValueError):
        sparse.PreparedProduct(np.ones(3))


def test_real_preconditioners_of_complex_vectors():
    a = laplacian(12)
    m = sparse.Preconditioner(a, "tridiagonal")
    z = np.arange(144) + 1j * np.sin(np.arange(144))
    for product in (m.apply, m.matvec, m.rmatvec, m.aslinearoperator().matvec):
        assert np.array_equal(product(z), product(z.real) + 1j * product(z.imag))
    x, report = sparse.gmres(a, z, M=m, rtol=1e-12, full_output=True)
    _, real = sparse.gmres(a, z.real, M=m, rtol=1e-12, full_output=True)
    assert report["converged"] and report["iterations"] <= real["iterations"] + 10
    assert np.linalg.norm(z - a @ x) <= 1.01e-12 * np.linalg.norm(z)


def test_sides_starts_and_callbacks():
    a = laplacian(20)
    b = np.ones(400)
    m = sparse.Preconditioner(a, "alt-i:2")
    left, info = sparse.gmres(a, b, M=m, rtol=1e-10, side="left")
    assert info == 0 and np.linalg.norm(b - a @ left) <= 1.01e-10 * np.linalg.norm(b)
    seen = []
    x, report = sparse.gmres(a, b, x0=left, M=m, rtol=1e-12, callback=seen.append, callback_type="pr_norm",
                             full_output=True)
    assert report["converged"] and np.allclose(20 * np.array(seen), report["history"][1:], rtol=1e-14) and len(seen) < 10
    x, info = sparse.richardson(a, b, M=m, rtol=1e-8, maxiter=2)
    assert info == 2


def test_preconditioners_multiply_vectors_and_matrices():
    a = laplacian(5)
    m, rhs = sparse.Preconditioner(a, "ilu0"), np.random.default_rng(1).random((25, 3))
    assert np.array_equal(m @ rhs[:, 1], m.apply(rhs[:, 1]))
    assert np.array_equal(m @ rhs, np.stack([m.apply(column) for column in rhs.T], axis=1)) and (m @ rhs[:, :0]).shape == (25, 0)
    with pytest.raises(ValueError, match="24"):
        m @ rhs[1:]


def test_what_is_wrong_is_said():
    a = laplacian(5)
    with pytest.raises(ValueError, match="no preconditioner `ilu7`"):
        sparse.Preconditioner(a, "ilu7")
    with pytest.raises(ValueError, match="square"):
        sparse.Preconditioner(np.ones((2, 3)))
    with pytest.raises(ValueError, match="precision is 'half'"):
        sparse.Preconditioner(a, precision="half")
    with pytest.raises(ValueError, match="inner is 'cg', which needs precision='single'"):
        sparse.Preconditioner(a, inner="cg")
    with pytest.raises(ValueError, match="no solver `sor`"):
        sparse.Preconditioner(a, "ilu0", precision="single", inner="sor")
    with pytest.raises(np.linalg.LinAlgError, match="row 1"):
        sparse.Preconditioner(sp.csr_array([[1.0, 0.0], [1.0, 0.0]]), "jacobi")
    with pytest.raises(ValueError, match="26"):
        sparse.gmres(a, np.ones(26))
    with pytest.raises(ValueError, match="not finite"):
        sparse.cg(a, np.full(25, np.nan))
    for wrong, words in [(dict(kind=None), "kind is None"), (dict(omega=-1), "omega is -1"), (dict(omega="a"), "omega is 'a'"),
                         (dict(seed=-1), "seed is -1"), (dict(seed=1.5), "seed is 1.5")]:
        with pytest.raises(ValueError, match=words):
            sparse.Preconditioner(a, **wrong)
    for value in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"a\[0, 0\] is not finite"):
            sparse.Preconditioner(value * a)
    for call, words in [(lambda: sparse.cg(a, np.ones(25), maxiter=-1), "maxiter is -1"),
                        (lambda: sparse.idrs(a, np.ones(25), maxiter=2.5), "maxiter is 2.5"),
                        (lambda: sparse.idrs(a, np.ones(25), space=0), "space is 0"),
                        (lambda: sparse.gmres(a, np.ones(25), restart=0), "restart is 0"),
                        (lambda: sparse.richardson(a, np.ones(25), omega=np.nan), "omega is nan"),
                        (lambda: sparse.forest(a, rounds=-1), "rounds is -1"), (lambda: sparse.factor_graph(a, 5), "n is 5"),
                        (lambda: sparse.Preconditioner(a, "ilu0").rmatvec(np.ones(25)), "ilu0 has no adjoint")]:
        with pytest.raises(ValueError, match=words):
            call()

    def broken(_):
        raise RuntimeError("from inside")

    operator = linalg.LinearOperator(a.shape, matvec=broken, dtype=float)
    for call in [lambda: sparse.gmres(operator, np.ones(25)), lambda: sparse.cg(a, np.ones(25), callback=broken),
                 lambda: sparse.bicgstab(a, np.ones(25), M=operator)]:
        with pytest.raises(RuntimeError, match="from inside"):
            call()


def test_forests():
    a = laplacian(30, weak=0.01)
    found = sparse.forest(a)
    order, lengths = found["order"], found["lengths"]
    assert sorted(order) == list(range(900)) and lengths.sum() == 900
    assert found["coverage"] > 0.95
    factor = sparse.factor_graph(a, 3)
    partners = factor["partners"]
    assert partners.shape == (900, 3) and factor["coverage"] >= found["coverage"]
    for v, others in enumerate(partners):
        assert all(v in partners[u] for u in others if u >= 0)
    # Of an unsymmetric matrix by columns, and of other kinds.
    a = scattered(400, "f8")
    a.sum_duplicates()
    for other in (a.tocsc(), a.tocoo(), a.tobsr(), a.toarray()):
        assert np.array_equal(sparse.factor_graph(other, 4)["partners"], sparse.factor_graph(a, 4)["partners"])
        assert np.array_equal(sparse.forest(other)["order"], sparse.forest(a)["order"])
    with pytest.raises(ValueError, match="square"):
        sparse.forest(scattered(50, "f8", 70).tocsc())


def test_matrices_are_not_changed():
    # Unsorted, with entries that come twice: nothing is sorted or added up behind the caller's back.
    a = sp.csr_array((np.array([1.0, 4.0, 2.0, 0.5, 9.0]), np.array([1, 0, 1, 0, 1]), np.array([0, 3, 5])), shape=(2, 2))
    before = [array.copy() for array in (a.data, a.indices, a.indptr)]
    b = np.array([7.0, 9.5])
    for kind in ("jacobi", "ilu0", "alt-i:1"):
        x, info = sparse.gmres(a, b, M=sparse.Preconditioner(a, kind), rtol=1e-12)
        assert info == 0 and np.allclose(x, 1)
    sparse.forest(a)
    sparse.PreparedProduct(a)
    assert all(np.array_equal(old, new) for old, new in zip(before, (a.data, a.indices, a.indptr)))


def forms(a):
    """Arrays of the same csr matrix, as libraries have them: mixed types, strides, other byte order, room behind the entries."""
    indptr, indices, data = a.indptr, a.indices, a.data
    strided = np.zeros((len(indices), 3), np.int32)
    strided[:, 1] = indices
    unaligned = np.frombuffer(b"." + indices.astype(np.int32).tobytes(), np.uint8)[1:].view(np.int32)
    return {
        "int32 pointers, int64 indices": (indptr.astype(np.int32), indices.astype(np.int64), data),
        "int64 pointers, int32 indices": (indptr.astype(np.int64), indices.astype(np.int32), data),
        "int64": (indptr.astype(np.int64), indices.astype(np.int64), data),
        "uint16": (indptr.astype(np.uint16), indices.astype(np.uint16), data),
        "strides": (np.repeat(indptr, 2)[::2], strided[:, 1], np.repeat(data, 2)[::2]),
        "big endian": (indptr.astype(">i4"), indices.astype(">i8"), data),
        "not aligned": (indptr, unaligned, data),
        "room": (indptr, np.append(indices, [-1, 10**6]).astype(np.int32), np.append(data, [np.nan, np.inf])),
    }


@pytest.mark.parametrize("form", forms(sp.eye_array(2, format="csr")))
def test_every_form_of_csr(form):
    rng = np.random.default_rng(5)
    a = sp.csr_array(sp.random_array((60, 60), density=0.1, rng=rng) + 9 * sp.eye_array(60))
    same = a.copy()
    same.indptr, same.indices, same.data = forms(a)[form]
    b = rng.normal(size=60)
    expected = sparse.gmres(a, b, rtol=1e-12)[0]
    assert (sparse.gmres(same, b, rtol=1e-12)[0] == expected).all()
    for kind in ("ilu0", "alt-i:2", "amg-lines"):
        assert (sparse.Preconditioner(same, kind) @ b == sparse.Preconditioner(a, kind) @ b).all()
    assert (sparse.PreparedProduct(same) @ b == sparse.PreparedProduct(a) @ b).all()
    assert sparse.forest(same)["order"].tolist() == sparse.forest(a)["order"].tolist()
    assert bandsolve.eigen.eigs(same, 2, sigma=9.0)[0].shape == (2,)


def test_indices_that_are_no_integers():
    a = sp.eye_array(3, format="csr")
    a.indices = a.indices.astype(float)
    with pytest.raises((TypeError, IndexError), match="indices|integer"):
        sparse.gmres(a, np.ones(3))


def test_solve_takes_what_suits():
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(60, 60))
    grid = sp.csr_array(sp.kronsum(line, line))
    wind = sp.csr_array(grid + sp.kron(sp.eye_array(60), sp.diags_array([-1.0, 1.0], offsets=[-1, 0], shape=(60, 60))))
    for a, methods in ((grid, ["cg"]), (wind, ["gmres:30", "idr:4"])):
        b = np.ones(a.shape[0])
        x, report = sparse.solve(a, b, rtol=1e-9, full_output=True)
        assert report["converged"] and np.linalg.norm(b - a @ x) <= 1e-9 * np.linalg.norm(b)
        m = sparse.Preconditioner(a)
        assert (m.method, m.kind) == (report["method"], report["preconditioner"])
        assert m.method in methods and m.kind in m.reason
        assert sparse.solve(a, b, M=m)[1] == 0 and sparse.solve(a, b, M=sparse.Preconditioner(a, "ilu0"))[1] == 0
    assert sparse.Preconditioner(grid, "ilu0").method is None


def test_forests_with_any_number_of_rounds_and_the_given_order():
    assert sparse.forest(sp.random_array((50, 50), density=0.2, rng=1), rounds=2**63 - 1)["maximal"]
    ones = sp.diags_array([1.0, 1.0, 1.0], offsets=[-1, 0, 1], shape=(30, 30))
    nine = sp.csr_array(9 * sp.eye_array(900) - sp.kron(ones, ones))
    found = sparse.forest(nine)
    assert found["coverage"] > 0.25 and found["order"].tolist() == list(range(900))


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_set_up_can_be_interrupted():
    # Sixty-four forests of a million unknowns take minutes.
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(1000, 1000))
    a = sp.csr_array(sp.kronsum(line, line))
    with interrupted():
        sparse.Preconditioner(a, "mos-a:64")
