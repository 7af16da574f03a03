"""Factors that are stored on a GPU, on emulated GPUs: which ones, the same x, transposes, deferred solves, changed entries."""

import ctypes

import numpy as np
import pytest
from conftest import backward_error, dense, eps, random
from stand_ins import DEVICE, Interface, address, line, memory

import bandsolve

#: Rows, or block rows, of a system that one thread block cannot solve on chip.
N = 2500
TRANSPOSES = [False, True, "conj"]


def on_gpu(gpu, array, order="C"):
    return gpu.asarray(array, device=DEVICE, order=order)


def blocks_on_gpu(gpu, blocks):
    """Blocks (n, b, b), each in order F."""
    return on_gpu(gpu, blocks.transpose(0, 2, 1)).transpose(0, 2, 1)


def overwrite(array, values):
    """Write numbers behind the back of bandsolve, in the order of the memory."""
    ctypes.memmove(address(array), np.ascontiguousarray(values).ctypes.data, values.nbytes)


def matrix(gpu, kind, dtype=float):
    """Three arrays on the GPU, the functions that factor and solve, and the shape and the order of right-hand sides."""
    rng = np.random.default_rng(7)
    name, *options = kind.split()
    if name == "blocks":
        block = int(options[0])
        count, flags = (N, dict(padded=True)) if block < 5 else (20, dict(periodic=True))
        arrays = random(rng, (3, count, block, block), dtype)
        arrays[1] += 2 * block * np.eye(block)
        flags.update({"method": option for option in options[1:]})
        on = [blocks_on_gpu(gpu, array) for array in arrays]
        return on, gpu.factor_block_tridiagonal, bandsolve.solve_block_tridiagonal, flags, (count, block), "C"
    if name == "batch":
        shape, flags = ((3, N) if options[0] == "long" else (40, 50)), dict(padded=True)
        if options[0] == "interleaved":
            shape, flags["axis"] = (80, 5), 0
        arrays = random(rng, (3, *shape), dtype)
        arrays[1] += 3
        return [on_gpu(gpu, array) for array in arrays], gpu.factor_batch, bandsolve.solve_batch, flags, shape, "C"
    flags = dict(periodic=True) if name == "ring" else dict(padded=True)
    flags.update({"method": option for option in options})
    arrays = random(rng, (3, N), dtype)
    arrays[1] += 3
    return [on_gpu(gpu, array) for array in arrays], gpu.factor_tridiagonal, bandsolve.solve_tridiagonal, flags, (N,), "F"


STORED = ["chain", "ring", "chain spike-thomas", "chain spike-diagonal-pivoting", "batch long", "blocks 2", "blocks 4", "blocks 5", "blocks 6 block-spike",
          "blocks 3 bcyclic"]
NOT_STORED = ["chain cf-lu", "chain parallel-diagonal-pivoting", "chain spike-cr", "batch short", "batch interleaved"]


@pytest.mark.parametrize("kind", [*STORED, *NOT_STORED])
@pytest.mark.parametrize("store", [True, False])
def test_which_factors_are_stored(gpu, kind, store):
    (sub, diag, sup), factor, solve, flags, shape, _ = matrix(gpu, kind)
    # Without verification, x shows which entries were eliminated.
    lu = factor(sub, diag, sup, verify=False, store_factors=store, **flags)
    rhs = on_gpu(gpu, np.ones(shape))
    before = lu.solve(rhs).numpy()
    overwrite(diag, 2 * memory(diag))
    again, after = lu.solve(rhs).numpy(), solve(sub, diag, sup, rhs, verify=False, **flags).numpy()
    assert not np.array_equal(before, after)
    assert np.array_equal(again, before if store and kind in STORED else after)


def test_bands_are_read_in_each_solve(gpu):
    ab, rhs = gpu.asarray(np.tile([[1.0], [4.0], [-1.0]], 3000), device=DEVICE, order="F"), line(gpu, 3000, 1.0)
    lu = bandsolve.factor_banded((1, 1), ab)
    lu.solve(rhs)
    overwrite(ab, 2 * memory(ab))
    assert np.array_equal(lu.solve(rhs).numpy(), bandsolve.solve_banded((1, 1), ab, rhs).numpy())


@pytest.mark.parametrize("kind", ["chain", "ring", "batch long", "blocks 3", "blocks 5"])
def test_x_has_the_bits_of_a_solve_without_factors(gpu, kind, dtype):
    arrays, factor, solve, flags, shape, order = matrix(gpu, kind, dtype)
    lu = factor(*arrays, **flags)
    rng = np.random.default_rng(8)
    for columns in [(), (2,), (5,)]:
        if columns and kind != "chain":
            continue
        given = on_gpu(gpu, random(rng, (*shape, *columns), dtype), order)
        for transpose in TRANSPOSES:
            x, report = lu.solve(given, transpose=transpose, full_output=True)
            assert np.array_equal(x.numpy(), solve(*arrays, given, transpose=transpose, **flags).numpy())
            assert report.backward_error <= 8 * eps(x.numpy()) and not report.fallback


