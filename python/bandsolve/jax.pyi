"""Types of `jax.py`."""

from typing import Any

from jax import Array
from jax.typing import ArrayLike

from bandsolve.poisson import Method

def solve_banded(l_and_u: tuple[int, int], ab: ArrayLike, b: ArrayLike) -> Array: ...
def solve_block_tridiagonal(sub: ArrayLike, diag: ArrayLike, sup: ArrayLike, rhs: ArrayLike) -> Array: ...
def solve_poisson(
    f: ArrayLike,
    spacing: Any = 1.0,
    boundary: Any = 'dirichlet',
    grid: Any = 'node',
    shift: float = 0.0,
    method: Method = 'auto',
    mean: Any = 0.0,
    *,
    ndim: int | None = None,
    coordinates: Any = None,
    removable: float = 0.1,
    threads: int | None = None,
) -> Array: ...
def solve_tridiagonal(
    sub: ArrayLike, diag: ArrayLike, sup: ArrayLike, rhs: ArrayLike, *, periodic: bool = False, padded: bool = False
) -> Array: ...
