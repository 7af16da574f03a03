"""`bandsolve.eigen`, beside dense algebra and SciPy."""

import os

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse as sp
from conftest import interrupted
from scipy.sparse import linalg

import bandsolve
from bandsolve.eigen import eigs, eigsh

N = 80


def symmetric(dtype, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.normal(size=(N, N)).astype(dtype)
    if np.dtype(dtype).kind == "c":
        a = a + (1j * rng.normal(size=(N, N))).astype(dtype)
    a = a + a.conj().T
    return np.where(abs(np.subtract.outer(np.arange(N), np.arange(N))) <= 3, a, 0).astype(dtype)


def tolerance(dtype):
    return 2e-4 if dtype in ("f4", "c8") else 1e-10


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize(("which", "sigma"), [(which, None) for which in ("LM", "SM", "LA", "SA", "BE")] + [(which, 0.3) for which in ("LM", "LA", "SA", "BE")])
def test_hermitian_as_dense_algebra(dtype, which, sigma):
    a = symmetric(dtype)
    exact = np.linalg.eigvalsh(a.astype("c16"))
    key = exact if sigma is None else 1 / (exact - sigma)
    order = {"LM": np.argsort(-abs(key)), "SM": np.argsort(abs(key)), "LA": np.argsort(-key), "SA": np.argsort(key)}
    ends = np.argsort(-key)
    order["BE"] = np.concatenate([ends[:2], ends[-2:]])
    w, v = eigsh(sp.csr_array(a), 4, sigma=sigma, which=which, tol=1e-5 if dtype in ("f4", "c8") else 0)
    expected = np.sort(exact[order[which][:4]])
    assert v.dtype == dtype and w.dtype == np.finfo(dtype).dtype
    assert np.allclose(w, expected, atol=tolerance(dtype) * abs(exact).max())
    assert np.abs(a @ v - v * w).max() <= 10 * tolerance(dtype) * abs(exact).max()


def test_pencils_operators_and_inverses():
    a = sp.csr_array(symmetric("f8"))
    m = sp.diags_array([0.1, 1.0, 0.1], offsets=[-1, 0, 1], shape=(N, N), format="csr")
    exact = scipy.linalg.eigh(a.toarray(), m.toarray(), eigvals_only=True)
    nearest = np.sort(exact[np.argsort(abs(exact - 0.5))[:5]])
    shifted = a - 0.5 * m
    operator = linalg.aslinearoperator
    inverse = operator(np.linalg.inv(shifted.toarray()))
    calls = [
        dict(A=a, M=m),
        dict(A=a.toarray(), M=m.toarray()),
        dict(A=a, M=m, OPinv=bandsolve.factor(shifted)),
        dict(A=a, M=m, OPinv=linalg.splu(sp.csc_array(shifted))),
        dict(A=operator(a), M=operator(m), OPinv=inverse),
        dict(A=operator(a), M=operator(m)),
    ]
    for call in calls:
        w, v, report = eigsh(**call, k=5, sigma=0.5, full_output=True)
        assert np.allclose(w, nearest, rtol=1e-9, atol=1e-9)
        assert np.abs(v.T @ m @ v - np.eye(5)).max() < 1e-10
        assert report["converged"] and report["residuals"].max() < 1e-8
        w = eigs(**call, k=5, sigma=0.5, return_eigenvectors=False)
        assert np.allclose(np.sort(w.real), nearest, rtol=1e-8, atol=1e-8) and abs(w.imag).max() < 1e-8
    definite = a + 20 * sp.eye_array(N)
    w, v = eigsh(definite, 3, a, sigma=2.0, mode="buckling")
    assert np.allclose(definite @ v, (a @ v) * w, atol=1e-7)
    every = scipy.linalg.eigvals(definite.toarray(), a.toarray()).real
    assert np.allclose(w, np.sort(every[np.argsort(-abs(every / (every - 2.0)))[:3]]), rtol=1e-8)
    w = eigsh(a, 3, m, which="LA", return_eigenvectors=False)
    assert np.allclose(w, exact[-3:])


@pytest.mark.parametrize("which", ["LM", "LR", "SR", "LI"])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_general_as_dense_algebra(which, dtype):
    rng = np.random.default_rng(3)
    a = sp.diags_array([rng.normal(size=N) for _ in range(5)], offsets=[-2, -1, 0, 1, 2], shape=(N, N), format="csr")
    a = a if dtype == "f8" else a + 1j * sp.diags_array(rng.normal(size=N))
    exact = np.linalg.eigvals(a.toarray())
    imaginary = abs(exact.imag) if dtype == "f8" else exact.imag
    key = {"LM": abs(exact), "LR": exact.real, "SR": -exact.real, "LI": imaginary}[which]
    w, v = eigs(a, 4, which=which, ncv=30)
    assert np.abs(a @ v - v * w).max() < 1e-9
    own = {"LM": abs(w), "LR": w.real, "SR": -w.real, "LI": abs(w.imag) if dtype == "f8" else w.imag}[which]
    assert np.allclose(np.sort(own)[::-1], np.sort(key)[::-1][:4], atol=1e-8)
    near, _ = eigs(a, 2, sigma=0.2 + 0.1j)
    assert np.allclose(np.sort(abs(near - 0.2 - 0.1j)), np.sort(abs(exact - 0.2 - 0.1j))[:2], atol=1e-8)


def test_what_makes_no_sense():
    a = sp.csr_array(symmetric("f8"))
    for wrong in [dict(k=0), dict(k=N + 1), dict(which="XX"), dict(which="LR"), dict(v0=np.ones(3)), dict(tol=-1), dict(mode="cayley"), dict(mode="buckling"),
                  dict(sigma=1j), dict(M=sp.eye_array(3))]:
        with pytest.raises(ValueError):
            eigsh(a, **{"k": 3, **wrong})
    for wrong, words in [(dict(tol=1), "tol is 1, expected 0 <= tol < 1"), (dict(tol=None), "tol is None"),
                         (dict(sigma=np.nan), "sigma is nan"), (dict(v0=np.full(N, np.inf)), "v0 contains NaN or infinity"),
                         (dict(OPinv=np.eye(N)), "OPinv should not"), (dict(Minv=np.eye(N), sigma=1.0), "Minv should not"),
                         (dict(ncv=2.5), "ncv is 2.5"), (dict(maxiter="many"), "maxiter is 'many'")]:
        for find in (eigsh, eigs):
            with pytest.raises(ValueError, match=words):
                find(a, 3, **wrong)
    with pytest.raises(ValueError, match=r"A\[0, 0\] is not finite"):
        eigsh(sp.csr_array(np.full((4, 4), np.nan)), 2, sigma=0.1)
    with pytest.raises(linalg.ArpackNoConvergence, match="not Hermitian: use eigs"):
        eigsh(np.triu(np.ones((60, 60))) + np.diag(np.arange(60.0)), 3)
    with pytest.raises(linalg.ArpackNoConvergence) as caught:
        eigsh(sp.diags_array(np.linspace(1, 1.001, 500)), 6, which="SA", maxiter=1, ncv=8)
    assert len(caught.value.eigenvalues) < 6

    def fails(x):
        raise KeyError("mine")

    with pytest.raises(KeyError):
        eigsh(linalg.LinearOperator((N, N), matvec=fails, dtype=float), 2)


def test_what_is_far_from_a_shift():
    # As scipy.sparse.linalg.eigsh finds it: SM of 1 / (w - sigma).
    a = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(40, 40)).tocsr()
    exact = np.linalg.eigvalsh(a.toarray())
    assert np.allclose(eigsh(a, 4, which="SM", sigma=1.01)[0], exact[-4:], rtol=1e-10)


