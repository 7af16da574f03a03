"""Types of `poisson.py`."""

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from bandsolve._bandsolve import DeviceArray

Method = Literal["auto", "fft", "gemm", "bcr2", "bcr4", "pscr"]

@overload
def solve(
    f: DeviceArray,
    spacing: Any = 1.0,
    boundary: Any = 'dirichlet',
    grid: Any = 'node',
    shift: float = 0.0,
    method: Method = 'auto',
    mean: float | None = 0.0,
    *,
    coordinates: Any = None,
    removable: float = 0.1,
    threads: int | None = None,
    pencils: Any = None,
    full_output: Literal[False] = False,
) -> DeviceArray: ...
@overload
def solve(
    f: DeviceArray,
    spacing: Any = 1.0,
    boundary: Any = 'dirichlet',
    grid: Any = 'node',
    shift: float = 0.0,
    method: Method = 'auto',
    mean: float | None = 0.0,
    *,
    coordinates: Any = None,
    removable: float = 0.1,
    threads: int | None = None,
    pencils: Any = None,
    full_output: Literal[True],
) -> tuple[DeviceArray, dict[str, Any]]: ...
@overload
def solve(
    f: ArrayLike,
    spacing: Any = 1.0,
    boundary: Any = 'dirichlet',
    grid: Any = 'node',
    shift: float = 0.0,
    method: Method = 'auto',
    mean: float | None = 0.0,
    *,
    coordinates: Any = None,
    removable: float = 0.1,
    threads: int | None = None,
    pencils: Any = None,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solve(
    f: ArrayLike,
    spacing: Any = 1.0,
    boundary: Any = 'dirichlet',
    grid: Any = 'node',
    shift: float = 0.0,
    method: Method = 'auto',
    mean: float | None = 0.0,
    *,
    coordinates: Any = None,
    removable: float = 0.1,
    threads: int | None = None,
    pencils: Any = None,
    full_output: Literal[True],
) -> tuple[NDArray[Any], dict[str, Any]]: ...
@overload
def solve(
    f: ArrayLike,
    spacing: Any = 1.0,
    boundary: Any = 'dirichlet',
    grid: Any = 'node',
    shift: float = 0.0,
    method: Method = 'auto',
    mean: float | None = 0.0,
    *,
    coordinates: Any = None,
    removable: float = 0.1,
    threads: int | None = None,
    pencils: Any = None,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], dict[str, Any]]: ...

class Solver:
    def __init__(
        self,
        shape: int | tuple[int, ...],
        spacing: Any = 1.0,
        boundary: Any = 'dirichlet',
        grid: Any = 'node',
        shift: float = 0.0,
        method: Method = 'auto',
        mean: float | None = 0.0,
        *,
        coordinates: Any = None,
        removable: float = 0.1,
        threads: int | None = None,
        pencils: Any = None,
        dtype: DTypeLike = np.float64,
        order: Literal["C", "F"] = 'C',
        device: str = 'cpu',
    ) -> None: ...
    @overload
    def solve(
        self,
        f: DeviceArray,
        *,
        out: Any = None,
        full_output: Literal[False] = False,
    ) -> DeviceArray: ...
    @overload
    def solve(
        self,
        f: DeviceArray,
        *,
        out: Any = None,
        full_output: Literal[True],
    ) -> tuple[DeviceArray, dict[str, Any]]: ...
    @overload
    def solve(
        self,
        f: DeviceArray,
        *,
        out: Any = None,
        full_output: Literal[False] = False,
    ) -> DeviceArray: ...
    @overload
    def solve(
        self,
        f: DeviceArray,
        *,
        out: Any = None,
        full_output: Literal[True],
    ) -> tuple[DeviceArray, dict[str, Any]]: ...
    @overload
    def solve(
        self,
        f: ArrayLike,
        *,
        out: NDArray[Any] | None = None,
        full_output: Literal[False] = False,
    ) -> NDArray[Any]: ...
    @overload
    def solve(
        self,
        f: ArrayLike,
        *,
        out: NDArray[Any] | None = None,
        full_output: Literal[True],
    ) -> tuple[NDArray[Any], dict[str, Any]]: ...
    @overload
    def solve(
        self,
        f: ArrayLike,
        *,
        out: NDArray[Any] | None = None,
        full_output: bool = False,
    ) -> NDArray[Any] | tuple[NDArray[Any], dict[str, Any]]: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def method(self) -> str: ...
    @property
    def reason(self) -> str: ...
