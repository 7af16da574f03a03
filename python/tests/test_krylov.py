"""SciPy's own tests of gmres, bicgstab and cg, with ours in place of them; and beside them."""

import functools
import importlib.util
import inspect
import itertools
import os

import numpy as np
import pytest
import scipy.sparse as sp
import scipy.sparse.linalg._isolve as solvers
from conftest import interrupted, random
from scipy.sparse import linalg

from bandsolve import sparse

OURS = [sparse.bicgstab, sparse.cg, sparse.gmres]
#: Tests of SciPy's that are not run, with the reason.
OTHERS = {
    "test_show": "of tfqmr",
    "TestQMR": "of qmr",
}
#: Of gmres, and run with the preconditioner on the left, where SciPy's stands: the callback is called with the norm of the
#: preconditioned residual.
LEFT = ["test_callback"]


def their_tests():
    """A copy of SciPy's module of tests, which imports ours in the place of its own."""
    spec = importlib.util.find_spec("scipy.sparse.linalg._isolve.tests.test_iterative")
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        for solver in OURS:
            patch.setattr(solvers, solver.__name__, solver)
        spec.loader.exec_module(module)
    module._SOLVERS = OURS
    return module


theirs = their_tests()
TESTS = [name for name in dir(theirs) if name.startswith(("test_", "Test")) and name not in [*OTHERS, "TestGMRES"]]
globals().update({name: getattr(theirs, name) for name in TESTS})
theirs.test_x0_solves_problem_exactly.pytestmark = [pytest.mark.parametrize("solver", OURS)]


@pytest.fixture(params=OURS, ids=lambda solver: solver.__name__)
def solver(request):
    return request.param


@pytest.fixture(params=[case for case in theirs.cases if case.solver in OURS], ids=lambda case: case.name)
def case(request):
    return request.param


class TestGMRES(theirs.TestGMRES):
    def test_defective_precond_breakdown(self, monkeypatch):
        # It compares (A x)[0] with 0. The x that is returned is 1 plus corrections of -1, 1e-16, ...: each is rounded.
        monkeypatch.setattr(theirs, "assert_allclose", functools.partial(np.testing.assert_allclose, atol=4 * np.finfo(float).eps))
        super().test_defective_precond_breakdown()


for name in LEFT:
    setattr(TestGMRES, name, None)


class TestGMRESOnTheLeft(theirs.TestGMRES):
    @pytest.fixture(autouse=True)
    def on_the_left(self, monkeypatch):
        monkeypatch.setattr(theirs, "gmres", functools.partial(sparse.gmres, side="left"))


def test_ours_are_meant():
    assert theirs.gmres is sparse.gmres and theirs.cg is sparse.cg and theirs.bicgstab is sparse.bicgstab
    # None that comes with another SciPy goes by unseen.
    assert len(TESTS) >= 12 and {case.solver for case in theirs.cases} >= set(OURS)


@pytest.mark.parametrize("ours", OURS)
def test_signatures_are_those_of_scipy(ours):
    own = inspect.signature(ours).parameters
    for name, parameter in inspect.signature(getattr(linalg, ours.__name__)).parameters.items():
        assert (own[name].kind, own[name].default) == (parameter.kind, parameter.default), name
    assert all(parameter.kind is parameter.KEYWORD_ONLY for parameter in list(own.values())[3:])


@pytest.mark.parametrize("ours", OURS)
def test_types_and_shapes_are_those_of_scipy(ours):
    reference = getattr(linalg, ours.__name__)
    kinds = [np.bool_, np.int8, np.int32, np.float16, np.float32, np.float64, np.longdouble, np.complex64, np.complex128]
    for a, b, column in itertools.product(kinds, kinds, (False, True)):
        rhs = np.array([1, 0, 1], b).reshape((3, 1) if column else 3)
        matrix = np.eye(3, dtype=a)
        for m, x0 in [(None, None), (np.eye(3), None), (None, np.ones(3)), (None, np.ones((3, 1)))]:
            x, info = ours(matrix, rhs, M=m, x0=x0)
            expected, status = reference(matrix, rhs, M=m, x0=x0)
            assert (x.dtype, x.shape, info) == (expected.dtype, expected.shape, status), (a, b, column)
            assert np.allclose(x, expected)


def matrices(a):
    return [a, a.tocsc(), a.todia(), sp.csr_matrix(a), a.toarray(), a.toarray().tolist(), np.asmatrix(a.toarray()), linalg.aslinearoperator(a)]


@pytest.mark.parametrize("ours", OURS)
def test_whatever_scipy_takes(ours):
    a = sp.diags_array([-1.0, 3.0, -1.0], offsets=[-1, 0, 1], shape=(20, 20)).tocsr()
    b = np.arange(20.0)
    expected = linalg.spsolve(a.tocsc(), b)
    for matrix, m in itertools.product(matrices(a), [None, *matrices(sp.eye_array(20).tocsr() / 3)]):
        x, info = ours(matrix, b, M=None if isinstance(m, list) else m, rtol=1e-12)
        assert info == 0 and np.allclose(x, expected)
    for wrong in (dict(M=np.eye(19)), dict(x0=np.ones(19)), dict(x0="mb"), dict(rtol=-1.0), dict(rtol=None), dict(atol=np.nan)):
        with pytest.raises(ValueError):
            ours(a, b, **wrong)


