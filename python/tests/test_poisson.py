"""`bandsolve.poisson` against matrices that are assembled here, from differences and volumes."""

import itertools
import re
from concurrent.futures import ThreadPoolExecutor
from functools import reduce

import numpy as np
import pytest

import bandsolve
from bandsolve import poisson
from conftest import random

sp = pytest.importorskip("scipy.sparse")
linalg = pytest.importorskip("scipy.sparse.linalg")

D, N, P = "dirichlet", "neumann", "periodic"
PAIRS = [(D, D), (D, N), (N, D), (N, N), (P, P)]
R = ("robin", 1.3, 0.6)
GRIDS = ["node", "cell"]
EPS = np.finfo(float).eps


def points_of(n, grid, kinds, spacing):
    """Coordinates with one spacing, in the form in which they can be given."""
    if grid == "cell" or kinds[0] == P:
        return spacing * np.arange(n + 1)
    return spacing * np.arange(n + kinds.count(D))


def valued(kind, value):
    """The condition of a side with a value."""
    return (kind, value) if isinstance(kind, str) else (*kind, value)


def line(n, grid, kinds, points):
    """Of one axis: the matrix, what each side's value is multiplied by in each row, and the lengths of the unknowns."""
    low, high = kinds
    # All places between which differences are taken; where the volumes end.
    if grid == "cell":
        faces = points
        places = (faces[1:] + faces[:-1]) / 2
        places = np.concatenate([faces[:1]] * (low == D) + [places] + [faces[-1:]] * (high == D))
    else:
        places = points[:-1] if low == P else points
        middles = (points[1:] + points[:-1]) / 2
        faces = np.concatenate([points[:1]] * (low not in (D, P)) + [middles] + [points[-1:]] * (high not in (D, P)))
    if low == P:
        period = points[-1] - points[0]
        if grid == "node":
            faces = np.concatenate([[faces[-1] - period], faces])
        places = np.append(places, places[0] + period)
    volumes = np.diff(faces)
    volumes[volumes == 0] = 1
    differences = np.diff(np.eye(len(places)), axis=0)
    full = differences.T @ (differences / np.diff(places)[:, None])
    if low == P:
        full[0] += full[-1]
        full[:, 0] += full[:, -1]
        full = full[:-1, :-1]
    first = int(low == D)
    unknowns = slice(first, first + n)
    sides = np.zeros((2, n))
    for side, (kind, at, row) in enumerate([(low, 0, 0), (high, -1, -1)]):
        if kind == D:
            sides[side] = -full[unknowns, at]
        elif kind == N:
            sides[side, row] = 1
        elif kind != P:
            # alpha w + beta (w - u) / distance = value, where w is u at the side. The flux is (w - u) / distance.
            _, alpha, beta = kind
            distance = (points[1] - points[0] if row == 0 else points[-1] - points[-2]) / 2 if grid == "cell" else 0
            sides[side, row] = 1 / (alpha * distance + beta)
            full[first + row % n, first + row % n] += alpha / (alpha * distance + beta)
    return full[unknowns, unknowns] / volumes[:, None], sides / volumes, volumes


def assembled(shape, grids, kinds, points, shift=0.0):
    """The matrix of a box, what values at a side become on the right-hand side, and volumes."""
    lines = [line(*axis) for axis in zip(shape, grids, kinds, points)]
    def along(axis, matrix):
        parts = [matrix if k == axis else sp.eye_array(n) for k, n in enumerate(shape)]
        return reduce(sp.kron, parts)
    size = int(np.prod(shape))
    a = sum((along(k, sp.csr_array(lines[k][0])) for k in range(len(shape))), shift * sp.eye_array(size))

    def inflow(axis, side, values):
        factors = lines[axis][1][side].reshape([-1 if k == axis else 1 for k in range(len(shape))])
        return factors * np.expand_dims(np.broadcast_to(values, shape[:axis] + shape[axis + 1 :]), axis)

    volumes = reduce(np.multiply.outer, [volumes for *_, volumes in lines])
    return sp.csr_array(a), inflow, volumes


