"""Types of `_scipy.py`."""

from typing import Any, overload

from numpy.typing import ArrayLike, NDArray

from bandsolve._bandsolve import DeviceArray, DeviceFactor, Factor, Method, Pivoting

@overload
def solve_banded(
    l_and_u: tuple[int, int],
    ab: DeviceArray,
    b: DeviceArray,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    *,
    periodic: bool = False,
) -> DeviceArray: ...
@overload
def solve_banded(
    l_and_u: tuple[int, int],
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    check_finite: bool = True,
    *,
    periodic: bool = False,
) -> NDArray[Any]: ...
def solveh_banded(
    ab: ArrayLike,
    b: ArrayLike,
    overwrite_ab: bool = False,
    overwrite_b: bool = False,
    lower: bool = False,
    check_finite: bool = True,
) -> NDArray[Any]: ...
@overload
def factor_banded(
    l_and_u: tuple[int, int],
    ab: DeviceArray,
    *,
    periodic: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
) -> DeviceFactor: ...
@overload
def factor_banded(
    l_and_u: tuple[int, int],
    ab: ArrayLike,
    *,
    periodic: bool = False,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
) -> Factor: ...
