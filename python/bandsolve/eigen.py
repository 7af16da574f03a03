"""Eigenvalues of the library's matrices.

>>> import numpy as np
>>> from bandsolve.eigen import eigh_tridiagonal
>>> w, v = eigh_tridiagonal(np.full(100, 2.0), np.full(99, -1.0), select="i", select_range=(0, 1))
>>> print(np.round(w, 6))
[0.000967 0.003869]
"""

from bandsolve._eigh_tridiagonal import eigh_tridiagonal

__all__ = ["eigh_tridiagonal"]
