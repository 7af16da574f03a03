//! Temporary files, which are removed after errors, panics and all signals except SIGKILL.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that is removed on drop, unless it was renamed. There is at most one such file at a time. Other threads wait.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    created: bool,
    _alone: MutexGuard<'static, ()>,
}

impl Temporary {
    /// Create a file in the folder of `target`, so that renaming stays on one file system.
    ///
    /// # Errors
    /// An I/O error if `target` has no file name, or its folder is not writable.
    pub fn beside(target: &Path) -> io::Result<(File, Temporary)> {
        static ALONE: Mutex<()> = Mutex::new(());
        target.file_name().ok_or_else(|| io::Error::other("the path has no file name"))?;
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut temporary = Temporary { path: PathBuf::new(), created: false, _alone: alone };
        for attempt in 0..100 {
            temporary.path = target.with_file_name(format!(".bandsolve-{}-{attempt}.tmp", std::process::id()));
            // The signal handler must know the name before the file exists.
            signals::remember(&temporary.path);
            match OpenOptions::new().write(true).create_new(true).open(&temporary.path) {
                Ok(file) => {
                    temporary.created = true;
                    return Ok((file, temporary));
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => signals::forget(),
                Err(e) => return Err(e),
            }
        }
        Err(io::Error::other("there is no free name for a temporary file in this folder"))
    }

    /// Rename the file. This replaces an existing file.
    ///
    /// # Errors
    /// The errors of the operating system. The temporary file is then removed.
    pub fn rename(mut self, target: &Path) -> io::Result<()> {
        std::fs::rename(&self.path, target)?;
        self.created = false;
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if self.created {
            let _ = std::fs::remove_file(&self.path);
        }
        signals::forget();
    }
}

/// Install handlers so that signals which end the process also remove the temporary file. Ignore SIGXFSZ, so that exceeding a file size
/// limit (`ulimit -f`) is a write error.
pub fn prepare_for_signals() {
    signals::prepare();
}

#[cfg(unix)]
mod signals {
    use std::ffi::{CString, c_char, c_int};
    use std::os::unix::ffi::OsStrExt;
    use std::path::Path;
    use std::ptr;
    use std::sync::Once;
    use std::sync::atomic::{AtomicPtr, Ordering};

    /// Signals of a closed terminal, Ctrl-C and `kill`.
    const ENDINGS: [c_int; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

    /// The name of the file to remove, from [`CString::into_raw`]. The code that swaps the pointer out owns the string.
    static NAME: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

    pub fn remember(path: &Path) {
        // A name with a zero byte cannot be opened either.
        let name = CString::new(path.as_os_str().as_bytes()).map_or(ptr::null_mut(), CString::into_raw);
        free(NAME.swap(name, Ordering::SeqCst));
    }

    pub fn forget() {
        free(NAME.swap(ptr::null_mut(), Ordering::SeqCst));
    }

    fn free(name: *mut c_char) {
        if !name.is_null() {
            // SAFETY: a non-null pointer comes from `into_raw`, and the swap left null, so there is no other owner.
            drop(unsafe { CString::from_raw(name) });
        }
    }

    pub fn prepare() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            ENDINGS.into_iter().for_each(handle);
            // SAFETY: an ignored signal runs no code.
            unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        });
    }

    /// Install the handler for a signal, unless the signal is ignored (`nohup`) or has another handler.
    fn handle(signal: c_int) {
        // SAFETY: zeros are a valid `sigaction` without flags, and both structures outlive the calls; the handler only uses
        // async-signal-safe operations: atomics, `unlink`, `raise`.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            if libc::sigaction(signal, ptr::null(), &raw mut action) != 0 || action.sa_sigaction != libc::SIG_DFL {
                return;
            }
            action = std::mem::zeroed();
            action.sa_sigaction = clean_up as extern "C" fn(c_int) as *const () as libc::sighandler_t;
            action.sa_flags = libc::SA_RESETHAND;
            libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }

    /// Remove the file and raise the signal again with its default action, so that a shell sees exit code 130 or 143.
    extern "C" fn clean_up(signal: c_int) {
        let name = NAME.swap(ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: the swap made this handler the owner of the zero-terminated string, which is never freed. The raised signal is
        // delivered after this handler returns, with the default action that SA_RESETHAND restored.
        unsafe {
            if !name.is_null() {
                libc::unlink(name);
            }
            libc::raise(signal);
        }
    }
}

/// There are no such signals on other systems.
#[cfg(not(unix))]
mod signals {
    use std::path::Path;

    pub fn remember(_path: &Path) {}

    pub fn forget() {}

    pub fn prepare() {}
}
