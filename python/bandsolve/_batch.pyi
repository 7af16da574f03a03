"""Types of `_batch.py`."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Literal, overload

from numpy.typing import ArrayLike, NDArray

from bandsolve._bandsolve import DeviceArray, DeviceFactor, Method, Pivoting, Report, Transpose

@overload
def solve_batch(
    sub: DeviceArray,
    diag: DeviceArray,
    sup: DeviceArray,
    rhs: DeviceArray,
    *,
    axis: int = -1,
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
def solve_batch(
    sub: DeviceArray,
    diag: DeviceArray,
    sup: DeviceArray,
    rhs: DeviceArray,
    *,
    axis: int = -1,
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
def solve_batch(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    axis: int = -1,
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
def solve_batch(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    axis: int = -1,
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
def solve_batch(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    axis: int = -1,
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

class BatchFactor:
    def __init__(self, solve: Callable[..., Any], matrix: Sequence[Any], axis: int, options: dict[str, Any]) -> None: ...
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
def factor_batch(
    sub: DeviceArray,
    diag: DeviceArray,
    sup: DeviceArray,
    *,
    axis: int = -1,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
) -> DeviceFactor: ...
@overload
def factor_batch(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    *,
    axis: int = -1,
    periodic: bool = False,
    padded: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
) -> BatchFactor: ...
def first_not_finite(array: NDArray[Any]) -> str | None: ...
def named_entries(**arrays: NDArray[Any]) -> AbstractContextManager[None]: ...