def test_blocks():
    rng = np.random.default_rng(4)
    count, b = 6, 12
    near = abs(np.subtract.outer(np.arange(count * b) // b, np.arange(count * b) // b)) <= 1
    a = np.where(near, rng.normal(size=near.shape), 0.0)
    exact = np.linalg.eigvalsh(a + a.T)
    w = eigsh(sp.coo_array(a + a.T), 4, sigma=0.1, return_eigenvectors=False)
    assert np.allclose(w, np.sort(exact[np.argsort(abs(exact - 0.1))[:4]]), rtol=1e-9, atol=1e-11)
    exact = np.linalg.eigvals(a)
    w = eigs(a, 4, sigma=0.1, return_eigenvectors=False)
    assert np.allclose(np.sort(abs(w - 0.1)), np.sort(abs(exact - 0.1))[:4], rtol=1e-8)


def test_small_and_degenerate():
    assert np.allclose(eigsh(sp.eye_array(50), 6, return_eigenvectors=False), 1)
    assert np.allclose(eigsh(np.diag([1.0, 2.0, 3.0]), 3, return_eigenvectors=False), [1, 2, 3])
    assert np.allclose(np.sort(eigs(np.diag([1.0, 2.0]), 2, return_eigenvectors=False)), [1, 2])
    assert np.allclose(eigsh(np.diag([1.0, 2.0, 3.0]), 1, v0=np.zeros(3), return_eigenvectors=False), [3])


@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_complete_sets_are_proved(dtype):
    """Equal eigenvalues, of which a Krylov space holds one, are all found by counts: of a band, of blocks, of a pencil."""
    a = symmetric(dtype)
    twice = sp.csr_array(sp.kron(sp.csr_array(a), sp.eye_array(3)))
    exact = np.repeat(np.linalg.eigvalsh(a), 3)
    nearest = np.sort(exact[np.argsort(abs(exact - 0.3))[:6]])
    w, v, report = eigsh(twice, 6, sigma=0.3, full_output=True, complete=True)
    assert report["complete"] is True and np.allclose(w, nearest, atol=1e-10)
    assert np.allclose(report["offsets"], w - 0.3) and np.abs(v.conj().T @ v - np.eye(6)).max() < 1e-10
    mass = 2 * sp.eye_array(3 * N, format="csr")
    w, _, report = eigsh(twice, 6, M=mass, sigma=0.15, full_output=True, complete=True)
    assert report["complete"] is True and np.allclose(w, nearest / 2, atol=1e-10)
    # Blocks of 20 that couple neighbours.
    block = sp.block_diag([np.ones((20, 20))] * 12) + sp.diags_array([1.0, 1.0], offsets=[-39, 39], shape=(240, 240))
    block = sp.csr_array(block).astype(dtype)
    exact = np.linalg.eigvalsh(block.toarray())
    w, _, report = eigsh(block, 5, sigma=3.3, full_output=True, complete=True)
    assert report["complete"] is True and np.allclose(w, np.sort(exact[np.argsort(abs(exact - 3.3))[:5]]), atol=1e-10)
    with pytest.raises(ValueError, match="complete=True needs sigma"):
        eigsh(block, 5, complete=True)
    for which in ("LA", "SA", "BE", "SM"):
        with pytest.raises(ValueError, match="complete=True needs sigma"):
            eigsh(block, 5, sigma=3.3, which=which, complete=True)


def test_targets_on_an_eigenvalue_and_offsets():
    a = sp.diags_array([np.arange(50.0)], offsets=[0], format="csr")
    w, _, report = eigsh(a, 3, sigma=7.0, full_output=True)
    assert np.allclose(w, [6, 7, 8]) and np.allclose(report["offsets"], [-1, 0, 1])
    w, _, report = eigs(a, 1, sigma=7.25, full_output=True)
    assert np.allclose(w, 7) and np.allclose(report["offsets"], -0.25)


def test_smallest_in_magnitude_inside_a_spectrum():
    rng = np.random.default_rng(1)
    n = 200
    a = sp.diags_array([rng.standard_normal(n - 1), rng.standard_normal(n), rng.standard_normal(n - 1)], offsets=[-1, 0, 1])
    for matrix, find, exact in [
        (a + a.T, eigsh, np.linalg.eigvalsh((a + a.T).toarray())),
        (a, eigs, np.linalg.eigvals(a.toarray())),
    ]:
        w = find(matrix, 4, which="SM", return_eigenvectors=False)
        assert np.allclose(np.sort(abs(w)), np.sort(abs(exact))[:4], rtol=1e-9)
    w, _, report = eigsh(a + a.T, 4, which="SM", full_output=True, complete=True)
    assert report["complete"] and np.allclose(report["offsets"], w)
    w = eigs(sp.csr_array((50, 50)), 6, return_eigenvectors=False)
    assert w.shape == (6,) and not w.any()


def test_equal_eigenvalues_of_general_matrices():
    block = np.array([[0.0, -2.0], [2.0, 0.0]])
    a = sp.block_diag([block] * 3 + [np.diag(np.linspace(0.0, 1.0, 60))], format="csr")
    for seed in range(20):
        w = eigs(a, 6, rng=seed, return_eigenvectors=False)
        assert np.allclose(np.sort(w.imag), [-2, -2, -2, 2, 2, 2]) and np.allclose(w.real, 0)
    solves = [eigs(a, 2, full_output=True, second_look=second)[2]["solves"] for second in (False, True)]
    assert solves[0] < solves[1]


def ring(n):
    """I - (S + S^T) / 2 with the cyclic shift S, and its eigenvalues, rising: all but one or two are double."""
    corners = [-0.5, -0.5, 1.0, -0.5, -0.5]
    a = sp.diags_array(corners, offsets=[-n + 1, -1, 0, 1, n - 1], shape=(n, n), format="csr")
    return a, np.sort(2 * np.sin(np.pi * np.arange(n) / n) ** 2)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
def test_equal_eigenvalues_at_both_ends(dtype):
    a, exact = ring(100)
    a, single = a.astype(dtype), dtype == "f4"
    # A residual of tol |w| bounds the error; of w = 0 it is rounding.
    for k in range(1, 7):
        for find, ends in ((eigsh, ("SA", "LA")), (eigs, ("SR", "LR"))):
            for which, expected in zip(ends, (exact[:k], exact[-k:])):
                w, _, report = find(a, k, which=which, tol=1e-5 if single else 1e-10, full_output=True)
                assert report["converged"] and np.allclose(np.sort(w.real), expected, rtol=0, atol=1e-4 if single else 1e-9)


def test_counts_are_taken_where_they_are_possible():
    block = np.random.default_rng(5).normal(size=(12, 12))
    block = sp.csr_array(np.where(abs(np.subtract.outer(np.arange(12), np.arange(12))) <= 2, block + block.T, 0))
    a = sp.block_diag([block] * 6, format="csr")
    exact = np.repeat(np.linalg.eigvalsh(block.toarray()), 6)
    for k in (1, 4, 7, 13):
        for options, target in [(dict(sigma=0.3), 0.3), (dict(which="SM"), 0.0)]:
            nearest = np.sort(exact[np.argsort(abs(exact - target), kind="stable")[:k]])
            w, _, report = eigsh(a, k, **options, full_output=True)
            assert report["complete"] is True and np.allclose(w, nearest, atol=1e-10)
            w, _, report = eigsh(a, k, **options, complete=False, full_output=True)
            assert report["complete"] is None and np.allclose(w, nearest, atol=1e-10)
            w = eigs(a, k, **options, return_eigenvectors=False)
            assert np.allclose(np.sort(w.real), nearest, atol=1e-9)
    w, _, report = eigsh(a, 7, sigma=0.3, OPinv=np.linalg.inv((a - 0.3 * sp.eye_array(72)).toarray()), full_output=True)
    assert report["complete"] is None and np.allclose(w, np.sort(exact[np.argsort(abs(exact - 0.3), kind="stable")[:7]]), atol=1e-10)


def test_looks_that_do_not_end_are_an_error():
    a = sp.diags_array(np.append(1 + 1e-6, 1 - 1e-7 * np.arange(1, 2000)), format="csr")
    start = np.append(1.0, np.zeros(1999))
    for find, which in ((eigsh, "LA"), (eigs, "LR")):
        with pytest.raises(linalg.ArpackNoConvergence, match="1 of 1 eigenvalues found: may be incomplete") as caught:
            find(a, 1, which=which, v0=start, maxiter=1)
        assert np.allclose(caught.value.eigenvalues, 1 + 1e-6, rtol=1e-12)
        assert find(a, 1, which=which, v0=start, maxiter=1, second_look=False, full_output=True)[2]["converged"]


def anisotropic(n, epsilon=0.01):
    """-u_xx - epsilon u_yy on n × n nodes, and its eigenvalues, rising."""
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n))
    one = 4 * np.sin(np.pi * np.arange(1, n + 1) / (2 * (n + 1))) ** 2
    return sp.csr_array(sp.kronsum(line, epsilon * line)), np.sort(np.add.outer(epsilon * one, one).ravel())