def check(rng, shape, grids, kinds, *, spacings=None, points=None, shift=0.0, order="C"):
    """Solves with values at all sides, and compares."""
    spacings = spacings or [0.5 + 0.1 * k for k in range(len(shape))]
    given = points
    points = points or [points_of(*axis) for axis in zip(shape, grids, kinds, spacings)]
    a, inflow, volumes = assembled(shape, grids, kinds, points, shift)
    f = np.asarray(random(rng, shape, float), order=order)
    rhs, boundary = f.copy(), []
    for axis, pair in enumerate(kinds):
        sides = []
        for side, kind in enumerate(pair):
            # A number at the lower side, one for each point at the upper one.
            values = random(rng, shape[:axis] + shape[axis + 1 :] if side else (), float)
            sides.append(kind if kind == P else valued(kind, values))
            rhs += 0 if kind == P else inflow(axis, side, values)
        boundary.append(tuple(sides))
    singular = shift == 0 and all(side in (N, P) for pair in kinds for side in pair)
    u, report = poisson.solve(f, spacings, boundary, grids, shift, mean=0.25, coordinates=given, removable=np.inf, full_output=True)
    assert u.shape == shape and report["shape"] == shape and report["backward_error"] <= 8 * EPS
    rhs -= report["removed"]
    size = abs(a).sum(axis=1) * abs(u).max() + abs(rhs).ravel()
    assert (abs(rhs.ravel() - a @ u.ravel()) <= 32 * EPS * np.maximum(size, 1e-300)).all()
    if singular:
        assert abs(np.sum(volumes * u) / volumes.sum() - 0.25) < 1e-13 * max(1, abs(u).max()) and report["mean"] == 0.25
        assert np.isclose(report["removed"], np.sum(volumes * (rhs + report["removed"])) / volumes.sum(), rtol=1e-10, atol=1e-13)
    else:
        assert report["removed"] == 0 and report["mean"] is None
        expected = linalg.spsolve(a.tocsc(), rhs.ravel()).reshape(shape)
        assert np.allclose(u, expected, rtol=1e-10, atol=1e-11 * abs(expected).max())


@pytest.mark.parametrize("kinds", list(itertools.product(PAIRS, repeat=2)))
def test_every_boundary_in_two_dimensions(kinds):
    rng = np.random.default_rng(1)
    for grids in itertools.product(GRIDS, repeat=2):
        for shape in [(5, 8), (7, 3), (1, 4), (2, 1)]:
            check(rng, shape, grids, kinds)
        check(rng, (6, 4), grids, kinds, shift=0.7, order="F")


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("pair", PAIRS)
def test_every_boundary_in_one_dimension(pair, grid):
    rng = np.random.default_rng(2)
    for n in (1, 2, 3, 4, 17):
        for shift in (0.0, 0.3):
            check(rng, (n,), [grid], [pair], shift=shift)


@pytest.mark.parametrize("first", PAIRS)
def test_three_dimensions(first):
    rng = np.random.default_rng(3)
    for second, third in zip(PAIRS, PAIRS[2:] + PAIRS[:2]):
        check(rng, (4, 3, 5), ["node", "cell", "node"], [first, second, third])
        check(rng, (3, 5, 2), ["cell", "node", "cell"], [first, third, second], order="F")


def stretched(rng, n, grid, kinds):
    count = len(points_of(n, grid, kinds, 1.0))
    return np.cumsum(rng.uniform(0.3, 0.9, count))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("kinds", list(itertools.product(PAIRS[1:], repeat=2)))