@pytest.mark.parametrize("block", [5, 6, 17])
@pytest.mark.parametrize("periodic", [False, True])
def test_x_of_dense_blocks_is_that_of_the_cpu(gpu, block, periodic, dtype):
    rng = np.random.default_rng(block)
    blocks = random(rng, (3, 11, block, block), dtype)
    blocks[1] += 2 * block * np.eye(block)
    flags = dict(periodic=periodic, padded=not periodic)
    on_cpu = bandsolve.factor_block_tridiagonal(*blocks, method="bcyclic", **flags)
    lu = bandsolve.factor_block_tridiagonal(*(blocks_on_gpu(gpu, array) for array in blocks), **flags)
    assert lu.method == "bcyclic"
    for columns in (1, 3):
        rhs = random(rng, (11 * block, columns), dtype)
        for transpose in TRANSPOSES:
            x = lu.solve(on_gpu(gpu, rhs, "F"), transpose=transpose).numpy()
            assert np.array_equal(x, on_cpu.solve(rhs, transpose=transpose))


@pytest.mark.parametrize("kind", ["chain", "ring", "batch long", "blocks 2", "blocks 5"])
def test_deferred_solves_with_factors(gpu, kind):
    arrays, factor, _, flags, shape, _ = matrix(gpu, kind)
    lu = factor(*arrays, stream=5, **flags)
    for transpose in TRANSPOSES:
        u, new, expected = (on_gpu(gpu, np.ones(shape)) for _ in range(3))
        for _ in range(3):
            assert lu.solve(u, out=new, transpose=transpose, verify="deferred") is new
            u, new = new, u
            expected = lu.solve(expected, transpose=transpose)
        assert 0 < lu.check() <= 4 * np.finfo(float).eps
        assert np.array_equal(u.numpy(), expected.numpy())


def test_more_right_hand_sides_than_before(gpu):
    arrays, factor, _, flags, *_ = matrix(gpu, "chain")
    lu, rhs = factor(*arrays, **flags), np.random.default_rng(9).random((N, 6))
    a = dense(*(array.numpy() for array in arrays))
    first = lu.solve(on_gpu(gpu, rhs[:, 0])).numpy()
    for columns in (2, 6, 1):
        x = lu.solve(on_gpu(gpu, rhs[:, :columns], "F")).numpy()
        assert np.array_equal(x[:, 0], first) and backward_error(a, x, rhs[:, :columns]) <= 64 * eps(rhs)


def test_the_factorization_waits_for_the_matrix(gpu):
    # Stream 5 writes the diagonal, late. Stream 6 factors.
    zero, half, ones = line(gpu, N, 0.0), line(gpu, N, 0.5), line(gpu, N, 1.0)
    diag = line(gpu, N, 7.0)
    late = gpu.factor_tridiagonal(zero, half, zero, padded=True, stream=5)
    late.solve(ones, out=diag, verify="deferred")
    assert (memory(diag) == 7).all()
    lu = gpu.factor_tridiagonal(zero, Interface(diag, stream=5), zero, padded=True, stream=6, verify=False)
    assert (lu.solve(ones).numpy() == 0.5).all()


def test_changed_entries_are_noticed(gpu):
    off, diag, rhs = line(gpu, N, -1.0), line(gpu, N, 3.0), line(gpu, N, 1.0)
    lu = bandsolve.factor_tridiagonal(off, diag, off, padded=True)
    lu.solve(rhs)
    overwrite(diag, np.full(N, 4.0))
    lu.solve(rhs, verify="deferred")
    with pytest.raises(np.linalg.LinAlgError, match="^an earlier solve with verify="):
        lu.check()
    # A solve that waits repairs x.
    x = lu.solve(rhs).numpy()
    assert backward_error(dense(*(array.numpy() for array in (off, diag, off))), x, np.ones(N)) <= 64 * eps(x)


def test_a_matrix_that_changes_in_each_step(gpu):
    off, diag, u = line(gpu, N, -1.0), line(gpu, N, 3.0), line(gpu, N, 1.0)
    lu = gpu.factor_tridiagonal(off, diag, off, padded=True, store_factors=False)
    expected = np.ones(N)
    for value in (3.0, 4.0, 5.0):
        # No work on the stream still reads the diagonal.
        overwrite(diag, np.full(N, value))
        lu.solve(u, out=u, verify="deferred")
        assert lu.check() <= 4 * eps(expected)
        expected = bandsolve.solve_tridiagonal(-1.0, value, -1.0, expected)
    assert np.allclose(u.numpy(), expected, rtol=1e-13)


@pytest.mark.parametrize("kind", ["chain", "batch long", "blocks 2", "blocks 5"])
def test_singular_matrices(gpu, kind):
    (sub, diag, sup), factor, _, flags, shape, _ = matrix(gpu, kind)
    for array in (sub, diag, sup):
        overwrite(array, np.zeros(array.size))
    lu = factor(sub, diag, sup, **flags)
    rhs = on_gpu(gpu, np.ones(shape))
    for _ in range(2):
        lu.solve(rhs, verify="deferred")
        with pytest.raises(np.linalg.LinAlgError, match="^an earlier solve with verify="):
            lu.check()
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        lu.solve(rhs)
