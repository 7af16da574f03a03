"""Arrays that stay on a GPU, on emulated GPUs: no copies, DLPack, errors before a launch, the pages."""

import ctypes
import doctest
import pathlib
import re
import sys
import types

import numpy as np
import pytest
from conftest import backward_error, dense, eps, random
from stand_ins import (DEVICE, KINDS, NAMES, OTHER, Deleter, Dlpack, Interface, Managed, Versioned, address, capsule_name, capsule_pointer, line, memory,
                       rename_capsule)
from test_others import dense_blocks

import bandsolve


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("periodic", [False, True])
def test_tridiagonal_without_copies(gpu, kind, periodic, dtype):
    rng, of = np.random.default_rng(1), KINDS[kind]
    sub, diag, sup = random(rng, (3, 200), dtype)
    options = dict(periodic=periodic, padded=not periodic)
    matrix = [of(gpu.asarray(array, device=DEVICE)) for array in (sub, diag, sup)]
    a = dense(sub, diag, sup, periodic)
    for shape in [(200,), (200, 3)]:
        rhs = random(rng, shape, dtype)
        given = of(gpu.asarray(rhs, device=DEVICE, order="F"))
        if kind == "no strides" and len(shape) == 2:
            continue
        for transpose, matrix_of in [(False, a), (True, a.T), ("conj", a.conj().T)]:
            x, report = bandsolve.solve_tridiagonal(*matrix, given, transpose=transpose, full_output=True, **options)
            assert isinstance(x, gpu.DeviceArray) and x.shape == shape and x.dtype == dtype
            assert report.backward_error <= 64 * eps(rhs) and backward_error(matrix_of, x.numpy(), rhs) <= 64 * eps(rhs)
            # The same kernels on the same numbers, with copies.
            same = bandsolve.solve_tridiagonal(sub, diag, sup, rhs, transpose=transpose, device=DEVICE, **options)
            assert np.array_equal(x.numpy(), same)
        target = gpu.asarray(np.zeros_like(rhs), device=DEVICE, order="F")
        out = of(target)
        assert bandsolve.solve_tridiagonal(*matrix, given, out=out, transpose="conj", **options) is out
        assert np.array_equal(memory(target), same.ravel("F"))


def test_numbers_of_the_caller_are_read_where_they_lie(gpu):
    off, diag, rhs = line(gpu, 50, -1.0), line(gpu, 50, 3.0), line(gpu, 50, 1.0)
    lu = gpu.factor_tridiagonal(off, diag, off, padded=True, store_factors=False)
    assert isinstance(lu, gpu.DeviceFactor) and lu.shape == (50, 50) and lu.device == DEVICE
    before = lu.solve(rhs).numpy()
    # Written behind the back of bandsolve: a copy of the matrix or of rhs would not change.
    for array, value in ((diag, 4.0), (rhs, 2.0)):
        ctypes.memmove(address(array), np.full(50, value).ctypes.data, 400)
    expected = bandsolve.solve_tridiagonal(-1.0, 4.0, -1.0, np.full(50, 2.0))
    assert not np.allclose(before, expected) and np.allclose(lu.solve(rhs).numpy(), expected, rtol=0, atol=1e-14)


def test_off_diagonals_without_padding_are_copied(gpu):
    rng = np.random.default_rng(2)
    sub, sup, diag, rhs = rng.random(59), rng.random(59), 3 + rng.random(60), rng.random(60)
    x = bandsolve.solve_tridiagonal(*(gpu.asarray(array, device=DEVICE) for array in (sub, diag, sup, rhs)))
    assert np.allclose(x.numpy(), bandsolve.solve_tridiagonal(sub, diag, sup, rhs), rtol=0, atol=1e-13)
    blocks = rng.random((9, 2, 2)), 4 * np.eye(2) + rng.random((10, 2, 2)), rng.random((9, 2, 2))
    of_blocks = [gpu.asarray(a.transpose(0, 2, 1), device=DEVICE).transpose(0, 2, 1) for a in blocks]
    rhs = rng.random((10, 2))
    x = bandsolve.solve_block_tridiagonal(*of_blocks, gpu.asarray(rhs, device=DEVICE))
    assert np.allclose(x.numpy(), bandsolve.solve_block_tridiagonal(*blocks, rhs), rtol=0, atol=1e-13)


