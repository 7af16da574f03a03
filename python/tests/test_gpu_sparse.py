"""Sparse systems on emulated GPUs: products, preconditioners, Krylov methods, and errors before a launch."""

import types

import numpy as np
import pytest
import scipy.sparse as sp
from conftest import eps, random
from stand_ins import DEVICE, KINDS, OTHER, Dlpack, Interface

from bandsolve import sparse
from bandsolve.eigen import eigs, eigsh

METHODS = [sparse.cg, sparse.gmres, sparse.bicgstab, sparse.idrs, sparse.solve]
# Conjugate gradients need a symmetric preconditioner.
PAIRS = [(method, m) for method in METHODS for m in (None, "jacobi", "alt-i:2") if (method, m) != (sparse.cg, "alt-i:2")]


def grid(rows, columns, dtype=np.float64, shift=0.0):
    """Diffusion on a grid, five entries in a row, stronger along one axis."""
    line = [sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(n, n)) for n in (rows, columns)]
    a = sp.kronsum(line[0], 0.1 * line[1], format="csr") + shift * sp.eye_array(rows * columns, format="csr")
    return a.astype(dtype)


def on_gpu(gpu, array, device=DEVICE):
    return gpu.asarray(array, device=device)


@pytest.mark.parametrize("kind", KINDS)
def test_products(gpu, kind, dtype):
    rng = np.random.default_rng(1)
    a = sp.random_array((70, 50), density=0.2, rng=rng, format="coo").astype(dtype)
    x = random(rng, 50, dtype)
    matrix = gpu.ascsr(a, device=DEVICE)
    assert isinstance(matrix, gpu.DeviceCsr)
    assert (matrix.shape, matrix.nnz, matrix.dtype, matrix.device) == (a.shape, a.nnz, dtype, DEVICE)
    y = matrix @ KINDS[kind](on_gpu(gpu, x))
    assert y.dtype == dtype and np.allclose(y.numpy(), a @ x, rtol=0, atol=50 * eps(x))
    assert np.array_equal(matrix.matvec(on_gpu(gpu, x)).numpy(), y.numpy())


def test_integers_become_double_precision(gpu):
    assert gpu.ascsr(sp.csr_array([[1, 0], [0, 2]]), device=DEVICE).dtype == np.float64
    assert gpu.ascsr([[1.0, 0.0], [2.0, 3.0]], device=DEVICE).nnz == 3


def test_a_matrix_of_cupy_copies_itself(gpu):
    a = grid(3, 4)
    of_cupy = types.SimpleNamespace(get=lambda: a, tocsr=lambda: None)
    assert gpu.ascsr(of_cupy, device=DEVICE).nnz == a.nnz


@pytest.mark.parametrize(("method", "m"), PAIRS)
def test_methods_as_on_the_cpu(gpu, method, m, dtype):
    a, rng = grid(12, 9, dtype, shift=0.2), np.random.default_rng(2)
    b = a @ random(rng, 108, dtype)
    matrix, given = gpu.ascsr(a, device=DEVICE), on_gpu(gpu, b)
    rtol = 1e-5 if eps(b) > 1e-10 else 1e-10
    x, report = method(matrix, given, M=m, rtol=rtol, full_output=True)
    expected, of_cpu = method(a, b, M=m, rtol=rtol, full_output=True)
    assert isinstance(x, gpu.DeviceArray) and x.dtype == dtype and x.shape == (108,)
    assert report["converged"] and np.linalg.norm(b - a @ x.numpy()) <= 4 * rtol * np.linalg.norm(b)
    if method is not sparse.solve or m is not None:
        assert report["method"] == of_cpu["method"]
    # Without the report, and from another start.
    x, info = method(matrix, given, x0=on_gpu(gpu, expected), M=m, rtol=rtol)
    assert info == 0


