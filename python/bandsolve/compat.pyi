"""Types of `compat.py`."""

from typing import Any

from numpy.typing import ArrayLike, NDArray

def tridiagonal_solve(*args: ArrayLike, **keywords: Any) -> NDArray[Any]: ...
