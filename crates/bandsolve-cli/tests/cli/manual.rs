//! Tests of `bandsolve doctor`, `bandsolve completions` and `bandsolve man`.

use super::{Folder, bandsolve, bandsolve_under};

#[test]
fn the_doctor_says_what_is_there() {
    let text = bandsolve(&["doctor"]).exits(0).stdout;
    for word in ["version", "machine", "threads", "GB/s", "GPU", "MPI", "tuning"] {
        assert!(text.contains(word), "{word}\n{text}");
    }
    let report = bandsolve(&["doctor", "--json", "-"]).exits(0).json();
    assert!(report["found"]["machine"].is_string() && report["warnings"].is_array(), "{report}");
}

#[test]
fn the_doctor_warns_of_slow_settings() {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let run = |name: &str, value: &str| bandsolve_under(&[(name, value)], &["doctor"], b"").exits(0).stdout;
    if cores > 1 {
        assert!(run("RAYON_NUM_THREADS", "1").contains("warning: 1 of"));
    }
    if bandsolve::Simd::ALL.len() > 1 {
        assert!(run("BANDSOLVE_SIMD", "portable").contains("Unset BANDSOLVE_SIMD"));
    }
}

#[test]
fn the_doctor_reads_what_was_tuned() {
    let folder = Folder::new();
    let file = folder.file("tuning", "nonsense\n");
    let text = bandsolve_under(&[("BANDSOLVE_TUNING", &file)], &["doctor"], b"").exits(0).stdout;
    assert!(text.contains(&format!("warning: {file}")) && text.contains("bandsolve tune"), "{text}");
}

#[test]
fn shells_complete_every_command() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let text = bandsolve(&["completions", shell]).exits(0).stdout;
        for command in ["solve", "info", "spy", "generate", "stability", "bench", "tune", "doctor"] {
            assert!(text.contains(command), "{shell}: {command}");
        }
        assert!(text.contains("noise-threshold") || text.contains("rhs"), "{shell}");
    }
    bandsolve(&["completions", "csh"]).fails(2, "csh");
}

#[test]
fn the_manual_has_a_page_for_every_command() {
    let text = bandsolve(&["man"]).exits(0).stdout;
    assert!(text.contains(".TH bandsolve") && text.contains("\n.SH EXIT CODES\n.nf\n  0  done\n"), "{text}");
    assert!(!text.contains("EXTRA"), "{text}");
    let folder = Folder::new();
    let pages = folder.path("pages");
    bandsolve(&["man", "--out", &pages]).exits(0);
    for page in ["bandsolve.1", "bandsolve-solve.1", "bandsolve-bench.1", "bandsolve-spy.1", "bandsolve-doctor.1"] {
        let text = std::fs::read_to_string(std::path::Path::new(&pages).join(page)).unwrap();
        assert!(text.contains(".SH EXAMPLE") && text.contains("\n  bandsolve"), "{page}: {text}");
    }
}
