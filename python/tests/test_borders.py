"""What comes from outside: arrays whose meaning would change, files, options, and callbacks that write to the matrix."""

import gzip
import os
import pathlib
import re
import subprocess
import sys
import threading

import numpy as np
import pytest
from conftest import backward_error, dense, eps

import bandsolve
from bandsolve import compat, eigen, interpolate, poisson, smooth, sparse

# -- Lengths of sub and sup ---------------------------------------------------------------------------------------------

AB = np.array([[0.0, 1, 2, 3, 4], [9, 9, 9, 9, 9], [5, 6, 7, 8, 0]])
SLICES = re.escape("pass sub = ab[2, :-1], diag = ab[1], sup = ab[0, 1:]")


def blocks(count):
    return np.array([4 * np.eye(2)] * count)


@pytest.mark.parametrize("door", [
    lambda *a, **options: bandsolve.solve_tridiagonal(*a, np.ones(5), **options),
    lambda *a, **options: bandsolve.factor_tridiagonal(*a, **options).solve(np.ones(5)),
    lambda *a, **options: bandsolve.solve_batch(*a, np.ones(5), **options),
], ids=["solve_tridiagonal", "factor_tridiagonal", "solve_batch"])
def test_rows_of_band_storage_are_no_diagonals(door):
    a = np.diag(AB[1]) + np.diag(AB[2, :-1], -1) + np.diag(AB[0, 1:], 1)
    slices = SLICES.replace("2,", r"(?:\.\.\., )?2,").replace(r"ab\[1\]", r"ab\[.*1.*\]").replace("0,", r"(?:\.\.\., )?0,")
    with pytest.raises(ValueError, match=rf"sub has length 5, expected 4.*{slices}.*padded=True"):
        door(AB[2], AB[1], AB[0])
    for wrong in [(AB[2, :-1], AB[1], AB[0]), (AB[2], AB[1], AB[0, 1:])]:
        with pytest.raises(ValueError, match="has length 5, expected 4"):
            door(*wrong)
    by_row = np.roll(AB[2], 1), AB[1], np.roll(AB[0], -1)
    for x in (door(AB[2, :-1], AB[1], AB[0, 1:]), door(*by_row, padded=True)):
        assert backward_error(a, x, np.ones(5)) <= 10 * eps(x)
    with pytest.raises(ValueError, match="sub has length 4, expected 5.*padded=True"):
        door(AB[2, :-1], AB[1], AB[0, 1:], padded=True)


def test_periodic_matrices_have_all_entries():
    for solve in (lambda *a, **o: bandsolve.solve_tridiagonal(*a, np.ones(5), **o), bandsolve.factor_tridiagonal):
        solve(np.ones(5), np.full(5, 4.0), np.ones(5), periodic=True)
        with pytest.raises(ValueError, match="sub has length 4, expected 5.*periodic=True"):
            solve(np.ones(4), np.full(5, 4.0), np.ones(4), periodic=True)
        with pytest.raises(ValueError, match="padded and periodic are both True"):
            solve(np.ones(5), np.full(5, 4.0), np.ones(5), periodic=True, padded=True)


def test_blocks_follow_the_same_rule():
    for solve in (lambda *a, **o: bandsolve.solve_block_tridiagonal(*a, np.ones((3, 2)), **o), bandsolve.factor_block_tridiagonal):
        with pytest.raises(ValueError, match=r"sub has length 3, expected 2.*Pass sub\[1:\] and sup\[:-1\].*padded=True"):
            solve(blocks(3) / 9, blocks(3), blocks(3) / 9)
        solve(blocks(3) / 9, blocks(3), blocks(3) / 9, padded=True)
        solve(blocks(2) / 9, blocks(3), blocks(2) / 9)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_the_smallest_systems(n):
    off = np.ones(max(n - 1, 0))
    for solve in (bandsolve.solve_tridiagonal, bandsolve.solve_batch):
        assert solve(off, np.full(n, 4.0), off, np.ones(n)).shape == (n,)
        assert solve(np.ones(n), np.full(n, 4.0), np.ones(n), np.ones(n), padded=True).shape == (n,)
    if n:
        with pytest.raises(ValueError, match=f"sub has length {n}, expected {n - 1}"):
            bandsolve.solve_tridiagonal(np.ones(n), np.full(n, 4.0), np.ones(n), np.ones(n))