@pytest.mark.parametrize("kind", ["none", "tridiagonal", "forest", "forest-block", "alt-o:2", "mos-d:2", "mos-a:2", "ilu-isai:2", "amg-lines"])
def test_preconditioners(gpu, kind):
    a = grid(15, 14, shift=0.1)
    b = a @ np.random.default_rng(3).normal(size=210)
    m, of_cpu = sparse.Preconditioner(gpu.ascsr(a, device=DEVICE), kind), sparse.Preconditioner(a, kind)
    assert (m.kind, m.shape, m.dtype, m.reason, m.method) == (of_cpu.kind, (210, 210), np.float64, "", None)
    z = m.apply(on_gpu(gpu, b))
    # On the CPU, multigrid is in single precision.
    tolerance = 1e-5 if kind == "amg-lines" else 1e-9
    assert np.allclose(z.numpy(), of_cpu.apply(b), rtol=0, atol=tolerance * np.abs(b).max())
    assert np.array_equal((m @ on_gpu(gpu, b)).numpy(), z.numpy()) and np.array_equal(m.matvec(on_gpu(gpu, b)).numpy(), z.numpy())
    matrix = gpu.ascsr(a, device=DEVICE)
    x, info = sparse.gmres(matrix, on_gpu(gpu, b), M=m, rtol=1e-9)
    assert info == 0 and np.linalg.norm(b - a @ x.numpy()) <= 2e-9 * np.linalg.norm(b)


@pytest.mark.parametrize("inner", [None, "bicgstab"])
def test_single_precision_inside(gpu, inner):
    a = grid(15, 14, shift=0.1)
    b, matrix = a @ np.ones(210), gpu.ascsr(a, device=DEVICE)
    m = sparse.Preconditioner(matrix, "alt-i:2", precision="single", inner=inner)
    assert m.dtype == np.float64 and m.method is None
    x, report = sparse.gmres(matrix, on_gpu(gpu, b), M=m, rtol=1e-12, full_output=True)
    assert report["converged"] and np.abs(x.numpy() - 1).max() < 1e-9
    assert report["iterations"] < (8 if inner else 60)


def test_automatic_choice(gpu):
    a = grid(15, 14)
    b, matrix = a @ np.ones(210), gpu.ascsr(a, device=DEVICE)
    m, of_cpu = sparse.Preconditioner(matrix), sparse.Preconditioner(a)
    assert m.reason.startswith(of_cpu.reason)
    if of_cpu.kind == "ilu0":
        assert m.kind == "ilu-isai:2" and "ilu-isai" in m.reason and m.method in (None, of_cpu.method)
    else:
        assert (m.kind, m.method) == (of_cpu.kind, of_cpu.method)
    x, report = sparse.solve(matrix, on_gpu(gpu, b), rtol=1e-10, full_output=True)
    assert report["converged"] and report["preconditioner"] == m.kind and np.abs(x.numpy() - 1).max() < 1e-7


def test_ilu0_is_replaced_where_the_cpu_chooses_it(gpu):
    # Strong convection, against which multigrid and Jacobi help little.
    line = sp.diags_array([-3.0, 2.0, 1.0], offsets=[-1, 0, 1], shape=(20, 20))
    a = sp.kronsum(line, line)
    m, of_cpu = sparse.Preconditioner(gpu.ascsr(a, device=DEVICE)), sparse.Preconditioner(a)
    assert of_cpu.kind == "ilu0" and m.kind == "ilu-isai:2" and m.reason.endswith("a GPU applies ilu-isai instead")


def test_gmres_continues_after_a_breakdown(gpu, monkeypatch):
    a = sp.csr_array([[0.0, 1.0], [1.0, 0.0]])
    matrix, b = gpu.ascsr(a, device=DEVICE), on_gpu(gpu, np.array([1.0, 0.0]))
    _, report = sparse.cg(matrix, b, full_output=True)
    assert report["ending"] == "breakdown"
    monkeypatch.setattr(sparse.Preconditioner, "method", "cg")
    x, report = sparse.solve(matrix, b, M=sparse.Preconditioner(matrix, "none"), full_output=True)
    assert report["method"] == "gmres:30" and report["converged"] and np.allclose(x.numpy(), [0, 1])


def test_starts(gpu):
    a = grid(10, 10, shift=0.5)
    b, matrix = a @ np.ones(100), gpu.ascsr(a, device=DEVICE)
    given, m = on_gpu(gpu, b), sparse.Preconditioner(matrix, "tridiagonal")
    _, cold = sparse.gmres(matrix, given, M=m, rtol=1e-10, full_output=True)
    x, warm = sparse.gmres(matrix, given, on_gpu(gpu, np.ones(100)), M=m, rtol=1e-10, full_output=True)
    assert warm["iterations"] == 0 < cold["iterations"] and np.array_equal(x.numpy(), np.ones(100))
    for start in ("Mb", m.apply(given)):
        x, started = sparse.gmres(matrix, given, start, M=m, rtol=1e-10, full_output=True)
        assert started["converged"] and started["history"][0] < cold["history"][0]
    assert np.array_equal(given.numpy(), b)