def test_coordinates(kinds, order):
    rng = np.random.default_rng(4)
    shape, grids = (6, 5), ["node", "cell"]
    both = [stretched(rng, *axis) for axis in zip(shape, grids, kinds)]
    check(rng, shape, grids, kinds, points=both, order=order)
    spacings = [1.0, 0.4]
    mixed = [both[0], points_of(5, "cell", kinds[1], 0.4)]
    a, *_ = assembled(shape, grids, kinds, mixed, 0.2)
    f = np.asarray(random(rng, shape, float), order=order)
    u = poisson.solve(f, spacings, kinds, grids, 0.2, coordinates=[both[0], None])
    assert np.allclose(a @ u.ravel(), f.ravel(), atol=1e-12)
    # Of one axis, without a sequence around them.
    u = poisson.solve(f[:, 0], boundary=kinds[0], shift=1.0, coordinates=both[0])
    a, *_ = assembled(shape[:1], ["node"], kinds[:1], both[:1], 1.0)
    assert np.allclose(a @ u, f[:, 0], atol=1e-12)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("other", [D, N, R])
def test_robin_sides(other, sign):
    rng = np.random.default_rng(11)
    robin = ("robin", 0.3 * sign, 0.9)
    for grid in GRIDS:
        for pair in [(robin, other), (other, robin)]:
            for n in (1, 2, 3, 17):
                check(rng, (n,), [grid], [pair], shift=0.7)
                check(rng, (n,), [grid], [pair])
            check(rng, (9,), [grid], [pair], points=[stretched(rng, 9, grid, pair)], shift=1.3)
            for second in [*PAIRS, (robin, R)]:
                check(rng, (5, 8), [grid, "node"], [pair, second], shift=0.2)
                check(rng, (6, 4), ["cell", grid], [second, pair], shift=0.2, order="F")
            check(rng, (4, 3, 5), ["node", "cell", grid], [PAIRS[4], (N, other), pair], shift=0.9)


def test_singular_robin_problems():
    # 1 + x solves -u'' = 0 with ∂u/∂n + u = 0 at x = 0 and 2 ∂u/∂n = u at x = 1.
    for grid, n in [("node", 17), ("cell", 16)]:
        sides = (("robin", 1, 1), ("robin", -1, 2))
        for f, boundary in [(np.ones(n), sides), (np.ones((n, 6)), (sides, P))]:
            with pytest.raises(np.linalg.LinAlgError):
                poisson.solve(f, 1 / 16, boundary, grid)
            assert poisson.solve(f, 1 / 16, boundary, grid, shift=1.0, full_output=True)[1]["attention"] is None
    # With alpha = 0, a side is a Neumann side.
    for beta in (1.0, -2.0):
        u, report = poisson.solve([1.0, 0.0, -1.0], boundary=("robin", 0.0, beta, 0.5 * beta), grid="cell", removable=np.inf, full_output=True)
        assert report["mean"] == 0 and np.array_equal(u, poisson.solve([1.0, 0.0, -1.0], boundary=(N, 0.5), grid="cell", removable=np.inf))


@pytest.mark.parametrize("grid", GRIDS)
def test_maps_with_robin_sides(grid):
    """The map that bandsolve.jax and bandsolve.torch use: its matrix, its transpose, and the factors of the values at the sides."""
    from bandsolve._differentiable import PoissonProblem

    for kinds in [[(R, D), (N, R)], [(P, P), (R, ("robin", -0.2, 1.0))], [(R, N), (("robin", 0.0, 2.0), N)], [(N, N), (("robin", 0.0, 2.0), N)]]:
        shape, grids = (4, 3), [grid, "cell"]
        points = [points_of(*axis, 0.5) for axis in zip(shape, grids, kinds)]
        a, inflow, volumes = assembled(shape, grids, kinds, points)
        a = a.todense()
        problem = PoissonProblem(shape, "float64", 0.5, kinds, grids, 0.0, "auto", coordinates=None, removable=np.inf, threads=None)
        assert problem.singular == all(side in (N, P) or side[1] == 0 for pair in kinds for side in pair)
        lines = [np.diag(line.sub[1:], -1) + np.diag(line.diag) + np.diag(line.sup[:-1], 1) for line in problem.lines]
        for k, (line, pair) in enumerate(zip(problem.lines, kinds)):
            if pair[0] == P:
                lines[k][0, -1] += line.sub[0]
                lines[k][-1, 0] += line.sup[-1]
        assert np.allclose(np.kron(lines[0], np.eye(3)) + np.kron(np.eye(4), lines[1]), a, rtol=1e-14, atol=1e-13)
        for axis, side, _ in problem.sides:
            _, index, factor = problem.place(axis, side, shape, ())
            expected = np.zeros(shape)
            expected[index] = factor
            assert np.allclose(expected, np.broadcast_to(inflow(axis, side, 1.0), shape), rtol=1e-14)
        if not problem.singular:
            f = np.random.default_rng(12).normal(size=shape)
            for transpose, matrix in [(False, a), (True, a.T)]:
                assert np.allclose(matrix @ problem.solve_free(transpose, f).ravel(), f.ravel(), atol=1e-12)