def test_batches_follow_the_same_rule():
    rng = np.random.default_rng(1)
    sub, diag, sup, rhs = rng.random((4, 3, 6, 5))
    diag = diag + 3
    whole = bandsolve.solve_batch(sub, diag, sup, rhs, axis=1, padded=True)
    assert np.array_equal(whole, bandsolve.solve_batch(sub[:, 1:], diag, sup[:, :-1], rhs, axis=1))
    with pytest.raises(ValueError, match="sub has length 6, expected 5"):
        bandsolve.solve_batch(sub, diag, sup, rhs, axis=1)
    # One entry along the axis stands for all rows.
    same = bandsolve.solve_batch(sub[:, :1], diag, sup[:, :1], rhs, axis=1)
    full = [np.broadcast_to(array[:, :1], rhs.shape) for array in (sub, sup)]
    assert np.array_equal(same, bandsolve.solve_batch(full[0], diag, full[1], rhs, axis=1, padded=True))


def test_the_gallery_fits_the_solvers():
    for name in ("klein-16", "klein-1"):
        for n in (0, 1, 2, 30):
            sub, diag, sup, periodic = bandsolve.gallery.tridiagonal(name, n)
            assert (len(sub), len(diag), len(sup)) == (max(n - 1, 0), n, max(n - 1, 0)) and not periodic
            lower, upper, ab = bandsolve.gallery.bands(name, n)
            assert ab.shape == (3, n) and np.array_equal(ab[2, : max(n - 1, 0)], sub) and np.array_equal(ab[0, 1:], sup)


# -- Arrays whose meaning would change ----------------------------------------------------------------------------------

MASKED = np.ma.masked_equal(np.array([4.0, 5, 4, 7]), 5)
ONES = np.ones(4)


def sparse_doors():
    sp = pytest.importorskip("scipy.sparse")
    a = sp.csr_array(4 * np.eye(4))
    return {
        "cg b": lambda m: sparse.cg(a, m),
        "cg x0": lambda m: sparse.cg(a, ONES, x0=m),
        "cg A": lambda m: sparse.cg(np.ma.masked_equal(4 * np.eye(4), 0), ONES),
        "preconditioner": lambda m: sparse.Preconditioner(a, "jacobi") @ m,
        "product": lambda m: sparse.PreparedProduct(a) @ m,
        "eigsh v0": lambda m: eigen.eigsh(a, 1, v0=m),
    }


