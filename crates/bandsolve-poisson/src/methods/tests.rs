//! The methods, compared with reference values and with independent solvers.

use super::block_cyclic::{self, EvenRows};
use super::partial_fractions::{BelowAxis, PartialFractions};
use super::pscr;
use super::spectrum::PencilRows;
use super::toeplitz::ShiftedLine;
use crate::radix::laplace;
use bandsolve::{Banded, Factor, Plan};
use bandsolve_kernel::exact::Sum;
use bandsolve_kernel::{RealScalar, Simd};

fn solved<R: RealScalar>(plan: &PartialFractions<R>, f: &[R], threads: usize) -> Vec<R> {
    let mut u = f.to_vec();
    let mut scratch = vec![R::NAN; plan.scratch(threads)];
    plan.solve(&mut u, R::ZERO, threads, &mut scratch);
    u
}

/// f + Δ(u + v) with unit spacing, in twice the working precision.
fn residual(shape: &[usize], f: &[f64], (u, v): (&[f64], &[f64])) -> Vec<f64> {
    let at = |i: usize| {
        let mut sum = Sum::new(f[i]);
        let mut step = 1;
        let mut neighbors = vec![];
        for n in shape.iter().rev() {
            let k = i / step % n;
            neighbors.extend((k > 0).then(|| i - step).into_iter().chain((k + 1 < *n).then_some(i + step)));
            step *= n;
        }
        for part in [u, v] {
            sum.add_product::<true>(-2.0 * shape.len() as f64, part[i]);
            neighbors.iter().for_each(|other| sum.add_product::<true>(1.0, part[*other]));
        }
        sum.value()
    };
    (0..f.len()).map(at).collect()
}

fn largest(v: &[f64]) -> f64 {
    v.iter().fold(0.0, |most, v| if v.abs() > most || v.is_nan() { v.abs() } else { most })
}

/// The forward error ‖u − exact‖∞ / ‖exact‖∞, and the backward error ‖f − A u‖∞ / (‖A‖ ‖u‖ + ‖f‖). Iterative refinement in twice the working
/// precision gives the exact solution.
fn errors(plan: &PartialFractions<f64>, shape: &[usize], f: &[f64], u: &[f64]) -> (f64, f64) {
    let (mut high, mut low) = (u.to_vec(), vec![0.0; u.len()]);
    for _ in 0..3 {
        let correction = solved(plan, &residual(shape, f, (&high, &low)), 1);
        for ((high, low), by) in high.iter_mut().zip(&mut low).zip(correction) {
            let by = by + *low;
            let sum = *high + by;
            (*low, *high) = (by - (sum - *high), sum);
        }
    }
    let difference: Vec<f64> = u.iter().zip(&high).map(|(u, exact)| u - exact).collect();
    let remaining = largest(&residual(shape, f, (u, &vec![0.0; u.len()])));
    (largest(&difference) / largest(&high), remaining / (4.0 * shape.len() as f64 * largest(u) + largest(f)))
}

/// The right-hand side of the reference values. The generator of poisson.json starts with x = 1.
fn lcg(n: usize) -> Vec<f64> {
    let mut x = 1u64;
    let next = |_| {
        x = (1103515245 * x + 12345) % (1 << 31);
        2.0 * x as f64 / (1u64 << 31) as f64 - 1.0
    };
    (0..n).map(next).collect()
}

#[test]
fn golden_numbers() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/golden/poisson.json");
    let Ok(text) = std::fs::read_to_string(path) else {
        bandsolve_testkit::skipped("no ../shared/golden beside the checkout: cyclic reduction of Poisson problems");
        return;
    };
    let cases: serde_json::Value = serde_json::from_str(&text).unwrap();
    for case in cases.as_array().unwrap() {
        let shape: Vec<usize> = serde_json::from_value(case["shape"].clone()).unwrap();
        let f = lcg(shape.iter().product());
        for radix in [2, 4] {
            let plan = laplace::<f64>(radix, &shape).unwrap();
            let expected = &case[format!("bcr{radix}")]["count"];
            for (axis, count) in plan.counts().iter().enumerate() {
                assert_eq!(expected[axis.to_string()], *count, "{shape:?} {radix}");
            }
            golden_case((case, &shape, &f), &plan, radix);
        }
        let axes: Vec<OracleAxis> = shape.iter().map(|n| OracleAxis::uniform(*n, 1.0)).collect();
        golden_case((case, &shape, &f), &partial_solutions(&axes), 0);
    }
}