def test_invalid_robin_sides():
    class Tracked(float):
        requires_grad = True

    f = np.ones((4, 5), order="F")
    for sides, error, message in [
        (("robin", 1.0), ValueError, r'the lower side of axis 0 has the condition \(.robin., 1.0\), expected \("robin", alpha, beta\)'),
        ((D, (R, ("robin", 1, 0))), ValueError, "beta at the upper side of axis 1 is 0"),
        ((D, (("robin", np.nan, 1), R)), ValueError, "alpha at the lower side of axis 1 is nan, expected a finite number"),
        (((R, ("robin", -4, 1)), D), ValueError, "the upper side of axis 0 has alpha / beta = -4, next to a cell of width 0.6"),
        ((("robin", 1, 1, 0, 0), D), ValueError, "the boundary of axis 0 is"),
        (((("robin", Tracked(1), 1), R), D), TypeError, "alpha at the lower side of axis 0 requires derivatives"),
        (("robin", 1e200, 1e-200), ValueError, "ratio"),
    ]:
        with pytest.raises(error, match=message):
            poisson.solve(f, 0.6, sides, "cell")


def test_the_order_is_two():
    def error(n):
        # u = exp(x) cos(2 y): given at x = 0, its derivative at x = 1; insulated in y on cells, from 0 to pi.
        h, k = 1 / n, np.pi / n
        x, y = h * np.arange(1, n + 1), k * (np.arange(n) + 0.5)
        exact = np.outer(np.exp(x), np.cos(2 * y))
        sides = ((D, np.cos(2 * y)), (N, np.e * np.cos(2 * y)))
        u = poisson.solve(3 * exact, (h, k), (sides, N), ("node", "cell"))
        return abs(u - exact).max()

    assert 3.9 < error(40) / error(80) < 4.1


def test_the_classical_number():
    # -Δu = 1 on the unit square: u in the middle is 0.0736713...
    u, report = poisson.solve(np.ones((255, 255)), 1 / 256, full_output=True)
    assert abs(u[127, 127] - 0.07367135) < 2e-6
    assert report["method"] == "fft" and report["reason"] and report["subproblems"] == 255
    assert report["refinement_steps"] == 0 and len(report["backward_errors"]) == 1


def test_orders_types_and_views():
    rng = np.random.default_rng(5)
    f = rng.normal(size=(6, 7, 8))
    options = dict(spacing=(1.0, 0.5, 2.0), boundary=[N, ((D, np.arange(6.0)[:, None]), (D, 1.0)), P], shift=0.1)
    expected = poisson.solve(f, **options)
    assert expected.flags.c_contiguous
    wide = np.zeros((12, 7, 16))
    wide[::2, :, ::2] = f
    for view in [np.asfortranarray(f), wide[::2, :, ::2], f.tolist(), f.astype(">f8"), np.transpose(f.transpose(2, 0, 1).copy(), (1, 2, 0))]:
        u = poisson.solve(view, **options)
        assert u.dtype == np.float64 and np.allclose(u, expected, rtol=1e-13, atol=1e-13)
        assert u.flags.c_contiguous != (isinstance(view, np.ndarray) and view.flags.f_contiguous)
    single = poisson.solve(f.astype(np.float32), **options)
    assert single.dtype == np.float32 and np.allclose(single, expected, atol=2e-5)
    whole = poisson.solve(np.arange(12).reshape(3, 4))
    assert whole.dtype == np.float64 and np.array_equal(whole, poisson.solve(np.arange(12.0).reshape(3, 4)))
    f.flags.writeable = False
    assert np.array_equal(poisson.solve(f, **options), expected)


