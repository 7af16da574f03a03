"""The options of Python have the defaults of docs/options.csv, which lists all of them."""

import csv
import importlib.util
import inspect
from pathlib import Path

import pytest

import bandsolve

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "docs" / "options.csv"
MODULES = ["", "sparse", "eigen", "poisson", "smooth", "gallery", "interpolate", "io"]
# Modules that need a package of the same name.
OF_PACKAGES = ["jax", "torch"]


def listed(interface):
    """Lines of an interface: option, default and places."""
    if not TABLE.exists():
        pytest.skip("docs/options.csv is only in a clone of the repository")
    lines = [line for line in TABLE.read_text().splitlines() if not line.startswith("#")]
    rows = [row for row in csv.DictReader(lines) if row["interface"] == interface]
    assert rows
    return {(row["option"], row["default"], place) for row in rows for place in row["where"].split()}


def signatures():
    """Name and signature of each public function and class."""
    for name in [*MODULES, *filter(importlib.util.find_spec, OF_PACKAGES)]:
        module = importlib.import_module("bandsolve" + ("." + name if name else ""))
        for member in getattr(module, "__all__", dir(module)):
            value = getattr(module, member)
            if member.startswith("_") or inspect.ismodule(value) or not callable(value):
                continue
            try:
                yield f"{name}.{member}".lstrip("."), inspect.signature(value)
            except ValueError:
                continue


def test_python():
    missing = [package for package in OF_PACKAGES if not importlib.util.find_spec(package)]
    expected = {line for line in listed("python") if line[2].split(".")[0] not in missing}
    options = {option for option, _, _ in expected}
    found = {
        (parameter.name, repr(parameter.default), place)
        for place, signature in signatures()
        for parameter in signature.parameters.values()
        if parameter.name in options and parameter.default is not inspect.Parameter.empty
    }
    assert found == expected
    assert inspect.signature(bandsolve.solve_tridiagonal).parameters["verify"].default is True
