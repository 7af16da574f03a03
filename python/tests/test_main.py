"""`python -m bandsolve`, and messages about packages that are not installed."""

import importlib.metadata
import os
import pathlib
import subprocess
import sys

import pytest

import bandsolve

FOLDER = str(pathlib.Path(bandsolve.__file__).resolve().parents[1])


def report(**environment):
    """The lines of the report: names and values."""
    variables = {**os.environ, "PYTHONPATH": FOLDER, **environment}
    done = subprocess.run([sys.executable, "-m", "bandsolve"], env=variables, capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return dict(line.split(maxsplit=1) for line in done.stdout.splitlines())


def test_report_names_what_a_bug_report_needs():
    facts = report()
    assert list(facts) == ["version", "Python", "machine", "simd", "threads", "GPU", "MPI", "numpy", "scipy", "mpi4py", "jax", "torch"]
    assert facts["version"].startswith(f"{bandsolve.__version__}, ")
    assert facts["Python"].startswith(sys.version.split()[0])
    assert facts["numpy"][0].isdigit()


def test_report_follows_the_settings():
    facts = report(BANDSOLVE_SIMD="portable", RAYON_NUM_THREADS="1")
    assert facts["simd"] == "portable"
    assert facts["threads"] == f"1 of {os.cpu_count()} cores"


def test_report_says_why_something_is_missing():
    facts = report(BANDSOLVE_MPI_LIBRARY="/nowhere/libmpi.so", CUDA_VISIBLE_DEVICES="")
    assert facts["MPI"].startswith("none: bandsolve.mpi cannot load its library /nowhere/libmpi.so: ")
    assert facts["GPU"].startswith("none: ")


@pytest.mark.skipif("site-packages" not in FOLDER, reason="the package is not installed")
def test_installed_package_has_licenses_types_and_scipy():
    names = {path.name for path in importlib.metadata.files("bandsolve")}
    assert {"LICENSE-MIT", "LICENSE-APACHE", "py.typed", "_bandsolve.pyi", "__main__.py"} <= names
    needed = [line for line in importlib.metadata.requires("bandsolve") if "extra ==" not in line]
    assert sorted(line.split(">=")[0] for line in needed) == ["numpy", "scipy"]


def without(package, code):
    """The last line that Python prints when it runs a program that cannot import a package."""
    program = f"import sys\nsys.modules[{package!r}] = None\nsys.path.insert(0, {FOLDER!r})\nimport bandsolve\n{code}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 1
    return done.stderr.splitlines()[-1]


@pytest.mark.parametrize("package, code, how", [
    ("scipy", "bandsolve.sparse.Preconditioner([[4.0]])", "pip install scipy"),
    ("scipy", "bandsolve.eigen.eigsh([[4.0, 1.0], [1.0, 4.0]], 1)", "pip install scipy"),
    ("jax", "import bandsolve.jax", 'pip install "bandsolve[jax]"'),
])
def test_missing_packages_are_named_with_the_command_that_installs_them(package, code, how):
    message = without(package, code)
    assert message.startswith("ImportError: ") and f"`{how}`" in message
