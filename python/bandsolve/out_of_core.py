"""Tridiagonal systems that are larger than memory.

The arrays are in files: `.npy` files, which NumPy maps into memory, or datasets of h5py or zarr. The solver reads them twice, piece by piece, and
writes x once.

>>> import os, tempfile
>>> import numpy as np, bandsolve.out_of_core
>>> with tempfile.TemporaryDirectory() as folder:
...     rhs, x = os.path.join(folder, "rhs.npy"), os.path.join(folder, "x.npy")
...     np.save(rhs, np.ones(1_000_000))
...     report = bandsolve.out_of_core.solve_tridiagonal(-1.0, 2.5, -1.0, rhs, x)
...     print(report.backward_error < 1e-15, round(np.load(x)[500_000], 6))
True 2.0

The command ``python -m bandsolve.out_of_core sub.npy diag.npy sup.npy rhs.npy --out x.npy`` does the same.
"""

import hashlib
import json
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import numpy as np

from bandsolve import _bandsolve

__all__ = ["solve_tridiagonal"]

# Number of seconds between two states in the file `checkpoint`.
_SECONDS = 30
# Number of rows that tell one system from another.
_SAMPLES = 64


def solve_tridiagonal(sub, diag, sup, rhs, out, *, piece_rows=1 << 20, checkpoint=None, progress=None):
    """Solve a tridiagonal system whose arrays do not fit into memory.

    Row i of the system is ``sub[i-1] * x[i-1] + diag[i] * x[i] + sup[i] * x[i+1] == rhs[i]``.

    Parameters
    ----------
    sub : path, array or number
        The n - 1 entries below the diagonal: ``sub[i]`` is in row i + 1. Either the path of an ``.npy`` file, or any object with a `shape`, a `dtype`
        and slices: a NumPy array, an array of `numpy.memmap`, a dataset of h5py or zarr. A number is the entry of every row.
    diag : path, array or number
        The n entries on the diagonal.
    sup : path, array or number
        The n - 1 entries above the diagonal: ``sup[i]`` is in row i.
    rhs : path or array
        The right-hand side, with n entries.
    out : path or array
        Where x is written: the path of an ``.npy`` file, or any object with a `shape`, a `dtype` and assignment to slices. The file appears when x is
        complete. Until then its name ends in ``.part``. `out` must not be one of the other arrays.
    piece_rows : int, default 1048576
        Number of rows in memory. The function needs about 14 words for each of them, and n / 150 words more. The result does not depend on it.
    checkpoint : path, optional
        A file for the state of the solve, written every 30 seconds, and when the solve is interrupted. If the file exists, the solve continues from it. The
        function deletes it at the end.
    progress : callable, optional
        Called as ``progress(done, total)`` after each piece, with numbers of rows in all passes over the system.

    Returns
    -------
    bandsolve.Report
        How the system was solved, and the backward error of x.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is singular, or the backward error is too large.
    ValueError
        An array has the wrong shape, or holds NaN or infinity. The checkpoint belongs to another system.
    OSError
        A file cannot be read or written.
    MemoryError
        Memory for the pieces is not free.

    See Also
    --------
    - `bandsolve.solve_tridiagonal`: for systems in memory.

    Notes
    -----
    Each 4096 rows are reduced to two equations between their first and last unknowns and those beside them. These equations are a banded system
    with n / 2048 unknowns, which is solved in memory. A second pass computes the other unknowns and measures the backward error. If it is too large,
    the solver repeats both passes for the residual. Rows are read and written by a thread of its own, while others compute.

    The numbers are computed in the type that NumPy gives for all arrays together: single or double precision, real or complex.

    Examples
    --------
    A right-hand side in an array that is mapped into memory, a checkpoint, and x in a file:

    >>> import os, tempfile
    >>> import numpy as np, bandsolve.out_of_core
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rhs = np.lib.format.open_memmap(os.path.join(folder, "rhs.npy"), mode="w+", dtype=np.float32, shape=(300_000,))
    ...     rhs[:] = 6
    ...     report = bandsolve.out_of_core.solve_tridiagonal(
    ...         1.0, 4.0, 1.0, rhs, os.path.join(folder, "x.npy"), piece_rows=100_000, checkpoint=os.path.join(folder, "state"),
    ...         progress=lambda done, total: print(f"{done / total:.0%}", end=" "))
    ...     print()
    ...     print(np.load(os.path.join(folder, "x.npy"), mmap_mode="r")[150_000], os.listdir(folder))
    16% 33% 49% 50% 66% 83% 99% 100%
    1.0 ['rhs.npy', 'x.npy']
    """
    system = _System(sub, diag, sup, rhs)
    saved, state = _saved(checkpoint, system)
    with _target(out, system, checkpoint, saved) as x, ThreadPoolExecutor(1) as disk:
        solver = _bandsolve.PieceSolver(np.empty(0, system.dtype), system.n, int(piece_rows), state)
        _run(solver, system, x, disk, _Checkpoint(checkpoint, system, solver, x), progress)
        report = solver.report()
    if checkpoint is not None:
        with suppress(FileNotFoundError):
            os.remove(checkpoint)
    return report


