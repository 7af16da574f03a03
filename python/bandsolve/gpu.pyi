"""Types of `gpu.py`. Arrays on a GPU are those of any package."""

from collections.abc import Callable
from typing import Any, Literal

from numpy.typing import ArrayLike

from bandsolve._bandsolve import DeviceArray as DeviceArray, DeviceCsr as DeviceCsr, DeviceFactor as DeviceFactor, Method, Pivoting, Transpose

def asarray(array: ArrayLike, *, device: str = "cuda", order: Literal["C", "F"] = "C") -> DeviceArray: ...
def ascsr(a: Any, *, device: str = "cuda", stream: int | None = None) -> DeviceCsr: ...
def factor_tridiagonal(
    sub: Any,
    diag: Any,
    sup: Any,
    *,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    device: str = "cpu",
    stream: int | None = None,
    store_factors: bool = True,
) -> DeviceFactor: ...
def factor_batch(
    sub: Any,
    diag: Any,
    sup: Any,
    *,
    axis: int = -1,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    device: str = "cpu",
    stream: int | None = None,
    store_factors: bool = True,
) -> DeviceFactor: ...
def factor_block_tridiagonal(
    sub: Any,
    diag: Any,
    sup: Any,
    *,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    device: str = "cpu",
    stream: int | None = None,
    store_factors: bool = True,
) -> DeviceFactor: ...
def factor_banded(
    l_and_u: tuple[int, int],
    ab: Any,
    *,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    device: str = "cpu",
    stream: int | None = None,
) -> DeviceFactor: ...
def solved(
    factor: Callable[..., DeviceFactor],
    matrix: tuple[Any, ...],
    rhs: Any,
    transpose: Transpose,
    out: Any,
    overwrite_rhs: bool,
    full_output: bool,
    **options: Any,
) -> Any: ...
