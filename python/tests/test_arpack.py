"""SciPy's own tests of `eigs` and `eigsh`, with ours in their place."""

import importlib

import pytest

from bandsolve.eigen import eigs, eigsh

theirs = importlib.import_module("scipy.sparse.linalg._eigen.arpack.tests.test_arpack")

#: Tests of SciPy's that are not run, with the reason.
OTHERS = {
    "test_eigs_for_k_greater": "SciPy gives such k to LAPACK's dense routines, and refuses operators; ours finds all n",
    "test_eigsh_for_k_greater": "as above",
    "test_reentering": "its operator is not linear, so that no pair has a small residual: ours says so",
    "test_real_nonsymmetric_modes": "with a complex sigma, below: 'LI' is of the real or imaginary part of SciPy's operator",
}
TESTS = [name for name in dir(theirs) if name.startswith("test_") and name not in OTHERS]
globals().update({name: getattr(theirs, name) for name in TESTS})


@pytest.fixture(autouse=True)
def ours(monkeypatch):
    monkeypatch.setattr(theirs, "eigs", eigs)
    monkeypatch.setattr(theirs, "eigsh", eigsh)


@pytest.fixture
def num_parallel_threads():
    return 1


#: All that SciPy's own test has, but 'LI' with a complex sigma.
MODES = [
    (which, sigma, part)
    for which in ("LM", "LR", "LI")
    for sigma, part in [(None, None), (0.1, "r"), (0.1 + 0.1j, "r"), (0.1 + 0.1j, "i")]
    if which != "LI" or not isinstance(sigma, complex)
]


@pytest.mark.parametrize(("which", "sigma", "part"), MODES)
@pytest.mark.parametrize("make", [theirs.csr_array, theirs.aslinearoperator, theirs.np.asarray])
@pytest.mark.parametrize("kind", ["f", "d"])
@pytest.mark.parametrize("case", theirs.NonSymmetricParams().real_test_cases)
def test_real_nonsymmetric(case, kind, which, make, sigma, part):
    theirs.test_real_nonsymmetric_modes(case, kind, which, make, sigma, part)


def test_ours_are_meant():
    assert theirs.eigs is eigs and theirs.SymmetricParams().eigs is eigsh and len(TESTS) > 10
