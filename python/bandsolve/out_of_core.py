"""Tridiagonal systems that are larger than memory.

The arrays are in files: `.npy` files, or datasets of h5py or zarr. The solver reads them twice, piece by piece, and writes x once.

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
import math
import operator
import os
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress

import numpy as np

from bandsolve import _bandsolve

__all__ = ["solve_tridiagonal"]

# Number of seconds between two states in the file `checkpoint`.
_SECONDS = 30
# Number of rows that a checkpoint compares.
_SAMPLES = 64


def solve_tridiagonal(sub, diag, sup, rhs, out, *, piece_rows=1 << 18, checkpoint=None, progress=None):
    """Solve a tridiagonal system whose arrays do not fit into memory.

    Row i of the system is ``sub[i-1] * x[i-1] + diag[i] * x[i] + sup[i] * x[i+1] == rhs[i]``.

    Parameters
    ----------
    sub : path, array or number
        The n - 1 entries below the diagonal: ``sub[i]`` is in row i + 1. Either the path of an ``.npy`` file, or any object with a `shape`, a `dtype`
        and slices: a NumPy array, an array of `numpy.memmap`, a dataset of h5py or zarr. A number is the entry of every row. Paths are faster
        than `numpy.memmap`.
    diag : path, array or number
        The n entries on the diagonal.
    sup : path, array or number
        The n - 1 entries above the diagonal: ``sup[i]`` is in row i.
    rhs : path or array
        The right-hand side, with n entries.
    out : path or array
        The path of an ``.npy`` file for x, or any object with a `shape`, a `dtype` and assignment to slices. The file appears when x is complete. Until
        then its name ends in ``.part``. `out` must not be one of the other arrays.
    piece_rows : int, default 262144
        Number of rows in memory, a multiple of 4096 for best use. The function needs about 12 words for each of them, and n / 150 words more. x does
        not depend on it.
    checkpoint : path, optional
        A file for the state of the solve, written every 30 seconds, and when an exception such as KeyboardInterrupt ends the call. If the file exists,
        the solve continues from it. If x was being corrected, the solve continues where all of x is computed from the unknowns at the ends of partitions.
        The function deletes the file at the end, and after errors that another call would repeat. `out` must be a path.
    progress : callable, optional
        Called as ``progress(done, total)`` after each piece, with numbers of rows in all passes over the system. `total` grows if x must be
        corrected.

    Returns
    -------
    bandsolve.Report
        How the system was solved, and an upper bound of the backward error of x.

    Raises
    ------
    numpy.linalg.LinAlgError
        The matrix is singular, or the backward error is too large. No file `out` appears. If `out` is an array, it holds the last x.
    ValueError
        An array has the wrong shape, or contains NaN or infinity. `out` or `checkpoint` is also an input. The checkpoint belongs to another system.
    TypeError
        An argument has no numbers, or `out` cannot store those of x.
    OSError
        A file cannot be read or written.
    MemoryError
        There is not enough memory for the pieces. Pass a smaller `piece_rows`.

    See Also
    --------
    - `bandsolve.solve_tridiagonal`: for systems in memory.

    Notes
    -----
    The rows are divided into partitions of 4096. The first pass reduces each partition to two equations between its first and its last unknown and
    the nearest unknowns of the partitions beside it. These equations are a banded system with n / 2048 unknowns, which is solved in memory. The
    second pass computes the other unknowns and measures the backward error. If it is too large, the solver repeats both passes for the residual, at most
    three times. A separate thread reads and writes while the other threads compute.

    The solver computes in single precision if all arrays are in single or half precision, otherwise in double precision, and in complex numbers if any
    argument is complex.

    A checkpoint belongs to the sizes and times of the files and to the numbers in 64 rows. Other changes of arrays are not detected.

    Examples
    --------
    A right-hand side in an array that is mapped into memory, and a checkpoint:

    >>> import os, tempfile
    >>> import numpy as np, bandsolve.out_of_core
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rhs = np.lib.format.open_memmap(os.path.join(folder, "rhs.npy"), mode="w+", dtype=np.float32, shape=(300_000,))
    ...     rhs[:] = 6
    ...     report = bandsolve.out_of_core.solve_tridiagonal(
    ...         1.0, 4.0, 1.0, rhs, os.path.join(folder, "x.npy"), piece_rows=102_400, checkpoint=os.path.join(folder, "state"),
    ...         progress=lambda done, total: print(f"{done / total:.0%}", end=" "))
    ...     print(round(float(np.load(os.path.join(folder, "x.npy"))[150_000]), 6), sorted(os.listdir(folder)))
    17% 34% 50% 67% 84% 100% 1.0 ['rhs.npy', 'x.npy']
    """
    piece_rows = operator.index(piece_rows)
    if piece_rows < 1:
        raise ValueError(f"piece_rows is {piece_rows}, expected at least 1")
    with closing(_System(sub, diag, sup, rhs)) as system:
        _check_distinct(system, out, checkpoint)
        saved = None if checkpoint is None else _Checkpoint(checkpoint, system, out)
        state = saved.load(system) if saved else None
        solver = _bandsolve.PieceSolver(np.empty(0, system.dtype), system.n, piece_rows, state)
        with _target(out, system, saved, state is not None) as x, ThreadPoolExecutor(1) as disk:
            del state
            _run(solver, system, x, disk, saved, progress)
            try:
                report = solver.report()
            except np.linalg.LinAlgError:
                if saved:
                    saved.forget()
                raise
    if saved:
        saved.forget()
    return report


def _run(solver, system, x, disk, saved, progress):
    """Process all pieces. The thread `disk` reads the next piece and writes x of the last one, in the order of the calls."""
    ahead = written = unwritten = None
    try:
        while (piece := solver.next_piece()) is not None:
            rows, following, (reads_x, writes_x), (done, total) = piece
            here = ahead or disk.submit(system.read, rows)
            before = disk.submit(x.__getitem__, slice(*rows)) if reads_x else None
            ahead = disk.submit(system.read, following) if following[0] < following[1] else None
            values = np.empty(rows[1] - rows[0], system.dtype)
            if reads_x:
                values[:] = before.result() if system.dtype.kind == "c" else np.real(before.result())
            if saved and reads_x and not writes_x and rows[0] == 0:
                # States before this one are not valid for a corrected x.
                saved.save(solver, x)
            unwritten = (piece, values) if writes_x else None
            try:
                solver.advance(*here.result(), values)
            except (np.linalg.LinAlgError, ValueError, TypeError):
                # Another call would fail in the same way.
                if saved:
                    saved.forget()
                raise
            if writes_x:
                if written is not None:
                    written.result()
                written = disk.submit(x.__setitem__, slice(*rows), values)
                if not following[0] < following[1]:
                    written.result()
            unwritten = None
            if saved and time.monotonic() - saved.last > _SECONDS:
                if written is not None:
                    written.result()
                saved.save(solver, x)
            if progress is not None:
                progress(done + rows[1] - rows[0], total)
        _flush(x)
    except BaseException:
        if saved:
            # There is no state to save if x cannot be written: these calls raise again.
            if written is not None:
                written.result()
            # After Ctrl-C the solver may have processed a piece whose x is not written.
            if unwritten is not None and solver.next_piece() != unwritten[0]:
                disk.submit(x.__setitem__, slice(*unwritten[0][0]), unwritten[1]).result()
            saved.save(solver, x)
        raise


def _flush(x):
    """Write x to the disk, if it is in a file."""
    flush = getattr(x, "flush", None) or getattr(getattr(x, "file", None), "flush", None)
    if flush is not None:
        flush()


class _File:
    """An `.npy` file of one dimension, read and written by slices."""

    def __init__(self, path, mode="rb"):
        self.path = os.fspath(path)
        self._file = open(path, mode)
        try:
            version = np.lib.format.read_magic(self._file)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            self.shape, _, self.dtype = read(self._file)
        except ValueError as error:
            self._file.close()
            raise ValueError(f"{self.path} is not an .npy file: {error}") from None
        self._start = self._file.tell()
        size = os.fstat(self._file.fileno()).st_size
        if self.dtype.hasobject or size < self._start + math.prod(self.shape) * self.dtype.itemsize:
            self._file.close()
            raise ValueError(f"{self.path} is incomplete, or does not contain numbers")

    @classmethod
    def create(cls, path, dtype, n):
        """Create a file with memory on the disk for n numbers."""
        try:
            with open(path, "wb") as file:
                np.lib.format.write_array_header_1_0(file, {"descr": np.lib.format.dtype_to_descr(dtype), "fortran_order": False, "shape": (n,)})
                size = file.tell() + n * dtype.itemsize
                if hasattr(os, "posix_fallocate") and size > file.tell():
                    file.flush()
                    os.posix_fallocate(file.fileno(), 0, size)
                else:
                    file.truncate(size)
        except BaseException:
            with suppress(OSError):
                os.remove(path)
            raise
        return cls(path, "r+b")

    def __getitem__(self, rows):
        part = np.empty(rows.stop - rows.start, self.dtype)
        self.read_into(part, rows.start)
        return part

    def read_into(self, part, first):
        """Fill an array of this type with the numbers from `first` on."""
        self._file.seek(self._start + first * self.dtype.itemsize)
        if self._file.readinto(part.view(np.uint8).data) != part.nbytes:
            raise OSError(f"{self.path} ended while it was read")

    def __setitem__(self, rows, values):
        self._file.seek(self._start + rows.start * self.dtype.itemsize)
        self._file.write(values.view(np.uint8).data)

    def flush(self):
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self):
        self._file.close()


class _System:
    """The arrays of a system, and their type."""

    def __init__(self, sub, diag, sup, rhs):
        self.arrays = {name: _opened(name, array) for name, array in [("sub", sub), ("diag", diag), ("sup", sup), ("rhs", rhs)]}
        rhs = self.arrays["rhs"]
        if len(rhs.shape) != 1:
            raise ValueError(f"rhs has the shape {tuple(rhs.shape)}, expected one dimension")
        self.n = rhs.shape[0]
        for name, length in [("sub", self.n - 1), ("diag", self.n), ("sup", self.n - 1)]:
            shape = tuple(self.arrays[name].shape)
            if shape not in [(), (max(length, 0),)]:
                hint = ". Entries outside of the matrix must be left out" if shape == (self.n,) else ""
                raise ValueError(f"{name} has the shape {shape}, expected ({max(length, 0)},){hint}")
        arrays = [array for array in self.arrays.values() if array.shape]
        numbers = [array[()] for array in self.arrays.values() if not array.shape]
        single = all(array.dtype.kind in "fc" and array.dtype.itemsize <= (8 if array.dtype.kind == "c" else 4) for array in arrays)
        is_complex = any(array.dtype.kind == "c" for array in arrays) or any(np.imag(number) for number in numbers)
        # Arrays for two pieces, which are used in turn.
        self._buffers, self._turn = {}, False
        self.dtype = np.result_type(np.float32 if single else np.float64, np.complex64 if is_complex else np.float32)

    def close(self):
        """Close the files."""
        for array in self.arrays.values():
            if isinstance(array, _File):
                array.close()

    def read(self, rows):
        """Read rows of the four arrays. The entries outside of the matrix are zero. The result is valid until the call after the next one."""
        first, end = rows
        self._turn = not self._turn
        return [self._part("sub", first - 1, end - 1), *(self._part(name, first, end) for name in ("diag", "sup", "rhs"))]

    def _part(self, name, first, end):
        array = self.arrays[name]
        buffer = self._buffers.get((name, self._turn))
        if buffer is None or len(buffer) < end - first:
            buffer = self._buffers[name, self._turn] = np.empty(end - first, self.dtype)
        part = buffer[: end - first]
        if not array.shape:
            part[:] = array[()] if self.dtype.kind == "c" else np.real(array[()])
            return part
        low, high = max(first, 0), min(end, array.shape[0])
        part[: low - first] = part[high - first :] = 0
        inside = part[low - first : high - first]
        if isinstance(array, _File) and array.dtype == self.dtype:
            array.read_into(inside, low)
            return part
        values = array[low:high]
        if np.ma.is_masked(values):
            raise ValueError(f"{name} has masked entries")
        inside[:] = values
        return part

    def fingerprint(self, *outputs):
        """A digest of the files and of some rows, which tells whether a checkpoint belongs to this call."""
        digest = hashlib.sha256(repr((self.n, str(self.dtype), *map(os.path.realpath, outputs))).encode())
        for array in self.arrays.values():
            if isinstance(array, _File):
                info = os.stat(array.path)
                digest.update(repr((info.st_size, info.st_mtime_ns)).encode())
        for row in sorted({self.n * k // _SAMPLES for k in range(_SAMPLES)} | {self.n - 1}) if self.n else ():
            for part in self.read((row, row + 1)):
                digest.update(part.tobytes())
        return digest.hexdigest()


def _is_path(value):
    return isinstance(value, (str, os.PathLike))


def _opened(name, array):
    """Open a file, and leave other arrays as they are."""
    if _is_path(array):
        path, array = array, _File(array)
        if not array.shape:
            array.close()
            array = np.load(path)
    elif isinstance(array, np.ndarray) or not (hasattr(array, "shape") and hasattr(array, "dtype")):
        array = _bandsolve.as_array(array)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{name} has the type {array.dtype}, expected numbers")
    if not array.shape and not np.isfinite(array[()]):
        raise ValueError(f"{name} is not finite")
    return array


def _part_of(path, token=None):
    return os.fspath(path) + ("" if token is None else f".{token}") + ".part"


def _replace(part, path):
    """Give a complete file its name. After a power failure there is the old file or the new one."""
    os.replace(part, path)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(os.path.dirname(os.path.realpath(path)), os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _place(array):
    """The file of an array or a dataset, and the name of the dataset in it, or None."""
    if _is_path(array):
        return os.path.realpath(array), None
    for path in (getattr(array, "path", None), getattr(array, "filename", None)):
        if isinstance(path, (str, os.PathLike)):
            return os.path.realpath(path), None
    file = getattr(getattr(array, "file", None), "filename", None)
    return None if file is None else (os.path.realpath(file), getattr(array, "name", None))


def _check_distinct(system, out, checkpoint):
    """Raise ValueError if an output is also an input or another output."""
    if checkpoint is not None and not _is_path(out):
        raise ValueError("checkpoint needs the path of a file as out")
    inputs = {place: name for name, array in system.arrays.items() if (place := _place(array))}
    for name, array in system.arrays.items():
        if array is out or (isinstance(array, np.ndarray) and isinstance(out, np.ndarray) and np.may_share_memory(array, out)):
            raise ValueError(f"out shares memory with {name}")
    paths = [path for output in (out, checkpoint) if output is not None and _is_path(output) for path in (output, _part_of(output))]
    for output in [*paths, out]:
        if (input_name := inputs.get(_place(output))) is not None:
            name = os.fspath(output) if _is_path(output) else "out"
            raise ValueError(f"{name} is also {input_name}. Choose another name for the output")
    if len({os.path.realpath(path) for path in paths}) < len(paths):
        raise ValueError(f"out and checkpoint are the same file or differ by .part only: {os.fspath(out)}, {os.fspath(checkpoint)}")


@contextmanager
def _target(out, system, saved, continues):
    """The array for x. A file has its name only when it is complete."""
    if not _is_path(out):
        if not (hasattr(out, "shape") and hasattr(out, "dtype")):
            raise TypeError("out is not an array, and not a path")
        if tuple(out.shape) != (system.n,):
            raise ValueError(f"out has the shape {tuple(out.shape)}, expected ({system.n},)")
        if not np.can_cast(system.dtype, out.dtype, "safe"):
            raise TypeError(f"out has the type {out.dtype}, which cannot store {system.dtype}")
        if isinstance(out, np.ndarray) and not out.flags.writeable:
            raise ValueError("out is read-only")
        yield out
        return
    part = saved.part if saved else _part_of(out)
    x = _File(part, "r+b") if continues else _File.create(part, system.dtype, system.n)
    try:
        yield x
        x.close()
    except BaseException:
        with suppress(OSError):
            x.close()
        # Without its state, a part of x is of no use.
        if saved is None or not os.path.exists(saved.path):
            os.remove(part)
        raise
    _replace(part, out)


class _Checkpoint:
    """The state of a solver in a file."""

    def __init__(self, path, system, out):
        self.path, self.fingerprint = path, system.fingerprint(out, path)
        # Other calls write to other files until x is complete.
        self.part = _part_of(out, self.fingerprint[:8])
        self.last = time.monotonic()
        self.useful = True

    def load(self, system):
        """The state in the file, or None if there is no file, or no x that belongs to it."""
        if not os.path.exists(self.path):
            return None
        with open(self.path, "rb") as file:
            try:
                fingerprint = json.loads(file.readline())["system"]
            except (ValueError, KeyError, TypeError):
                raise ValueError(f"{os.fspath(self.path)} is not a checkpoint of bandsolve") from None
            if fingerprint != self.fingerprint:
                raise ValueError(f"the checkpoint {os.fspath(self.path)} belongs to another system. Delete it to start again")
            state = file.read()
        try:
            with closing(_File(self.part)) as x:
                return state if x.shape == (system.n,) and x.dtype == system.dtype else None
        except (OSError, ValueError):
            return None

    def save(self, solver, x):
        """Save the state, after x is on the disk."""
        if not self.useful:
            return
        _flush(x)
        part = _part_of(self.path)
        with open(part, "wb") as file:
            file.write(json.dumps({"system": self.fingerprint}).encode() + b"\n")
            file.write(solver.state())
            file.flush()
            os.fsync(file.fileno())
        _replace(part, self.path)
        self.last = time.monotonic()

    def forget(self):
        """Delete the file, which is of no use any more."""
        self.useful = False
        for path in (self.path, _part_of(self.path)):
            with suppress(FileNotFoundError):
                os.remove(path)


def _main(arguments=None):
    """Solve a system in files."""
    import argparse
    import sys

    parser = argparse.ArgumentParser(
        prog="python -m bandsolve.out_of_core",
        description="Solve a tridiagonal system that is larger than memory.",
        epilog="Options come first, then --, if a number is negative and has an exponent: --out x.npy -- -1e-3 1 -1e-3 rhs.npy",
    )
    parser.add_argument("sub", help="n - 1 entries below the diagonal: an .npy file, or a number")
    parser.add_argument("diag", help="n entries on the diagonal")
    parser.add_argument("sup", help="n - 1 entries above the diagonal")
    parser.add_argument("rhs", help="the right-hand side, an .npy file")
    parser.add_argument("--out", required=True, metavar="X.npy", help="file for x")
    parser.add_argument("--piece-rows", type=int, default=1 << 18, metavar="ROWS", help="number of rows in memory (default: 262144)")
    parser.add_argument("--checkpoint", metavar="FILE", help="file for the state. If it exists, continue from it")
    args = parser.parse_args(arguments)

    def number(text):
        for kind in (float, complex):
            with suppress(ValueError):
                return kind(text)
        return text

    started, first = time.monotonic(), None

    def progress(done, total):
        nonlocal first
        if first is None:
            first = done, time.monotonic()
        elif sys.stderr.isatty():
            rate = (done - first[0]) / max(time.monotonic() - first[1], 1e-9)
            print(f"\r{done / total:4.0%}, {rate:.2e} rows/s, {(total - done) / rate:.0f} s left ", end="", file=sys.stderr, flush=True)

    try:
        report = solve_tridiagonal(
            *map(number, [args.sub, args.diag, args.sup]), args.rhs, args.out, piece_rows=args.piece_rows, checkpoint=args.checkpoint, progress=progress
        )
    except (OSError, ValueError, TypeError, MemoryError, np.linalg.LinAlgError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("interrupted" if args.checkpoint is None else "interrupted. The same command continues")
    seconds = time.monotonic() - started
    if sys.stderr.isatty():
        print(file=sys.stderr)
    if report.attention:
        print(report.attention, file=sys.stderr)
    print(f"solved in {seconds:.1f} s, backward error {report.backward_error:.1e} after {report.refinement_steps} refinement steps")


if __name__ == "__main__":
    _main()