def test_a_solver_is_kept():
    rng = np.random.default_rng(6)
    solver = poisson.Solver((9, 11), 0.3, (D, P), "cell", shift=0.5)
    assert (solver.shape, solver.dtype, solver.method) == ((9, 11), np.float64, "fft") and solver.reason
    assert repr(solver) == "Solver(shape=(9, 11), method='fft', dtype=float64)"
    f = rng.normal(size=(2, 3, 9, 11))
    u, report = solver.solve(f, full_output=True)
    assert u.shape == f.shape and len(report["backward_errors"]) == 6 and report["shape"] == (9, 11)
    for k in np.ndindex(2, 3):
        assert np.array_equal(u[k], solver.solve(f[k]))
        assert np.allclose(u[k], solver.solve(np.asfortranarray(f[k])), rtol=1e-13, atol=1e-14)
        assert np.array_equal(u[k], poisson.solve(f[k], 0.3, (D, P), "cell", 0.5))
    columns = poisson.Solver((9, 11), 0.3, (D, P), "cell", shift=0.5, order="F")
    assert np.array_equal(columns.solve(np.asfortranarray(f[0, 0])), solver.solve(np.asfortranarray(f[0, 0])))
    # Of many in the order of columns.
    assert np.array_equal(solver.solve(np.asfortranarray(f)), u)
    assert solver.solve(f[:0]).shape == (0, 3, 9, 11)
    single = poisson.Solver(50, dtype="f4")
    assert single.solve(np.ones(50)).dtype == np.float32


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_answers_go_where_they_are_asked_to(dtype):
    rng = np.random.default_rng(9)
    solver = poisson.Solver((9, 11), dtype=dtype)
    for f in (rng.normal(size=(9, 11)), rng.normal(size=(3, 9, 11)), np.asfortranarray(rng.normal(size=(9, 11)))):
        f = f.astype(dtype)
        expected, out, given = solver.solve(f), np.full_like(f, np.nan), f.copy(order="K")
        assert solver.solve(f, out=out) is out and np.array_equal(out, expected) and np.array_equal(f, given)
        u, report = solver.solve(f, out=f, full_output=True)
        assert u is f and np.array_equal(f, expected) and report["shape"] == (9, 11)
    f = rng.normal(size=(9, 11)).astype(dtype)
    # Converted right-hand sides, and those with gaps.
    out = np.empty_like(f)
    assert np.array_equal(solver.solve(f.astype("f8"), out=out), solver.solve(f))
    assert np.array_equal(solver.solve(np.repeat(f, 2, 1)[:, ::2], out=out), solver.solve(f))
    longer, locked = np.empty(100, dtype), np.empty_like(f)
    locked.flags.writeable = False
    for wrong, message in [(np.empty((11, 9), dtype), "shape"), (np.empty((9, 11), "f2"), "float16"), ([0.0], "list"),
                           (np.empty((9, 22), dtype)[:, ::2], "contiguous"), (np.asfortranarray(f), "order C"), (locked, "writable")]:
        with pytest.raises(ValueError, match=message):
            solver.solve(f, out=wrong)
    with pytest.raises(ValueError, match="overlaps f in memory, but is not f"):
        solver.solve(longer[:99].reshape(9, 11), out=longer[1:].reshape(9, 11))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_the_same_bits_for_any_number_of_threads(dtype):
    f = np.random.default_rng(7).normal(size=(67, 101)).astype(dtype)
    one = poisson.solve(f, boundary=(N, D), threads=1)
    for threads in (2, 3, 7):
        assert np.array_equal(one, poisson.solve(f, boundary=(N, D), threads=threads))
    bandsolve.set_num_threads(2)
    try:
        solver = poisson.Solver(f.shape, boundary=(N, D), dtype=dtype)
    finally:
        bandsolve.set_num_threads(None)
    with ThreadPoolExecutor(4) as pool:
        assert all(np.array_equal(one, u) for u in pool.map(lambda _: solver.solve(f), range(16)))


