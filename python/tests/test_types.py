"""Types: what `mypy --strict` and `pyright --strict` say about programs that use the package."""

import ast
import importlib
import importlib.util
import inspect
import pathlib
import re
import subprocess
import sys

import pytest

import bandsolve

PACKAGE = pathlib.Path(bandsolve.__file__).parent
ROOT = pathlib.Path(__file__).resolve().parents[2]

# A program of a user: every call has a type, and no type is Any.
PROGRAM = '''
import numpy as np
from numpy.typing import NDArray

import bandsolve


def step(lu: bandsolve.Factor, u: NDArray[np.float64]) -> NDArray[np.float64]:
    x: NDArray[np.float64] = lu.solve(u, out=u)
    return x


def march(n: int, steps: int) -> float:
    off, diag = np.full(n - 1, -1.0), np.full(n, 4.0)
    lu = bandsolve.factor_tridiagonal(off, diag, off, method="rpts", threads=2)
    u = np.ones(n)
    for _ in range(steps):
        u = step(lu, u)
    again, report = lu.solve_transpose(u, full_output=True)
    print(report.method.upper(), report.attention is None, lu.rcond(), lu.dtype.itemsize)
    return float(again.max())


def fields() -> None:
    off, diag, field = np.full(49, -0.5), np.full(50, 2.0), np.ones((4, 50, 6))
    new = bandsolve.solve_batch(off, diag, off, field, axis=1, overwrite_rhs=True)
    lu = bandsolve.factor_batch(off, diag, off, axis=1)
    both = lu.solve(new, transpose="conj", full_output=True)
    print(new.shape, both[0].ndim, both[1].fallback)
    ab, many = np.ones((4, 6, 3, 50)) + 3 * (np.arange(3) == 1)[:, None], np.ones((4, 6, 50))
    x, report = bandsolve.solve_banded_batch((1, 1), ab, many, out=many, full_output=True)
    print(sum(report.fallback_systems), bandsolve.factor_banded_batch((1, 1), ab).solve(x).max())
    z, report = bandsolve.solveh_banded_batch(ab[..., :2, :], many, lower=False, full_output=True)
    print(report.backward_error, bandsolve.factorh_banded_batch(ab[..., 1:, :], lower=True).solve(z).max())


def others(flag: bool) -> None:
    ab = np.array([[0.0, 1, 1], [4, 4, 4], [1, 1, 0]])
    x = bandsolve.solve_banded((1, 1), ab, [5.0, 6, 5])
    y = bandsolve.solveh_banded(ab[:2], np.ones(3))
    z, report = bandsolve.solve(np.eye(3), [1.0, 2, 3], full_output=True)
    blocks = bandsolve.solve_block_tridiagonal(np.ones((1, 1, 1)), np.full((2, 1, 1), 4.0), np.ones((1, 1, 1)), np.ones((2, 1)))
    print((x + y + z).sum(), report.backward_error, blocks.shape, bandsolve.factor(ab).shape)
    either = bandsolve.solve_tridiagonal(ab[2, :-1], ab[1], ab[0, 1:], x, full_output=flag)
    print(either[0] if isinstance(either, tuple) else either)


def more() -> None:
    a = np.diag(np.full(30, 4.0)) + np.diag(np.ones(29), 1) + np.diag(np.ones(29), -1)
    x, info = bandsolve.sparse.cg(a, np.ones(30), M="ilu0")
    y, history = bandsolve.sparse.gmres(a, np.ones(30), full_output=True)
    w, v = bandsolve.eigen.eigsh(a, 3)
    only = bandsolve.eigen.eigsh(a, 3, return_eigenvectors=False)
    print(bandsolve.eigen.eigsh(a, interval=(0.0, 5.0))[0].size, bandsolve.solve(a, np.ones(30), rtol=1e-8).size)
    low, vectors = bandsolve.eigen.eigh_tridiagonal(np.full(5, 2.0), np.full(4, -1.0))
    u, report = bandsolve.poisson.solve(np.ones((7, 7)), 0.125, full_output=True)
    spline = bandsolve.interpolate.CubicSpline([0.0, 1, 2, 3], [0.0, 1, 4, 9])
    cycle, trend = bandsolve.smooth.hodrick_prescott(np.arange(20.0))
    lower, upper, ab = bandsolve.gallery.bands(list(bandsolve.gallery.names())[0], 10)
    print(info + 1, history["converged"], v.shape, (w - only).max(), low.size, vectors.ndim, report["method"], spline(1.5), cycle + trend)
    print(x.sum() + y.sum(), u.max(), lower + upper, ab.dtype, bandsolve.poisson.Solver((7, 7)).solve(np.ones((7, 7))).shape)


march(100, 10)
fields()
others(True)
more()
'''