def test_smallest_of_a_grid_by_a_preconditioner():
    a, exact = anisotropic(200)
    w, v, report = eigsh(a, 4, sigma=0, OPinv="amg-lines", tol=1e-8, full_output=True)
    assert np.allclose(w, exact[:4], rtol=1e-9) and np.allclose(report["offsets"], w)
    assert report["converged"] and report["residuals"].max() < 1e-8 and report["orthogonality"] < 1e-12
    # As accurate as solves are.
    a, exact = anisotropic(80)
    w = eigsh(a, 4, sigma=0, OPinv="amg-lines", return_eigenvectors=False)
    assert np.allclose(w, exact[:4], rtol=1e-10)


@pytest.mark.parametrize("name", ["amg-lines", "ilu0", "auto"])
def test_preconditioners_by_name(name):
    a, exact = anisotropic(40, 0.3)
    m = sp.diags_array(np.full(1600, 2.0), format="csr")
    w = eigs(a, 3, sigma=0, OPinv=name, return_eigenvectors=False)
    assert np.allclose(np.sort(w.real), exact[:3], rtol=1e-8) and abs(w.imag).max() < 1e-9
    w, v = eigsh(a, 3, m, sigma=0, OPinv=name)
    assert np.allclose(w, exact[:3] / 2, rtol=1e-9) and np.allclose(a @ v, m @ v * w, atol=1e-9)
    w = eigsh(a, 3, m, which="LA", Minv=name, ncv=60, return_eigenvectors=False)
    assert np.allclose(w, exact[-3:] / 2, rtol=1e-9)
    w = eigsh(a.astype("f4"), 3, sigma=0, OPinv=name, return_eigenvectors=False)
    assert np.allclose(w, exact[:3], rtol=1e-3)
    w = eigs(a, 3, sigma=0.001j, OPinv=name, return_eigenvectors=False)
    assert np.allclose(np.sort(w.real), exact[:3], rtol=1e-8)
    # M x = u A x with u = 1 / w, near to 1 / sigma.
    w = eigsh(a, 3, m, sigma=0.001, mode="buckling", OPinv=name, return_eigenvectors=False)
    assert np.allclose(w, exact[:3] / 2, rtol=1e-8)


