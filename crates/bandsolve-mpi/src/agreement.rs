//! Errors that all ranks agree on before any of them returns.

use crate::ranks::Ranks;
use bandsolve::{Error, Scalar};
use core::fmt;
use std::sync::{Mutex, PoisonError};

/// The error of the lowest rank that failed, the same on all ranks.
///
/// Indices in [`Error`] refer to the arrays of that rank.
///
/// # Examples
/// ```
/// use bandsolve::Error;
/// use bandsolve_mpi::{DistributedBlocks, RankError, on_threads};
/// // The diagonal of rank 1 contains a NaN. Both ranks get the same error.
/// let errors = on_threads(2, |ranks| {
///     let diag = [2.0, if ranks.rank() == 1 { f64::NAN } else { 2.0 }];
///     DistributedBlocks::new(ranks, 1, [&[-1.0; 2], &diag, &[-1.0; 2]]).unwrap_err()
/// });
/// let expected = RankError { rank: 1, error: Error::NotFinite { array: "diag", index: 1 } };
/// assert_eq!(errors, [expected.clone(), expected]);
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct RankError {
    /// The lowest rank that failed.
    pub rank: usize,
    /// The error on this rank.
    pub error: Error,
}

impl fmt::Display for RankError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rank {}: {}", self.rank, self.error)
    }
}

impl core::error::Error for RankError {}

/// An error as a message: the kind, two numbers, and the bytes of the texts that follow in a second message.
type Code = [u64; 4];

/// Between the texts of an error.
const SEPARATOR: &str = "\0";

/// The error for a call from another thread. Its messages could mix with those of the thread that created the ranks.
fn other_thread() -> Error {
    Error::invalid("ranks", "were created in another thread", "a call in the thread that created them")
}

/// The error for options that differ from the options of rank 0.
fn other_options() -> Error {
    Error::invalid("options", "differ from those of rank 0", "the same options on all ranks")
}

/// The kind of an error, its numbers and its texts.
fn encode(error: &Error) -> (Code, String) {
    let text = |texts: &[&str]| texts.join(SEPARATOR);
    let ([kind, a, b], text) = match error.cause() {
        Error::Shape { what, expected, got } => ([1, *expected as u64, *got as u64], text(&[what])),
        Error::NotFinite { array, index } => ([2, *index as u64, 0], text(&[array])),
        Error::Singular { row } => ([3, *row as u64, 0], String::new()),
        Error::NotConverged { backward_error, refinement_steps } => {
            ([4, backward_error.to_bits(), *refinement_steps as u64], String::new())
        }
        Error::OutOfMemory { bytes } => ([5, *bytes as u64, 0], String::new()),
        Error::Unsupported { method, what } => ([6, 0, 0], text(&[method, what])),
        Error::Incompatible { removed, allowed } => ([7, removed.to_bits(), allowed.to_bits()], String::new()),
        Error::InvalidArgument { argument, problem, expected } => ([8, 0, 0], text(&[argument, problem, expected])),
        Error::Interrupted => ([9, 0, 0], String::new()),
        Error::NotDefinite { row } => ([10, *row as u64, 0], String::new()),
        other => ([8, 0, 0], text(&["the call", &format!("failed: {other}"), "no failure"])),
    };
    ([kind, a, b, text.len() as u64], text)
}

fn decode([kind, a, b, _]: Code, text: &str) -> Error {
    let mut texts = text.split(SEPARATOR);
    let mut next = || texts.next().unwrap_or_default();
    match kind {
        1 => Error::Shape { what: interned(next()), expected: a as usize, got: b as usize },
        2 => Error::NotFinite { array: interned(next()), index: a as usize },
        3 => Error::Singular { row: a as usize },
        4 => Error::NotConverged { backward_error: f64::from_bits(a), refinement_steps: b as usize },
        5 => Error::OutOfMemory { bytes: a as usize },
        6 => Error::Unsupported { method: interned(next()), what: interned(next()) },
        7 => Error::Incompatible { removed: f64::from_bits(a), allowed: f64::from_bits(b) },
        9 => Error::Interrupted,
        10 => Error::NotDefinite { row: a as usize },
        _ => {
            let [argument, problem, expected] = [(); 3].map(|()| next().to_owned());
            Error::invalid(argument, problem, expected)
        }
    }
}

/// The text, which is kept until the program ends: the texts in errors are part of programs, and there are few of them.
fn interned(text: &str) -> &'static str {
    static TEXTS: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    let mut texts = TEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = texts.iter().copied().find(|known| *known == text);
    known.unwrap_or_else(|| {
        let text: &'static str = Box::leak(text.into());
        texts.push(text);
        text
    })
}

