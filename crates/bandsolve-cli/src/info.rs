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
    let matrix = io::read_any(&args.matrix)?;
    let facts = MatrixFacts::of(&matrix, &SortedEntries::of(&matrix, false)?, &SortedEntries::of(&matrix, true)?);
    let square = (matrix.n_rows == matrix.n_cols).then(|| SquareFacts::of(&matrix)).transpose()?;
    let view = InfoView { args, matrix: &matrix, facts, square };
    if let Some(path) = &args.json {
        report::write_json(path, &view.json())?;
    }
    report::print_beside(&view.text(), stdout_used)
}

/// Properties that only square matrices have.
struct SquareFacts {
    structure: Structure,
    shape: Shape,
    reordering: Option<Reordering>,
    /// The reciprocal condition number, or the reason why it is unknown. `None` for a matrix without numbers.
    rcond: Option<Result<f64, String>>,
    singular: Option<String>,
    plan: Plan,
}

impl SquareFacts {
    fn of(matrix: &Triplets) -> Result<Self, Failure> {
        let structure = structure::structure(matrix)?;
        let shape = structure.shape();
        let singular = structure::check_not_empty(&structure).err().map(|e| e.to_string());
        let rcond = match &singular {
            _ if matrix.pattern => None,
            Some(_) => Some(Ok(0.0)),
            None if matrix.values.is_complex() => Some(rcond::<Complex64>(matrix, shape)),
            None => Some(rcond::<f64>(matrix, shape)),
        };
        // Reordering cannot make a tridiagonal matrix narrower, and a singular matrix cannot be solved.
        let reordering = match shape {
            Shape::Banded { .. } if singular.is_none() => Some(Reordering::rcm(matrix, &structure)?),
            _ => None,
        };
        Ok(Self { structure, shape, reordering, rcond, singular, plan: Plan::once(shape) })
    }

    /// The bands, and those after reverse Cuthill–McKee.
    fn bands(&self) -> String {
        let (lower, upper) = self.structure.diagonals_in(self.shape);
        let corners = if structure::is_periodic(self.shape) { ", and corner entries" } else { "" };
        format!("{}{corners}{}", report::bands(lower, upper), self.renumbered())
    }

    /// The lines of the report on the condition, the method, and a matrix that is singular.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let rcond = self.rcond.as_ref().map(|rcond| match rcond {
            Ok(rcond) if *rcond < f64::EPSILON => format!("{rcond:.1e}, singular to working precision"),
            Ok(rcond) => format!("{rcond:.1e}"),
            Err(reason) => format!("unknown: {reason}"),
        });
        let method = format!("{}: {}", self.plan.chosen_method().name(), self.plan.reason());
        let condition = rcond.map(|rcond| ("reciprocal condition", rcond));
        let attention = self.singular.iter().map(|reason| ("attention", reason.clone()));
        condition.into_iter().chain([("method", method)]).chain(attention).collect()
    }

    fn renumbered(&self) -> String {
        let Some(reordering) = &self.reordering else { return String::new() };
        let (lower, upper) = reordering.reordered_bands();
        let verdict = if reordering.taken().is_some() { "" } else { ", which is not narrower" };
        format!("; with `solve --reorder rcm` {lower} below and {upper} above{verdict}")
    }
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
        Ok(SortedEntries { n: if transposed { a.n_cols } else { a.n_rows }, sorted })
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

/// Properties of a matrix of any shape that one pass over its entries shows.
#[derive(Debug)]
struct MatrixFacts {
    nnz: usize,
    /// Numbers of diagonals below and above the main one.
    bands: (usize, usize),
    /// By rows and by columns. `None` for matrices that are not square, or have no numbers.
    dominance: Option<[f64; 2]>,
    zero_diagonals: usize,
    /// `None` for matrices that are not square.
    symmetry: Option<&'static str>,
    norm_1: Option<f64>,
}

