"""Interpolate with cubic splines, open or periodic."""

import numpy as np

from bandsolve import _bandsolve
from bandsolve._bandsolve import as_array
from bandsolve._labels import axis_number, keeps_labels_of
from bandsolve._batch import first_not_finite
from bandsolve._optional import scipy_module

__all__ = ["CubicSpline"]


class CubicSpline:
    """Interpolate data with a cubic spline: a drop-in replacement for `scipy.interpolate.CubicSpline`.

    The spline passes through all points (x[i], y[i]). It is a cubic polynomial between two knots, and has two continuous derivatives.

    Parameters
    ----------
    x : (n,) array_like
        Knots in increasing order, at least two.
    y : array_like
        Values at the knots: n along `axis`, real or complex, with any number of other axes.
    axis : int or str, default 0
        The axis of `y` that belongs to `x`; the name of a dimension if `y` is a DataArray of xarray.
    bc_type : str or pair, default "not-a-knot"
        Condition at both ends. "not-a-knot": the third derivative is continuous at the second and the last but one knot. "natural": the second
        derivative is 0. "clamped": the first derivative is 0. "periodic": values and two derivatives agree at both ends, and the first and the last
        value of `y` must be equal. A pair gives one condition for each end: a name other than "periodic", or ``(order, value)`` with the value of
        the first or second derivative.
    extrapolate : bool or "periodic", optional
        What the spline returns outside the knots. True: the first and the last polynomial. False: NaN. "periodic": the periodic continuation.
        Default: "periodic" for a periodic spline, else True.

    Attributes
    ----------
    x : (n,) ndarray
        The knots.
    c : (4, n - 1, ...) ndarray
        Coefficients: the spline is ``sum(c[k, i] * (t - x[i])**(3 - k) for k in range(4))`` between ``x[i]`` and ``x[i+1]``.
    axis : int
        The axis of the values.
    extrapolate : bool or "periodic"
        What the spline returns outside the knots.

    Raises
    ------
    ValueError
        The shapes do not fit together, `x` does not increase, a number is NaN or infinite, or `bc_type` is unknown.
    TypeError
        `y` does not hold numbers.

    See Also
    --------
    - `bandsolve.smooth.whittaker`: smooth noisy values instead of passing through them.

    Notes
    -----
    **Equations.** With h[i] = x[i+1] - x[i] and m[i] = (y[i+1] - y[i]) / h[i], the slopes s at the knots solve the tridiagonal system

    ```text
    h[i] s[i-1] + 2 (h[i-1] + h[i]) s[i] + h[i-1] s[i+1] = 3 (h[i] m[i-1] + h[i-1] m[i]).
    ```

    **Cost.** One tridiagonal solve for all values together, and a dozen passes over arrays of the size of `y`. The solver verifies the slopes, and
    uses the threads that `bandsolve.set_num_threads` sets.

    **Without SciPy.** Only `derivative`, `antiderivative`, `solve` and `roots` need SciPy.

    Examples
    --------
    >>> import numpy as np
    >>> from bandsolve.interpolate import CubicSpline
    >>> x = np.linspace(0, 2 * np.pi, 101)
    >>> y = np.sin(x)
    >>> y[-1] = y[0]
    >>> spline = CubicSpline(x, y, bc_type="periodic")
    >>> print(np.round([spline(1.0), spline(1.0, 1), spline.integrate(0, np.pi)], 5))
    [0.84147 0.5403  2.     ]
    >>> print(np.round([np.sin(1.0), np.cos(1.0), 2.0], 5))
    [0.84147 0.5403  2.     ]
    """

    def __init__(self, x, y, axis=0, bc_type="not-a-knot", extrapolate=None):
        if np.iscomplexobj(x):
            raise ValueError("x is complex, expected real numbers")
        axis = axis_number(axis, y, "y")
        x, y = np.array(as_array(x), dtype=float), as_array(y)
        if y.dtype.kind not in "fciub":
            raise TypeError(f"y has the type {y.dtype}, expected numbers")
        if y.ndim == 0:
            raise ValueError("y has no axis: it is a single number, expected one value for each knot")
        kind = complex if y.dtype.kind == "c" else float
        self.axis = axis % y.ndim
        y = np.moveaxis(y.astype(kind, copy=False), self.axis, 0)
        n = len(x) if x.ndim == 1 else 0
        if n < 2:
            raise ValueError(f"x has the shape {x.shape}, expected one dimension and at least two knots")
        if y.shape[0] != n:
            raise ValueError(f"y has {y.shape[0]} values along axis {axis}, expected {n}, one for each knot")
        for name, values in (("x", x), ("y", np.moveaxis(y, 0, self.axis))):
            place = first_not_finite(values)
            if place is not None:
                raise ValueError(f"{name}[{place}] is not finite")
        falls = np.diff(x) <= 0
        if falls.any():
            i = falls.argmax()
            raise ValueError(f"x does not increase: x[{i}] is {x[i]} and x[{i + 1}] is {x[i + 1]}. Sort the knots, and remove duplicates")
        periodic = isinstance(bc_type, str) and bc_type == "periodic"
        if periodic and not np.allclose(y[0], y[-1], rtol=1e-15, atol=1e-15):
            raise ValueError("the first and the last value of y differ, and are expected to be equal with bc_type='periodic'")
        self.x = x
        self.extrapolate = ("periodic" if periodic else True) if extrapolate is None else extrapolate
        h = np.diff(x).reshape([n - 1] + [1] * (y.ndim - 1))
        m = np.diff(y, axis=0) / h
        flat = m.reshape(n - 1, -1)
        s = _periodic_slopes(h.ravel(), flat) if periodic else _slopes(h.ravel(), flat, _ends(bc_type, y), x)
        s = s.reshape(y.shape)
        # t = (s[i] + s[i+1] - 2 m) / h, and the coefficients t / h, (m - s[i]) / h - t, s[i], y[i]
        self.c = np.empty((4, *m.shape), np.result_type(s, y))
        self.c[2], self.c[3] = s[:-1], y[:-1]
        t = np.add(s[:-1], s[1:], out=self.c[0])
        t -= 2 * m
        t /= h
        np.subtract(m, s[:-1], out=self.c[1])
        self.c[1] /= h
        self.c[1] -= t
        t /= h

    @keeps_labels_of("t")
    def __call__(self, t, nu=0, extrapolate=None):
        """Evaluate the spline or one of its derivatives.

        Parameters
        ----------
        t : array_like
            Points at which to evaluate, real.
        nu : int, default 0
            Order of the derivative.
        extrapolate : bool or "periodic", optional
            Overrides `extrapolate` of the spline.

        Returns
        -------
        ndarray
            The shape of `y`, with the shape of `t` in place of the axis of the values.

        Raises
        ------
        ValueError
            `nu` is negative or no whole number, or `t` is complex or does not hold numbers.

        Notes
        -----
        For many points, all threads share the work. The values are the same for any number of threads.

        See Also
        --------
        - `bandsolve.interpolate.CubicSpline.derivative`: the derivative as a function.
        """
        if nu < 0 or nu != int(nu):
            raise ValueError(f"nu is {nu}, expected 0, 1, 2, ...")
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        outside = "periodic" if extrapolate == "periodic" else "polynomial" if extrapolate else "nan"
        t = t if type(t) is np.ndarray else np.array(t) if type(t) in (float, int) else as_array(t)
        if t.dtype.kind not in "fiubc":
            t = t.astype(float)
        # All derivatives beyond the third are zero.
        value = _bandsolve.spline_values(self.x, self.c, t, min(int(nu), 4), outside)
        if self.c.ndim == 2:
            return value if t.ndim == 1 else value.reshape(t.shape)
        value = value.reshape(t.shape + self.c.shape[2:])
        # The axes of t replace the axis of the values.
        order = list(range(t.ndim, t.ndim + self.axis)) + list(range(t.ndim))
        return value.transpose(order + list(range(t.ndim + self.axis, value.ndim)))

    def _piece(self, at):
        return np.clip(np.searchsorted(self.x, at, side="right") - 1, 0, len(self.x) - 2)

    def integrate(self, a, b, extrapolate=None):
        """Integrate the spline from `a` to `b`.

        Parameters
        ----------
        a : float
            Lower limit.
        b : float
            Upper limit. It may be less than `a`.
        extrapolate : bool or "periodic", optional
            Overrides `extrapolate` of the spline.

        Returns
        -------
        ndarray
            The integrals: the shape of `y` without the axis of the values.

        See Also
        --------
        - `bandsolve.interpolate.CubicSpline.antiderivative`: the integral as a function.

        Examples
        --------
        >>> import numpy as np
        >>> from bandsolve.interpolate import CubicSpline
        >>> x = np.linspace(0, 3, 30)
        >>> print(round(float(CubicSpline(x, x**3).integrate(1, 3)), 9))
        20.0
        """
        extrapolate = self.extrapolate if extrapolate is None else extrapolate
        begin, end = self.x[0], self.x[-1]
        sign, low, high = (1, a, b) if a <= b else (-1, b, a)
        if extrapolate == "periodic":
            periods, rest = divmod(high - low, end - begin)
            low = begin + (low - begin) % (end - begin)
            beyond = max(low + rest - end, 0.0)
            parts = self._integral(low, low + rest - beyond) + self._integral(begin, begin + beyond)
            return sign * (periods * self._integral(begin, end) + parts)
        if not extrapolate and not begin <= low <= high <= end:
            return np.full(self.c.shape[2:], np.nan, self.c.dtype)
        return sign * self._integral(low, high)

    def _integral(self, low, high):
        knots = np.concatenate([[low], self.x[(self.x > low) & (self.x < high)], [high]])
        piece = self._piece(knots[:-1])
        ends = [(t - self.x[piece]).reshape([-1] + [1] * (self.c.ndim - 2)) for t in (knots[:-1], knots[1:])]
        powers = [sum(self.c[k, piece] * d ** (4 - k) / (4 - k) for k in range(4)) for d in ends]
        return (powers[1] - powers[0]).sum(axis=0)

    def derivative(self, nu=1):
        """Return the derivative as a `scipy.interpolate.PPoly`.

        Parameters
        ----------
        nu : int, default 1
            Order of the derivative. A negative order gives an antiderivative.

        Returns
        -------
        scipy.interpolate.PPoly
            A piecewise polynomial, which is a function.

        See Also
        --------
        - ``spline(t, nu)``: values of the derivative, without SciPy.
        - `bandsolve.interpolate.CubicSpline.antiderivative`: the integral as a function.
        """
        return self._polynomial().derivative(nu)

    def antiderivative(self, nu=1):
        """Return the antiderivative as a `scipy.interpolate.PPoly`.

        Parameters
        ----------
        nu : int, default 1
            Order of the antiderivative. A negative order gives a derivative.

        Returns
        -------
        scipy.interpolate.PPoly
            A piecewise polynomial, which is a function.

        See Also
        --------
        - `bandsolve.interpolate.CubicSpline.integrate`: the integral between two points, without SciPy.
        - `bandsolve.interpolate.CubicSpline.derivative`: the derivative as a function.
        """
        return self._polynomial().antiderivative(nu)

    def solve(self, y=0.0, discontinuity=True, extrapolate=None):
        """Find all points at which a real spline has the value `y`, as `scipy.interpolate.PPoly.solve` does.

        Parameters
        ----------
        y : float, default 0.0
            The value.
        discontinuity : bool, default True
            For compatibility: a cubic spline has no discontinuities.
        extrapolate : bool or "periodic", optional
            Overrides `extrapolate` of the spline.

        Returns
        -------
        ndarray
            The points in increasing order. For splines with several values at a point, an array of objects, with an array for each.

        See Also
        --------
        - `bandsolve.interpolate.CubicSpline.roots`: the points at which the spline is zero.

        Examples
        --------
        >>> import numpy as np
        >>> from bandsolve.interpolate import CubicSpline
        >>> x = np.arange(5.0)
        >>> print(np.round(CubicSpline(x, x**2).solve(2.25, extrapolate=False), 9))
        [1.5]
        """
        return self._polynomial().solve(y, discontinuity, extrapolate)

    def roots(self, discontinuity=True, extrapolate=None):
        """Find all points at which a real spline is zero: the same as ``solve(0)``.

        Parameters
        ----------
        discontinuity : bool, default True
            For compatibility: a cubic spline has no discontinuities.
        extrapolate : bool or "periodic", optional
            Overrides `extrapolate` of the spline.

        Returns
        -------
        ndarray
            The points, see `solve`.

        See Also
        --------
        - `bandsolve.interpolate.CubicSpline.solve`: the points at which the spline has another value.
        """
        return self.solve(0.0, discontinuity, extrapolate)

    def _polynomial(self):
        return scipy_module("interpolate").PPoly.construct_fast(self.c, self.x, self.extrapolate, self.axis)


