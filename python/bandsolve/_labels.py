"""Labels of arrays: functions that get a Series or DataFrame of pandas, or a DataArray of xarray, return x with the same labels."""

import functools
import inspect
import sys

import numpy as np


def _classes(module, *names):
    """Return classes of a module, or nothing if the program has not imported it: then no object is of these classes."""
    module = sys.modules.get(module)
    return tuple(filter(None, (getattr(module, name, None) for name in names)))


def _labelled(given, x):
    """Return an array with the labels of an argument, if it has labels and the same shape."""
    if not isinstance(x, np.ndarray) or np.shape(given) != x.shape:
        return x
    if isinstance(given, _classes("pandas", "Series")):
        return sys.modules["pandas"].Series(x, index=given.index, name=given.name)
    if isinstance(given, _classes("pandas", "DataFrame")):
        return sys.modules["pandas"].DataFrame(x, index=given.index, columns=given.columns)
    if isinstance(given, _classes("xarray", "DataArray")):
        return sys.modules["xarray"].DataArray(x, coords=given.coords, dims=given.dims, name=given.name)
    return x


def restored(given, answer):
    """Return the answer of a function, an array or a tuple that begins with arrays, with the labels of an argument."""
    if isinstance(given, (np.ndarray, list, tuple, float, int)):
        return answer
    return tuple(_labelled(given, x) for x in answer) if isinstance(answer, tuple) else _labelled(given, answer)


def keeps_labels_of(name):
    """Decorate a function so that arrays it returns get the labels of the argument `name`. What it writes to `out` has none."""

    def decorate(function):
        place = list(inspect.signature(function).parameters).index(name)

        @functools.wraps(function)
        def call(*arguments, **options):
            answer = function(*arguments, **options)
            given = arguments[place] if place < len(arguments) else options.get(name)
            return answer if options.get("out") is not None else restored(given, answer)

        return call

    return decorate


def axis_number(axis, array, name):
    """Return the number of an axis, which may be the name of a dimension of a DataArray."""
    if not isinstance(axis, str):
        return axis
    if not isinstance(array, _classes("xarray", "DataArray")):
        raise ValueError(f"axis is {axis!r}, expected a number: {name} is no DataArray of xarray, so that its axes have no names")
    if axis not in array.dims:
        raise ValueError(f"axis is {axis!r}, expected a number or one of {', '.join(map(repr, array.dims))}, the dimensions of {name}")
    return array.dims.index(axis)


def dimensions(array):
    """Return the names of the dimensions of a DataArray, as a list; an empty list for other arrays."""
    return list(array.dims) if isinstance(array, _classes("xarray", "DataArray")) else []