def test_a_right_hand_side_of_zeros(gpu):
    a = grid(10, 10)
    matrix, zeros, ones = gpu.ascsr(a, device=DEVICE), on_gpu(gpu, np.zeros(100)), on_gpu(gpu, np.ones(100))
    for method in (sparse.cg, sparse.gmres, sparse.richardson):
        x, report = method(matrix, zeros, ones, full_output=True)
        assert report["iterations"] == 0 and report["converged"] and not x.numpy().any()


def test_the_last_residual_has_twice_the_precision(gpu):
    # In plain arithmetic, the rounding error of this residual is above the tolerance.
    a = grid(30, 30)
    b = np.random.default_rng(6).normal(size=900)
    x, report = sparse.cg(gpu.ascsr(a, device=DEVICE), on_gpu(gpu, b), M="forest", rtol=1e-14, full_output=True)
    assert report["converged"]
    wide = a.toarray().astype(np.longdouble)
    assert np.linalg.norm((b - wide @ x.numpy()).astype(float)) <= 1e-14 * np.linalg.norm(b)


class Late:
    """An array with DLPack alone, whose numbers are written on its own stream when another stream waits for them."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **options):
        return self.array.__dlpack__(**options)


def test_arrays_that_are_written_late(gpu):
    # The right-hand side is the result of a deferred solve, which runs when a stream waits for it.
    a = grid(8, 8, shift=0.5)
    matrix = gpu.ascsr(a, device=DEVICE, stream=7)
    ones = on_gpu(gpu, np.ones(64))
    unit = gpu.factor_tridiagonal(on_gpu(gpu, np.zeros(64)), ones, on_gpu(gpu, np.zeros(64)), padded=True, stream=5)
    for use in (lambda v: sparse.gmres(matrix, v, rtol=1e-10)[0], lambda v: matrix @ v, sparse.Preconditioner(matrix, "jacobi").apply):
        given = on_gpu(gpu, a @ np.ones(64))
        late = Late(unit.solve(given, verify="deferred"))
        expected = use(given).numpy()
        assert np.array_equal(use(Late(unit.solve(given, verify="deferred"))).numpy(), expected) and late.array.shape == (64,)
        unit.check()


def test_limits_and_zeros(gpu):
    a = grid(10, 10)
    b, matrix = a @ np.arange(100.0), gpu.ascsr(a, device=DEVICE)
    _, info = sparse.cg(matrix, on_gpu(gpu, b), maxiter=3, rtol=1e-12)
    assert info == 3
    _, info = sparse.gmres(matrix, on_gpu(gpu, b), maxiter=2, restart=4, rtol=1e-12)
    assert info == sparse.gmres(a, b, maxiter=2, restart=4, rtol=1e-12)[1]
    x, info = sparse.cg(matrix, on_gpu(gpu, np.zeros(100)))
    assert info == 0 and not x.numpy().any()
    x, info = sparse.gmres(matrix, on_gpu(gpu, b), atol=1e9)
    assert info == 0 and not x.numpy().any()


@pytest.mark.parametrize("kind", ["dlpack 0", "dlpack 1", "interface", "no stream"])
def test_arrays_of_other_packages(gpu, kind):
    a = grid(10, 10, shift=0.5)
    matrix, b = gpu.ascsr(a, device=DEVICE), a @ np.ones(100)
    x, info = sparse.gmres(matrix, KINDS[kind](on_gpu(gpu, b)), KINDS[kind](on_gpu(gpu, b)), M="jacobi", rtol=1e-10)
    assert info == 0 and np.abs(x.numpy() - 1).max() < 1e-8


def test_wrong_arguments(gpu):
    a = grid(5, 6)
    matrix, b = gpu.ascsr(a, device=DEVICE), on_gpu(gpu, np.ones(30))
    m = sparse.Preconditioner(matrix, "jacobi")
    host = np.ones(30)

    def raises(error, text, call, *arguments, **options):
        with pytest.raises(error, match=text):
            call(*arguments, **options)

    raises(TypeError, "b is a ndarray in the memory of the host", sparse.gmres, matrix, host)
    raises(TypeError, r"A is a csr_array, but b is on a GPU. Pass A=bandsolve.gpu.ascsr\(A\)", sparse.cg, a, b)
    raises(TypeError, "x0 is a ndarray in the memory of the host", sparse.cg, matrix, b, host)
    raises(TypeError, "M is a Preconditioner, expected the name", sparse.cg, matrix, b, M=sparse.Preconditioner(a, "jacobi"))
    raises(TypeError, "M is a csr_array, expected the name", sparse.cg, matrix, b, M=a)
    raises(ValueError, "callback is given, but on a GPU", sparse.cg, matrix, b, callback=print)
    raises(ValueError, "callback is given, but on a GPU", sparse.gmres, matrix, b, callback=print, callback_type="pr_norm")
    raises(ValueError, "x0 is 'none', expected an array or 'Mb'", sparse.cg, matrix, b, "none")
    raises(ValueError, r"b has the shape \[31\], expected \(30,\)", sparse.cg, matrix, on_gpu(gpu, np.ones(31)))
    raises(ValueError, r"x has the shape \[30, 1\], expected \(30,\)", matrix.matvec, on_gpu(gpu, np.ones((30, 1))))
    raises(TypeError, "b has the dtype float32, expected float64, the dtype of the matrix", sparse.cg, matrix, on_gpu(gpu, np.ones(30, np.float32)))
    raises(ValueError, "b is not in the memory of", sparse.cg, matrix, on_gpu(gpu, np.ones(30), OTHER))
    raises(ValueError, "cannot be used without a copy", matrix.matvec, Dlpack(Strided(on_gpu(gpu, np.ones(60)))))
    raises(ValueError, "expected a square matrix", sparse.cg, gpu.ascsr(sp.csr_array((3, 4)), device=DEVICE), b)
    raises(ValueError, "expected a square matrix", sparse.Preconditioner, gpu.ascsr(sp.csr_array((3, 4)), device=DEVICE), "jacobi")
    raises(ValueError, r"a\[1, 2\] is not finite", gpu.ascsr, sp.csr_array([[1.0, 0, 0], [0, 0, np.nan], [0, 0, 1]]), device=DEVICE)
    raises(ValueError, r"b\[29\] is not finite", sparse.cg, matrix, on_gpu(gpu, np.r_[np.ones(29), np.nan]))
    raises(ValueError, r"x0\[29\] is not finite", sparse.cg, matrix, b, on_gpu(gpu, np.r_[np.ones(29), np.inf]))
    raises(TypeError, "A is a list, but b is on a GPU", sparse.gmres, [[1.0, 2], [3, 4]], b)
    raises(TypeError, "A is a NoneType, but b is on a GPU", sparse.solve, None, b)
    raises(TypeError, "M is on a GPU, but A and b are not", sparse.cg, a, host, M=m)
    raises(ValueError, r"the preconditioner has the shape \(4, 4\), expected \(30, 30\)", sparse.cg, matrix, b,
           M=sparse.Preconditioner(gpu.ascsr(np.eye(4), device=DEVICE), "jacobi"))
    raises(TypeError, "a is on a GPU, expected a matrix on the host", gpu.ascsr, matrix)
    raises(TypeError, "a is on a GPU, expected a matrix on the host", sparse.forest, matrix)
    raises(TypeError, r"a is a SimpleNamespace, .* Pass bandsolve.gpu.ascsr\(a\)", sparse.Preconditioner, types.SimpleNamespace(get=None, tocsr=None))
    raises(TypeError, "OPinv is on a GPU, but A is not", eigsh, a, sigma=1.0, OPinv=m)
    raises(TypeError, "v0 is on a GPU", eigsh, matrix, v0=b)
    raises(ValueError, "stream is 2, the default stream of a thread", gpu.ascsr, a, device=DEVICE, stream=2)
    raises(ValueError, "device is .cpu., expected a GPU", gpu.ascsr, a, device="cpu")
    with pytest.raises(TypeError):
        host @ matrix
    raises(ValueError, "no preconditioner `best`", sparse.Preconditioner, matrix, "best")
    raises(ValueError, "device is .tpu.", gpu.ascsr, a, device="tpu")
    raises(TypeError, "the preconditioner is on a GPU", m.aslinearoperator)
    raises(ValueError, "no preconditioner on a GPU has an adjoint", m.rmatvec, b)
    raises(TypeError, "M is a preconditioner for float64 on .*, expected float32", sparse.cg, gpu.ascsr(a.astype(np.float32), device=DEVICE),
           on_gpu(gpu, np.ones(30, np.float32)), M=m)
    raises(ValueError, "kind is ilu0, whose solves are sequential, expected another kind on a GPU, for example ilu-isai", sparse.Preconditioner, matrix, "ilu0")
    # The device is usable after all that.
    assert sparse.cg(matrix, b, M=m)[1] == 0


class Strided:
    """Every other number of an array."""

    def __init__(self, array):
        interface = array.__cuda_array_interface__
        self.array = array
        self.__cuda_array_interface__ = {**interface, "shape": (interface["shape"][0] // 2,), "strides": (16,)}


def test_streams(gpu):
    # On "emulated:reverse" work runs as late as streams allow, so that a missing event changes a result.
    a = grid(8, 8, shift=0.5)
    matrix = gpu.ascsr(a, device=DEVICE, stream=7)
    b = on_gpu(gpu, a @ np.ones(64))
    for given in (b, Interface(b, stream=1), Interface(b, stream=9)):
        x, info = sparse.gmres(matrix, given, M="forest", rtol=1e-10)
        assert info == 0 and np.abs(x.numpy() - 1).max() < 1e-8
        assert np.allclose((matrix @ given).numpy(), a @ b.numpy(), rtol=0, atol=1e-13)


def test_no_rows(gpu):
    matrix = gpu.ascsr(sp.csr_array((0, 0)), device=DEVICE)
    x, info = sparse.cg(matrix, on_gpu(gpu, np.zeros(0)))
    assert info == 0 and x.shape == (0,)


@pytest.mark.parametrize("which", ["LA", "SA", "LM", "BE"])
def test_eigenvalues(gpu, which):
    a = sp.diags_array(np.arange(1.0, 61.0)) + grid(6, 10)
    matrix = gpu.ascsr(a, device=DEVICE)
    w, v, report = eigsh(matrix, 4, which=which, full_output=True)
    expected, _ = eigsh(a, 4, which=which)
    assert isinstance(w, np.ndarray) and report["converged"] and np.allclose(w, expected, rtol=1e-12)
    assert np.abs(a @ v - v * w).max() < 1e-11
    again = eigsh(matrix, 4, which=which, v0=np.ones(60), return_eigenvectors=False)
    assert np.allclose(again, expected, rtol=1e-12)


def test_eigenvalues_of_general_matrices(gpu, dtype):
    rng = np.random.default_rng(5)
    a = (sp.diags_array(np.arange(1.0, 61.0)) + 0.1 * sp.random_array((60, 60), density=0.1, rng=rng)).astype(dtype)
    w = eigs(gpu.ascsr(a, device=DEVICE), 3, return_eigenvectors=False)
    exact = np.linalg.eigvals(a.toarray().astype(complex))
    for value in w:
        assert np.abs(exact - value).min() < 1e4 * np.finfo(dtype).eps


def test_wrong_eigenvalue_problems(gpu):
    a = grid(5, 6)
    matrix = gpu.ascsr(a, device=DEVICE)
    for name, options in {"M": dict(M=a), "sigma": dict(sigma=1.0), "Minv": dict(Minv=a), "complete=True": dict(complete=True)}.items():
        with pytest.raises(ValueError, match=f"{name} is given, but A is on a GPU"):
            eigsh(matrix, **options)
    with pytest.raises(TypeError, match="A is on a GPU"):
        eigsh(matrix, interval=(0, 1))
    with pytest.raises(TypeError, match="A is on a GPU"):
        eigsh(matrix, sigma=1.0, mode="buckling")
    with pytest.raises(TypeError, match="v0 has the dtype complex128, expected float64, the dtype of A"):
        eigsh(matrix, v0=np.ones(30, complex))
    with pytest.raises(ValueError, match="k is 31, expected at most n = 30"):
        eigsh(matrix, 31)
    with pytest.raises(ValueError, match="expected a square matrix"):
        eigsh(gpu.ascsr(sp.csr_array((3, 4)), device=DEVICE))
