"""Types of `jax.py`."""

from jax import Array
from jax.typing import ArrayLike

def solve_banded(l_and_u: tuple[int, int], ab: ArrayLike, b: ArrayLike) -> Array: ...
def solve_block_tridiagonal(sub: ArrayLike, diag: ArrayLike, sup: ArrayLike, rhs: ArrayLike) -> Array: ...
def solve_tridiagonal(
    sub: ArrayLike, diag: ArrayLike, sup: ArrayLike, rhs: ArrayLike, *, periodic: bool = False, padded: bool = False
) -> Array: ...