def test_bands_that_are_too_wide_are_solved_by_iteration(monkeypatch):
    monkeypatch.setattr("bandsolve.eigen._MOST_ENTRIES", 1000)
    a, exact = anisotropic(60)
    w, _, report = eigsh(a, 4, sigma=0, full_output=True)
    assert np.allclose(w, exact[:4], rtol=1e-10) and report["converged"]


def test_inverses_by_name_that_make_no_sense():
    a, _ = anisotropic(10)
    with pytest.raises(ValueError, match="no preconditioner"):
        eigsh(a, 2, sigma=0, OPinv="no-such")
    with pytest.raises(ValueError, match="A or M is an operator"):
        eigsh(linalg.aslinearoperator(a), 2, sigma=0, OPinv="amg-lines")
    with pytest.raises(ValueError, match="M is None"):
        eigsh(a, 2, Minv="amg-lines")
    # No preconditioner helps where there is no solution.
    with pytest.raises(np.linalg.LinAlgError, match="Name another preconditioner"):
        eigsh(sp.diags_array([0.0] + [1.0] * 99, format="csr"), 2, sigma=0, OPinv="none")


@pytest.mark.parametrize("size", [2, 5, 20])
def test_none_of_a_cluster_is_missed_over_100_starts(size):
    """SciPy's `eigsh` beside: `pytest -s` says how often it misses one (1.17: 0, 3 and 100 times of 100)."""
    a = sp.diags_array(np.append(np.zeros(size), 3.0 + np.arange(60)), format="csc")
    missed = 0
    for seed in range(100):
        v0 = np.random.default_rng(seed).normal(size=a.shape[0])
        w, _, report = eigsh(a, size + 1, sigma=0.5, v0=v0, full_output=True, complete=True)
        assert report["complete"] and np.allclose(w, [0] * size + [3], atol=1e-10)
        try:
            theirs = linalg.eigsh(a, size + 1, sigma=0.5, v0=v0, return_eigenvectors=False)
        except linalg.ArpackNoConvergence as error:
            theirs = error.eigenvalues
        missed += (abs(theirs) < 1e-6).sum() < size
    print(f"{size} equal eigenvalues: SciPy misses one in {missed} of 100 starts")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("search, which", [(eigsh, "SA"), (eigs, "SR")])