# A line for each mistake.
MISTAKES = '''
import numpy as np
import bandsolve

one = np.ones(3)
bandsolve.solve_tridiagonal(one[1:], one, one[1:], one, method="rtps")
bandsolve.factor_banded((1, 1), np.ones((3, 3)), pivoting="full")
bandsolve.solve_batch(one, one, one, one, padded=True, full_output=True).max()
bandsolve.factor_tridiagonal(one, one, one, padded=True).solve(one, transpose="adjoint")
'''


def stubs():
    return sorted(PACKAGE.glob("*.pyi"))


@pytest.mark.parametrize("stub", stubs(), ids=lambda stub: stub.stem)
def test_stubs_have_the_signatures_of_the_functions(stub):
    if stub.stem in ("jax", "torch"):
        pytest.importorskip(stub.stem, reason=f"{stub.stem} is not installed")
    module = importlib.import_module(f"bandsolve.{stub.stem}")
    tree = ast.parse(stub.read_text(encoding="utf-8"))
    seen = 0
    for place in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
        of = module if isinstance(place, ast.Module) else getattr(module, place.name)
        # The last of several overloads has all values of its arguments, so its signature is that of the function.
        functions = {node.name: node for node in place.body if isinstance(node, ast.FunctionDef)}
        for name, function in functions.items():
            if any(isinstance(mark, ast.Name) and mark.id in ("property", "staticmethod") for mark in function.decorator_list):
                continue
            several = filter(None, [function.args.vararg, function.args.kwarg])
            for argument in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs, *several):
                argument.annotation = None
            compiled_constructor = name == "__init__" and stub.stem == "_bandsolve"
            signature = str(inspect.signature(of if compiled_constructor else getattr(of, name)))
            signature = signature.replace("(", "(self, ", 1) if compiled_constructor else signature.replace("self, /", "self")
            signature = signature.replace("<class 'numpy.float64'>", "np.float64")
            assert signature == f"({ast.unparse(function.args)})", name
            seen += 1
    assert seen > 0


def test_names_are_those_of_the_library():
    text = (PACKAGE / "_bandsolve.pyi").read_text(encoding="utf-8")
    literals = {name: ast.literal_eval(f"({values})") for name, values in re.findall(r"^(\w+) = Literal\[(.*?)\]$", text, re.M | re.S)}
    assert list(literals["Method"]) == bandsolve.methods()
    for name in literals["Pivoting"]:
        bandsolve.factor_tridiagonal([1.0], [4.0, 4.0], [1.0], pivoting=name)
    with pytest.raises(ValueError, match=", ".join(sorted(literals["Pivoting"]))):
        bandsolve.factor_tridiagonal([1.0], [4.0, 4.0], [1.0], pivoting="full")


# The type checkers that are installed, which find installed packages only. `python/test.sh` installs mypy and the package.
TOOLS = [tool for tool in ("mypy", "pyright") if importlib.util.find_spec(tool) and "site-packages" in PACKAGE.parts]


def checked(tool, folder):
    """Lines of a type checker about the files of a folder: errors by file and line."""
    options = ["--strict"] if tool == "mypy" else ["--pythonpath", sys.executable]
    done = subprocess.run([sys.executable, "-m", tool, *options, folder], capture_output=True, text=True)
    wrong = re.findall(r"(\w+)\.py:(\d+):(?:\d+)?(?: -)? error: (.*)", done.stdout)
    assert (done.returncode == 0) == (not wrong), done.stdout + done.stderr
    return {(name, int(line)): message for name, line, message in wrong}


@pytest.mark.parametrize("tool", TOOLS)
def test_strict_type_checkers_accept_programs(tool, tmp_path):
    (tmp_path / "program.py").write_text(("# pyright: strict\n" if tool == "pyright" else "") + PROGRAM, encoding="utf-8")
    for name in ["README.md", "docs/getting-started.md"]:
        blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / name).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        (tmp_path / f"{pathlib.Path(name).stem.replace('-', '_')}.py").write_text("\n".join(blocks), encoding="utf-8")
    assert checked(tool, tmp_path) == {}
    exec(compile(PROGRAM, "program", "exec"), {})