/// Check one case. `radix` is 0 for `pscr`.
fn golden_case((case, shape, f): (&serde_json::Value, &[usize], &[f64]), plan: &PartialFractions<f64>, radix: usize) {
    let u = solved(plan, f, 1);
    let (forward, backward) = errors(plan, shape, f, &u);
    println!("{shape:?} {radix}: {forward:.1e} {backward:.1e}");
    assert!(forward <= 1e-14 && backward <= 2e-15, "{shape:?} {radix}: {forward:e} {backward:e}");
    let close = |key: &str, got: f64, size: f64| {
        let expected = case[key].as_f64().unwrap();
        assert!((got - expected).abs() <= 1e-11 * size, "{shape:?} {radix} {key}: {got} {expected}");
    };
    let largest = largest(&u);
    close("sum_u", u.iter().sum(), u.iter().map(|v| v.abs()).sum());
    close("max_u", largest, largest);
    close("u_first", u[0], largest);
    let middle = shape.iter().fold(0, |at, n| at * n + n / 2);
    close("u_mid", u[middle], largest);
}

/// Second differences along an axis, as sub, sup and gap.
struct OracleAxis([Vec<f64>; 3]);

impl OracleAxis {
    fn uniform(n: usize, scale: f64) -> Self {
        Self([vec![scale; n], vec![scale; n], vec![0.0; n]])
    }

    /// Random spacings between 0.2 and 1.2. If `open`, the first and the last row have no coupling to the outside.
    fn stretched(n: usize, seed: usize, open: bool) -> Self {
        let spacings: Vec<f64> = lcg(n + 1 + seed)[seed..].iter().map(|v| 0.7 + 0.5 * v).collect();
        let coupling = |i: usize, beside: usize| 2.0 / (spacings[beside] * (spacings[i] + spacings[i + 1]));
        let mut sub: Vec<f64> = (0..n).map(|i| coupling(i, i)).collect();
        let mut sup: Vec<f64> = (0..n).map(|i| coupling(i, i + 1)).collect();
        if open {
            (sub[0], sup[n - 1]) = (0.0, 0.0);
        }
        Self([sub, sup, vec![0.0; n]])
    }

    fn n(&self) -> usize {
        self.0[0].len()
    }

    fn rows(&self) -> PencilRows<'_> {
        PencilRows { sub: &self.0[0], sup: &self.0[1], gap: &self.0[2] }
    }
}

/// `pscr` along all axes except the last.
fn partial_solutions<R: RealScalar>(axes: &[OracleAxis]) -> PartialFractions<R> {
    let (last, rest) = axes.split_last().unwrap();
    let PencilRows { sub, sup, gap } = last.rows();
    let line = ShiftedLine::new(sub, sup, gap).unwrap();
    let mut all = None;
    for axis in rest.iter().rev() {
        let below = all.map_or_else(|| BelowAxis::Line(line.clone()), |block| BelowAxis::Block(Box::new(block)));
        all = Some(pscr::plan(axis.rows(), None, below, Simd::detect()).unwrap().unwrap());
    }
    all.unwrap_or_else(|| PartialFractions::line(line.clone(), Simd::detect()).unwrap())
}

/// Banded LU of the same matrix. It shares no code with the methods.
fn banded_lu(axes: &[OracleAxis], shift: f64, f: &[f64]) -> Vec<f64> {
    let strides: Vec<usize> = (0..axes.len()).map(|k| axes[k + 1..].iter().map(OracleAxis::n).product()).collect();
    let (n, band) = (f.len(), strides[0]);
    let leading = 2 * band + 1;
    let mut bands = vec![0.0; n * leading];
    for i in 0..n {
        bands[band + i * leading] += shift;
        for (axis, stride) in axes.iter().zip(&strides) {
            let (k, PencilRows { sub, sup, gap }) = (i / stride % axis.n(), axis.rows());
            bands[band + i * leading] += sub[k] + sup[k] + gap[k];
            if k > 0 {
                bands[band + stride + (i - stride) * leading] -= sub[k];
            }
            if k + 1 < axis.n() {
                bands[band - stride + (i + stride) * leading] -= sup[k];
            }
        }
    }
    let a = Banded::new(n, band, band, &bands).unwrap();
    Plan::once(a.shape()).factor(&a).unwrap().solve(f).unwrap().values
}

fn solved_with(plan: &PartialFractions<f64>, f: &[f64], shift: f64) -> Vec<f64> {
    let mut u = f.to_vec();
    let mut scratch = vec![f64::NAN; plan.scratch(1)];
    plan.solve(&mut u, shift, 1, &mut scratch);
    u
}

/// ‖u − other‖∞ / ‖other‖∞
fn apart(u: &[f64], other: &[f64]) -> f64 {
    let difference: Vec<f64> = u.iter().zip(other).map(|(u, v)| u - v).collect();
    largest(&difference) / largest(other)
}

/// Tolerance: condition numbers are below 10⁵ in these tests, and both solvers are stable.
const CLOSE: f64 = 1e-11;

