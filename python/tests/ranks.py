"""What the ranks of `test_mpi.py` do: every answer is compared with the whole system, which each rank knows.

usage: mpirun -n RANKS python ranks.py
"""

import concurrent.futures
import resource
import sys
import warnings

import numpy as np
from conftest import backward_error, dense, random
from mpi4py import MPI

import bandsolve.mpi as ours
from bandsolve import poisson

EPSILON = {np.dtype(kind): np.finfo(kind).eps for kind in (np.float32, np.float64, np.complex64, np.complex128)}
COMM = MPI.COMM_WORLD


def own(n, empty):
    """Own rows of n: the later the rank, the more; of `empty` ranks none."""
    weights = np.array([0 if rank in empty else 1 + rank for rank in range(COMM.size)])
    if not weights.any():
        weights[0] = 1
    ends = np.round(n * np.cumsum(weights) / weights.sum()).astype(int)
    return slice(ends[COMM.rank - 1] if COMM.rank else 0, ends[COMM.rank])


def whole(part):
    """The parts of all ranks."""
    return np.concatenate(COMM.allgather(part))


def same_on_all(value):
    assert all(other == COMM.allgather(value)[0] for other in COMM.allgather(value)), value


def tridiagonal(rng, dtype, periodic, empty):
    n = 61
    sub, diag, sup = (random(rng, n, dtype) for _ in range(3))
    diag += 2.5
    rhs, mine = random(rng, (n, 3), dtype), own(n, empty)
    a = dense(sub, diag, sup, periodic)
    x, report = ours.solve_tridiagonal(COMM, sub[mine], diag[mine], sup[mine], rhs[mine], periodic=periodic, full_output=True)
    assert x.shape == rhs[mine].shape and x.dtype == dtype
    assert backward_error(a, whole(x), rhs) <= 16 * EPSILON[np.dtype(dtype)]
    assert report.backward_error <= 8 * EPSILON[np.dtype(dtype)] and len(report.backward_errors) == 3
    same_on_all((report.backward_errors, report.method))
    # One matrix, many solves; transposes; products.
    matrix = ours.Blocks(COMM, sub[mine], diag[mine], sup[mine], periodic=periodic)
    factors = matrix.factor()
    for transpose, op in ((False, a), (True, a.T), ("H", a.conj().T)):
        y = factors.solve(rhs[mine][:, 0], transpose=transpose)
        assert backward_error(op, whole(y)[:, None], rhs[:, :1]) <= 16 * EPSILON[np.dtype(dtype)]
    assert np.allclose(whole(matrix @ rhs[mine]), a @ rhs, rtol=1e-4)


def blocks(rng, dtype, periodic, empty):
    m, b = 13, 4
    sub, diag, sup = (random(rng, (m, b, b), dtype) for _ in range(3))
    diag += 6 * np.eye(b)
    rhs, mine = random(rng, (m, b, 2), dtype), own(m, empty)
    a = np.zeros((m * b, m * b), dtype)
    for i in range(m):
        for j, block in ((i - 1, sub[i]), (i, diag[i]), (i + 1, sup[i])):
            if 0 <= j < m or periodic:
                a[i * b:][:b, j % m * b:][:, :b] += block
    for method in ("auto", "bcyclic", "block-spike", "spike-truncated"):
        matrix = ours.Blocks(COMM, sub[mine], diag[mine], sup[mine], periodic=periodic)
        x, report = matrix.factor(method).solve(rhs[mine], full_output=True)
        assert x.shape == rhs[mine].shape and report.backward_error <= 8 * EPSILON[np.dtype(dtype)], report
        assert backward_error(a, whole(x).reshape(m * b, 2), rhs.reshape(m * b, 2)) <= 16 * EPSILON[np.dtype(dtype)]
    x = ours.solve_block_tridiagonal(COMM, sub[mine], diag[mine], sup[mine], rhs[mine][..., 0], periodic=periodic)
    assert backward_error(a, whole(x).reshape(-1, 1), rhs[..., :1].reshape(-1, 1)) <= 16 * EPSILON[np.dtype(dtype)]


