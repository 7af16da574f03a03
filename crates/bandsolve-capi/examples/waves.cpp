// One Crank-Nicolson step of the periodic Schrödinger equation i u_t = -u_xx: a complex periodic system. The step multiplies a plane
// wave by a known phase factor.

#include <bandsolve.h>

#include <cmath>
#include <complex>
#include <cstdio>
#include <vector>

int main() {
    typedef std::complex<double> number;
    const std::size_t n = 4096;
    const double pi = std::acos(-1.0), wave = 2.0 * pi * 5.0 / n, step = 0.3;
    const number half(0.0, 0.5 * step);

    // (1 + i h/2 L) u_new = (1 - i h/2 L) u, where L u = -u[j-1] + 2 u[j] - u[j+1]
    std::vector<number> sub(n, -half), diag(n, 1.0 + 2.0 * half), sup(n, -half), u(n), expected(n);
    const double eigenvalue = 2.0 - 2.0 * std::cos(wave);
    const number turn = (1.0 - half * eigenvalue) / (1.0 + half * eigenvalue);
    for (std::size_t j = 0; j < n; j++) {
        const number before = std::polar(1.0, wave * static_cast<double>(j));
        u[j] = (1.0 - half * eigenvalue) * before;
        expected[j] = turn * before;
    }

    std::size_t bytes = 0;
    if (bandsolveZcgtsv_bufferSizeExt(BANDSOLVE_DEFAULT_PIVOTING, n, 1, &bytes) != BANDSOLVE_SUCCESS) return 1;
    std::vector<unsigned char> buffer(bytes);
    const bandsolve_status_t status = bandsolveZcgtsv(BANDSOLVE_DEFAULT_PIVOTING, n, 1, sub.data(), diag.data(),
                                                      sup.data(), u.data(), u.data(), buffer.data());
    if (status != BANDSOLVE_SUCCESS) {
        std::fprintf(stderr, "%s: %s\n", bandsolveStatusName(status), bandsolveLastError());
        return 1;
    }
    double error = 0.0;
    for (std::size_t j = 0; j < n; j++) error = std::fmax(error, std::abs(u[j] - expected[j]));
    std::printf("a step of a wave: error %.1e\n", error);
    if (!(error <= 1e-12)) return 1;
    std::printf("1 passed\n");
    return 0;
}
