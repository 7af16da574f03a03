"""`bandsolve.jax` against dense solves of JAX, in double precision: values, derivatives, transformations."""

import re

import numpy as np
import pytest

import bandsolve
from derivatives import along, assert_close, directions

jax = pytest.importorskip("jax")
ours = pytest.importorskip("bandsolve.jax")
jnp = jax.numpy


@pytest.fixture(autouse=True)
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def tridiagonal(sub, diag, sup, periodic):
    n = diag.shape[0]
    i = jnp.arange(n)
    a = jnp.zeros((n, n), diag.dtype).at[i, i].add(diag)
    if periodic:
        return a.at[i, (i - 1) % n].add(sub).at[i, (i + 1) % n].add(sup)
    return a.at[i[1:], i[:-1]].add(sub).at[i[:-1], i[1:]].add(sup)


def band(lower, upper, ab):
    n = ab.shape[1]
    a = jnp.zeros((n, n), ab.dtype)
    for d in range(-lower, upper + 1):
        i = jnp.arange(max(0, -d), min(n, n - d))
        a = a.at[i, i + d].set(ab[upper - d, i + d])
    return a


def blocks(sub, diag, sup):
    n, b, _ = diag.shape
    a = jnp.zeros((n, b, n, b), diag.dtype)
    i = jnp.arange(n)
    a = a.at[i, :, i].set(diag).at[i[1:], :, i[:-1]].set(sub).at[i[:-1], :, i[1:]].set(sup)
    return a.reshape(n * b, n * b)


def numbers(rng, shape, complex_):
    real = rng.uniform(-1, 1, shape)
    return real + 1j * rng.uniform(-1, 1, shape) if complex_ else real


def problems(columns, complex_=False):
    """Pairs of functions, ours and dense, with their arguments."""
    rng = np.random.default_rng(3)
    n, k = 7, (2,) if columns else ()
    draw = lambda *shape: numbers(rng, shape, complex_)  # noqa: E731
    for periodic in [False, True]:
        off = n if periodic else n - 1
        arrays = (draw(off), 4 + draw(n), draw(off), draw(n, *k))
        yield (lambda *a, p=periodic: ours.solve_tridiagonal(*a, periodic=p),
               lambda a, b, c, d, p=periodic: jnp.linalg.solve(tridiagonal(a, b, c, p), d), arrays)
    for lower, upper in [(2, 1), (0, 2), (1, 0)]:
        ab = draw(lower + upper + 1, n)
        ab[upper] += 4
        yield (lambda ab, b, w=(lower, upper): ours.solve_banded(w, ab, b),
               lambda ab, b, w=(lower, upper): jnp.linalg.solve(band(*w, ab), b), (ab, draw(n, *k)))
    arrays = (draw(3, 2, 2), 4 * np.eye(2) + draw(4, 2, 2), draw(3, 2, 2), draw(4, 2, *k))
    yield (ours.solve_block_tridiagonal,
           lambda a, b, c, d: jnp.linalg.solve(blocks(a, b, c), d.reshape(8, *k)).reshape(d.shape), arrays)


@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("complex_", [False, True])
def test_values_and_derivatives_are_those_of_dense_solves(columns, complex_):
    for solve, dense, arrays in problems(columns, complex_):
        everything = tuple(range(len(arrays)))
        assert np.allclose(solve(*arrays), dense(*arrays), rtol=0, atol=1e-12)
        weigh = lambda f: lambda *a: (jnp.abs(f(*a)) ** 2).sum() + jnp.real(f(*a)).sum()  # noqa: E731
        gradients = [jax.jit(jax.grad(weigh(f), everything))(*arrays) for f in (solve, dense)]
        for g, expected in zip(*gradients):
            assert np.allclose(g, expected, rtol=1e-9, atol=1e-9)
        tangents = tuple(np.cos(np.arange(a.size)).reshape(a.shape).astype(a.dtype) for a in arrays)
        pushed = [jax.jvp(f, arrays, tangents)[1] for f in (solve, dense)]
        assert np.allclose(*pushed, rtol=1e-9, atol=1e-9)


