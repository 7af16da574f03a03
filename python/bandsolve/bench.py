"""Times beside SciPy: ``python -m bandsolve.bench``. With ``--factored``, times of time loops, also beside MKL. With ``--jax``, times of
`bandsolve.jax` beside ``jax.lax.linalg.tridiagonal_solve``. With ``--splines``, times of cubic splines."""

import argparse
import contextlib
import ctypes
import pathlib
import sys
import time

import numpy as np

import bandsolve

# A program, not a part of the library.
__all__ = ()


def times(contestants, seconds):
    """Median and least times of functions that take turns, in a new random order each time: each finds the caches and the threads
    as another one leaves them."""
    rng = np.random.default_rng(1)
    found = [[] for _ in contestants]
    for contestant in contestants:
        contestant()
    end = time.perf_counter() + seconds * len(contestants)
    while time.perf_counter() < end or len(found[0]) < 3:
        for k in rng.permutation(len(contestants)):
            begin = time.perf_counter()
            contestants[k]()
            found[k].append(time.perf_counter() - begin)
    return [(float(np.median(own)), min(own)) for own in found]


def line(name, ours, theirs, of_theirs):
    medians, least = theirs[0] / ours[0], theirs[1] / ours[1]
    print(f"{name:44} {ours[0] * 1e6:12.1f} {theirs[0] * 1e6:12.1f}  {of_theirs:28} {medians:6.1f} {least:6.1f}")


def factors(number, n, rng):
    """sub, diag, sup and rhs of a random system."""
    arrays = rng.uniform(-1, 1, (4, n))
    return arrays if number == "real" else arrays + 1j * rng.uniform(-1, 1, (4, n))


def open_mkl():
    """Return MKL, of the package ``mkl`` or on the search path of libraries, or None."""
    installed = sorted(str(path) for path in pathlib.Path(sys.prefix, "lib").glob("libmkl_rt.so*"))
    for name in [*installed, "libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"]:
        with contextlib.suppress(OSError):
            return ctypes.CDLL(name)
    return None


def open_pentapy():
    """Return the package pentapy, which solves pentadiagonal systems without pivoting, or None."""
    try:
        import pentapy
    except ImportError:
        print("pentapy is not found. To see its times, install it (pip install pentapy)")
        return None
    return pentapy


def by_pentapy(pentapy, ab):
    """Return a function that solves with the matrix `ab` of `solve_banded`, after its rows were shifted as pentapy needs them."""
    n = ab.shape[1]
    shifted = np.zeros_like(ab)
    for r, k in enumerate(range(2, -3, -1)):
        shifted[r, max(0, -k):n - max(0, k)] = ab[r, max(0, k):n - max(0, -k)]
    return lambda rhs: pentapy.solve(shifted, rhs, is_flat=True)


def solver_of_mkl(mkl, name, widths, arrays, rhs):
    """Return a function that solves with factors of MKL's routines for matrices such as "dgtt". ``widths`` are the widths of a band.

    The factors overwrite ``arrays``."""
    n = len(rhs)
    pivots, x, info = np.zeros(n, np.int32), np.empty_like(rhs), ctypes.c_int()
    one, rows = ctypes.c_int(1), ctypes.c_int(n)
    leading = [ctypes.byref(ctypes.c_int(array.shape[0])) for array in arrays if array.ndim == 2]
    # These pointers keep the arrays alive.
    storage = [array.ctypes.data_as(ctypes.c_void_p) for array in arrays]
    pivots_at, x_at = pivots.ctypes.data_as(ctypes.c_void_p), x.ctypes.data_as(ctypes.c_void_p)
    of = [ctypes.byref(ctypes.c_int(number)) for number in (n, *widths)]
    # The matrix of a band has two dimensions.
    first = [ctypes.byref(rows)] if leading else []
    getattr(mkl, name + "rf_")(*first, *of, *storage, *leading, pivots_at, ctypes.byref(info))
    if info.value:
        raise ValueError(f"{name}rf of MKL returned {info.value}")
    arguments = [ctypes.c_char_p(b"N"), *of, ctypes.byref(one), *storage, *leading, pivots_at, x_at, ctypes.byref(rows), ctypes.byref(info)]
    solve = getattr(mkl, name + "rs_")

    def call():
        np.copyto(x, rhs)
        solve(*arguments)
        return x

    return call


