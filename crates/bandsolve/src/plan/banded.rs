//! Factor and solve a banded system.

use crate::contract::Factor;
use crate::contract::verify::Solution;
use crate::error::Result;
use crate::matrix::Banded;
use crate::plan::any::AnyFactor;
use crate::plan::factors::{OfBanded, OfTridiagonal};
use crate::plan::{Factorize, Plan};
use bandsolve_kernel::Scalar;
use std::sync::Arc;

impl<'a, T: Scalar> Factorize for Banded<'a, T> {
    type Scalar = T;
    type Factor<'m>
        = AnyFactor<'m, T>
    where
        Self: 'm;
    type OwningFactor = AnyFactor<'a, T>;

    fn factor_with<'m>(&'m self, plan: &Plan) -> Result<AnyFactor<'m, T>> {
        Banded::factor_shared_with(Arc::new(self.view()), plan)
    }

    fn factor_shared_with(a: Arc<Self>, plan: &Plan) -> Result<AnyFactor<'a, T>> {
        plan.check_shape(a.shape())?;
        let factor = if plan.is_tridiagonal() {
            T::by_type::<OfTridiagonal<'_, 'a>>((&plan.decision, Arc::new(a.to_tridiagonal()?)))
        } else {
            T::by_type::<OfBanded<'_, 'a>>((&plan.decision, a))
        };
        Ok(AnyFactor::new(&plan.decision, factor?))
    }
}

