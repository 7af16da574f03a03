//! Renumbering of the unknowns, to make the band of a matrix narrower.

use bandsolve::{Complex64, Error, Scalar, Shape};
use bandsolve_program::exit::Failure;
use bandsolve_program::io::{Symmetry, Triplets};
use bandsolve_program::memory::{affordable, filled, grow};
use bandsolve_program::report;
use bandsolve_program::structure;
use bandsolve_sparse::{Csr, EntryList, Graph, Structure};
use serde_json::{Value, json};

/// The structure of a matrix in another order, and whether the solver uses that order.
#[derive(Debug)]
pub struct Reordering {
    renumbering: Renumbering,
    given: Structure,
    reordered: Structure,
    used: bool,
}

impl Reordering {
    /// Compute the order by reverse Cuthill–McKee. The solver uses the order if it makes the band narrower.
    ///
    /// # Errors
    /// The errors of [`Renumbering::rcm`].
    pub fn rcm(a: &Triplets, given: &Structure) -> Result<Reordering, Failure> {
        let (renumbering, given) = (Renumbering::rcm(a)?, given.clone());
        let reordered = structure::structure(&Renumbered { matrix: a, places: Some(renumbering.places()) })?;
        let is_narrow = matches!(given.shape(), Shape::Tridiagonal { .. });
        let used = !is_narrow && reordered.lower + reordered.upper < given.lower + given.upper;
        Ok(Reordering { renumbering, given, reordered, used })
    }

    /// The new order, if the solver uses it.
    pub fn taken(&self) -> Option<&Renumbering> {
        self.used.then_some(&self.renumbering)
    }

    /// The structure of the matrix that is solved.
    pub fn structure(&self) -> &Structure {
        if self.used { &self.reordered } else { &self.given }
    }

    /// Numbers of diagonals below and above the main one in the new order.
    pub fn reordered_bands(&self) -> (usize, usize) {
        (self.reordered.lower, self.reordered.upper)
    }

    /// The line for the report.
    pub fn text(&self) -> String {
        let bands = |s: &Structure| report::bands(s.lower, s.upper);
        let (given, reordered) = (bands(&self.given), bands(&self.reordered));
        match self.used {
            true => format!("reverse Cuthill-McKee; in the given order {given}"),
            false => format!("as given; reverse Cuthill-McKee does not make the band narrower: {reordered}"),
        }
    }

    /// The part of the JSON report.
    pub fn json(&self) -> Value {
        let bands = |s: &Structure| json!({ "lower": s.lower, "upper": s.upper });
        json!({
            "name": "rcm",
            "narrower": self.used,
            "given": bands(&self.given),
            "reordered": bands(&self.reordered),
        })
    }
}

/// A matrix after unknown i moves to position `places[i]`. Without `places`, the positions do not change.
pub struct Renumbered<'a> {
    pub matrix: &'a Triplets,
    pub places: Option<&'a [u32]>,
}

impl<T: Scalar> EntryList<T> for Renumbered<'_> {
    fn size(&self) -> (usize, usize) {
        EntryList::<T>::size(self.matrix)
    }

    fn capacity(&self) -> usize {
        EntryList::<T>::capacity(self.matrix)
    }

    fn for_each(&self, mut f: impl FnMut(usize, usize, T)) {
        let at = |unknown: usize| self.places.map_or(unknown, |places| places[unknown] as usize);
        EntryList::for_each(self.matrix, |i, j, value| f(at(i), at(j), value));
    }
}

/// An order of the unknowns, and its inverse.
#[derive(Debug)]
pub struct Renumbering {
    order: Vec<u32>,
    places: Vec<u32>,
}

impl Renumbering {
    /// Compute the reverse Cuthill–McKee order of the graph of A + Aᵀ.
    ///
    /// # Errors
    /// [`Failure::Input`] if too little memory is free for the graph.
    pub fn rcm(a: &Triplets) -> Result<Renumbering, Failure> {
        let count = a.rows.len() * if a.symmetry == Symmetry::General { 1 } else { 2 };
        let too_many = |why: String| Failure::Input(format!("a graph of {count} entries is too large: {why}"));
        // The entries, their order and three copies of the matrix by rows.
        affordable(&[a.n_rows.saturating_add(count), 6], size_of::<(u32, f64)>()).map_err(too_many)?;
        let mut entries = Vec::new();
        grow(&mut entries, count, count).map_err(too_many)?;
        a.for_each(|i, j, value| {
            if value != Complex64::ZERO {
                entries.push((i, j, 1.0));
            }
        });
        let pattern = Csr::<f64, u32>::from_triplets(a.n_rows, a.n_rows, &entries)?;
        drop(entries);
        Self::of(Graph::of(&pattern)?.reverse_cuthill_mckee()?).map_err(Failure::Input)
    }

    fn of(order: Vec<u32>) -> Result<Renumbering, String> {
        let mut places = filled(0, order.len())?;
        order.iter().enumerate().for_each(|(place, unknown)| places[*unknown as usize] = place as u32);
        Ok(Renumbering { order, places })
    }

    /// The position of each unknown in the new order.
    pub fn places(&self) -> &[u32] {
        &self.places
    }

    /// Copy columns of numbers to the new order.
    ///
    /// # Errors
    /// A message if too little memory is free.
    pub fn reordered<T: Copy>(&self, columns: &[T]) -> Result<Vec<T>, String> {
        gathered(columns, &self.order)
    }

    /// Copy columns of numbers back to the given order.
    ///
    /// # Errors
    /// A message if too little memory is free.
    pub fn restored<T: Copy>(&self, columns: &[T]) -> Result<Vec<T>, String> {
        gathered(columns, &self.places)
    }

    /// Convert the row numbers of an error to the given order.
    pub fn given(&self, error: Error) -> Error {
        let given = |row: usize| self.order.get(row).map_or(row, |unknown| *unknown as usize);
        match error {
            Error::Singular { row } => Error::Singular { row: given(row) },
            Error::NotDefinite { row } => Error::NotDefinite { row: given(row) },
            Error::Columns { first, columns } => Error::Columns { first: Box::new(self.given(*first)), columns },
            other => other,
        }
    }
}

/// Copy each column so that its k-th number is the old number at `from[k]`.
fn gathered<T: Copy>(columns: &[T], from: &[u32]) -> Result<Vec<T>, String> {
    let mut list = Vec::new();
    grow(&mut list, columns.len(), columns.len())?;
    let columns = columns.chunks_exact(from.len().max(1));
    list.extend(columns.flat_map(|column| from.iter().map(|k| column[*k as usize])));
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_undone_and_errors_name_the_given_rows() {
        let renumbering = Renumbering::of(vec![2, 0, 1]).unwrap();
        assert_eq!(renumbering.places(), [1, 2, 0]);
        let moved = renumbering.reordered(&[10, 11, 12, 20, 21, 22]).unwrap();
        assert_eq!(moved, [12, 10, 11, 22, 20, 21]);
        assert_eq!(renumbering.restored(&moved).unwrap(), [10, 11, 12, 20, 21, 22]);
        let singular = |row| Error::Singular { row };
        assert_eq!(renumbering.given(singular(0)), singular(2));
        let columns = |row| Error::Columns { first: Box::new(singular(row)), columns: vec![3] };
        assert_eq!(renumbering.given(columns(2)), columns(1));
        let shape = Error::Shape { what: "rhs", expected: 3, got: 0 };
        assert_eq!(renumbering.given(shape.clone()), shape);
        assert!(Renumbering::of(vec![]).unwrap().reordered::<f64>(&[]).unwrap().is_empty());
    }
}