def test_boundaries_by_axis_and_side():
    rng = np.random.default_rng(8)
    f, values = rng.random((6, 5, 4)), rng.random((6, 4))
    options = dict(shift=0.3, method="gemm")
    for by_axis, in_order in [
        ({}, D),
        ({1: P}, (D, P, D)),
        ({"x": N, -1: (D, N)}, (N, D, (D, N))),
        ({"z": {"upper": N}, 0: {}}, (D, D, (D, N))),
        ({"y": {"lower": (D, values), "upper": (N, 2.0)}}, (D, ((D, values), (N, 2.0)), D)),
        ({np.int64(2): (D, 3.0)}, (D, D, (D, 3.0))),
    ]:
        assert np.array_equal(poisson.solve(f, boundary=by_axis, **options), poisson.solve(f, boundary=in_order, **options))
    line = f[:, 0, 0]
    assert np.array_equal(poisson.solve(line, boundary={"x": {"lower": N}}), poisson.solve(line, boundary=(N, D)))
    for wrong, words in [
        ({3: N}, "boundary has the key 3, expected a number of an axis from -3 to 2, or one of 'x', 'y', 'z'"),
        ({"w": N}, "boundary has the key 'w'"),
        ({True: N}, "boundary has the key True"),
        ({0: N, "x": N}, "two keys for axis 0"),
        ({0: {"left": N}}, "has the key 'left', expected 'lower' or 'upper'"),
        ({0: {"lower": "robin"}}, "robin"),
    ]:
        with pytest.raises(ValueError, match=re.escape(words)):
            poisson.solve(f, boundary=wrong)


@pytest.mark.parametrize("boundary", [N, P, (N, P)])
def test_singular_problems(boundary):
    rng = np.random.default_rng(8)
    f = rng.normal(size=(16, 12))
    balanced = f - f.mean()
    u, report = poisson.solve(balanced, boundary=boundary, grid="cell", full_output=True)
    assert abs(u.mean()) < 1e-13 and abs(report["removed"]) < 1e-15 and report["mean"] == 0
    higher = poisson.solve(balanced, boundary=boundary, grid="cell", mean=5.0)
    assert np.allclose(higher, u + 5, rtol=1e-13)
    # A little is removed, and said; much is an error.
    other, report = poisson.solve(balanced + 0.01, boundary=boundary, grid="cell", full_output=True)
    assert np.isclose(report["removed"], 0.01) and np.allclose(other, u, atol=1e-12)
    with pytest.raises(np.linalg.LinAlgError, match="no solution unless 1.0"):
        poisson.solve(balanced + 1, boundary=boundary, grid="cell", removable=0.1)
    with pytest.raises(np.linalg.LinAlgError, match="do not balance"):
        poisson.solve(balanced + 0.01, boundary=boundary, grid="cell", removable=1e-3)
    assert np.allclose(poisson.solve(balanced + 1, boundary=boundary, grid="cell", removable=np.inf), u, atol=1e-12)
    # What flows in through the sides has to go somewhere: as much as is given.
    if boundary == N:
        poisson.solve(np.full((16, 12), 0.5), boundary=((N, (N, -8.0)), N), grid="cell", removable=1e-12)


def test_methods():
    f = np.random.default_rng(9).normal(size=(9, 10))
    expected = poisson.solve(f, boundary=(D, N))
    for method in ("fft", "gemm"):
        u, report = poisson.solve(f, boundary=(D, N), method=method, full_output=True)
        assert report["method"] == method and report["reason"] and np.allclose(u, expected, rtol=1e-12)


