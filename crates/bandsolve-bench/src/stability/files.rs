//! `bandsolve stability files`: backward errors of bandsolve and LAPACK for every matrix of a folder.

use super::bands::gbsv;
use super::cells::{Cell, ErrorColumn, Mark};
use super::errors::gtsv;
use super::heat_map::{self, HeatPanel, HeatPart};
use crate::args::StabilityFilesArgs;
use crate::peers::Peer;
use bandsolve::{Error, Factor, Plan, Shape, good};
use bandsolve_gallery::families::System;
use bandsolve_gallery::tables::x_true;
use bandsolve_program::exit::Failure;
use bandsolve_program::io::{self, Triplets};
use bandsolve_program::progress;
use bandsolve_program::report::{self, counted, largest};
use bandsolve_program::structure;
use bandsolve_sparse::Structure;
use indicatif::ProgressIterator;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

/// Extensions of matrix files.
const ENDINGS: [&str; 5] = [".mtx", ".mtx.gz", ".npy", ".npy.gz", ".npz"];

/// Print one line per matrix of a folder, and the number of matrices with a large backward error.
pub fn run(args: &StabilityFilesArgs) -> Result<(), Failure> {
    let paths = matrices(&args.folder)?;
    let stdout_used =
        report::check_outputs(&args.outputs.named(), &paths.iter().map(PathBuf::as_path).collect::<Vec<_>>())?;
    let lapack = Peer::lapack();
    let bar = progress::parts("file", paths.len());
    let rows = paths.iter().progress_with(bar).map(|path| FileRow::new(args, path, lapack.as_ref())).collect();
    let table = FileTable { rows, lapack: lapack.map(|peer| peer.path) };
    if let Some(path) = &args.outputs.json {
        report::write_json(path, &table.json())?;
    }
    if let Some(path) = &args.outputs.plot {
        heat_map::draw("Decimal exponents of the backward errors of real matrices", &[table.part()]).write(path)?;
    }
    report::print_beside(&table.text(), stdout_used)
}

/// All matrix files of a folder and its subfolders, sorted by name.
fn matrices(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut paths = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let failed = |e| Failure::in_file(&io::name(&folder), e);
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
            // A link to a folder could make the search endless.
            if path.is_dir() && !path.is_symlink() {
                folders.push(path);
            } else if ENDINGS.iter().any(|ending| name.ends_with(ending)) && path.is_file() {
                paths.push(path);
            }
        }
    }
    paths.sort();
    match paths.is_empty() {
        true => Err(Failure::in_file(&io::name(folder), format!("contains no matrix file ({})", ENDINGS.join(", ")))),
        false => Ok(paths),
    }
}

struct FileTable {
    rows: Vec<FileRow>,
    /// The file of the LAPACK library.
    lapack: Option<PathBuf>,
}

/// One file.
struct FileRow {
    name: String,
    /// The errors, or why the file was skipped.
    measured: Result<Measured, String>,
}

/// The errors for one matrix, with a right-hand side whose solution is known.
struct Measured {
    n: usize,
    bands: (usize, usize),
    kind: &'static str,
    ours: FileAnswer,
    /// `None` without LAPACK, or if LAPACK has no routine for the matrix.
    lapack: Option<FileAnswer>,
}

/// The result of one solver.
struct FileAnswer {
    /// `None` if the solver reported a singular matrix.
    backward_error: Option<f64>,
    mark: Mark,
}

impl FileAnswer {
    fn is_above_limit(&self) -> bool {
        self.error().is_some_and(|error| error.is_nan() || error > good::<f64>())
    }

    /// The backward error of a returned solution.
    fn error(&self) -> Option<f64> {
        self.backward_error.filter(|_| self.mark != Mark::Failed)
    }

    fn cell(answer: Option<&FileAnswer>) -> Cell {
        answer.map_or(Cell { error: None, mark: Mark::Absent }, |a| Cell { error: a.backward_error, mark: a.mark })
    }

    fn text(answer: Option<&FileAnswer>) -> String {
        let Some(answer) = answer else { return "-  ".into() };
        let mark = match answer.mark {
            Mark::Refined => '+',
            Mark::Fallback => '*',
            Mark::Failed => '!',
            Mark::Plain | Mark::Absent => ' ',
        };
        let above = if answer.is_above_limit() { '>' } else { ' ' };
        let error = answer.backward_error.map_or("singular".into(), |error| format!("{error:.1e}"));
        format!("{error}{mark}{above}")
    }
}