def test_searches_can_be_interrupted(search, which):
    # Eigenvalues at the end of a spectrum of so many rows are so close that millions of products would not do.
    a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(200_000, 200_000)).tocsr()
    with interrupted():
        search(a, 6, which=which, maxiter=10**6)


def test_a_target_that_is_an_eigenvalue():
    """The shift that is solved with is moved; the answer is that of the target."""
    for near in ([0.0, -1.0, 1 + 1e-5], [0.0, 1.0, -1 - 1e-5], [0.0, -1.0, 1.0002]):
        d = np.array(near + list(np.linspace(50, 100, 40)))
        a = sp.diags_array(d).tocsr()
        for call in (dict(sigma=0.0, complete=True), dict(which="SM", complete=True), dict(sigma=0.0)):
            w, _, report = eigsh(a, 2, full_output=True, **call)
            assert np.allclose(w, np.sort(near[:2]), atol=1e-9) and report["complete"] in (None, True)
            assert len(report["residuals"]) == 2 and np.allclose(report["offsets"], w, atol=1e-12)
        w = eigs(a, 2, sigma=0.0, return_eigenvectors=False)
        assert np.allclose(np.sort(w.real), np.sort(near[:2]), atol=1e-9)


def test_single_precision_is_verified():
    rng = np.random.default_rng(0)
    ended = 0
    for _ in range(20):
        a = rng.normal(size=(100, 100)).astype("f4")
        try:
            _, _, report = eigsh(a, 3, full_output=True, maxiter=300)
            assert report["residuals"].max() < 1e-3
        except linalg.ArpackNoConvergence:
            ended += 1
    assert ended > 0
    a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(200, 200), dtype="f4").tocsr()
    no_inverse = linalg.LinearOperator(a.shape, matvec=lambda x: x, dtype="f4")
    with pytest.raises(linalg.ArpackNoConvergence, match="large residuals"):
        eigsh(a, 3, sigma=1.0, OPinv=no_inverse)
    w, v, report = eigsh(a, 3, sigma=1.0, full_output=True)
    assert report["residuals"].max() < 1e-4 and np.abs(a @ v - v * w).max() < 1e-4


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e-160, 1e-140, 1e140, 1e160, 1e300])
def test_matrices_of_any_size(scale):
    a = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(50, 50)).tocsr()
    exact = np.linalg.eigvalsh(a.toarray())[-3:]
    scaled = a * scale
    operator = linalg.aslinearoperator(scaled)
    found = [eigsh(scaled, 3, which="LA")[0], np.sort(eigs(scaled, 3, which="LR")[0].real), eigsh(scaled, 3, sigma=5 * scale)[0],
             eigsh(operator, 3, which="LA")[0], eigsh(operator, 3, sigma=5 * scale)[0]]
    for w in found:
        assert np.allclose(w / scale, exact, rtol=1e-12, atol=0)
    _, _, report = eigsh(scaled, 3, which="LA", full_output=True)
    assert report["residuals"].max() < 1e-12 and 1 < report["norms"][0] / scale < 5


