"""Check arguments: whole numbers, seeds of random numbers, widths of bands, number types, and numbers in place of constant diagonals."""

import operator

import numpy as np

from bandsolve._bandsolve import any_on_gpu, as_array

_MOST = (1 << 63) - 1


def whole_number(name, value, least):
    """Return the value as an int. It must be a whole number of at least `least` that the compiled part can represent."""
    try:
        number = int(value)
        whole = not isinstance(value, str) and number == value and number >= least
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise ValueError(f"{name} is {value!r}, expected a whole number of at least {least}")
    if number > _MOST:
        shown = value if number < 10**40 else "a number of more than 40 digits"
        raise ValueError(f"{name} is {shown}, expected a whole number from {least} to {_MOST}")
    return number


def band_widths(l_and_u):
    """Return the numbers of diagonals below and above the main one as ints."""
    lower, upper = (operator.index(width) for width in l_and_u)
    if min(lower, upper) < 0 or max(lower, upper) >= 1 << 63:
        raise ValueError(f"l and u are {lower} and {upper}, expected numbers that are not negative, below 2**63")
    return lower, upper


def result_type(*arrays):
    """Return the number type of a solve: single precision if all arrays have at most single precision, else double precision."""
    single = all(array.dtype.newbyteorder("=") in (np.float16, np.float32, np.complex64) for array in arrays)
    if any(array.dtype.kind == "c" for array in arrays):
        return np.dtype(np.complex64 if single else np.complex128)
    return np.dtype(np.float32 if single else np.float64)


def seed_of(rng, seed):
    """Return the seed that `rng`, a generator or a whole number, or its alias `seed` gives. The default is 0."""
    if rng is not None and seed is not None:
        raise TypeError("rng and seed are both given, expected at most one of them. Omit seed, which is an alias of rng.")
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(1 << 62))
    if rng is not None:
        return whole_number("rng", rng, 0)
    return 0 if seed is None else whole_number("seed", seed, 0)


def check_on_host(**arrays):
    """Raise an error for arrays on a GPU, which the function does not take."""
    for name, array in arrays.items():
        if any_on_gpu(array):
            raise TypeError(f"{name} is on a GPU, expected an array on the host. For arrays on a GPU, use solve_tridiagonal, solve_batch, "
                            "solve_block_tridiagonal, solve_banded or sparse.solve, see bandsolve.gpu")


def length_of(diag, rhs, axis=0):
    """Return the number of rows of a tridiagonal system: the length of `diag`, or of `rhs` along an axis if `diag` is a number."""
    if np.ndim(diag) > 0:
        return np.shape(diag)[-1]
    if rhs is None or np.ndim(rhs) == 0:
        arrays = "diag" if rhs is None else "diag or rhs"
        raise ValueError(f"diag is a single number, expected an array with n entries for {arrays}: its length is the number of rows. Pass "
                         "np.full(n, diag)")
    return np.shape(rhs)[axis]


def repeated(diagonals, n, full, others=()):
    """Return sub, diag and sup, where a number has become an array: n times the number, or n - 1 times off the diagonal unless `full`.

    A number of Python does not raise the precision of the other arrays, and of `others`."""
    dtypes = [as_array(array).dtype for array in (*diagonals, *others) if not isinstance(array, (int, float, complex))]
    lengths = (n if full else max(n - 1, 0), n, n if full else max(n - 1, 0))
    return [np.full(length, value, np.result_type(value, *dtypes)) if np.ndim(value) == 0 else value for value, length in zip(diagonals, lengths)]


def repeated_for(sub, diag, sup, rhs, full):
    """Return sub, diag and sup of one system without numbers, see `repeated`. `rhs` is None for factors."""
    return repeated((sub, diag, sup), length_of(diag, rhs), full, () if rhs is None else (rhs,))