impl FileRow {
    fn new(args: &StabilityFilesArgs, path: &Path, lapack: Option<&Peer>) -> FileRow {
        let name = path.strip_prefix(&args.folder).unwrap_or(path);
        let measured = measure(args, path, lapack);
        // The line already begins with the name.
        let start = format!("{}: ", path.display());
        let reason = |text: String| text.strip_prefix(&start).unwrap_or(&text).to_string();
        FileRow { name: io::shortened(name), measured: measured.map_err(reason) }
    }

    fn json(&self) -> Value {
        let measured = self.measured.as_ref();
        let answer = |answer: &FileAnswer| answer.error();
        json!({
            "file": self.name,
            "left_out": measured.err(),
            "n": measured.ok().map(|m| m.n),
            "lower": measured.ok().map(|m| m.bands.0),
            "upper": measured.ok().map(|m| m.bands.1),
            "kind": measured.ok().map(|m| m.kind),
            "backward_error": measured.ok().and_then(|m| answer(&m.ours)),
            "lapack_backward_error": measured.ok().and_then(|m| m.lapack.as_ref()).and_then(answer),
        })
    }
}

/// Solve one system with bandsolve and LAPACK, or return why the matrix is skipped.
fn measure(args: &StabilityFilesArgs, path: &Path, lapack: Option<&Peer>) -> Result<Measured, String> {
    let (triplets, structure) = read(path)?;
    let (n, shape) = (structure.n, structure.shape());
    let bands = structure.diagonals_in(shape);
    if !fits(args, n, bands) {
        let (lower, upper) = bands;
        return Err(format!("too wide for --band {}: lower bandwidth {lower}, upper bandwidth {upper}", args.band));
    }
    let system = structure::assemble::<f64>(&triplets, shape).map_err(words)?;
    let rhs = system.product(&x_true(n, args.seed));
    if rhs.iter().any(|d| !d.is_finite()) {
        return Err("the entries are so large that the right-hand side overflows".into());
    }
    let ours = ours(&system, &rhs);
    // LAPACK has no routine for periodic matrices, so it solves a band that includes both corners.
    let whole = (structure.lower, structure.upper);
    let lapack = match lapack {
        Some(peer) if structure::is_periodic(shape) && fits(args, n, whole) => {
            let band = Shape::Banded { n, lower: whole.0, upper: whole.1 };
            theirs(&structure::assemble(&triplets, band).map_err(words)?, &rhs, peer)
        }
        Some(peer) => theirs(&system, &rhs, peer),
        None => None,
    };
    Ok(Measured { n, bands, kind: structure::kind(shape), ours, lapack })
}

/// Read a matrix, which must be real and not empty.
fn read(path: &Path) -> Result<(Triplets, Structure), String> {
    let triplets = io::read_matrix(path).map_err(words)?;
    if triplets.values.is_complex() {
        return Err("the matrix is complex".into());
    }
    let structure = structure::structure(&triplets).map_err(words)?;
    structure::check_not_empty(&structure).map_err(words)?;
    Ok((triplets, structure))
}

fn words(failure: Failure) -> String {
    failure.to_string()
}

/// Whether a band of n columns with its fill-in from pivoting is within the limit of `--band`.
fn fits(args: &StabilityFilesArgs, n: usize, (lower, upper): (usize, usize)) -> bool {
    let numbers = (2 * lower + upper + 1).checked_mul(n);
    let bytes = numbers.and_then(|numbers| numbers.checked_mul(size_of::<f64>()));
    bytes.is_some_and(|bytes| bytes as u64 <= u64::from(args.band) << 20)
}

fn ours(system: &System<f64>, rhs: &[f64]) -> FileAnswer {
    let mut x = vec![f64::NAN; rhs.len()];
    let factor = structure::factor(system, &Plan::once(system.shape()));
    let (singular, mark) = match factor.and_then(|factor| factor.solve_into(rhs, &mut x)) {
        Ok(report) if report.fallback => (false, Mark::Fallback),
        Ok(report) if report.refinement_steps > 0 => (false, Mark::Refined),
        Ok(_) => (false, Mark::Plain),
        Err(error) => (matches!(error, Error::Singular { .. }), Mark::Failed),
    };
    FileAnswer { backward_error: (!singular).then(|| system.backward_error(rhs, &x)), mark }
}

/// The result of LAPACK; `None` if LAPACK has no routine for the matrix.
fn theirs(system: &System<f64>, rhs: &[f64], peer: &Peer) -> Option<FileAnswer> {
    let x = match system {
        System::Tridiagonal(a) if a.is_periodic() => return None,
        System::Tridiagonal(a) => gtsv(a, rhs, peer),
        System::Banded(a) => gbsv(a, rhs, peer),
    };
    let mark = if x.is_some() { Mark::Plain } else { Mark::Failed };
    Some(FileAnswer { backward_error: x.map(|x| system.backward_error(rhs, &x)), mark })
}