def test_errors_name_what_is_wrong():
    a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(30, 30)).tocsr()
    m = sp.diags_array(np.where(np.arange(30) == 7, -1.0, 1.0)).tocsr()
    with pytest.raises(np.linalg.LinAlgError, match="not Hermitian positive definite"):
        eigsh(a, 3, M=m, sigma=0.1)
    # A Jordan block: solves near its eigenvalue have no digit.
    jordan = sp.diags_array([np.full(400, 2.0), np.ones(399)], offsets=[0, 1]).tocsr()
    with pytest.raises(np.linalg.LinAlgError, match="sigma = 2"):
        eigs(jordan, 3, sigma=2.0)


def test_one_negative_eigenvalue_of_a_mass_is_refused():
    a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(1000, 1000)).tocsr()
    mass = sp.diags_array(np.r_[np.ones(999), -1.0]).tocsr()
    for options in ({}, {"which": "SA"}, {"sigma": 1.0}, {"which": "SM"}):
        with pytest.raises(np.linalg.LinAlgError, match="definite"):
            eigsh(a, 3, M=mass, **options)


def test_a_mass_that_is_not_counted_is_refused_where_it_is_seen(monkeypatch):
    n = 1000
    a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)).tocsr()
    negative = sp.diags_array(np.r_[np.ones(n - 1), -1.0]).tocsr()
    # In products with the inverse that is given, which has nothing of it, an indefinite M is never seen.
    blind = np.diag(np.r_[np.ones(n - 1), 0.0])
    with pytest.raises(np.linalg.LinAlgError, match="not Hermitian positive definite"):
        eigsh(a, 3, M=linalg.aslinearoperator(negative), Minv=blind, v0=np.r_[np.ones(n - 1), 0.0])
    # No band of this size is counted. A negative entry of the diagonal, or minor of two rows, that no product shows.
    monkeypatch.setattr(bandsolve.eigen, "_MOST_ENTRIES", n)
    entry, minor = sp.eye_array(n, format="lil"), sp.eye_array(n, format="lil")
    entry[77, 77] = -1e-9
    minor[7, 7], minor[7, 990], minor[990, 7] = 1e-8, 1.1e-4, 1.1e-4
    for mass, row in ((entry, 77), (minor, 990)):
        for dtype in (np.float64, np.complex128):
            with pytest.raises(np.linalg.LinAlgError, match=f"not Hermitian positive definite: .*row {row}"):
                eigsh(a, 3, M=mass.tocsr().astype(dtype), sigma=1.0)
    minor[7, 7], minor[7, 990], minor[990, 7] = 1, 0.9, 0.9
    w, v = eigsh(a, 3, M=minor.tocsr(), sigma=-0.1)
    assert np.allclose(a @ v, (minor @ v) * w, atol=1e-8)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