@pytest.mark.parametrize("block", [1, 2, 3])
def test_blocks(gpu, block):
    rng = np.random.default_rng(block)
    blocks = rng.random((3, 30, block, block))
    given = [gpu.asarray(a.transpose(0, 2, 1), device=DEVICE).transpose(0, 2, 1) for a in blocks]
    a = dense_blocks(*blocks, False)
    lu = bandsolve.factor_block_tridiagonal(*given, padded=True)
    for shape in [(30, block), (30 * block,)]:
        rhs = rng.random(shape)
        x = lu.solve(gpu.asarray(rhs, device=DEVICE))
        assert x.shape == shape and backward_error(a, x.numpy().ravel(), rhs.ravel()) <= 20 * eps(rhs)
    # Two right-hand sides: each an array (n, b) in order C, one after the other.
    rhs = rng.random((2, 30, block))
    x = bandsolve.solve_block_tridiagonal(*given, gpu.asarray(rhs, device=DEVICE).transpose(1, 2, 0), padded=True)
    assert x.shape == (30, block, 2)
    assert backward_error(a, x.numpy().reshape(30 * block, 2), rhs.reshape(2, -1).T) <= 20 * eps(rhs)


def test_bands(gpu):
    rng = np.random.default_rng(3)
    ab, rhs = rng.random((4, 60)), rng.random(60)
    given = gpu.asarray(ab, device=DEVICE, order="F"), gpu.asarray(rhs, device=DEVICE)
    expected = bandsolve.solve_banded((1, 2), ab, rhs)
    x = bandsolve.solve_banded((1, 2), *given)
    assert np.allclose(x.numpy(), expected, rtol=1e-9)
    assert np.array_equal(bandsolve.factor_banded((1, 2), given[0]).solve(given[1]).numpy(), x.numpy())
    assert bandsolve.solve_banded((1, 2), *given, overwrite_b=True) is given[1] and np.array_equal(given[1].numpy(), x.numpy())


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_batches(gpu, order, axis):
    rng = np.random.default_rng(4)
    sub, diag, sup, rhs = rng.random((4, 5, 40))
    given = [gpu.asarray(a, device=DEVICE, order=order) for a in (sub, diag + 2, sup, rhs)]
    expected = bandsolve.solve_batch(sub, diag + 2, sup, rhs, axis=axis, padded=True)
    x, report = bandsolve.solve_batch(*given, axis=axis, padded=True, full_output=True)
    assert x.strides == given[3].strides and report.backward_error <= 8 * eps(rhs)
    assert np.allclose(x.numpy(), expected, rtol=0, atol=1e-12)
    assert np.array_equal(bandsolve.factor_batch(*given[:3], axis=axis, padded=True).solve(given[3]).numpy(), x.numpy())


def test_one_matrix_for_a_batch(gpu):
    rhs = np.random.default_rng(5).random((3, 4, 50))
    x = bandsolve.solve_batch(line(gpu, 49, -1.0), line(gpu, 50, 3.0), line(gpu, 49, -1.0), gpu.asarray(rhs, device=DEVICE))
    assert np.allclose(x.numpy(), bandsolve.solve_batch(-1.0, 3.0, -1.0, rhs), rtol=0, atol=1e-14)


