"""Batches of block tridiagonal systems, open and periodic, against dense matrices of NumPy."""

import numpy as np
import pytest

import bandsolve


def dense(sub, diag, sup, periodic):
    """The matrices of arrays (..., n, b, b), whose blocks are indexed by block row."""
    n, b = diag.shape[-3:-1]
    lead = np.broadcast_shapes(sub.shape[:-3], diag.shape[:-3], sup.shape[:-3])
    a = np.zeros(lead + (n * b, n * b), np.result_type(sub, diag, sup))
    for i in range(n):
        for blocks, j in ((sub, i - 1), (diag, i), (sup, i + 1)):
            if periodic or 0 <= j < n:
                j %= n
                a[..., i * b:i * b + b, j * b:j * b + b] += blocks[..., i, :, :]
    return a


def systems(rng, lead, n, b, dtype=np.float64):
    arrays = []
    for _ in range(3):
        values = rng.uniform(-1, 1, lead + (n, b, b))
        arrays.append((values + 1j * rng.uniform(-1, 1, values.shape) if np.dtype(dtype).kind == "c" else values).astype(dtype))
    arrays[1] += (4 * b * np.eye(b)).astype(dtype)
    return arrays


def solved(a, rhs):
    return np.linalg.solve(a, rhs.reshape(rhs.shape[:-2] + (-1, 1)))[..., 0].reshape(rhs.shape)


def close(x, expected):
    np.testing.assert_allclose(x, expected, rtol=0, atol=200 * np.finfo(x.dtype).eps * np.abs(expected).max(initial=0))


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128, np.complex64])
@pytest.mark.parametrize("periodic, b", [(False, 1), (False, 2), (False, 5), (False, 8), (True, 1), (True, 3), (True, 5)])
def test_open_and_periodic(periodic, b, dtype):
    rng = np.random.default_rng(1)
    for lead, n in (((7,), 6), ((2, 3), 1), ((4,), 2), ((), 5), ((30,), 3)):
        sub, diag, sup = systems(rng, lead, n, b, dtype)
        rhs = systems(rng, lead, n, b, dtype)[0][..., 0]
        a = dense(sub, diag, sup, periodic)
        for transpose, of in ((False, a), (True, np.swapaxes(a, -1, -2)), ("conj", np.swapaxes(a, -1, -2).conj())):
            options = dict(periodic=periodic, padded=not periodic, transpose=transpose)
            x, report = bandsolve.solve_block_tridiagonal_batch(sub, diag, sup, rhs, full_output=True, **options)
            assert x.dtype == dtype and report.backward_error <= 64 * np.finfo(dtype).eps
            close(x, solved(of, rhs))
            assert (bandsolve.solve_block_tridiagonal_batch(sub, diag, sup, rhs, threads=1, **options) == x).all()
        if not periodic:
            x = bandsolve.solve_block_tridiagonal_batch(sub[..., 1:, :, :], diag, sup[..., :-1, :, :], rhs)
            close(x, solved(a, rhs))


def test_leading_axes_broadcast():
    rng = np.random.default_rng(2)
    sub, diag, sup = systems(rng, (), 4, 3)
    rhs = rng.random((5, 6, 4, 3))
    close(bandsolve.solve_block_tridiagonal_batch(sub, diag, sup, rhs, padded=True), solved(dense(sub, diag, sup, False), rhs))
    _, of_columns, _ = systems(rng, (5, 1), 4, 3)
    a = dense(sub, of_columns, sup, False)
    close(bandsolve.solve_block_tridiagonal_batch(sub, of_columns, sup, rhs, padded=True), solved(np.broadcast_to(a, (5, 6, 12, 12)), rhs))


def test_ignored_blocks_and_repair():
    rng = np.random.default_rng(3)
    sub, diag, sup = systems(rng, (20,), 5, 2)
    sub[:, 0], sup[:, -1] = np.nan, np.inf
    rhs = rng.random((20, 5, 2))
    x = bandsolve.solve_block_tridiagonal_batch(sub, diag, sup, rhs, padded=True)
    close(x, solved(dense(np.nan_to_num(sub), diag, np.nan_to_num(sup, posinf=0), False), rhs))
    # Without row exchanges, a zero pivot needs the fallback.
    diag[[4, 17], 0, 0, 0] = 0
    _, report = bandsolve.solve_block_tridiagonal_batch(sub, diag, sup, rhs, padded=True, pivoting="none", full_output=True)
    assert report.fallback_systems == [4, 17]


