//! One system over many processes: banded and block tridiagonal solvers over MPI.
