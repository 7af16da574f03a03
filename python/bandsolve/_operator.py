"""Factors as operators of SciPy."""


def of(factor):
    from scipy.sparse.linalg import LinearOperator

    return LinearOperator(
        factor.shape,
        matvec=lambda rhs: factor.solve(rhs.reshape(-1)),
        rmatvec=lambda rhs: factor.solve(rhs.reshape(-1), transpose="conj"),
        matmat=factor.solve,
        rmatmat=lambda rhs: factor.solve(rhs, transpose="conj"),
        dtype=factor.dtype,
    )