/// The error of `rank`, which has this code on all ranks. `text` is the text of the error of this rank. Collective.
fn error_of(ranks: &Ranks, rank: usize, code: Code, text: &str) -> Error {
    let words = (code[3] as usize).div_ceil(size_of::<u64>());
    let mut bytes = vec![0; words * size_of::<u64>()];
    if rank == ranks.rank() {
        bytes[..text.len()].copy_from_slice(text.as_bytes());
    }
    let (local_words, _) = bytes.as_chunks();
    let local_words: Vec<u64> = local_words.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let texts = if local_words.is_empty() { Vec::new() } else { ranks.all_gather(&local_words) };
    let text: Vec<u8> = texts.iter().skip(rank * words).take(words).flat_map(|word| word.to_le_bytes()).collect();
    decode(code, &String::from_utf8_lossy(&text[..code[3] as usize]))
}

/// Return the value of this rank if no rank failed; otherwise the error of the lowest rank that failed. Collective.
///
/// # Errors
/// The error of the lowest rank that failed.
pub(crate) fn agree<V>(ranks: &Ranks, local: bandsolve::Result<V>) -> Result<V, RankError> {
    agree_and_tell(ranks, local, []).map(|(local, _)| local)
}

/// Do the same as [`agree`], and also gather `numbers` of each rank. Collective.
///
/// # Errors
/// As [`agree`].
pub(crate) fn agree_and_tell<V, const N: usize>(
    ranks: &Ranks,
    local: bandsolve::Result<V>,
    numbers: [u64; N],
) -> Result<(V, Vec<u64>), RankError> {
    let local = if ranks.in_their_thread() { local } else { Err(other_thread()) };
    let (code, text) = local.as_ref().err().map_or(Default::default(), encode);
    let mut gathered = code.to_vec();
    gathered.extend(numbers);
    let gathered = ranks.all_gather(&gathered);
    let (mut codes, mut rest) = (Vec::with_capacity(ranks.size()), Vec::with_capacity(ranks.size() * N));
    for gathered in gathered.chunks_exact(4 + N) {
        codes.push([gathered[0], gathered[1], gathered[2], gathered[3]]);
        rest.extend_from_slice(&gathered[4..]);
    }
    match codes.into_iter().enumerate().find(|(_, code)| code[0] != 0) {
        Some((rank, code)) => Err(RankError { rank, error: error_of(ranks, rank, code, &text) }),
        None => Ok((local.expect("no rank has an error"), rest)),
    }
}

/// Do the same as [`agree`], and check that `options` are the same on all ranks. Collective.
///
/// # Errors
/// As [`agree`], and `InvalidArgument` for the first rank with options other than those of rank 0.
pub(crate) fn agree_alike<V, const N: usize>(
    ranks: &Ranks,
    local: bandsolve::Result<V>,
    options: [u64; N],
) -> Result<V, RankError> {
    let (local, gathered) = agree_and_tell(ranks, local, options)?;
    alike(gathered.chunks_exact(N.max(1)).position(|other| other != &gathered[..N]))?;
    Ok(local)
}

/// Do the same as [`agree`], check that `method` is the same on all ranks, and return whether `singular` is true on any rank. Collective.
///
/// # Errors
/// As [`agree_alike`].
pub(crate) fn agree_on_method<V>(
    ranks: &Ranks,
    local: bandsolve::Result<V>,
    (method, singular): (u64, bool),
) -> Result<(V, bool), RankError> {
    let (local, gathered) = agree_and_tell(ranks, local, [method, u64::from(singular)])?;
    let (gathered, _) = gathered.as_chunks::<2>();
    alike(gathered.iter().position(|[other, _]| *other != gathered[0][0]))?;
    Ok((local, gathered.iter().any(|[_, singular]| *singular == 1)))
}

/// Return an error if `other` is a rank with options other than those of rank 0. All ranks pass the same value.
///
/// # Errors
/// `InvalidArgument`.
pub(crate) fn alike(other: Option<usize>) -> Result<(), RankError> {
    other.map_or(Ok(()), |rank| Err(RankError { rank, error: other_options() }))
}

/// Find the first number that is not finite. A test of whole groups allows SIMD.
fn first_not_finite<T: Scalar>(values: &[T]) -> Option<usize> {
    const GROUP: usize = 64;
    let all = |group: &[T]| group.iter().fold(true, |all, v| all & Scalar::is_finite(*v));
    let first = values.chunks(GROUP).position(|group| !all(group))? * GROUP;
    values[first..].iter().position(|v| !Scalar::is_finite(*v)).map(|k| first + k)
}

/// An array with the rows of this rank of a number of columns.
pub(crate) struct LocalColumns<'a, T> {
    pub name: &'static str,
    pub values: &'a [T],
    /// Number of rows of a rank.
    pub len_of: &'a dyn Fn(usize) -> usize,
    /// Whether all numbers must be finite.
    pub finite: bool,
    /// An option below 8 that must be the same on all ranks.
    pub option: u64,
}

