"""The compiled part of bandsolve."""

from typing import Any, Literal, TypeVar, final, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

__VERSION__: str
BATCH_DIAGONALS: int
BATCH_BLOCK_ROWS: int
BATCH_PERIODIC_BLOCK_ROWS: int

Transpose = bool | np.bool_ | Literal["conj"]
Method = Literal[
    "auto",
    "pivoted",
    "thomas",
    "cholesky",
    "diagonal-pivoting",
    "rpts",
    "spike-diagonal-pivoting",
    "spike-thomas",
    "spike-cr",
    "spike-truncated",
    "spike-qr",
    "parallel-diagonal-pivoting",
    "cf-lu",
    "cr",
    "tricr",
    "pcr",
    "adaptive-cr",
    "spike",
    "bcyclic",
    "block-spike",
]
Pivoting = Literal["scaled-partial", "partial", "none"]

_Out = TypeVar("_Out")

@final
class Report:
    @property
    def method(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def backward_error(self) -> float: ...
    @property
    def backward_errors(self) -> list[float]: ...
    @property
    def refinement_steps(self) -> int: ...
    @property
    def fallback(self) -> bool: ...
    @property
    def fallback_systems(self) -> list[int]: ...
    @property
    def pivot_growth(self) -> float | None: ...
    @property
    def attention(self) -> str | None: ...
    @staticmethod
    def _of_iteration(method: str, reason: str, backward_errors: list[float], attention: str | None) -> Report: ...
    def _explained(self, why: str) -> Report: ...

class Factor:
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def method(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @overload
    def solve(
        self,
        rhs: ArrayLike,
        *,
        transpose: Transpose = False,
        out: NDArray[Any] | None = None,
        overwrite_rhs: bool = False,
        full_output: Literal[False] = False,
    ) -> NDArray[Any]: ...
    @overload
    def solve(
        self,
        rhs: ArrayLike,
        *,
        transpose: Transpose = False,
        out: NDArray[Any] | None = None,
        overwrite_rhs: bool = False,
        full_output: Literal[True],
    ) -> tuple[NDArray[Any], Report]: ...
    @overload
    def solve(
        self,
        rhs: ArrayLike,
        *,
        transpose: Transpose = False,
        out: NDArray[Any] | None = None,
        overwrite_rhs: bool = False,
        full_output: bool = False,
    ) -> NDArray[Any] | tuple[NDArray[Any], Report]: ...
    @overload
    def solve_transpose(
        self,
        rhs: ArrayLike,
        *,
        out: NDArray[Any] | None = None,
        overwrite_rhs: bool = False,
        full_output: Literal[False] = False,
    ) -> NDArray[Any]: ...
    @overload
    def solve_transpose(
        self,
        rhs: ArrayLike,
        *,
        out: NDArray[Any] | None = None,
        overwrite_rhs: bool = False,
        full_output: Literal[True],
    ) -> tuple[NDArray[Any], Report]: ...
    @overload
    def solve_transpose(
        self,
        rhs: ArrayLike,
        *,
        out: NDArray[Any] | None = None,
        overwrite_rhs: bool = False,
        full_output: bool = False,
    ) -> NDArray[Any] | tuple[NDArray[Any], Report]: ...
    def aslinearoperator(self) -> Any: ...
    def rcond(self, norm: float = 1) -> float: ...
    def norm(self, norm: float = 1) -> float: ...
    def slogdet(self) -> tuple[float | complex, float]: ...

@final
class DeviceArray:
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]: ...
    def numpy(self) -> NDArray[Any]: ...
    def transpose(self, *axes: int) -> DeviceArray: ...
    def __len__(self) -> int: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any: ...

@final
class DeviceCsr:
    def __init__(self, columns: int, arrays: tuple[Any, Any, Any], device: str, stream: int | None = None) -> None: ...
    def matvec(self, x: Any) -> DeviceArray: ...
    def __matmul__(self, value: Any, /) -> DeviceArray: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def nnz(self) -> int: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def device(self) -> str: ...

@final
class DevicePreconditioner:
    def __init__(self, matrix: DeviceCsr, options: dict[str, Any]) -> None: ...
    def apply(self, rhs: Any) -> DeviceArray: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def kind(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def method(self) -> str | None: ...

def krylov_on_gpu(
    a: DeviceCsr, m: DevicePreconditioner | None, b: Any, x0: Any, options: dict[str, Any]
) -> tuple[DeviceArray, dict[str, Any]]: ...
def eigenvalues_on_gpu(
    a: DeviceCsr, start: NDArray[Any], options: dict[str, Any]
) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]]: ...
@final
class DevicePoissonPlan:
    def __init__(
        self, shape: tuple[int, ...], axes: list[dict[str, Any]], options: dict[str, Any], double: bool, name: str
    ) -> None: ...
    def solve(self, f: Any, out: Any = None, by_columns: bool = False) -> tuple[Any, dict[str, Any]]: ...
    @property
    def method(self) -> str: ...
    @property
    def reason(self) -> str: ...

