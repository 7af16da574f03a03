"""The price of a European put, by Crank and Nicolson.

    V_t + s**2 S**2 V_SS / 2 + r S V_S - r V = 0,  V = max(K - S, 0) at expiry.

All strikes are solved for together: they are right-hand sides of one matrix, whose factors serve every step. The kink at the
strike is smoothed by four implicit half steps first (Rannacher).
"""

import sys
from math import erf, exp, log, sqrt

import numpy as np

import bandsolve

RATE, VOLATILITY, EXPIRY = 0.05, 0.2, 1.0


def prices(strikes, n=2000, steps=400, highest=400.0):
    """Prices for every strike at stock prices from 0 to `highest`."""
    s = np.linspace(0, highest, n + 1)
    k = np.arange(1, n)
    variance, drift = VOLATILITY**2 * k**2 / 2, RATE * k / 2
    sub, diag, sup = variance - drift, -2 * variance - RATE, variance + drift
    v = np.maximum(strikes - s[:, None], 0)
    dt, left = EXPIRY / steps, EXPIRY
    # Implicit half steps first, then whole ones by Crank and Nicolson.
    for count, length, weight in ((4, dt / 2, 1.0), (steps - 2, dt, 0.5)):
        matrix = bandsolve.factor_tridiagonal(-weight * length * sub[1:], 1 - weight * length * diag, -weight * length * sup[:-1])
        for _ in range(count):
            left -= length
            edge = strikes * exp(-RATE * (EXPIRY - left))
            rhs = v[1:-1] + (1 - weight) * length * (sub[:, None] * v[:-2] + diag[:, None] * v[1:-1] + sup[:, None] * v[2:])
            rhs[0] += weight * length * sub[0] * edge
            v[1:-1], v[0] = matrix.solve(rhs), edge
    return s, v


def exact(s, strike):
    """The formula of Black and Scholes."""
    normal = lambda d: (1 + erf(d / sqrt(2))) / 2
    d = (log(s / strike) + (RATE + VOLATILITY**2 / 2) * EXPIRY) / (VOLATILITY * sqrt(EXPIRY))
    return strike * exp(-RATE * EXPIRY) * normal(VOLATILITY * sqrt(EXPIRY) - d) - s * normal(-d)


def main(picture=None):
    strikes = np.array([80.0, 100.0, 120.0])
    s, v = prices(strikes)
    inside = (s > 40) & (s < 200)
    true = np.array([[exact(price, strike) for strike in strikes] for price in s[inside]])
    error = abs(v[inside] - true).max()
    print(f"Black-Scholes, 2000 prices, 400 steps, 3 strikes: largest error {error:.1e}")
    assert error < 2e-3
    if picture:
        from pictures import subplots

        figure, axis = subplots(figsize=(6, 3.6))
        for column, strike in enumerate(strikes):
            axis.plot(s[inside], v[inside, column], label=f"strike {strike:.0f}")
        axis.set(xlabel="stock price", ylabel="price of the put")
        axis.legend()
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