# A program of a user of each package that only one module needs, and a line with a mistake.
PACKAGES = {
    "jax": '''
import jax
import jax.numpy as jnp
from bandsolve.jax import solve_banded, solve_block_tridiagonal, solve_poisson, solve_tridiagonal

off, diag = jnp.ones(2), jnp.full(3, 4.0)
x: jax.Array = solve_tridiagonal(off, diag, off, jnp.array([5.0, 6, 5]), padded=False)
y: jax.Array = solve_banded((0, 0), diag[None], x) + solve_block_tridiagonal(jnp.ones((2, 1, 1)), diag[:, None, None], jnp.ones((2, 1, 1)), x[:, None])[:, 0]
u: jax.Array = solve_poisson(jnp.ones((2, 3)), 0.5, ("neumann", ("dirichlet", x[:2])), ndim=2, method="fft")
solve_poisson(x, method="ftf")
''',
    "torch": '''
import torch
from bandsolve.torch import solve_banded, solve_block_tridiagonal, solve_poisson, solve_tridiagonal

off, diag = torch.ones(2), torch.full((3,), 4.0)
x: torch.Tensor = solve_tridiagonal(off, diag, off, [5.0, 6, 5], padded=False)
y: torch.Tensor = solve_banded((0, 0), diag[None], x) + solve_block_tridiagonal(off[:, None, None], diag[:, None, None], off[:, None, None], x[:, None])[:, 0]
u: torch.Tensor = solve_poisson(torch.ones(2, 3), 0.5, ("neumann", ("dirichlet", x[:2])), ndim=2, method="fft")
solve_poisson(x, method="ftf")
''',
    "mpi4py": '''
import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from bandsolve.mpi import Blocks, PoissonSlabs, eigsh, solve_batch, solve_tridiagonal

off, diag = np.full(5, -1.0), np.full(5, 4.0)
a = Blocks(MPI.COMM_WORLD, off, diag, off, dtype=np.float64)
x, report = a.factor().solve(diag, transpose="H", full_output=True)
y = solve_tridiagonal(MPI.COMM_WORLD, off, diag, off, x, periodic=True) + a @ x
w, v, info = eigsh(a, 2, full_output=True)
print(report.backward_error + 1, y.sum(), w.max(), v.shape, info["complete"], eigsh(a, return_eigenvectors=False).size)
u: NDArray[np.float64] = PoissonSlabs(MPI.COMM_WORLD, (5, 6)).solve(np.ones((5, 6)))
print(u, solve_batch(MPI.COMM_WORLD, off, diag, off, x, axis=0)[0])
a.factor().solve(diag, transpose="conj")
''',
}


@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_know_the_modules_of_other_packages(tool, package, tmp_path):
    pytest.importorskip(package, reason=f"{package} is not installed")
    (tmp_path / "program.py").write_text(PACKAGES[package], encoding="utf-8")
    last = len(PACKAGES[package].splitlines())
    assert {line for _, line in checked(tool, tmp_path)} == {last}


# A program that keeps its arrays on a GPU, and a line with a mistake.
ON_GPU = '''
import numpy as np
import bandsolve
from bandsolve import gpu, poisson, sparse

off, diag, rhs = (gpu.asarray(np.ones(4), device="cuda", order="F") for _ in range(3))
x: gpu.DeviceArray = bandsolve.solve_tridiagonal(off, diag, off, rhs, padded=True)
y, report = bandsolve.solve_batch(off, diag, off, rhs, padded=True, full_output=True)
lu: gpu.DeviceFactor = bandsolve.factor_tridiagonal(off, diag, off, padded=True)
z: gpu.DeviceArray = lu.solve(x, out=y, verify="deferred")
print(lu.check() + 1, z.numpy().sum(), report.backward_error, lu.solve(z, full_output=True)[1].method)
w: gpu.DeviceArray = gpu.factor_tridiagonal(off, diag, off, stream=7).solve(rhs)
a: gpu.DeviceCsr = gpu.ascsr(np.eye(4), device="cuda")
v: gpu.DeviceArray = sparse.cg(a, a @ w, M=sparse.Preconditioner(a, "jacobi"))[0]
print(sparse.Preconditioner(a).apply(v).shape, poisson.solve(v, full_output=True)[0].numpy(), poisson.Solver(4, device="cuda").solve(v).strides)
lu.solve(w, verify="later")
'''


@pytest.mark.parametrize("tool", TOOLS)
def test_type_checkers_know_arrays_on_a_gpu(tool, tmp_path):
    (tmp_path / "program.py").write_text(ON_GPU, encoding="utf-8")
    assert {line for _, line in checked(tool, tmp_path)} == {len(ON_GPU.splitlines())}


@pytest.mark.parametrize("tool", TOOLS)
def test_type_checkers_find_mistakes(tool, tmp_path):
    (tmp_path / "mistakes.py").write_text(MISTAKES, encoding="utf-8")
    lines = [number for number, line in enumerate(MISTAKES.splitlines(), 1) if line.startswith("bandsolve.")]
    found = checked(tool, tmp_path)
    assert sorted({line for _, line in found}) == lines, found


def test_the_package_is_typed():
    assert (PACKAGE / "py.typed").exists()
