//! Output files. A failed write leaves no incomplete file behind.

use super::temporary::{self, Temporary};
use crate::exit::Failure;
use crate::memory::collected;
use crate::names::nearest;
use crate::progress;
use bandsolve::host::keep_permissions;
use bandsolve::{Complex64, RealScalar, Scalar};
use bandsolve_io::npy::{self, NpyOrder};
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// Write a file with the function `fill`. `-` is standard output.
///
/// The function writes a temporary file in the same folder, and renames the file after all data is on the disk. If a file with this name
/// exists, its permissions are kept. Pipes and devices are written directly. If the reader closes the pipe, this is not an error.
///
/// # Errors
/// [`Failure::Other`]. No part of the output remains.
pub fn write(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let failed = |e: io::Error| Failure::Other(format!("{}: cannot be written: {e}", path.display()));
    temporary::prepare_for_signals();
    if is_stdout(path) {
        return forgive_closed_pipe(stream(io::stdout().lock(), fill)).map_err(failed);
    }
    let target = target(path);
    if is_stream(&target) {
        let direct = OpenOptions::new().write(true).open(&target).and_then(|file| stream(file, fill));
        return forgive_closed_pipe(direct).map_err(failed);
    }
    replace(&target, fill).map_err(failed)
}

/// The canonical path of an output, after symbolic links. The file need not exist.
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

/// Whether a path names standard output.
pub fn is_stdout(path: &Path) -> bool {
    ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"].iter().any(|name| path.as_os_str() == *name)
}