def _run(solver, system, x, disk, checkpoint, progress):
    """Take all pieces. The thread `disk` reads the next piece and writes x of the last one, in the order of the calls."""
    # While `advancing` is a piece, the solver may have taken it although its x is not written.
    ahead = written = advancing = None
    try:
        while (piece := solver.next_piece()) is not None:
            rows, following, (reads_x, writes_x), (done, total) = piece
            here = ahead or disk.submit(system.read, rows)
            before = disk.submit(lambda rows=rows: np.array(x[slice(*rows)])) if reads_x else None
            ahead = disk.submit(system.read, following) if following[0] < following[1] else None
            arrays = here.result()
            before = before.result() if reads_x else None
            advancing = piece
            values = solver.advance(*arrays, before)
            if writes_x:
                if written is not None:
                    written.result()
                written = disk.submit(_write, x, rows, values)
            advancing = None
            checkpoint.save_sometimes(written)
            if progress is not None:
                progress(done + rows[1] - rows[0], total)
        if written is not None:
            written.result()
        _flush(x)
    except (np.linalg.LinAlgError, ValueError):
        # The same error would end the solve again.
        raise
    except BaseException:
        if advancing in (None, solver.next_piece()):
            checkpoint.save(written)
        raise


def _write(x, rows, values):
    x[slice(*rows)] = values


def _flush(x):
    """Write x to the disk, if it is in a file."""
    flush = getattr(x, "flush", None) or getattr(getattr(x, "file", None), "flush", None)
    if flush is not None:
        flush()