def test_singular_systems_and_nan(gpu):
    zeros, ones = gpu.asarray(np.zeros((4, 30)), device=DEVICE), np.ones((4, 30))
    ones[2, 7] = 0
    diag, rhs = gpu.asarray(ones, device=DEVICE), np.ones((4, 30))
    with pytest.raises(np.linalg.LinAlgError, match="^system 2 is singular: no pivot in row 7$"):
        bandsolve.solve_batch(zeros, diag, zeros, gpu.asarray(rhs, device=DEVICE), padded=True)
    rhs[1, 3] = np.nan
    ones[2, 7] = 1
    with pytest.raises(ValueError, match=r"^rhs\[1, 3\] is not finite$"):
        bandsolve.solve_batch(zeros, gpu.asarray(ones, device=DEVICE), zeros, gpu.asarray(rhs, device=DEVICE), padded=True)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_small_systems(gpu, n):
    arrays = [line(gpu, n, value) for value in (1.0, 4.0, 1.0, 2.0)]
    if n == 0:
        with pytest.raises(RuntimeError, match="all arrays are empty.* Pass device"):
            bandsolve.solve_tridiagonal(*arrays, padded=True)
    x = bandsolve.solve_tridiagonal(*arrays, padded=True, device=DEVICE)
    assert np.allclose(x.numpy(), bandsolve.solve_tridiagonal(*(a.numpy() for a in arrays), padded=True))


class TestDlpack:
    @pytest.mark.parametrize("kind", [Managed, Versioned])
    def test_deleters_run_once(self, gpu, kind):
        off, diag, rhs = (Dlpack(line(gpu, 40, value), kind) for value in (-1.0, 3.0, 1.0))
        lu = gpu.factor_tridiagonal(off, diag, off, padded=True)
        lu.solve(rhs)
        assert (off.deleted, diag.deleted, rhs.deleted) == (0, 0, 1)
        del lu
        assert (off.deleted, diag.deleted, rhs.deleted) == (2, 1, 1)

    def test_deleters_run_after_errors(self, gpu):
        short, diag = Dlpack(line(gpu, 30, 1.0)), Dlpack(line(gpu, 40, 3.0))
        with pytest.raises(ValueError, match="sub has length 30, expected 40"):
            gpu.factor_tridiagonal(short, diag, short, padded=True)
        assert (short.deleted, diag.deleted) == (2, 1)
        future = Dlpack(line(gpu, 40, 1.0), major=2)
        with pytest.raises(BufferError, match="tensor of DLPack 2.0, expected version 1"):
            gpu.factor_tridiagonal(future, diag, future, padded=True)

    def test_deleters_run_when_the_memory_is_no_longer_read(self, gpu):
        class Reused(Dlpack):
            """Memory with other numbers as soon as it is given back."""

            def __dlpack__(self, **options):
                capsule = super().__dlpack__(**options)
                return self.overwritten(capsule)

            def overwritten(self, capsule):
                delete = self.kept[-1][1]

                @Deleter
                def reuse(tensor):
                    delete(tensor)
                    ctypes.memset(address(self.array), 255, 8 * self.array.size)

                self.kept[-1][0].deleter = reuse
                self.kept.append(reuse)
                return capsule

        # Copies of off-diagonals.
        sub, diag, sup, rhs = np.full(39, -1.0), np.full(40, 3.0), np.full(39, -2.0), np.ones(40)
        given = [Reused(gpu.asarray(array, device=DEVICE)) for array in (sub, diag, sup)]
        lu, rhs_on = gpu.factor_tridiagonal(*given), gpu.asarray(rhs, device=DEVICE)
        assert [array.deleted for array in given] == [1, 0, 1] and np.isnan(memory(given[0].array)).all()
        expected = bandsolve.solve_tridiagonal(sub, diag, sup, rhs)
        assert np.allclose(lu.solve(rhs_on).numpy(), expected, rtol=1e-13)
        # A deferred solve that nobody waits for, and then no factors.
        out = line(gpu, 40, 0.0)
        lu.solve(rhs_on, out=out, verify="deferred")
        assert (memory(out) == 0).all()
        del lu
        assert given[1].deleted == 1 and np.allclose(memory(out), expected, rtol=1e-13)

    def test_used_capsules_are_refused(self, gpu):
        class Twice(Dlpack):
            capsule = None

            def __dlpack__(self, **options):
                self.capsule = self.capsule or super().__dlpack__(**options)
                return self.capsule

        twice, diag = Twice(line(gpu, 40, 1.0)), line(gpu, 40, 3.0)
        with pytest.raises(BufferError, match="no unused tensor"):
            gpu.factor_tridiagonal(twice, diag, twice, padded=True)
        assert twice.deleted == 1

    @pytest.mark.parametrize("kind, version", [(Managed, None), (Managed, (0, 8)), (Versioned, (1, 0)), (Versioned, (1, 1))])
    def test_arrays_of_ours_are_tensors(self, gpu, kind, version):
        values = np.arange(6.0, dtype=np.float32).reshape(2, 3)
        x = gpu.asarray(values, device=DEVICE, order="F")
        assert x.__dlpack_device__() == (2, 0)
        first = address(x)
        capsule = x.__dlpack__(max_version=version)
        assert capsule_name(capsule) == NAMES[kind]
        managed = kind.from_address(capsule_pointer(capsule, NAMES[kind]))
        tensor = managed.tensor
        assert (tensor.data, tensor.device_type, tensor.device_id, tensor.ndim) == (first, 2, 0, 2)
        assert (tensor.code, tensor.bits, tensor.lanes, tensor.byte_offset) == (2, 32, 1, 0)
        assert (tensor.shape[:2], tensor.strides[:2]) == ([2, 3], [1, 2])
        if kind is Versioned:
            assert (managed.major, managed.flags) == (1, 0)
        # The consumer takes the tensor over. The memory outlives the array and the capsule.
        rename_capsule(capsule, b"used_" + NAMES[kind])
        del x, capsule
        held = np.frombuffer(ctypes.string_at(first, 24), np.float32)
        assert np.array_equal(held, values.ravel("F"))
        managed.deleter(ctypes.addressof(managed))

    def test_copies_and_other_devices(self, gpu):
        x = line(gpu, 5, 3.0)
        capsule = x.__dlpack__(copy=True)
        tensor = Managed.from_address(capsule_pointer(capsule, b"dltensor")).tensor
        assert tensor.data != address(x)
        assert x.__dlpack__(copy=False, dl_device=(2, 0)) is not None
        with pytest.raises(BufferError, match=r"copy it with numpy\(\)"):
            x.__dlpack__(dl_device=(1, 0))


