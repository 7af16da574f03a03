"""Solves inside PyTorch programs, with derivatives of any order. Import it by its own name; it needs the package `torch`.

The solvers take tensors on the CPU and work on their memory. Derivatives follow from A x = b: with the gradient g of x, the gradient of b solves
Aᴴ b̄ = g, and that of A is -b̄ xᴴ, at the entries that A stores. The backward pass uses the factors of the forward pass. Every solve is verified, also
those of derivatives. Errors are those of `bandsolve`.
"""

from functools import partial, reduce

import bandsolve
from bandsolve import _differentiable, poisson
from bandsolve._arguments import length_of
from bandsolve._batch import first_not_finite
from bandsolve._optional import missing

try:
    import torch
except ImportError as error:
    raise missing("torch", error) from error

__all__ = ["solve_banded", "solve_block_tridiagonal", "solve_poisson", "solve_tridiagonal"]


class _Solve(torch.autograd.Function):
    """Solve with the matrices of a system or, with `adjoint`, with their conjugate transposes. Axes in front of all tensors broadcast."""

    @staticmethod
    def forward(system, adjoint, rhs, *matrix):
        rhs = _array(rhs)
        try:
            x = system.solve(adjoint, [_array(tensor) for tensor in matrix], rhs)
        except ValueError as error:
            place = first_not_finite(rhs[..., 0] if system.vector else rhs)
            if place is None:
                raise
            what = "the gradient with respect to the solution" if adjoint else system.name
            raise ValueError(f"{what}[{place}] is not finite") from error
        return torch.from_numpy(x)

    @staticmethod
    def setup_context(ctx, inputs, x):
        ctx.system, ctx.adjoint, rhs, *matrix = inputs
        ctx.rhs_shape = rhs.shape
        ctx.save_for_backward(x, *matrix)
        ctx.save_for_forward(x, *matrix)

    @staticmethod
    def backward(ctx, grad):
        x, *matrix = ctx.saved_tensors
        of_rhs = _Solve.apply(ctx.system.for_derivatives, not ctx.adjoint, grad, *matrix)
        of_matrix = [None] * len(matrix)
        if any(ctx.needs_input_grad[3:]):
            pair = (-x, of_rhs) if ctx.adjoint else (-of_rhs, x)
            of_matrix = [_summed(entries, tensor.shape) for entries, tensor in zip(ctx.system.outer(*pair), matrix)]
        return None, None, _summed(of_rhs, ctx.rhs_shape), *of_matrix

    @staticmethod
    def jvp(ctx, _system, _adjoint, rhs, *tangents):
        x, *matrix = ctx.saved_tensors
        rhs = torch.zeros_like(x) if rhs is None else rhs
        if any(tangent is not None for tangent in tangents):
            tangents = [torch.zeros_like(of) if tangent is None else tangent for tangent, of in zip(tangents, matrix)]
            rhs = rhs - ctx.system.product(ctx.adjoint, tangents, x)
        return _Solve.apply(ctx.system.for_derivatives, ctx.adjoint, rhs, *matrix)

    @staticmethod
    def vmap(info, in_dims, system, adjoint, *tensors):
        dims, cores = in_dims[2:], (system.core, *system.cores)
        ranks = [tensor.ndim - core - (dim is not None) for tensor, core, dim in zip(tensors, cores, dims)]
        tensors = [tensor if dim is None else _in_front(tensor, dim, max(ranks) - rank) for tensor, dim, rank in zip(tensors, dims, ranks)]
        return _Solve.apply(system, adjoint, *tensors), 0


def _array(tensor):
    """A NumPy array on the memory of a tensor."""
    return tensor.detach().resolve_conj().resolve_neg().numpy()


def _in_front(tensor, dim, missing):
    """Move an axis to the front, followed by `missing` axes of length 1."""
    tensor = tensor.movedim(dim, 0)
    return tensor.reshape(tensor.shape[:1] + (1,) * missing + tensor.shape[1:])


def _summed(grad, shape):
    """The gradient of a tensor of the shape `shape`, which was broadcast."""
    missing = grad.ndim - len(shape)
    longer = [axis for axis in range(grad.ndim) if axis >= missing and shape[axis - missing] != grad.shape[axis]]
    grad = grad.sum(longer, keepdim=True) if longer else grad
    return grad.sum(tuple(range(missing))) if missing else grad