class _System:
    """The arrays of a system, and their type."""

    def __init__(self, sub, diag, sup, rhs):
        arrays = {"sub": sub, "diag": diag, "sup": sup, "rhs": rhs}
        self.arrays = {name: _opened(name, array) for name, array in arrays.items()}
        rhs = self.arrays["rhs"]
        if np.ndim(rhs) != 1:
            raise ValueError(f"rhs has the shape {tuple(np.shape(rhs))}, expected one dimension")
        self.n = n = rhs.shape[0]
        for name, length in [("sub", n - 1), ("diag", n), ("sup", n - 1)]:
            shape = tuple(np.shape(self.arrays[name]))
            if shape not in [(), (max(length, 0),)]:
                raise ValueError(f"{name} has the shape {shape}, expected ({max(length, 0)},)")
        dtypes = [array.dtype for array in self.arrays.values() if np.shape(array) != ()]
        numbers = [complex(array) for array in self.arrays.values() if np.shape(array) == ()]
        dtype = np.result_type(*dtypes, *(number if number.imag else number.real for number in numbers))
        single = dtype in (np.float32, np.complex64)
        self.dtype = np.dtype(np.complex64 if single else np.complex128) if dtype.kind == "c" else np.dtype(np.float32 if single else np.float64)
        if dtype.kind not in "biufc":
            raise TypeError(f"the arrays have the type {dtype}, expected numbers")

    def read(self, rows):
        """Read rows of the four arrays. The entries outside of the matrix are zero."""
        first, end = rows
        return [self._part("sub", first - 1, end - 1), self._part("diag", first, end), self._part("sup", first, end), self._part("rhs", first, end)]

    def _part(self, name, first, end):
        array = self.arrays[name]
        part = np.zeros(end - first, self.dtype)
        if np.shape(array) == ():
            part[:] = array
        else:
            low, high = max(first, 0), min(end, array.shape[0])
            part[low - first : high - first] = array[low:high]
        return part

    def fingerprint(self):
        """A digest of some rows, which tells whether a checkpoint belongs to these arrays."""
        digest = hashlib.sha256(f"{self.n} {self.dtype}".encode())
        for row in sorted({self.n * k // _SAMPLES for k in range(_SAMPLES)} | {self.n - 1} if self.n else ()):
            for part in self.read((row, row + 1)):
                digest.update(part.tobytes())
        return digest.hexdigest()


def _is_path(value):
    return isinstance(value, (str, os.PathLike))


def _opened(name, array):
    """Map a file into memory, and leave other arrays as they are."""
    if _is_path(array):
        opened = np.load(array, mmap_mode="r")
        if not isinstance(opened, np.ndarray):
            raise ValueError(f"{name}: {os.fspath(array)} is not an .npy file")
        return opened
    return array if hasattr(array, "shape") and hasattr(array, "dtype") else np.asarray(array)


@contextmanager
def _target(out, system, checkpoint, saved):
    """The array for x. A file has its name only when it is complete."""
    if not _is_path(out):
        if tuple(np.shape(out)) != (system.n,) or not np.can_cast(system.dtype, out.dtype, "same_kind"):
            raise ValueError(f"out has the shape {tuple(np.shape(out))} and the type {out.dtype}, expected ({system.n},) and {system.dtype}")
        yield out
        return
    part = os.fspath(out) + ".part"
    x = np.lib.format.open_memmap(part, mode="r+" if saved else "w+", dtype=system.dtype, shape=(system.n,))
    try:
        if x.shape != (system.n,) or x.dtype != system.dtype:
            raise ValueError(f"{part} does not belong to the checkpoint {checkpoint}. Delete both to start again")
        yield x
    except BaseException:
        del x
        # Without its state, a part of x is of no use.
        if checkpoint is None or not os.path.exists(checkpoint):
            os.remove(part)
        raise
    del x
    os.replace(part, out)


def _saved(checkpoint, system):
    """Whether there is a checkpoint, and the state in it."""
    if checkpoint is None or not os.path.exists(checkpoint):
        return False, None
    with open(checkpoint, "rb") as file:
        try:
            header = json.loads(file.readline())
            same = header["system"] == system.fingerprint()
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{checkpoint} is not a checkpoint of bandsolve") from None
        if not same:
            raise ValueError(f"the checkpoint {checkpoint} belongs to another system. Delete it to start again")
        return True, file.read()


class _Checkpoint:
    """Writes the state of a solver to a file, if there is one."""

    def __init__(self, path, system, solver, x):
        self.path, self.solver, self.x = path, solver, x
        self.header = None if path is None else json.dumps({"system": system.fingerprint()}).encode() + b"\n"
        self.last = time.monotonic()

    def save_sometimes(self, written):
        if self.path is not None and time.monotonic() - self.last > _SECONDS:
            self.save(written)

    def save(self, written):
        """Save the state, after x is on the disk."""
        if self.path is None:
            return
        if written is not None:
            written.result()
        _flush(self.x)
        part = os.fspath(self.path) + ".part"
        with open(part, "wb") as file:
            file.write(self.header)
            file.write(self.solver.state())
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, self.path)
        self.last = time.monotonic()


def _main(arguments=None):
    """Solve a system in files."""
    import argparse
    import sys

    parser = argparse.ArgumentParser(prog="python -m bandsolve.out_of_core", description="Solve a tridiagonal system that is larger than memory.")
    parser.add_argument("sub", help="n - 1 entries below the diagonal: an .npy file, or a number")
    parser.add_argument("diag", help="n entries on the diagonal")
    parser.add_argument("sup", help="n - 1 entries above the diagonal")
    parser.add_argument("rhs", help="the right-hand side, an .npy file")
    parser.add_argument("--out", required=True, metavar="X.npy", help="file for x")
    parser.add_argument("--piece-rows", type=int, default=1 << 20, metavar="ROWS", help="number of rows in memory (default: 1048576)")
    parser.add_argument("--checkpoint", metavar="FILE", help="file for the state. If it exists, continue from it")
    args = parser.parse_args(arguments)

    def number(text):
        try:
            return float(text)
        except ValueError:
            return text

    started = time.monotonic()

    def progress(done, total):
        if sys.stderr.isatty():
            rate = done / max(time.monotonic() - started, 1e-9)
            print(f"\r{done / total:4.0%}  {rate:.2e} rows/s, {(total - done) / rate:.0f} s left ", end="", file=sys.stderr, flush=True)

    try:
        report = solve_tridiagonal(
            *map(number, [args.sub, args.diag, args.sup]), args.rhs, args.out, piece_rows=args.piece_rows, checkpoint=args.checkpoint, progress=progress
        )
    except (OSError, ValueError, MemoryError, np.linalg.LinAlgError) as error:
        sys.exit(f"error: {error}")
    seconds = time.monotonic() - started
    print(f"\rsolved in {seconds:.1f} s, backward error {report.backward_error:.1e} after {report.refinement_steps} refinement steps")


if __name__ == "__main__":
    _main()
