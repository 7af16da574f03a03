//! Services of the operating system: the free memory, and small files that are read and written as a whole.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The free memory to assume if the operating system does not report it: 8 GiB.
const UNKNOWN_MEMORY: u64 = 8 << 30;

/// Bytes that this process can still allocate.
///
/// The result is the least of three limits: the available memory that Linux estimates, the rest of the limit of the control group, and
/// the rest of `ulimit -v`. It is 8 GiB if none of the limits is known.
pub fn free_memory() -> u64 {
    let known = [available(), left_of_group(), left_of_address_space()];
    known.into_iter().flatten().min().unwrap_or(UNKNOWN_MEMORY)
}

fn available() -> Option<u64> {
    bytes_of(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable:")
}

/// For control groups of version 2, as a container sees its own. Linux frees cached files on demand, so only `anon` counts as used.
fn left_of_group() -> Option<u64> {
    let read = |name: &str| std::fs::read_to_string(Path::new("/sys/fs/cgroup").join(name)).ok();
    let most = read("memory.max")?.trim().parse::<u64>().ok()?;
    let statistics = read("memory.stat")?;
    let used = statistics.lines().find_map(|line| line.strip_prefix("anon ")?.trim().parse().ok())?;
    Some(most.saturating_sub(used))
}

fn left_of_address_space() -> Option<u64> {
    let most = soft_limit(&std::fs::read_to_string("/proc/self/limits").ok()?, "Max address space")?;
    let used = bytes_of(&std::fs::read_to_string("/proc/self/status").ok()?, "VmSize:")?;
    Some(most.saturating_sub(used))
}

/// The bytes of an entry in KiB, in the format of `/proc/meminfo`.
fn bytes_of(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// A soft limit in the format of `/proc/self/limits`; `None` if unlimited.
fn soft_limit(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

/// Read a small text file. Pipes and devices are rejected, because reading them may never end.
///
/// # Errors
/// If the file cannot be read, is not a regular file, has more than `most` bytes or is not UTF-8.
pub fn read_file(path: &Path, most: u64) -> io::Result<String> {
    String::from_utf8(read_bytes(path, most)?).map_err(|_| invalid("the file is not UTF-8".into()))
}

/// Read the bytes of a small file. Pipes and devices are rejected, because reading them may never end.
///
/// # Errors
/// If the file cannot be read, is not a regular file, or has more than `most` bytes.
pub fn read_bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    refuse_special(path)?;
    let mut bytes = Vec::new();
    // One byte more than allowed shows that the file is too long, also if it grows during the read.
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most { Err(invalid(format!("the file has more than {most} bytes"))) } else { Ok(bytes) }
}

/// Write a small file completely or not at all: a temporary file in the same folder is flushed to disk, then renamed.
///
/// # Errors
/// If the file cannot be written, or `path` exists and is not a regular file.
pub fn write_file(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    if path.exists() {
        refuse_special(path)?;
    }
    // Renaming onto a symbolic link would replace the link.
    let target = path.canonicalize().unwrap_or(path.to_path_buf());
    let beside = beside(&target)?;
    let written = write_new(&beside, &target, content.as_ref()).and_then(|()| std::fs::rename(&beside, &target));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

fn write_new(path: &Path, target: &Path, content: &[u8]) -> io::Result<()> {
    // Renaming ignores the permissions of the old file. Opening it for writing checks them.
    let old = if target.exists() { Some(OpenOptions::new().write(true).open(target)?.metadata()?) } else { None };
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(path)?;
    file.write_all(content)?;
    if let Some(old) = old {
        keep_permissions(&old, &file)?;
    }
    file.sync_all()
}

/// Copy the permissions of the replaced file, and its owner and group where the system allows it.
///
/// # Errors
/// Those of the operating system.
pub fn keep_permissions(old: &Metadata, new: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{MetadataExt, fchown};
        // The owner may change the group, only root the owner: two calls. Both can clear mode bits, so the mode is set last.
        let _ = fchown(new, None, Some(old.gid()));
        let _ = fchown(new, Some(old.uid()), None);
    }
    new.set_permissions(old.permissions())
}

/// A hidden name in the same folder that no other call uses.
fn beside(target: &Path) -> io::Result<PathBuf> {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let name = target.file_name().ok_or_else(|| invalid("the path has no file name".into()))?;
    Ok(target.with_file_name(format!(".{}-{}-{call}.tmp", name.to_string_lossy(), std::process::id())))
}

fn refuse_special(path: &Path) -> io::Result<()> {
    if path.metadata()?.is_file() { Ok(()) } else { Err(invalid("not a regular file".into())) }
}

fn invalid(reason: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_in_the_texts_of_linux() {
        let info = "MemTotal:       24689764 kB\nMemAvailable:   21876543 kB\n";
        assert_eq!(bytes_of(info, "MemAvailable:"), Some(21_876_543 << 10));
        assert_eq!(bytes_of(info, "MemFree:"), None);
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax address space         4096000000   unlimited  bytes\n";
        assert_eq!(soft_limit(limits, "Max address space"), Some(4_096_000_000));
        assert_eq!(soft_limit(&limits.replace("4096000000", "unlimited"), "Max address space"), None);
        assert!(free_memory() > 1 << 20);
    }

    #[test]
    fn files_are_read_up_to_their_limit_and_written_whole() {
        let folder = std::env::temp_dir().join(format!("bandsolve-host-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        write_file(&path, "old").unwrap();
        write_file(&path, "text").unwrap();
        assert_eq!(read_file(&path, 4).unwrap(), "text");
        assert!(read_file(&path, 3).unwrap_err().to_string().contains("more than 3 bytes"));
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
            write_file(&path, "text").unwrap();
            assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o640);
        }
        for special in [folder.as_path(), Path::new("/dev/zero")].into_iter().filter(|path| path.exists()) {
            assert!(read_file(special, 10).unwrap_err().to_string().contains("not a regular file"));
            assert!(write_file(special, "text").unwrap_err().to_string().contains("not a regular file"));
        }
        assert_eq!(read_file(&folder.join("none"), 10).unwrap_err().kind(), io::ErrorKind::NotFound);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