def test_second_derivatives():
    for solve, dense, arrays in problems(False):
        hessians = [jax.hessian(lambda d, f=f: (f(*arrays[:-2], d, arrays[-1]) if len(arrays) == 2 else f(arrays[0], d, *arrays[2:])).sum())
                    for f in (solve, dense)] if len(arrays) == 4 else [jax.hessian(lambda b, f=f: (f(arrays[0], b) ** 2).sum()) for f in (solve, dense)]
        at = arrays[1]
        assert np.allclose(*(h(at) for h in hessians), rtol=1e-9, atol=1e-9)


def check_derivatives(solve, arrays):
    """First and second derivatives, forward and in reverse, are those of differences."""
    rng = np.random.default_rng(5)
    x = np.asarray(solve(*arrays))
    weights = rng.uniform(-1, 1, x.shape).astype(x.dtype)

    def gradient(*a):
        return jnp.concatenate([g.ravel() for g in jax.vjp(solve, *a)[1](weights)])

    solve, gradient = jax.jit(solve), jax.jit(gradient)
    for direction in directions(rng, arrays):
        expected = along(solve, arrays, direction)
        assert_close(jax.jvp(solve, tuple(arrays), tuple(direction))[1], expected)
        flat = np.concatenate([d.ravel() for d in direction])
        assert_close((np.asarray(gradient(*arrays)) * flat).sum(), (weights * expected).sum(), np.abs(weights * expected).sum())
        # Poisson problems are linear: their second derivatives are zero.
        expected = along(gradient, arrays, direction)
        size = max(np.abs(expected).max(), np.abs(gradient(*arrays)).max())
        assert_close(jax.jvp(gradient, tuple(arrays), tuple(direction))[1], expected, size)


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize("columns", [False, True])
@pytest.mark.parametrize("complex_", [False, True])
def test_derivatives_are_those_of_differences(batched, columns, complex_):
    for solve, _, arrays in problems(columns, complex_):
        if batched:
            solve, arrays = jax.vmap(solve), [np.stack([a, 1.1 * a, 0.9 * a]) for a in arrays]
        check_derivatives(solve, arrays)


@pytest.mark.parametrize("columns", [False, True])
def test_vmap_over_any_of_the_arrays(columns):
    for solve, dense, arrays in problems(columns):
        alone = [tuple(0 if k == mapped else None for k in range(len(arrays))) for mapped in range(len(arrays))]
        for axes in [*alone, (0,) * len(arrays)]:
            many = tuple(np.stack([a, 1.1 * a, 0.9 * a]) if axis == 0 else a for a, axis in zip(arrays, axes))
            x, expected = (jax.vmap(f, axes)(*many) for f in (solve, dense))
            assert np.allclose(x, expected, rtol=0, atol=1e-11), axes
        both = jax.jit(jax.vmap(jax.grad(lambda *a: solve(*a).sum(), len(arrays) - 1)))
        many = tuple(np.stack([a, 1.1 * a]) for a in arrays)
        expected = jax.vmap(jax.grad(lambda *a: dense(*a).sum(), len(arrays) - 1))(*many)
        assert np.allclose(both(*many), expected, rtol=0, atol=1e-11)


def test_many_systems_with_one_matrix():
    rng = np.random.default_rng(4)
    n, off, rhs = 300, rng.random(299), rng.random((100, 300))
    diag = 3 + rng.random(n)
    x = jax.vmap(ours.solve_tridiagonal, (None, None, None, 0))(off, diag, off, rhs)
    assert np.array_equal(x, bandsolve.solve_batch(off, diag, off, rhs))
    x = jax.vmap(ours.solve_tridiagonal, (None, None, None, 1), 1)(off, diag, off, rhs.T)
    assert np.allclose(x.T, bandsolve.solve_batch(off, diag, off, rhs), rtol=0, atol=1e-14)