class TestArrays:
    def test_attributes(self, gpu, dtype):
        values = random(np.random.default_rng(6), (3, 4, 5), dtype)
        for order in "CF":
            x = gpu.asarray(values, device=DEVICE, order=order)
            expected = np.array(values, order=order)
            assert (x.shape, x.strides, x.ndim, x.size, x.dtype, len(x)) == ((3, 4, 5), expected.strides, 3, 60, dtype, 3)
            assert np.array_equal(x.numpy(), values) and x.numpy().strides == expected.strides and x.numpy().flags.writeable
            assert np.array_equal(np.asarray(x), values) and np.asarray(x, dtype=complex).dtype == complex
            turned = x.transpose(2, 0, 1)
            assert address(turned) == address(x) and np.array_equal(turned.numpy(), values.transpose(2, 0, 1))
            assert np.array_equal(x.transpose().numpy(), values.T)
        assert repr(x) == f"DeviceArray(shape=[3, 4, 5], dtype={dtype})"
        interface = x.__cuda_array_interface__
        assert (interface["typestr"], interface["version"], interface["stream"]) == (dtype.str, 3, None)
        assert interface["shape"] == x.shape and interface["strides"] == x.strides and interface["data"][1] is False

    def test_errors(self, gpu):
        x = line(gpu, 3, 1.0)
        with pytest.raises(ValueError, match="without a copy"):
            x.__array__(copy=False)
        with pytest.raises(ValueError, match="axes is"):
            x.transpose(1)
        with pytest.raises(ValueError, match="order is 'K', expected 'C' or 'F'"):
            gpu.asarray([1.0], device=DEVICE, order="K")
        with pytest.raises(ValueError, match='device is "tpu"'):
            gpu.asarray([1.0], device="tpu")
        with pytest.raises(TypeError, match="no axes"):
            len(gpu.asarray(1.0, device=DEVICE))