def _ends(bc_type, y):
    """Return the conditions at both ends."""
    both = (bc_type, bc_type) if isinstance(bc_type, str) else tuple(bc_type)
    if len(both) != 2:
        raise ValueError(f"bc_type is {bc_type!r}, expected a name, or a pair with one condition for each end")
    return [_end(condition, y.shape[1:]) for condition in both]


def _end(condition, shape):
    """Return the condition at one end: None for not-a-knot, else the order of a derivative and its values."""
    named = {"not-a-knot": None, "natural": (2, 0.0), "clamped": (1, 0.0)}
    if isinstance(condition, str):
        if condition not in named:
            raise ValueError(f"bc_type {condition!r} is unknown, expected 'not-a-knot', 'natural', 'clamped', or 'periodic' for both ends")
        condition = named[condition]
        if condition is None:
            return None
    try:
        order, value = condition
    except (TypeError, ValueError):
        raise ValueError(f"bc_type has {condition!r} for an end, expected a name or (order, value)") from None
    if order not in (1, 2):
        raise ValueError(f"bc_type has a derivative of order {order} for an end, expected 1 or 2")
    if not np.isfinite(value).all():
        raise ValueError(f"bc_type has the value {value} for an end, expected finite numbers")
    return order, np.broadcast_to(value, shape).reshape(-1)


