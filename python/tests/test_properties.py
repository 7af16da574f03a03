"""Random shapes, types, strides and orders, beside SciPy and dense solves."""

import collections
import re

import hypothesis.strategies as st
import numpy as np
import pytest
import scipy.linalg
from conftest import DTYPES, backward_error, dense, eps, lines
from hypothesis import given, settings
from hypothesis.extra import numpy as hnp

import bandsolve
from bandsolve._arguments import result_type

dtypes = st.sampled_from(DTYPES + [np.int32, np.int64, np.float16, np.bool_])


@st.composite
def laid_out(draw, shape, dtype, low=-4, high=4):
    """An array of small numbers in any memory order, with any strides, perhaps read-only."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        low, high = 0, 1
    numbers = draw(hnp.arrays(np.int64, shape, elements=st.integers(low, high)))
    array = numbers.astype(dtype)
    if dtype.kind == "c":
        array = array + 1j * draw(hnp.arrays(np.int64, shape, elements=st.integers(low, high))).astype(dtype.type(0).real.dtype)
    how = draw(st.sampled_from(["c", "f", "strided", "reversed", "readonly", "swapped", "list"]))
    if how == "f":
        return np.asfortranarray(array)
    if how == "strided" and array.ndim:
        return np.repeat(array, 2, axis=0)[::2]
    if how == "reversed":
        return array[::-1].copy()[::-1]
    if how == "readonly":
        array.flags.writeable = False
    if how == "swapped":
        return array.astype(array.dtype.newbyteorder())
    if how == "list" and array.dtype in (np.float64, np.int64):
        return array.tolist() if array.size else array
    return array


NAMES = ["sub", "diag", "sup", "rhs"]


@st.composite
def systems(draw):
    """Four arrays, whether they are periodic, and the place (array, index) that holds no number, in one of twelve."""
    n = draw(st.integers(0, 70))
    shape = draw(st.sampled_from([(n,), (n, 1), (n, 3), (n, 0)]))
    arrays = [draw(laid_out((n,), draw(dtypes))) for _ in range(3)] + [draw(laid_out(shape, draw(dtypes)))]
    which = draw(st.sampled_from(range(4)))
    numbers = np.asarray(arrays[which])
    # (Without a right-hand side nothing is solved, and nothing is looked at.)
    if draw(st.integers(0, 11)) or not np.size(arrays[3]) or numbers.dtype.kind not in "fc":
        return arrays, draw(st.booleans()), None
    # Counted column by column.
    index = draw(st.integers(0, numbers.size - 1))
    arrays[which] = np.array(numbers, order="F")
    arrays[which].T.flat[index] = draw(st.sampled_from([np.nan, np.inf, -np.inf]))
    return arrays, draw(st.booleans()), (NAMES[which], index)


def refused(error, a, precision):
    """Whether columns 0 to that of the row which the error names depend on each other for sure; fails if they do not at all."""
    row = re.search(r"no pivot in row (\d+)$", str(error))
    columns = a[:, : int(row[1]) + 1] if row else a
    sizes = np.linalg.svd(columns, compute_uv=False)
    assert sizes[-1] <= 100 * precision * sizes[0], (error, sizes)
    return sizes[-1] <= 1e-13 * sizes[0]


def test_tridiagonal():
    seen = collections.Counter()

    @settings(max_examples=300)
    @given(systems())
    def check(system):
        (sub, diag, sup, rhs), periodic, bad = system
        seen["all"] += 1
        n = len(diag)
        if bad and (periodic or bad not in (("sub", 0), ("sup", n - 1))):
            place = np.unravel_index(bad[1], np.shape(system[0][NAMES.index(bad[0])]), order="F")
            with pytest.raises(ValueError, match=rf"{bad[0]}\[{', '.join(map(str, place))}\] is not finite"):
                bandsolve.solve_tridiagonal(sub, diag, sup, rhs, periodic=periodic, padded=not periodic)
            return
        kind = result_type(*(np.asarray(array) for array in (sub, diag, sup, rhs)))
        a = dense(*(np.asarray(array, dtype=complex) for array in (sub, diag, sup)), periodic)
        try:
            x = bandsolve.solve_tridiagonal(sub, diag, sup, rhs, periodic=periodic, padded=not periodic)
        except np.linalg.LinAlgError as error:
            seen["doubtful"] += not refused(error, a, np.finfo(kind).eps)
            return
        seen["answered"] += 1
        assert x.shape == np.shape(rhs) and x.dtype == kind
        assert backward_error(a, x, rhs) <= 64 * eps(x)

    check()
    # Some small integers make singular matrices.
    assert seen["answered"] > 0.5 * seen["all"] and seen["doubtful"] <= 0.05 * seen["all"], seen


@settings(max_examples=150)
@given(st.data())
def test_banded(data):
    lower, upper, n = data.draw(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(2, 30)))
    ab = data.draw(laid_out((lower + upper + 1, n), data.draw(dtypes)))
    b = data.draw(laid_out(data.draw(st.sampled_from([(n,), (n, 2)])), data.draw(dtypes)))
    strong = np.array(ab, dtype=np.result_type(np.asarray(ab), np.float32))
    strong[upper] += 50
    expected = scipy.linalg.solve_banded((lower, upper), strong, b)
    x = bandsolve.solve_banded((lower, upper), strong, b)
    # Not so for a single unknown, for which SciPy divides b by the entry, in the type of b.
    assert x.shape == expected.shape and x.dtype == expected.dtype
    assert np.allclose(x, expected, rtol=0, atol=100 * eps(x) * max(1, abs(expected).max(initial=0)))


@settings(max_examples=100)
@given(st.data())
def test_wrong_shapes_are_value_errors(data):
    lengths = data.draw(st.lists(st.integers(0, 5), min_size=4, max_size=4))
    sub, diag, sup, rhs = (np.ones(length) for length in lengths)
    n = lengths[1]
    fits = lengths[3] == n and all(length == max(n - 1, 0) for length in (lengths[0], lengths[2]))
    if fits:
        bandsolve.solve_tridiagonal(sub, diag * 4, sup, rhs)
        return
    with pytest.raises(ValueError):
        bandsolve.solve_tridiagonal(sub, diag * 4, sup, rhs)


@settings(max_examples=100)
@given(st.data())
def test_batches(data):
    shape = tuple(data.draw(st.lists(st.integers(0, 6), min_size=1, max_size=4)))
    axis = data.draw(st.integers(-len(shape), len(shape) - 1))
    sub, diag, sup, rhs = (data.draw(laid_out(shape, data.draw(dtypes))) for _ in range(4))
    diag = np.asarray(diag, dtype=np.result_type(np.asarray(diag), np.float32)) + 20
    x = bandsolve.solve_batch(sub, diag, sup, rhs, axis=axis, padded=True)
    assert x.shape == shape
    for a, b, c, d, own in zip(*(lines(array, axis) for array in (sub, diag, sup, rhs, x))):
        assert backward_error(dense(*(v.astype(complex) for v in (a, b, c))), own, d) <= 10 * eps(x)
