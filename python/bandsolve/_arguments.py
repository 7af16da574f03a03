"""Check arguments: whole numbers, and seeds of random numbers."""

import numpy as np

_MOST = (1 << 63) - 1


def whole_number(name, value, least):
    """Return the value as an int. It must be a whole number of at least `least` that the compiled part can represent."""
    try:
        number = int(value)
        whole = not isinstance(value, str) and number == value and number >= least
    except (TypeError, ValueError, OverflowError):
        whole = False
    if not whole:
        raise ValueError(f"{name} is {value!r}, expected a whole number of at least {least}")
    if number > _MOST:
        shown = value if number < 10**40 else "a number of more than 40 digits"
        raise ValueError(f"{name} is {shown}, expected a whole number from {least} to {_MOST}")
    return number


def seed_of(rng, seed):
    """Return the seed that `rng`, a generator or a whole number, or its alias `seed` gives. The default is 0."""
    if rng is not None and seed is not None:
        raise TypeError("rng and seed are both given, expected at most one of them. Omit seed, which is an alias of rng.")
    if isinstance(rng, np.random.Generator):
        return int(rng.integers(1 << 62))
    if rng is not None:
        return whole_number("rng", rng, 0)
    return 0 if seed is None else whole_number("seed", seed, 0)