impl MatrixFacts {
    fn of(matrix: &Triplets, rows: &SortedEntries, cols: &SortedEntries) -> MatrixFacts {
        let (mut lower, mut upper, mut on_diagonal) = (0, 0, 0);
        rows.for_each(|i, j, _| {
            on_diagonal += usize::from(i == j);
            (lower, upper) = (lower.max(i.saturating_sub(j)), upper.max(j.saturating_sub(i)));
        });
        let mut norm_1 = 0.0_f64;
        cols.for_each_row(|diagonal, rest| norm_1 = norm_1.max(diagonal + rest));
        let square = matrix.n_rows == matrix.n_cols;
        MatrixFacts {
            nnz: rows.sorted.len(),
            bands: (lower, upper),
            dominance: (square && !matrix.pattern).then(|| [rows.dominance(), cols.dominance()]),
            zero_diagonals: rows.n.min(cols.n) - on_diagonal,
            symmetry: square.then(|| symmetry(rows, cols)),
            norm_1: (!matrix.pattern).then_some(norm_1),
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
        () if a.sorted.iter().map(|entry| entry.0).eq(transposed.sorted.iter().map(|entry| entry.0)) => "pattern",
        () => "none",
    }
}

/// The content of the report.
struct InfoView<'a> {
    args: &'a InfoArgs,
    matrix: &'a Triplets,
    facts: MatrixFacts,
    square: Option<SquareFacts>,
}

impl InfoView<'_> {
    /// What the entries are: real numbers, complex numbers, or positions without numbers.
    fn numbers(&self) -> &'static str {
        match self.matrix.values.is_complex() {
            _ if self.matrix.pattern => "positions without numbers",
            true => "complex",
            false => "real",
        }
    }

    fn kind(&self) -> &'static str {
        self.square.as_ref().map_or("rectangular", |square| structure::kind(square.shape))
    }

    fn text(&self) -> String {
        let (facts, (lower, upper)) = (&self.facts, self.facts.bands);
        let size = report::sizes(&[self.matrix.n_rows, self.matrix.n_cols]);
        let bands = self.square.as_ref().map_or_else(|| report::bands(lower, upper), SquareFacts::bands);
        let mut lines = vec![
            ("size", format!("{size}, {}", self.numbers())),
            ("non-zeros", facts.nnz.to_string()),
            ("kind", self.kind().to_string()),
            ("bands", bands),
        ];
        lines.extend(facts.symmetry.map(|symmetry| {
            ("symmetry", if symmetry == "pattern" { "only of the positions".into() } else { symmetry.to_string() })
        }));
        lines.push(("zeros on the diagonal", facts.zero_diagonals.to_string()));
        let ratio = |r: f64| if r.is_finite() { format!("{r:.3}") } else { "∞ (diagonal)".into() };
        lines.extend(facts.dominance.map(|[rows, cols]| {
            let text = format!("{} by rows, {} by columns; diagonally dominant above 1", ratio(rows), ratio(cols));
            ("dominance", text)
        }));
        match &self.square {
            Some(square) => lines.extend(square.lines()),
            None => lines.push(("attention", "the matrix is not square, so no command solves with it".into())),
        }
        if self.matrix.pattern {
            let why = "the file has positions, but no numbers. `bandsolve spy` draws the positions";
            lines.push(("attention", why.into()));
        }
        format!("{}\n{}", io::name(&self.args.matrix), report::columns(&lines))
    }

    fn json(&self) -> Value {
        let (facts, square) = (&self.facts, self.square.as_ref());
        let (lower, upper) = square.map_or(facts.bands, |square| square.structure.diagonals_in(square.shape));
        let rcond = square.and_then(|square| square.rcond.as_ref());
        json!({
            "file": io::name(&self.args.matrix),
            "n": square.map(|square| square.structure.n),
            "n_rows": self.matrix.n_rows,
            "n_cols": self.matrix.n_cols,
            "nnz": facts.nnz,
            "complex": self.matrix.values.is_complex(),
            "pattern": self.matrix.pattern,
            "kind": self.kind(),
            "lower": lower,
            "upper": upper,
            "periodic": square.is_some_and(|square| structure::is_periodic(square.shape)),
            "reordering": square.and_then(|square| square.reordering.as_ref()).map(Reordering::json),
            "symmetry": facts.symmetry,
            "zero_diagonals": facts.zero_diagonals,
            "dominance_rows": facts.dominance.map(|[rows, _]| rows),
            "dominance_cols": facts.dominance.map(|[_, cols]| cols),
            "norm_1": facts.norm_1,
            "rcond": rcond.and_then(|rcond| rcond.as_ref().ok()),
            "rcond_error": rcond.and_then(|rcond| rcond.as_ref().err()),
            "singular": square.and_then(|square| square.singular.as_ref()),
            "method": square.map(|square| square.plan.chosen_method().name()),
            "reason": square.map(|square| square.plan.reason()),
        })
    }
}
