//! Results of a benchmark, written as JSON, as a plot or as an HTML page.

use crate::args::MeasureArgs;
use crate::machine::MachineFacts;
use crate::page::Page;
use crate::peers::Peer;
use crate::plot::Picture;
use crate::sheet::Sheet;
use bandsolve_program::exit::Failure;
use bandsolve_program::report;
use serde_json::{Value, json};
use std::path::Path;

/// The results of one benchmark.
pub struct Results {
    /// The name of the benchmark on the command line.
    pub bench: &'static str,
    /// Names and facts of the machine.
    pub about: Vec<(&'static str, String)>,
    /// The JSON report.
    pub json: Value,
    /// The printed tables.
    pub sheets: Vec<Sheet>,
}

impl Results {
    /// Results of a benchmark that ran on the CPU of this machine.
    pub fn here(
        bench: &'static str,
        machine: &MachineFacts,
        peers: Option<&[Peer]>,
        rows: Vec<Value>,
        sheets: Vec<Sheet>,
    ) -> Results {
        let json = json!({ "bench": bench, "machine": machine.json(peers), "rows": rows });
        Results { bench, about: machine.lines(peers), json, sheets }
    }

    /// Write the requested files. Calls `draw` only if one of them contains the plot.
    ///
    /// # Errors
    /// [`Failure::Other`] if a file cannot be written.
    pub fn write(&self, args: &MeasureArgs, draw: impl FnOnce() -> Option<Picture>) -> Result<(), Failure> {
        if let Some(path) = &args.json {
            report::write_json(path, &self.json)?;
        }
        let picture = (args.plot.is_some() || args.report.is_some()).then(draw).flatten();
        if let (Some(path), Some(picture)) = (&args.plot, &picture) {
            picture.write(path)?;
        }
        let Some(path) = &args.report else { return Ok(()) };
        let title = format!("bandsolve bench {}", self.bench);
        let page = Page { title: &title, about: &self.about, sheets: &self.sheets, picture: picture.as_ref() };
        report::write_text(path, &page.html())
    }
}

/// Check the output files. Returns whether one of them is standard output.
///
/// # Errors
/// [`Failure::Usage`] if two outputs are the same file, or an output is the input matrix.
pub fn stdout_is_used(args: &MeasureArgs, matrix: Option<&Path>) -> Result<bool, Failure> {
    let outputs = [("--json", &args.json), ("--plot", &args.plot), ("--report", &args.report)];
    report::check_outputs(&outputs, matrix.as_slice())
}
