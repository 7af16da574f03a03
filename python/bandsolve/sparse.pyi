"""Types of `sparse.py`."""

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bandsolve._bandsolve import DeviceArray, DeviceCsr

class Preconditioner:
    def __init__(
        self,
        a: Any,
        kind: str = 'auto',
        *,
        omega: float = 0.01,
        rng: np.random.Generator | int | None = None,
        precision: Literal["single", "double"] | None = None,
        inner: Any = None,
        seed: int | None = None,
    ) -> None: ...
    @property
    def kind(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def method(self) -> str | None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def is_on_gpu(self) -> bool: ...
    @overload
    def apply(self, rhs: DeviceArray) -> DeviceArray: ...
    @overload
    def apply(self, rhs: ArrayLike) -> NDArray[Any]: ...
    @overload
    def matvec(self, rhs: DeviceArray) -> DeviceArray: ...
    @overload
    def matvec(self, rhs: ArrayLike) -> NDArray[Any]: ...
    def rmatvec(self, rhs: ArrayLike) -> NDArray[Any]: ...
    @overload
    def __matmul__(self, rhs: DeviceArray) -> DeviceArray: ...
    @overload
    def __matmul__(self, rhs: ArrayLike) -> NDArray[Any]: ...
    def aslinearoperator(self) -> Any: ...

class PreparedProduct:
    def __init__(self, a: Any) -> None: ...
    @property
    def shape(self) -> tuple[int, int]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def nbytes(self) -> int: ...
    def matvec(self, x: ArrayLike) -> NDArray[Any]: ...
    def rmatvec(self, x: ArrayLike) -> NDArray[Any]: ...
    def matmat(self, x: ArrayLike) -> NDArray[Any]: ...
    def rmatmat(self, x: ArrayLike) -> NDArray[Any]: ...
    def __matmul__(self, x: ArrayLike) -> NDArray[Any]: ...
    def aslinearoperator(self) -> Any: ...

@overload
def bicgstab(
    A: DeviceCsr,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: bool = False,
) -> tuple[DeviceArray, Any]: ...
@overload
def bicgstab(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: Literal[False] = False,
) -> tuple[NDArray[Any], int]: ...
@overload
def bicgstab(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: Literal[True],
) -> tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def bicgstab(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: bool = False,
) -> tuple[NDArray[Any], int] | tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def cg(
    A: DeviceCsr,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: bool = False,
) -> tuple[DeviceArray, Any]: ...
@overload
def cg(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: Literal[False] = False,
) -> tuple[NDArray[Any], int]: ...
@overload
def cg(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: Literal[True],
) -> tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def cg(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: bool = False,
) -> tuple[NDArray[Any], int] | tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def fgmres(
    A: DeviceCsr,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    callback_type: str | None = None,
    side: Literal["left", "right"] = 'right',
    full_output: bool = False,
) -> tuple[DeviceArray, Any]: ...
@overload
def fgmres(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    callback_type: str | None = None,
    side: Literal["left", "right"] = 'right',
    full_output: Literal[False] = False,
) -> tuple[NDArray[Any], int]: ...
@overload
def fgmres(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    callback_type: str | None = None,
    side: Literal["left", "right"] = 'right',
    full_output: Literal[True],
) -> tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def fgmres(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    callback_type: str | None = None,
    side: Literal["left", "right"] = 'right',
    full_output: bool = False,
) -> tuple[NDArray[Any], int] | tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def gmres(
    A: DeviceCsr,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    callback_type: str | None = None,
    side: Literal["left", "right"] = 'right',
    full_output: bool = False,
) -> tuple[DeviceArray, Any]: ...
@overload
def gmres(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    callback_type: str | None = None,
    side: Literal["left", "right"] = 'right',
    full_output: Literal[False] = False,
) -> tuple[NDArray[Any], int]: ...
@overload
def gmres(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    callback_type: str | None = None,
    side: Literal["left", "right"] = 'right',
    full_output: Literal[True],
) -> tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def gmres(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    restart: int | None = None,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    callback_type: str | None = None,
    side: Literal["left", "right"] = 'right',
    full_output: bool = False,
) -> tuple[NDArray[Any], int] | tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def idrs(
    A: DeviceCsr,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    space: int = 4,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: bool = False,
) -> tuple[DeviceArray, Any]: ...
@overload
def idrs(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    space: int = 4,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: Literal[False] = False,
) -> tuple[NDArray[Any], int]: ...
@overload
def idrs(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    space: int = 4,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: Literal[True],
) -> tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def idrs(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    space: int = 4,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: bool = False,
) -> tuple[NDArray[Any], int] | tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def richardson(
    A: DeviceCsr,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    omega: float = 1.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: bool = False,
) -> tuple[DeviceArray, Any]: ...
@overload
def richardson(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    omega: float = 1.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: Literal[False] = False,
) -> tuple[NDArray[Any], int]: ...
@overload
def richardson(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    omega: float = 1.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: Literal[True],
) -> tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def richardson(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    omega: float = 1.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: bool = False,
) -> tuple[NDArray[Any], int] | tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def solve(
    A: DeviceCsr,
    b: Any,
    x0: Any = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: bool = False,
) -> tuple[DeviceArray, Any]: ...
@overload
def solve(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: Literal[False] = False,
) -> tuple[NDArray[Any], int]: ...
@overload
def solve(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: Literal[True],
) -> tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def solve(
    A: Any,
    b: ArrayLike,
    x0: ArrayLike | None = None,
    *,
    rtol: float = 1e-05,
    atol: float = 0.0,
    maxiter: int | None = None,
    M: Any = None,
    callback: Callable[..., Any] | None = None,
    full_output: bool = False,
) -> tuple[NDArray[Any], int] | tuple[NDArray[Any], dict[str, Any]]: ...
def factor_graph(
    a: Any,
    n: int = 2,
    *,
    rounds: int = 5,
    rng: np.random.Generator | int | None = None,
    seed: int | None = None,
) -> dict[str, Any]: ...
def forest(
    a: Any,
    *,
    rounds: int = 5,
    rng: np.random.Generator | int | None = None,
    seed: int | None = None,
) -> dict[str, Any]: ...