#[test]
fn block_cyclic_reduction_of_any_size() {
    let sizes = (1..=40).chain([43, 61, 64, 65, 97, 127, 128, 129, 257, 1025]);
    for n in sizes {
        for m in [1, 3, 16] {
            let (first, last) = (OracleAxis::uniform(n, 2.5), OracleAxis::uniform(m, 1.0));
            let line = || ShiftedLine::new(last.rows().sub, last.rows().sup, last.rows().gap).unwrap();
            let f = lcg(n * m);
            for radix in [2, 4] {
                let plan = block_cyclic::plan(
                    radix,
                    EvenRows { rows: n, scale: 2.5, ring: false },
                    BelowAxis::Line(line()),
                    Simd::detect(),
                )
                .unwrap();
                let axes = [OracleAxis::uniform(n, 2.5), OracleAxis::uniform(m, 1.0)];
                for shift in [0.0, 0.3] {
                    let error = apart(&solved_with(&plan, &f, shift), &banded_lu(&axes, shift, &f));
                    assert!(error < CLOSE, "{n} × {m}, radix {radix}, shift {shift}: {error:e}");
                }
            }
            assert!(first.n() == n);
        }
    }
}

#[test]
fn boxes_of_any_size() {
    for shape in [[1, 1, 1], [1, 2, 3], [5, 1, 4], [2, 6, 5], [9, 10, 11], [13, 7, 5], [6, 17, 10]] {
        let axes = shape.map(|n| OracleAxis::uniform(n, 1.0));
        let f = lcg(shape.iter().product());
        let expected = banded_lu(&axes, 0.0, &f);
        for radix in [2, 4] {
            let error = apart(&solved(&laplace(radix, &shape).unwrap(), &f, 1), &expected);
            assert!(error < CLOSE, "{shape:?}, radix {radix}: {error:e}");
        }
        let error = apart(&solved(&partial_solutions(&axes), &f, 1), &expected);
        assert!(error < CLOSE, "{shape:?}: {error:e}");
    }
}

#[test]
fn partial_solutions_on_stretched_axes() {
    for n in (1..=40).chain([43, 61, 64, 65, 97, 127, 257]) {
        for (m, open) in [(1, false), (3, true), (16, false), (16, true)] {
            let axes = [OracleAxis::stretched(n, 0, open), OracleAxis::stretched(m, 7, false)];
            let f = lcg(n * m);
            for shift in [0.0, 0.3] {
                let error = apart(&solved_with(&partial_solutions(&axes), &f, shift), &banded_lu(&axes, shift, &f));
                assert!(error < CLOSE, "{n} × {m}, open {open}, shift {shift}: {error:e}");
            }
        }
    }
    for shape in [[1, 1, 1], [4, 3, 2], [5, 6, 7], [11, 9, 10], [18, 5, 8]] {
        let axes = [0, 1, 2].map(|k| OracleAxis::stretched(shape[k], 5 * k, k == 1));
        let f = lcg(shape.iter().product());
        let error = apart(&solved(&partial_solutions(&axes), &f, 1), &banded_lu(&axes, 0.0, &f));
        assert!(error < CLOSE, "{shape:?}: {error:e}");
    }
}

#[test]
fn same_bits_for_any_number_of_threads() {
    let mut plans =
        vec![laplace(2, &[255, 130]).unwrap(), laplace(4, &[255, 130]).unwrap(), laplace(4, &[511, 77]).unwrap()];
    plans.extend([laplace(2, &[31, 33, 35]).unwrap(), laplace(4, &[31, 33, 35]).unwrap()]);
    let planes = [OracleAxis::stretched(300, 0, false), OracleAxis::stretched(110, 9, true)];
    let boxes =
        [OracleAxis::stretched(30, 0, false), OracleAxis::stretched(29, 9, true), OracleAxis::stretched(33, 4, true)];
    plans.extend([partial_solutions(&planes), partial_solutions(&boxes)]);
    for plan in plans {
        let f = lcg(plan.unknowns());
        let one = solved(&plan, &f, 1);
        assert!(one.iter().all(|v| v.is_finite()));
        for threads in [2, 3, 7] {
            let many = solved(&plan, &f, threads);
            assert!(one.iter().zip(&many).all(|(a, b)| a.to_bits() == b.to_bits()), "{threads} threads");
        }
    }
}

#[test]
fn single_precision() {
    for shape in [&[40, 33][..], &[63, 63], &[12, 17, 9]] {
        let f = lcg(shape.iter().product());
        let single: Vec<f32> = f.iter().map(|v| *v as f32).collect();
        let f: Vec<f64> = single.iter().map(|v| f64::from(*v)).collect();
        for radix in [2, 4] {
            let exact = solved(&laplace::<f64>(radix, shape).unwrap(), &f, 1);
            let got: Vec<f64> =
                solved(&laplace::<f32>(radix, shape).unwrap(), &single, 1).iter().map(|v| f64::from(*v)).collect();
            let error = apart(&got, &exact);
            assert!(error < 20.0 * f64::from(f32::EPSILON), "{shape:?}, radix {radix}: {error:e}");
        }
    }
}

#[test]
fn nothing_to_solve() {
    for shape in [&[0, 5][..], &[5, 0], &[0], &[3, 0, 4]] {
        let f = Vec::<f64>::new();
        assert!(solved(&laplace(4, shape).unwrap(), &f, 1).is_empty());
    }
}