def factored(seconds):
    """Solves with one matrix again and again, as in time loops. `out=` writes x to the same array in every call."""
    from scipy.linalg import lapack, solve_banded

    rng, mkl = np.random.default_rng(1), open_mkl()
    if mkl is None:
        print("MKL is not found. To see its times, install it (pip install mkl)")
    for number, of_type in (("real", "d"), ("complex", "z")):
        trf, trs = getattr(lapack, of_type + "gttrf"), getattr(lapack, of_type + "gttrs")
        for n in (200, 1000, 10_000, 100_000, 1_000_000):
            sub, diag, sup, rhs = factors(number, n, rng)
            lu, x = bandsolve.factor_tridiagonal(sub[1:], diag, sup[:-1]), np.empty_like(rhs)
            *of_lapack, _ = trf(sub[1:], diag, sup[:-1])
            calls = [lambda: lu.solve(rhs, out=x), lambda: lu.solve(rhs), lambda: trs(*of_lapack, rhs),
                     lambda: bandsolve.solve_tridiagonal(sub[1:], diag, sup[:-1], rhs, out=x)]
            if mkl:
                arrays = [np.array(sub[1:]), np.array(diag), np.array(sup[:-1]), np.empty(n - 2, diag.dtype)]
                calls.append(solver_of_mkl(mkl, of_type + "gtt", (), arrays, rhs))
            own, new, theirs, once, *of_mkl = times(calls, seconds)
            line(f"{number} tridiagonal factors, n = {n}, out=", own, theirs, f"lapack.{of_type}gttrs")
            line(f"{number} tridiagonal factors, n = {n}", new, theirs, "the same")
            line(f"{number} tridiagonal factors, n = {n}, out=", own, once, "solve_tridiagonal of bandsolve")
            for peer in of_mkl:
                line(f"{number} tridiagonal factors, n = {n}, out=", own, peer, f"{of_type}gttrs of MKL")

    def bands(name, ours, of_lapack, width, rhs):
        band, exchanges, _ = lapack.dgbtrf(of_lapack, width, width)
        calls = [ours, lambda: lapack.dgbtrs(band, width, width, rhs, exchanges)]
        if mkl:
            calls.append(solver_of_mkl(mkl, "dgbt", (width, width), [np.array(of_lapack, order="F")], rhs))
        own, theirs, *of_mkl = times(calls, seconds)
        line(name, own, theirs, "lapack.dgbtrs")
        for peer in of_mkl:
            line(name, own, peer, "dgbtrs of MKL")

    for width in (2, 4, 8, 32, 80):
        for n in (1000, 10_000, 100_000):
            ab, rhs = rng.random((2 * width + 1, n)), rng.random(n)
            lu, x = bandsolve.factor_banded((width, width), ab), np.empty(n)
            of_lapack = np.concatenate([np.zeros((width, n)), ab])
            bands(f"factors with {width} diagonals on each side, n = {n}", lambda: lu.solve(rhs, out=x), of_lapack, width, rhs)
    for block in (2, 3, 4, 6, 8):
        n = 20_000 // block
        blocks = rng.uniform(-1, 1, (3, n, block, block))
        lu, width = bandsolve.factor_block_tridiagonal(*blocks, padded=True), 2 * block - 1
        rhs, x = rng.random(n * block), np.empty(n * block)
        bands(f"factors of {n} blocks of {block} rows", lambda: lu.solve(rhs, out=x), _band_of(blocks, width), width, rhs)
    for n in (200, 1000, 3000, 10_000, 100_000, 1_000_000):
        line(f"Crank-Nicolson step, n = {n}", *times(crank_nicolson(n, solve_banded), seconds), "solve_banded((1, 1), ...)")
    for shape, axis in (((1000, 512), 0), ((512, 1000), 1)):
        field, x = rng.random(shape), np.empty(shape)
        off, diag = np.full(999, -0.3), np.full(1000, 1.6)
        *of_lapack, _ = lapack.dgttrf(off, diag, off)
        columns = np.asfortranarray(np.moveaxis(field, axis, 0))
        calls = [lambda: bandsolve.solve_batch(off, diag, off, field, axis=axis, out=x), lambda: lapack.dgttrs(*of_lapack, columns)]
        line(f"one matrix, 512 systems of 1000 rows, axis {axis}", *times(calls, seconds), "lapack.dgttrs, order F")