/// Whether a path names a pipe or a device, such as `/dev/null`.
pub fn is_stream(path: &Path) -> bool {
    path.metadata().is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// The error for the file of an option whose name has none of these endings.
pub fn wrong_ending((option, path): (&str, &Path), endings: &[&str]) -> Failure {
    let ending = path.extension().map_or("".into(), |ending| ending.to_string_lossy());
    let suggestion =
        nearest(&ending, endings.iter().copied()).map_or(String::new(), |ending| format!(". Did you mean .{ending}?"));
    let allowed = endings.iter().map(|ending| format!(".{ending}")).collect::<Vec<_>>().join(" or ");
    Failure::Usage(format!("{option} {}: the name must end in {allowed}{suggestion}", path.display()))
}

/// Return an error if [`write()`] is certain to fail. Commands call this function before they start to compute.
///
/// # Errors
/// [`Failure::Other`].
pub fn check(path: &Path) -> Result<(), Failure> {
    let target = target(path);
    let why = match target.metadata() {
        _ if !folder(&target).is_dir() => "there is no such folder".to_string(),
        Ok(there) if there.is_dir() => "it is a directory".to_string(),
        Ok(there) if there.is_file() => match writable(&target) {
            Ok(_) => return Ok(()),
            Err(e) => e.to_string(),
        },
        _ => return Ok(()),
    };
    Err(Failure::Other(format!("{}: cannot be written: {why}", path.display())))
}

/// Check that each output can be written, and that it is not an input or another output. Return whether an output goes to standard
/// output.
///
/// The function compares files by device and inode, so it detects links. Standard output counts as an output, and `-` among the inputs
/// as standard input, also if the shell redirects them to files. Each output has the name of its option. `None` is an unused option.
///
/// # Errors
/// [`Failure::Usage`], and the errors of [`check()`].
pub fn check_all(options: &[(&str, &Option<PathBuf>)], inputs: &[&Path]) -> Result<bool, Failure> {
    let files: Vec<PathBuf> = inputs.iter().map(|input| super::file_of(input)).collect();
    let read: Vec<FilePlace> = files.iter().map(|file| FilePlace::of_input(file)).collect();
    if read.iter().filter(|place| **place == FilePlace::StandardInput).count() > 1 {
        return Err(Failure::Usage("only one of the inputs can be `-`, standard input".into()));
    }
    let standard_output = ("standard output", Path::new("-"));
    let named = options.iter().filter_map(|(name, path)| Some((*name, path.as_deref()?)));
    // Every command prints to standard output.
    let all: Vec<_> = named.filter(|(_, path)| !is_stdout(path)).chain([standard_output]).collect();
    let written: Vec<FilePlace> = all.iter().map(|(_, path)| FilePlace::of_output(path)).collect();
    for (k, (name, path)) in all.iter().enumerate() {
        if let Some(input) = read.iter().position(|place| *place == written[k]) {
            let (output, input) = (path.display(), super::name(inputs[input]));
            let why =
                format!("{name} {output}: this file is also an input ({input}). Choose another name for the output");
            return Err(Failure::Usage(why));
        }
        let earlier = written[..k].iter().position(|place| *place == written[k]);
        // The null device takes any number of outputs.
        if let Some(earlier) = earlier.filter(|_| *path != Path::new("/dev/null")) {
            return Err(Failure::Usage(format!(
                "{} and {name} name the same file. Choose different files",
                all[earlier].0
            )));
        }
        if k + 1 < all.len() {
            check(path)?;
        }
    }
    let streams: Vec<_> = options.iter().filter(|(_, path)| path.as_deref().is_some_and(is_stdout)).collect();
    match streams[..] {
        [(first, _), (second, _), ..] => Err(Failure::Usage(format!(
            "{first} and {second} name the same file: standard output. Choose different files"
        ))),
        _ => Ok(!streams.is_empty()),
    }
}

/// The identity of a file, independent of its name.
#[derive(Debug, PartialEq, Eq)]
enum FilePlace {
    /// Device and inode of a regular file.
    Inode(u64, u64),
    /// The canonical path, if there is no regular file.
    Name(PathBuf),
    /// Standard input, if it is not a regular file.
    StandardInput,
    /// Standard output, if it is not a regular file.
    StandardOutput,
}

impl FilePlace {
    fn of_input(path: &Path) -> Self {
        match path.as_os_str() == "-" {
            true => Self::of_stream(&io::stdin()).unwrap_or(Self::StandardInput),
            false => Self::of(path),
        }
    }

    fn of_output(path: &Path) -> Self {
        match is_stdout(path) {
            true => Self::of_stream(&io::stdout()).unwrap_or(Self::StandardOutput),
            false => Self::of(path),
        }
    }

    fn of(path: &Path) -> Self {
        let inode = path.metadata().ok().and_then(|there| Self::of_metadata(&there));
        inode.unwrap_or_else(|| Self::Name(target(path)))
    }

    #[cfg(unix)]
    fn of_metadata(there: &Metadata) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;
        there.is_file().then(|| Self::Inode(there.dev(), there.ino()))
    }

    #[cfg(unix)]
    fn of_stream(stream: &impl std::os::fd::AsFd) -> Option<Self> {
        let file = File::from(stream.as_fd().try_clone_to_owned().ok()?);
        Self::of_metadata(&file.metadata().ok()?)
    }

    #[cfg(not(unix))]
    fn of_metadata(_there: &Metadata) -> Option<Self> {
        None
    }

    #[cfg(not(unix))]
    fn of_stream<S>(_stream: &S) -> Option<Self> {
        None
    }
}

/// Write text to standard error. A closed pipe is not an error.
///
/// # Errors
/// [`Failure::Other`].
pub fn write_stderr(text: &str) -> Result<(), Failure> {
    let written = forgive_closed_pipe(io::stderr().write_all(text.as_bytes()));
    written.map_err(|e| Failure::Other(format!("standard error: cannot be written: {e}")))
}

fn stream(out: impl Write, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, out);
    fill(&mut out)?;
    out.flush()
}

