//! Tests of input files that need too much memory or never end, and of output files, which are complete or do not exist.

use crate::*;
use std::time::{Duration, Instant};

/// No compression. The file is then large enough for its header to be plausible.
const STORED: flate2::Compression = flate2::Compression::none();

fn gzip(level: flate2::Compression, parts: &[&[u8]]) -> Vec<u8> {
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), level);
    parts.iter().for_each(|part| packed.write_all(part).unwrap());
    packed.finish().unwrap()
}

/// The header of an .npy file of bytes.
fn npy(n_rows: usize, n_cols: usize) -> Vec<u8> {
    let text = format!("{{'descr': '|u1', 'fortran_order': False, 'shape': ({n_rows}, {n_cols}), }}\n");
    [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat()
}

/// Run a shell command line, in which `$0` is the program.
fn shell(line: &str, folder: &Folder) -> Run {
    let output = Command::new("sh")
        .args(["-c", line, env!("CARGO_BIN_EXE_bandsolve")])
        .current_dir(&folder.0)
        .output()
        .expect("a shell");
    let text = |bytes| String::from_utf8(bytes).expect("messages are UTF-8");
    Run { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The test limits the memory of the program to 2 GiB, so the result does not depend on the machine.
#[cfg(target_os = "linux")]
#[test]
fn what_unpacks_to_more_than_memory_is_refused_before_it_is_unpacked() {
    let folder = Folder::new();
    let zeros = vec![0; 2 << 20];
    folder.file("packed.npy.gz", gzip(STORED, &[&npy(45_000, 45_000), &zeros]));
    let coordinate = b"%%MatrixMarket matrix coordinate real general\n45000 45000 400000000\n";
    folder.file("packed.mtx.gz", gzip(STORED, &[coordinate, &zeros]));
    folder.file("array.mtx.gz", gzip(STORED, &[b"%%MatrixMarket matrix array real general\n20000 20000\n", &zeros]));
    let mut archive = zip::ZipWriter::new(std::fs::File::create(folder.path("packed.npz")).unwrap());
    archive.start_file("a.npy", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(&npy(45_000, 45_000)).unwrap();
    archive.finish().unwrap();
    for name in ["packed.npy.gz", "packed.mtx.gz", "array.mtx.gz", "packed.npz"] {
        for command in ["info", "solve", "spy"] {
            let line = format!("ulimit -v 2097152; exec \"$0\" {command} {name}");
            shell(&line, &folder).fails(3, "GiB are free");
        }
    }
}

/// The error for a size that does not fit in memory names the option.
#[cfg(target_os = "linux")]
#[test]
fn sizes_on_the_command_line_are_refused_before_any_work() {
    let folder = Folder::new();
    for line in [
        "generate random 4294967295",
        "generate aniso1 12000",
        "bench tridiagonal --quick --n 2^62",
        "bench methods --quick --n 2^33",
        "bench batch --quick --count 2^40 --n 2^40",
        "bench block --quick --block 16,2^40",
        "bench block --quick --n 2^62",
        "bench banded --quick --half-bandwidths 1,1152921504606846976",
        "bench banded --quick --half-bandwidths 18446744073709551615",
        "bench banded --quick --n-rhs 1,4611686018427387904",
        "bench spmv --quick --n 2^60",
        "bench sparse --quick --n 2^60",
        "bench sparse --quick --n-rhs 18446744073709551615",
        "bench poisson --quick --shape 7x7,1000000x1000000",
        "bench poisson --quick --shape 18446744073709551615",
        "bench poisson --quick --shape 4294967296x4294967296",
        "bench iterate --quick --n 8000",
        "poisson 18446744073709551615",
        "poisson 4294967296 4294967296 4294967296",
    ] {
        let run = shell(&format!("ulimit -v 4194304; exec \"$0\" {line}"), &folder);
        run.fails(2, "GiB are free");
    }
    for (line, limit) in [
        ("generate aniso1 4294967295", "more than 159072862"),
        ("generate radiative 4294967295 1", "too many entries"),
        ("bench iterate --quick --n 2^60", "more than 2^26"),
    ] {
        shell(&format!("exec \"$0\" {line}"), &folder).fails(2, limit);
    }
}

/// The values of an array fit in memory, but the list of its entries does not.
#[cfg(target_os = "linux")]
#[test]
fn memory_that_is_gone_when_a_file_has_been_read_is_an_error() {
    let folder = Folder::new();
    // 59 million values take 472 MB, and twice as much while they are transposed. The list of entries takes the same amount again.
    let part = vec![1; 7680];
    let parts: Vec<&[u8]> = std::iter::repeat_n(&part[..], 7680).collect();
    let start = npy(7680, 7680);
    folder.file("a.npy.gz", gzip(flate2::Compression::fast(), &[&[&start[..]], &parts[..]].concat()));
    shell("ulimit -v 1310720; exec \"$0\" solve a.npy.gz", &folder).fails(3, "58982400 entries are too many");
}

#[test]
fn a_stream_that_goes_on_behind_its_promise_is_not_read_to_its_end() {
    let folder = Folder::new();
    let zeros = vec![0; 1 << 20];
    let parts: Vec<&[u8]> = std::iter::repeat_n(&zeros[..], 64).collect();
    let fast = flate2::Compression::fast();
    let array = folder.file("a.npy.gz", gzip(fast, &[&[&npy(2, 2)[..]], &parts[..]].concat()));
    bandsolve(&["info", &array]).fails(3, "there is more after the 4 numbers");
    let coordinate: &[u8] = b"%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 2\n";
    let lines = b"1 1 2\n".repeat(1 << 20);
    let sparse = folder.file("a.mtx.gz", gzip(fast, &[coordinate, &lines]));
    bandsolve(&["info", &sparse]).fails(3, "one more");
}

/// Wait for the end of the program, and panic if it takes too long.
#[track_caller]
fn ends(child: &mut std::process::Child) -> std::process::ExitStatus {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(60) {
        if let Some(status) = child.try_wait().unwrap() {
            return status;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    panic!("still running");
}

#[cfg(unix)]
#[test]
fn a_tuning_file_that_never_ends_is_not_read() {
    let folder = Folder::new();
    let pipe = folder.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let long = folder.file("long", "#".repeat(2 << 20));
    let a = folder.file("A.mtx", matrix_market(300, &toeplitz(300, 9.0, &[1, 2], &[1, 2])));
    for (path, why) in [(&*pipe, "regular"), ("/dev/zero", "regular"), (&folder.path(""), "regular"), (&long, "bytes")]
    {
        let run = |arguments: &[&str]| {
            let mut child = Command::new(env!("CARGO_BIN_EXE_bandsolve"))
                .args(arguments)
                .env("BANDSOLVE_TUNING", path)
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap();
            let status = ends(&mut child);
            (status.code(), std::io::read_to_string(child.stderr.take().unwrap()).unwrap())
        };
        let (code, message) = run(&["tune", "--show"]);
        assert!(code == Some(3) && message.contains(why) && message.contains(path), "{path}: {code:?} {message}");
        // The solver uses the built-in values.
        assert_eq!(run(&["solve", &a, "--method", "spike"]), (Some(0), String::new()), "{path}");
    }
}

#[cfg(unix)]
#[test]
fn a_signal_leaves_no_temporary_file() {
    use std::os::unix::process::{CommandExt, ExitStatusExt};
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP] {
        let folder = Folder::new();
        let old = folder.file("A.mtx", "old");
        let mut command = Command::new(env!("CARGO_BIN_EXE_bandsolve"));
        command.args(["generate", "random", "10000000", "--out", &old]);
        // A test in the background inherits ignored signals, so the child resets them.
        // SAFETY: `signal` may be called between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::signal(signal, libc::SIG_DFL);
                Ok(())
            });
        }
        let mut child = command.spawn().unwrap();
        let start = Instant::now();
        while folder.names().len() < 2 {
            assert!(
                start.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none(),
                "no temporary file"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        // SAFETY: the process id stays valid until `wait` is called for the child.
        assert_eq!(unsafe { libc::kill(child.id() as libc::pid_t, signal) }, 0);
        // A shell reports 130, 143 or 129.
        assert_eq!(ends(&mut child).signal(), Some(signal));
        assert_eq!(folder.names(), ["A.mtx"]);
        assert_eq!(std::fs::read_to_string(&old).unwrap(), "old");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_exit_code_1_and_leaves_the_old_file() {
    let folder = Folder::new();
    folder.file("A.mtx", "old");
    let full = "No space left";
    shell("exec \"$0\" generate random 5 --out /dev/full", &folder).fails(1, full);
    shell("exec \"$0\" generate random 5 >/dev/full", &folder).fails(1, full);
    shell("exec \"$0\" generate --list >/dev/full", &folder).fails(1, full);
    // The limit is 20 blocks of 512 or 1024 bytes, depending on the shell.
    shell("ulimit -f 20; exec \"$0\" generate random 5000 --out A.mtx", &folder).fails(1, "File too large");
    assert_eq!(
        (std::fs::read_to_string(folder.path("A.mtx")).unwrap(), folder.names()),
        ("old".into(), vec!["A.mtx".into()])
    );
}

/// Every output option of every command, with every kind of name for an input file.
#[cfg(unix)]
#[test]
fn no_output_replaces_an_input() {
    let folder = Folder::new();
    let matrix = matrix_market(20, &toeplitz(20, 4.0, &[1], &[1]));
    let numbers = |name: &str, shape: &str, count: usize| {
        let text = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
        let head = [&b"\x93NUMPY\x01\x00"[..], &(text.len() as u16).to_le_bytes(), text.as_bytes()].concat();
        folder.file(name, [head, 2.0_f64.to_le_bytes().repeat(count)].concat());
    };
    // The output would overwrite the file IN. The commands read the other files, too.
    let commands: &[(&str, &[&str])] = &[
        ("solve IN", &["--out", "--json"]),
        ("solve B --rhs IN", &["--out", "--json"]),
        ("iterate IN", &["--out", "--json", "--plot"]),
        ("iterate B --rhs IN", &["--out", "--json", "--plot"]),
        ("forest IN", &["--json", "--plot"]),
        ("eig IN", &["--json"]),
        ("eig B IN", &["--json"]),
        ("info IN", &["--json"]),
        ("spy IN", &["--plot"]),
        ("poisson 20 1 --rhs IN", &["--out", "--json", "--plot"]),
        ("poisson --pencils IN,B", &["--out", "--json", "--plot"]),
        ("stability banded B IN", &["--json", "--plot"]),
        ("stability files .", &["--json", "--plot"]),
        ("bench sparse --quick --matrix IN", &["--json", "--plot", "--report"]),
        ("bench spmv --quick --matrix IN", &["--json", "--plot", "--report"]),
        ("bench iterate --quick IN", &["--json", "--plot", "--report"]),
    ];
    folder.file("B", &matrix);
    for (command, options) in commands {
        for option in *options {
            // A file extension that the option accepts. The program detects the type of an input from its content.
            let ending = match *option {
                "--out" => ".npy",
                "--plot" => ".svg",
                _ => ".mtx",
            };
            let (input, link, hard) = (format!("in{ending}"), format!("link{ending}"), format!("hard{ending}"));
            for name in [&input, &link, &hard] {
                let _ = std::fs::remove_file(folder.path(name));
            }
            match command.starts_with("poisson") {
                true => numbers(&input, "(20, 1)", 20),
                false => _ = folder.file(&input, &matrix),
            }
            let old = std::fs::read(folder.path(&input)).unwrap();
            std::os::unix::fs::symlink(&input, folder.path(&link)).unwrap();
            std::fs::hard_link(folder.path(&input), folder.path(&hard)).unwrap();
            // `stability files` finds matrices by their file extension.
            _ = folder.file("there.mtx", &matrix);
            let names = match command.ends_with("files .") {
                true if ending == ".mtx" => vec![input.clone(), link, hard],
                true => continue,
                false => vec![input.clone(), link, hard, format!("./{input}")],
            };
            for name in names {
                let line = format!("exec \"$0\" {} {option} {name}", command.replace("IN", &input));
                shell(&line, &folder).fails(2, "is also an input");
                assert_eq!(std::fs::read(folder.path(&input)).unwrap(), old, "{line}");
            }
        }
    }
    // An array in an archive, and streams of the shell.
    let mut archive = zip::ZipWriter::new(std::fs::File::create(folder.path("a.npz")).unwrap());
    archive.start_file("a.npy", zip::write::SimpleFileOptions::default()).unwrap();
    archive.write_all(&[npy(2, 2), vec![1, 0, 0, 1]].concat()).unwrap();
    archive.finish().unwrap();
    for line in ["info a.npz:a --json a.npz", "info - --json B <B", "info B >>B", "info - <B >>B"] {
        shell(&format!("exec \"$0\" {line}"), &folder).fails(2, "is also an input");
    }
    for line in
        ["solve B --json r.json --out r.json", "info B --json r.json >r.json", "solve B --out - --json /dev/stdout"]
    {
        let run = shell(&format!("exec \"$0\" {line}"), &folder);
        assert!(run.code == Some(2), "{line}: {run:?}");
    }
    assert_eq!(std::fs::read_to_string(folder.path("B")).unwrap(), matrix);
    // `/dev/stdout` is another name of standard output.
    shell("\"$0\" info B --json /dev/stdout >r.json; exec \"$0\" info B --json - >s.json", &folder).exits(0);
    let read = |name: &str| std::fs::read_to_string(folder.path(name)).unwrap();
    assert_eq!(read("r.json"), read("s.json"));
}

#[cfg(unix)]
#[test]
fn outputs_keep_the_permissions_of_what_they_replace() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |name: &str| std::fs::metadata(folder.path(name)).unwrap().permissions().mode() & 0o7777;
    for bits in [0o600, 0o664, 0o751, 0o444] {
        let old = folder.file(&format!("{bits:o}.mtx"), "old");
        std::fs::set_permissions(&old, PermissionsExt::from_mode(bits)).unwrap();
        let link = folder.path(&format!("link-{bits:o}.mtx"));
        std::os::unix::fs::symlink(&old, &link).unwrap();
        let run = bandsolve(&["generate", "random", "5", "--out", &link]);
        // Only root may write to a read-only file.
        let allowed = bits & 0o200 != 0 || std::fs::OpenOptions::new().write(true).open(&old).is_ok();
        assert_eq!(run.code, Some(if allowed { 0 } else { 1 }), "{run:?}");
        assert_eq!(mode(&format!("{bits:o}.mtx")), bits);
        assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(std::fs::read_to_string(&old).unwrap() != "old", allowed);
    }
}

/// A write error of any output is an error of the command.
#[cfg(target_os = "linux")]
#[test]
fn a_report_that_is_lost_is_exit_code_1() {
    let folder = Folder::new();
    folder.file("A.mtx", matrix_market(20, &toeplitz(20, 4.0, &[1], &[1])));
    for line in [
        "solve A.mtx --json /dev/full",
        "solve A.mtx >/dev/full",
        "solve A.mtx --out - 2>/dev/full >/dev/null",
        "solve A.mtx --out - >/dev/full",
        "iterate A.mtx >/dev/full",
        "eig A.mtx >/dev/full",
        "eig A.mtx --json >/dev/full",
        "info A.mtx >/dev/full",
        "spy A.mtx >/dev/full",
        "forest A.mtx >/dev/full",
        "poisson 5 5 >/dev/full",
        "poisson 5 5 --json /dev/full",
        "generate --list >/dev/full",
        "completions bash >/dev/full",
        "man >/dev/full",
        "--help >/dev/full",
        "solve --help >/dev/full",
        "--version >/dev/full",
        ">/dev/full",
    ] {
        let run = shell(&format!("exec \"$0\" {line}"), &folder);
        assert_eq!(run.code, Some(1), "{line}: {run:?}");
    }
}

/// Some disks report errors only when a file is flushed. A preloaded library emulates such a disk.
#[cfg(target_os = "linux")]
#[test]
fn an_output_that_does_not_reach_the_disk_does_not_take_its_name() {
    let folder = Folder::new();
    folder.file("shim.c", "#include <errno.h>\nint fsync(int fd) { (void)fd; errno = ENOSPC; return -1; }\n");
    if !shell("exec cc -shared -fPIC -o shim.so shim.c", &folder).stderr.is_empty()
        || !folder.names().contains(&"shim.so".into())
    {
        eprintln!("skipped: there is no C compiler to make a disk with that is full at the last byte");
        return;
    }
    folder.file("A.mtx", "old");
    shell("LD_PRELOAD=./shim.so exec \"$0\" generate random 5 --out A.mtx", &folder).fails(1, "No space left");
    assert_eq!(std::fs::read_to_string(folder.path("A.mtx")).unwrap(), "old");
    assert_eq!(folder.names(), ["A.mtx", "shim.c", "shim.so"]);
}

/// Devices and standard output need no ending of a file name.
#[cfg(unix)]
#[test]
fn outputs_can_be_dropped_or_piped() {
    let folder = Folder::new();
    let a = folder.file("A.mtx", matrix_market(4, &toeplitz(4, 4.0, &[1], &[1])));
    for command in ["solve", "iterate", "eig"] {
        let run = bandsolve(&[command, &a, "--out", "/dev/null", "--json", "/dev/null"]).exits(0);
        assert!(!run.stdout.is_empty(), "{run:?}");
        let run = bandsolve(&[command, &a, "--out", "-"]).exits(0);
        assert!(run.stdout.starts_with("%%MatrixMarket matrix array real general\n4 1\n"), "{run:?}");
        assert!(run.stderr.contains("A.mtx"), "{run:?}");
    }
    bandsolve(&["poisson", "4", "4", "--out", "/dev/null", "--plot", "/dev/null"]).exits(0);
    shell("\"$0\" poisson 4 4 --out - >u.npy && exec \"$0\" poisson 4 4 --rhs - --out /dev/null <u.npy", &folder)
        .exits(0);
    assert!(std::fs::read(folder.path("u.npy")).unwrap().starts_with(b"\x93NUMPY"));
}
