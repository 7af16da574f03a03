"""GMRES with incomplete LU of Intel's MKL: `dcsrilu0`, `dfgmres`, and triangular solves of its sparse products.

MKL's library is found where Python's own are, or by the name that MKL_RT holds. It is installed with `pip install mkl`.
"""

import ctypes
import glob
import os
import sys

import numpy as np

PLAIN, GENERAL, TRIANGULAR, LOWER, UPPER, NON_UNIT, UNIT = 10, 20, 23, 40, 41, 50, 51
# Solves and products that the matrices are prepared for.
CALLS = 1000


class Description(ctypes.Structure):
    """`matrix_descr`."""

    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diagonal", ctypes.c_int)]


def library():
    """MKL, or None."""
    for name in [os.environ.get("MKL_RT"), *glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*"))]:
        if name:
            return ctypes.CDLL(name, mode=ctypes.RTLD_GLOBAL)
    return None


def pointer(array):
    return ctypes.c_void_p(array.ctypes.data)


def count(value):
    return ctypes.byref(ctypes.c_int(value))


class SparseMatrix:
    """A matrix by rows as MKL has it; the arrays are those of SciPy's matrix, but for the values."""

    def __init__(self, mkl, a, values):
        self.mkl, self.arrays, self.handle = mkl, (a.indptr, a.indices, values), ctypes.c_void_p()
        starts = a.indptr.ctypes.data
        rows = (ctypes.c_void_p(starts), ctypes.c_void_p(starts + a.indptr.itemsize))
        status = mkl.mkl_sparse_d_create_csr(ctypes.byref(self.handle), 0, *a.shape, *rows, pointer(a.indices), pointer(values))
        assert status == 0, f"mkl_sparse_d_create_csr: {status}"

    def prepare(self, *triangles):
        """For products, or for solves with these triangles."""
        if not triangles:
            self.mkl.mkl_sparse_set_mv_hint(self.handle, PLAIN, Description(GENERAL, 0, 0), CALLS)
        for triangle in triangles:
            self.mkl.mkl_sparse_set_sv_hint(self.handle, PLAIN, triangle, CALLS)
        self.mkl.mkl_sparse_optimize(self.handle)

    def multiply(self, x, y):
        one, zero = ctypes.c_double(1.0), ctypes.c_double(0.0)
        self.mkl.mkl_sparse_d_mv(PLAIN, one, self.handle, Description(GENERAL, 0, 0), pointer(x), zero, pointer(y))

    def solve(self, triangle, x, y):
        self.mkl.mkl_sparse_d_trsv(PLAIN, ctypes.c_double(1.0), self.handle, triangle, pointer(x), pointer(y))

    def __del__(self):
        self.mkl.mkl_sparse_destroy(self.handle)


class IncompleteLu:
    """L·U on the places of A."""

    def __init__(self, mkl, a):
        self.mkl, self.between = mkl, np.zeros(a.shape[0])
        self.lower, self.upper = Description(TRIANGULAR, LOWER, UNIT), Description(TRIANGULAR, UPPER, NON_UNIT)
        values, status = np.zeros_like(a.data), ctypes.c_int()
        ipar, dpar = np.zeros(128, np.int32), np.zeros(128)
        (ipar[1], ipar[5], dpar[30], dpar[31]) = (6, 1, 1e-16, 1e-10)
        # Counted from 1.
        pointers, columns = a.indptr + np.int32(1), a.indices + np.int32(1)
        arrays = [pointer(array) for array in (a.data, pointers, columns, values, ipar, dpar)]
        mkl.dcsrilu0(count(a.shape[0]), *arrays, ctypes.byref(status))
        if status.value != 0:
            raise ArithmeticError(f"dcsrilu0: {status.value}")
        self.factors = SparseMatrix(mkl, a, values)
        self.factors.prepare(self.lower, self.upper)

    def solve(self, x, y):
        self.factors.solve(self.lower, x, self.between)
        self.factors.solve(self.upper, self.between, y)


def gmres(a, b, factors, rtol, restart, limit):
    """Flexible GMRES from 0 to ‖b − A·x‖ ≤ rtol·‖b‖: x, and how many iterations it took. `a`: a SparseMatrix."""
    mkl, n, x = factors.mkl, len(b), np.zeros(len(b))
    b, request, iterations = b.copy(), ctypes.c_int(), ctypes.c_int()
    ipar, dpar = np.zeros(128, np.int32), np.zeros(128)
    work = np.zeros((2 * restart + 1) * n + restart * (restart + 9) // 2 + 1)
    arguments = [count(n), pointer(x), pointer(b), ctypes.byref(request), *(pointer(array) for array in (ipar, dpar, work))]
    mkl.dfgmres_init(*arguments)
    # Limits, tests of the residual and of new vectors by MKL itself, a preconditioner; the check puts other places in the work
    # array for another restart, and need not say so.
    (ipar[4], ipar[14], ipar[7], ipar[8], ipar[9], ipar[10], ipar[11]) = (limit, restart, 1, 1, 0, 1, 1)
    (dpar[0], dpar[1], ipar[6]) = (rtol, 0.0, 0)
    mkl.dfgmres_check(*arguments)
    while True:
        mkl.dfgmres(*arguments)
        start, end = ipar[21] - 1, ipar[22] - 1
        parts = (work[start:start + n], work[end:end + n])
        if request.value == 1:
            a.multiply(*parts)
        elif request.value == 3:
            factors.solve(*parts)
        else:
            break
    ipar[12] = 0
    mkl.dfgmres_get(*arguments, ctypes.byref(iterations))
    return x, iterations.value