class _Chain:
    """Tridiagonal systems: `sub` and `sup` have one entry less than `diag`, or as many if the matrix is periodic."""

    name, vector, core, cores = "rhs", False, 2, (1, 1, 1)

    def __init__(self, periodic):
        self.periodic, self.for_derivatives = periodic, self

    def solve(self, adjoint, matrix, rhs):
        return _differentiable.solve_tridiagonal(self.periodic, "conj" if adjoint else False, matrix, rhs)

    def product(self, adjoint, matrix, x):
        """The matrix times x."""
        sub, diag, sup = self._adjoint(*matrix) if adjoint else matrix
        below, above = self._times(sub, self._from(x, -1)), self._times(sup, self._from(x, 1))
        if not self.periodic:
            below, above = _padded(below, -self.core, 1, 0), _padded(above, -self.core, 0, 1)
        return self._times(diag, x) + below + above

    def outer(self, p, q):
        """The entries of p qᴴ at the places of sub, diag and sup."""
        below, above = (p, p) if self.periodic else (_rows(p, -self.core, 1), _rows(p, -self.core, -1))
        return self._outer(below, self._from(q, -1)), self._outer(p, q), self._outer(above, self._from(q, 1))

    def _adjoint(self, sub, diag, sup):
        """The conjugate transpose."""
        sub, diag, sup = map(self._adjoint_entries, (sub, diag, sup))
        if self.periodic:
            return sup.roll(1, -1), diag, sub.roll(-1, -1)
        return sup, diag, sub

    def _from(self, x, step):
        """The row i + step of x for each row i that has one."""
        return x.roll(-step, -self.core) if self.periodic else _rows(x, -self.core, step)

    def _times(self, entries, x):
        return entries.unsqueeze(-1) * x

    def _outer(self, p, q):
        return _products(p, q)

    def _adjoint_entries(self, entries):
        return entries.conj()


def _rows(x, axis, step):
    """All rows but the first `step`, or all but the last -`step`."""
    rows = slice(step, None) if step > 0 else slice(None, step)
    return x[(..., rows) + (slice(None),) * (-1 - axis)]


def _padded(x, axis, before, after):
    return torch.nn.functional.pad(x, (0, 0) * (-1 - axis) + (before, after))


def _products(p, q):
    """The entries of p qᴴ that have the same row of p and of q."""
    # With one column, sums of one number take several times as long as products.
    return p[..., 0] * q[..., 0].conj() if q.shape[-1] == 1 else torch.linalg.vecdot(q, p)


class _Factored:
    """Systems whose factors are kept for the backward pass."""

    _kept = None

    def _factors(self, factor, matrix):
        # Transformations of `torch.func` can pass the matrices with more axes than before.
        shapes = [array.shape for array in matrix]
        if self._kept is None or self._kept[0] != shapes:
            self._kept = shapes, _differentiable.Factors(factor, matrix, self.cores, self.core - 1)
        return self._kept[1]


class _Blocks(_Factored, _Chain):
    """Block tridiagonal systems."""

    core, cores = 3, (3, 3, 3)

    def solve(self, adjoint, matrix, rhs):
        return self._factors(bandsolve.factor_block_tridiagonal, matrix).solve(rhs, "conj" if adjoint else False)

    def _times(self, entries, x):
        return entries @ x

    def _outer(self, p, q):
        return p @ q.mH

    def _adjoint_entries(self, entries):
        return entries.mH


class _Bands(_Factored):
    """Banded systems. Row u - d of `ab` has the entries a[i, i + d], at the places i + d."""

    name, vector, core, cores = "b", False, 2, (2,)

    def __init__(self, lower, upper):
        self.lower, self.upper, self.for_derivatives = lower, upper, self

    def solve(self, adjoint, matrix, rhs):
        factor = partial(bandsolve.factor_banded, (self.lower, self.upper))
        return self._factors(factor, matrix).solve(rhs, "conj" if adjoint else False)

    def _diagonals(self):
        return range(self.upper, -self.lower - 1, -1)

    def product(self, adjoint, matrix, x):
        """The matrix times x."""
        rows = matrix[0].unsqueeze(-1).unbind(-3)
        if adjoint:
            products = (row.conj() * _shifted(x, -d) for d, row in zip(self._diagonals(), rows))
        else:
            products = (_shifted(row * x, d) for d, row in zip(self._diagonals(), rows))
        return reduce(torch.add, products)

    def outer(self, p, q):
        """The entries of p qᴴ at the places of `ab`, and 0 at entries outside of the matrix."""
        return (torch.stack([_products(_shifted(p, -d), q) for d in self._diagonals()], -2),)