def bands(rng, dtype, _, empty):
    n, lower, upper = 57, 3, 2
    rows, mine = random(rng, (n, lower + upper + 1), dtype), own(n, empty)
    rows[:, lower] += 4
    a = np.zeros((n, n), dtype)
    for i in range(n):
        for j in range(max(0, i - lower), min(n, i + upper + 1)):
            a[i, j] = rows[i, lower + j - i]
    rhs = random(rng, n, dtype)
    x, report = ours.solve_banded(COMM, (lower, upper), rows[mine], rhs[mine], full_output=True)
    assert report.backward_error <= 8 * EPSILON[np.dtype(dtype)]
    assert backward_error(a, whole(x)[:, None], rhs[:, None]) <= 16 * EPSILON[np.dtype(dtype)]
    assert np.allclose(whole(ours.Banded(COMM, (lower, upper), rows[mine]) @ rhs[mine]), a @ rhs, rtol=1e-4)


def batches(rng, dtype, periodic, empty):
    """Systems along the first, the middle and the last axis, beside `numpy.linalg`, and products and transposes of them."""
    n, epsilon = 23, np.finfo(dtype).eps
    mine = own(n, empty)
    sub, diag, sup, rhs = (random(rng, (n, 3, 4), dtype) for _ in range(4))
    diag += 3
    systems = [(dense(sub[:, i, j], diag[:, i, j], sup[:, i, j], periodic), rhs[:, i, j]) for i in range(3) for j in range(4)]
    for axis in (0, 1, -1):
        given = [np.moveaxis(array[mine], 0, axis) for array in (sub, diag, sup, rhs)]
        x, report = ours.solve_batch(COMM, *given, axis=axis, periodic=periodic, full_output=True)
        assert x.shape == given[3].shape and x.dtype == dtype and report.backward_error <= 8 * epsilon, report
        x = whole(np.moveaxis(x, axis, 0)).reshape(n, 12)
        for k, (a, d) in enumerate(systems):
            assert backward_error(a, x[:, k : k + 1], d[:, None]) <= 16 * epsilon
        same_on_all((report.backward_errors, report.method))
        # One batch, two right-hand sides; transposes; products.
        batch = ours.Batch(COMM, *given[:3], axis=axis, periodic=periodic)
        factors, two = batch.factor(), np.stack([given[3], 2 * given[3]], axis=-1)
        for transpose in (False, True, "H"):
            y = factors.solve(two, transpose=transpose)
            assert y.shape == two.shape
            y = whole(np.moveaxis(y, axis if axis >= 0 else 2, 0)).reshape(n, 12, 2)
            for k, (a, d) in enumerate(systems):
                op = {False: a, True: a.T, "H": a.conj().T}[transpose]
                assert backward_error(op, y[:, k], np.stack([d, 2 * d], axis=-1)) <= 16 * epsilon
        z = whole(np.moveaxis(batch @ given[3], axis, 0)).reshape(n, 12)
        assert all(np.allclose(z[:, k], a @ d, rtol=1e-4, atol=1e-5) for k, (a, d) in enumerate(systems))
    # Systems of one axis alone; none at all.
    x = ours.solve_batch(COMM, sub[mine, 0, 0], diag[mine, 0, 0], sup[mine, 0, 0], rhs[mine, 0, 0], periodic=periodic)
    assert backward_error(systems[0][0], whole(x)[:, None], rhs[:, 0, 0][:, None]) <= 16 * epsilon
    none = np.ones((mine.stop - mine.start, 0), dtype)
    assert ours.solve_batch(COMM, none, none, none, none, periodic=periodic).shape == none.shape