def test_types_and_errors():
    one = np.ones(3, np.float32)
    assert ours.solve_tridiagonal(one[1:], 4 * one, one[1:], one).dtype == np.float32
    assert ours.solve_tridiagonal([1, 1], [4, 4, 4], [1, 1], [5, 6, 5]).dtype.kind == "f"
    assert ours.solve_tridiagonal(one, 4 * one, one, one, padded=True).shape == (3,)
    for call, words in [
        (lambda: ours.solve_tridiagonal(one, one, one, one), "sub has length 3, expected 2"),
        (lambda: ours.solve_tridiagonal(one[1:], one, one[1:], one[1:]), r"rhs has the shape \(2,\)"),
        (lambda: ours.solve_tridiagonal(one[1:], one[None], one[1:], one), "diag has 2 dimensions"),
        (lambda: ours.solve_banded((1, 1), np.ones((2, 3)), one), r"ab has the shape \(2, 3\)"),
        (lambda: ours.solve_banded((1, 1), np.ones((3, 3)), one[1:]), r"b has the shape \(2,\)"),
        (lambda: ours.solve_block_tridiagonal(np.ones((2, 1, 1)), np.ones((2, 1, 1)), np.ones((1, 1, 1)), np.ones((2, 1))), "sub has the shape"),
    ]:
        with pytest.raises(ValueError, match=words):
            call()
    with pytest.raises(Exception, match="singular"):
        jax.block_until_ready(ours.solve_tridiagonal(one[1:], 0 * one, one[1:], one))


def test_xla_calls_the_tridiagonal_solver_without_python():
    if not hasattr(jax, "ffi"):
        pytest.skip("this version of JAX has no interface for compiled functions")
    arrays = np.ones(2), np.full(3, 4.0), np.ones(2), np.ones(3)
    text = jax.jit(jax.grad(lambda *a: ours.solve_tridiagonal(*a).sum())).lower(*arrays).compile().as_text()
    assert text.count('custom_call_target="bandsolve_solve_tridiagonal"') == 2 and "callback" not in text


def by_both_paths(monkeypatch, solve, *arrays):
    """The solutions, or the last lines of the errors, of the compiled function and of the one that JAX calls through Python."""
    outcomes = []
    for registered in (True, False):
        monkeypatch.setattr(ours, "_REGISTERED", registered)
        try:
            outcomes.append(np.asarray(jax.jit(lambda *a: solve(*a))(*arrays)))
        except jax.errors.JaxRuntimeError as error:
            outcomes.append(str(error).strip().splitlines()[-1].removeprefix("INVALID_ARGUMENT: "))
    return outcomes


#: n, axes in front of the matrix, axes in front of the right-hand sides, columns.
SHAPES = [
    (0, (), (), ()), (1, (), (), ()), (2, (), (), ()), (40, (), (), ()), (40, (), (), (3,)), (40, (), (), (70,)), (5, (), (), (0,)),
    (40, (), (3,), ()), (40, (), (70,), ()), (40, (), (70,), (2,)), (40, (), (2,), (70,)), (40, (3,), (), ()), (40, (70,), (70,), ()),
    (40, (3,), (3,), (2,)), (40, (3,), (), (2,)), (1, (3,), (3,), ()), (5, (), (0,), ()), (5, (0,), (0,), ()), (0, (3,), (3,), ()),
]


@pytest.mark.skipif(not ours._REGISTERED, reason="this version of JAX does not accept the compiled function")
@pytest.mark.parametrize("transpose", [False, True])
@pytest.mark.parametrize("periodic", [False, True])
def test_both_paths_return_the_same_bits(dtype, periodic, transpose, monkeypatch):
    rng = np.random.default_rng(8)
    draw = lambda *shape: numbers(rng, shape, dtype.kind == "c").astype(dtype)  # noqa: E731
    for n, front, front_of_rhs, columns in SHAPES:
        off = n if periodic else max(n - 1, 0)
        arrays = draw(*front, off), 4 + draw(*front, n), draw(off), draw(*front_of_rhs, n, *columns)

        def solve(sub, diag, sup, rhs):
            of_rhs = lambda rhs: ours.solve_tridiagonal(sub, diag, sup, rhs, periodic=periodic)  # noqa: E731
            return jax.linear_transpose(of_rhs, rhs)(rhs)[0] if transpose else of_rhs(rhs)

        if front or front_of_rhs:
            of_matrix = 0 if front else None
            solve = jax.vmap(solve, (of_matrix, of_matrix, None, 0 if front_of_rhs else None))
        x, expected = by_both_paths(monkeypatch, solve, *arrays)
        assert x.dtype == expected.dtype == dtype and x.shape == expected.shape and x.tobytes() == expected.tobytes(), (n, front, front_of_rhs, columns)