impl<T: Scalar> Banded<'_, T> {
    /// Solve A·x = rhs with the method that [`Method::Auto`](crate::Method::Auto) chooses.
    ///
    /// # Errors
    /// Those of [`Factor`].
    pub fn solve(&self, rhs: &[T]) -> Result<Solution<T>> {
        Plan::once(self.shape()).factor(self)?.solve(rhs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Op;
    use crate::contract::condition::Norm;
    use crate::contract::inspect::Inspect;
    use crate::error::Error;
    use crate::matrix::{BlockTridiagonal, Shape, Tridiagonal};
    use crate::method::Method;
    use bandsolve_gallery::{Random, random_vec};

    /// A random band with `lower` and `upper` diagonals, and its three arrays. Entries outside of the matrix are NaN.
    fn band(n: usize, lower: usize, upper: usize) -> (Vec<f64>, [Vec<f64>; 3]) {
        let random = &mut Random::new(n as u64);
        let leading = lower + upper + 2;
        let mut bands = vec![f64::NAN; n * leading];
        let mut arrays = [vec![0.0; n], random_vec::<f64>(n, random), vec![0.0; n]];
        if lower == 1 {
            arrays[0] = random_vec::<f64>(n, random);
        }
        if upper == 1 {
            arrays[2] = random_vec::<f64>(n, random);
        }
        for i in 0..n {
            for (offset, array) in [(-1_isize, &arrays[0]), (0, &arrays[1]), (1, &arrays[2])] {
                let inside = (-(lower as isize)..=upper as isize).contains(&offset);
                if let Some(j) = i.checked_add_signed(offset).filter(|j| inside && *j < n) {
                    bands[upper + i - j + j * leading] = array[i];
                }
            }
        }
        (bands, arrays)
    }

    /// The methods for bands or blocks that do not solve tridiagonal systems.
    const OF_BANDS: [Method; 3] = [Method::Spike, Method::Bcyclic, Method::BlockSpike];

    /// Check that all methods give the same bits for `a` and the tridiagonal matrix `same`.
    fn check<'a, A, F>(a: &'a A, shape: Shape, same: &Tridiagonal<'_, f64>, factor: F)
    where
        A: Factorize<Scalar = f64>,
        F: Fn(&'a A, &Plan) -> Result<A::Factor<'a>>,
    {
        let rhs = random_vec::<f64>(2 * same.n(), &mut Random::new(1));
        let general = |method: &Method| !OF_BANDS.contains(method) && !method.needs_definite();
        for method in Method::ALL.into_iter().filter(general) {
            let (plan, theirs) = (Plan::new(shape).method(method), Plan::new(same.shape()).method(method));
            assert!(method.solves(shape) && plan.reason() == theirs.reason(), "{shape:?}: {}", plan.reason());
            let (ours, theirs) = (factor(a, &plan).unwrap(), theirs.factor(same).unwrap());
            assert_eq!(ours.shape(), shape);
            for op in [Op::Plain, Op::Transpose] {
                let (mut x, mut y) = (rhs.clone(), rhs.clone());
                let solved = [ours.solve_into(&rhs, &mut x), theirs.solve_into(&rhs, &mut y)];
                assert_eq!(format!("{:?}", solved[0]), format!("{:?}", solved[1]), "{shape:?} {method:?} {op:?}");
                assert!(x.iter().zip(&y).all(|(x, y)| x.to_bits() == y.to_bits()), "{shape:?} {method:?} {op:?}");
            }
            assert_eq!(ours.norm(Norm::One), theirs.norm(Norm::One));
            assert_eq!(ours.determinant().unwrap(), theirs.determinant().unwrap());
            if let Some(scratch) = plan.solve_in_place_scratch::<f64>(2) {
                let needed = ours.solve_in_place_scratch(2);
                assert!(scratch.size_bytes() >= needed.size_bytes(), "{shape:?} {method:?}");
            }
        }
    }

    #[test]
    fn widths_of_one_are_tridiagonal() {
        for n in [0, 1, 2, 5, 200] {
            for (lower, upper) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                let (bands, [sub, diag, sup]) = band(n, lower, upper);
                let a = Banded::with_leading(n, lower, upper, lower + upper + 2, &bands).unwrap();
                check(&a, a.shape(), &Tridiagonal::new(&sub, &diag, &sup).unwrap(), |a, plan| plan.factor(a));
            }
            let (_, [sub, diag, sup]) = band(n, 1, 1);
            for periodic in [false, true] {
                let make = if periodic { BlockTridiagonal::periodic } else { BlockTridiagonal::new };
                let a = make(1, &sub, &diag, &sup).unwrap();
                let same = Tridiagonal::from_vecs(sub.clone(), diag.clone(), sup.clone(), periodic).unwrap();
                check(&a, a.shape(), &same, |a, plan| plan.factor(a));
            }
        }
    }

    #[test]
    fn errors_of_narrow_bands_name_places_of_the_band() {
        let n = 150;
        for (lower, upper) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
            let (bands, _) = band(n, lower, upper);
            let leading = lower + upper + 2;
            for (i, j) in [(0, 0), (1, 0), (0, 1), (70, 70), (71, 70), (70, 71), (n - 1, n - 2), (n - 2, n - 1)] {
                if j + lower < i || i + upper < j {
                    continue;
                }
                let (mut wrong, index) = (bands.clone(), upper + i - j + j * leading);
                wrong[index] = f64::INFINITY;
                // Another invalid entry, in a later column.
                wrong[upper + (n - 1) * leading] = f64::NAN;
                let a = Banded::with_leading(n, lower, upper, leading, &wrong).unwrap();
                let error = Error::NotFinite { array: "bands", index };
                assert_eq!(a.check_finite(), Err(error.clone()));
                assert_eq!(a.solve(&vec![1.0; n]).unwrap_err(), error, "({i}, {j}) of ({lower}, {upper})");
            }
        }
    }

    #[test]
    fn plans_for_one_solve_choose_other_methods() {
        let banded = |n, width| Shape::Banded { n, lower: width, upper: width };
        let blocks = |n, block| Shape::BlockTridiagonal { block_rows: n / block, block, periodic: false };
        let method = |plan: Plan| plan.chosen_method();
        for shape in [banded(50_000, 2), banded(100_000, 4), blocks(20_000, 3), blocks(100_000, 4)] {
            assert_eq!(method(Plan::once(shape)), Method::Rpts);
            assert_eq!(method(Plan::new(shape)), Method::Spike);
        }
        // Too few rows for two halves.
        assert_eq!(method(Plan::new(banded(5000, 2))), Method::Pivoted);
        // Factors would have as many numbers as the matrix.
        assert_eq!(method(Plan::new(blocks(20_000, 2))), Method::Rpts);
        for shape in
            [banded(10_000, 1), banded(10_000, 20), blocks(10_000, 6), Shape::Tridiagonal { n: 500, periodic: true }]
        {
            assert_eq!(method(Plan::once(shape)), method(Plan::new(shape)));
        }
        // Another shape with the same options.
        assert_eq!(method(Plan::once(banded(10, 2)).with_shape(banded(10_000, 2))), Method::Rpts);
    }
}
