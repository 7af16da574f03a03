//! Errors that all ranks agree on before any of them returns.

use crate::ranks::Ranks;
use bandsolve::{Error, Method, Scalar};
use core::fmt;

/// What went wrong on the first rank on which something did; the same on every rank.
///
/// Indices of [`Error`] are those of the arrays of that rank.
#[derive(Debug, Clone, PartialEq)]
pub struct RankError {
    /// The rank.
    pub rank: usize,
    /// What went wrong there.
    pub error: Error,
}

impl fmt::Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}: {}", self.rank, self.error)
    }
}

impl core::error::Error for RankError {}

/// An error as ranks send it: what kind, a name, two numbers.
type Code = [u64; 4];

/// Names that errors mention.
const NAMES: [&str; 19] = [
    "an array",
    "sub",
    "diag",
    "sup",
    "bands",
    "rhs",
    "x",
    "block",
    "systems",
    "counts of rows",
    "f",
    "planes",
    "shape",
    "coordinates",
    "boundary",
    "boundary values",
    "shift",
    "mean",
    "u",
];

/// The method of [`Error::Unsupported`] that a Poisson problem has.
const POISSON: &str = "poisson";

fn place_of(name: &str) -> u64 {
    NAMES.iter().position(|other| *other == name).unwrap_or(0) as u64
}

fn encode(error: &Error) -> Code {
    match error.cause() {
        Error::Shape { what, expected, got } => [1, place_of(what), *expected as u64, *got as u64],
        Error::NotFinite { array, index } => [2, place_of(array), *index as u64, 0],
        Error::Singular { row } => [3, 0, *row as u64, 0],
        Error::NotConverged { backward_error, refinement_steps } => {
            [4, 0, backward_error.to_bits(), *refinement_steps as u64]
        }
        Error::OutOfMemory { bytes } => [5, 0, *bytes as u64, 0],
        Error::Incompatible { removed, allowed } => [7, 0, removed.to_bits(), allowed.to_bits()],
        Error::Interrupted => [9, 0, 0, 0],
        Error::Unsupported { method, .. } if *method == POISSON => [8, 0, 0, 0],
        Error::Unsupported { method, .. } => {
            [6, Method::ALL.iter().position(|other| other.name() == *method).unwrap_or(0) as u64, 0, 0]
        }
        _ => [6, 0, 0, 0],
    }
}

fn decode([kind, name, a, b]: Code) -> Option<Error> {
    let named = NAMES[(name as usize).min(NAMES.len() - 1)];
    Some(match kind {
        0 => return None,
        1 => Error::Shape { what: named, expected: a as usize, got: b as usize },
        2 => Error::NotFinite { array: named, index: a as usize },
        3 => Error::Singular { row: a as usize },
        4 => Error::NotConverged { backward_error: f64::from_bits(a), refinement_steps: b as usize },
        5 => Error::OutOfMemory { bytes: a as usize },
        7 => Error::Incompatible { removed: f64::from_bits(a), allowed: f64::from_bits(b) },
        8 => Error::Unsupported { method: POISSON, what: "this problem over ranks" },
        9 => Error::Interrupted,
        _ => {
            let method = Method::ALL[(name as usize).min(Method::ALL.len() - 1)].name();
            Error::Unsupported { method, what: "systems over ranks" }
        }
    })
}

/// What went wrong on the first rank on which something did, on all of them. Collective.
///
/// # Errors
/// That.
pub(crate) fn agree<V>(ranks: &Ranks, own: bandsolve::Result<V>) -> Result<V, RankError> {
    agree_and_tell(ranks, own, []).map(|(own, _)| own)
}

