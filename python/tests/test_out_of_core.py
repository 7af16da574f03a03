"""Systems that are solved in pieces, from files and from objects with slices."""

import errno
import os
import re
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import bandsolve
from bandsolve import out_of_core

N = 30_001


def random_system(n, dtype, seed=1):
    rng = np.random.default_rng(seed)
    numbers = lambda count: (rng.uniform(-1, 1, count) + (1j * rng.uniform(-1, 1, count) if np.dtype(dtype).kind == "c" else 0)).astype(dtype)
    return numbers(max(n - 1, 0)), numbers(n) + np.dtype(dtype).type(1), numbers(max(n - 1, 0)), numbers(n)


def backward_error(sub, diag, sup, rhs, x):
    sub, diag, sup, rhs, x = (v.astype(np.result_type(v, np.longdouble)) for v in (sub, diag, sup, rhs, x))
    residual, size = rhs - diag * x, abs(diag)
    residual[1:] -= sub * x[:-1]
    residual[:-1] -= sup * x[1:]
    size[1:] += abs(sub)
    size[:-1] += abs(sup)
    return float(np.max(abs(residual) / (size * np.max(abs(x)) + abs(rhs))))


def saved(folder, arrays):
    paths = [folder / f"{name}.npy" for name in ("sub", "diag", "sup", "rhs")]
    for path, array in zip(paths, arrays):
        np.save(path, array)
    return paths


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("n", [1, 2, 4096, N])
def test_files(tmp_path, dtype, n):
    arrays = random_system(n, dtype)
    report = out_of_core.solve_tridiagonal(*saved(tmp_path, arrays), tmp_path / "x.npy", piece_rows=8192)
    x = np.load(tmp_path / "x.npy")
    assert (x.dtype, x.shape) == (dtype, (n,))
    epsilon = np.finfo(dtype).eps
    assert report.backward_error <= 64 * epsilon
    assert backward_error(*arrays, x) <= report.backward_error + 4 * epsilon
    assert sorted(os.listdir(tmp_path)) == ["diag.npy", "rhs.npy", "sub.npy", "sup.npy", "x.npy"]


class Dataset:
    """What h5py and zarr have in common: a shape, a type, and slices."""

    def __init__(self, values):
        self._values, self.shape, self.dtype = values, values.shape, values.dtype

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        return self._values[rows].copy()

    def __setitem__(self, rows, values):
        self._values[rows] = values


