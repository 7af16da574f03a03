"""Packages that only some functions need."""

from importlib import import_module


def scipy_module(name):
    """Import a module of SciPy by its name below ``scipy``. An error says how to install SciPy."""
    try:
        return import_module(f"scipy.{name}")
    except ImportError as error:
        raise ImportError(f"this function needs SciPy, which could not be imported: {error}. Install it with `pip install scipy`") from error