@pytest.mark.skipif(not ours._REGISTERED, reason="this version of JAX does not accept the compiled function")
def test_both_paths_broadcast_axes_of_nested_maps(monkeypatch):
    rng = np.random.default_rng(9)
    arrays = rng.random((2, 8)), 4 + rng.random((3, 9)), rng.random(8), rng.random((3, 2, 9))
    solve = jax.vmap(jax.vmap(ours.solve_tridiagonal, (0, None, None, 0)), (None, 0, None, 0))
    x, expected = by_both_paths(monkeypatch, solve, *arrays)
    assert x.tobytes() == expected.tobytes()
    sub, diag = np.broadcast_to(arrays[0], (3, 2, 8)), np.broadcast_to(arrays[1][:, None], (3, 2, 9))
    assert np.array_equal(x, bandsolve.solve_batch(sub, diag, arrays[2], arrays[3]))


@pytest.mark.skipif(not ours._REGISTERED, reason="this version of JAX does not accept the compiled function")
@pytest.mark.parametrize("front, front_of_rhs, columns", [((), (), ()), ((), (), (2,)), ((), (70,), ()), ((3,), (3,), ()), ((3,), (3,), (2,))])
def test_both_paths_have_the_same_messages(front, front_of_rhs, columns, monkeypatch):
    axes = (0 if front else None,) * 3 + (0,)
    solve = jax.vmap(ours.solve_tridiagonal, axes) if front_of_rhs else ours.solve_tridiagonal
    for wrong, value, words in [("rhs", np.nan, r"ValueError: rhs\[.*\] is not finite"), ("sub", np.inf, r"ValueError: sub\[.*\] is not finite"),
                                ("diag", 0.0, "LinAlgError: .* is singular: no pivot in row 8")]:
        arrays = {"sub": np.zeros((*front, 8)), "diag": np.ones((*front, 9)), "sup": np.zeros((*front, 8)),
                  "rhs": np.ones((*front_of_rhs, 9, *columns))}
        arrays[wrong].flat[-1] = value
        direct, through_python = by_both_paths(monkeypatch, solve, *arrays.values())
        assert direct == through_python
        assert re.fullmatch(words, direct)


D, N, P = "dirichlet", "neumann", "periodic"
R, S = ("robin", 1.3, 0.6), ("robin", -0.2, 0.9)
BOXES = [
    ((4,), ["node"], [(R, D)], None), ((3, 4), ["cell", "node"], [(R, S), (N, R)], None), ((3, 4), ["node", "cell"], [(P, P), (S, R)], None),
    ((5,), ["cell"], [(D, N)], [np.array([0, 1, 1.5, 3, 3.5, 4])]),
    ((4, 3), ["node", "node"], [(N, D), (N, N)], None),
    ((3, 4), ["cell", "node"], [(P, P), (D, N)], None),
    ((2, 3, 2), ["node"] * 3, [(D, D), (P, P), (D, N)], None),
]


def box(shape, grids, kinds, coordinates, shift):
    """Our function of f and the values at the sides, the dense one, and arguments."""
    test_poisson = pytest.importorskip("test_poisson")
    points = [test_poisson.points_of(*axis, 0.5) if given is None else given
              for axis, given in zip(zip(shape, grids, kinds), coordinates or [None] * len(shape))]
    a, inflow, _ = test_poisson.assembled(shape, grids, kinds, points, shift)
    a = jnp.asarray(a.todense())
    sides = [(axis, side) for axis in range(len(shape)) for side in (0, 1) if kinds[axis][side] != P]

    def solve(f, *values):
        given = dict(zip(sides, values))
        boundary = [tuple(test_poisson.valued(kind, given[axis, side]) if (axis, side) in given else kind for side, kind in enumerate(pair))
                    for axis, pair in enumerate(kinds)]
        return ours.solve_poisson(f, 0.5, boundary, grids, shift, coordinates=coordinates, ndim=len(shape))

    def dense(f, *values):
        for (axis, side), value in zip(sides, values):
            f = f + jnp.asarray(inflow(axis, side, 1.0)) * jnp.expand_dims(value, axis)
        return jnp.linalg.solve(a, f.ravel()).reshape(f.shape)

    rng = np.random.default_rng(6)
    return solve, dense, [rng.random(shape)] + [rng.random(shape[:axis] + shape[axis + 1 :]) for axis, _ in sides]


