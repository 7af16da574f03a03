//! A sparse approximation of B·M⁻¹ with a tridiagonal M, the next matrix of MOS-a.

use crate::csr::Csr;
use crate::forest::Forest;
use crate::row_builder::make_rows;
use crate::tuning::SORTED_MAX_ELEMENTS;
use bandsolve::memory::{allocate, copied, more, push, refill, reserved, zeroed};
use bandsolve::vectors::divide;
use bandsolve::{Error, RealScalar, Result, Scalar, Tridiagonal};

/// Elements below this share of the largest element of a row are negligible.
const NOTHING: f64 = 1e-18;

/// M = L·U in the order of the paths, without exchanges.
struct PathFactors<T> {
    /// Pivots of U.
    d: Vec<T>,
    /// The entry of U to the right of the pivot.
    u: Vec<T>,
    /// The entry of L in the row below the pivot.
    l: Vec<T>,
    /// The beginning of the path, and the place after its end.
    paths: Vec<[u32; 2]>,
    /// Bounds on the growth of elements, from here to the end of the path in U⁻¹, and to its beginning in L⁻¹.
    growth: Vec<[f64; 2]>,
}

impl<T: Scalar> PathFactors<T> {
    fn new(forest: &Forest, tridiagonal: &Tridiagonal<'_, T>) -> Result<Self> {
        let [sub, diag, sup] = tridiagonal.arrays();
        let n = diag.len();
        let (mut d, mut l) = (copied(diag)?, zeroed(n)?);
        for k in 0..n {
            if d[k] == T::ZERO || !Scalar::is_finite(d[k]) {
                return Err(Error::Singular { row: forest.permutation().order()[k] as usize });
            }
            if k + 1 < n {
                l[k] = divide(sub[k + 1], d[k]);
                d[k + 1] -= l[k] * sup[k];
            }
        }
        let mut paths = reserved(n)?;
        for length in forest.lengths() {
            let start = paths.len() as u32;
            paths.resize(paths.len() + length, [start, start + length as u32]);
        }
        let modulus = |v: T| Scalar::abs(v).to_f64();
        let mut growth = allocate(n, [1.0; 2])?;
        for k in (0..n.saturating_sub(1)).rev() {
            growth[k][0] = f64::max(1.0, modulus(sup[k]) / modulus(d[k + 1]) * growth[k + 1][0]);
        }
        for k in 1..n {
            growth[k][1] = f64::max(1.0, modulus(l[k - 1]) * growth[k - 1][1]);
        }
        Ok(Self { d, u: copied(sup)?, l, paths, growth })
    }
}

/// The largest elements of a row. Among equal ones, those of the lower columns.
struct LargestOfRow<T> {
    /// Sorted if they are few. Otherwise up to twice as many elements as will be kept, in any order.
    entries: Vec<(f64, u32, T)>,
    most: usize,
    /// If they are many: a lower bound of the kept elements.
    bound: f64,
}

impl<T: Scalar> LargestOfRow<T> {
    fn new(most: usize) -> Result<Self> {
        // Memory for the diagonal entry, too.
        let room = if most > SORTED_MAX_ELEMENTS { 2 * most } else { most };
        Ok(Self { entries: reserved(room + 1)?, most, bound: 0.0 })
    }

    /// Smaller elements cannot be among the largest.
    fn least(&self) -> f64 {
        if self.most > SORTED_MAX_ELEMENTS {
            return self.bound;
        }
        if self.entries.len() < self.most { 0.0 } else { self.entries.last().map_or(f64::INFINITY, |last| last.0) }
    }

    fn add(&mut self, column: u32, value: T) {
        let modulus = Scalar::abs(value).to_f64();
        if modulus == 0.0 || modulus < self.least() || self.most == 0 {
            return;
        }
        if self.most > SORTED_MAX_ELEMENTS {
            if self.entries.len() == 2 * self.most {
                self.shrink();
            }
            return self.entries.push((modulus, column, value));
        }
        let before = |other: &(f64, u32, T)| other.0 > modulus || (other.0 == modulus && other.1 < column);
        let place = self.entries.iter().rposition(before).map_or(0, |last| last + 1);
        if place == self.most {
            return;
        }
        self.entries.truncate(self.most - 1);
        self.entries.insert(place, (modulus, column, value));
    }

    /// Remove all elements beyond the number that is kept.
    fn shrink(&mut self) {
        if self.entries.len() > self.most {
            let order = |a: &(f64, u32, T), b: &(f64, u32, T)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
            self.entries.select_nth_unstable_by(self.most - 1, order);
            self.entries.truncate(self.most);
            self.bound = self.entries[self.most - 1].0;
        }
    }
}

