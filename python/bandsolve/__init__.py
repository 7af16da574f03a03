"""Solve tridiagonal, periodic, block tridiagonal and banded linear systems in parallel, and check every answer.

>>> import numpy as np, bandsolve
>>> n = 100_000
>>> off, diag = np.full(n - 1, -1.0), np.full(n, 2.5)
>>> x = bandsolve.solve_tridiagonal(off, diag, off, np.ones(n))
>>> print(round(x[n // 2], 6))
2.0

==============================  =======================================================================
one system                      `solve_tridiagonal`, `solve_block_tridiagonal`, `solve_banded`,
                                `solveh_banded`; `solve` takes any sparse or dense matrix
many systems                    `solve_batch`, `solve_banded_batch`, along any axis of arrays of any
                                dimension; `solve_block_tridiagonal_batch`
one matrix, many solves         `factor`, `factor_tridiagonal`, `factor_banded`,
                                `factor_block_tridiagonal`: objects of the class `Factor`;
                                `factor_batch`, `factor_banded_batch`
splines and smoothing           `bandsolve.interpolate.CubicSpline`, `bandsolve.smooth`
Poisson problems on boxes       `bandsolve.poisson`: `solve`, `Solver`
eigenvalues                     `bandsolve.eigen`: `eigsh`, `eigs`, `eigh_tridiagonal`
systems larger than memory      `bandsolve.out_of_core`; import it by its own name
over MPI ranks                  `bandsolve.mpi`; import it by its own name
any sparse matrix               `bandsolve.sparse`: `gmres` and others, `Preconditioner`, `forest`
inside JAX programs             `bandsolve.jax`, with derivatives; import it by its own name
inside PyTorch programs         `bandsolve.torch`, with derivatives; import it by its own name
JAX and TensorFlow              `bandsolve.compat.tridiagonal_solve`
matrices                        `bandsolve.io.read`, `bandsolve.gallery`
==============================  =======================================================================

Functions raise `numpy.linalg.LinAlgError` for a singular matrix, and `ValueError` for arrays of the wrong shape.
"""

from bandsolve import compat, eigen, gallery, interpolate, io, poisson, smooth, sparse
from bandsolve._bandsolve import (
    __VERSION__ as __version__,
    Factor,
    Report,
    factor_tridiagonal,
    get_num_threads,
    methods,
    set_num_threads,
    solve_tridiagonal,
)
from bandsolve._banded_batch import factor_banded_batch, factorh_banded_batch, solve_banded_batch, solveh_banded_batch
from bandsolve._batch import BatchFactor, factor_batch, solve_batch
from bandsolve._blocks import factor_block_tridiagonal, solve_block_tridiagonal, solve_block_tridiagonal_batch
from bandsolve._scipy import factor_banded, solve_banded, solveh_banded
from bandsolve._sparse import factor, solve

__all__ = [
    "BatchFactor",
    "Factor",
    "Report",
    "compat",
    "eigen",
    "factor",
    "factor_banded",
    "factor_banded_batch",
    "factor_batch",
    "factor_block_tridiagonal",
    "factor_tridiagonal",
    "factorh_banded_batch",
    "gallery",
    "get_num_threads",
    "interpolate",
    "io",
    "methods",
    "poisson",
    "set_num_threads",
    "smooth",
    "solve",
    "solve_banded",
    "solve_banded_batch",
    "solve_batch",
    "solve_block_tridiagonal",
    "solve_block_tridiagonal_batch",
    "solve_tridiagonal",
    "solveh_banded",
    "solveh_banded_batch",
    "sparse",
]
