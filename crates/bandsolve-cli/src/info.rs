//! `bandsolve info`: describe a matrix and the method that `solve` would use.

use crate::args::InfoArgs;
use crate::renumber::Reordering;
use bandsolve::{Complex64, Inspect, Norm, Plan, Scalar, Shape};
use bandsolve_program::exit::Failure;
use bandsolve_program::io::{self, Symmetry, Triplets};
use bandsolve_program::memory::{affordable, grow};
use bandsolve_program::report;
use bandsolve_program::structure;
use bandsolve_sparse::Structure;
use serde_json::{Value, json};

/// Describe one matrix.
///
/// # Errors
/// [`Failure::Input`] if the file cannot be read. A singular matrix is not an error.
pub fn run(args: &InfoArgs) -> Result<(), Failure> {
    let stdout_used = report::check_outputs(&[("--json", &args.json)], &[&args.matrix])?;
    let matrix = io::read_matrix(&args.matrix)?;
    let structure = structure::structure(&matrix)?;
    let shape = structure.shape();
    let facts = MatrixFacts::of(&SortedEntries::of(&matrix, false)?, &SortedEntries::of(&matrix, true)?);
    let singular = structure::check_not_empty(&structure).err().map(|e| e.to_string());
    let rcond = match &singular {
        Some(_) => Ok(0.0),
        None if matrix.values.is_complex() => rcond::<Complex64>(&matrix, shape),
        None => rcond::<f64>(&matrix, shape),
    };
    let plan = Plan::once(shape);
    // Reordering cannot make a tridiagonal matrix narrower, and a singular matrix cannot be solved.
    let reordering = match shape {
        Shape::Banded { .. } if singular.is_none() => Some(Reordering::rcm(&matrix, &structure)?),
        _ => None,
    };
    let view = InfoView { args, matrix: &matrix, structure, shape, reordering, facts, rcond, singular, plan };
    if let Some(path) = &args.json {
        report::write_json(path, &view.json())?;
    }
    report::print_beside(&view.text(), stdout_used)
}

/// The reciprocal condition number, or the reason why it is unknown.
fn rcond<T: Scalar>(matrix: &Triplets, shape: Shape) -> Result<f64, String> {
    let system = structure::assemble::<T>(matrix, shape).map_err(|e| e.to_string())?;
    match structure::factor(&system, &Plan::new(shape)) {
        Ok(factor) => factor.rcond(Norm::One).map_err(|e| e.to_string()),
        Err(bandsolve::Error::Singular { .. }) => Ok(0.0),
        Err(error) => Err(error.to_string()),
    }
}

/// The non-zero entries in order of rows or columns. Entries at the same position are added up.
#[derive(Debug)]
pub struct SortedEntries {
    n: usize,
    sorted: Vec<(u64, Complex64)>,
}

impl SortedEntries {
    /// Sort the entries by the rows of the matrix, or of its transpose.
    ///
    /// # Errors
    /// [`Failure::Input`] if too little memory is free.
    pub fn of(a: &Triplets, transposed: bool) -> Result<SortedEntries, Failure> {
        let count = a.rows.len() * if a.symmetry == Symmetry::General { 1 } else { 2 };
        let too_many = |why| Failure::Input(format!("{count} entries are too many: {why}"));
        let mut sorted = Vec::new();
        // Sorting needs memory for half of the entries in addition.
        affordable(&[count, 3], size_of::<(u64, Complex64)>() / 2).map_err(too_many)?;
        grow(&mut sorted, count, count).map_err(too_many)?;
        a.for_each(|i, j, value| {
            let (i, j) = if transposed { (j, i) } else { (i, j) };
            sorted.push((((i as u64) << 32) | j as u64, value));
        });
        sorted.sort_by_key(|e| e.0);
        sorted.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        sorted.retain(|e| e.1 != Complex64::ZERO);
        Ok(SortedEntries { n: a.n_rows, sorted })
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.sorted.len()
    }

    /// Whether there is an entry in row i and column j.
    pub fn has(&self, i: usize, j: usize) -> bool {
        self.sorted.binary_search_by_key(&(((i as u64) << 32) | j as u64), |entry| entry.0).is_ok()
    }

    /// Call `f(row, column, |entry|)` for each entry, in order.
    pub fn for_each(&self, mut f: impl FnMut(usize, usize, f64)) {
        let entries = self.sorted.iter();
        entries.for_each(|(place, v)| f((place >> 32) as usize, (place & 0xffff_ffff) as usize, Scalar::abs(*v)));
    }

    /// Call `f(|diagonal|, Σ|off-diagonal|)` for each row that has entries, in order.
    fn for_each_row(&self, mut f: impl FnMut(f64, f64)) {
        for row in self.sorted.chunk_by(|a, b| a.0 >> 32 == b.0 >> 32) {
            let (mut diagonal, mut rest) = (0.0, 0.0);
            for (place, value) in row {
                let on_diagonal = place >> 32 == place & 0xffff_ffff;
                *(if on_diagonal { &mut diagonal } else { &mut rest }) += Scalar::abs(*value);
            }
            f(diagonal, rest);
        }
    }

