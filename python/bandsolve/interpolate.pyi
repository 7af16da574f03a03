"""Types of `interpolate.py`."""

from typing import Any, Literal

from numpy.typing import ArrayLike, NDArray

Extrapolate = bool | Literal["periodic"] | None

class CubicSpline:
    def __init__(
        self,
        x: ArrayLike,
        y: ArrayLike,
        axis: int = 0,
        bc_type: Any = 'not-a-knot',
        extrapolate: Extrapolate = None,
    ) -> None: ...
    def __call__(
        self,
        t: ArrayLike,
        nu: int = 0,
        extrapolate: Extrapolate = None,
    ) -> NDArray[Any]: ...
    def integrate(
        self,
        a: float,
        b: float,
        extrapolate: Extrapolate = None,
    ) -> NDArray[Any]: ...
    def derivative(
        self,
        nu: int = 1,
    ) -> CubicSpline: ...
    def antiderivative(
        self,
        nu: int = 1,
    ) -> CubicSpline: ...
    def solve(
        self,
        y: float = 0.0,
        discontinuity: bool = True,
        extrapolate: Extrapolate = None,
    ) -> NDArray[Any]: ...
    def roots(
        self,
        discontinuity: bool = True,
        extrapolate: Extrapolate = None,
    ) -> NDArray[Any]: ...
