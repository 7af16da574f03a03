//! `bandsolve doctor`: report what bandsolve uses on this machine, and warn about causes of slow runs.

use crate::args::DoctorArgs;
use crate::gpu;
use bandsolve::{Simd, Tuning};
use bandsolve_bench::machine::MachineFacts;
use bandsolve_bench::peers::Peer;
use bandsolve_bench::yardstick::bandwidth;
use bandsolve_kernel::threads;
use bandsolve_program::exit::Failure;
use bandsolve_program::report;
use serde_json::json;
use std::path::{Path, PathBuf};

/// Inspect the machine and print the report.
///
/// # Errors
/// [`Failure::Other`] if the report cannot be written.
pub fn run(args: &DoctorArgs) -> Result<(), Failure> {
    let stdout_used = report::check_outputs(&[("--json", &args.json)], &[])?;
    let diagnosis = Diagnosis::here();
    let warnings = diagnosis.warnings();
    if let Some(path) = &args.json {
        let facts: serde_json::Map<_, _> =
            diagnosis.lines().into_iter().map(|(name, fact)| (name.into(), fact.into())).collect();
        report::write_json(path, &json!({ "found": facts, "warnings": warnings }))?;
    }
    if stdout_used { Ok(()) } else { report::print(&diagnosis.text(&warnings)) }
}

/// The facts about the machine.
#[derive(Debug)]
struct Diagnosis {
    machine: MachineFacts,
    simd: &'static str,
    threads: usize,
    cores: usize,
    /// Memory bandwidth in GB/s with all threads.
    bandwidth: f64,
    peers: Vec<Peer>,
    gpu: Result<String, String>,
    /// Version and path of `mpirun`.
    mpi: Option<String>,
    tuning: Option<PathBuf>,
    gpu_tuning: Option<PathBuf>,
    /// Average number of running programs in the last minute.
    load: Option<f64>,
    debug: bool,
}

impl Diagnosis {
    fn here() -> Self {
        let threads = if threads::available() { threads::count() } else { 1 };
        let load = std::fs::read_to_string("/proc/loadavg").ok();
        let there = |path: Option<PathBuf>| path.filter(|path| path.exists());
        Self {
            machine: MachineFacts::here(),
            simd: Simd::detect().name(),
            threads,
            cores: std::thread::available_parallelism().map_or(1, Into::into),
            load: load.and_then(|text| text.split(' ').next()?.parse().ok()),
            bandwidth: bandwidth(threads),
            peers: Peer::all(),
            gpu: gpu::first().map_err(|error| error.to_string()),
            mpi: on_path("mpirun").map(|path| described(&path)),
            tuning: there(Tuning::path()),
            gpu_tuning: there(gpu::tuning_path()),
            debug: cfg!(debug_assertions),
        }
    }

    /// The lines of the report: names and values.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let path = |path: &Path| path.display().to_string();
        let mut lines = vec![
            ("version", env!("CARGO_PKG_VERSION").into()),
            ("machine", self.machine.summary()),
            ("threads", format!("{} of {}", self.threads, report::counted(self.cores, "core"))),
            ("memory", format!("{:.0} GB/s with {}", self.bandwidth, report::counted(self.threads, "thread"))),
            (
                "GPU",
                self.gpu.clone().unwrap_or_else(|reason| format!("none: {}", reason.trim_start_matches("no GPU: "))),
            ),
            ("MPI", self.mpi.clone().unwrap_or_else(|| "none: mpirun is not on the PATH".into())),
        ];
        lines.extend(self.peers.iter().map(|peer| (peer.name, path(&peer.path))));
        if self.peers.is_empty() {
            lines.push((
                "LAPACK",
                "none: no LAPACK, OpenBLAS or MKL found; `bandsolve bench` compares with these libraries".into(),
            ));
        }
        let tuned = |file: &Option<PathBuf>, command: &str| match file {
            Some(file) => path(file),
            None => format!("built-in values; run `{command}` to measure this machine"),
        };
        lines.push(("tuning", tuned(&self.tuning, "bandsolve tune")));
        if self.gpu.is_ok() {
            lines.push(("GPU tuning", tuned(&self.gpu_tuning, "bandsolve tune --device cuda")));
        }
        lines
    }

    /// Causes of slow runs, and how to remove them.
    fn warnings(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        if self.debug {
            warnings.push("this is a debug build, which is slow. Build with `cargo build --release`".into());
        }
        if self.threads < self.cores {
            warnings.push(format!(
                "{} of {} cores are in use. Unset RAYON_NUM_THREADS, or set it to {}",
                self.threads, self.cores, self.cores
            ));
        }
        if Simd::ALL.len() > 1 && self.simd == Simd::Portable.name() {
            let what = "bandsolve uses only the portable vectors, which are slow. Unset BANDSOLVE_SIMD. On x86-64, use a processor with AVX2";
            warnings.push(what.into());
        }
        let tuned = [
            (&self.tuning, Tuning::load().err(), "bandsolve tune"),
            (&self.gpu_tuning, gpu::tuning_error(), "bandsolve tune --device cuda"),
        ];
        for (file, error, command) in tuned {
            if let (Some(file), Some(error)) = (file, error) {
                let file = file.display();
                warnings.push(format!(
                    "{file}: {error}. bandsolve uses the built-in values. Delete the file, or run `{command}`"
                ));
            }
        }
        if let Some(load) = self.load.filter(|load| *load > 0.5 * self.cores as f64) {
            warnings
                .push(format!("other programs are running (load {load:.1}), so times will be longer and vary more"));
        }
        warnings
    }

    fn text(&self, warnings: &[String]) -> String {
        let warned: String = warnings.iter().map(|warning| format!("  warning: {warning}\n")).collect();
        let end = if warnings.is_empty() { "  no causes of slow runs found\n".into() } else { warned };
        format!("{}\n{end}", report::columns(&self.lines()))
    }
}

/// The path of a program on the PATH.
fn on_path(program: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The first line that a program prints for `--version`, and the path of the program.
fn described(program: &Path) -> String {
    let path = program.display();
    let output = std::process::Command::new(program).arg("--version").output().ok();
    let text = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let version = text.lines().map(str::trim).find(|line| !line.is_empty());
    version.map_or_else(|| path.to_string(), |version| format!("{version}, {path}"))
}