/// Compute the rows of B·M⁻¹, where M is the tridiagonal matrix of a forest. Row i keeps the diagonal and the `kept[i]` largest other elements.
///
/// The function follows each row of B along the paths of its entries, as long as elements can be among the largest. If the pivots are larger than the
/// couplings, the number of these places does not grow with the length of the paths.
///
/// # Errors
/// [`Error::Singular`] if a pivot of M is 0.
pub(super) fn incomplete_product<T: Scalar>(
    b: &Csr<'_, T, u32>,
    forest: &Forest,
    tridiagonal: &Tridiagonal<'_, T>,
    lengths: &[u32],
) -> Result<Csr<'static, T, u32>> {
    let factors = PathFactors::new(forest, tridiagonal)?;
    let (order, places) = (forest.permutation().order(), forest.permutation().places());
    make_rows((b.rows(), b.columns()), b.entries(), &|rows, built| {
        let mut sources = Vec::<(u32, T)>::new();
        let mut space = PathRuns { y: vec![], runs: vec![], failed: None };
        for i in rows {
            let mut largest = LargestOfRow::new(lengths[i] as usize)?;
            let mut diagonal = T::ZERO;
            refill(&mut sources, b.row(i).map(|(j, value)| (places[j], value)))?;
            sources.sort_unstable_by_key(|(place, _)| *place);
            for sources in sources.chunk_by(|a, b| factors.paths[a.0 as usize] == factors.paths[b.0 as usize]) {
                along_path(&factors, sources, &mut space, &mut |place, value| {
                    let column = order[place];
                    if column as usize == i {
                        diagonal = value;
                    } else {
                        largest.add(column, value);
                    }
                    largest.least()
                });
            }
            if let Some(error) = space.failed.take() {
                return Err(error);
            }
            largest.shrink();
            let mut row = largest.entries;
            row.push((0.0, i as u32, diagonal));
            row.sort_unstable_by_key(|(_, column, _)| *column);
            built.reserve(row.len())?;
            built.columns.extend(row.iter().map(|(_, column, _)| *column));
            built.values.extend(row.iter().map(|(.., value)| *value));
            built.lengths.push(row.len() as u32);
        }
        Ok(())
    })
}

/// The workspace of [`along_path`]: elements of yᵀ·U⁻¹, and the runs of consecutive places that they occupy, by first place and first element.
struct PathRuns<T> {
    y: Vec<T>,
    runs: Vec<[usize; 2]>,
    /// The error that stopped the computation.
    failed: Option<Error>,
}

/// Compute the elements of yᵀ·M⁻¹ on one path, where `sources` has the places and the elements of y.
///
/// It calls `take(place, value)` for each element that may count. `take` returns the modulus below which later elements do not count. Negligible places
/// between distant elements are not visited.
fn along_path<T: Scalar>(
    factors: &PathFactors<T>,
    sources: &[(u32, T)],
    PathRuns { y, runs, failed }: &mut PathRuns<T>,
    take: &mut impl FnMut(usize, T) -> f64,
) {
    let PathFactors { d, u, l, paths, growth } = factors;
    let [start, end] = paths[sources[0].0 as usize].map(|place| place as usize);
    let modulus = |v: T| Scalar::abs(v).to_f64();
    // Compute yᵀ·U⁻¹, to the right. NaN spreads to the end, here and below.
    y.clear();
    runs.clear();
    let (mut largest, mut sources) = (0.0, sources.iter().peekable());
    while let Some((first, _)) = sources.peek() {
        let first = *first as usize;
        if let Err(error) = push(runs, [first, y.len()]).and_then(|()| more(y, 1)) {
            *failed = Some(error);
            return;
        }
        for k in first..end {
            if y.len() == y.capacity()
                && let Err(error) = more(y, y.len())
            {
                *failed = Some(error);
                return;
            }
            let (mut value, mut is_source) = (T::ZERO, false);
            while let Some((_, term)) = sources.next_if(|(place, _)| *place as usize == k) {
                value += *term;
                is_source = true;
            }
            if k > first {
                value -= y[y.len() - 1] * u[k - 1];
            }
            value = divide(value, d[k]);
            y.push(value);
            largest = f64::max(largest, modulus(value));
            if !is_source && modulus(value) * growth[k][0] <= NOTHING * largest {
                break;
            }
        }
    }
    // Multiply by L⁻¹, to the left. `right` is the element at the place to the right, if there is one.
    let (mut least, mut right): (f64, Option<T>) = (0.0, None);
    let mut place = end;
    while let Some([first, from]) = runs.pop() {
        let behind = first + y.len() - from;
        while let Some(value) = right.filter(|_| place > behind) {
            place -= 1;
            let value = -(value * l[place]);
            right = (!(modulus(value) * growth[place][1] <= NOTHING * largest)).then_some(value);
            if right.is_some() {
                least = take(place, value);
            }
        }
        for k in (first..behind).rev() {
            let known = y[from + k - first];
            let value = right.map_or(known, |right| known - right * l[k]);
            least = take(k, value);
            right = Some(value);
        }
        y.truncate(from);
        place = first;
    }
    for k in (start..place).rev() {
        right = right.map(|right| -(right * l[k]));
        let value = right.unwrap_or(T::ZERO);
        if modulus(value) * growth[k][1] < f64::max(least, NOTHING * largest) {
            break;
        }
        least = take(k, value);
    }
}
