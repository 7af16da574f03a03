"""What several tests need."""

import contextlib
import os
import signal
import threading

import numpy as np
import pytest
from hypothesis import settings
from stand_ins import DEVICE

# The same examples every time; HYPOTHESIS_PROFILE=default draws others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "same"))

DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def pytest_configure(config):
    config.addinivalue_line("markers", "fail_slow: of SciPy's own tests, which are run with ours in their place")


@pytest.fixture(params=DTYPES, ids=lambda dtype: dtype.__name__)
def dtype(request):
    return np.dtype(request.param)


@pytest.fixture(scope="session")
def gpu():
    try:
        from bandsolve import gpu

        gpu.asarray([1.0], device=DEVICE)
    except (ImportError, ValueError):
        if "BANDSOLVE_EMULATED" in os.environ:
            raise
        pytest.skip("built without an emulated GPU")
    return gpu


def random(rng, shape, dtype):
    """Numbers of a type between -1 and 1."""
    numbers = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        numbers = numbers + 1j * rng.uniform(-1, 1, shape)
    return numbers.astype(dtype)


def dense(sub, diag, sup, periodic=False):
    """A tridiagonal matrix, with n entries in every diagonal."""
    n = len(diag)
    a = np.diag(diag)
    if n > 1:
        a = a + np.diag(sub[1:], -1) + np.diag(sup[:-1], 1)
    if periodic and n:
        a[0, -1] += sub[0]
        a[-1, 0] += sup[-1]
    return a


def backward_error(a, x, rhs):
    """The largest row-wise backward error of all right-hand sides, with 0/0 = 0; NaN if anything is not finite."""
    a, x, rhs = (np.asarray(array, dtype=complex) for array in (a, x, rhs))
    if a.size == 0:
        return 0.0
    if not all(np.isfinite(array).all() for array in (a, x, rhs)):
        return np.nan
    x, rhs = x.reshape(len(a), -1), rhs.reshape(len(a), -1)
    size = abs(a).sum(axis=1)[:, None] * abs(x).max(axis=0) + abs(rhs)
    residual = abs(rhs - a @ x)
    return np.divide(residual, size, out=np.zeros_like(residual), where=residual != 0).max(initial=0)


def eps(*arrays):
    return np.finfo(np.result_type(*arrays, np.float32)).eps


def lines(array, axis):
    """What runs along an axis, as rows of a matrix."""
    moved = np.moveaxis(np.asarray(array), axis, -1)
    return moved.reshape(int(np.prod(moved.shape[:-1])), moved.shape[-1])


#: Cases that SciPy's own tests of its solvers leave out, by test: those that break down, and noise.
LEFT_OUT = {
    "test_maxiter": lambda params: not params["case"].convergence,
    "test_precond_dummy": lambda params: not params["case"].convergence,
    "test_maxiter_worsening": lambda params: params["solver"].__name__ != "gmres",
    "test_x0_equals_Mb": lambda params: params["case"].name == "nonsymposdef-bicgstab",
}


def pytest_collection_modifyitems(config, items):
    def is_left_out(item):
        rule = LEFT_OUT.get(getattr(item, "originalname", None))
        return item.path.name == "test_krylov.py" and rule is not None and rule(item.callspec.params)

    left_out = [item for item in items if is_left_out(item)]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@contextlib.contextmanager
def interrupted(error=KeyboardInterrupt, seconds=0.3):
    """What is within runs too long, and is interrupted by a signal, whose handler raises `error`; this error comes out."""

    def handler(*_):
        raise error("by the test")

    before = signal.signal(signal.SIGINT, handler)
    timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(error, match="by the test"):
            yield
        timer.join()
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