@pytest.mark.parametrize("case", range(len(BOXES)))
def test_poisson_problems_and_their_derivatives(case):
    solve, dense, arguments = box(*BOXES[case], 0.2)
    everything = tuple(range(len(arguments)))
    close = lambda x, expected: np.testing.assert_allclose(x, expected, rtol=1e-10, atol=1e-11)  # noqa: E731
    close(jax.jit(solve)(*arguments), dense(*arguments))
    for jacobian in (jax.jacrev, jax.jacfwd):
        for found, expected in zip(*(jacobian(f, everything)(*arguments) for f in (solve, dense))):
            close(found, expected)
    close(*(jax.hessian(lambda value, f=f: (f(*arguments[:-1], value) ** 2).sum())(arguments[-1]) for f in (solve, dense)))
    many = [np.stack([argument, 2 * argument, -argument]) for argument in arguments]
    close(jax.vmap(solve)(*many), jax.vmap(dense)(*many))
    close(solve(*many), jax.vmap(dense)(*many))
    gradients = [jax.vmap(jax.grad(lambda *a, f=f: (f(*a) ** 2).sum()), (0,) + (None,) * len(arguments[1:]))(many[0], *arguments[1:])
                 for f in (solve, dense)]
    close(*gradients)


@pytest.mark.parametrize("case", range(len(BOXES)))
def test_derivatives_of_poisson_problems_are_those_of_differences(case):
    solve, _, arguments = box(*BOXES[case], 0.2)
    check_derivatives(solve, arguments)


@pytest.mark.parametrize("grid", ["node", "cell"])
def test_singular_poisson_problems(grid):
    test_poisson = pytest.importorskip("test_poisson")
    shape, kinds = (4, 3), [(N, N), (P, P)]
    points = [test_poisson.points_of(n, grid, pair, 1.0) for n, pair in zip(shape, kinds)]
    a, _, volumes = test_poisson.assembled(shape, [grid] * 2, kinds, points)
    weights = jnp.asarray(volumes.ravel() / volumes.sum())
    # Subtract the mean of f, and ask for the mean of u.
    whole = jnp.asarray(a.todense()) + jnp.outer(jnp.ones(12), weights)
    dense = lambda f: jnp.linalg.solve(whole, f.ravel() - weights @ f.ravel()).reshape(shape) + 0.3  # noqa: E731
    solve = lambda f: ours.solve_poisson(f, boundary=(N, P), grid=grid, mean=0.3)  # noqa: E731
    f = np.random.default_rng(7).random(shape)
    f -= weights @ f.ravel()
    for found, expected in [(f(at) for f in (of(solve), of(dense))) for of in (lambda f: f, jax.jacrev, jax.jacfwd, lambda f: jax.grad(lambda x: f(x).sum()))
                            for at in (f,)]:
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    with pytest.raises(Exception, match="(?i)balance|removed|singular"):
        jax.block_until_ready(solve(f + 1))


def test_poisson_types_and_errors():
    assert ours.solve_poisson(np.ones((3, 4), np.float32), boundary={"y": ("neumann", 2)}).dtype == np.float32
    assert ours.solve_poisson(np.ones((2, 3, 4)), ndim=2).shape == (2, 3, 4)
    for call, error, words in [
        (lambda: ours.solve_poisson(np.ones(3) * 1j), TypeError, "expected real numbers"),
        (lambda: ours.solve_poisson(1.0), ValueError, "f has 0 dimensions"),
        (lambda: ours.solve_poisson(np.ones(3), ndim=2), ValueError, "f has 1 dimensions and ndim is 2"),
        (lambda: ours.solve_poisson(np.ones((2, 3)), boundary=((D, np.ones(2)), P)), ValueError, r"the values at a side of axis 0 have the shape \(2,\)"),
    ]:
        with pytest.raises(error, match=words):
            call()
