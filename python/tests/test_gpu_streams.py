"""Streams and deferred verification of solves with arrays on emulated GPUs."""

import ctypes

import numpy as np
import pytest
from conftest import eps
from stand_ins import DEVICE, Dlpack, Interface, address, line, memory

import bandsolve


class TestStreams:
    """Late work: a deferred solve on stream 5 that writes `u`. It has not run when the next solve is enqueued."""

    @pytest.fixture
    def late(self, gpu):
        zero, half = line(gpu, 300, 0.0), line(gpu, 300, 0.5)
        self.lu = gpu.factor_tridiagonal(zero, half, zero, padded=True, stream=5)
        self.rhs, self.u = line(gpu, 300, 1.0), line(gpu, 300, 7.0)
        self.lu.solve(self.rhs, out=self.u, verify="deferred")
        assert (memory(self.u) == 7).all()
        return zero, half

    def test_the_work_is_late_and_check_waits(self, late):
        assert self.lu.check() == 0
        assert (memory(self.u) == 2).all()

    def test_without_a_stream_nothing_waits(self, gpu, late):
        zero, half = late
        x = gpu.factor_tridiagonal(zero, half, zero, padded=True, stream=6).solve(Interface(self.u, stream=None))
        assert (x.numpy() == 14).all()

    @pytest.mark.parametrize("deferred", [False, True])
    def test_rhs_that_another_stream_writes(self, gpu, late, deferred):
        zero, half = late
        other = gpu.factor_tridiagonal(zero, half, zero, padded=True, stream=6)
        x = other.solve(Interface(self.u, stream=5), verify="deferred" if deferred else True)
        assert x.__cuda_array_interface__["stream"] == (6 if deferred else None)
        assert (x.numpy() == 4).all()

    def test_a_matrix_that_another_stream_writes(self, gpu, late):
        zero, _ = late
        lu = gpu.factor_tridiagonal(zero, Interface(self.u, stream=5), zero, padded=True, stream=6)
        assert (lu.solve(self.rhs).numpy() == 0.5).all()

    def test_off_diagonals_that_another_stream_writes_are_copied_later(self, gpu, late):
        zero, half = late
        sup = Interface(self.u, stream=5, shape=(299,))
        lu = gpu.factor_tridiagonal(gpu.asarray(np.zeros(299), device=DEVICE), half, sup, stream=6)
        expected = bandsolve.solve_tridiagonal(0.0, 0.5, np.full(299, 2.0), np.r_[np.zeros(299), 1.0])
        rhs = gpu.asarray(np.r_[np.zeros(299), 1.0], device=DEVICE)
        assert np.allclose(lu.solve(rhs).numpy(), expected, rtol=1e-12)

    def test_the_solve_runs_on_the_stream_of_rhs(self, gpu, late):
        zero, half = late
        assert (bandsolve.solve_tridiagonal(zero, half, zero, Interface(self.u, stream=5), padded=True).numpy() == 4).all()
        assert gpu.factor_tridiagonal(zero, Interface(half, stream=9), zero, padded=True).stream == 9
        assert gpu.factor_tridiagonal(zero, Interface(half, stream=1), zero, padded=True).stream == 0

    def test_out_that_another_stream_still_reads(self, gpu, late):
        # Stream 5 reads `rhs`, late; stream 6 writes it.
        zero, half = late
        out = Interface(self.rhs, stream=5)
        gpu.factor_tridiagonal(zero, half, zero, padded=True, stream=6).solve(line(gpu, 300, 3.0), out=out)
        self.lu.check()
        assert (memory(self.rhs) == 6).all() and (memory(self.u) == 2).all()

    def test_later_work_of_the_caller_waits(self, gpu, late):
        # The second solve writes `u` on stream 6; the third reads it on stream 5.
        zero, half = late
        other = gpu.factor_tridiagonal(zero, half, zero, padded=True, stream=6)
        other.solve(line(gpu, 300, 10.0), out=Interface(self.u, stream=5), verify="deferred")
        x = self.lu.solve(self.u)
        assert (x.numpy() == 40).all()

    def test_dlpack_tells_the_stream(self, gpu, late):
        zero, half = late
        for stream, said in ((None, 1), (0, 1), (1, 1), (2, 2), (6, 6)):
            rhs = Dlpack(self.rhs)
            gpu.factor_tridiagonal(zero, half, zero, padded=True, stream=stream).solve(rhs)
            assert rhs.asked == [dict(stream=said, max_version=(1, 0), copy=False)]

    def test_arrays_of_ours_let_other_streams_wait(self, gpu, late):
        zero, half = late
        # The right-hand sides must live as long as the deferred solves.
        first, second = line(gpu, 300, 3.0), line(gpu, 300, 4.0)
        lazy = self.lu.solve(first, verify="deferred")
        assert (memory(lazy) != 6).all() and lazy.__cuda_array_interface__["stream"] == 5
        other = gpu.factor_tridiagonal(zero, half, zero, padded=True, stream=6)
        lazy.__dlpack__(stream=6)
        other.solve(first)
        assert (memory(lazy) == 6).all()
        again = self.lu.solve(second, verify="deferred")
        # -1: the other package orders the work itself.
        again.__dlpack__(stream=-1)
        other.solve(first)
        assert (memory(again) != 8).all()
        with pytest.raises(ValueError, match="stream is not valid"):
            again.__dlpack__(stream=0)

    @pytest.mark.parametrize("deferred", [False, True])
    def test_the_stream_of_a_solve(self, gpu, late, deferred):
        # Stream 5 writes `u`, late, and nothing names it but the argument.
        zero, half = late
        other = gpu.factor_tridiagonal(zero, half, zero, padded=True, stream=6)
        given, out = Dlpack(self.u), line(gpu, 300, 7.0)
        x = other.solve(given, stream=5, verify="deferred" if deferred else True)
        assert given.asked[0]["stream"] == 5 and other.stream == 6
        assert x.__cuda_array_interface__["stream"] == (5 if deferred else None)
        assert (x.numpy() == 4).all()
        # Later work on stream 5 waits for a solve on stream 6.
        rhs = line(gpu, 300, 3.0)
        other.solve(rhs, out=Interface(out, stream=None), stream=5, verify="deferred")
        assert (memory(out) == 7).all()
        assert (self.lu.solve(Interface(out, stream=None)).numpy() == 12).all()


