"""What the tests measure with: no answer that is not a number passes."""

import numpy as np
import pytest
from conftest import backward_error


def test_backward_errors_by_hand():
    a = np.array([[2.0, 1], [1, 2]])
    # [2 1; 1 2]·(1, 1) = (3, 3); rhs (3, 4): row 1 is off by 1 of 3 + 4.
    assert backward_error(a, [1, 1], [3, 4]) == 1 / 7
    assert backward_error(a, [1, 1], [3, 3]) == 0
    assert backward_error(a, [0, 0], [0, 0]) == 0
    # The second right-hand side counts, too.
    assert backward_error(a, [[1, 0], [1, 0]], [[3, 0], [3, 1]]) == 1
    assert backward_error(np.empty((0, 0)), [], []) == 0 and backward_error(a, np.empty((2, 0)), np.empty((2, 0))) == 0


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1j * np.nan])
def test_what_is_not_finite_passes_nowhere(bad):
    a, x, rhs = np.array([[2.0, 1], [1, 2]], complex), np.ones(2, complex), np.full(2, 3.0 + 0j)
    for array, at in [(x, 0), (x, 1), (rhs, 1), (a, (0, 0))]:
        before, array[at] = array[at], bad
        assert not backward_error(a, x, rhs) <= 1e300
        array[at] = before
    assert backward_error(a, x, rhs) == 0