DOORS = {
    "sub": lambda m: bandsolve.solve_tridiagonal(m[1:], ONES, ONES[1:], ONES),
    "diag": lambda m: bandsolve.solve_tridiagonal(ONES[1:], m, ONES[1:], ONES),
    "rhs": lambda m: bandsolve.solve_tridiagonal(ONES[1:], 4 * ONES, ONES[1:], m),
    "factor": lambda m: bandsolve.factor_tridiagonal(ONES[1:], m, ONES[1:]),
    "factor.solve": lambda m: bandsolve.factor_tridiagonal(ONES[1:], 4 * ONES, ONES[1:]).solve(m),
    "solve_batch": lambda m: bandsolve.solve_batch(ONES[1:], m, ONES[1:], np.ones((3, 4))),
    "solve_batch list": lambda m: bandsolve.solve_batch(ONES[1:], 4 * ONES, ONES[1:], [m, m]),
    "solve_banded": lambda m: bandsolve.solve_banded((0, 0), m[None], ONES),
    "solve_banded_batch": lambda m: bandsolve.solve_banded_batch((0, 0), m[None], ONES),
    "solve_banded_batch rhs": lambda m: bandsolve.solve_banded_batch((0, 0), ONES[None], m),
    "factor_banded_batch": lambda m: bandsolve.factor_banded_batch((0, 0), m[None]),
    "solveh_banded_batch": lambda m: bandsolve.solveh_banded_batch(m[None], ONES),
    "factorh_banded_batch": lambda m: bandsolve.factorh_banded_batch(m[None]),
    "solveh_banded": lambda m: bandsolve.solveh_banded(m[None], ONES),
    "factor_banded": lambda m: bandsolve.factor_banded((0, 0), m[None]),
    "blocks": lambda m: bandsolve.solve_block_tridiagonal(blocks(1), m.reshape(1, 2, 2), blocks(1), np.ones((1, 2)), padded=True),
    "solve": lambda m: bandsolve.solve(np.ma.masked_equal(4 * np.eye(4), 0), ONES),
    "spline": lambda m: interpolate.CubicSpline(np.arange(4.0), m),
    "spline x": lambda m: interpolate.CubicSpline(np.ma.array(np.arange(4.0)), ONES),
    "whittaker": lambda m: smooth.whittaker(m, 1.0, order=1),
    "weights": lambda m: smooth.whittaker(ONES, 1.0, order=1, weights=m),
    "poisson": lambda m: poisson.solve(m),
    "eigh_tridiagonal": lambda m: eigen.eigh_tridiagonal(m, ONES[1:]),
    "jax": lambda m: compat.tridiagonal_solve(ONES, m, ONES, ONES[:, None]),
}


@pytest.mark.parametrize("door", DOORS)
def test_masked_arrays_are_refused(door):
    with pytest.raises(ValueError, match="is masked, expected one without a mask"):
        DOORS[door](MASKED)


def test_masked_arrays_are_refused_by_sparse_solvers():
    for name, door in sparse_doors().items():
        with pytest.raises(ValueError, match="is masked"):
            door(MASKED)
            pytest.fail(name)


def test_imaginary_parts_are_never_dropped():
    sp = pytest.importorskip("scipy.sparse")
    complex_ones = np.ones(4) * 1j
    for door in [
        lambda: poisson.solve(complex_ones),
        lambda: poisson.Solver((4,)).solve(complex_ones),
        lambda: interpolate.CubicSpline(np.arange(4.0), ONES)(complex_ones),
        lambda: smooth.whittaker(ONES, 1.0, order=1, weights=complex_ones),
        lambda: eigen.eigh_tridiagonal(complex_ones, ONES[1:]),
    ]:
        with pytest.raises((TypeError, ValueError), match="complex|real"):
            door()
    # A complex start of a real problem makes the problem complex.
    x, info = sparse.gmres(sp.csr_array(4 * np.eye(4)), ONES, x0=complex_ones.tolist())
    assert info == 0 and np.allclose(x, 0.25)


def test_what_is_no_number_is_refused():
    for values in (["a"] * 4, np.array([1, 2, 3, None]), np.zeros(4, "M8[s]"), np.zeros(4, "V8")):
        with pytest.raises((TypeError, ValueError), match="expected numbers|not supported"):
            bandsolve.solve_tridiagonal(ONES[1:], 4 * ONES, ONES[1:], values)
        with pytest.raises((TypeError, ValueError), match="expected numbers|not supported"):
            bandsolve.solve_batch(ONES[1:], 4 * ONES, ONES[1:], values)


# -- Options ------------------------------------------------------------------------------------------------------------

HUGE = 2**70