def beside_jax(seconds):
    """Solves inside ``jit``, and solves with the gradients of all four arrays, beside those of JAX."""
    import jax

    import bandsolve.jax

    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(1)

    def lax(sub, diag, sup, rhs):
        return jax.lax.linalg.tridiagonal_solve(sub, diag, sup, rhs[..., None])[..., 0]

    def ours(sub, diag, sup, rhs):
        return bandsolve.jax.solve_tridiagonal(sub, diag, sup, rhs, padded=True)

    def gradients(solve):
        return jax.grad(lambda *arrays: solve(*arrays).sum(), argnums=(0, 1, 2, 3))

    def one_matrix(solve):
        return jax.vmap(solve, in_axes=(None, None, None, 0))

    def shared(sub, diag, sup, rhs):
        # JAX has no form for one matrix but columns.
        return jax.lax.linalg.tridiagonal_solve(sub, diag, sup, rhs.T).T

    cases = [(f"one system, n = {n}", (n,), (n,), ours, lax) for n in (100, 1000, 10_000, 100_000, 1_000_000)]
    cases += [(f"100 systems, n = {n}", (100, n), (100, n), jax.vmap(ours), lax) for n in (100, 1000)]
    cases += [(f"100 systems with one matrix, n = {n}", (n,), (100, n), one_matrix(ours), shared) for n in (100, 1000)]
    for name, of_matrix, of_rhs, *solvers in cases:
        off, diag, rhs = rng.uniform(-1, 1, of_matrix), rng.uniform(2, 3, of_matrix), rng.uniform(-1, 1, of_rhs)
        sub, sup = off.copy(), off.copy()
        sub[..., 0] = sup[..., -1] = 0
        arrays = [jax.numpy.asarray(array) for array in (sub, diag, sup, rhs)]
        for what, functions in (("", solvers), (", gradients", map(gradients, solvers))):
            calls = [lambda f=jax.jit(function): jax.block_until_ready(f(*arrays)) for function in functions]
            line(name + what, *times(calls, seconds), "tridiagonal_solve of JAX")


