"""Ten million noisy samples, smoothed: one system with two diagonals on either side."""

import sys
import time

import numpy as np

from bandsolve.smooth import whittaker


def main(picture=None, n=10_000_000):
    t = np.linspace(0, 200, n)
    true = np.sin(t) + 0.3 * np.sin(7.3 * t)
    noisy = true + np.random.default_rng(1).normal(0, 0.5, n)
    begin = time.perf_counter()
    # A wave of 2 pi 1e11**(1/4) = 3500 samples keeps half of its height, and shorter waves less. The shortest wave of `true` has
    # 43 000 samples. With much larger numbers the matrix would be singular to working precision.
    smooth = whittaker(noisy, 1e11)
    seconds = time.perf_counter() - begin
    before, after = (np.sqrt(np.mean((values - true) ** 2)) for values in (noisy, smooth))
    print(f"smoothing of {n} samples in {seconds:.1f} s: error {before:.2f} before, {after:.4f} after")
    assert after < 0.02
    if picture:
        from pictures import subplots

        figure, axis = subplots(figsize=(7, 3.6))
        shown = slice(0, n // 10, max(1, n // 10_000))
        axis.plot(t[shown], noisy[shown], ".", color="gray", markersize=1, label="samples")
        axis.plot(t[shown], smooth[shown], color="tab:orange", label="smooth")
        axis.set(xlabel="t")
        axis.legend()
        figure.savefig(picture)


if __name__ == "__main__":
    main(*sys.argv[1:])
