"""`bandsolve.torch` against dense solves of PyTorch and finite differences, in double precision: values, derivatives, transformations."""

import itertools

import numpy as np
import pytest

import bandsolve
from derivatives import along, assert_close, directions

torch = pytest.importorskip("torch", reason="PyTorch (torch) is not installed")
ours = pytest.importorskip("bandsolve.torch")
REAL, COMPLEX = torch.float64, torch.complex128


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def placed(entries, row, column, n):
    """Dense matrices with entries (..., m) at these rows and columns."""
    onto = torch.zeros(entries.shape[-1], n, n, dtype=entries.dtype)
    onto[torch.arange(entries.shape[-1]), row, column] = 1
    return torch.einsum("...i,ijk->...jk", entries, onto)


def tridiagonal(sub, diag, sup, periodic=False):
    n = diag.shape[-1]
    i = torch.arange(n)
    if periodic:
        return placed(diag, i, i, n) + placed(sub, i, (i - 1) % n, n) + placed(sup, i, (i + 1) % n, n)
    return placed(diag, i, i, n) + placed(sub, i[1:], i[:-1], n) + placed(sup, i[:-1], i[1:], n)


def band(lower, upper, ab):
    n = ab.shape[-1]
    a = torch.zeros(n, n, dtype=ab.dtype)
    for d in range(max(-lower, 1 - n), min(upper, n - 1) + 1):
        i = torch.arange(max(0, -d), min(n, n - d))
        a = a + placed(ab[..., upper - d, max(0, d) : max(0, d) + len(i)], i, i + d, n)
    return a


def blocks(sub, diag, sup):
    n, b = diag.shape[-3:-1]
    i, j = (index.ravel() for index in torch.meshgrid(torch.arange(b), torch.arange(b), indexing="ij"))
    a = torch.zeros(n * b, n * b, dtype=diag.dtype)
    for entries, row, column in ((diag, 0, 0), (sub, 1, 0), (sup, 0, 1)):
        for k in range(entries.shape[-3]):
            a = a + placed(entries[..., k, :, :].flatten(-2), i + b * (k + row), j + b * (k + column), n * b)
    return a


def solved_blocks(a, b, c, d, vector):
    flat = d.flatten(-2) if vector else d.flatten(-3, -2)
    return torch.linalg.solve(blocks(a, b, c), flat).reshape(d.shape)


def problems(dtype=REAL, batch=(), columns=(), n=5):
    """Triples: our function, the dense one, and arguments that require derivatives."""
    rng = np.random.default_rng(3)

    def draw(*shape, more=0.0):
        numbers = rng.uniform(-1, 1, shape) + (1j * rng.uniform(-1, 1, shape) if dtype == COMPLEX else 0)
        return torch.tensor(numbers + more, dtype=dtype, requires_grad=True)

    for periodic in [False, True]:
        off = n if periodic else n - 1
        yield (lambda a, b, c, d, p=periodic: ours.solve_tridiagonal(a, b, c, d, periodic=p),
               lambda a, b, c, d, p=periodic: torch.linalg.solve(tridiagonal(a, b, c, p), d),
               (draw(*batch, off), draw(*batch, n, more=4), draw(*batch, off), draw(*batch, n, *columns)))
    for widths in [(2, 1), (0, 2), (1, 0)]:
        middle = np.zeros((sum(widths) + 1, 1))
        middle[widths[1]] = 4
        yield (lambda ab, b, w=widths: ours.solve_banded(w, ab, b),
               lambda ab, b, w=widths: torch.linalg.solve(band(*w, ab), b),
               (draw(*batch, sum(widths) + 1, n, more=middle), draw(*batch, n, *columns)))
    yield (ours.solve_block_tridiagonal, lambda *a: solved_blocks(*a, vector=not columns),
           (draw(*batch, 2, 2, 2), draw(*batch, 3, 2, 2, more=4 * np.eye(2)), draw(*batch, 2, 2, 2), draw(*batch, 3, 2, *columns)))


