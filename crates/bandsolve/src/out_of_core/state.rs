//! The state of a solver in a file.

use crate::error::Error;
use crate::out_of_core::partition::EliminationKind;
use crate::out_of_core::{MeasuredPass, OutOfCoreSolver, Progress};
use bandsolve_kernel::Scalar;
use std::io::{self, ErrorKind, Read, Write};

/// The first and the last bytes of a state, with the version of the format.
const MAGIC: [u8; 8] = *b"bandooc1";

/// Number of words of the header after `MAGIC`.
const HEADER: usize = 8;

impl<T: Scalar> OutOfCoreSolver<T> {
    /// The type of the numbers: their size in bytes, and 1 in the next byte if they are complex.
    const NUMBERS: u64 = (size_of::<T>() as u64) | ((T::COMPLEX as u64) << 8);

    /// Number of bytes that [`write_state`](Self::write_state) writes at most.
    pub fn state_bytes(&self) -> usize {
        let count = self.partitions.count;
        (HEADER + 2) * size_of::<u64>() + count + 10 * count * size_of::<T>()
    }

    /// Write the state of the solver between two pieces.
    ///
    /// While x is corrected, the state continues with the pass that computes x from the coarse unknowns. States from before the first correction are not
    /// valid for a corrected x: store the state before the first piece that reads x.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write_state(&self, out: &mut dyn Write) -> io::Result<()> {
        let Progress { steps, substitutes, next, finished, measured, .. } = self.progress;
        let restarts = steps > 0;
        let (substitutes, finished) = (substitutes || restarts, finished && !restarts);
        let (next, measured) = if restarts { (0, MeasuredPass::NOTHING) } else { (next, measured) };
        let header: [u64; HEADER] = [
            Self::NUMBERS,
            self.n() as u64,
            u64::from(substitutes),
            next as u64,
            u64::from(finished),
            measured.error.to_bits(),
            measured.largest.to_bits(),
            measured.ratio.to_bits(),
        ];
        out.write_all(&MAGIC)?;
        header.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
        let known = if substitutes || finished { self.partitions.count } else { next };
        for elimination in &self.eliminations[..known] {
            out.write_all(&[u8::from(*elimination == EliminationKind::Rotations)])?;
        }
        if substitutes || finished {
            // Before the first correction, `ends` is 0.
            let coarse = if restarts { &self.ends } else { &self.correction };
            out.write_all(bytemuck::cast_slice(coarse))?;
        } else {
            out.write_all(bytemuck::cast_slice(&self.coarse[..2 * known]))?;
            out.write_all(bytemuck::cast_slice(&self.rhs[..2 * known]))?;
        }
        out.write_all(&MAGIC)
    }

    /// Continue from a state that [`write_state`](Self::write_state) wrote on a computer with the same order of bytes. The size of the pieces can be another.
    ///
    /// # Errors
    /// `InvalidData` if the state is for another n, number type or version, or is incomplete; `OutOfMemory`; and the errors of reading. Changed numbers in a state are not detected.
    pub fn read_state(n: usize, piece_rows: usize, from: &mut dyn Read) -> io::Result<Self> {
        let invalid = |why: &str| io::Error::new(ErrorKind::InvalidData, format!("the state cannot be used: {why}"));
        let mut read = |bytes: &mut [u8]| {
            from.read_exact(bytes).map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => invalid("it is incomplete"),
                _ => error,
            })
        };
        let mut word = [0; 8];
        read(&mut word)?;
        if word != MAGIC {
            return Err(invalid("it was written by another program or version"));
        }
        let mut header = [0; HEADER];
        for value in &mut header {
            read(&mut word)?;
            *value = u64::from_le_bytes(word);
        }
        let [numbers, of_n, substitutes, next, finished, error, largest, ratio] = header;
        if numbers != Self::NUMBERS || of_n != n as u64 {
            return Err(invalid("it belongs to a system with another number of unknowns or another number type"));
        }
        let memory = |error: Error| io::Error::new(ErrorKind::OutOfMemory, error);
        let mut solver = Self::new(n, piece_rows).map_err(memory)?;
        let count = solver.partitions.count;
        let next = usize::try_from(next).unwrap_or(usize::MAX);
        let valid = match [substitutes, finished] {
            [0, 0] | [1, 0] => next < count,
            [0, 1] => next == 0,
            _ => false,
        };
        if !valid {
            return Err(invalid("it is damaged"));
        }
        let [error, largest, ratio] = [error, largest, ratio].map(f64::from_bits);
        let (substitutes, finished) = (substitutes == 1, finished == 1);
        solver.progress = Progress {
            substitutes,
            next,
            finished,
            measured: MeasuredPass { error, largest, ratio },
            ..solver.progress
        };
        let known = if substitutes || finished { count } else { next };
        for elimination in &mut solver.eliminations[..known] {
            let mut byte = [0];
            read(&mut byte)?;
            *elimination = match byte {
                [0] => EliminationKind::Exchanges,
                [1] => EliminationKind::Rotations,
                _ => return Err(invalid("it is damaged")),
            };
        }
        if substitutes || finished {
            read(bytemuck::cast_slice_mut(&mut solver.correction))?;
            solver.measure_ends();
        } else {
            read(bytemuck::cast_slice_mut(&mut solver.coarse[..2 * known]))?;
            read(bytemuck::cast_slice_mut(&mut solver.rhs[..2 * known]))?;
        }
        read(&mut word)?;
        if word == MAGIC { Ok(solver) } else { Err(invalid("it is damaged")) }
    }
}