class TestDeferred:
    def test_errors_come_with_check(self, gpu):
        # A zero pivot of a singular matrix: x may have no correct digit.
        zero, diag, rhs = line(gpu, 60, 0.0), np.ones(60), line(gpu, 60, 1.0)
        lu = gpu.factor_tridiagonal(zero, given := gpu.asarray(diag, device=DEVICE), zero, padded=True, store_factors=False)
        for _ in range(3):
            x = lu.solve(rhs, verify="deferred")
        assert lu.check() == 0 and (x.numpy() == 1).all()
        diag[20] = 0
        ctypes.memmove(address(given), diag.ctypes.data, 480)
        lu.solve(rhs, verify="deferred")
        diag[20] = 1
        # The error waits, although the next solve is accurate.
        assert memory(x)[0] == 1
        with pytest.raises(np.linalg.LinAlgError, match=r'^an earlier solve with verify="deferred", after the last check, .*verify=True'):
            lu.check()
        ctypes.memmove(address(given), diag.ctypes.data, 480)
        lu.solve(rhs, verify="deferred")
        assert lu.check() == 0

    def test_errors_come_with_a_later_solve(self, gpu):
        zero, diag, rhs = line(gpu, 60, 0.0), np.ones(60), line(gpu, 60, 1.0)
        diag[20] = 0
        given, out = gpu.asarray(diag, device=DEVICE), line(gpu, 60, 0.0)
        lu = gpu.factor_tridiagonal(zero, given, zero, padded=True, stream=5, store_factors=False)
        # The first solve has not run when the second one is put on the stream.
        lu.solve(rhs, verify="deferred")
        lu.solve(rhs, verify="deferred")
        # Work on another stream, which waits for stream 5: now the verdicts arrive.
        gpu.factor_tridiagonal(zero, rhs, zero, padded=True, stream=6).solve(Interface(rhs, stream=5))
        with pytest.raises(np.linalg.LinAlgError, match="^an earlier solve with verify="):
            lu.solve(rhs, out=out, verify="deferred")
        # That solve was not started, and the error is raised once.
        assert lu.check() == 0 and (memory(out) == 0).all()
        diag[20] = 1
        ctypes.memmove(address(given), diag.ctypes.data, 480)
        lu.solve(rhs, out=out, verify="deferred")
        assert lu.check() == 0 and (memory(out) == 1).all()

    def test_nan_is_no_small_error(self, gpu):
        zero, one, rhs = line(gpu, 60, 0.0), line(gpu, 60, 1.0), np.ones(60)
        rhs[3] = np.nan
        lu = gpu.factor_tridiagonal(zero, one, zero, padded=True)
        lu.solve(gpu.asarray(rhs, device=DEVICE), verify="deferred")
        with pytest.raises(np.linalg.LinAlgError, match="an earlier solve"):
            lu.check()

    def test_a_loop_in_place(self, gpu):
        off, diag, u = line(gpu, 80, -1.0), line(gpu, 80, 4.0), line(gpu, 80, 1.0)
        lu = bandsolve.factor_tridiagonal(off, diag, off, padded=True)
        expected = np.ones(80)
        for _ in range(10):
            assert lu.solve(u, out=u, verify="deferred") is u
            expected = bandsolve.solve_tridiagonal(-1.0, 4.0, -1.0, expected)
        assert (memory(u) == 1).all()
        assert lu.check() <= 8 * eps(expected) and np.allclose(memory(u), expected, rtol=1e-12)

    def test_arguments(self, gpu):
        off, diag = line(gpu, 20, -1.0), line(gpu, 20, 4.0)
        lu = bandsolve.factor_tridiagonal(off, diag, off, padded=True)
        with pytest.raises(ValueError, match="a deferred solve has no report"):
            lu.solve(diag, verify="deferred", full_output=True)
        for wrong in (False, "later"):
            with pytest.raises(ValueError, match='^verify is .*, expected True or "deferred"'):
                lu.solve(diag, verify=wrong)
        with pytest.raises(ValueError, match="verif"):
            bandsolve.factor_tridiagonal(off, diag, off, padded=True, verify=False).solve(diag, verify="deferred")
