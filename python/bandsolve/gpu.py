"""Solve with arrays that stay in the memory of a GPU: those of CuPy, PyTorch, JAX and other packages, and `DeviceArray`. Import it by its own name.

These functions take such arrays, too. They solve on the GPU of the arrays. x is a `DeviceArray`, or `out`.

- `bandsolve.solve_tridiagonal`, `bandsolve.solve_batch`, `bandsolve.solve_block_tridiagonal`, `bandsolve.solve_banded`. The `factor` functions of this
  module prepare a matrix for many solves, on a stream of your choice.
- `bandsolve.sparse.cg`, `bandsolve.sparse.gmres` and the other Krylov methods, with a matrix from `ascsr` and a `bandsolve.sparse.Preconditioner` of it.
- `bandsolve.poisson.solve`, and `bandsolve.poisson.Solver` with ``device="cuda"``.

>>> import numpy as np, bandsolve, bandsolve.gpu
>>> off, diag, rhs = (bandsolve.gpu.asarray(np.full(4, value), device="cuda") for value in (-1.0, 2.0, 1.0))
>>> x = bandsolve.solve_tridiagonal(off, diag, off, rhs, padded=True)
>>> print(x)
DeviceArray(shape=[4], dtype=float64)
>>> print(np.round(x.numpy(), 9))
[2. 3. 3. 2.]

Arrays have the type float32, float64, complex64 or complex128, the same for all. They have `__cuda_array_interface__` or `__dlpack__`, and are used where they
lie. The memory order must be the one that the GPU reads; a message says what to pass.
"""

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import as_array
from bandsolve.sparse import is_of_cupy, matrix_arrays

try:
    from bandsolve._bandsolve import DeviceArray, DeviceCsr, DeviceFactor
except ImportError as error:
    raise ImportError("bandsolve was built without CUDA; `pip install .` builds it with CUDA") from error

__all__ = ["DeviceArray", "DeviceCsr", "DeviceFactor", "asarray", "ascsr", "factor_banded", "factor_batch", "factor_block_tridiagonal",
           "factor_tridiagonal"]


def asarray(array, *, device="cuda", order="C"):
    """Copy an array of NumPy to a GPU.

    Parameters
    ----------
    array : array_like
        The array. Integers become float64.
    device : str, default "cuda"
        "cuda", "cuda:0", "cuda:1", …
    order : {"C", "F"}, default "C"
        The memory order on the GPU. Several right-hand sides of one matrix, as columns, need "F".

    Returns
    -------
    DeviceArray
        The array on the GPU.

    Raises
    ------
    ValueError
        `order` or `device` is unknown.
    RuntimeError
        The GPU does not exist, or it reports an error.

    See Also
    --------
    - `bandsolve.gpu.DeviceArray`: its `numpy` copies back.

    Examples
    --------
    >>> import numpy as np, bandsolve.gpu
    >>> rhs = bandsolve.gpu.asarray(np.ones((1000, 3)), device="cuda", order="F")
    >>> rhs.shape, rhs.strides
    ((1000, 3), (8, 8000))
    """
    if order not in ("C", "F"):
        raise ValueError(f"order is {order!r}, expected 'C' or 'F'")
    array = as_array(array)
    axes = range(array.ndim) if order == "F" else reversed(range(array.ndim))
    return _bandsolve.gpu_array(array, list(axes), device)