def _slopes(h, m, ends, x):
    n = len(x)
    first, last = ends
    if n == 2:
        first, last = first or (1, m[0]), last or (1, m[0])
    if n == 3 and first is None and last is None:
        # One parabola passes through three points.
        curvature = (m[1] - m[0]) / (x[2] - x[0])
        return np.array([m[0] - h[0] * curvature, m[0] + h[0] * curvature, m[1] + h[1] * curvature])
    values = [condition[1] for condition in (first, last) if condition]
    rhs = np.empty((n, m.shape[1]), np.result_type(m, *values), order="F")
    sub, diag, sup = np.zeros(n), np.empty(n), np.zeros(n)
    sub[1:-1], diag[1:-1], sup[1:-1] = h[1:], 2 * (h[:-1] + h[1:]), h[:-1]
    rhs[1:-1] = 3 * (h[1:, None] * m[:-1] + h[:-1, None] * m[1:])
    diag[0], sup[0], rhs[0] = _end_row(first, h[:2], m[:2], 1)
    diag[-1], sub[-1], rhs[-1] = _end_row(last, h[::-1][:2], m[::-1][:2], -1)
    return _solved(sub[1:], diag, sup[:-1], rhs)


def _end_row(condition, h, m, side):
    """Return the row of an end: its own coefficient, that of its neighbour, and the right-hand side."""
    if condition is None:
        both = h[0] + h[1]
        return h[1], both, ((h[0] + 2 * both) * h[1] * m[0] + h[0] ** 2 * m[1]) / both
    order, value = condition
    if order == 1:
        return 1.0, 0.0, value
    return 2 * h[0], h[0], 3 * h[0] * m[0] - side * 0.5 * value * h[0] ** 2


def _solved(sub, diag, sup, rhs, **options):
    """Solve for the slopes."""
    try:
        return _bandsolve.solve_tridiagonal(sub, diag, sup, rhs, **options)
    except ValueError:
        # x and y are finite, so their quotients and products are not.
        message = "x or y is so large that the equations of the slopes are beyond the range of double precision. Scale x or y"
        raise ValueError(message) from None


def _periodic_slopes(h, m):
    n = len(h)
    if n < 3:
        # Two pieces are one parabola each, with the same slope at both knots. One piece is a constant.
        s = (m / h[:, None]).sum(axis=0) / (1 / h).sum()
        return np.repeat(s[None], n + 1, axis=0)
    before, m_before = np.roll(h, 1), np.roll(m, 1, axis=0)
    rhs = 3 * (h[:, None] * m_before + before[:, None] * m)
    s = _solved(h, 2 * (before + h), before, rhs, periodic=True)
    return np.concatenate([s, s[:1]])