def close(x, expected, atol=1e-12):
    assert x.shape == expected.shape and x.dtype == expected.dtype
    torch.testing.assert_close(x, expected, rtol=atol, atol=atol)


@pytest.mark.parametrize("dtype", [REAL, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("columns", [(), (1,), (2,)], ids=str)
def test_values_and_gradients_are_those_of_dense_solves(dtype, batch, columns):
    for solve, dense, arguments in problems(dtype, batch, columns):
        x, expected = solve(*arguments), dense(*arguments)
        close(x, expected)
        weigh = lambda y: (y.abs() ** 2).sum() + y.real.sum()  # noqa: E731
        for grad, wanted in zip(torch.autograd.grad(weigh(x), arguments), torch.autograd.grad(weigh(expected), arguments)):
            close(grad, wanted, 1e-11)


@pytest.mark.parametrize("dtype", [REAL, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
@pytest.mark.parametrize("columns", [(), (2,)], ids=str)
def test_gradients_are_those_of_finite_differences(dtype, batch, columns):
    for solve, _, arguments in problems(dtype, batch, columns, n=3):
        assert torch.autograd.gradcheck(solve, arguments, atol=1e-8, rtol=1e-7, check_forward_ad=True)
        assert torch.autograd.gradgradcheck(solve, arguments, atol=1e-8, rtol=1e-7)


@pytest.mark.parametrize("dtype", [REAL, COMPLEX], ids=["real", "complex"])
@pytest.mark.parametrize("batch", [(), (2,)], ids=str)
@pytest.mark.parametrize("columns", [(), (2,)], ids=str)
def test_derivatives_are_those_of_differences_of_high_order(dtype, batch, columns):
    for solve, _, arguments in problems(dtype, batch, columns):
        rng = np.random.default_rng(5)
        arrays = [a.detach().numpy() for a in arguments]
        x = solve(*arguments)
        weights = torch.tensor(rng.uniform(-1, 1, x.shape), dtype=dtype)

        def of_arrays(*a, solve=solve):
            return solve(*map(torch.from_numpy, a)).detach().numpy()

        def gradient(*a, solve=solve, weights=weights):
            return torch.cat([g.flatten() for g in torch.autograd.grad(solve(*a), a, weights, create_graph=True)])

        def gradient_of_arrays(*a, gradient=gradient):
            return gradient(*(torch.from_numpy(b).requires_grad_() for b in a)).detach().numpy()

        g = gradient(*arguments)
        of_g = torch.tensor(rng.uniform(-1, 1, g.shape), dtype=dtype)
        second = torch.cat([h.flatten() for h in torch.autograd.grad(g, arguments, of_g)]).numpy()
        for direction in directions(rng, arrays):
            expected = along(of_arrays, arrays, direction)
            assert_close(torch.func.jvp(solve, tuple(arguments), tuple(map(torch.from_numpy, direction)))[1].detach(), expected)
            # PyTorch's gradient is the one of the real inner product.
            flat = np.concatenate([d.ravel() for d in direction])
            for found, w, product in [(g.detach().numpy(), weights.numpy(), expected), (second, of_g.numpy(), along(gradient_of_arrays, arrays, direction))]:
                products = (w.conj() * product).real
                assert_close((found.conj() * flat).real.sum(), products.sum(), np.abs(w * product).sum())


@pytest.mark.parametrize("columns", [(), (2,)], ids=str)
def test_second_derivatives_are_those_of_dense_solves(columns):
    for solve, dense, arguments in problems(columns=columns):
        for argument in range(len(arguments)):
            def of(f, argument=argument):
                return lambda y: (f(*arguments[:argument], y, *arguments[argument + 1 :]) ** 2).sum()

            at = arguments[argument].detach()
            expected = torch.func.hessian(of(dense))(at)
            close(torch.autograd.functional.hessian(of(solve), at), expected, 1e-9)
            close(torch.func.hessian(of(solve))(at), expected, 1e-9)
            close(torch.func.jacrev(torch.func.jacrev(of(solve)))(at), expected, 1e-9)


@pytest.mark.parametrize("columns", [(), (2,)], ids=str)
def test_axes_in_front_broadcast(columns):
    for solve, dense, arguments in problems(columns=columns):
        for argument in range(len(arguments)):
            many = list(arguments)
            many[argument] = torch.stack([arguments[argument] * factor for factor in (1, 1.1, 0.9)]).detach().requires_grad_()
            if argument == len(arguments) - 1 and not columns:
                # One matrix for many vectors: they need an axis for columns, as for `torch.linalg.solve`.
                many[argument] = many[argument].detach().unsqueeze(-1).requires_grad_()
                expected = torch.stack([dense(*arguments[:-1], one.squeeze(-1)) for one in many[argument]]).unsqueeze(-1)
            else:
                alone = lambda k: (*many[:argument], many[argument][k], *many[argument + 1 :])  # noqa: E731
                expected = torch.stack([dense(*alone(k)) for k in range(3)])
            x = solve(*many)
            close(x, expected)
            for grad, wanted in zip(torch.autograd.grad(x.sin().sum(), many), torch.autograd.grad(expected.sin().sum(), many)):
                close(grad, wanted, 1e-11)


@pytest.mark.parametrize("columns", [(), (2,)], ids=str)
def test_vmap_over_any_of_the_arguments(columns):
    for solve, dense, arguments in problems(columns=columns):
        arguments = [argument.detach() for argument in arguments]
        alone = [tuple(0 if k == mapped else None for k in range(len(arguments))) for mapped in range(len(arguments))]
        for axes in [*alone, (0,) * len(arguments)]:
            many = [torch.stack([a, 1.1 * a, 0.9 * a]) if axis == 0 else a for a, axis in zip(arguments, axes)]
            close(torch.func.vmap(solve, axes)(*many), torch.func.vmap(dense, axes)(*many), 1e-11)
            gradients = [torch.func.vmap(torch.func.grad(lambda *a, f=f: f(*a).sin().sum(), tuple(range(len(arguments)))), axes)(*many)
                         for f in (solve, dense)]
            for grad, wanted in zip(*gradients):
                close(grad, wanted, 1e-11)
        last = [a.unsqueeze(-1).expand(*a.shape, 2).clone() for a in arguments]
        close(torch.func.vmap(solve, -1, -1)(*last), torch.func.vmap(dense, -1, -1)(*last), 1e-11)


def test_vmap_of_vmap_and_of_axes_in_front():
    for solve, dense, arguments in problems(batch=(2,), columns=(2,)):
        arguments = [argument.detach() for argument in arguments]
        outer = torch.stack([arguments[0], 2 * arguments[0], 0.5 * arguments[0]])
        close(torch.func.vmap(lambda a: solve(a, *arguments[1:]))(outer), torch.func.vmap(lambda a: dense(a, *arguments[1:]))(outer), 1e-11)
        twice = torch.func.vmap(torch.func.vmap(solve), (0,) + (None,) * (len(arguments) - 1))
        expected = torch.func.vmap(torch.func.vmap(dense), (0,) + (None,) * (len(arguments) - 1))
        close(twice(outer, *arguments[1:]), expected(outer, *arguments[1:]), 1e-11)
        cotangents = torch.ones(5, *solve(*arguments).shape, dtype=REAL)
        gradients = [torch.func.vmap(torch.func.vjp(f, *arguments)[1])(cotangents) for f in (solve, dense)]
        for grad, wanted in zip(*gradients):
            close(grad, wanted, 1e-11)


def test_forward_and_backward_share_the_factors(monkeypatch):
    made = []
    for name in ("factor_banded", "factor_block_tridiagonal"):
        factor = getattr(bandsolve, name)
        monkeypatch.setattr(bandsolve, name, lambda *a, factor=factor: made.append(1) or factor(*a))
    for solve, _, arguments in problems(batch=(2,)):
        made.clear()
        x = solve(*arguments)
        first = len(made)
        grads = torch.autograd.grad((x ** 2).sum(), arguments, create_graph=True)
        torch.autograd.grad(sum((grad ** 2).sum() for grad in grads), arguments)
        assert first in (0, 2) and len(made) == first


def test_padded_and_small_systems():
    sub, diag, sup, rhs = next(problems())[2]
    sub, sup = (torch.cat([one, one[:1]]).detach().requires_grad_() for one in (sub, sup))
    solve = lambda *a: ours.solve_tridiagonal(*a, padded=True)  # noqa: E731
    close(solve(sub, diag, sup, rhs), torch.linalg.solve(tridiagonal(sub[1:], diag, sup[:-1]), rhs))
    grads = torch.autograd.grad(solve(sub, diag, sup, rhs).sum(), (sub, sup))
    assert grads[0][0] == grads[1][-1] == 0 and torch.autograd.gradcheck(solve, (sub, diag, sup, rhs), atol=1e-8)
    for n in [0, 1, 2]:
        for periodic in [False, True]:
            off = torch.ones(n if periodic else max(n - 1, 0), dtype=REAL, requires_grad=True)
            diag, rhs = (torch.full((n,), value, dtype=REAL, requires_grad=True) for value in (5.0, 2.0))
            x = ours.solve_tridiagonal(off, diag, off, rhs, periodic=periodic)
            close(x, torch.linalg.solve(tridiagonal(off, diag, off, periodic), rhs) if n else rhs)
            assert all(torch.isfinite(grad).all() for grad in torch.autograd.grad(x.sum(), (off, diag, rhs)))
    for n in [1, 2]:
        # Rows of `ab` for diagonals that the matrix does not have.
        ab = torch.ones(6, n, dtype=REAL) + torch.tensor([0, 0, 5.0, 0, 0, 0])[:, None]
        arguments = ab.to(REAL).requires_grad_(), torch.ones(n, dtype=REAL, requires_grad=True)
        assert torch.autograd.gradcheck(lambda ab, b: ours.solve_banded((3, 2), ab, b), arguments, atol=1e-8, check_forward_ad=True)


def test_number_types_and_memory():
    one = torch.ones(3)
    assert ours.solve_tridiagonal(one[1:], 4 * one, one[1:], one).dtype == torch.float32
    assert ours.solve_tridiagonal(one[1:], 4 * one, one[1:], one.to(torch.complex64)).dtype == torch.complex64
    assert ours.solve_tridiagonal(one[1:], 4 * one, one[1:], one.double()).dtype == REAL
    assert ours.solve_tridiagonal(one[1:].half(), 4 * one.half(), one[1:].half(), one.half()).dtype == torch.float32
    assert ours.solve_tridiagonal([1, 1], [4, 4, 4], [1, 1], np.array([5.0, 6, 5])).dtype == REAL
    # The gradient of a real matrix is real, also if the right-hand side is complex.
    diag = torch.full((3,), 4.0, requires_grad=True)
    ours.solve_tridiagonal(one[1:], diag, one[1:], one.to(torch.complex64)).abs().sum().backward()
    assert diag.grad.dtype == torch.float32
    # Views: conjugates, columns in Fortran order, every other entry.
    rng = np.random.default_rng(5)
    b = torch.tensor(rng.random((2, 6)) + 1j * rng.random((2, 6)))
    off, diag = torch.ones(2, dtype=COMPLEX), torch.full((3,), 4.0 + 1j, dtype=COMPLEX)
    for view in (b[:, ::2].T, b[:, 1:4].mT.conj(), b.imag.to(COMPLEX)[:, :3].T, -b[:, 3:].mH):
        close(ours.solve_tridiagonal(off, diag.conj(), off, view), torch.linalg.solve(tridiagonal(off, diag.conj(), off), view))


def test_one_matrix_for_many_systems():
    rng = np.random.default_rng(4)
    off, diag, rhs = (torch.tensor(numbers) for numbers in (rng.random(299), 3 + rng.random(300), rng.random((100, 300))))
    x = torch.func.vmap(ours.solve_tridiagonal, (None, None, None, 0))(off, diag, off, rhs)
    assert np.array_equal(x, bandsolve.solve_batch(off.numpy(), diag.numpy(), off.numpy(), rhs.numpy()))
    close(ours.solve_tridiagonal(off, diag, off, rhs.T).T, x, 1e-14)


def errors():
    one, two = torch.ones(3), torch.ones(2, 3)
    tri, bands, block = ours.solve_tridiagonal, ours.solve_banded, ours.solve_block_tridiagonal
    nan = torch.tensor([1.0, float("nan"), 1.0])
    meta = torch.ones(3, device="meta")
    return [
        (lambda: tri(one, one, one, one), "sub has length 3, expected 2"),
        (lambda: tri(one[1:], one, one[1:], one[1:]), r"rhs has the shape \(2,\), expected \(\.\.\., 3\)"),
        (lambda: tri(one[1:], one[0], one[1:], two), "diag is a single number, and rhs has 2 dimensions, expected one"),
        (lambda: tri(one[1:], torch.ones(4, 3), one[1:], torch.ones(2, 3, 1)), r"axes in front have the shapes \(4,\), \(2,\)"),
        (lambda: bands((1, 1), two, one), r"ab has the shape \(2, 3\)"),
        (lambda: bands((1, 1), torch.ones(3, 3), one[1:]), r"b has the shape \(2,\)"),
        (lambda: block(torch.ones(2, 1, 1), torch.ones(2, 1, 1), torch.ones(1, 1, 1), torch.ones(2, 1)), "sub has the shape"),
        (lambda: tri(one[1:], 4 * one, one[1:], nan), r"rhs\[1\] is not finite"),
        (lambda: tri(one[1:], 4 * one, one[1:], torch.stack([one, nan], 1)), r"rhs\[1, 1\] is not finite"),
        (lambda: tri(one[1:], nan, one[1:], one), r"diag\[1\] is not finite"),
        (lambda: bands((0, 0), one[None], nan), r"b\[1\] is not finite"),
        (lambda: bands((0, 0), torch.stack([one, nan])[:, None], two), r"system \[1\]: ab\[0, 1\] is not finite"),
        (lambda: tri(one[1:], 4 * meta, one[1:], one), r"diag is on the device meta, expected a tensor on the CPU\. Copy it with \.cpu\(\)"),
        (lambda: ours.solve_poisson(nan), r"f\[1\] is not finite"),
        (lambda: ours.solve_poisson(meta), "f is on the device meta"),
        (lambda: ours.solve_poisson(torch.tensor(1.0)), "f has 0 dimensions and ndim is None, expected a box of 1 to 3 axes"),
        (lambda: ours.solve_poisson(two, boundary=(("dirichlet", one[1:]), "periodic")), r"the values at a side of axis 0 have the shape \(2,\)"),
        (lambda: ours.solve_poisson(two, boundary=("periodic", ("periodic", one[1:]))), "the boundary of axis 1 has values at a periodic side"),
        (lambda: ours.solve_poisson(two, boundary="open"), "open"),
    ]


@pytest.mark.parametrize("case", range(19))
def test_errors(case):
    call, words = errors()[case]
    with pytest.raises(ValueError, match=words):
        call()
    assert len(errors()) == 19


def test_errors_of_other_types():
    one = torch.ones(3, requires_grad=True)
    zero = torch.zeros(1, 3)
    for singular in (lambda: ours.solve_tridiagonal(one[1:], 0 * one, one[1:], one), lambda: ours.solve_banded((0, 0), zero, one),
                     lambda: ours.solve_block_tridiagonal(torch.zeros(1, 1, 1), torch.zeros(2, 1, 1), torch.zeros(1, 1, 1), torch.ones(2, 1))):
        with pytest.raises(np.linalg.LinAlgError, match="singular"):
            singular()
    with pytest.raises(np.linalg.LinAlgError, match=r"system \[1\]: .*singular"):
        ours.solve_banded((0, 0), torch.stack([torch.ones(1, 3), torch.zeros(1, 3)]), torch.ones(2, 3))
    with pytest.raises(ValueError, match=r"the gradient with respect to the solution\[1\] is not finite"):
        ours.solve_tridiagonal(one[1:], 4 * one, one[1:], one).backward(torch.tensor([0.0, float("inf"), 0]))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        diag = torch.full((3,), 4.0)
        x = ours.solve_tridiagonal(torch.ones(2), diag, torch.ones(2), one)
        diag += 1
        x.sum().backward()
    with pytest.raises(TypeError, match="expected real numbers"):
        ours.solve_poisson(torch.ones(3, dtype=COMPLEX))
    for name in ("shift", "spacing", "mean"):
        with pytest.raises(TypeError, match=f"{name} requires derivatives"):
            ours.solve_poisson(torch.ones(3), **{name: torch.tensor(1.0, requires_grad=True)})
    with pytest.raises(TypeError, match="alpha at the lower side of axis 0 requires derivatives"):
        ours.solve_poisson(torch.ones(3), boundary=("robin", torch.tensor(1.0, requires_grad=True), 1.0))
    with pytest.raises(np.linalg.LinAlgError):
        ours.solve_poisson(torch.ones(4, 5), boundary="neumann", grid="cell")


D, N, P = "dirichlet", "neumann", "periodic"
R, S = ("robin", 1.3, 0.6), ("robin", -0.2, 0.9)
BOXES = [
    ((4,), ["node"], [(R, D)], None), ((3, 4), ["cell", "node"], [(R, S), (N, R)], None), ((3, 4), ["node", "cell"], [(P, P), (S, R)], None),
    ((5,), ["node"], [(D, N)], None), ((4,), ["cell"], [(N, D)], None), ((5,), ["cell"], [(D, D)], [np.array([0, 1, 1.5, 3, 3.5, 4])]),
    ((3, 4), ["node", "cell"], [(D, D), (N, D)], None), ((4, 3), ["node", "node"], [(N, D), (N, N)], None), ((3, 4), ["cell", "node"], [(P, P), (D, N)], None),
    ((4, 5), ["node", "cell"], [(N, D), (D, D)], [np.array([0, 1, 1.5, 3, 3.5]), None]), ((2, 3, 2), ["node"] * 3, [(D, D), (P, P), (D, N)], None),
    ((1, 3), ["node", "node"], [(N, N), (D, N)], None), ((4,), ["node"], [(P, P)], [np.array([0, 1, 1.5, 3, 3.5])]),
]


def box(shape, grids, kinds, coordinates, shift):
    """Our function of f and the values at the sides, the dense one, and arguments."""
    test_poisson = pytest.importorskip("test_poisson")
    spacings = [0.5 + 0.1 * k for k in range(len(shape))]
    points = [test_poisson.points_of(*axis) for axis in zip(shape, grids, kinds, spacings)]
    points = [own if given is None else given for own, given in zip(points, coordinates or [None] * len(shape))]
    a, inflow, volumes = test_poisson.assembled(shape, grids, kinds, points, shift)
    a = torch.tensor(a.todense())
    sides = [(axis, side) for axis, side in itertools.product(range(len(shape)), (0, 1)) if kinds[axis][side] != P]

    def solve(f, *values):
        given = dict(zip(sides, values))
        boundary = [tuple(test_poisson.valued(kind, given[axis, side]) if (axis, side) in given else kind for side, kind in enumerate(pair))
                    for axis, pair in enumerate(kinds)]
        return ours.solve_poisson(f, spacings, boundary, grids, shift, coordinates=coordinates, ndim=len(shape))

    def dense(f, *values):
        for (axis, side), value in zip(sides, values):
            f = f + torch.tensor(inflow(axis, side, 1.0)) * value.unsqueeze(axis)
        return torch.linalg.solve(a, f.reshape(-1)).reshape(f.shape)

    rng = np.random.default_rng(6)
    arguments = [rng.random(shape)] + [rng.random(shape[:axis] + shape[axis + 1 :]) for axis, _ in sides]
    return solve, dense, tuple(torch.tensor(argument, requires_grad=True) for argument in arguments)


@pytest.mark.parametrize("case", range(len(BOXES)))
def test_poisson_problems_and_their_derivatives(case):
    solve, dense, arguments = box(*BOXES[case], 0.2)
    u, expected = solve(*arguments), dense(*arguments)
    close(u, expected, 1e-11)
    for grad, wanted in zip(torch.autograd.grad((u ** 2).sum(), arguments), torch.autograd.grad((expected ** 2).sum(), arguments)):
        close(grad, wanted, 1e-10)
    assert torch.autograd.gradcheck(solve, arguments, atol=1e-8, check_forward_ad=True)
    assert torch.autograd.gradgradcheck(solve, arguments, atol=1e-8)
    many = [torch.stack([argument, 2 * argument]).detach() for argument in arguments]
    close(torch.func.vmap(solve)(*many), torch.stack([expected, 2 * expected]).detach(), 1e-11)
    close(solve(*many), torch.stack([expected, 2 * expected]).detach(), 1e-11)
    close(torch.func.jacrev(solve)(*arguments), torch.func.jacfwd(dense)(*arguments), 1e-11)


@pytest.mark.parametrize("grid", ["node", "cell"])
@pytest.mark.parametrize("kinds", [(N, P), (N, N), (P, P)], ids=str)
def test_singular_poisson_problems(grid, kinds):
    test_poisson = pytest.importorskip("test_poisson")
    shape, pairs = (4, 3), [(kind, kind) for kind in kinds]
    points = [test_poisson.points_of(n, grid, pair, 1.0) for n, pair in zip(shape, pairs)]
    a, _, volumes = test_poisson.assembled(shape, [grid] * 2, pairs, points)
    weights = torch.tensor(volumes.ravel() / volumes.sum())
    # Subtract the mean of f, and ask for the mean of u.
    whole = torch.tensor(a.todense()) + torch.outer(torch.ones(12, dtype=REAL), weights)

    def dense(f, mean=0.3):
        return torch.linalg.solve(whole, (f.reshape(12) - weights @ f.reshape(12))).reshape(shape) + mean

    def solve(f):
        return ours.solve_poisson(f, boundary=kinds, grid=grid, mean=0.3, removable=1e9)

    f = torch.tensor(np.random.default_rng(7).random(shape), requires_grad=True)
    close(solve(f), dense(f), 1e-12)
    close(torch.func.jacrev(solve)(f), torch.func.jacrev(dense)(f), 1e-12)
    close(torch.func.jacfwd(solve)(f), torch.func.jacrev(dense)(f), 1e-12)
    assert torch.autograd.gradgradcheck(lambda f: solve(f) ** 2, (f,), atol=1e-8)
    # f is balanced, but the gradient of u is not.
    balanced = (f - (weights @ f.reshape(12))).detach().requires_grad_()
    (grad,) = torch.autograd.grad(ours.solve_poisson(balanced, boundary=kinds, grid=grid).sum(), balanced)
    (expected,) = torch.autograd.grad(dense(balanced).sum(), balanced)
    close(grad, expected, 1e-12)


def test_poisson_values_that_are_numbers_and_single_precision():
    f = torch.ones(6, 5)
    boundary = {"x": {"lower": ("dirichlet", 2)}, "y": ("neumann", torch.tensor(0.5))}
    u = ours.solve_poisson(f, 0.1, boundary, shift=1.5)
    assert u.dtype == torch.float32
    expected = bandsolve.poisson.solve(f.numpy(), 0.1, {"x": {"lower": ("dirichlet", 2)}, "y": ("neumann", 0.5)}, shift=1.5)
    assert np.allclose(u, expected, rtol=1e-5)
    assert ours.solve_poisson(torch.ones(4, dtype=torch.int64)).dtype == REAL
    assert ours.solve_poisson(torch.ones(2, 0, 3), ndim=2).shape == (2, 0, 3)
