"""Types of `_banded_batch.py`."""

from typing import Any, Literal, overload

from numpy.typing import ArrayLike, NDArray

from bandsolve._bandsolve import Pivoting, Report, Transpose
from bandsolve._batch import BatchFactor

@overload
def solve_banded_batch(
    l_and_u: tuple[int, int],
    ab: ArrayLike,
    rhs: ArrayLike,
    *,
    axis: int = -1,
    periodic: bool = False,
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
    overwrite_rhs: bool = False,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solve_banded_batch(
    l_and_u: tuple[int, int],
    ab: ArrayLike,
    rhs: ArrayLike,
    *,
    axis: int = -1,
    periodic: bool = False,
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
    overwrite_rhs: bool = False,
    full_output: Literal[True],
) -> tuple[NDArray[Any], Report]: ...
@overload
def solve_banded_batch(
    l_and_u: tuple[int, int],
    ab: ArrayLike,
    rhs: ArrayLike,
    *,
    axis: int = -1,
    periodic: bool = False,
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
    overwrite_rhs: bool = False,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], Report]: ...
@overload
def solveh_banded_batch(
    ab: ArrayLike,
    rhs: ArrayLike,
    *,
    lower: bool = False,
    axis: int = -1,
    periodic: bool = False,
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
    overwrite_rhs: bool = False,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solveh_banded_batch(
    ab: ArrayLike,
    rhs: ArrayLike,
    *,
    lower: bool = False,
    axis: int = -1,
    periodic: bool = False,
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
    overwrite_rhs: bool = False,
    full_output: Literal[True],
) -> tuple[NDArray[Any], Report]: ...
@overload
def solveh_banded_batch(
    ab: ArrayLike,
    rhs: ArrayLike,
    *,
    lower: bool = False,
    axis: int = -1,
    periodic: bool = False,
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    out: NDArray[Any] | None = None,
    overwrite_rhs: bool = False,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], Report]: ...
def factor_banded_batch(
    l_and_u: tuple[int, int],
    ab: ArrayLike,
    *,
    axis: int = -1,
    periodic: bool = False,
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
) -> BatchFactor: ...
def is_narrow(lower: int, upper: int, periodic: bool = False) -> bool: ...
def factorh_banded_batch(
    ab: ArrayLike,
    *,
    lower: bool = False,
    axis: int = -1,
    periodic: bool = False,
    verify: bool = True,
    threads: int | None = None,
) -> BatchFactor: ...
