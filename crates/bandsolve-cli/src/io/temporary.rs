//! Files under a name for the meantime, which nothing leaves behind: no error, no panic, and no signal but SIGKILL.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A file that is removed unless it is moved to where it belongs. There is one at a time: who wants another waits.
#[derive(Debug)]
pub struct Temporary {
    path: PathBuf,
    created: bool,
    _alone: MutexGuard<'static, ()>,
}

impl Temporary {
    /// A new file in the same folder, so that the move cannot cross a file system.
    ///
    /// # Errors
    /// If `target` names no file, or there is no writing in its folder.
    pub fn beside(target: &Path) -> io::Result<(File, Temporary)> {
        static ALONE: Mutex<()> = Mutex::new(());
        target.file_name().ok_or_else(|| io::Error::other("it names no file"))?;
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut temporary = Temporary { path: PathBuf::new(), created: false, _alone: alone };
        for attempt in 0..100 {
            temporary.path = target.with_file_name(format!(".bandsolve-{}-{attempt}.tmp", std::process::id()));
            // Before it is there, so that it is never there unknown.
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
        Err(io::Error::other("no name for a temporary file is free beside it"))
    }

    /// Gives the file its name, also where another has it.
    ///
    /// # Errors
    /// Those of the operating system; the file is gone then.
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

/// Has signals that end the process remove the file that is written, and a limit of the size of files (`ulimit -f`) be an error
/// of the write.
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

    /// What ends a process from outside: a closed terminal, Ctrl-C, `kill`.
    const ENDINGS: [c_int; 3] = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];

    /// The file that is to be removed: of [`CString::into_raw`], owned by whoever takes it out.
    static NAME: AtomicPtr<c_char> = AtomicPtr::new(ptr::null_mut());

    pub fn remember(path: &Path) {
        // Names with a zero byte cannot be opened either.
        let name = CString::new(path.as_os_str().as_bytes()).map_or(ptr::null_mut(), CString::into_raw);
        free(NAME.swap(name, Ordering::SeqCst));
    }

    pub fn forget() {
        free(NAME.swap(ptr::null_mut(), Ordering::SeqCst));
    }

    fn free(name: *mut c_char) {
        if !name.is_null() {
            // SAFETY: only `into_raw` makes what is not null, and who takes it out leaves null behind: nobody else has it.
            drop(unsafe { CString::from_raw(name) });
        }
    }

    pub fn prepare() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            ENDINGS.into_iter().for_each(handle);
            // SAFETY: ignoring a signal runs no code of ours.
            unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
        });
    }

    /// Has a signal clean up, unless it is ignored (`nohup`) or handled.
    fn handle(signal: c_int) {
        // SAFETY: zeros are a valid `sigaction` of no flags, and both structures outlive the calls; the handler does only what
        // handlers may: atomics, `unlink`, `raise`.
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

    /// Removes the file and lets the signal do what it would have done without us, so that a shell sees 130 or 143.
    extern "C" fn clean_up(signal: c_int) {
        let name = NAME.swap(ptr::null_mut(), Ordering::SeqCst);
        // SAFETY: the name is a string that ends in zero, ours since it was taken out; it is never freed. The signal waits until
        // this handler returns, and SA_RESETHAND has given it back its default.
        unsafe {
            if !name.is_null() {
                libc::unlink(name);
            }
            libc::raise(signal);
        }
    }
}

/// Other systems have no such signals.
#[cfg(not(unix))]
mod signals {
    use std::path::Path;

    pub fn remember(_path: &Path) {}

    pub fn forget() {}

    pub fn prepare() {}
}
