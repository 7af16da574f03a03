"""Poisson problems on emulated GPUs: right-hand sides on the GPU and on the host, memory orders, errors before a launch."""

import numpy as np
import pytest
from stand_ins import DEVICE, KINDS, OTHER, Interface, line

from bandsolve import poisson

# Boundaries, grids and other options, by the number of axes.
PROBLEMS = [
    ((40,), {}),
    ((12, 17), dict(boundary=("periodic", ("dirichlet", "neumann")), spacing=(0.5, 0.1))),
    ((9, 8), dict(boundary=(("dirichlet", 2.0), ("robin", 2.0, 1.0, 3.0)), grid="cell", shift=0.3)),
    ((10, 11), dict(boundary="neumann", grid="cell", mean=1.5, removable=1e9)),
    ((5, 6, 7), dict(boundary=((("dirichlet", np.arange(42.0).reshape(6, 7)), "dirichlet"), "periodic", "neumann"))),
    ((6, 7), dict(coordinates=(np.array([0.0, 1, 2, 4, 5, 7, 8, 9]), None))),
]


def far(u, expected):
    return np.abs(u - expected).max() / np.abs(expected).max()


@pytest.mark.parametrize(("shape", "options"), PROBLEMS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_on_the_cpu(gpu, shape, options, order, dtype):
    f = np.asarray(np.random.default_rng(1).normal(size=shape), dtype, order=order)
    given = gpu.asarray(f, device=DEVICE, order=order)
    u, report = poisson.solve(given, full_output=True, **options)
    expected, of_cpu = poisson.solve(f, full_output=True, **options)
    assert isinstance(u, gpu.DeviceArray) and u.shape == shape and u.dtype == dtype and u.strides == given.strides
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    assert far(u.numpy(), expected) < tolerance
    assert report["method"] == "fft" and report["shape"] == shape and "device" in report["reason"]
    assert report["backward_error"] <= 8 * np.finfo(dtype).eps
    assert (report["mean"] is None) == (of_cpu["mean"] is None)
    assert np.isclose(report["removed"], of_cpu["removed"], rtol=1e-4, atol=1e-6)
    # The same solver for an array on the host, which is copied.
    solver = poisson.Solver(shape, dtype=dtype, order=order, device=DEVICE, **options)
    assert solver.method == "fft" and solver.reason == report["reason"]
    copied = solver.solve(f)
    assert isinstance(copied, np.ndarray) and np.array_equal(copied, u.numpy()) and copied.strides == f.strides
    out = np.empty_like(f)
    assert solver.solve(f, out=out) is out and np.array_equal(out, copied)


@pytest.mark.parametrize("kind", KINDS)
def test_many_right_hand_sides_and_out(gpu, kind):
    f = np.random.default_rng(2).normal(size=(2, 3, 6, 5))
    solver, given = poisson.Solver((6, 5), 0.1, device=DEVICE), gpu.asarray(f, device=DEVICE)
    expected = poisson.Solver((6, 5), 0.1).solve(f)
    u, report = solver.solve(KINDS[kind](given), full_output=True)
    assert u.shape == f.shape and far(u.numpy(), expected) < 1e-13 and len(report["backward_errors"]) == 6
    target = gpu.asarray(np.zeros_like(f), device=DEVICE)
    out = KINDS[kind](target)
    assert solver.solve(KINDS[kind](given), out=out) is out and np.array_equal(target.numpy(), u.numpy())
    # In place: f is copied first.
    assert solver.solve(given, out=given) is given and np.array_equal(given.numpy(), u.numpy())


def test_no_right_hand_sides(gpu):
    empty = gpu.asarray(np.ones((0, 4)), device=DEVICE)
    solver = poisson.Solver((4,), device=DEVICE)
    assert solver.solve(empty).shape == (0, 4) and DEVICE in repr(solver)


def test_streams(gpu):
    # On "emulated:reverse" work runs as late as streams allow, so that a missing event changes a result.
    solver, f = poisson.Solver((8, 8), device=DEVICE), gpu.asarray(np.ones((8, 8)), device=DEVICE)
    expected = poisson.solve(np.ones((8, 8)))
    for stream in (1, 5):
        assert far(solver.solve(Interface(f, stream=stream)).numpy(), expected) < 1e-13


def test_wrong_arguments(gpu):
    solver, f = poisson.Solver((4, 6), device=DEVICE), gpu.asarray(np.ones((4, 6)), device=DEVICE)

    def raises(error, text, call, *arguments, **options):
        with pytest.raises(error, match=text):
            call(*arguments, **options)

    raises(TypeError, "f is on a GPU, but the solver is on the CPU. Make the solver with device=\"cuda\"", poisson.Solver((4, 6)).solve, f)
    raises(ValueError, r"f has the shape \(6, 4\), expected \(4, 6\)", solver.solve, gpu.asarray(np.ones((6, 4)), device=DEVICE))
    raises(ValueError, r"f has the shape \(4,\), expected \(4, 6\)", solver.solve, line(gpu, 4, 1.0))
    raises(TypeError, "f has the dtype float32, expected float64, the dtype of the solver", solver.solve,
           gpu.asarray(np.ones((4, 6), np.float32), device=DEVICE))
    raises(TypeError, "f has the type complex128, expected real numbers", solver.solve, gpu.asarray(np.ones((4, 6), complex), device=DEVICE))
    raises(ValueError, "f is not in the memory of", solver.solve, gpu.asarray(np.ones((4, 6)), device=OTHER))
    raises(TypeError, "out is a ndarray in the memory of the host", solver.solve, f, out=np.ones((4, 6)))
    raises(ValueError, r"out has the shape \[24\], expected \[4, 6\]", solver.solve, f, out=line(gpu, 24, 0.0))
    raises(ValueError, "Pass out in the memory order of f", solver.solve, f, out=gpu.asarray(np.ones((4, 6)), device=DEVICE, order="F"))
    raises(ValueError, "out is read-only", solver.solve, f, out=Interface(f, data=(f.__cuda_array_interface__["data"][0], True)))
    raises(ValueError, "method bcr2 does not support problems on a GPU|bcr2", poisson.Solver, (4, 6), method="bcr2", device=DEVICE)
    raises(ValueError, "device is 'cuda', expected 'cpu' for a problem with pencils", poisson.Solver, (3,), pencils=[(np.eye(3), None)],
           device="cuda")
    raises(TypeError, "device is None, expected", poisson.Solver, (4, 6), device=None)
    raises(ValueError, "pencils is given, but f is on a GPU", poisson.solve, line(gpu, 3, 1.0), pencils=[(np.eye(3), None)])
    raises(ValueError, "device is .tpu.", poisson.Solver, (4, 6), device="tpu")
    for order in "CF":
        bad = np.ones((4, 6), order=order)
        bad[1, 2] = np.nan
        raises(ValueError, r"f\[1, 2\] is not finite", solver.solve, gpu.asarray(bad, device=DEVICE, order=order))
        raises(ValueError, r"f\[1, 2\] is not finite", solver.solve, bad)
    singular = poisson.Solver((4, 6), boundary="neumann", grid="cell", device=DEVICE)
    with pytest.raises(np.linalg.LinAlgError, match="do not balance"):
        singular.solve(f)
    # The device is usable after all that.
    assert solver.solve(f).shape == (4, 6)