def integer_options():
    sp = pytest.importorskip("scipy.sparse")
    a = sp.csr_array(4 * np.eye(4))
    return {
        "threads": lambda k: bandsolve.solve_tridiagonal(ONES[1:], 4 * ONES, ONES[1:], ONES, threads=k),
        "threads of a batch": lambda k: bandsolve.solve_batch(ONES[1:], 4 * ONES, ONES[1:], ONES, threads=k),
        "threads of factors": lambda k: bandsolve.factor_tridiagonal(ONES[1:], 4 * ONES, ONES[1:], threads=k),
        "threads of all": bandsolve.set_num_threads,
        "threads of poisson": lambda k: poisson.solve(ONES, threads=k),
        "shape": lambda k: poisson.Solver((k,)),
        "maxiter": lambda k: sparse.gmres(a, ONES, maxiter=k),
        "restart": lambda k: sparse.gmres(a, ONES, restart=k),
        "space": lambda k: sparse.idrs(a, ONES, space=k),
        "maxiter of idrs": lambda k: sparse.idrs(a, ONES, maxiter=k),
        "seed": lambda k: sparse.Preconditioner(a, "forest", seed=k),
        "rounds": lambda k: sparse.forest(a, rounds=k),
        "n": lambda k: sparse.factor_graph(a, k),
        "k": lambda k: eigen.eigsh(a, k),
        "ncv": lambda k: eigen.eigsh(a, 1, ncv=k),
        "maxiter of eigsh": lambda k: eigen.eigsh(a, 1, maxiter=k),
        "order": lambda k: smooth.whittaker(ONES, 1.0, order=k),
        "axis": lambda k: bandsolve.solve_batch(ONES[1:], 4 * ONES, ONES[1:], ONES, axis=k),
        "l and u": lambda k: bandsolve.factor_banded((k, 0), np.ones((1, 4))),
        "n of the gallery": lambda k: bandsolve.gallery.bands("klein-16", k),
        "seed of the gallery": lambda k: bandsolve.gallery.bands("klein-16", 5, seed=k),
    }


def test_huge_integers_are_named():
    for name, door in integer_options().items():
        for value in (HUGE, -HUGE):
            with pytest.raises(ValueError) as raised:
                door(value)
                pytest.fail(name)
            message = str(raised.value)
            # The option, the value and what is expected (or allowed).
            assert name.split()[0] in message and str(value) in message, (name, message)
            assert re.search("expected|out of bounds", message), (name, message)


# -- Callbacks and other threads ----------------------------------------------------------------------------------------


def spoiled(a, what, to):
    def callback(_):
        getattr(a, what)[:] = to

    return callback


@pytest.mark.parametrize("method", ["gmres", "bicgstab", "cg", "idrs", "richardson"])
@pytest.mark.parametrize("what, to", [("indices", 2**31 - 1), ("indices", -1), ("indptr", 2**31 - 1), ("indptr", 0), ("indptr", -5)])
def test_callbacks_that_write_to_indices_change_nothing(method, what, to):
    sp = pytest.importorskip("scipy.sparse")
    options = {"callback_type": "pr_norm"} if method == "gmres" else {}
    for index in (np.int32, np.int64):
        a = (sp.diags_array([-1.0, 4.0, -1.0], offsets=[-1, 0, 1], shape=(300, 300)) / 6).tocsr()
        a.indices, a.indptr = a.indices.astype(index), a.indptr.astype(index)
        b = np.ones(300)
        solve = getattr(sparse, method)
        expected, report = solve(a, b, rtol=1e-10, full_output=True)
        x, after = solve(a, b, rtol=1e-10, full_output=True, callback=spoiled(a, what, to), **options)
        assert np.array_equal(x, expected) and after == report


def test_callbacks_that_write_to_the_right_hand_side_change_nothing():
    sp = pytest.importorskip("scipy.sparse")
    a, b = sp.diags_array([-1.0, 4.0, -1.0], offsets=[-1, 0, 1], shape=(300, 300)).tocsr(), np.ones(300)
    expected = sparse.bicgstab(a, b, rtol=1e-10)[0]

    def callback(_):
        b[:] = np.nan

    assert np.array_equal(sparse.bicgstab(a, b, rtol=1e-10, callback=callback)[0], expected)


def test_threads_that_write_to_indices_do_no_harm():
    sp = pytest.importorskip("scipy.sparse")
    a = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(20_000, 20_000)).tocsr()
    right, stop = a.indices.copy(), threading.Event()

    def write():
        while not stop.is_set():
            a.indices[:] = 2**31 - 1
            a.indices[:] = right

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(20):
            try:
                sparse.cg(a, np.ones(20_000), maxiter=20)
            except ValueError as error:
                # The indices were wrong as the solve began.
                assert "column" in str(error) or "indices" in str(error), error
    finally:
        stop.set()
        writer.join()


