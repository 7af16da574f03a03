//! The state of a solver in a file.

use crate::error::Error;
use crate::out_of_core::{OutOfCoreSolver, Progress};
use bandsolve_kernel::Scalar;
use std::io::{self, Read, Write};

/// The first bytes of a state, with the version of the format.
const MAGIC: [u8; 8] = *b"bandooc1";

/// Number of words of the header after `MAGIC`.
const HEADER: usize = 9;

impl<T: Scalar> OutOfCoreSolver<T> {
    /// The kind of numbers of the arrays: their size in bytes, and 1 in the next byte if they are complex.
    const NUMBERS: u64 = (size_of::<T>() as u64) | ((T::COMPLEX as u64) << 8);

    /// Write the state of the solver. It has about 7/2048 of the words of a vector with n numbers.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_state(&self, out: &mut dyn Write) -> io::Result<()> {
        let Progress { steps, substitutes, next, finished, error, error_before } = self.progress;
        let header: [u64; HEADER] = [
            Self::NUMBERS,
            self.n() as u64,
            self.of_piece as u64,
            steps as u64,
            u64::from(substitutes),
            next as u64,
            u64::from(finished),
            error.to_bits(),
            error_before.to_bits(),
        ];
        out.write_all(&MAGIC)?;
        header.iter().try_for_each(|word| out.write_all(&word.to_le_bytes()))?;
        out.write_all(bytemuck::cast_slice(&self.coarse))?;
        [&self.rhs, &self.ends, &self.correction].into_iter().try_for_each(|part| out.write_all(bytemuck::cast_slice(part)))?;
        out.write_all(&MAGIC)
    }

    /// Continue from a state that [`write_state`](Self::write_state) wrote on a computer with the same order of bytes.
    ///
    /// # Errors
    /// Those of `from`, `InvalidData` for a state of another version or number type, or one that is incomplete, and `OutOfMemory`.
    pub fn read_state(from: &mut dyn Read) -> io::Result<Self> {
        let invalid = |why: &str| io::Error::new(io::ErrorKind::InvalidData, format!("not a state of this solver: {why}"));
        let mut word = || {
            let mut bytes = [0; 8];
            from.read_exact(&mut bytes).map(|()| bytes)
        };
        if word()? != MAGIC {
            return Err(invalid("it was written by something else, or by another version"));
        }
        let mut header = [0; HEADER];
        for value in &mut header {
            *value = u64::from_le_bytes(word()?);
        }
        let [numbers, n, of_piece, steps, substitutes, next, finished, error, error_before] = header;
        if numbers != Self::NUMBERS {
            return Err(invalid("it has another number type"));
        }
        let size = |v: u64| usize::try_from(v).map_err(|_| invalid("it is for a larger computer"));
        let memory = |error: Error| io::Error::new(io::ErrorKind::OutOfMemory, error);
        let mut solver = Self::new(size(n)?, 0).map_err(memory)?;
        solver.of_piece = size(of_piece)?.max(1);
        solver.progress = Progress {
            steps: size(steps)?,
            substitutes: substitutes != 0,
            next: size(next)?,
            finished: finished != 0,
            error: f64::from_bits(error),
            error_before: f64::from_bits(error_before),
        };
        if solver.progress.next >= solver.partitions.count.max(1) {
            return Err(invalid("it continues after the last row"));
        }
        from.read_exact(bytemuck::cast_slice_mut(&mut solver.coarse))?;
        for part in [&mut solver.rhs, &mut solver.ends, &mut solver.correction] {
            from.read_exact(bytemuck::cast_slice_mut(part))?;
        }
        let mut end = [0; 8];
        from.read_exact(&mut end)?;
        if end == MAGIC { Ok(solver) } else { Err(invalid("it does not end where it should")) }
    }
}