def failing(gpu):
    """Arguments of a solve with one mistake each: changes of good arguments, the error, and its message."""
    n = 40
    good = line(gpu, n, 1.0)
    wide = gpu.asarray(np.ones((n, 2)), device=DEVICE)
    inside = Interface(good, data=(address(good) + 80, False), shape=(n - 10,))
    return {
        "rhs on the host": (dict(rhs=np.ones(n)), TypeError, "rhs is a ndarray in the memory of the host.* bandsolve.gpu.asarray"),
        "matrix on the host": (dict(sub=np.ones(n)), TypeError, "sub is a ndarray in the memory of the host"),
        "a number": (dict(sup=-1.0), TypeError, "sup is a float in the memory of the host"),
        "out on the host": (dict(out=np.ones(n)), TypeError, "out is a ndarray in the memory of the host"),
        "rhs on another device": (dict(rhs=line(gpu, n, 1.0, OTHER)), ValueError, f"rhs is not in the memory of {DEVICE}"),
        "matrix on another device": (dict(sup=line(gpu, n, 1.0, OTHER)), ValueError, f"sup is not in the memory of {DEVICE}"),
        "out on another device": (dict(out=line(gpu, n, 1.0, OTHER)), ValueError, f"out is not in the memory of {DEVICE}"),
        "another device": (dict(device=OTHER), ValueError, f"sub is not in the memory of {OTHER}"),
        "another type": (dict(rhs=gpu.asarray(np.ones(n, np.float32), device=DEVICE)), TypeError, "rhs has the dtype float32, expected float64"),
        "types of the matrix": (dict(sub=gpu.asarray(np.ones(n, complex), device=DEVICE)), TypeError, "sub has the dtype complex128, expected float64"),
        "integers": (dict(rhs=Interface(good, typestr="<i8")), TypeError, "rhs has the number type <i8, expected float32"),
        "big-endian": (dict(rhs=Interface(good, typestr=">f8")), TypeError, "rhs has the number type >f8"),
        "a mask": (dict(rhs=Interface(good, mask=good)), ValueError, "rhs.__cuda_array_interface__ has a mask"),
        "stream 0": (dict(rhs=Interface(good, stream=0)), ValueError, "has the stream 0, expected 1"),
        "strides": (dict(rhs=Interface(line(gpu, 2 * n, 1.0), shape=(n,), strides=(16,))), ValueError, "rhs has the shape .* cannot be used without a copy"),
        "odd strides": (dict(rhs=Interface(good, strides=(6,))), ValueError, "multiples of 8 bytes"),
        "an odd address": (dict(rhs=Interface(line(gpu, n + 1, 1.0), shape=(n,), data=(address(good) + 4, False))), ValueError, "no multiple of 8"),
        "order C": (dict(rhs=wide), ValueError, "pass rhs in order F"),
        "rows": (dict(rhs=line(gpu, n + 1, 1.0)), ValueError, r"rhs has the shape \[41\], expected \(40,\) or \(40, k\)"),
        "out of another shape": (dict(out=line(gpu, n + 1, 1.0)), ValueError, r"out has the shape \[41\], expected \[40\]"),
        "out of another type": (dict(out=gpu.asarray(np.ones(n, np.float32), device=DEVICE)), TypeError, "out has the dtype float32"),
        "read-only": (dict(out=Interface(line(gpu, n, 1.0), data=(address(good), True))), ValueError, "out is read-only"),
        "read-only tensor": (dict(out=Dlpack(line(gpu, n, 1.0), flags=1)), ValueError, "out is read-only"),
        "overlap with rhs": (dict(rhs=Interface(line(gpu, n, 1.0), data=(address(wide), False), shape=(n,)), out=Interface(wide, data=(
            address(wide) + 8, False), shape=(n,), strides=None)), ValueError, "out overlaps rhs in memory, but is not rhs"),
        "overlap with the matrix": (dict(sup=good, out=Interface(good)), ValueError, "out overlaps sup in memory"),
        "two dimensions": (dict(sub=wide), ValueError, "sub has 2 dimensions, expected 1"),
        "lengths": (dict(sub=inside), ValueError, "sub has length 30, expected 40"),
    }, good, wide