def test_without_docstrings():
    code = "import bandsolve; print(bandsolve.solve_tridiagonal([1, 1], [4, 4, 4], [1, 1], [5, 6, 5]))"
    folder = str(pathlib.Path(bandsolve.__file__).resolve().parents[1])
    done = subprocess.run([sys.executable, "-OO", "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": folder})
    assert done.stdout == "[1. 1. 1.]\n", done.stderr


# -- Memory order of batches --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("alone", [False, True], ids=["a matrix each", "one matrix"])
@pytest.mark.parametrize("shape", [(40, 50), (3, 40, 50), (30, 7, 20), (2, 33, 5), (70, 1), (1, 70), (0, 5), (4, 0, 3), (64,), (2, 3, 4, 65)])
def test_results_have_the_memory_order_of_the_right_hand_sides(shape, alone, dtype):
    rng = np.random.default_rng(1)
    for order in ("C", "F", "swapped"):
        axes = (1, 0, *range(2, len(shape))) if order == "swapped" and len(shape) > 1 else range(len(shape))
        given = np.zeros([shape[k] for k in axes], dtype, "F" if order == "F" else "C").transpose(np.argsort(axes))
        for axis in range(len(shape)):
            n = shape[axis]
            rhs = given.copy(order="K")
            rhs[...] = rng.uniform(-1, 1, shape)
            of = (n,) if alone else shape
            sub, diag, sup = rng.uniform(-1, 1, (3, *of)).astype(dtype)
            diag = diag + np.asarray(3, dtype)
            x, report = bandsolve.solve_batch(sub, diag, sup, rhs, axis=axis, padded=True, full_output=True)
            assert x.shape == shape and x.dtype == dtype
            if x.size:
                assert np.argsort([-k for k in x.strides], kind="stable").tolist() == np.argsort([-k for k in rhs.strides], kind="stable").tolist()
                assert report.backward_error <= 8 * eps(x)
            along = [np.moveaxis(array, axis, -1).reshape(-1, n) if n else [] for array in (rhs, x)]
            if not alone:
                along += [np.moveaxis(array, axis, -1).reshape(-1, n) if n else [] for array in (sub, diag, sup)]
            for d, y, *matrix in zip(*along):
                assert backward_error(dense(*(matrix or (sub, diag, sup))), y, d) <= 10 * eps(x)


def test_the_same_bits_for_any_number_of_threads_and_any_memory_order():
    rng = np.random.default_rng(2)
    sub, diag, sup, rhs = rng.uniform(-1, 1, (4, 90, 300))
    for matrix in ((sub, diag, sup), (sub[0], diag[0], sup[0])):
        one = bandsolve.solve_batch(*matrix, rhs, padded=True, threads=1)
        for threads in (2, 3, 7):
            assert np.array_equal(one, bandsolve.solve_batch(*matrix, rhs, padded=True, threads=threads))
        turned = [array.T.copy().T if array.ndim == 2 else array for array in matrix]
        assert np.array_equal(one, bandsolve.solve_batch(*turned, rhs.T.copy().T, padded=True))
        assert np.array_equal(one.T, bandsolve.solve_batch(*(a.T.copy() for a in matrix), rhs.T.copy(), axis=0, padded=True))