def test_all_eigenvalues_in_an_interval(dtype):
    a = symmetric(dtype)
    exact = np.linalg.eigvalsh(a)
    ends = 0.5 * (exact[10] + exact[11]), 0.5 * (exact[20] + exact[21])
    for of in (a, sp.csr_array(a)):
        w, v, report = eigsh(of, interval=ends, full_output=True)
        assert len(w) == 10 and report["complete"] and report["converged"]
        assert w.dtype == np.finfo(dtype).dtype and v.dtype == dtype
        assert np.allclose(w, exact[11:21], atol=tolerance(dtype) * abs(exact).max())
        assert np.abs(a @ v - v * w).max() <= 10 * tolerance(dtype) * abs(exact).max()
        assert np.array_equal(eigsh(of, interval=ends, return_eigenvectors=False), w)
    # No eigenvalue is there, and all are.
    w, v = eigsh(a, interval=(exact[-1] + 1, exact[-1] + 2))
    assert w.shape == (0,) and v.shape == (len(a), 0)
    assert len(eigsh(a, interval=(exact[0] - 1, exact[-1] + 1), return_eigenvectors=False)) == len(a)


def test_an_interval_of_a_pencil_and_arguments_that_it_replaces():
    a = sp.csr_array(symmetric("f8"))
    m = sp.diags_array([0.1, 1.0, 0.1], offsets=[-1, 0, 1], shape=(N, N), format="csr")
    exact = scipy.linalg.eigh(a.toarray(), m.toarray(), eigvals_only=True)
    inside = exact[(exact >= 0.2) & (exact < 1.3)]
    w, v = eigsh(a, M=m, interval=(0.2, 1.3), v0=np.ones(N), tol=1e-12)
    assert len(inside) > 0 and np.allclose(w, inside, rtol=1e-9, atol=1e-9)
    assert np.abs(v.T @ m @ v - np.eye(len(w))).max() < 1e-9
    for name, value in dict(k=3, sigma=0.5, which="SM", mode="cayley", OPinv=np.eye(N), Minv="none", complete=False).items():
        with pytest.raises(ValueError, match=f"{name}(=False)? and interval are both given, expected at most one of them. Leave out {name}"):
            eigsh(a, interval=(0.0, 1.0), **{name: value})
    for interval in [(1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0), 3.0, "ab", (1.0, 2.0, 3.0)]:
        with pytest.raises(ValueError, match="expected two finite numbers"):
            eigsh(a, interval=interval)
    with pytest.raises(ValueError, match="A or M is an operator, expected matrices with interval"):
        eigsh(linalg.aslinearoperator(a), interval=(0.0, 1.0))
    with pytest.raises(np.linalg.LinAlgError, match="not Hermitian positive definite"):
        eigsh(a, M=-m, interval=(0.0, 1.0))