def _shifted(x, d):
    """Row i + d of x as row i, 0 if x does not have it."""
    n = x.shape[-2]
    d = max(-n, min(d, n))
    return _padded(x[..., max(d, 0) : n + min(d, 0), :], -2, max(-d, 0), max(d, 0))


class _Poisson:
    """A Poisson problem with values 0 at the sides."""

    name, vector, cores = "f", False, ()

    def __init__(self, problem, free=False):
        self.problem, self.free, self.core = problem, free, len(problem.shape)
        self.for_derivatives = self if free else _Poisson(problem, True)

    def solve(self, adjoint, _matrix, f):
        return self.problem.solve_free(adjoint, f) if self.free else self.problem.solve(f)


def solve_tridiagonal(sub, diag, sup, rhs, *, periodic=False, padded=False):
    """Solve tridiagonal systems, open or periodic, with derivatives with respect to all tensors.

    Parameters
    ----------
    sub : (..., n - 1) tensor or array_like, or number
        Entries below the diagonal, as for `bandsolve.solve_tridiagonal`; n entries with `periodic` or `padded`. Axes in front count systems.
        They broadcast with those of the other tensors. A number is the entry of every row.
    diag : (..., n) tensor or array_like, or number
        Entries on the diagonal. If it is a number, `rhs` has one dimension.
    sup : (..., n - 1) tensor or array_like, or number
        Entries above the diagonal; n entries with `periodic` or `padded`.
    rhs : (..., n) or (..., n, k) tensor or array_like
        One right-hand side, or k right-hand sides as columns, for each system. See the notes.
    periodic : bool, default False
        Solve periodic systems.
    padded : bool, default False
        Pass `sub` and `sup` with n entries, indexed by row. The function ignores ``sub[..., 0]`` and ``sup[..., n-1]``.

    Returns
    -------
    x : Tensor, shape of rhs
        The solution, with the axes of the systems in front.

    Raises
    ------
    ValueError
        The shapes do not fit together, a tensor is not on the CPU, or an entry is NaN or infinite. The backward pass raises it for gradients of
        x that are NaN or infinite.
    numpy.linalg.LinAlgError
        A matrix is singular.

    See Also
    --------
    - `bandsolve.solve_tridiagonal`, `bandsolve.solve_batch`: the same for NumPy arrays, with more options and a report.
    - `bandsolve.jax.solve_tridiagonal`: the same for JAX.

    Notes
    -----
    **Shapes.** As `torch.linalg.solve` does, the function takes `rhs` as one vector for each system if `rhs` has one dimension, or the shape of
    (sub, diag, sup) after broadcasting: (..., n). Otherwise `rhs` has columns: (..., n, k). To solve with one matrix for many vectors (m, n), pass
    ``rhs.T``, or use `torch.func.vmap`.

    **Derivatives.** `torch.autograd` and `torch.func` differentiate x any number of times, forwards and backwards. A backward pass takes about as
    long as the solve. Gradients of complex tensors follow PyTorch's convention.

    **Number types.** float32, float64, complex64 and complex128. Tensors with other numbers become float32.

    Examples
    --------
    The derivative of sum(x) with respect to the diagonal:

    >>> import torch
    >>> from bandsolve.torch import solve_tridiagonal
    >>> off, diag = torch.ones(2), torch.full((3,), 4.0, requires_grad=True)
    >>> x = solve_tridiagonal(off, diag, off, torch.tensor([5.0, 6, 5]))
    >>> x.sum().backward()
    >>> print([round(value, 3) for value in diag.grad.tolist()])
    [-0.214, -0.143, -0.214]

    Two systems at a time:

    >>> diag = torch.tensor([[4.0, 4, 4], [8, 8, 8]])
    >>> x = solve_tridiagonal(off, diag, off, torch.tensor([[5.0, 6, 5], [9, 10, 9]]))
    >>> print([[round(value, 3) for value in row] for row in x.tolist()])
    [[1.0, 1.0, 1.0], [1.0, 1.0, 1.0]]
    """
    sub, diag, sup, rhs = _promoted(sub=sub, diag=diag, sup=sup, rhs=rhs)
    if diag.ndim == 0 and rhs.ndim > 1:
        raise ValueError(f"diag is a single number, and rhs has {rhs.ndim} dimensions, expected one. Pass torch.full((n,), diag)")
    n = length_of(diag, rhs)
    off = n if periodic or padded else max(n - 1, 0)
    sub, diag, sup = (x.expand(length) if x.ndim == 0 else x for x, length in ((sub, off), (diag, n), (sup, off)))
    lengths = [_checked(name, tensor, 1).shape[-1] for name, tensor in (("sub", sub), ("diag", diag), ("sup", sup))]
    bandsolve._bandsolve.check_off_diagonals((lengths[0], lengths[2]), lengths[1], bool(periodic), bool(padded), "Pass sub[..., 1:] and sup[..., :-1].")
    if padded:
        sub, sup = sub[..., 1:], sup[..., :-1]
    return _solved(_Chain(bool(periodic)), (sub, diag, sup), rhs, (lengths[1],))