def boxes(rng, dtype, empty):
    """Slabs beside the solver on one machine, which knows the whole box."""
    epsilon = np.finfo(dtype).eps
    points = np.cumsum(1 + 0.3 * rng.random(14))
    for shape, problem in [
        ((13,), {"boundary": ("dirichlet", 0.5)}),
        ((12, 7), {"spacing": (0.25, 0.5), "shift": 0.5, "grid": ("node", "cell")}),
        ((12, 7), {"boundary": ((("dirichlet", rng.random(7)), "neumann"), "periodic")}),
        ((12, 5, 6), {"coordinates": (points, None, None), "boundary": ("dirichlet", ("neumann", rng.random((12, 6))), "periodic")}),
        ((12, 7), {"boundary": ((("robin", 1.5, 0.5, rng.random(7)), "neumann"), ("dirichlet", ("robin", 2.0, 0.8)))}),
        ((9, 8), {"boundary": "neumann", "grid": "cell", "mean": 0.75, "removable": np.inf}),
    ]:
        mine, f = own(shape[0], empty), rng.normal(size=shape).astype(dtype)
        expected, told = poisson.solve(f, **problem, full_output=True)
        u, report = ours.solve_poisson(COMM, f[mine], **problem, full_output=True)
        assert u.shape == f[mine].shape and u.dtype == dtype and report["shape"] == shape and report["method"] == "fft", report
        assert report["backward_error"] <= 8 * epsilon and len(report["backward_errors"]) == 1
        # Condition numbers are below 10⁴.
        size = max(abs(expected).max(), 1e-3)
        assert abs(whole(u) - expected).max() <= 1e4 * epsilon * size, problem
        assert abs(report["removed"] - told["removed"]) <= 1e3 * epsilon * abs(f).max() and report["mean"] == told["mean"]
        same_on_all(report)
        slabs = ours.PoissonSlabs(COMM, f[mine].shape, **problem, dtype=dtype)
        two, report = slabs.solve(np.stack([f[mine], -2 * f[mine]]), full_output=True)
        assert slabs.whole == shape and two.shape == (2, *f[mine].shape) and len(report["backward_errors"]) == 2
        assert np.array_equal(two[0], u) and np.array_equal(slabs.solve(f[mine].astype("f8")), u)


def types():
    """A complex right-hand side of a real matrix, integers, and types that differ between ranks."""
    mine = own(20, ())
    m = mine.stop - mine.start
    ones = np.ones(m, int)
    x = ours.solve_tridiagonal(COMM, ones, 4 * ones, ones, 6j * ones)
    assert x.dtype == np.complex128
    kind = np.float32 if COMM.rank else np.float64
    assert ours.Blocks(COMM, ones.astype(kind), ones.astype(kind), ones.astype(kind)).dtype == (
        np.float64)


def refused(error, what, call, *arguments, **options):
    """All ranks raise the same error, which names what is wrong."""
    try:
        call(*arguments, **options)
    except error as raised:
        assert what in str(raised), raised
        same_on_all(str(raised))
    else:
        raise AssertionError(f"nothing was raised: {what}")


