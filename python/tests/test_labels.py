"""Right-hand sides of pandas and xarray return x with their labels, and names of dimensions choose the axis."""

import subprocess
import sys

import numpy as np
import pytest

import bandsolve
from bandsolve import interpolate, poisson, smooth

N = 6
OFF, DIAG = np.full(N - 1, -1.0), np.full(N, 4.0)
AB = np.array([np.r_[0, OFF], DIAG, np.r_[OFF, 0]])
A = np.diag(DIAG) + np.diag(OFF, 1) + np.diag(OFF, -1)

#: Functions of a right-hand side, or of values, with n rows along the first axis.
CALLS = {
    "solve_tridiagonal": lambda b, **o: bandsolve.solve_tridiagonal(OFF, DIAG, OFF, b, **o),
    "Factor.solve": lambda b, **o: bandsolve.factor_tridiagonal(OFF, DIAG, OFF).solve(b, **o),
    "Factor.solve_transpose": lambda b, **o: bandsolve.factor_tridiagonal(OFF, DIAG, OFF).solve_transpose(b, **o),
    "solve_batch": lambda b, **o: bandsolve.solve_batch(OFF, DIAG, OFF, b, axis=0, **o),
    "BatchFactor.solve": lambda b, **o: bandsolve.factor_batch(OFF, DIAG, OFF, axis=0).solve(rhs=b, **o),
    "solve_banded_batch": lambda b, **o: bandsolve.solve_banded_batch((1, 1), AB, b, axis=0, **o),
    "factor_banded_batch": lambda b, **o: bandsolve.factor_banded_batch((1, 1), AB, axis=0).solve(b, **o),
    "solveh_banded_batch": lambda b, **o: bandsolve.solveh_banded_batch(AB[:2], b, axis=0, **o),
    "factorh_banded_batch": lambda b, **o: bandsolve.factorh_banded_batch(AB[:2], axis=0).solve(b, **o),
    "solve": lambda b, **o: bandsolve.solve(A, b, **o),
    "solve_banded": lambda b: bandsolve.solve_banded((1, 1), AB, b),
    "solveh_banded": lambda b: bandsolve.solveh_banded(AB[:2], b),
    "poisson.solve": lambda b, **o: poisson.solve(b, spacing=0.5, **o),
    "poisson.Solver": lambda b, **o: poisson.Solver(np.shape(b)).solve(b, **o),
    "whittaker": lambda b: smooth.whittaker(b, 2.0, axis=0),
    "hodrick_prescott": lambda b: smooth.hodrick_prescott(b, axis=0),
    "CubicSpline": lambda b: interpolate.CubicSpline(np.arange(5.0), np.arange(5.0) ** 2)(b),
}
REPORTS = [name for name in CALLS if name not in ("solve_banded", "solveh_banded", "whittaker", "hodrick_prescott", "CubicSpline")]


def arrays(answer):
    return [part for part in (answer if isinstance(answer, tuple) else (answer,)) if hasattr(part, "shape")]


@pytest.mark.parametrize("name", CALLS)
def test_pandas(name):
    pandas = pytest.importorskip("pandas")
    values = np.random.default_rng(1).random((N, 2))
    series = pandas.Series(values[:, 0], index=list("abcdef"), name="load")
    frame = pandas.DataFrame(values, index=pandas.date_range("2024-01-01", periods=N), columns=["p", "q"])
    for given in (series, frame):
        for x, expected in zip(arrays(CALLS[name](given)), arrays(CALLS[name](given.to_numpy())), strict=True):
            assert type(x) is type(given) and np.array_equal(x.to_numpy(), expected)
            assert x.index.equals(given.index)
            assert x.name == "load" if given is series else x.columns.equals(frame.columns)
    if name in REPORTS:
        x, report = CALLS[name](series, full_output=True)
        assert isinstance(x, pandas.Series) and not isinstance(report, pandas.Series)


@pytest.mark.parametrize("name", CALLS)
def test_xarray(name):
    xarray = pytest.importorskip("xarray")
    values = np.random.default_rng(1).random((N, 2))
    given = xarray.DataArray(values, dims=("depth", "time"), coords={"depth": np.arange(N) / 10, "time": [5, 7]}, name="load", attrs={"units": "N"})
    for x, expected in zip(arrays(CALLS[name](given)), arrays(CALLS[name](values)), strict=True):
        assert isinstance(x, xarray.DataArray) and np.array_equal(x.to_numpy(), expected)
        assert x.dims == given.dims and x.coords.equals(given.coords) and x.name == "load" and not x.attrs
    if name in REPORTS:
        assert isinstance(CALLS[name](given, full_output=True)[0], xarray.DataArray)