def test_nothing_to_solve():
    for shape in [(0,), (0, 3), (3, 0, 2)]:
        u, report = poisson.solve(np.zeros(shape), full_output=True)
        assert u.shape == shape and report["backward_error"] == 0
    assert poisson.solve([4.0]) == [2.0]
    assert poisson.solve([[[12.0]]]) == [[[2.0]]]


def test_notations():
    f = np.random.default_rng(10).normal(size=(4, 5))
    same = [D, (D, 0), [D, D], (D, (D, D)), ((D, 0.0), (D, [0, 0, 0, 0])), (((D, np.zeros(5)), D), D)]
    for boundary in same:
        assert np.array_equal(poisson.solve(f, boundary=boundary), poisson.solve(f))
    assert np.array_equal(poisson.solve(f, boundary=(D, (D, 2.0))), poisson.solve(f, boundary=[(D, D), ((D, 2.0), (D, 2.0))]))
    line = f[0]
    assert np.array_equal(poisson.solve(line, boundary=(D, N)), poisson.solve(line, boundary=[(D, N)]))
    assert np.array_equal(poisson.solve(line, 2.0, (D, 1.0)), poisson.solve(line, [2.0], [((D, 1.0), (D, 1.0))]))


def test_what_is_wrong_is_said():
    f = np.ones((4, 5))
    for problem, message in [
        (dict(boundary="robin"), r"the lower side of axis 0 has the condition .robin., expected \(\"robin\", alpha, beta\)"),
        (dict(boundary=(D, D, D)), "boundary has 3 entries, expected 2"),
        (dict(boundary=((P, D), D)), r"boundary\[0\] has one periodic side"),
        (dict(boundary=((P, 1.0), D)), "boundary has a value on a periodic side"),
        (dict(boundary=(1.0, D)), "the boundary of axis 0 is 1.0"),
        (dict(boundary=(((D, [1.0, 2.0]), D), D)), r"values at a side of axis 0 have the shape \(2,\), expected \(5,\)"),
        (dict(boundary=((D, np.nan), D)), "not finite"),
        (dict(boundary=(((D, [0, 0, np.inf, 0, 0]), D), D)), r"boundary values\[2\] is not finite"),
        (dict(grid="faces"), "grid is \"faces\", expected one of node, cell"),
        (dict(grid=("node",)), "grid has 1 entries, expected 2"),
        (dict(method="rpts"), "method is \"rpts\", expected one of auto, fft"),
        (dict(spacing=0.0), "spacing is 0.0, expected a positive number"),
        (dict(spacing=(1.0, 1.0, 1.0)), "spacing has 3 entries, expected 2"),
        (dict(coordinates=[np.arange(5.0), None]), "coordinates has length 5, expected 6"),
        (dict(coordinates=[-np.arange(6.0), None]), r"coordinates\[0\] do not increase"),
        (dict(coordinates=[np.zeros((6, 1)), None]), "expected one dimension"),
        (dict(shift=np.nan), "shift is nan, expected a finite number"),
        (dict(threads=0), "threads is 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            poisson.solve(f, **problem)
    with pytest.raises(ValueError, match=r"f\[1, 2\] is not finite"):
        poisson.solve(np.where(np.arange(20).reshape(4, 5) == 7, np.nan, 1.0))
    with pytest.raises(ValueError, match="expected 1 to 3"):
        poisson.solve(np.ones((2, 2, 2, 2)))
    with pytest.raises(TypeError, match="complex128, expected real numbers"):
        poisson.solve(f + 0j)
    solver = poisson.Solver((4, 5))
    for wrong in [np.ones((5, 4)), np.ones(5), np.ones((4, 5, 1))]:
        with pytest.raises(ValueError, match=r"expected \(4, 5\), or more axes in front of these"):
            solver.solve(wrong)
    with pytest.raises(ValueError, match="expected float32 or float64"):
        poisson.Solver(5, dtype=complex)
    with pytest.raises(ValueError, match=r"the shape is \(5, -1\), expected numbers from 0 to"):
        poisson.Solver((5, -1))
    with pytest.raises(ValueError, match="order is 'A'"):
        poisson.Solver(5, order="A")
    # An eigenvalue of the matrix: 2 - 2 cos(pi / 3) = 1.
    with pytest.raises(np.linalg.LinAlgError, match="singular to working precision"):
        poisson.solve([1.0, 2.0], shift=-1.0)


def elements(n, seed):
    """Stiffness and mass matrix of linear finite elements whose lengths vary."""
    h = 0.2 + np.random.default_rng(seed).random(n + 1)
    stiffness = sp.diags_array([-1 / h[1:-1], 1 / h[:-1] + 1 / h[1:], -1 / h[1:-1]], offsets=(-1, 0, 1), shape=(n, n))
    mass = sp.diags_array([h[1:-1] / 6, (h[:-1] + h[1:]) / 3, h[1:-1] / 6], offsets=(-1, 0, 1), shape=(n, n))
    return sp.csr_array(stiffness), sp.csr_array(mass)


@pytest.mark.parametrize("shape", [(9,), (12, 7), (7, 12), (5, 6, 7)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_pencils_by_axis(shape, order):
    pencils = [elements(n, n) for n in shape]
    shift, mass = 0.3, reduce(sp.kron, [m for _, m in pencils])
    a = sum(reduce(sp.kron, [pencil[0 if axis == k else 1] for k, pencil in enumerate(pencils)]) for axis in range(len(shape)))
    f = np.asarray(np.random.default_rng(1).normal(size=shape), order=order)
    u, report = poisson.solve(f, pencils=pencils, shift=shift, full_output=True)
    expected = linalg.spsolve(sp.csc_matrix(a + shift * mass), f.reshape(-1)).reshape(shape)
    assert np.abs(u - expected).max() <= 1e-12 * np.abs(expected).max()
    assert report["method"] == "gemm" and report["backward_error"] <= 8 * EPS and u.flags[f"{order}_CONTIGUOUS"]
    dense = [(a.toarray(), tuple(np.pad(m.diagonal(k), (int(k < 0), int(k > 0))) for k in (-1, 0, 1))) for a, m in pencils]
    assert np.array_equal(u, poisson.Solver(shape, pencils=dense, shift=shift, order=order).solve(f))


def test_pencils_that_do_not_fit():
    a, m = elements(5, 1)
    f = np.ones((5, 5))
    for pencils in [[(a, m)], [(a, m), (a,)], [(a, m), (elements(6, 1)[0], m)], [(a @ a, m), (a, m)], [(a, (m, m)), (a, m)]]:
        with pytest.raises((ValueError, TypeError)):
            poisson.solve(f, pencils=pencils)
    with pytest.raises(ValueError, match="left out"):
        poisson.solve(f, 0.5, pencils=[(a, None), (a, m)])
    with pytest.raises(ValueError, match="two matrices per axis"):
        poisson.solve(f, pencils=[(a, m)] * 2, method="fft")
    assert poisson.solve(f, pencils=[(a, None), (a, m)]).shape == (5, 5)


def test_resonance_and_indicators():
    f = np.random.default_rng(0).normal(size=(31, 31))
    with pytest.raises(np.linalg.LinAlgError, match="singular to working precision"):
        poisson.solve(f, shift=-4.0)
    report = poisson.solve(f, full_output=True)[1]
    # The least eigenvalue over the size of the rows: 4 in each dimension, 3 at its ends.
    assert np.isclose(report["rcond"], 8 * np.sin(np.pi / 64) ** 2 / (2 * (29 * 4 + 2 * 3) / 31)) and report["attention"] is None
    report = poisson.solve(f, boundary=N, shift=1e-20, full_output=True)[1]
    assert "no correct digit" in report["attention"] and report["rcond"] < EPS
    beside, diag = np.full(9, -1.0), np.r_[1, np.full(7, 2.0), 1]
    with pytest.raises(np.linalg.LinAlgError, match="singular to working precision"):
        poisson.solve(np.ones((9, 9)), pencils=[((beside, diag, beside), None)] * 2)