def errors():
    last, off = COMM.size - 1, np.full(5, -1.0)
    diag = np.full(5, 3.0)
    # On one rank alone.
    wrong = np.full(4 if COMM.rank == last else 5, -1.0)
    refused(ValueError, f"rank {last}: sub has the shape (4,)", ours.solve_tridiagonal, COMM, wrong, diag, off, diag)
    refused(ValueError, f"rank {last}: rhs has the shape (4,), expected (5,) or (5, k)", ours.solve_tridiagonal, COMM, off, diag, off, wrong)
    nan = np.where(COMM.rank == last, np.nan, diag)
    refused(ValueError, f"rank {last}", ours.solve_tridiagonal, COMM, off, nan, off, diag)
    refused(ValueError, "rhs", ours.solve_tridiagonal, COMM, off, diag, off, nan)
    refused(TypeError, "expected numbers", ours.solve_tridiagonal, COMM, off, diag, off, np.array([None] * 5))
    refused(ValueError, "rows has the shape", ours.solve_banded, COMM, (1, 1), np.ones((5, 2)), diag)
    refused(ValueError, "there is no method", ours.Blocks(COMM, off, diag, off).factor, "none")
    refused(ValueError, "over ranks", ours.Banded(COMM, (1, 1), np.ones((5, 3))).factor, "thomas")
    field = np.ones((5, 3))
    bad = np.where(COMM.rank == last, np.nan, field)
    refused(ValueError, f"rank {last}: sup has the shape (4,)", ours.solve_batch, COMM, off, diag, wrong, diag)
    refused(ValueError, f"rank {last}", ours.solve_batch, COMM, field, 4 * bad, field, field)
    refused(ValueError, f"rank {last}: rhs has the shape (4,)", ours.solve_batch, COMM, off, diag, off, wrong)
    refused(ValueError, "axis 2 is out of bounds", ours.solve_batch, COMM, field, field, field, field, axis=2)
    refused(ValueError, "use 'auto'", ours.Batch(COMM, field, 4 * field, field).factor, "thomas")
    refused(np.linalg.LinAlgError, "singular", ours.solve_batch, COMM, 0 * field, 0 * field, 0 * field, field)
    refused(ValueError, f"rank {last}", ours.solve_poisson, COMM, bad)
    refused(TypeError, "expected real numbers", ours.solve_poisson, COMM, 1j * field)
    refused(ValueError, "boundary of axis 0 is 'open', expected one of dirichlet", ours.solve_poisson, COMM, field, boundary="open")
    refused(ValueError, "grid of axis 0 is 'edge', expected one of node, cell", ours.solve_poisson, COMM, field, grid="edge")
    refused(ValueError, "float32 or float64", ours.PoissonSlabs, COMM, (5, 3), dtype="c16")
    refused(ValueError, "f has the shape", ours.PoissonSlabs(COMM, (5, 3)).solve, np.ones((5, 4)))
    refused(ValueError, "coordinates", ours.solve_poisson, COMM, field, coordinates=(np.ones(2), None))
    refused(np.linalg.LinAlgError, "balance", ours.solve_poisson, COMM, field, boundary="neumann", grid="cell")
    refused(np.linalg.LinAlgError, "singular", ours.solve_tridiagonal, COMM, 0 * off, 0 * diag, 0 * off, diag)
    if COMM.size > 1:
        kind = "bcyclic" if COMM.rank == last else "auto"
        refused(ValueError, f"rank {last}: method is 'bcyclic'", ours.Blocks(COMM, off, diag, off).factor, kind)
        refused(ValueError, "shape of the systems", ours.solve_batch, COMM, *[np.ones((4, 2 if COMM.rank == last else 3))] * 4)
        other = 2.0 if COMM.rank == last else 1.0
        refused(ValueError, f"rank {last}: axis 0 is", ours.solve_poisson, COMM, np.ones((4, 3)), other)
        refused(ValueError, f"rank {last}: shift, mean", ours.solve_poisson, COMM, np.ones((4, 3)), shift=other)
        sides = ("dirichlet", np.full(3, other)), "neumann"
        refused(ValueError, f"rank {last}: axis 0 is", ours.solve_poisson, COMM, np.ones((4, 3)), boundary=(sides, "periodic"))
        sides = ("robin", 1.0, other), "neumann"
        refused(ValueError, f"rank {last}: axis 0 is", ours.solve_poisson, COMM, np.ones((4, 3)), boundary=(sides, "periodic"))
        refused(ValueError, f"rank {last}: shape of a plane", ours.solve_poisson, COMM, np.ones((4, 4 if COMM.rank == last else 3)))
        # Ranks that disagree about the size of blocks.
        b = 2 if COMM.rank == last else 3
        block = np.ones((2, b, b))
        refused(ValueError, "shape of blocks", ours.Blocks, COMM, block, block, block)


def lossy():
    """Conversions that would lose something are errors; arrays that only lie awkwardly in memory are copied."""
    last, m = COMM.size - 1, 5
    off, diag = np.full(m, -1.0), np.full(m, 3.0)
    # The imaginary parts used to be dropped.
    one, real = diag + 2j if COMM.rank == last else diag, {"dtype": np.float64}
    refused(ValueError, f"rank {last}: diag is complex, but dtype is float64", ours.Blocks, COMM, off, one, off, **real)
    rows = np.ones((m, 3), complex if COMM.rank == last else float)
    refused(ValueError, f"rank {last}: rows is complex", ours.Banded, COMM, (1, 1), rows, **real)
    refused(ValueError, f"rank {last}: sup is complex", ours.Batch, COMM, off, diag, one, **real)
    # The mask used to be dropped, and what stood under it was used.
    masked = np.ma.masked_array(diag, mask=np.arange(m) == 2) if COMM.rank == last else diag
    for call in (
        lambda: ours.Blocks(COMM, off, masked, off),
        lambda: ours.solve_tridiagonal(COMM, off, diag, off, masked),
        lambda: ours.solve_tridiagonal(COMM, masked, diag, off, diag),
        lambda: ours.solve_batch(COMM, off, masked, off, diag),
        lambda: ours.Blocks(COMM, off, diag, off) @ masked,
        lambda: ours.solve_poisson(COMM, masked),
    ):
        refused(ValueError, f"rank {last}", call)
    # Numbers at addresses that are no multiples of their size.
    def unaligned(array):
        room = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
        room[...] = array
        assert not room.flags.aligned
        return room
    expected = ours.solve_tridiagonal(COMM, off, diag, off, diag)
    assert np.array_equal(ours.solve_tridiagonal(COMM, *map(unaligned, (off, diag, off, diag))), expected)
    field = np.stack([diag, 2 * diag], axis=1)
    arrays = -field / 4, field, -field / 4, field
    assert np.array_equal(ours.solve_batch(COMM, *map(unaligned, arrays)), ours.solve_batch(COMM, *arrays))
    assert np.array_equal(ours.solve_poisson(COMM, unaligned(field)), ours.solve_poisson(COMM, field))
    points = np.arange(m * COMM.size + 2.0)
    coordinates = [(points, None), (unaligned(points), None)]
    first, second = (ours.solve_poisson(COMM, field, coordinates=given) for given in coordinates)
    assert np.array_equal(first, second)