def box_on_gpu(f: Any) -> tuple[list[int], bool, bool, str | None]: ...
@final
class DeviceFactor:
    def __init__(
        self,
        kind: str,
        arrays: list[Any],
        *,
        widths: tuple[int, int] = (0, 0),
        axis: int = -1,
        periodic: bool = False,
        padded: bool = False,
        method: str = "auto",
        pivoting: str = "scaled-partial",
        verify: bool = True,
        device: str = "cpu",
        stream: int | None = None,
        store_factors: bool = True,
    ) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def method(self) -> str: ...
    @property
    def device(self) -> str: ...
    @property
    def stream(self) -> int: ...
    @overload
    def solve(
        self,
        rhs: Any,
        *,
        transpose: Transpose = False,
        out: None = None,
        verify: Literal[True, "deferred"] = True,
        full_output: Literal[False] = False,
        stream: int | None = None,
    ) -> DeviceArray: ...
    @overload
    def solve(
        self,
        rhs: Any,
        *,
        transpose: Transpose = False,
        out: _Out,
        verify: Literal[True, "deferred"] = True,
        full_output: Literal[False] = False,
        stream: int | None = None,
    ) -> _Out: ...
    @overload
    def solve(
        self,
        rhs: Any,
        *,
        transpose: Transpose = False,
        out: None = None,
        verify: Literal[True, "deferred"] = True,
        full_output: Literal[True],
        stream: int | None = None,
    ) -> tuple[DeviceArray, Report]: ...
    @overload
    def solve(
        self,
        rhs: Any,
        *,
        transpose: Transpose = False,
        out: Any = None,
        verify: Literal[True, "deferred"] = True,
        full_output: bool = False,
        stream: int | None = None,
    ) -> Any: ...
    def check(self) -> float: ...

def any_on_gpu(*values: object) -> bool: ...
def stream_of_array(name: str, value: object) -> int | None: ...
def gpu_array(value: ArrayLike, order: list[int], device: str) -> DeviceArray: ...

@overload
def solve_tridiagonal(
    sub: DeviceArray,
    diag: DeviceArray,
    sup: DeviceArray,
    rhs: DeviceArray,
    *,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
    out: DeviceArray | None = None,
    overwrite_rhs: bool = False,
    full_output: Literal[False] = False,
) -> DeviceArray: ...
@overload
def solve_tridiagonal(
    sub: DeviceArray,
    diag: DeviceArray,
    sup: DeviceArray,
    rhs: DeviceArray,
    *,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
    out: DeviceArray | None = None,
    overwrite_rhs: bool = False,
    full_output: Literal[True],
) -> tuple[DeviceArray, Report]: ...
@overload
def solve_tridiagonal(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
    out: NDArray[Any] | None = None,
    overwrite_rhs: bool = False,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solve_tridiagonal(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
    out: NDArray[Any] | None = None,
    overwrite_rhs: bool = False,
    full_output: Literal[True],
) -> tuple[NDArray[Any], Report]: ...
@overload
def solve_tridiagonal(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
    out: NDArray[Any] | None = None,
    overwrite_rhs: bool = False,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], Report]: ...
def solve_banded(
    lower: int,
    upper: int,
    bands: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    method: str = "auto",
    pivoting: str = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
    full_output: bool = False,
) -> Any: ...
def solve_block_tridiagonal(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    method: str = "auto",
    pivoting: str = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
    full_output: bool = False,
) -> Any: ...
def as_array(value: ArrayLike) -> NDArray[Any]: ...
def check_off_diagonals(lengths: tuple[int, int], n: int, periodic: bool | None, padded: bool, slices: str) -> None: ...
class PieceSolver:
    def __init__(self, like: ArrayLike, n: int, piece_rows: int, state: bytes | None = None) -> None: ...
    def next_piece(self) -> tuple[tuple[int, int], tuple[int, int], tuple[bool, bool], tuple[int, int]] | None: ...
    def advance(
        self, sub: ArrayLike, diag: ArrayLike, sup: ArrayLike, rhs: ArrayLike, x: NDArray[Any]
    ) -> None: ...
    def state(self) -> bytes: ...
    def report(self) -> Report: ...