impl FileTable {
    fn measured(&self) -> impl Iterator<Item = (&FileRow, &Measured)> {
        self.rows.iter().filter_map(|row| Some((row, row.measured.as_ref().ok()?)))
    }

    fn part(&self) -> HeatPart {
        let column = |head: &str, answer: fn(&Measured) -> Option<&FileAnswer>| ErrorColumn {
            head: head.into(),
            cells: self.measured().map(|(_, m)| FileAnswer::cell(answer(m))).collect(),
        };
        let lapack = self.lapack.is_some().then(|| column("LAPACK", |m| m.lapack.as_ref()));
        HeatPart {
            title: "Row-wise backward error".into(),
            rows: self.measured().map(|(row, _)| (row.name.clone(), None)).collect(),
            panels: vec![HeatPanel {
                title: "",
                columns: [column("bandsolve", |m| Some(&m.ours))].into_iter().chain(lapack).collect(),
            }],
        }
    }

    fn text(&self) -> String {
        let width = self.rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0).max("matrix".len());
        let mut text = String::from("\nRow-wise backward error of bandsolve (method auto) and LAPACK (gtsv, gbsv)\n");
        text += &format!(
            "{:width$}{:>10}{:>8}{:>8}{:>13}{:>13}\n",
            "matrix", "n", "lower", "upper", "bandsolve  ", "LAPACK  "
        );
        for row in &self.rows {
            text += &match &row.measured {
                Ok(m) => {
                    let (ours, lapack) = (FileAnswer::text(Some(&m.ours)), FileAnswer::text(m.lapack.as_ref()));
                    let (lower, upper) = m.bands;
                    let line = format!("{:width$}{:>10}{lower:>8}{upper:>8}{ours:>13}{lapack:>13}", row.name, m.n);
                    line.trim_end().to_string() + "\n"
                }
                Err(reason) => format!("{:width$}    skipped: {reason}\n", row.name),
            };
        }
        text + "\nlower, upper: bandwidths, > above 8 eps, + needed iterative refinement, * fallback to the pivoted solver,\n\
                ! the solver returned an error, - no value\n"
            + &self.summary()
    }

    /// The number of large backward errors of both solvers, and the number of skipped files.
    fn summary(&self) -> String {
        let count = self.measured().count();
        let left_out = self.rows.len() - count;
        let of = |answers: Vec<&FileAnswer>| {
            let above = answers.iter().filter(|a| a.is_above_limit()).count();
            let errors: Vec<f64> = answers.iter().filter_map(|a| a.error()).collect();
            let none = answers.len() - errors.len();
            let worst = report::error((!errors.is_empty()).then(|| largest(errors.into_iter())));
            let none = if none > 0 { format!(", {}", counted(none, "error")) } else { String::new() };
            format!("above 8 eps for {above} of {}, largest {worst}{none}\n", counted_matrices(answers.len()))
        };
        let mut text = format!("\nbandsolve: {}", of(self.measured().map(|(_, m)| &m.ours).collect()));
        text += &match &self.lapack {
            Some(path) => {
                let answers = of(self.measured().filter_map(|(_, m)| m.lapack.as_ref()).collect());
                format!("LAPACK:    {answers}           ({})\n", path.display())
            }
            None => "LAPACK:    not found on this machine, so there is no comparison\n".into(),
        };
        let wide = self.rows.iter().filter(|row| row.measured.as_ref().is_err_and(|why| why.starts_with("too wide")));
        match left_out {
            0 => text,
            _ => {
                text + &format!(
                    "Skipped:   {} of {}, {} too wide for --band\n",
                    left_out,
                    counted(self.rows.len(), "file"),
                    wide.count()
                )
            }
        }
    }

    fn json(&self) -> Value {
        let above = |answer: fn(&Measured) -> Option<&FileAnswer>| {
            self.measured().filter_map(|(_, m)| answer(m)).filter(|a| a.is_above_limit()).count()
        };
        json!({
            "table": "files",
            "limit": good::<f64>(),
            "lapack": self.lapack,
            "matrices": self.measured().count(),
            "above_limit": above(|m| Some(&m.ours)),
            "lapack_above_limit": self.lapack.as_ref().map(|_| above(|m| m.lapack.as_ref())),
            "rows": self.rows.iter().map(FileRow::json).collect::<Vec<_>>(),
        })
    }
}

fn counted_matrices(count: usize) -> String {
    if count == 1 { "1 matrix".into() } else { format!("{count} matrices") }
}