def ascsr(a, *, device="cuda", stream=None):
    """Copy a sparse matrix to a GPU.

    Parameters
    ----------
    a : matrix or array of scipy.sparse or cupyx.scipy.sparse, or array_like
        The matrix, of any format. The function checks its entries on the host, also those of a matrix of CuPy.
    device : str, default "cuda"
        "cuda", "cuda:0", "cuda:1", …
    stream : int, optional
        The stream of all work with the matrix, a `cudaStream_t` as a number: ``stream.ptr`` in CuPy, ``stream.cuda_stream`` in PyTorch. It must exist as
        long as the object and its preconditioners. Default: the legacy default stream.

    Returns
    -------
    DeviceCsr
        The matrix on the GPU. Its number type is that of `a`; integers become float64.

    Raises
    ------
    ValueError
        An entry is NaN or infinite, the arrays are not a valid csr matrix, or an option is unknown.
    MemoryError
        The memory of the host is not sufficient.
    RuntimeError
        The GPU does not exist, or it reports an error.

    See Also
    --------
    - `bandsolve.sparse.gmres` and the other Krylov methods: solve with the matrix.
    - `bandsolve.sparse.Preconditioner`: set up a preconditioner on the GPU.

    Examples
    --------
    >>> import numpy as np, bandsolve.gpu, scipy.sparse as sp
    >>> from bandsolve.sparse import Preconditioner, cg
    >>> line = sp.diags_array([-1.0, 2.0, -1.0], offsets=[-1, 0, 1], shape=(30, 30))
    >>> a = bandsolve.gpu.ascsr(sp.kronsum(line, line), device="cuda")
    >>> b = a @ bandsolve.gpu.asarray(np.ones(900), device="cuda")
    >>> x, info = cg(a, b, M=Preconditioner(a, "forest"), rtol=1e-10)
    >>> info, bool(np.abs(x.numpy() - 1).max() < 1e-8)
    (0, True)
    """
    # A matrix of CuPy copies itself to the host.
    shape, arrays = matrix_arrays(a.get() if is_of_cupy(a) else a, "a")
    return DeviceCsr(shape[1], arrays, device, stream)


def factor_tridiagonal(sub, diag, sup, *, periodic=False, padded=False, method="auto", pivoting="scaled-partial", verify=True, device="cpu", stream=None,
                       store_factors=True):
    """Prepare a tridiagonal matrix on a GPU, to solve many systems with it.

    Parameters
    ----------
    sub : (n - 1,) array on the GPU
        Entries below the diagonal: ``sub[i]`` is in row i + 1. With `periodic` or `padded`, `sub` has n entries, and ``sub[i]`` is in row i.
    diag : (n,) array on the GPU
        Entries on the diagonal.
    sup : (n - 1,) array on the GPU
        Entries above the diagonal: ``sup[i]`` is in row i. With `periodic` or `padded`, `sup` has n entries.
    periodic : bool, default False
        The matrix is periodic: ``sub[0]`` is in row 0 and column n - 1, ``sup[n-1]`` in row n - 1 and column 0.
    padded : bool, default False
        Pass `sub` and `sup` with n entries, indexed by row. The function ignores ``sub[0]`` and ``sup[n-1]``, and copies nothing.
    method : str, default "auto"
        A name from `bandsolve.methods`.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows, see `bandsolve.solve_tridiagonal`.
    verify : bool, default True
        Compute the backward error of each x, and repair x if the error is too large. Deferred solves need it.
    device : str, default "cpu"
        The default stands for the GPU of the arrays. Another name must be that of their GPU.
    stream : int, optional
        The stream of all solves, a `cudaStream_t` as a number: ``stream.ptr`` in CuPy, ``stream.cuda_stream`` in PyTorch. It must exist as long as the
        object. Default: the stream that an array names in `__cuda_array_interface__`, else the legacy default stream.
    store_factors : bool, default True
        Store factors, wherever the GPU can (see `DeviceFactor`), so that solves need no elimination. Do not change the entries of the matrix then.
        False: each solve eliminates with the entries that the matrix has at that time.

    Returns
    -------
    DeviceFactor
        An object with the methods `solve` and `check`.

    Raises
    ------
    ValueError
        An array has the wrong shape or memory order, or is on another GPU, or an option is unknown.
    TypeError
        An array is in the memory of the host, or has another number type.
    RuntimeError
        The GPU reports an error.

    See Also
    --------
    - `bandsolve.factor_tridiagonal`: takes arrays on the host, too.

    Examples
    --------
    >>> import numpy as np, bandsolve.gpu
    >>> from bandsolve.gpu import asarray
    >>> off, diag, rhs = (asarray(np.full(4, value), device="cuda") for value in (-1.0, 2.0, 1.0))
    >>> lu = bandsolve.gpu.factor_tridiagonal(off, diag, off, padded=True)
    >>> print(np.round(lu.solve(rhs).numpy(), 9))
    [2. 3. 3. 2.]
    """
    return DeviceFactor("tridiagonal", [sub, diag, sup], periodic=periodic, padded=padded, method=method, pivoting=pivoting, verify=verify,
                        device=device, stream=stream, store_factors=store_factors)