impl<T: Scalar> LocalColumns<'_, T> {
    /// Check the array, and return the number of columns on this rank.
    fn checked(&self, column: usize) -> bandsolve::Result<usize> {
        let (what, got) = (self.name, self.values.len());
        let columns = got.checked_div(column).unwrap_or(0);
        match if self.finite { first_not_finite(self.values) } else { None } {
            _ if columns * column != got => Err(Error::Shape { what, expected: columns.max(1) * column, got }),
            Some(index) => Err(Error::NotFinite { array: what, index }),
            None => Ok(columns),
        }
    }

    /// Agree on the number of columns, and return it with the result of `prepare` for this number. Collective.
    ///
    /// `prepare` allocates memory, so that all ranks have theirs before any rank continues. A rank without rows does not know the number of
    /// columns, and calls `prepare(0)`.
    ///
    /// # Errors
    /// `Shape`, `NotFinite`, `InvalidArgument` if the option differs, and those of `prepare`.
    pub fn agree<V>(
        &self,
        ranks: &Ranks,
        prepare: impl FnOnce(usize) -> bandsolve::Result<V>,
    ) -> Result<(usize, V), RankError> {
        let (len_of, local) = (self.len_of, self.checked((self.len_of)(ranks.rank())));
        let columns = *local.as_ref().unwrap_or(&0) as u64;
        let prepared = local.and_then(prepare);
        let (prepared, gathered) = agree_and_tell(ranks, prepared, [columns << OPTION_BITS | self.option])?;
        let (columns, option) = (|gathered: &u64| (gathered >> OPTION_BITS) as usize, gathered[0] & OPTIONS);
        alike(gathered.iter().position(|gathered| gathered & OPTIONS != option))?;
        let most = gathered.iter().map(columns).max().unwrap_or(0);
        // All ranks know the number of columns of each rank.
        match gathered.iter().map(columns).enumerate().find(|(rank, columns)| len_of(*rank) > 0 && *columns != most) {
            Some((rank, columns)) => {
                let [expected, got] = [most, columns].map(|columns| columns * len_of(rank));
                Err(RankError { rank, error: Error::Shape { what: self.name, expected, got } })
            }
            None => Ok((most, prepared)),
        }
    }
}

/// Number of bits of the option in the number that ranks exchange.
const OPTION_BITS: u32 = 3;
const OPTIONS: u64 = (1 << OPTION_BITS) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::on_threads;

    #[test]
    fn decoding_inverts_encoding() {
        let errors = [
            Error::Shape { what: "diag", expected: 3, got: 4 },
            Error::NotFinite { array: "rhs", index: 7 },
            Error::Singular { row: 9 },
            Error::NotConverged { backward_error: 0.25, refinement_steps: 3 },
            Error::OutOfMemory { bytes: usize::MAX },
            Error::NotFinite { array: "boundary values", index: 2 },
            Error::Incompatible { removed: -1.5, allowed: 0.25 },
            Error::invalid("shape", "has 4 axes", "one to three axes"),
            Error::Unsupported { method: "bcyclic", what: "systems over ranks" },
            Error::NotDefinite { row: 5 },
            other_thread(),
            other_options(),
            Error::Interrupted,
        ];
        for error in errors {
            let (code, text) = encode(&error);
            assert_eq!(decode(code, &text), error);
        }
    }

    #[test]
    fn all_ranks_return_the_error_of_the_first() {
        let fails = |rank: usize| if rank % 2 == 1 { Err(Error::Singular { row: rank }) } else { Ok(rank) };
        let got = on_threads(5, |ranks| agree(ranks, fails(ranks.rank())));
        assert_eq!(got, vec![Err(RankError { rank: 1, error: Error::Singular { row: 1 } }); 5]);
        let with_text = |rank: usize| Error::invalid("ncv", format!("is {rank}"), "a number above k");
        let got =
            on_threads(3, |ranks| agree(ranks, if ranks.rank() == 0 { Ok(()) } else { Err(with_text(ranks.rank())) }));
        assert_eq!(got, vec![Err(RankError { rank: 1, error: with_text(1) }); 3]);
        assert_eq!(on_threads(3, |ranks| agree(ranks, Ok(ranks.rank()))), [Ok(0), Ok(1), Ok(2)]);
        let alike = |ranks: &Ranks| agree_alike(ranks, Ok(()), [7, ranks.rank() as u64 / 2]);
        assert_eq!(on_threads(2, alike), [Ok(()), Ok(())]);
        assert_eq!(on_threads(4, alike), vec![Err(RankError { rank: 2, error: other_options() }); 4]);
    }
}