def alone():
    """What fails on one rank alone: all ranks raise, and none waits for the others."""
    last, m = COMM.size - 1, 5
    off, diag = np.full(m, -1.0), np.full(m, 3.0)
    a = ours.Blocks(COMM, off, diag, off)
    factors, mine = a.factor(), COMM.rank == last
    # Warnings that are errors on one rank.
    huge = np.full(m, 1e300 if mine else 3.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error" if mine else "ignore")
        refused(RuntimeError, f"rank {last}: overflow", ours.Blocks, COMM, off, huge, off, dtype=np.float32)
    # Arguments of the wrong kind.
    class Unwilling:
        def __reduce__(self):
            raise TypeError("it is not sent")
    for what, options in [("seed", {"seed": "7"}), ("seed", {"seed": -1}), ("ncv", {"ncv": Unwilling()}), ("maxiter", {"maxiter": 0}),
                          ("tol", {"tol": 1}), ("sigma", {"sigma": np.nan}), ("k is 0", {"k": 0})]:
        options = options if mine else {name: {"k": 2, "sigma": 1.0, "tol": 0, "seed": 0}.get(name) for name in options}
        refused(ValueError, f"rank {last}: {what}", ours.eigsh, a, **{"k": 2, **options})
    refused(ValueError, f"k is {m * COMM.size + 1}, expected at most n = {m * COMM.size}", ours.eigsh, a, k=m * COMM.size + 1)
    if COMM.size > 1:
        refused(ValueError, f"rank {last}: seed is {last}", ours.eigsh, a, k=2, seed=COMM.rank if mine else 0)
        refused(ValueError, f"rank {last}: call is", a.__matmul__ if mine else factors.solve, diag)
    # The memory of a Krylov space: 144 GB on one rank, and nothing on the others.
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (1 << 36, hard))
    rows = 1_500_000 if mine else 0
    large = ours.Blocks(COMM, np.full(rows, -1.0), np.full(rows, 2.5), np.full(rows, -1.0))
    refused(MemoryError, "out of memory", ours.eigsh, large, k=4, sigma=1.0, ncv=12000)
    # A call of another thread than the first.
    if MPI.Query_thread() >= MPI.THREAD_SERIALIZED:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            def elsewhere():
                return pool.submit(a.factor).result() if mine else a.factor()
            refused(RuntimeError, "in another thread", elsewhere)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    assert np.allclose(factors.solve(a @ diag), diag)


def conditions():
    """Reports say where x may have no correct digit, however small the backward error is."""
    n, mine = 40, own(40, ())
    m = mine.stop - mine.start
    off, diag = np.full(m, -1.0), np.full(m, 2.0)
    _, report = ours.Blocks(COMM, off, diag, off).factor().solve(diag, full_output=True)
    # κ = ‖A⁻¹·diag(Σ|aᵢⱼ|)‖∞ with A⁻¹ of row sums up to (n + 1)²/8 and Σ|aᵢⱼ| of 3 and 4.
    assert report.attention is None and 2 / (n + 1)**2 <= report.rcond <= 24 / n**2, report
    # Rows [1 1; 1 1 + ε]: x solves the equations to rounding, and has no correct digit.
    even = np.arange(mine.start, mine.stop) % 2 == 0
    sub, sup = np.where(even, 0.0, 1.0), np.where(even, 1.0, 0.0)
    a = ours.Blocks(COMM, sub, np.where(even, 1.0, 1 + 2.0**-52), sup)
    _, report = a.factor().solve(np.where(even, 1.0, -1.0), full_output=True)
    assert report.backward_error <= 2e-15 and "no correct digit" in report.attention, report
    same_on_all(report)


