"""`device=`: on an emulated GPU, where the compiled part was built with one."""

import os

import numpy as np
import pytest
from conftest import backward_error, dense, eps, random
from test_others import dense_blocks

import bandsolve


@pytest.fixture
def device():
    try:
        bandsolve.solve_tridiagonal([], [1.0], [], [1.0], device="emulated")
    except ValueError:
        if "BANDSOLVE_EMULATED" in os.environ:
            raise
        pytest.skip("built without an emulated GPU")
    return "emulated"


@pytest.mark.parametrize("periodic", [False, True])
def test_tridiagonal(device, periodic, dtype):
    rng = np.random.default_rng(1)
    sub, diag, sup = random(rng, (3, 200), dtype)
    factor = bandsolve.factor_tridiagonal(sub, diag, sup, periodic=periodic, padded=not periodic, device=device)
    a = dense(sub, diag, sup, periodic)
    for shape in [(200,), (200, 3)]:
        rhs = random(rng, shape, dtype)
        for of, transpose in [(a, False), (a.T, True), (a.conj().T, "conj")]:
            x, report = bandsolve.solve_tridiagonal(sub, diag, sup, rhs, periodic=periodic, padded=not periodic, transpose=transpose, device=device,
                                                    full_output=True)
            assert x.dtype == dtype and backward_error(of, x, rhs) <= 20 * eps(x)
            assert report.reason == f"solved on {device}"
            assert np.array_equal(factor.solve(rhs, transpose=transpose), x)
            assert (factor.method, factor.reason) == (report.method, report.reason)
    on_cpu = bandsolve.factor_tridiagonal(sub, diag, sup, periodic=periodic, padded=not periodic)
    assert factor.slogdet() == on_cpu.slogdet() and factor.rcond() == on_cpu.rcond()
    assert factor.norm() == on_cpu.norm()


@pytest.mark.parametrize("block", [2, 3])
def test_blocks(device, block):
    rng = np.random.default_rng(block)
    sub, diag, sup = rng.random((3, 30, block, block))
    rhs = rng.random((30, block))
    a = dense_blocks(sub, diag, sup, False)
    x = bandsolve.solve_block_tridiagonal(sub, diag, sup, rhs, device=device, padded=True)
    assert backward_error(a, x.ravel(), rhs.ravel()) <= 20 * eps(x)
    y = bandsolve.factor_block_tridiagonal(sub, diag, sup, device=device, padded=True).solve(rhs.ravel())
    assert np.array_equal(x.ravel(), y)


def test_bands_and_batches(device):
    rng = np.random.default_rng(2)
    a = np.triu(np.tril(rng.random((60, 60)), 2), -1)
    rhs = rng.random(60)
    x = bandsolve.solve(a, rhs, device=device)
    assert backward_error(a, x, rhs) <= 20 * eps(x)
    assert np.array_equal(bandsolve.factor(a, device=device).solve(rhs), x)
    sub, diag, sup, rhs = rng.random((4, 5, 40))
    for axis in (0, 1):
        x = bandsolve.solve_batch(sub, diag + 2, sup, rhs, axis=axis, device=device, padded=True)
        assert np.allclose(x, bandsolve.solve_batch(sub, diag + 2, sup, rhs, axis=axis, padded=True), rtol=0, atol=1e-13)
        singular, zeros = np.ones((5, 40)), np.zeros((5, 40))
        singular[(3, 1) if axis else (1, 3)] = 0
        with pytest.raises(np.linalg.LinAlgError, match="^system 3 is singular: no pivot in row 1$"):
            bandsolve.solve_batch(zeros, singular, zeros, rhs, axis=axis, device=device, padded=True)


def test_what_a_device_cannot_do(device):
    ab = np.random.default_rng(3).random((13, 50))
    with pytest.raises(ValueError, match="more than 4 diagonals on each side on a GPU"):
        bandsolve.factor_banded((6, 6), ab, device=device)


@pytest.mark.parametrize("n", [40, 200])
def test_solutions_without_a_digit_are_named(device, n, dtype):
    # x grows from row to row by a factor 3, to about 1/eps**2, or is 1/eps from a pivot that is nearly zero.
    tiny = np.finfo(dtype).eps
    steps = min(n - 1, int(-2 * np.log(tiny) / np.log(3)))
    sup = np.where(np.arange(n - 1) < steps, -3, 0).astype(dtype)
    zeros, ones = np.zeros(n - 1, dtype), np.ones(n, dtype)
    good = zeros, 4 * ones, sup, ones
    pair = zeros.copy(), 4 * ones, zeros.copy(), ones.copy()
    pair[0][8] = pair[1][8] = pair[2][8] = 1
    pair[1][9], pair[3][9] = 1 + tiny, -1
    for given, expected in (((zeros, ones, sup, ones), True), (pair, True), (good, False)):
        *matrix, rhs = given
        reports = [bandsolve.solve_tridiagonal(*matrix, rhs, device=device, full_output=True)[1]]
        factor = bandsolve.factor_tridiagonal(*matrix, device=device)
        reports += [factor.solve(rhs, full_output=True)[1], factor.solve(np.stack([rhs, 0 * rhs], axis=1), full_output=True)[1]]
        for axis in (0, 1):
            arrays = [np.stack([first, first, other, first], axis=1 - axis) for first, other in zip(good, given)]
            reports.append(bandsolve.solve_batch(*arrays, axis=axis, device=device, full_output=True)[1])
        assert [("no correct digit" in (report.attention or "")) for report in reports] == [expected] * len(reports), reports