def solve_banded(l_and_u, ab, b):
    """Solve ``a @ x = b`` for banded matrices, with derivatives with respect to both tensors.

    Parameters
    ----------
    l_and_u : (int, int)
        Number of diagonals below and above the main diagonal.
    ab : (..., l + u + 1, n) tensor or array_like
        The diagonals as rows: ``ab[..., u + i - j, j] == a[..., i, j]``. Entries outside of the matrix are ignored, and their derivatives are 0.
        Axes in front count systems.
    b : (..., n) or (..., n, k) tensor or array_like
        One right-hand side, or k right-hand sides as columns, for each system. The function decides as `bandsolve.torch.solve_tridiagonal` does.

    Returns
    -------
    x : Tensor, shape of b
        The solution, with the axes of the systems in front.

    Raises
    ------
    ValueError
        The shapes do not fit together, a tensor is not on the CPU, or an entry is NaN or infinite.
    numpy.linalg.LinAlgError
        A matrix is singular.

    See Also
    --------
    - `bandsolve.solve_banded`: the same for NumPy arrays.
    - `bandsolve.jax.solve_banded`: the same for JAX.

    Notes
    -----
    The backward pass uses the factors of the forward pass. They are kept as long as PyTorch keeps the graph. Several matrices are factored one
    after the other.

    Examples
    --------
    >>> import torch
    >>> from bandsolve.torch import solve_banded
    >>> ab = torch.tensor([[0.0, 1, 1], [4, 4, 4], [1, 1, 0]], requires_grad=True)
    >>> x = solve_banded((1, 1), ab, torch.tensor([5.0, 6, 5]))
    >>> x.sum().backward()
    >>> print([round(value, 3) for value in ab.grad[1].tolist()])
    [-0.214, -0.143, -0.214]
    """
    lower, upper = (int(width) for width in l_and_u)
    ab, b = _promoted(ab=ab, b=b)
    _checked("ab", ab, 2)
    if min(lower, upper) < 0 or ab.shape[-2] != lower + upper + 1:
        raise ValueError(f"ab has the shape {tuple(ab.shape)}, expected (..., {lower + upper + 1}, n): one row for each of the l + u + 1 diagonals")
    return _solved(_Bands(lower, upper), (ab,), b, (ab.shape[-1],))


