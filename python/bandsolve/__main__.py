"""``python -m bandsolve``: print the version and what bandsolve finds on this machine, for bug reports."""

import importlib.metadata
import os
import platform

import bandsolve
import bandsolve.mpi
from bandsolve import _bandsolve

# A program, not a part of the library.
__all__ = ()

# The packages that bandsolve needs, and those of its extras.
PACKAGES = ("numpy", "scipy", "mpi4py", "jax", "torch")


def gpu():
    """Say whether systems can be solved on a GPU. If not, give the reason."""
    try:
        bandsolve.factor_tridiagonal([1.0], [4.0, 4.0], [1.0], device="cuda")
    except RuntimeError as error:
        return f"none: {str(error).removeprefix('no GPU: ')}"
    return 'found: `device="cuda"` uses it'


def mpi():
    """Return the path of the library that `bandsolve.mpi` calls. If there is none, give the reason."""
    try:
        return bandsolve.mpi._library()._name
    except ImportError as error:
        return f"none: {str(error).splitlines()[0]}"


def version(package):
    """Return the version of an installed package."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none: not installed"


def facts():
    """Return the lines of the report: names and values. The names are those of the command `bandsolve doctor`."""
    return {
        "version": f"{bandsolve.__version__}, {os.path.dirname(bandsolve.__file__)}",
        "Python": f"{platform.python_version()}, {platform.platform()}",
        "machine": platform.machine(),
        "simd": _bandsolve.instruction_set(),
        "threads": f"{bandsolve.get_num_threads()} of {os.cpu_count()} cores",
        "GPU": gpu(),
        "MPI": mpi(),
        **{package: version(package) for package in PACKAGES},
    }


def main():
    lines = facts()
    width = max(map(len, lines))
    for name, fact in lines.items():
        print(f"  {name:{width}}  {fact}")


if __name__ == "__main__":
    main()