@pytest.mark.parametrize("order", ["C", "F"])
def test_errors_of_batches_name_the_caller_s_places(order):
    shape = (3, 40, 70)
    for axis, at, system in [(0, (1, 4, 6), 4 * 70 + 6), (1, (1, 4, 6), 70 + 6), (2, (1, 4, 6), 40 + 4)]:
        zeros, diag, rhs = np.zeros(shape, order=order), np.ones(shape, order=order), np.ones(shape, order=order)
        diag[at] = 0
        with pytest.raises(np.linalg.LinAlgError, match=f"^system {system} is singular: no pivot in row {at[axis]}$"):
            bandsolve.solve_batch(zeros, diag, zeros, rhs, axis=axis, padded=True)
        rhs[at] = np.nan
        diag[at] = 1
        n = shape[axis]
        for matrix in ((zeros, diag, zeros), (np.zeros(n), np.ones(n), np.zeros(n))):
            with pytest.raises(ValueError, match=r"^rhs\[1, 4, 6\] is not finite"):
                bandsolve.solve_batch(*matrix, rhs, axis=axis, padded=True)
        one = np.ones(n)
        one[-1] = np.inf
        with pytest.raises(ValueError, match=rf"^diag\[{n - 1}\] is not finite"):
            bandsolve.solve_batch(np.zeros(n), one, np.zeros(n), np.ones(shape, order=order), axis=axis, padded=True)
        one[-1] = 0
        with pytest.raises(np.linalg.LinAlgError, match=f"no pivot in row {n - 1}"):
            bandsolve.solve_batch(np.zeros(n), one, np.zeros(n), np.ones(shape, order=order), axis=axis, padded=True)


# -- Files --------------------------------------------------------------------------------------------------------------

HEADER = "%%MatrixMarket matrix coordinate real general\n2 2 2\n"