def test_a_grid_in_two_dimensions_is_counted_without_its_band():
    # 80 diagonals on each side.
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(80, 80))
    a = sp.csr_array(sp.kronsum(line, line))
    one = 2 - 2 * np.cos(np.pi * np.arange(1, 81) / 81)
    exact = np.sort(np.add.outer(one, one).ravel())
    w, v, report = eigsh(a, 9, sigma=0.0, full_output=True)
    assert report["complete"] and np.allclose(w, exact[:9], rtol=1e-11)
    assert np.abs(a @ v - v * w).max() < 1e-12
    inside = exact[(exact >= 1.0) & (exact < 1.01)]
    for kind in (a, a.astype(np.complex64)):
        assert len(eigsh(kind, interval=(1.0, 1.01), return_eigenvectors=False)) == len(inside)
    pencil = eigsh(a, 3, M=4 * sp.eye_array(80**2), sigma=0.1, return_eigenvectors=False)
    nearest = exact[np.argsort(abs(exact / 4 - 0.1))[:3]] / 4
    assert np.allclose(pencil, np.sort(nearest), rtol=1e-11)
    with pytest.raises(np.linalg.LinAlgError, match="not Hermitian positive definite"):
        eigsh(a, 3, M=a - 0.1 * sp.eye_array(80**2), sigma=0.1)