def solve_block_tridiagonal(sub, diag, sup, rhs):
    """Solve block tridiagonal systems, with derivatives with respect to all tensors.

    Parameters
    ----------
    sub : (..., n - 1, b, b) tensor or array_like
        Blocks below the diagonal. Axes in front count systems. They broadcast with those of the other tensors.
    diag : (..., n, b, b) tensor or array_like
        Blocks on the diagonal.
    sup : (..., n - 1, b, b) tensor or array_like
        Blocks above the diagonal.
    rhs : (..., n, b) or (..., n, b, k) tensor or array_like
        One right-hand side, or k right-hand sides along the last axis, for each system. The function decides as
        `bandsolve.torch.solve_tridiagonal` does.

    Returns
    -------
    x : Tensor, shape of rhs
        The solution, with the axes of the systems in front.

    Raises
    ------
    ValueError
        The shapes do not fit together, a tensor is not on the CPU, or an entry is NaN or infinite.
    numpy.linalg.LinAlgError
        A matrix is singular.

    See Also
    --------
    - `bandsolve.solve_block_tridiagonal`: the same for NumPy arrays.
    - `bandsolve.jax.solve_block_tridiagonal`: the same for JAX.

    Notes
    -----
    The backward pass uses the factors of the forward pass. They are kept as long as PyTorch keeps the graph. Several matrices are factored one
    after the other.

    Examples
    --------
    >>> import torch
    >>> from bandsolve.torch import solve_block_tridiagonal
    >>> diag, off = (4 * torch.eye(2)).repeat(3, 1, 1), torch.eye(2).repeat(2, 1, 1)
    >>> x = solve_block_tridiagonal(off, diag, off, torch.tensor([[5.0, 5], [6, 6], [5, 5]]))
    >>> print([[round(value, 3) for value in row] for row in x.tolist()])
    [[1.0, 1.0], [1.0, 1.0], [1.0, 1.0]]
    """
    sub, diag, sup, rhs = _promoted(sub=sub, diag=diag, sup=sup, rhs=rhs)
    n, block = _checked("diag", diag, 3).shape[-3:-1]
    for name, tensor, count in (("diag", diag, n), ("sub", sub, max(n - 1, 0)), ("sup", sup, max(n - 1, 0))):
        if tensor.shape[-3:] != (count, block, block):
            raise ValueError(f"{name} has the shape {tuple(tensor.shape)}, expected (..., {count}, {block}, {block})")
    return _solved(_Blocks(False), (sub, diag, sup), rhs, (n, block))


def solve_poisson(f, spacing=1.0, boundary="dirichlet", grid="node", shift=0.0, method="auto", mean=0.0, *, ndim=None, coordinates=None,
                  removable=0.1, threads=None):
    """Solve Poisson or Helmholtz problems (-Δ + shift) u = f on a box, with derivatives with respect to f and the values at the sides.

    Parameters
    ----------
    f : tensor or array_like
        The right-hand side, real: one axis for each axis of the box, and axes in front that count right-hand sides if you pass `ndim`.
    spacing : float or sequence of float, default 1.0
        Distance between neighbouring unknowns: one number for all axes, or one for each axis.
    boundary : str, pair, sequence or dict, default "dirichlet"
        Boundary conditions, as for `bandsolve.poisson.solve`. Values at a side may be tensors. Axes in front of those of the side broadcast with
        the axes of `f` that count right-hand sides. There are no derivatives with respect to alpha and beta of Robin sides.
    grid : str or sequence of str, default "node"
        ``"node"`` or ``"cell"``.
    shift : float, default 0.0
        The constant that multiplies u in the equation.
    method : str, default "auto"
        "auto", "fft", "gemm", "bcr2", "bcr4" or "pscr".
    mean : float, default 0.0
        Mean of u over the box for a singular problem.
    ndim : int, optional
        Number of axes of the box, the last axes of `f`. Default: all axes of `f`.
    coordinates : sequence, optional
        For each axis None, or increasing coordinates that replace the spacing.
    removable : float, default 0.1
        For a singular problem: how much the solver may subtract from f to make the problem solvable, relative to the largest entry of f with the
        values at the sides.
    threads : int, optional
        Number of threads. Default: the number that `bandsolve.get_num_threads` returns.

    Returns
    -------
    u : Tensor, shape of f
        The solution. It has single precision if `f` has, else double precision.

    Raises
    ------
    ValueError
        Shapes or names are wrong, a tensor is not on the CPU, or an entry is NaN or infinite.
    TypeError
        `f` is complex, or a number such as `shift` is a tensor that requires derivatives.
    numpy.linalg.LinAlgError
        The problem is singular, and f does not balance the values at the sides.

    See Also
    --------
    - `bandsolve.poisson.solve`: the same for NumPy arrays, with a report. It explains the arguments.
    - `bandsolve.jax.solve_poisson`: the same for JAX.

    Notes
    -----
    **Derivatives.** The gradient of f solves the transposed problem. There are no derivatives with respect to `spacing`, `shift`,
    `mean` and `coordinates`. For a singular problem, derivatives are those of the solution after the solver has subtracted the mean of f.

    **Repeated solves.** The function keeps the solvers of the last four problems, so a loop prepares its solver once.

    Examples
    --------
    The derivative of the temperature in the middle of a square plate with respect to the temperature of one of its four sides:

    >>> import torch
    >>> from bandsolve.torch import solve_poisson
    >>> heat, side = torch.ones(15, 15, dtype=torch.float64), torch.tensor(0.0, requires_grad=True)
    >>> u = solve_poisson(heat, 1 / 16, {0: {"lower": ("dirichlet", side)}})
    >>> u[7, 7].backward()
    >>> print(round(side.grad.item(), 4))
    0.25
    """
    for name, value in (("spacing", spacing), ("shift", shift), ("mean", mean), ("coordinates", coordinates)):
        _check_constant(name, value)
    f = torch.as_tensor(f)
    f = _on_cpu("f", f if f.dtype in (torch.float32, torch.float64) else f.to(_real_type(f)))
    shape = tuple(f.shape[f.ndim - _differentiable.box_axes(f.ndim, ndim) :])
    problem = _differentiable.PoissonProblem(shape, str(f.dtype).removeprefix("torch."), spacing, boundary, grid, shift, method,
                                             coordinates=coordinates, removable=removable, threads=threads)
    for axis, side, value in problem.sides:
        f = _with_side(f, problem, axis, side, value)
    u = _Solve.apply(_Poisson(problem), False, f)
    return u + poisson._finite("mean", mean) if problem.singular else u