@pytest.mark.parametrize("case", ["rhs on the host", "matrix on the host", "a number", "out on the host", "rhs on another device",
                                  "matrix on another device", "out on another device", "another device", "another type", "types of the matrix",
                                  "integers", "big-endian", "a mask", "stream 0", "strides", "odd strides", "an odd address", "order C", "rows",
                                  "out of another shape", "out of another type", "read-only", "read-only tensor", "overlap with rhs",
                                  "overlap with the matrix", "two dimensions", "lengths"])
def test_errors_before_a_launch(gpu, case):
    cases, *_ = failing(gpu)
    changes, error, message = cases[case]
    arguments = dict(sub=line(gpu, 40, -1.0), diag=line(gpu, 40, 4.0), sup=line(gpu, 40, -1.0), rhs=line(gpu, 40, 1.0))
    arguments = {**arguments, **changes}
    kept = arguments.get("out")
    before = memory(kept.array if hasattr(kept, "array") else kept) if kept is not None and not isinstance(kept, np.ndarray) else None
    with pytest.raises(error, match=message):
        bandsolve.solve_tridiagonal(**arguments, padded=True)
    if before is not None:
        assert np.array_equal(before, memory(kept.array if hasattr(kept, "array") else kept))


def test_errors_of_other_matrices(gpu):
    a = gpu.asarray(np.ones((3, 40, 5)), device=DEVICE)
    flat = gpu.asarray(np.ones((40, 5)), device=DEVICE)
    one = line(gpu, 40, 1.0)
    ab = gpu.asarray(np.ones((3, 40)), device=DEVICE)
    blocks = gpu.asarray(np.ones((10, 2, 2)), device=DEVICE)
    for call, error, message in [
        (lambda: bandsolve.solve_batch(a, a, a, a, axis=1, padded=True), ValueError, "axis is 1, expected the first or the last axis"),
        (lambda: bandsolve.solve_batch(a, a, a, a, axis=3, padded=True), ValueError, "axis 3 is out of bounds"),
        (lambda: bandsolve.solve_batch(a, a, a, a), ValueError, "Pass padded=True"),
        (lambda: bandsolve.solve_batch(one, a, a, a, padded=True), ValueError, "arrays on a GPU do not broadcast"),
        (lambda: bandsolve.solve_batch(a, a, a, flat, padded=True), ValueError, r"rhs has the shape .* the shape of diag"),
        (lambda: bandsolve.solve_batch(one, one, one, flat, axis=0, padded=True), ValueError, "axis is 0, expected -1"),
        (lambda: bandsolve.solve_batch(one, one, one, flat, padded=True), ValueError, r"expected \(..., 40\)"),
        (lambda: bandsolve.solve_banded((1, 1), ab, one), ValueError, "Pass ab in order F"),
        (lambda: bandsolve.solve_banded((1, 2), ab, one), ValueError, r"expected \(l \+ u \+ 1, n\)"),
        (lambda: bandsolve.solve_block_tridiagonal(blocks, blocks, blocks, one, padded=True), ValueError, "each in order F"),
        (lambda: bandsolve.solve_block_tridiagonal(a, a, a, one, padded=True), ValueError, "square blocks"),
        (lambda: bandsolve.solve(np.eye(40), one), TypeError, "rhs is on a GPU, expected an array on the host"),
        (lambda: bandsolve.factor(flat), TypeError, "a is on a GPU"),
        (lambda: bandsolve.solveh_banded(ab, one), TypeError, "ab is on a GPU"),
        (lambda: bandsolve.factor_tridiagonal(np.ones(39), np.ones(40), np.ones(39)).solve(one), TypeError, "Make the factors from arrays on the GPU"),
        (lambda: bandsolve.factor_batch(-1.0, 4.0, -1.0).solve(one), TypeError, "in the memory of the host"),
        (lambda: bandsolve.gpu.factor_banded((1,), ab), ValueError, "expected two numbers"),
        (lambda: bandsolve.gpu.DeviceFactor("dense", [a, a, a]), ValueError, "no kind dense"),
    ]:
        with pytest.raises(error, match=message):
            call()


