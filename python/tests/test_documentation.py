"""Examples of docstrings and of the documentation run, and every name has a docstring with what it needs."""

import ast
import doctest
import importlib.util
import inspect
import pathlib
import pkgutil
import re
import subprocess
import sys

import numpy as np
import pytest

import bandsolve

MODULES = ["bandsolve"] + [f"bandsolve.{module.name}" for module in pkgutil.iter_modules(bandsolve.__path__) if module.name != "_bandsolve"]


def run(test):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.summarize().failed == 0


# The examples of `bandsolve.mpi` need a job of MPI: test_mpi.py runs them. Those of `bandsolve.gpu` need a GPU: test_gpu_arrays.py runs them.
@pytest.mark.parametrize("name", [name for name in MODULES if name not in ("bandsolve.mpi", "bandsolve.gpu")])
def test_examples_of_modules(name):
    if name in ("bandsolve.jax", "bandsolve.torch"):
        package = name.partition(".")[2]
        pytest.importorskip(package, reason=f"{package} is not installed")
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        run(test)


# Classes whose examples need a GPU: `bandsolve.gpu` has them, too.
ON_GPU = ("DeviceArray", "DeviceCsr", "DeviceFactor")
COMPILED = [name for name in dir(bandsolve._bandsolve) if not name.startswith("_") and name not in ON_GPU]


@pytest.mark.parametrize("name", COMPILED)
def test_examples_of_the_compiled_part(name):
    item = getattr(bandsolve._bandsolve, name)
    run(doctest.DocTestParser().get_doctest(item.__doc__ or "", {}, name, None, 0))


@pytest.mark.parametrize("name", [name for name in bandsolve.__all__ if not inspect.ismodule(getattr(bandsolve, name))])
def test_everything_has_a_docstring(name):
    item = getattr(bandsolve, name)
    assert item.__doc__
    if name.startswith(("solve", "factor")):
        for word in ("Parameters\n", "Returns\n", "Examples\n", "array_like", ">>> "):
            assert word in item.__doc__ or word == "array_like", (name, word)
    signature = inspect.signature(item) if not inspect.isclass(item) else None
    assert signature is None or name in ("get_num_threads", "methods") or signature.parameters


# The README and docs/ lie where they do in the project, two folders up; `python/test.sh` copies them along.
ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(str(page.relative_to(ROOT)) for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]
               if "\n```python\n" in page.read_text(encoding="utf-8"))


def test_pages_are_found():
    assert {"README.md", "docs/getting-started.md"} <= set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_examples_of_pages(name):
    pytest.importorskip("scipy")
    if "matplotlib" in (ROOT / name).read_text(encoding="utf-8"):
        pytest.importorskip("matplotlib")
    done = subprocess.run([sys.executable, ROOT / "docs" / "run.py", ROOT / name], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    code = "\n".join(re.findall(r"^```python\n(.*?)^```$", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE))
    left_out = [package for package in ("jax", "torch") if f"\nimport {package}\n" in f"\n{code}" and importlib.util.find_spec(package) is None]
    if left_out:
        pytest.skip(f"the examples of {name} that need {' and '.join(left_out)} did not run: not installed")


@pytest.mark.parametrize("name", ["README.md", "docs/index.md", "docs/getting-started.md"])
def test_first_examples_need_numpy_alone(name):
    # SciPy cannot be imported in the process, as if it were not installed.
    text = (ROOT / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert blocks
    folder = str(pathlib.Path(bandsolve.__file__).resolve().parents[1])
    for block in blocks:
        code = f"import sys\nsys.modules['scipy'] = None\nsys.path.insert(0, {folder!r})\n{block}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


def test_the_table_of_preconditioners_is_made(tmp_path):
    io = pytest.importorskip("scipy.io")
    sparse = pytest.importorskip("scipy.sparse")
    io.mmwrite(tmp_path / "line.mtx", sparse.diags_array([-1.0, 4.0, -1.0], offsets=[-1, 0, 1], shape=(30, 30)))
    io.mmwrite(tmp_path / "swap.mtx", sparse.coo_array(np.eye(4)[::-1]))
    said = subprocess.run([sys.executable, ROOT / "docs" / "sparse_table.py", tmp_path], capture_output=True, text=True, check=True).stdout
    table = [row.split(" | ") for row in said.splitlines()]
    assert table[0][1:] == ["line, n = 30", "swap, n = 4 |"] and len(table) > 20 and {len(row) for row in table} == {3}
    rows = {row[0]: row[1:] for row in table}
    assert rows["| `ilu0`"][0].startswith("1: ") and "no pivot in row 0" in rows["| `jacobi`"][1]