def _check_constant(name, value):
    values = value if isinstance(value, (tuple, list)) else [value]
    if any(isinstance(item, torch.Tensor) and item.requires_grad for item in values):
        raise TypeError(f"{name} requires derivatives, but solve_poisson has none with respect to {name}. Pass {name}.detach()")


def _real_type(f):
    """The number type of u."""
    if f.dtype.is_complex:
        raise TypeError(f"f has the type {f.dtype}, expected real numbers")
    return torch.float32 if f.dtype.is_floating_point else torch.float64


def _with_side(f, problem, axis, side, value):
    """Add the values at a side to the right-hand side."""
    if isinstance(value, (int, float)) and value == 0:
        return f
    value = _on_cpu("a value at a side", torch.as_tensor(value)).to(f.dtype)
    shape, index, factor = problem.place(axis, side, tuple(f.shape), tuple(value.shape))
    f = f.expand(shape)
    along = axis - len(problem.shape)
    return torch.select_scatter(f, f[index] + factor * value, along, index[along])


def _promoted(**tensors):
    """The tensors with the number type of the solve, on the CPU. A real number of Python does not raise the precision."""
    plain = {name: isinstance(value, (int, float)) for name, value in tensors.items()}
    tensors = {name: _on_cpu(name, torch.as_tensor(value, dtype=torch.float64 if plain[name] else None)) for name, value in tensors.items()}
    dtype = reduce(torch.promote_types, (tensor.dtype for name, tensor in tensors.items() if not plain[name]), torch.float32)
    return [tensor.to(dtype) for tensor in tensors.values()]


def _on_cpu(name, tensor):
    if tensor.device.type != "cpu":
        raise ValueError(f"{name} is on the device {tensor.device}, expected a tensor on the CPU. Copy it with .cpu(), and move the solution back")
    return tensor


def _checked(name, tensor, ndim):
    if tensor.ndim < ndim:
        raise ValueError(f"{name} has {tensor.ndim} dimensions, expected at least {ndim}")
    return tensor


def _broadcast(*shapes):
    try:
        return tuple(torch.broadcast_shapes(*shapes))
    except RuntimeError:
        raise ValueError(f"axes in front have the shapes {', '.join(str(tuple(shape)) for shape in shapes)}, which do not broadcast") from None


def _solved(system, matrix, rhs, rows):
    """Solve for right-hand sides of the shape (..., *rows) or (..., *rows, k), told apart as `torch.linalg.solve` does."""
    batch = _broadcast(*(tensor.shape[: tensor.ndim - core] for tensor, core in zip(matrix, system.cores)))
    vector = rhs.ndim == len(rows) or tuple(rhs.shape) == batch + rows
    columns = rhs.unsqueeze(-1) if vector else rhs
    if tuple(columns.shape[-1 - len(rows) : -1]) != rows:
        one = ", ".join(map(str, rows))
        raise ValueError(f"{system.name} has the shape {tuple(rhs.shape)}, expected (..., {one}) with the axes of the matrices in front, "
                         f"or (..., {one}, k)")
    _broadcast(batch, columns.shape[: columns.ndim - system.core])
    system.vector = vector
    x = _Solve.apply(system, False, columns, *matrix)
    return x.squeeze(-1) if vector else x