def eigenvalues(empty):
    n, mine = 200, own(200, empty)
    m = mine.stop - mine.start
    off, diag = np.full(m, -1.0), np.full(m, 2.0)
    a = ours.Blocks(COMM, off, diag, off)
    w, v, info = ours.eigsh(a, 4, sigma=1.0, full_output=True)
    exact = 2 - 2 * np.cos(np.pi * np.arange(1, n + 1) / (n + 1))
    nearest = np.sort(exact[np.argsort(abs(exact - 1))[:4]])
    assert np.allclose(w, nearest, rtol=1e-12) and info["complete"] and info["converged"], (w, info)
    assert np.allclose(whole(a @ v), whole(v) * w, atol=1e-8) and np.allclose(whole(v).T @ whole(v), np.eye(4), atol=1e-10)
    # The accuracy of the number type by default, as of bandsolve.eigen.eigsh: it was 1e-8.
    tight, loose = (ours.eigsh(a, 4, sigma=1.0, tol=tol, full_output=True)[2] for tol in (0, 1e-2))
    assert tight["residuals"].max() <= 1e-12 and tight["solves"] >= loose["solves"], (tight, loose)
    # Too few restarts: an exception with what was found.
    try:
        # So far from all eigenvalues that their inverses are nearly equal.
        ours.eigsh(a, 4, sigma=-1000.0, maxiter=1)
    except RuntimeError as raised:
        assert type(raised).__name__ == "ArpackNoConvergence" and "of 4 eigenvalues found" in str(raised), raised
        assert len(raised.eigenvalues) < 4 and raised.eigenvectors.shape == (m, len(raised.eigenvalues))
    else:
        raise AssertionError("4 eigenvalues after one restart")
    # An M that is not definite: a negative entry that no random vector sees.
    hidden = np.where(np.arange(mine.start, mine.stop) == 77, -1e-9, 1.0)
    refused(np.linalg.LinAlgError, "positive definite", ours.eigsh, a, 2, ours.Blocks(COMM, 0 * off, hidden, 0 * off), sigma=1.0)
    # A pencil: B = 2.
    two = ours.Blocks(COMM, 0 * off, diag, 0 * off)
    assert np.allclose(ours.eigsh(a, 4, two, sigma=0.5, return_eigenvectors=False), nearest / 2, rtol=1e-12)
    same_on_all(w.tolist())


def split():
    """A communicator of some ranks, used at the same time as others."""
    part = COMM.Split(COMM.rank % 2, COMM.rank)
    off, diag = np.full(4, -1.0), np.full(4, 3.0 + COMM.rank % 2)
    x = ours.solve_tridiagonal(part, off, diag, off, np.ones(4))
    y = np.concatenate(part.allgather(x))
    n = len(y)
    a = dense(np.full(n, -1.0), np.full(n, 3.0 + COMM.rank % 2), np.full(n, -1.0))
    assert np.allclose(a @ y, 1)
    part.Free()


def main():
    for empty in ((), (0,), (COMM.size - 1,), (1,)):
        rng = np.random.default_rng(5)
        for dtype in EPSILON if not empty else (np.dtype(np.float64),):
            for periodic in (False, True):
                tridiagonal(rng, dtype, periodic, empty)
                blocks(rng, dtype, periodic, empty)
                batches(rng, dtype, periodic, empty)
            if dtype in (np.float32, np.float64):
                boxes(rng, dtype, empty)
            bands(rng, dtype, False, empty)
        eigenvalues(empty)
    types()
    errors()
    lossy()
    alone()
    conditions()
    split()
    if COMM.rank == 0:
        print(f"{COMM.size} ranks: all checks passed")


try:
    main()
except BaseException:
    import traceback

    traceback.print_exc()
    sys.stderr.flush()
    COMM.Abort(1)