def test_solutions_without_a_digit_are_named():
    b = np.ones(2)
    for least, said in ((1e-17, True), (1e-3, False)):
        x, report = sparse.gmres(sp.diags_array([1.0, least]), b, full_output=True)
        assert report["converged"] and ("no correct digit" in (report["attention"] or "")) == said, report


def test_callbacks():
    a = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(50, 50)).tocsr()
    b = np.arange(50.0)
    for ours in (sparse.cg, sparse.bicgstab, sparse.idrs, sparse.richardson):
        seen = []
        x, report = ours(a / 4, b, rtol=1e-9, callback=seen.append, full_output=True)
        norms = [np.linalg.norm(b - a @ x / 4) for x in seen]
        assert report["converged"] and np.allclose(norms, report["history"][1:], rtol=1e-4, atol=1e-9)
        assert np.array_equal(seen[-1], x)
    seen, norms = [], []
    options = dict(rtol=1e-9, restart=4, full_output=True)
    x, report = sparse.gmres(a, b, callback=seen.append, callback_type="x", **options)
    assert report["converged"] and len(seen) == report["restarts"] + 1 and np.array_equal(seen[-1], x)
    x, report = sparse.gmres(a, b, callback=norms.append, callback_type="pr_norm", **options)
    assert np.allclose(norms, np.array(report["history"][1:]) / np.linalg.norm(b), rtol=1e-14)
    with pytest.raises(ValueError, match="callback_type is 'y'"):
        sparse.gmres(a, b, callback_type="y")


def test_callbacks_end_iterations():
    a = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(50, 50)).tocsr()
    b = np.arange(50.0)
    for ours in (sparse.gmres, sparse.cg, sparse.bicgstab, sparse.idrs, sparse.richardson):
        calls = iter(range(3))
        kind = dict(callback_type="pr_norm") if ours is sparse.gmres else {}
        x, report = ours(a / 4, b, rtol=1e-12, callback=lambda _: next(calls), full_output=True, **kind)
        assert (report["ending"], report["iterations"], report["converged"]) == ("cancelled", 4, False)
        assert np.isclose(np.linalg.norm(b - a @ x / 4), report["residual_norm"]) and report["residual_norm"] < report["rhs_norm"]
        assert ours(a / 4, b, rtol=1e-12, callback=lambda _: next(calls), **kind)[1] > 0


def test_fgmres_is_gmres():
    assert sparse.fgmres is sparse.gmres
    a = sp.diags_array([-1.0, 2.5, -1.0], offsets=[-1, 0, 1], shape=(50, 50)).tocsr()
    m = sparse.Preconditioner(a, "jacobi", precision="single", inner="fgmres:5")
    x, info = sparse.fgmres(a, np.ones(50), M=m, rtol=1e-12)
    assert info == 0 and np.linalg.norm(1 - a @ x) <= 1.01e-12 * np.sqrt(50)


def test_what_info_says():
    turn = np.roll(np.eye(30), 1, axis=0)
    b = np.eye(30)[0]
    x, info = sparse.gmres(turn, b, restart=5, maxiter=2)
    assert info == 2 and linalg.gmres(turn, b, restart=5, maxiter=2)[1] == 2
    assert sparse.bicgstab(turn, b)[1] == -10
    assert sparse.cg(np.diag([1.0, -1.0]), np.ones(2), rtol=1e-12)[1] > 0
    x, report = sparse.gmres(turn, b, restart=5, full_output=True)
    assert report["ending"] == "stagnated"


def test_preconditioners_serve_all_of_scipys_solvers():
    line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(20, 20))
    a = sp.kronsum(line, 0.1 * line, format="csr")
    b = np.sin(np.arange(400.0))
    for kind in ("jacobi", "tridiagonal", "forest", "forest-block"):
        m = sparse.Preconditioner(a, kind)
        for given in (m, m.aslinearoperator()):
            for theirs in (linalg.cg, linalg.bicg, linalg.bicgstab, linalg.cgs, linalg.gmres, linalg.lgmres, linalg.gcrotmk):
                x, info = theirs(a, b, M=given, rtol=1e-8)
                assert info == 0 and np.linalg.norm(b - a @ x) <= 1e-7 * np.linalg.norm(b)
        x, info = linalg.qmr(a, b, M1=m.aslinearoperator(), M2=linalg.aslinearoperator(sp.eye_array(400)), rtol=1e-8)
        assert info == 0 and np.linalg.norm(b - a @ x) <= 1e-7 * np.linalg.norm(b)


def test_adjoints_of_preconditioners():
    rng = np.random.default_rng(1)
    a = random(rng, (30, 30), complex) * (rng.random((30, 30)) < 0.2) + 9 * np.eye(30)
    for kind in ("none", "jacobi", "diagp1", "diagp2", "l1", "tridiagonal", "forest", "forest-block"):
        operator = sparse.Preconditioner(a, kind).aslinearoperator()
        assert np.allclose((operator @ np.eye(30)).conj().T, operator.H @ np.eye(30))


class Mine(Exception):
    """Of a handler that the user has written."""


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
@pytest.mark.parametrize("error", [KeyboardInterrupt, Mine])
@pytest.mark.parametrize("callback", [None, lambda norm: None])
def test_iterations_can_be_interrupted(error, callback):
    a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(20000, 20000)).tocsr()
    with interrupted(error):
        sparse.gmres(a, np.ones(20000), rtol=1e-14, callback=callback, callback_type="pr_norm")