def test_objects_with_slices_numbers_and_mixed_types():
    sub, diag, sup, rhs = random_system(N, np.float64)
    expected = np.empty(N)
    out_of_core.solve_tridiagonal(sub, diag, sup, rhs, expected)
    x = Dataset(np.empty(N))
    out_of_core.solve_tridiagonal(*map(Dataset, (sub, diag, sup, rhs)), x, piece_rows=1)
    assert np.array_equal(x._values, expected)

    x = np.empty(N)
    report = out_of_core.solve_tridiagonal(1, 4.0, np.float32(1), np.full(N, 6, dtype=np.int16), x)
    assert report.method == "rpts" and abs(x[N // 2] - 1) < 1e-15
    z = np.empty(N, np.complex128)
    out_of_core.solve_tridiagonal(1, 4j, 1, rhs, z)
    assert np.allclose(z, bandsolve.solve_tridiagonal(1, 4j, 1, rhs), rtol=1e-12)
    out_of_core.solve_tridiagonal(1, 4, 1, [], np.empty(0))


def test_corrections_read_x_from_the_file(tmp_path):
    # In single precision, this matrix is singular to working precision, and some x are not accurate enough at first.
    n = 20_000
    for seed in range(60):
        rhs = np.random.default_rng(seed).uniform(-1, 1, n).astype(np.float32)
        x = np.empty(n, np.float32)
        report = out_of_core.solve_tridiagonal(-1, 2, -1, rhs, x)
        if report.refinement_steps:
            break
    else:
        pytest.fail("no x had to be corrected")
    arrays = [np.full(n - 1, -1, np.float32), np.full(n, 2, np.float32), np.full(n - 1, -1, np.float32), rhs]

    def call(**more):
        return out_of_core.solve_tridiagonal(*arrays, tmp_path / "x.npy", piece_rows=8192, checkpoint=tmp_path / "state", **more)

    call()
    assert np.array_equal(np.load(tmp_path / "x.npy"), x)
    for stop in range(0, 4 * (1 + report.refinement_steps)):
        calls = []

        def progress(done, total):
            calls.append(done)
            if len(calls) > stop:
                raise Stop

        with pytest.raises(Stop):
            call(progress=progress)
        again = call()
        error = backward_error(*arrays, np.load(tmp_path / "x.npy"))
        assert error <= again.backward_error + 4 * np.finfo(np.float32).eps and again.backward_error <= 64 * np.finfo(np.float32).eps


def test_errors(tmp_path):
    sub, diag, sup, rhs = random_system(N, np.float64)
    solve = lambda *arrays, out=None: out_of_core.solve_tridiagonal(*arrays, tmp_path / "x.npy" if out is None else out)
    with pytest.raises(np.linalg.LinAlgError, match="singular"):
        solve(0, 0, 0, rhs)
    bad = diag.copy()
    bad[7777] = np.nan
    with pytest.raises(ValueError, match="diag.*7777"):
        solve(sub, bad, sup, rhs)
    with pytest.raises(ValueError, match="sub has the shape"):
        solve(diag, diag, sup, rhs)
    with pytest.raises(ValueError, match="one dimension"):
        solve(sub, diag, sup, rhs[:, None])
    with pytest.raises(ValueError, match="out has the shape"):
        solve(sub, diag, sup, rhs, out=np.empty(3))
    with pytest.raises(TypeError, match="cannot store"):
        solve(sub, diag * 1j, sup, rhs, out=np.empty(N))
    with pytest.raises(TypeError, match="cannot store"):
        solve(sub, diag, sup, rhs, out=np.empty(N, np.float32))
    with pytest.raises(TypeError, match="out is not an array"):
        solve(sub, diag, sup, rhs, out=[0.0] * N)
    frozen = np.empty(N)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        solve(sub, diag, sup, rhs, out=frozen)
    with pytest.raises(ValueError, match="masked"):
        solve(sub, np.ma.masked_less(diag, 0.5), sup, rhs)
    with pytest.raises(ValueError, match="sub is not finite"):
        solve(np.nan, diag, sup, rhs)
    with pytest.raises(TypeError, match="sub has the type object"):
        solve(None, diag, sup, rhs)
    for rows in (0, -1):
        with pytest.raises(ValueError, match="piece_rows"):
            out_of_core.solve_tridiagonal(sub, diag, sup, rhs, np.empty(N), piece_rows=rows)
    bad = sub.copy()
    bad[7776] = np.inf
    with pytest.raises(ValueError, match="sub.*7776"):
        solve(bad, diag, sup, rhs)
    with pytest.raises(TypeError, match="expected numbers"):
        solve(sub, diag, sup, np.array(["a"] * N))
    with pytest.raises(FileNotFoundError):
        solve(tmp_path / "none.npy", diag, sup, rhs)
    assert os.listdir(tmp_path) == []


def test_outputs_are_not_inputs(tmp_path):
    paths = saved(tmp_path, random_system(N, np.float64))
    before = paths[3].read_bytes()
    for out, checkpoint in [(paths[3], None), (tmp_path / "x.npy", paths[0]), (tmp_path / "x.npy", tmp_path / "x.npy.part")]:
        with pytest.raises(ValueError, match="also rhs|also sub|the same file"):
            out_of_core.solve_tridiagonal(*paths, out, checkpoint=checkpoint)
    mapped = np.load(paths[3], mmap_mode="r+")
    with pytest.raises(ValueError, match="also rhs"):
        out_of_core.solve_tridiagonal(*paths[:3], mapped, paths[3])
    with pytest.raises(ValueError, match="out is also rhs"):
        out_of_core.solve_tridiagonal(*paths, mapped)
    with pytest.raises(ValueError, match="shares memory with rhs"):
        same = Dataset(np.ones(N))
        out_of_core.solve_tridiagonal(1, 4, 1, same, same)
    with pytest.raises(ValueError, match="shares memory with rhs"):
        out_of_core.solve_tridiagonal(*paths[:3], mapped, mapped)
    with pytest.raises(ValueError, match="checkpoint needs"):
        out_of_core.solve_tridiagonal(*paths, np.empty(N), checkpoint=tmp_path / "state")
    assert paths[3].read_bytes() == before and len(os.listdir(tmp_path)) == 4


def test_files_that_are_not_arrays(tmp_path):
    sub, diag, sup, rhs = saved(tmp_path, random_system(N, np.float64))
    (tmp_path / "text").write_text("1 2 3")
    with pytest.raises(ValueError, match="not an .npy file"):
        out_of_core.solve_tridiagonal(sub, tmp_path / "text", sup, rhs, tmp_path / "x.npy")
    rhs.write_bytes(rhs.read_bytes()[:-8])
    with pytest.raises(ValueError, match="incomplete"):
        out_of_core.solve_tridiagonal(sub, diag, sup, rhs, tmp_path / "x.npy")
    assert not (tmp_path / "x.npy").exists()


def names(folder):
    return sorted(re.sub(r"\.[0-9a-f]{8}\.", ".*.", name) for name in os.listdir(folder))


class Stop(Exception):
    pass


@pytest.mark.parametrize("pieces", [0, 1, 3, 4, 6])
def test_a_solve_continues_from_its_checkpoint(tmp_path, pieces):
    arrays = random_system(N, np.float64)
    expected = np.empty(N)
    out_of_core.solve_tridiagonal(*arrays, expected)
    out, checkpoint, taken = tmp_path / "x.npy", tmp_path / "state", []

    def stop(done, total):
        taken.append(done)
        if len(taken) > pieces:
            raise Stop

    call = lambda **more: out_of_core.solve_tridiagonal(*arrays, out, piece_rows=8192, checkpoint=checkpoint, **more)
    with pytest.raises(Stop):
        call(progress=stop)
    assert names(tmp_path) == ["state", "x.npy.*.part"]
    continued = []
    call(progress=lambda done, total: continued.append(done))
    assert taken + continued == sorted(taken + continued) and len(taken + continued) == len(set(taken + continued))
    assert np.array_equal(np.load(out), expected)
    assert os.listdir(tmp_path) == ["x.npy"]


def test_checkpoints_of_others(tmp_path):
    arrays = random_system(N, np.float64)
    checkpoint = tmp_path / "state"

    def stop(done, total):
        raise Stop

    def call(*arrays, **more):
        return out_of_core.solve_tridiagonal(*arrays, tmp_path / "x.npy", checkpoint=checkpoint, **more)

    with pytest.raises(Stop):
        call(*arrays, progress=stop)
    for others in [random_system(N, np.float64, seed=2), random_system(N, np.float32), random_system(N - 1, np.float64)]:
        with pytest.raises(ValueError, match="belongs to another system"):
            call(*others)
    state = checkpoint.read_bytes()
    for wrong in [b"", b"{}\n", state[:200], state[:-1]]:
        checkpoint.write_bytes(wrong)
        with pytest.raises(ValueError, match="not a checkpoint|cannot be used"):
            call(*arrays)
    checkpoint.write_bytes(state)
    # Without its part of x, a state is of no use.
    (part,) = tmp_path.glob("x.npy.*.part")
    os.remove(part)
    call(*arrays)
    expected = np.empty(N)
    out_of_core.solve_tridiagonal(*arrays, expected)
    assert np.array_equal(np.load(tmp_path / "x.npy"), expected)


def test_other_calls_do_not_change_the_part_of_x(tmp_path):
    arrays = random_system(N, np.float64)

    def stop(done, total):
        if done > 40_000:
            raise Stop

    def call(arrays, checkpoint, **more):
        return out_of_core.solve_tridiagonal(*arrays, tmp_path / "x.npy", piece_rows=8192, checkpoint=checkpoint, **more)

    for checkpoint in (tmp_path / "state", tmp_path / "other"):
        with pytest.raises(Stop):
            call(arrays, checkpoint, progress=stop)
    with pytest.raises(Stop):
        call(random_system(N, np.float64, seed=2), None, progress=stop)
    call(arrays, tmp_path / "state")
    expected = np.empty(N)
    out_of_core.solve_tridiagonal(*arrays, expected)
    assert np.array_equal(np.load(tmp_path / "x.npy"), expected)


def test_a_checkpoint_of_an_error_is_deleted(tmp_path):
    sub, diag, sup, rhs = random_system(N, np.float64)
    diag[20_000] = np.nan
    with pytest.raises(ValueError, match="20000"):
        out_of_core.solve_tridiagonal(sub, diag, sup, rhs, tmp_path / "x.npy", piece_rows=8192, checkpoint=tmp_path / "state")
    assert os.listdir(tmp_path) == []


def test_no_state_is_saved_if_x_cannot_be_written(tmp_path, monkeypatch):
    arrays = random_system(N, np.float64)
    write, written = out_of_core._File.__setitem__, []

    def fail(self, rows, values):
        written.append(rows)
        if len(written) == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        write(self, rows, values)

    monkeypatch.setattr(out_of_core._File, "__setitem__", fail)
    with pytest.raises(OSError, match="No space left"):
        out_of_core.solve_tridiagonal(*arrays, tmp_path / "x.npy", piece_rows=8192, checkpoint=tmp_path / "state")
    assert os.listdir(tmp_path) == []


def test_ctrl_c_while_the_solver_works(tmp_path, monkeypatch):
    # The signal arrives after the solver has processed a piece, before its x is written.
    arrays = random_system(N, np.float64)
    expected = np.empty(N)
    out_of_core.solve_tridiagonal(*arrays, expected)
    compiled = out_of_core._bandsolve.PieceSolver

    class Interrupted:
        def __init__(self, *arguments):
            self.solver, self.calls = compiled(*arguments), 0

        def __getattr__(self, name):
            return getattr(self.solver, name)

        def advance(self, *arguments):
            self.solver.advance(*arguments)
            self.calls += 1
            if self.calls == stop:
                raise KeyboardInterrupt

    for stop in range(1, 9):
        call = lambda: out_of_core.solve_tridiagonal(*arrays, tmp_path / "x.npy", piece_rows=8192, checkpoint=tmp_path / "state")
        with monkeypatch.context() as patched:
            patched.setattr(out_of_core._bandsolve, "PieceSolver", Interrupted)
            with pytest.raises(KeyboardInterrupt):
                call()
        assert names(tmp_path) == ["state", "x.npy.*.part"]
        call()
        assert np.array_equal(np.load(tmp_path / "x.npy"), expected)
        os.remove(tmp_path / "x.npy")


def test_a_disk_that_fails(tmp_path):
    class Failing(Dataset):
        def __setitem__(self, rows, values):
            raise OSError(errno.ENOSPC, "No space left on device")

    arrays = random_system(N, np.float64)
    with pytest.raises(OSError, match="No space left"):
        out_of_core.solve_tridiagonal(*arrays, Failing(np.empty(N)), piece_rows=8192)


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_saves_the_state(tmp_path):
    saved(tmp_path, random_system(N, np.float64))
    program = textwrap.dedent("""
        import os, signal, bandsolve.out_of_core as o
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores the signal for programs in the background
        def progress(done, total):
            if done < 20_000:
                os.kill(os.getpid(), signal.SIGINT)
        o.solve_tridiagonal("sub.npy", "diag.npy", "sup.npy", "rhs.npy", "x.npy", piece_rows=8192, checkpoint="state", progress=progress)
    """)
    ended = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode != 0 and "KeyboardInterrupt" in ended.stderr
    assert (tmp_path / "state").exists() and not (tmp_path / "x.npy").exists()
    command = [sys.executable, "-m", "bandsolve.out_of_core", "sub.npy", "diag.npy", "sup.npy", "rhs.npy", "--out", "x.npy", "--checkpoint", "state"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0 and "backward error" in ended.stdout and ended.stderr == "", ended
    expected = np.empty(N)
    out_of_core.solve_tridiagonal(*random_system(N, np.float64), expected)
    assert np.array_equal(np.load(tmp_path / "x.npy"), expected)


def test_the_command_reports_errors(tmp_path):
    command = [sys.executable, "-m", "bandsolve.out_of_core", "1", "4", "1", "none.npy", "--out", "x.npy"]
    ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 1 and ended.stderr.startswith("error: ") and "none.npy" in ended.stderr
