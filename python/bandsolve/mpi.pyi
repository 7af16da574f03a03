"""Types of `mpi.py`. Communicators of mpi4py have no types here."""

from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

class RankReport(NamedTuple):
    method: str
    reason: str
    backward_error: float
    backward_errors: list[float]
    refinement_steps: int
    fallback: bool
    rcond: float
    attention: str | None

class _Distributed:
    comm: Any
    dtype: np.dtype[Any]
    def factor(self, method: str = 'auto') -> RankFactor: ...
    def __matmul__(self, x: ArrayLike) -> NDArray[Any]: ...

class Blocks(_Distributed):
    def __init__(
        self,
        comm: Any,
        sub: ArrayLike,
        diag: ArrayLike,
        sup: ArrayLike,
        *,
        periodic: bool = False,
        dtype: DTypeLike | None = None,
    ) -> None: ...

class Banded(_Distributed):
    def __init__(
        self,
        comm: Any,
        l_and_u: tuple[int, int],
        rows: ArrayLike,
        *,
        dtype: DTypeLike | None = None,
    ) -> None: ...

class Batch(_Distributed):
    def __init__(
        self,
        comm: Any,
        sub: ArrayLike,
        diag: ArrayLike,
        sup: ArrayLike,
        *,
        axis: int = 0,
        periodic: bool = False,
        dtype: DTypeLike | None = None,
    ) -> None: ...

class RankFactor:
    def __init__(self, matrix: _Distributed, method: bytes) -> None: ...
    @overload
    def solve(
        self,
        rhs: ArrayLike,
        *,
        transpose: bool | Literal["H"] = False,
        full_output: Literal[False] = False,
    ) -> NDArray[Any]: ...
    @overload
    def solve(
        self,
        rhs: ArrayLike,
        *,
        transpose: bool | Literal["H"] = False,
        full_output: Literal[True],
    ) -> tuple[NDArray[Any], RankReport]: ...
    @overload
    def solve(
        self,
        rhs: ArrayLike,
        *,
        transpose: bool | Literal["H"] = False,
        full_output: bool = False,
    ) -> NDArray[Any] | tuple[NDArray[Any], RankReport]: ...

@overload
def solve_tridiagonal(
    comm: Any,
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solve_tridiagonal(
    comm: Any,
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    full_output: Literal[True],
) -> tuple[NDArray[Any], RankReport]: ...
@overload
def solve_tridiagonal(
    comm: Any,
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], RankReport]: ...
@overload
def solve_block_tridiagonal(
    comm: Any,
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solve_block_tridiagonal(
    comm: Any,
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    full_output: Literal[True],
) -> tuple[NDArray[Any], RankReport]: ...
@overload
def solve_block_tridiagonal(
    comm: Any,
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], RankReport]: ...
@overload
def solve_banded(
    comm: Any,
    l_and_u: tuple[int, int],
    rows: ArrayLike,
    rhs: ArrayLike,
    *,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solve_banded(
    comm: Any,
    l_and_u: tuple[int, int],
    rows: ArrayLike,
    rhs: ArrayLike,
    *,
    full_output: Literal[True],
) -> tuple[NDArray[Any], RankReport]: ...
@overload
def solve_banded(
    comm: Any,
    l_and_u: tuple[int, int],
    rows: ArrayLike,
    rhs: ArrayLike,
    *,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], RankReport]: ...
@overload
def solve_batch(
    comm: Any,
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    axis: int = 0,
    periodic: bool = False,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solve_batch(
    comm: Any,
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    axis: int = 0,
    periodic: bool = False,
    full_output: Literal[True],
) -> tuple[NDArray[Any], RankReport]: ...
@overload
def solve_batch(
    comm: Any,
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    axis: int = 0,
    periodic: bool = False,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], RankReport]: ...