def test_names_of_dimensions():
    xarray = pytest.importorskip("xarray")
    values = np.random.default_rng(1).random((3, N, 4))
    given = xarray.DataArray(values, dims=("time", "z", "x"))
    expected = bandsolve.solve_batch(OFF, DIAG, OFF, values, axis=1)
    assert np.array_equal(bandsolve.solve_batch(OFF, DIAG, OFF, given, axis="z"), expected)
    assert np.array_equal(bandsolve.factor_batch(OFF, DIAG, OFF, axis="z").solve(given), expected)
    assert np.array_equal(smooth.whittaker(given, 1.0, axis="z"), smooth.whittaker(values, 1.0, axis=1))
    assert np.array_equal(smooth.hodrick_prescott(given, axis="z")[0], smooth.hodrick_prescott(values, axis=1)[0])
    assert np.array_equal(interpolate.CubicSpline(np.arange(N), given, axis="z")(0.5), interpolate.CubicSpline(np.arange(N), values, axis=1)(0.5))
    # Of a Poisson problem: names of dimensions before "x", "y" and "z".
    sides, spacing = {"z": "neumann", "x": "periodic"}, {"z": 0.5}
    u = poisson.solve(given, boundary=sides, spacing=spacing, grid={"x": "cell"}, coordinates={"time": [0.0, 1, 3, 4, 5]})
    assert u.dims == given.dims
    plain = poisson.solve(values, boundary={1: "neumann", 2: "periodic"}, spacing=(1, 0.5, 1), grid=("node", "node", "cell"),
                          coordinates=([0.0, 1, 3, 4, 5], None, None))
    assert np.array_equal(u, plain)
    for array, words in [(values, "rhs is no DataArray"), (given, "expected a number or one of 'time', 'z', 'x', the dimensions of rhs")]:
        with pytest.raises(ValueError, match=words):
            bandsolve.solve_batch(OFF, DIAG, OFF, array, axis="y")


def test_names_of_axes_of_poisson_problems():
    f = np.random.default_rng(1).random((4, 5, 6))
    expected = poisson.solve(f, spacing=(1, 1, 0.5), boundary=("dirichlet", "periodic", "dirichlet"), grid=("cell", "node", "node"))
    options = dict(spacing={"z": 0.5}, boundary={"y": "periodic"}, grid={"x": "cell"})
    assert np.array_equal(poisson.solve(f, **options), expected)
    assert np.array_equal(poisson.Solver(f.shape, **options).solve(f), expected)
    points = np.array([0.0, 1, 2, 4, 5, 6, 8, 9])
    given = poisson.solve(f, coordinates={"z": points})
    assert np.array_equal(given, poisson.solve(f, coordinates=[None, None, points]))
    assert np.array_equal(poisson.solve(f[0, 0], coordinates={"x": points}), poisson.solve(f[0, 0], coordinates=points))
    for name, entry in [("spacing", 1.0), ("grid", "node"), ("coordinates", None), ("boundary", "neumann")]:
        with pytest.raises(ValueError, match=f"{name} has the key 'w', expected a number of an axis from -3 to 2, or one of 'x', 'y', 'z'"):
            poisson.solve(f, **{name: {"w": entry}})
        with pytest.raises(ValueError, match=f"{name} has two keys for axis 1"):
            poisson.solve(f, **{name: {"y": entry, 1: entry}})


def test_out_has_no_labels_and_packages_are_not_imported():
    pandas = pytest.importorskip("pandas")
    series, out = pandas.Series(np.ones(N)), np.empty(N)
    for name in ("solve_tridiagonal", "Factor.solve", "solve_batch", "BatchFactor.solve", "poisson.Solver"):
        assert CALLS[name](series, out=out) is out
    code = "import sys, bandsolve; bandsolve.solve_tridiagonal(-1, 4, -1, (1.0, 2.0)); print({'pandas', 'xarray', 'scipy'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