def factor_batch(sub, diag, sup, *, axis=-1, periodic=False, padded=False, method="auto", pivoting="scaled-partial", verify=True, device="cpu",
                 stream=None, store_factors=True):
    """Prepare tridiagonal matrices of the same size on a GPU, to solve many batches with them.

    Parameters
    ----------
    sub : array on the GPU
        Entries below the diagonal, with the shape of `diag`. With one dimension, the matrix is that of all systems.
    diag : array on the GPU
        Entries on the diagonal, contiguous in order C or F.
    sup : array on the GPU
        Entries above the diagonal, with the shape of `diag`.
    axis : int, default -1
        The axis along which the rows of a system run: the first or the last. With one matrix for all systems, it is the last axis of `rhs`.
    periodic : bool, default False
        The matrix is periodic. Only for one matrix for all systems.
    padded : bool, default False
        The systems are open, and `sub` and `sup` have n entries along the axis, indexed by row. Only one matrix for all systems may have n - 1.
    method : str, default "auto"
        A name from `bandsolve.methods`.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows, see `bandsolve.solve_tridiagonal`.
    verify : bool, default True
        Compute the backward error of each x, and repair x if the error is too large.
    device : str, default "cpu"
        The default stands for the GPU of the arrays.
    stream : int, optional
        The stream of all solves, see `factor_tridiagonal`.
    store_factors : bool, default True
        Store factors, wherever the GPU can, see `factor_tridiagonal`.

    Returns
    -------
    DeviceFactor
        An object with the methods `solve` and `check`. Right-hand sides have the shape and the memory order of `diag`.

    Raises
    ------
    ValueError
        An array has the wrong shape or memory order, or is on another GPU, or an option is unknown.
    TypeError
        An array is in the memory of the host, or has another number type.
    RuntimeError
        The GPU reports an error.

    Examples
    --------
    >>> import numpy as np, bandsolve.gpu
    >>> from bandsolve.gpu import asarray
    >>> off, diag, rhs = (asarray(np.full((2, 4), value), device="cuda") for value in (-1.0, 2.0, 1.0))
    >>> lu = bandsolve.gpu.factor_batch(off, diag, off, padded=True)
    >>> print(np.round(lu.solve(rhs).numpy(), 9))
    [[2. 3. 3. 2.]
     [2. 3. 3. 2.]]
    """
    return DeviceFactor("batch", [sub, diag, sup], axis=axis, periodic=periodic, padded=padded, method=method, pivoting=pivoting, verify=verify,
                        device=device, stream=stream, store_factors=store_factors)


