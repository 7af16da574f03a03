"""Types of `gallery.py`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

def names() -> dict[str, str]: ...
def bands(
    name: str,
    n: int,
    rng: np.random.Generator | int | None = None,
    *,
    seed: int | None = None,
) -> tuple[int, int, NDArray[Any]]: ...
def tridiagonal(
    name: str,
    n: int,
    rng: np.random.Generator | int | None = None,
    *,
    seed: int | None = None,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], bool]: ...
