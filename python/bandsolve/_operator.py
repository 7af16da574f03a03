"""Factors as operators, for SciPy and for the Krylov methods."""

import numpy as np

from bandsolve._bandsolve import as_array
from bandsolve._optional import scipy_module


def of(factor):
    return scipy_module("sparse.linalg").LinearOperator(
        factor.shape,
        matvec=lambda rhs: factor.solve(rhs.reshape(-1)),
        rmatvec=lambda rhs: factor.solve(rhs.reshape(-1), transpose="conj"),
        matmat=factor.solve,
        rmatmat=lambda rhs: factor.solve(rhs, transpose="conj"),
        dtype=factor.dtype,
    )


def by_parts(product, dtype, x):
    """Return the product with a vector. A real product takes the parts of a complex vector one after the other."""
    x = as_array(x)
    if x.dtype.kind == "c" and dtype.kind != "c":
        return product(x.real) + 1j * product(x.imag)
    return product(x)


def has_solve(inverse):
    """Whether this is an object that solves, such as factors, and no operator."""
    return hasattr(inverse, "shape") and callable(getattr(inverse, "solve", None)) and not hasattr(inverse, "matvec")


def of_solver(factor):
    """Return the shape of an object with the method `solve`, a function that solves for a vector, and its number type."""
    shape, dtype = tuple(factor.shape), getattr(factor, "dtype", None)
    dtype = _type_of(factor, shape[0]) if dtype is None else np.dtype(dtype)

    def solve(rhs):
        # Some factors take contiguous vectors of their own type only.
        return by_parts(lambda part: factor.solve(np.ascontiguousarray(part, dtype)), dtype, rhs)

    return shape, solve, dtype


def _type_of(factor, n):
    """Return the number type of factors without a `dtype`, by a solve. Those of SciPy in single precision take no vector in double precision."""
    try:
        return np.asarray(factor.solve(np.zeros(n))).dtype
    except TypeError:
        return np.asarray(factor.solve(np.zeros(n, np.float32))).dtype
