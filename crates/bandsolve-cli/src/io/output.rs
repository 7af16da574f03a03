//! Files that are complete or not there at all.

use super::temporary::{self, Temporary};
use crate::exit::Failure;
use crate::progress;
use bandsolve::{RealScalar, Scalar};
use bandsolve_io::npy::{self, NpyOrder};
use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Writes a file through `fill`: into a temporary file beside it, renamed when all of it is on the disk. `-` is standard output.
///
/// Where something other than a file already stands (a pipe, a device) it is written to directly. A reader who closes
/// the pipe is no error.
///
/// # Errors
/// [`Failure::Other`]; no part of the output is left behind.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::Other(format!("{}: cannot be written: {e}", path.display()));
    temporary::prepare_for_signals();
    if path.as_os_str() == "-" {
        return forgive_closed_pipe(stream(io::stdout().lock(), fill)).map_err(failed);
    }
    let target = target(path);
    if target.metadata().is_ok_and(|m| !m.is_file() && !m.is_dir()) {
        let direct = OpenOptions::new().write(true).open(&target).and_then(|file| stream(file, fill));
        return forgive_closed_pipe(direct).map_err(failed);
    }
    replace(&target, fill).map_err(failed)
}

/// The file that a path leads to, through symbolic links, under the one name that tells it from all others; it need not exist yet.
pub fn target(path: &Path) -> PathBuf {
    if let Ok(there) = path.canonicalize() {
        return there;
    }
    let named = path.read_link().map_or_else(|_| path.to_path_buf(), |to| folder(path).join(to));
    let absolute = folder(&named).canonicalize().ok().and_then(|folder| Some(folder.join(named.file_name()?)));
    absolute.unwrap_or(named)
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Refuses what [`write()`] is sure to fail at, before the work is done.
///
/// # Errors
/// [`Failure::Other`].
pub fn check(path: &Path) -> Result<(), Failure> {
    let target = target(path);
    let why = match folder(&target).is_dir() {
        false => "there is no such folder",
        true if target.is_dir() => "it is a directory",
        true => return Ok(()),
    };
    Err(Failure::Other(format!("{}: cannot be written: {why}", path.display())))
}

fn stream(out: impl Write, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    fill(&mut out)?;
    out.flush()
}

fn forgive_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

fn replace(target: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if target.is_dir() {
        return Err(io::Error::other("it is a directory"));
    }
    let (file, temporary) = Temporary::beside(target)?;
    stream(&file, fill)?;
    flush(&file)?;
    drop(file);
    temporary.rename(target)
}

/// To the disk: what only shows there (no space, a server that is gone) is an error before the old file has given way.
fn flush(file: &File) -> io::Result<()> {
    match file.sync_all() {
        // File systems that cannot are not to blame the file for it.
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

/// Formats that solutions are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Matrix Market array.
    MatrixMarket,
    /// NumPy array.
    Npy,
}

impl Format {
    /// The format that a file name asks for.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an unknown ending.
    pub fn of(path: &Path) -> Result<Format, Failure> {
        match path.extension().and_then(|e| e.to_str()) {
            _ if path.as_os_str() == "-" => Ok(Format::MatrixMarket),
            Some("mtx") => Ok(Format::MatrixMarket),
            Some("npy") => Ok(Format::Npy),
            _ => Err(Failure::Usage(format!("--out {}: the name must end in .mtx or .npy", path.display()))),
        }
    }
}

/// Writes x, columns of length `n`, with every digit that it takes to read the same numbers again.
///
/// # Errors
/// [`Failure::Other`].
pub fn write_solution<T: Scalar>(path: &Path, format: Format, n: usize, x: &[T]) -> Result<(), Failure> {
    let columns = x.len().checked_div(n).unwrap_or(1);
    let bar = progress::writing(path, x.len() as u64);
    // The clock is read with every step of a bar, also of one that is not shown.
    let parts = x.chunks(1 << 12).inspect(|part| bar.inc(part.len() as u64));
    write(path, |out| match format {
        Format::MatrixMarket => {
            let field = if T::COMPLEX { "complex" } else { "real" };
            writeln!(out, "%%MatrixMarket matrix array {field} general\n{n} {columns}")?;
            parts.flatten().try_for_each(|v| write_number(out, *v))
        }
        Format::Npy => {
            let bytes = size_of::<T::Real>();
            let descr = if T::COMPLEX { format!("<c{}", 2 * bytes) } else { format!("<f{bytes}") };
            let shape = [n, columns];
            let shape = if columns == 1 { &shape[..1] } else { &shape };
            npy::write_header(&mut &mut *out, &descr, NpyOrder::Columns, shape)?;
            parts.flatten().try_for_each(|v| write_raw(out, *v))
        }
    })
}

/// Writes an array of real numbers of this shape, by rows, as .npy.
///
/// # Errors
/// [`Failure::Other`].
pub fn write_field<T: Scalar>(path: &Path, shape: &[usize], x: &[T]) -> Result<(), Failure> {
    let bar = progress::writing(path, x.len() as u64);
    let parts = x.chunks(1 << 12).inspect(|part| bar.inc(part.len() as u64));
    write(path, |out| {
        npy::write_header(&mut &mut *out, &format!("<f{}", size_of::<T>()), NpyOrder::Rows, shape)?;
        parts.flatten().try_for_each(|v| write_raw(out, *v))
    })
}

/// One line: the shortest digits that read back as the same number.
pub fn write_number<T: Scalar>(out: &mut dyn Write, value: T) -> io::Result<()> {
    if T::COMPLEX { writeln!(out, "{:?} {:?}", value.re(), value.im()) } else { writeln!(out, "{:?}", value.re()) }
}

fn write_raw<T: Scalar>(out: &mut dyn Write, value: T) -> io::Result<()> {
    let parts = [value.re(), value.im()];
    let parts = if T::COMPLEX { &parts[..] } else { &parts[..1] };
    parts.iter().try_for_each(|part| {
        let wide = part.to_f64();
        if size_of::<T::Real>() == 4 {
            out.write_all(&(wide as f32).to_le_bytes())
        } else {
            out.write_all(&wide.to_le_bytes())
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = std::env::temp_dir().join(format!("bandsolve-output-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("x.mtx");
        std::fs::write(&path, "old").unwrap();
        let result = write(&path, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("disk full"))
        });
        assert!(matches!(result, Err(Failure::Other(_))));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        write(&path, |out| out.write_all(b"new")).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "new");
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