def read_file(path: str) -> tuple[Any, ...]: ...
def solved_as_columns(count: int) -> bool: ...
def xla_solve_tridiagonal() -> object: ...
def target_of(
    sub: ArrayLike, diag: ArrayLike, sup: ArrayLike, rhs: ArrayLike, out: NDArray[Any] | None, overwrite_rhs: bool
) -> NDArray[Any] | None: ...
def solve_banded_batch(
    shape: tuple[int, int, int],
    widths: tuple[int, int],
    ab: ArrayLike,
    rhs: ArrayLike,
    place: Any,
    *,
    definite: bool | None = None,
    periodic: bool = False,
    pivoting: str = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    transpose: Transpose | None = None,
    out: NDArray[Any] | None = None,
    overwrite_rhs: bool = False,
    full_output: bool = False,
) -> Any: ...
def solve_block_batch(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    pivoting: str = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    transpose: Transpose | None = None,
    full_output: bool = False,
) -> Any: ...
def solve_batch(
    shape: tuple[int, int, int],
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    place: Any,
    *,
    method: str = "auto",
    pivoting: str = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    periodic: bool = False,
    transpose: Transpose | None = None,
    device: str = "cpu",
    out: NDArray[Any] | None = None,
    overwrite_rhs: bool = False,
    full_output: bool = False,
) -> Any: ...
@overload
def factor_tridiagonal(
    sub: DeviceArray,
    diag: DeviceArray,
    sup: DeviceArray,
    *,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
) -> DeviceFactor: ...
@overload
def factor_tridiagonal(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    *,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
) -> Factor: ...
def factor_banded(
    lower: int,
    upper: int,
    bands: ArrayLike,
    *,
    periodic: bool = False,
    method: str = "auto",
    pivoting: str = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
) -> Factor: ...
def factor_block_tridiagonal(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    *,
    periodic: bool = False,
    method: str = "auto",
    pivoting: str = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
) -> Factor: ...
def solveh_banded(ab: ArrayLike, rhs: ArrayLike, lower: bool, verify: bool) -> Any: ...
def families() -> list[tuple[str, str]]: ...
def generate(name: str, n: int, seed: int) -> tuple[Any, ...]: ...
def free_memory() -> int: ...
def spline_values(
    knots: ArrayLike, coefficients: ArrayLike, t: ArrayLike, nu: int, outside: Literal["nan", "polynomial", "periodic"]
) -> NDArray[Any]: ...
def instruction_set() -> str: ...
def methods() -> list[str]: ...
def set_num_threads(threads: int | None) -> None: ...
def get_num_threads() -> int: ...

@final
class SparseProduct:
    def __init__(self, columns: int, arrays: tuple[Any, Any, Any]) -> None: ...
    def product(self, x: ArrayLike) -> NDArray[Any]: ...
    def adjoint_product(self, x: ArrayLike) -> NDArray[Any]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def bytes(self) -> int: ...

@final
class SparsePreconditioner:
    def __init__(self, n: int, arrays: tuple[Any, Any, Any], options: dict[str, Any]) -> None: ...
    def apply(self, rhs: ArrayLike) -> NDArray[Any]: ...
    def apply_adjoint(self, rhs: ArrayLike) -> NDArray[Any]: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def kind(self) -> str: ...
    @property
    def has_adjoint(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    @property
    def method(self) -> str | None: ...

def krylov(a: Any, m: Any, rhs: NDArray[Any], x: NDArray[Any], options: dict[str, Any]) -> tuple[NDArray[Any], dict[str, Any]]: ...
def eigenvalues(
    n: int, matrices: tuple[Any, Any, Any], start: NDArray[Any], options: dict[str, Any]
) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]]: ...
def eigenvalues_nearest(
    n: int,
    most: int,
    matrices: tuple[tuple[Any, Any, Any], tuple[Any, Any, Any] | None],
    start: NDArray[Any],
    options: dict[str, Any],
) -> tuple[NDArray[Any], NDArray[Any], dict[str, Any]] | None: ...
def storage(n: int, arrays: tuple[Any, Any, Any], blocks: bool) -> tuple[str, int, int, int]: ...
def stored(n: int, arrays: tuple[Any, Any, Any], storage: tuple[str, int, int, int]) -> list[NDArray[Any]]: ...
def reverse_cuthill_mckee(n: int, arrays: tuple[Any, Any, Any]) -> NDArray[np.uint32]: ...
def factor_compact(n: int, most: int, arrays: tuple[Any, Any, Any]) -> Factor | None: ...
def check_mass(n: int, most: int, mass: Any, start: NDArray[Any]) -> None: ...
def graph_factor(
    n: int, arrays: tuple[Any, Any, Any], degree: int, rounds: int, seed: int, paths: bool
) -> dict[str, Any]: ...

@final
class PoissonPlan:
    def __init__(self, shape: tuple[int, ...], axes: list[dict[str, Any]], options: dict[str, Any], double: bool) -> None: ...
    @staticmethod
    def of_pencils(axes: list[list[NDArray[Any]]], options: dict[str, Any], double: bool) -> PoissonPlan: ...
    def solve(self, f: NDArray[Any], out: NDArray[Any] | None = None) -> tuple[NDArray[Any], dict[str, Any]]: ...
    @property
    def method(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def subproblems(self) -> int: ...

def eigh_tridiagonal(
    d: NDArray[Any],
    e: NDArray[Any],
    vectors: bool,
    part: tuple[str, float, float] | None = None,
    tolerance: float = 0.0,
) -> tuple[NDArray[Any], NDArray[Any] | None]: ...