    /// The smallest |aᵢᵢ| / Σ|aᵢⱼ|, j ≠ i, of all rows. The matrix is diagonally dominant if the value is above 1. The value is infinite
    /// for a diagonal matrix, and 0 if a row is empty.
    fn dominance(&self) -> f64 {
        let (mut smallest, mut rows) = (f64::INFINITY, 0);
        self.for_each_row(|diagonal, rest| {
            rows += 1;
            smallest = smallest.min(if rest == 0.0 { f64::INFINITY } else { diagonal / rest });
        });
        if rows < self.n { 0.0 } else { smallest }
    }
}

/// Properties of a matrix that one pass over its entries shows.
#[derive(Debug)]
struct MatrixFacts {
    nnz: usize,
    dominance_rows: f64,
    dominance_cols: f64,
    zero_diagonals: usize,
    symmetry: &'static str,
    norm_1: f64,
}

impl MatrixFacts {
    fn of(rows: &SortedEntries, cols: &SortedEntries) -> MatrixFacts {
        let on_diagonal = rows.sorted.iter().filter(|(place, _)| place >> 32 == place & 0xffff_ffff).count();
        let mut norm_1 = 0.0_f64;
        cols.for_each_row(|diagonal, rest| norm_1 = norm_1.max(diagonal + rest));
        MatrixFacts {
            nnz: rows.sorted.len(),
            dominance_rows: rows.dominance(),
            dominance_cols: cols.dominance(),
            zero_diagonals: rows.n - on_diagonal,
            symmetry: symmetry(rows, cols),
            norm_1,
        }
    }
}

/// The symmetry of A, from an exact comparison with its transpose, entry by entry.
fn symmetry(a: &SortedEntries, transposed: &SortedEntries) -> &'static str {
    let holds = |mirror: fn(Complex64) -> Complex64| {
        let mut pairs = a.sorted.iter().zip(&transposed.sorted);
        pairs.all(|(x, y)| x.0 == y.0 && x.1 == mirror(y.1))
    };
    match () {
        () if holds(|v| v) => "symmetric",
        () if holds(|v| v.conj()) => "hermitian",
        () if holds(|v| -v) => "skew-symmetric",
        () if holds(|v| -v.conj()) => "skew-hermitian",
        () => "none",
    }
}

/// The content of the report.
struct InfoView<'a> {
    args: &'a InfoArgs,
    matrix: &'a Triplets,
    structure: Structure,
    shape: Shape,
    reordering: Option<Reordering>,
    facts: MatrixFacts,
    rcond: Result<f64, String>,
    singular: Option<String>,
    plan: Plan,
}

impl InfoView<'_> {
    fn text(&self) -> String {
        let (lower, upper) = self.structure.diagonals_in(self.shape);
        let corners = if structure::is_periodic(self.shape) { ", and corner entries" } else { "" };
        let numbers = if self.matrix.values.is_complex() { "complex" } else { "real" };
        let ratio = |r: f64| if r.is_finite() { format!("{r:.3}") } else { "∞ (diagonal)".into() };
        let facts = &self.facts;
        let condition = match &self.rcond {
            Ok(rcond) => {
                format!("{rcond:.1e}{}", if *rcond < f64::EPSILON { ", singular to working precision" } else { "" })
            }
            Err(reason) => format!("unknown: {reason}"),
        };
        let mut lines = vec![
            ("size", format!("{0} × {0}, {numbers}", self.structure.n)),
            ("non-zeros", facts.nnz.to_string()),
            ("kind", structure::kind(self.shape).to_string()),
            ("bands", format!("{}{corners}{}", report::bands(lower, upper), self.renumbered())),
            ("symmetry", facts.symmetry.to_string()),
            ("zeros on the diagonal", facts.zero_diagonals.to_string()),
            (
                "dominance",
                format!(
                    "{} by rows, {} by columns; diagonally dominant above 1",
                    ratio(facts.dominance_rows),
                    ratio(facts.dominance_cols)
                ),
            ),
            ("reciprocal condition", condition),
            ("method", format!("{}: {}", self.plan.chosen_method().name(), self.plan.reason())),
        ];
        lines.extend(self.singular.iter().map(|reason| ("attention", reason.clone())));
        format!("{}\n{}", io::name(&self.args.matrix), report::columns(&lines))
    }

    /// The bands after reverse Cuthill–McKee.
    fn renumbered(&self) -> String {
        let Some(reordering) = &self.reordering else { return String::new() };
        let (lower, upper) = reordering.reordered_bands();
        let verdict = if reordering.taken().is_some() { "" } else { ", which is not narrower" };
        format!("; with `solve --reorder rcm` {lower} below and {upper} above{verdict}")
    }

    fn json(&self) -> Value {
        let (lower, upper) = self.structure.diagonals_in(self.shape);
        let facts = &self.facts;
        json!({
            "file": io::name(&self.args.matrix),
            "n": self.structure.n,
            "nnz": facts.nnz,
            "complex": self.matrix.values.is_complex(),
            "kind": structure::kind(self.shape),
            "lower": lower,
            "upper": upper,
            "periodic": structure::is_periodic(self.shape),
            "reordering": self.reordering.as_ref().map(Reordering::json),
            "symmetry": facts.symmetry,
            "zero_diagonals": facts.zero_diagonals,
            "dominance_rows": facts.dominance_rows,
            "dominance_cols": facts.dominance_cols,
            "norm_1": facts.norm_1,
            "rcond": self.rcond.as_ref().ok(),
            "rcond_error": self.rcond.as_ref().err(),
            "singular": self.singular,
            "method": self.plan.chosen_method().name(),
            "reason": self.plan.reason(),
        })
    }
}
