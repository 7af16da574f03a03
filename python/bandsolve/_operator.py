"""Factors as operators of SciPy."""

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