@pytest.mark.parametrize("number", ["4,5", "0.25-270", "0.4+001", "1_000", "0x4", "4;", "1e", "nan", "inf", "4\0", "", "1 2"])
def test_malformed_numbers_are_refused_with_their_line(number, tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text(f"{HEADER}1 1 {number}\n2 2 1\n")
    with pytest.raises(ValueError, match="a.mtx:3: "):
        bandsolve.io.read(path)


@pytest.mark.parametrize("text, line", [
    ("%%MatrixMarket matrix coordinate real symmetric\n3 4 1\n1 1 1\n", 2),
    ("%%MatrixMarket matrix coordinate real symmetric\n2 2 2\n2 1 1\n1 2 1\n", 4),
    ("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1\n", 3),
    ("%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 1\n", 3),
    ("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1\n2 2 1\n", 4),
    ("%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 2.5\n", 3),
    ("%%MatrixMarket matrix array real general\n2 1\n1 2\n", 3),
    ("%%MatrixMarket matrix array real skew-symmetric\n2 3\n1\n", 2),
    ("%%MatrixMarket matrix coordinate complex hermitian\n1 1 1\n1 1 1 1\n", 3),
    ("not a matrix\n", 1),
])
def test_malformed_files_are_refused_with_their_line(text, line, tmp_path):
    (tmp_path / "a.mtx").write_text(text)
    (tmp_path / "a.mtx.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("a.mtx", "a.mtx.gz"):
        with pytest.raises(ValueError, match=f"{name}:{line}: "):
            bandsolve.io.read(tmp_path / name)


def test_every_kind_of_matrix_market_file(tmp_path):
    sp = pytest.importorskip("scipy.sparse")

    def read(text):
        (tmp_path / "a.mtx").write_text(f"%%MatrixMarket matrix {text}")
        a = bandsolve.io.read(tmp_path / "a.mtx")
        return (a.toarray() if sp.issparse(a) else a).tolist(), a.dtype

    assert read("coordinate real symmetric\n2 2 2\n1 1 5\n2 1 3\n") == ([[5, 3], [3, 0]], float)
    assert read("coordinate real skew-symmetric\n2 2 1\n2 1 3\n") == ([[0, -3], [3, 0]], float)
    assert read("coordinate complex hermitian\n2 2 1\n2 1 3 4\n") == ([[0, 3 - 4j], [3 + 4j, 0]], complex)
    assert read("coordinate pattern general\n2 2 1\n2 1\n") == ([[0, 0], [1, 0]], float)
    assert read("coordinate integer general\n2 2 1\n2 1 -7\n") == ([[0, 0], [-7, 0]], np.int64)
    assert read("array real general\n2 3\n1\n2\n3\n4\n5\n6\n") == ([[1, 3, 5], [2, 4, 6]], float)
    assert read("array integer symmetric\n2 2\n1\n2\n3\n") == ([[1, 2], [2, 3]], np.int64)
    assert read("array complex general\n1 1\n1 2\n") == ([[1 + 2j]], complex)
    assert read("array real general\n0 0\n") == ([], float)
    assert read("coordinate real general\n0 0 0\n") == ([], float)


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dia", "bsr"])
@pytest.mark.parametrize("made", ["array", "matrix"])
@pytest.mark.parametrize("compressed", [True, False])
def test_matrices_that_scipy_saved(form, made, compressed, dtype, tmp_path):
    sp = pytest.importorskip("scipy.sparse")
    a = sp.random(12, 12, 0.3, random_state=1, dtype=np.dtype(dtype).type(0).real.dtype).astype(dtype)
    a = getattr(sp, f"{form}_{made}")(a * dtype.type(1j) if dtype.kind == "c" else a)
    sp.save_npz(tmp_path / "a.npz", a, compressed=compressed)
    b, expected = bandsolve.io.read(tmp_path / "a.npz"), sp.load_npz(tmp_path / "a.npz")
    assert type(b) is type(expected) and b.dtype == dtype and b.shape == a.shape
    assert np.array_equal(b.toarray(), a.toarray())


def test_damaged_archives_are_refused(tmp_path):
    sp = pytest.importorskip("scipy.sparse")
    parts = {"indices": np.array([0, 1]), "indptr": np.array([0, 1, 2]), "format": b"csr", "shape": (2, 2), "data": np.ones(2)}
    np.savez(tmp_path / "a.npz", **parts)
    assert isinstance(bandsolve.io.read(tmp_path / "a.npz"), sp.csr_matrix)
    for name, value in [("indices", [0, 2]), ("indices", [0, -1]), ("indptr", [0, 2, 1]), ("indptr", [0, 1, 9]), ("indptr", [0, 1]),
                        ("data", [1, np.nan]), ("shape", (2, 2.5)), ("format", b"lil"), ("data", ["a", "b"]), ("shape", (2, -2))]:
        np.savez(tmp_path / "b.npz", **{**parts, name: np.array(value)})
        with pytest.raises(ValueError, match=f"b.npz: {name}"):
            bandsolve.io.read(tmp_path / "b.npz")
    whole = (tmp_path / "a.npz").read_bytes()
    for cut in range(0, len(whole) - 1, 37):
        (tmp_path / "c.npz").write_bytes(whole[:cut])
        with pytest.raises(ValueError, match="c.npz: "):
            bandsolve.io.read(tmp_path / "c.npz")


def test_files_that_promise_more_than_memory(tmp_path):
    huge = b"%%MatrixMarket matrix array real general\n4000000000 4000000000\n" + b" " * 100
    (tmp_path / "a.mtx").write_bytes(huge)
    with pytest.raises(ValueError, match="a.mtx:.*the file ends after 0"):
        bandsolve.io.read(tmp_path / "a.mtx")
    lie = b"%%MatrixMarket matrix coordinate real general\n9 9 400000000\n1 1 1\n"
    (tmp_path / "lie.mtx").write_bytes(lie)
    (tmp_path / "lie.mtx.gz").write_bytes(gzip.compress(lie))
    for name in ("lie.mtx", "lie.mtx.gz"):
        with pytest.raises(ValueError, match=f"{name}:3: the file ends after 1 of the 400000000 entries"):
            bandsolve.io.read(tmp_path / name)
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n"
    npy = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header
    (tmp_path / "a.npy.gz").write_bytes(gzip.compress(npy))
    with pytest.raises(MemoryError, match="GiB are free"):
        bandsolve.io.read(tmp_path / "a.npy.gz")
    import zipfile

    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("a.npy", npy)
    with pytest.raises(MemoryError, match="GiB are free"):
        bandsolve.io.read(tmp_path / "a.npz")
