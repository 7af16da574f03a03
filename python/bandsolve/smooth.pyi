"""Types of `smooth.py`."""

from typing import Any

from numpy.typing import ArrayLike, NDArray

def hodrick_prescott(
    y: ArrayLike,
    lam: float = 1600.0,
    *,
    axis: int = -1,
) -> tuple[NDArray[Any], NDArray[Any]]: ...
def whittaker(
    y: ArrayLike,
    lam: float,
    *,
    order: int = 2,
    weights: ArrayLike | None = None,
    axis: int = -1,
) -> NDArray[Any]: ...
