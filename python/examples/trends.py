"""A series split into trend and cycle (Hodrick and Prescott), and a gap in another one filled (Whittaker)."""

import sys

import numpy as np

from bandsolve.smooth import hodrick_prescott, whittaker


def main(picture=None):
    rng = np.random.default_rng(4)
    quarters = np.arange(160)
    growth = 0.6 * quarters + 0.002 * quarters**2
    series = growth + 6 * np.sin(2 * np.pi * quarters / 22) + rng.normal(0, 1.5, 160)
    cycle, trend = hodrick_prescott(series, 1600)
    t = np.linspace(0, 1, 300)
    wave = np.sin(9 * t)
    measured = wave + rng.normal(0, 0.2, 300)
    weights = np.ones(300)
    weights[120:170] = 0
    measured[120:170] = 0
    filled = whittaker(measured, 1e5, order=3, weights=weights)
    gap = abs(filled - wave)[120:170].max()
    print(f"trends: the trend is within {abs(trend - growth).max():.1f} of growth, the gap within {gap:.2f} of the wave")
    assert abs(trend - growth).max() < 4 and gap < 0.3
    if picture:
        from pictures import subplots

        figure, axes = subplots(1, 2, figsize=(9, 3.6))
        axes[0].plot(quarters, series, color="gray", linewidth=1, label="series")
        axes[0].plot(quarters, trend, color="tab:orange", label="trend")
        axes[0].plot(quarters, cycle, color="tab:blue", label="cycle")
        axes[0].set(xlabel="quarter")
        axes[1].plot(t[weights > 0], measured[weights > 0], ".", color="gray", markersize=3, label="measured")
        axes[1].plot(t, wave, "--", color="tab:blue", label="true")
        axes[1].plot(t, filled, color="tab:orange", label="smooth, the gap filled")
        axes[1].set(xlabel="t")
        for axis in axes:
            axis.legend(fontsize=8)
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
