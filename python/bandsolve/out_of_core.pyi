"""Types of `out_of_core.py`."""

import os
from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from bandsolve import Report

def solve_tridiagonal(
    sub: str | os.PathLike[str] | ArrayLike,
    diag: str | os.PathLike[str] | ArrayLike,
    sup: str | os.PathLike[str] | ArrayLike,
    rhs: str | os.PathLike[str] | ArrayLike,
    out: str | os.PathLike[str] | Any,
    *,
    piece_rows: int = 262144,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], object] | None = None,
) -> Report: ...
