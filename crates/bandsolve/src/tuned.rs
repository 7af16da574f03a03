//! Tuning numbers that are measured once per machine and kept in a file.

use crate::host;
use core::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::sync::LazyLock;

/// Tuning numbers of a machine.
///
/// [`Tuning::measure`] (on the command line: `bandsolve tune`) measures them, and [`Tuning::save`] writes them to a small text file
/// that you can edit or delete. Without the file, the library uses built-in numbers derived from operation counts.
///
/// The numbers set the sizes of the partitions of a banded system with more than two [`partitions`](crate::Plan::partitions), and
/// thereby the rounding of x. [`Plan::inner_row_cost`](crate::Plan::inner_row_cost) overrides them.
///
/// # Examples
/// ```
/// use bandsolve::Tuning;
/// let tuning = Tuning::default();
/// assert_eq!(tuning.inner_row_cost(8), 4.0);
/// let measured: Tuning = "spike.inner-row-cost.8 = 3.5\nspike.inner-row-cost.32 = 4.5".parse()?;
/// assert_eq!(measured.inner_row_cost(16), 4.0);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Tuning {
    /// Half-bandwidths in increasing order, each with its cost.
    pub(crate) inner_row_cost: Vec<(usize, f64)>,
}

/// Maximum size of a tuning file in bytes. [`Tuning::save`] writes a few lines.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// The name of an entry up to its half-bandwidth.
const INNER_ROW_COST: &str = "spike.inner-row-cost.";

impl Tuning {
    /// The path of the file: the environment variable `BANDSOLVE_TUNING`, otherwise `bandsolve/tuning` in the user's cache
    /// directory; `None` if neither is known.
    pub fn path() -> Option<PathBuf> {
        let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        variable("BANDSOLVE_TUNING").or_else(|| {
            let caches = variable("XDG_CACHE_HOME").or_else(|| variable("LOCALAPPDATA"));
            let caches = caches.or_else(|| variable("HOME").map(|home| home.join(".cache")));
            caches.map(|caches| caches.join("bandsolve").join("tuning"))
        })
    }

    /// Read the file; `None` if it does not exist.
    ///
    /// # Errors
    /// If the file cannot be read, is a pipe or a device, is longer than 1 MiB, or has an invalid line.
    pub fn load() -> io::Result<Option<Tuning>> {
        let Some(path) = Self::path() else { return Ok(None) };
        match host::read_file(&path, MAX_FILE_BYTES) {
            Ok(text) => text.parse().map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The numbers that this process uses, read from the file at the first call. If the file is missing or invalid, these are the
    /// built-in numbers.
    pub fn current() -> &'static Tuning {
        static CURRENT: LazyLock<Tuning> = LazyLock::new(|| Tuning::load().ok().flatten().unwrap_or_default());
        &CURRENT
    }

    /// Write the file completely or not at all, and return its path.
    ///
    /// # Errors
    /// If no path is known, the file cannot be written, or the path is a pipe or a device.
    pub fn save(&self) -> io::Result<PathBuf> {
        let path = Self::path()
            .ok_or_else(|| io::Error::other("no cache directory is known: set BANDSOLVE_TUNING or HOME"))?;
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        host::write_file(&path, self.to_string())?;
        Ok(path)
    }

    /// Time per row of an inner partition, relative to a partition at an end, for banded matrices of this half-bandwidth.
    ///
    /// The half-bandwidth is the number of diagonals above or below the main one. Between the measured half-bandwidths, the result is
    /// interpolated. Without measurements, the result is 4.
    pub fn inner_row_cost(&self, half_bandwidth: usize) -> f64 {
        let known = &self.inner_row_cost;
        let next = known.partition_point(|(half, _)| *half < half_bandwidth);
        match (next.checked_sub(1).map(|before| known[before]), known.get(next).copied()) {
            (Some((low, before)), Some((high, after))) => {
                let log = |half: usize| (half as f64).ln();
                before + (after - before) * (log(half_bandwidth) - log(low)) / (log(high) - log(low))
            }
            (Some((_, cost)), None) | (None, Some((_, cost))) => cost,
            (None, None) => crate::tuning::SPIKE_INNER_ROW_COST,
        }
    }
}

impl core::fmt::Display for Tuning {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let mut text = String::from(
            "# Measured on this machine by `bandsolve tune`. Without this file, bandsolve uses built-in numbers.\n\
             # Time per row of an inner partition, relative to a partition at an end, for each half-bandwidth:\n",
        );
        for (half, cost) in &self.inner_row_cost {
            writeln!(text, "{INNER_ROW_COST}{half} = {cost:.3}")?;
        }
        f.write_str(&text)
    }
}

impl core::str::FromStr for Tuning {
    type Err = io::Error;
    fn from_str(text: &str) -> io::Result<Self> {
        let mut inner_row_cost = Vec::new();
        for (k, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let entry = line.split_once('=').and_then(|(name, value)| {
                let half = name.trim().strip_prefix(INNER_ROW_COST)?.parse::<usize>().ok().filter(|half| *half > 0)?;
                let cost = value.trim().parse::<f64>().ok().filter(|cost| (1.0..=100.0).contains(cost))?;
                Some((half, cost))
            });
            let reason = || {
                let expected = format!("`{INNER_ROW_COST}HALF_BANDWIDTH = COST` with COST from 1 to 100");
                format!("line {}: `{line}` is invalid, expected {expected}", k + 1)
            };
            inner_row_cost.push(entry.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, reason()))?);
        }
        inner_row_cost.sort_by_key(|(half, _)| *half);
        inner_row_cost.dedup_by_key(|(half, _)| *half);
        Ok(Tuning { inner_row_cost })
    }
}

#[cfg(test)]
mod tests {
    use super::Tuning;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let tuning: Tuning =
            "spike.inner-row-cost.64 = 5 # wide\n\n# nothing\nspike.inner-row-cost.4=3".parse().unwrap();
        assert_eq!(tuning, Tuning { inner_row_cost: vec![(4, 3.0), (64, 5.0)] });
        assert_eq!(tuning.to_string().parse::<Tuning>().unwrap(), tuning);
        for (half, cost) in [(1, 3.0), (4, 3.0), (16, 4.0), (64, 5.0), (1000, 5.0)] {
            assert!((tuning.inner_row_cost(half) - cost).abs() < 1e-12, "{half}");
        }
        assert_eq!("".parse::<Tuning>().unwrap(), Tuning::default());
    }

    #[test]
    fn invalid_lines_are_errors() {
        for line in
            ["x", "spike.inner-row-cost.4", "spike.inner-row-cost.0 = 3", "spike.inner-row-cost.4 = nan", "a = 3"]
        {
            let error = line.parse::<Tuning>().unwrap_err().to_string();
            assert!(error.contains("line 1"), "{error}");
        }
    }
}
