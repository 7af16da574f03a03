"""Types of `_blocks.py`."""

from typing import Any, Literal, overload

from numpy.typing import ArrayLike, NDArray

from bandsolve._bandsolve import DeviceArray, DeviceFactor, Factor, Method, Pivoting, Report, Transpose

@overload
def solve_block_tridiagonal(
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
    full_output: Literal[False] = False,
) -> DeviceArray: ...
@overload
def solve_block_tridiagonal(
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
    full_output: Literal[True],
) -> tuple[DeviceArray, Report]: ...
@overload
def solve_block_tridiagonal(
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
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solve_block_tridiagonal(
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
    full_output: Literal[True],
) -> tuple[NDArray[Any], Report]: ...
@overload
def solve_block_tridiagonal(
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
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], Report]: ...
@overload
def factor_block_tridiagonal(
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
def factor_block_tridiagonal(
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
@overload
def solve_block_tridiagonal_batch(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    padded: bool = False,
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solve_block_tridiagonal_batch(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    padded: bool = False,
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    full_output: Literal[True],
) -> tuple[NDArray[Any], Report]: ...
@overload
def solve_block_tridiagonal_batch(
    sub: ArrayLike,
    diag: ArrayLike,
    sup: ArrayLike,
    rhs: ArrayLike,
    *,
    periodic: bool = False,
    padded: bool = False,
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], Report]: ...