class PoissonSlabs:
    shape: tuple[int, ...]
    whole: tuple[int, ...]
    dtype: np.dtype[Any]
    def __init__(
        self,
        comm: Any,
        shape: int | tuple[int, ...],
        spacing: Any = 1.0,
        boundary: Any = 'dirichlet',
        grid: Any = 'node',
        shift: float = 0.0,
        mean: float = 0.0,
        *,
        coordinates: Any = None,
        removable: float = 0.1,
        dtype: DTypeLike = np.float64,
    ) -> None: ...
    @overload
    def solve(
        self,
        f: ArrayLike,
        *,
        full_output: Literal[False] = False,
    ) -> NDArray[Any]: ...
    @overload
    def solve(
        self,
        f: ArrayLike,
        *,
        full_output: Literal[True],
    ) -> tuple[NDArray[Any], dict[str, Any]]: ...
    @overload
    def solve(
        self,
        f: ArrayLike,
        *,
        full_output: bool = False,
    ) -> NDArray[Any] | tuple[NDArray[Any], dict[str, Any]]: ...

@overload
def solve_poisson(
    comm: Any,
    f: ArrayLike,
    spacing: Any = 1.0,
    boundary: Any = 'dirichlet',
    grid: Any = 'node',
    shift: float = 0.0,
    mean: float = 0.0,
    *,
    coordinates: Any = None,
    removable: float = 0.1,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solve_poisson(
    comm: Any,
    f: ArrayLike,
    spacing: Any = 1.0,
    boundary: Any = 'dirichlet',
    grid: Any = 'node',
    shift: float = 0.0,
    mean: float = 0.0,
    *,
    coordinates: Any = None,
    removable: float = 0.1,
    full_output: Literal[True],
) -> tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def solve_poisson(
    comm: Any,
    f: ArrayLike,
    spacing: Any = 1.0,
    boundary: Any = 'dirichlet',
    grid: Any = 'node',
    shift: float = 0.0,
    mean: float = 0.0,
    *,
    coordinates: Any = None,
    removable: float = 0.1,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def eigsh(
    A: Blocks,
    k: int = 6,
    M: Blocks | None = None,
    sigma: float = 0.0,
    *,
    ncv: int | None = None,
    tol: float = 0,
    maxiter: int | None = None,
    rng: np.random.Generator | int | None = None,
    return_eigenvectors: Literal[True] = True,
    full_output: Literal[False] = False,
    seed: int | None = None,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
@overload
def eigsh(
    A: Blocks,
    k: int = 6,
    M: Blocks | None = None,
    sigma: float = 0.0,
    *,
    ncv: int | None = None,
    tol: float = 0,
    maxiter: int | None = None,
    rng: np.random.Generator | int | None = None,
    return_eigenvectors: Literal[False],
    full_output: Literal[False] = False,
    seed: int | None = None,
) -> NDArray[Any]: ...
@overload
def eigsh(
    A: Blocks,
    k: int = 6,
    M: Blocks | None = None,
    sigma: float = 0.0,
    *,
    ncv: int | None = None,
    tol: float = 0,
    maxiter: int | None = None,
    rng: np.random.Generator | int | None = None,
    return_eigenvectors: Literal[True] = True,
    full_output: Literal[True],
    seed: int | None = None,
) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]]: ...
@overload
def eigsh(
    A: Blocks,
    k: int = 6,
    M: Blocks | None = None,
    sigma: float = 0.0,
    *,
    ncv: int | None = None,
    tol: float = 0,
    maxiter: int | None = None,
    rng: np.random.Generator | int | None = None,
    return_eigenvectors: Literal[False],
    full_output: Literal[True],
    seed: int | None = None,
) -> tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def eigsh(
    A: Blocks,
    k: int = 6,
    M: Blocks | None = None,
    sigma: float = 0.0,
    *,
    ncv: int | None = None,
    tol: float = 0,
    maxiter: int | None = None,
    rng: np.random.Generator | int | None = None,
    return_eigenvectors: bool = True,
    full_output: bool = False,
    seed: int | None = None,
) -> Any: ...
