//! The file of sizes that were measured on the devices of a machine.

use bandsolve::{Tuning, host};
use core::fmt::{self, Display, Formatter};
use core::str::FromStr;
use std::io;
use std::path::PathBuf;

/// Sizes that determine the speed of a device, for one number type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sizes {
    /// Rows of a partition of large systems (15 to 63).
    ///
    /// Fewer rows mean less work on chip at the same time. More rows mean less memory traffic for the coarse systems.
    /// The last bits of x depend on this size.
    pub partition_rows: usize,
    /// Threads of a block: 64, 128 or 256.
    pub threads: u32,
    /// Number of right-hand sides that are on chip at the same time: 1, 2, 4 or 8.
    pub rhs_on_chip: usize,
}

impl Default for Sizes {
    /// The best sizes of Klein: 31 rows, 4 right-hand sides; and 128 threads.
    fn default() -> Self {
        Self { partition_rows: 31, threads: 128, rhs_on_chip: 4 }
    }
}

/// Maximum length of the file in bytes.
const LONGEST: u64 = 1 << 20;
pub(crate) const THREADS: [u32; 3] = [64, 128, 256];
pub(crate) const ON_CHIP: [usize; 4] = [1, 2, 4, 8];

/// The sizes that were measured on the devices of this machine, in a text file next to the file of [`Tuning`].
///
/// You may read, edit and delete the file. Without it, the built-in sizes apply.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct DeviceTuning {
    /// Device, number type, and sizes.
    entries: Vec<(String, String, Sizes)>,
}

impl DeviceTuning {
    /// Get the path of the file.
    pub fn path() -> Option<PathBuf> {
        Some(Tuning::path()?.with_file_name("gpu-tuning"))
    }

    /// Read the file. Without a file, the result is empty.
    ///
    /// # Errors
    /// If the file cannot be read, is a pipe or a device, is longer than 1 MiB, or has an invalid line.
    pub fn load() -> io::Result<Self> {
        let Some(path) = Self::path() else { return Ok(Self::default()) };
        match host::read_file(&path, LONGEST) {
            Ok(text) => text.parse(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    /// Write the file completely or not at all, and return its path.
    ///
    /// # Errors
    /// If the file cannot be written, or is a pipe or a device.
    pub fn save(&self) -> io::Result<PathBuf> {
        let path = Self::path()
            .ok_or_else(|| io::Error::other("no cache directory is known; set HOME or BANDSOLVE_TUNING"))?;
        path.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        host::write_file(&path, self.to_string())?;
        Ok(path)
    }

    /// Get the sizes for a number type on the device with this name.
    pub fn sizes(&self, device: &str, number_type: &str) -> Option<Sizes> {
        self.entries.iter().find(|(d, t, _)| d == device && t == number_type).map(|(.., sizes)| *sizes)
    }

    pub(crate) fn set(&mut self, device: &str, number_type: &str, sizes: Sizes) {
        self.entries.retain(|(d, t, _)| d != device || t != number_type);
        self.entries.push((device.into(), number_type.into(), sizes));
    }
}

impl Display for DeviceTuning {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "# Measured by `bandsolve tune --device …`; without this file, the built-in sizes apply.")?;
        writeln!(f, "# Number type on device = rows per partition, threads per block, right-hand sides on chip")?;
        for (device, number_type, sizes) in &self.entries {
            let Sizes { partition_rows, threads, rhs_on_chip } = sizes;
            writeln!(f, "{number_type} on {device} = {partition_rows}, {threads}, {rhs_on_chip}")?;
        }
        Ok(())
    }
}

impl FromStr for DeviceTuning {
    type Err = io::Error;
    fn from_str(text: &str) -> io::Result<Self> {
        let mut tuning = Self::default();
        for (k, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let entry = line.split_once('=').and_then(|(name, sizes)| {
                let (number_type, device) = name.trim().split_once(" on ")?;
                let numbers: Vec<usize> = sizes.split(',').map_while(|size| size.trim().parse().ok()).collect();
                let &[partition_rows, threads, rhs_on_chip] = &*numbers else { return None };
                let known = (15..=63).contains(&partition_rows)
                    && THREADS.contains(&(threads as u32))
                    && ON_CHIP.contains(&rhs_on_chip);
                let sizes = Sizes { partition_rows, threads: threads as u32, rhs_on_chip };
                known.then_some((device, number_type, sizes))
            });
            let reason =
                || format!("line {}: `{line}` is not `TYPE on DEVICE = ROWS, THREADS, RIGHT-HAND SIDES`", k + 1);
            let (device, number_type, sizes) =
                entry.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, reason()))?;
            tuning.set(device, number_type, sizes);
        }
        Ok(tuning)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_as_it_was_written() {
        let mut tuning: DeviceTuning = "f64 on A card, model 2 = 23, 64, 8 # fast\n\n# nothing".parse().unwrap();
        let sizes = Sizes { partition_rows: 23, threads: 64, rhs_on_chip: 8 };
        assert_eq!(tuning.sizes("A card, model 2", "f64"), Some(sizes));
        assert_eq!(tuning.sizes("A card, model 2", "f32"), None);
        tuning.set("A card, model 2", "f64", Sizes::default());
        assert_eq!(tuning.to_string().parse::<DeviceTuning>().unwrap(), tuning);
        for line in [
            "x",
            "f64 on A = 31",
            "f64 on A = 31, 100, 4",
            "f64 on A = 5, 128, 4",
            "f64 on A = 31, 128, 3",
            "f64 = 31, 128, 4",
        ] {
            assert!(line.parse::<DeviceTuning>().unwrap_err().to_string().contains("line 1"), "{line}");
        }
    }
}