def test_wrong_arguments():
    rng = np.random.default_rng(4)
    sub, diag, sup = systems(rng, (3, 4), 5, 2)
    sub, sup, rhs = sub[..., 1:, :, :], sup[..., :-1, :, :], np.ones((3, 4, 5, 2))
    call = bandsolve.solve_block_tridiagonal_batch

    def changed(array, place, value):
        array = array.copy()
        array[place] = value
        return array

    zero = changed(diag, (1, 2, slice(None), slice(None), 1), 0)
    for kind, message, run in [
        (ValueError, r"^sub\[1, 2, 0, 1, 0\] is not finite$", lambda: call(changed(sub, (1, 2, 0, 1, 0), np.nan), diag, sup, rhs)),
        (ValueError, r"^diag\[2, 3, 4, 0, 1\] is not finite$", lambda: call(sub, changed(diag, (2, 3, 4, 0, 1), np.inf), sup, rhs)),
        (ValueError, r"^sup\[0, 0, 3, 1, 1\] is not finite$", lambda: call(sub, diag, changed(sup, (0, 0, 3, 1, 1), np.nan), rhs)),
        (ValueError, r"^diag\[2, 1, 1\] is not finite$", lambda: call(sub, changed(diag[0, 0], (2, 1, 1), np.nan), sup, rhs)),
        (ValueError, r"^rhs\[2, 0, 1, 1\] is not finite$", lambda: call(sub, diag, sup, changed(rhs, (2, 0, 1, 1), np.nan))),
        (ValueError, r"rhs has the shape \(3, 4, 5\), expected \(..., 5, 2\)", lambda: call(sub, diag, sup, rhs[..., 0])),
        (ValueError, r"diag has blocks of 9 rows, expected 1 to 8", lambda: call(*np.ones((3, 1, 9, 9)), np.ones((1, 9)), padded=True)),
        (ValueError, r"diag has blocks of 6 rows, expected 1 to 5", lambda: call(*np.ones((3, 1, 6, 6)), np.ones((1, 6)), periodic=True)),
        (ValueError, r"sub has the shape \(3, 4, 4, 2\)", lambda: call(sub[..., 0], diag, sup, rhs)),
        (ValueError, r"leading axes \(3, 4\), \(3, 4\), \(3, 4\), expected .* \(4,\)", lambda: call(sub, diag, sup, rhs[0])),
        (ValueError, "sub has", lambda: call(diag, diag, sup, rhs)),
        (ValueError, "pivoting is", lambda: call(sub, diag, sup, rhs, pivoting="full")),
        (np.linalg.LinAlgError, "system 6 is singular", lambda: call(0 * sub, zero, 0 * sup, rhs)),
    ]:
        with pytest.raises(kind, match=message):
            run()


def test_labels():
    pandas = pytest.importorskip("pandas")
    sub, diag, sup = systems(np.random.default_rng(5), (), 4, 2)
    rhs = pandas.DataFrame(np.ones((4, 2)), index=list("abcd"), columns=["u", "v"])
    x = bandsolve.solve_block_tridiagonal_batch(sub, diag, sup, rhs, padded=True)
    assert list(x.index) == list("abcd") and list(x.columns) == ["u", "v"]


def test_empty():
    for lead, n in (((0,), 3), ((3,), 0), ((0,), 0)):
        blocks = np.ones(lead + (n, 2, 2))
        x = bandsolve.solve_block_tridiagonal_batch(blocks, blocks, blocks, np.ones(lead + (n, 2)), padded=True)
        assert x.shape == lead + (n, 2)
        assert bandsolve.solve_block_tridiagonal_batch(blocks, blocks, blocks, np.ones(lead + (n, 2)), periodic=True).shape == lead + (n, 2)