def splines(seconds):
    """Cubic splines: to make them, and values at points in increasing and in random order."""
    from scipy.interpolate import CubicSpline as OfScipy

    from bandsolve.interpolate import CubicSpline

    rng = np.random.default_rng(1)

    def make(name, x, y, axis):
        line(name, *times([lambda: CubicSpline(x, y, axis), lambda: OfScipy(x, y, axis)], seconds), "CubicSpline of SciPy")

    def evaluate(name, of_both, t, nu=0):
        line(name, *times([lambda spline=spline: spline(t, nu) for spline in of_both], seconds), "the same")

    for n, spacing in ((20, "random"), (1000, "equal"), (1000, "random"), (1_000_000, "random")):
        x = np.arange(float(n)) if spacing == "equal" else np.cumsum(rng.uniform(0.1, 1.0, n))
        y = rng.random(n)
        make(f"{n} knots, {spacing} distances", x, y, 0)
        of_both = [CubicSpline(x, y), OfScipy(x, y)]
        for points in (1, 20, 1000, 1_000_000):
            t = rng.uniform(x[0], x[-1], points)
            for order, at in (("sorted", np.sort(t)), ("random", t)):
                for nu in (0, 1, 2):
                    evaluate(f"{points} {order} points, derivative {nu}", of_both, at, nu)
        evaluate("one number as point", of_both, float(x[n // 2]))
    for shape in ((8192, 2048), (512, 256)):
        y = rng.random(shape)
        for axis, n in enumerate(shape):
            x = np.arange(float(n))
            make(f"y of the shape {shape}, axis {axis}", x, y, axis)
            evaluate("its values at 20 random points", [CubicSpline(x, y, axis), OfScipy(x, y, axis)], rng.uniform(0, n - 1, 20))


def _band_of(blocks, width):
    """The matrix of sub, diag and sup in LAPACK's band storage with room for exchanges."""
    _, n, block, _ = blocks.shape
    rows = n * block
    band = np.zeros((3 * width + 1, rows))
    i, r, c = np.meshgrid(np.arange(n), np.arange(block), np.arange(block), indexing="ij")
    for k, of in enumerate(blocks):
        row, column = i * block + r, (i + k - 1) * block + c
        inside = (column >= 0) & (column < rows)
        band[2 * width + (row - column)[inside], column[inside]] = of[inside]
    return band


def crank_nicolson(n, solve_banded):
    """A step of u_t = u_xx with factors of bandsolve, and one with SciPy's solve_banded."""
    r = 0.5
    off, diag = np.full(n - 1, -r / 2), np.full(n, 1 + r)
    ab = np.array([np.r_[0, off], diag, np.r_[off, 0]])
    lu, u, rhs = bandsolve.factor_tridiagonal(off, diag, off), np.sin(np.linspace(0, np.pi, n)), np.empty(n)
    v = u.copy()

    def right(u):
        rhs = (1 - r) * u
        rhs[1:] += r / 2 * u[:-1]
        rhs[:-1] += r / 2 * u[1:]
        return rhs

    def ours():
        # A⁻¹ (2I − A) u = A⁻¹ (2u) − u
        np.multiply(u, 2.0, out=rhs)
        lu.solve(rhs, out=rhs)
        np.subtract(rhs, u, out=u)

    def theirs():
        v[:] = solve_banded((1, 1), ab, right(v))

    return [ours, theirs]


def main():
    parser = argparse.ArgumentParser(
        prog="python -m bandsolve.bench",
        description="Medians in microseconds beside SciPy's; how many times faster, by medians and by least times.",
    )
    parser.add_argument("--threads", type=int, help="threads of bandsolve [all]")
    parser.add_argument("--seconds", type=float, default=1.0, help="how long each is measured [1]")
    parser.add_argument("--factored", action="store_true", help="solves with one matrix again and again, as in time loops")
    parser.add_argument("--jax", action="store_true", help="solves and gradients inside jit, beside JAX's own")
    parser.add_argument("--splines", action="store_true", help="cubic splines: to make them, and their values")
    args = parser.parse_args()
    from scipy.linalg import solve_banded
    from scipy.linalg.lapack import dgbtrf, dgbtrs, dgttrf, dgttrs

    bandsolve.set_num_threads(args.threads)
    rng = np.random.default_rng(1)
    peer = "JAX" if args.jax else "SciPy"
    print(f"{'':44} {'bandsolve':>12} {peer:>12}  {'':28} {'ratio':>6} {'least':>6}")
    if args.factored:
        return factored(args.seconds)
    if args.jax:
        return beside_jax(args.seconds)
    if args.splines:
        return splines(args.seconds)
    for n in (10, 100, 1000, 10_000, 100_000, 1_000_000):
        sub, diag, sup, rhs = rng.random((4, n))
        ab = np.array([np.roll(sup, 1), diag, np.roll(sub, -1)])
        calls = [lambda: bandsolve.solve_tridiagonal(sub[1:], diag, sup[:-1], rhs), lambda: bandsolve.solve_banded((1, 1), ab, rhs),
                 lambda: solve_banded((1, 1), ab, rhs)]
        own, drop_in, theirs = times(calls, args.seconds)
        line(f"solve_tridiagonal, n = {n}", own, theirs, "solve_banded((1, 1), ...)")
        line(f"solve_banded((1, 1), ...), n = {n}", drop_in, theirs, "the same")
    for width in (2, 8):
        n = 100_000
        ab = rng.random((2 * width + 1, n))
        rhs = rng.random(n)
        calls = [lambda: bandsolve.solve_banded((width, width), ab, rhs), lambda: solve_banded((width, width), ab, rhs)]
        line(f"solve_banded(({width}, {width}), ...), n = {n}", *times(calls, args.seconds), "the same")
    pentapy = open_pentapy()
    if pentapy:
        for n in (100, 1000, 10_000, 100_000, 1_000_000):
            ab, rhs = rng.uniform(-1, 1, (5, n)), rng.random(n)
            ab[2] += 5
            theirs = by_pentapy(pentapy, ab)
            assert np.allclose(theirs(rhs), bandsolve.solve_banded((2, 2), ab, rhs))
            calls = [lambda: bandsolve.solve_banded((2, 2), ab, rhs), lambda: theirs(rhs)]
            line(f"solve_banded((2, 2), ...), n = {n}", *times(calls, args.seconds), "pentapy.solve, no pivoting")
    many_columns(args.seconds)
    for n in (100, 1000, 10_000, 1_000_000):
        sub, diag, sup, rhs = rng.random((4, n))
        lu = bandsolve.factor_tridiagonal(sub[1:], diag, sup[:-1])
        *factors, _ = dgttrf(sub[1:], diag, sup[:-1])
        calls = [lambda: lu.solve(rhs), lambda: dgttrs(*factors, rhs)]
        line(f"factor_tridiagonal(...).solve, n = {n}", *times(calls, args.seconds), "lapack.dgttrs")
    for width, n in ((2, 10_000), (4, 100_000)):
        ab = rng.random((2 * width + 1, n))
        rhs = rng.random(n)
        lu = bandsolve.factor_banded((width, width), ab)
        band, exchanges, _ = dgbtrf(np.concatenate([np.zeros((width, n)), ab]), width, width)
        calls = [lambda: lu.solve(rhs), lambda: dgbtrs(band, width, width, rhs, exchanges)]
        line(f"factor_banded(({width}, {width}), ...).solve, n = {n}", *times(calls, args.seconds), "lapack.dgbtrs")
    count, n = 4096, 256
    sub, diag, sup, rhs = rng.random((4, count, n))
    diag = diag + 2
    bands = np.stack([np.roll(sup, 1, axis=1), diag, np.roll(sub, -1, axis=1)], axis=1)

    def loop():
        for ab, b in zip(bands, rhs):
            solve_banded((1, 1), ab, b)

    calls = [lambda: bandsolve.solve_batch(sub, diag, sup, rhs, padded=True), loop]
    line(f"solve_batch, {count} systems of {n} rows", *times(calls, args.seconds), "a loop of solve_banded")
    batches_of_bands(count, n, pentapy, args.seconds)
    batches_of_rings_and_blocks(args.seconds)


def many_columns(seconds):
    """64 right-hand sides of one pentadiagonal matrix, in both orders in memory."""
    from scipy.linalg import lapack, solve_banded

    rng = np.random.default_rng(1)
    for n in (1000, 100_000):
        ab, rhs = rng.uniform(-1, 1, (5, n)), rng.random((n, 64))
        ab[2] += 5
        columns = np.asfortranarray(rhs)
        calls = [lambda: bandsolve.solve_banded((2, 2), ab, rhs), lambda: bandsolve.solve_banded((2, 2), ab, columns),
                 lambda: solve_banded((2, 2), ab, rhs), lambda: solve_banded((2, 2), ab, columns)]
        in_c, in_f, *theirs = times(calls, seconds)
        line(f"solve_banded((2, 2), ...), 64 columns, n = {n}", in_c, theirs[0], "the same, order C")
        line(f"solve_banded((2, 2), ...), 64 columns, n = {n}", in_f, theirs[1], "the same, order F")
        lu = bandsolve.factor_banded((2, 2), ab)
        band, exchanges, _ = lapack.dgbtrf(np.concatenate([np.zeros((2, n)), ab]), 2, 2)
        calls = [lambda: lu.solve(rhs), lambda: lu.solve(columns), lambda: lapack.dgbtrs(band, 2, 2, rhs, exchanges),
                 lambda: lapack.dgbtrs(band, 2, 2, columns, exchanges)]
        in_c, in_f, *theirs = times(calls, seconds)
        line(f"factors, 64 columns, n = {n}", in_c, theirs[0], "lapack.dgbtrs, order C")
        line(f"factors, 64 columns, n = {n}", in_f, theirs[1], "lapack.dgbtrs, order F")


def batches_of_bands(count, n, pentapy, seconds):
    """Pentadiagonal systems with a matrix each, one after the other and side by side in memory, compared with loops of SciPy and pentapy, and with
    SciPy's batch."""
    from scipy.linalg import solve_banded

    rng = np.random.default_rng(1)
    ab, rhs = rng.random((count, 5, n)), rng.random((count, n))
    ab[:, 2] += 2
    # The same systems with the unknowns along the first axis.
    beside, columns, x = np.moveaxis(np.ascontiguousarray(np.moveaxis(ab, 0, -1)), -1, 0), np.ascontiguousarray(rhs.T), np.empty_like(rhs)

    def loop():
        for a, b in zip(ab, rhs):
            solve_banded((2, 2), a, b)

    calls = [lambda: bandsolve.solve_banded_batch((2, 2), ab, rhs, out=x),
             lambda: bandsolve.solve_banded_batch((2, 2), beside, columns, axis=0, out=x.reshape(n, count)),
             lambda: bandsolve.solve_banded((2, 2), ab, rhs[..., None]), loop]
    try:
        solve_banded((2, 2), ab[:2], rhs[:2, :, None])
        calls.append(lambda: solve_banded((2, 2), ab, rhs[..., None]))
    except ValueError:
        print("This SciPy solves no batches of bands: version 1.15 and later do")
    names = ["a loop of solve_banded", "solve_banded, as a batch"][:len(calls) - 3]
    if pentapy:
        each = [by_pentapy(pentapy, a) for a in ab]
        calls.append(lambda: [solve(b) for solve, b in zip(each, rhs)])
        names.append("a loop of pentapy.solve")
    own, interleaved, drop_in, *peers = times(calls, seconds)
    for peer, name in zip(peers, names):
        line(f"solve_banded_batch, {count} of {n} rows", own, peer, name)
        line("the same, side by side in memory", interleaved, peer, name)
        line("solve_banded, as a batch", drop_in, peer, name)


def batches_of_rings_and_blocks(seconds):
    """Periodic bands and block tridiagonal systems with a matrix each, beside SciPy one by one: by the Woodbury formula, and as bands."""
    from scipy.linalg import solve_banded

    rng = np.random.default_rng(1)
    count, n, k = 512, 256, 2
    ab, rhs = rng.uniform(-1, 1, (count, 2 * k + 1, n)), rng.random((count, n))
    ab[:, k] += 2 * k + 2
    rows, columns = np.arange(2 * k + 1)[:, None], np.arange(n)
    wrapped = (columns + rows - k < 0) | (columns + rows - k >= n)

    def woodbury(a, b):
        # a = open band + U Vᵀ, with a column of U for each of the rows at both ends.
        ends = np.r_[0:k, n - k:n]
        unit, entries = np.zeros((n, 2 * k)), np.zeros((n, 2 * k))
        unit[ends, np.arange(2 * k)] = 1
        for r, j in zip(*np.nonzero(wrapped)):
            entries[j, np.flatnonzero(ends == (j + r - k) % n)[0]] = a[r, j]
        y = solve_banded((k, k), a, np.column_stack([b, unit]))
        return y[:, 0] - y[:, 1:] @ np.linalg.solve(np.eye(2 * k) + entries.T @ y[:, 1:], entries.T @ y[:, 0])

    assert np.allclose(woodbury(ab[0], rhs[0]), bandsolve.solve_banded((k, k), ab[0], rhs[0], periodic=True))
    own, peer = times([lambda: bandsolve.solve_banded_batch((k, k), ab, rhs, periodic=True), lambda: [woodbury(*one) for one in zip(ab, rhs)]], seconds)
    line(f"solve_banded_batch, periodic, {n} rows", own, peer, "a loop of Woodbury formulas")
    for b in (2, 4, 8):
        count, n = 512, 64
        sub, diag, sup = rng.uniform(-1, 1, (3, count, n, b, b))
        diag += 4 * b * np.eye(b)
        rhs, bands = rng.random((count, n, b)), np.zeros((count, 4 * b - 1, n * b))
        for r in range(b):
            for c in range(b):
                bands[:, 2 * b - 1 + r - c, c::b] = diag[:, :, r, c]
                bands[:, 3 * b - 1 + r - c, c::b][:, :-1] = sub[:, 1:, r, c]
                bands[:, b - 1 + r - c, c::b][:, 1:] = sup[:, :-1, r, c]

        def loop():
            return [solve_banded((2 * b - 1, 2 * b - 1), *one) for one in zip(bands, rhs.reshape(count, -1))]

        x = bandsolve.solve_block_tridiagonal_batch(sub, diag, sup, rhs, padded=True)
        assert np.allclose(x.reshape(count, -1), loop())
        calls = [lambda: bandsolve.solve_block_tridiagonal_batch(sub, diag, sup, rhs, padded=True), loop]
        line(f"solve_block_tridiagonal_batch, blocks of {b}", *times(calls, seconds), "a loop of solve_banded")


if __name__ == "__main__":
    main()