def factor_block_tridiagonal(sub, diag, sup, *, periodic=False, padded=False, method="auto", pivoting="scaled-partial", verify=True, device="cpu",
                             stream=None, store_factors=True):
    """Prepare a block tridiagonal matrix on a GPU, to solve many systems with it.

    Parameters
    ----------
    sub : (n - 1, b, b) array on the GPU
        Blocks below the diagonal; n blocks with `periodic` or `padded`. Each block lies in memory in order F, one block after the other.
    diag : (n, b, b) array on the GPU
        Blocks on the diagonal. Blocks of more than 4 rows need cuBLAS.
    sup : (n - 1, b, b) array on the GPU
        Blocks above the diagonal; n blocks with `periodic` or `padded`.
    periodic : bool, default False
        The matrix is periodic.
    padded : bool, default False
        Pass `sub` and `sup` with n blocks, indexed by block row. The function ignores ``sub[0]`` and ``sup[n-1]``, and copies nothing.
    method : str, default "auto"
        A name from `bandsolve.methods`.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows, see `bandsolve.solve_tridiagonal`.
    verify : bool, default True
        Compute the backward error of each x, and repair x if the error is too large.
    device : str, default "cpu"
        The default stands for the GPU of the arrays.
    stream : int, optional
        The stream of all solves, see `factor_tridiagonal`.
    store_factors : bool, default True
        Store factors, wherever the GPU can, see `factor_tridiagonal`.

    Returns
    -------
    DeviceFactor
        An object with the methods `solve` and `check`. Right-hand sides have the shape (n, b), (n, b, k), (n · b,) or (n · b, k), one after the other.

    Raises
    ------
    ValueError
        An array has the wrong shape or memory order, or is on another GPU, or an option is unknown.
    TypeError
        An array is in the memory of the host, or has another number type.
    RuntimeError
        The GPU reports an error.

    Examples
    --------
    Blocks of NumPy in order C become blocks in order F with two transpositions, one before and one after the copy:

    >>> import numpy as np, bandsolve.gpu
    >>> from bandsolve.gpu import asarray
    >>> diag, off = np.array([[[4.0, 1.0], [0.0, 3.0]]] * 3), np.array([np.eye(2)] * 3)
    >>> order = lambda blocks: np.ascontiguousarray(blocks.transpose(0, 2, 1))
    >>> lu = bandsolve.gpu.factor_block_tridiagonal(*(asarray(order(a), device="cuda").transpose(0, 2, 1) for a in (off, diag, off)), padded=True)
    >>> x = lu.solve(asarray(np.array([[6.0, 4], [7, 5], [6, 4]]), device="cuda"))
    >>> print(np.round(x.numpy(), 9))
    [[1. 1.]
     [1. 1.]
     [1. 1.]]
    """
    return DeviceFactor("blocks", [sub, diag, sup], periodic=periodic, padded=padded, method=method, pivoting=pivoting, verify=verify, device=device,
                        stream=stream, store_factors=store_factors)


def factor_banded(l_and_u, ab, *, method="auto", pivoting="scaled-partial", verify=True, device="cpu", stream=None):
    """Prepare a banded matrix on a GPU, to solve many systems with it. Each solve eliminates with the entries that the matrix has at that time.

    Parameters
    ----------
    l_and_u : (int, int)
        Number of diagonals below and above the main diagonal, at most 4 each.
    ab : (l + u + 1, n) array on the GPU
        The matrix in the band storage of `scipy.linalg.solve_banded`, in order F.
    method : str, default "auto"
        A name from `bandsolve.methods`.
    pivoting : str, default "scaled-partial"
        How the solver chooses pivot rows, see `bandsolve.solve_tridiagonal`.
    verify : bool, default True
        Compute the backward error of each x, and repair x if the error is too large.
    device : str, default "cpu"
        The default stands for the GPU of the array.
    stream : int, optional
        The stream of all solves, see `factor_tridiagonal`.

    Returns
    -------
    DeviceFactor
        An object with the methods `solve` and `check`.

    Raises
    ------
    ValueError
        The array has the wrong shape or memory order, or is on another GPU, or an option is unknown.
    TypeError
        The array is in the memory of the host, or has another number type.
    RuntimeError
        The GPU reports an error.

    Examples
    --------
    >>> import numpy as np, bandsolve.gpu
    >>> ab = bandsolve.gpu.asarray([[0.0, -1, -1, -1], [2, 2, 2, 2], [-1, -1, -1, 0]], device="cuda", order="F")
    >>> lu = bandsolve.gpu.factor_banded((1, 1), ab)
    >>> print(np.round(lu.solve(bandsolve.gpu.asarray(np.ones(4), device="cuda")).numpy(), 9))
    [2. 3. 3. 2.]
    """
    widths = tuple(map(int, l_and_u))
    if len(widths) != 2 or min(widths) < 0:
        raise ValueError(f"l_and_u is {l_and_u}, expected two numbers that are not negative")
    return DeviceFactor("banded", [ab], widths=widths, method=method, pivoting=pivoting, verify=verify, device=device, stream=stream)


def solved(factor, matrix, rhs, transpose, out, overwrite_rhs, full_output, **options):
    """Solve once, on the stream of the right-hand sides, for functions of the package."""
    factors = factor(*matrix, stream=_bandsolve.stream_of_array("rhs", rhs), **options)
    out = rhs if out is None and overwrite_rhs else out
    return factors.solve(rhs, transpose=transpose, out=out, full_output=full_output)
