"""Types of `torch.py`."""

from typing import Any

from numpy.typing import ArrayLike
from torch import Tensor

from bandsolve.poisson import Method

def solve_banded(l_and_u: tuple[int, int], ab: Tensor | ArrayLike, b: Tensor | ArrayLike) -> Tensor: ...
def solve_block_tridiagonal(
    sub: Tensor | ArrayLike, diag: Tensor | ArrayLike, sup: Tensor | ArrayLike, rhs: Tensor | ArrayLike
) -> Tensor: ...
def solve_poisson(
    f: Tensor | ArrayLike,
    spacing: Any = 1.0,
    boundary: Any = 'dirichlet',
    grid: Any = 'node',
    shift: float = 0.0,
    method: Method = 'auto',
    mean: float = 0.0,
    *,
    ndim: int | None = None,
    coordinates: Any = None,
    removable: float = 0.1,
    threads: int | None = None,
) -> Tensor: ...
def solve_tridiagonal(
    sub: Tensor | ArrayLike,
    diag: Tensor | ArrayLike,
    sup: Tensor | ArrayLike,
    rhs: Tensor | ArrayLike,
    *,
    periodic: bool = False,
    padded: bool = False,
) -> Tensor: ...