/// The same, and numbers that each rank tells all others. Collective.
///
/// # Errors
/// As [`agree`].
pub(crate) fn agree_and_tell<V, const N: usize>(
    ranks: &Ranks,
    own: bandsolve::Result<V>,
    numbers: [u64; N],
) -> Result<(V, Vec<u64>), RankError> {
    let mut told = own.as_ref().err().map_or([0; 4], encode).to_vec();
    told.extend(numbers);
    let told = ranks.all_gather(&told);
    let (mut codes, mut rest) = (Vec::with_capacity(ranks.size()), Vec::with_capacity(ranks.size() * N));
    for told in told.chunks_exact(4 + N) {
        codes.push([told[0], told[1], told[2], told[3]]);
        rest.extend_from_slice(&told[4..]);
    }
    match codes.iter().enumerate().find_map(|(rank, code)| Some((rank, decode(*code)?))) {
        Some((rank, error)) => Err(RankError { rank, error }),
        None => Ok((own.expect("no rank has an error"), rest)),
    }
}

/// The first number that is not finite. Looked for in groups, each of which is looked at as a whole.
fn first_not_finite<T: Scalar>(values: &[T]) -> Option<usize> {
    const GROUP: usize = 64;
    let all = |group: &[T]| group.iter().fold(true, |all, v| all & Scalar::is_finite(*v));
    let first = values.chunks(GROUP).position(|group| !all(group))? * GROUP;
    values[first..].iter().position(|v| !Scalar::is_finite(*v)).map(|k| first + k)
}

/// The number of columns of an array, which is the same on all ranks; each rank holds `len_of` numbers of a column. If asked, all numbers
/// have to be finite. Collective.
///
/// # Errors
/// `Shape`, `NotFinite`.
pub(crate) fn agree_on_columns<T: Scalar>(
    ranks: &Ranks,
    (what, values): (&'static str, &[T]),
    len_of: impl Fn(usize) -> usize,
    finite: bool,
) -> Result<usize, RankError> {
    let (column, got) = (len_of(ranks.rank()), values.len());
    let columns = got.checked_div(column).unwrap_or(0);
    let bad = if finite { first_not_finite(values) } else { None };
    let own = match bad {
        _ if columns * column != got => Err(Error::Shape { what, expected: columns.max(1) * column, got }),
        Some(index) => Err(Error::NotFinite { array: what, index }),
        None => Ok(()),
    };
    let ((), told) = agree_and_tell(ranks, own, [columns as u64])?;
    let most = told.iter().copied().max().unwrap_or(0);
    // What each of them has is known to all.
    match told.iter().enumerate().find(|(rank, columns)| len_of(*rank) > 0 && **columns != most) {
        Some((rank, columns)) => {
            let [expected, got] = [most, *columns].map(|columns| columns as usize * len_of(rank));
            Err(RankError { rank, error: Error::Shape { what, expected, got } })
        }
        None => Ok(most as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_threads;

    #[test]
    fn errors_come_back_as_they_were() {
        let errors = [
            Error::Shape { what: "diag", expected: 3, got: 4 },
            Error::NotFinite { array: "rhs", index: 7 },
            Error::Singular { row: 9 },
            Error::NotConverged { backward_error: 0.25, refinement_steps: 3 },
            Error::OutOfMemory { bytes: usize::MAX },
            Error::NotFinite { array: "boundary values", index: 2 },
            Error::Incompatible { removed: -1.5, allowed: 0.25 },
            Error::Unsupported { method: POISSON, what: "this problem over ranks" },
            Error::Unsupported { method: "bcyclic", what: "systems over ranks" },
            Error::Interrupted,
        ];
        for error in errors {
            assert_eq!(decode(encode(&error)), Some(error));
        }
    }

    #[test]
    fn all_ranks_return_the_error_of_the_first() {
        let fails = |rank: usize| if rank % 2 == 1 { Err(Error::Singular { row: rank }) } else { Ok(rank) };
        let got = on_threads(5, |ranks| agree(ranks, fails(ranks.rank())));
        assert_eq!(got, vec![Err(RankError { rank: 1, error: Error::Singular { row: 1 } }); 5]);
        assert_eq!(on_threads(3, |ranks| agree(ranks, Ok(ranks.rank()))), [Ok(0), Ok(1), Ok(2)]);
    }
}