def test_examples_of_docstrings(gpu):
    # The examples name a GPU of CUDA.
    failed = 0
    for test in doctest.DocTestFinder(exclude_empty=True).find(gpu):
        test.examples = [doctest.Example(re.sub("\"cuda\"", f'"{DEVICE}"', example.source), example.want) for example in test.examples]
        failed += doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE).run(test).failed
    assert failed == 0


class CuPy:
    """A stand-in for CuPy, for the page of the documentation: its arrays have `__cuda_array_interface__` and the stream 1."""

    def __init__(self, gpu):
        self.gpu = gpu

    def full(self, n, value):
        return Interface(line(self.gpu, n, value), stream=1)

    @staticmethod
    def asarray(array):
        return Interface(array)

    @staticmethod
    def asnumpy(array):
        return array.array.numpy()


class Torch:
    """A stand-in for PyTorch: its tensors have DLPack, and `__cuda_array_interface__` of version 2, which names no stream."""

    float64 = "float64"
    cuda = types.SimpleNamespace(current_stream=lambda: types.SimpleNamespace(cuda_stream=0))

    class Tensor(Dlpack):
        @property
        def __cuda_array_interface__(self):
            return {**self.array.__cuda_array_interface__, "version": 2, "stream": None}

    def __init__(self, gpu):
        self.gpu = gpu

    def full(self, shape, value, *, dtype, device):
        assert (dtype, device) == ("float64", "cuda")
        return self.Tensor(line(self.gpu, *shape, value))

    @staticmethod
    def from_dlpack(x):
        capsule = x.__dlpack__(stream=1, max_version=(1, 0))
        tensor = Versioned.from_address(capsule_pointer(capsule, NAMES[Versioned])).tensor
        return np.frombuffer(ctypes.string_at(tensor.data, 8 * tensor.shape[0]))


def test_the_page_runs(gpu, monkeypatch, capsys):
    pages = [folder / "docs" / "coming-from" / "cuda.md" for folder in pathlib.Path(__file__).parents]
    page = next(page for page in pages if page.exists()).read_text(encoding="utf-8")
    programs = re.findall(r"```python title=\"with (.*?)\"\n(.*?)```\n\n```text\n(.*?)```", page, re.S)
    assert [package for package, *_ in programs] == ["CuPy", "PyTorch", "sparse matrices of SciPy"]
    monkeypatch.setitem(sys.modules, "cupy", CuPy(gpu))
    monkeypatch.setitem(sys.modules, "torch", Torch(gpu))
    for _, code, output in programs:
        exec(compile(code.replace('device="cuda")\nb', f'device="{DEVICE}")\nb'), "page", "exec"), {})
        assert capsys.readouterr().out == output