/// Ignore the error of a closed pipe.
///
/// # Errors
/// All other errors.
pub fn forgive_closed_pipe(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

fn replace(target: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    if target.is_dir() {
        return Err(io::Error::other("it is a directory"));
    }
    let old = if target.exists() { Some(writable(target)?.metadata()?) } else { None };
    let (file, temporary) = Temporary::beside(target)?;
    stream(&file, fill)?;
    if let Some(old) = old {
        keep_permissions(&old, &file)?;
    }
    flush(&file)?;
    drop(file);
    temporary.rename(target)
}

/// Open an existing file for writing, without changing it. This checks the permission, which renaming another file to this name would
/// ignore.
fn writable(target: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).open(target)
}

/// Flush the file to the disk. Errors such as a full disk then appear before the old file is replaced.
fn flush(file: &File) -> io::Result<()> {
    match file.sync_all() {
        // Some file systems do not support this call.
        Err(e) if matches!(e.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        other => other,
    }
}

/// Formats of solution files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Matrix Market array.
    MatrixMarket,
    /// NumPy array.
    Npy,
}

impl Format {
    /// The format for the ending of the file name that an option has. Pipes and devices without an ending get Matrix Market.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an unknown ending.
    pub fn of(option: &str, path: &Path) -> Result<Format, Failure> {
        match path.extension().and_then(|e| e.to_str()) {
            _ if is_stdout(path) => Ok(Format::MatrixMarket),
            Some("mtx") => Ok(Format::MatrixMarket),
            Some("npy") => Ok(Format::Npy),
            None if is_stream(path) => Ok(Format::MatrixMarket),
            _ => Err(wrong_ending((option, path), &["mtx", "npy"])),
        }
    }
}

/// Write x, with columns of length `n`. Text has enough digits to read the same numbers again.
///
/// # Errors
/// [`Failure::Other`].
pub fn write_solution<T: Scalar>(path: &Path, format: Format, n: usize, x: &[T]) -> Result<(), Failure> {
    let columns = x.len().checked_div(n).unwrap_or(1);
    let bar = progress::writing(path, x.len() as u64);
    // A progress line reads the clock at every step, even if it is hidden, so the steps are large.
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

/// Write columns of `rows` numbers to the file of an option, as real numbers if all imaginary parts are 0.
///
/// # Errors
/// [`Failure::Usage`] if no format has this ending; [`Failure::Other`].
pub fn write_numbers((option, path): (&str, &Path), rows: usize, numbers: &[Complex64]) -> Result<(), Failure> {
    let format = Format::of(option, path)?;
    if numbers.iter().any(|number| number.im != 0.0) {
        return write_solution(path, format, rows, numbers);
    }
    let real = collected(numbers.iter().map(|number| number.re)).map_err(Failure::Other)?;
    write_solution(path, format, rows, &real)
}

/// Write an array of real numbers with this shape, by rows, as .npy.
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

/// Write a line with the fewest digits that read back as the same number.
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

/// Formats of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PictureFormat {
    /// SVG, which follows the light or dark theme of the page.
    Svg,
    /// PNG in light colours.
    Png,
}

impl PictureFormat {
    /// The format for a file name.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the file extension is unknown.
    pub fn of(path: &Path) -> Result<PictureFormat, Failure> {
        let ending = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        match ending.as_deref() {
            _ if is_stdout(path) => Ok(PictureFormat::Svg),
            Some("svg") => Ok(PictureFormat::Svg),
            Some("png") => Ok(PictureFormat::Png),
            None if is_stream(path) => Ok(PictureFormat::Svg),
            _ => Err(wrong_ending(("--plot", path), &["svg", "png"])),
        }
    }
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

    #[test]
    fn the_ending_is_the_format() {
        let format = |name: &str| PictureFormat::of(Path::new(name)).ok();
        assert_eq!(
            ["a.svg", "-", "a.b.PNG"].map(format),
            [PictureFormat::Svg, PictureFormat::Svg, PictureFormat::Png].map(Some)
        );
        assert_eq!(["a.gif", "svg", "png", ".png"].map(format), [None; 4]);
    }
}
