"""Packages that only some functions need."""

from importlib import import_module


def scipy_module(name):
    """Import a module of SciPy by its name below ``scipy``. An error says how to install SciPy."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        raise ImportError(f"this function needs SciPy, which could not be imported: {error}. Install it with `pip install scipy`") from error


def missing(extra, error):
    """Return the error for a package that cannot be imported and that an extra of the same name installs."""
    how = f'Install it with `pip install "bandsolve[{extra}]"`'
    return ImportError(f"bandsolve.{extra} needs the package {extra}, which could not be imported: {error}. {how}")
