"""Types of `_sparse.py`. Matrices of `scipy.sparse` have no types here."""

from typing import Any, Literal, overload

from numpy.typing import ArrayLike, NDArray

from bandsolve._bandsolve import Factor, Method, Pivoting, Report, Transpose

def factor(
    a: Any,
    *,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
) -> Factor: ...
@overload
def solve(
    a: Any,
    rhs: ArrayLike,
    *,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
    rtol: float | None = None,
    full_output: Literal[False] = False,
) -> NDArray[Any]: ...
@overload
def solve(
    a: Any,
    rhs: ArrayLike,
    *,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
    rtol: float | None = None,
    full_output: Literal[True],
) -> tuple[NDArray[Any], Report]: ...
@overload
def solve(
    a: Any,
    rhs: ArrayLike,
    *,
    method: Method = "auto",
    pivoting: Pivoting = "scaled-partial",
    transpose: Transpose = False,
    verify: bool = True,
    threads: int | None = None,
    device: str = "cpu",
    rtol: float | None = None,
    full_output: bool = False,
) -> NDArray[Any] | tuple[NDArray[Any], Report]: ...
