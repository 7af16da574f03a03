//! `bandsolve bench gpu`: accuracy and speed of a GPU.

mod accuracy;
mod sheets;
mod speed;
mod system;

use crate::args::{BenchGpuArgs, GpuPart};
use crate::cusparse::Cusparse;
use crate::results::{self, Results};
use crate::setup;
use bandsolve_gpu::Device;
use bandsolve_program::exit::Failure;
use bandsolve_program::report;
use serde_json::{Value, json};
use speed::Speed;
use system::OURS;

/// The sizes of a run.
struct Scale {
    /// Rows of the systems in the comparison with the CPU.
    rows: usize,
    /// Default sizes of the timed systems, as exponents of two.
    sizes: &'static [u32],
    /// Number of entries in the copy that measures the memory bandwidth.
    copy: usize,
}

const FULL: Scale = Scale { rows: 100_003, sizes: &[14, 16, 18, 20, 22, 24, 26, 28], copy: 1 << 26 };
const QUICK: Scale = Scale { rows: 5003, sizes: &[14, 18], copy: 1 << 24 };
const EMULATED: Scale = Scale { rows: 203, sizes: &[8], copy: 1 << 10 };

/// Compare with the CPU, then measure times.
///
/// # Errors
/// [`Failure::Other`] if the device is missing, [`Failure::Unsolved`] if a solution is missing or violates the accuracy contract.
pub fn run(args: &BenchGpuArgs) -> Result<(), Failure> {
    let outputs = &args.measure;
    let stdout_used = results::stdout_is_used(outputs, None)?;
    let timed = args.only != Some(GpuPart::Accuracy) && args.dtype.iter().any(|dtype| !dtype.is_complex());
    if !timed && (outputs.plot.is_some() || args.only == Some(GpuPart::Speed)) {
        return Err(Failure::Usage(
            "--plot and --only speed need times, which exist for f32 and f64 only. Pass one of them to --dtype, without --only \
             accuracy"
                .into(),
        ));
    }
    let device = Device::open(&args.device)?;
    // cuSPARSE uses the context that is current.
    device.in_context(|| measure(args, &device, stdout_used))?
}

/// Measure on a device. `stdout_used`: standard output is stdout_used by a report.
fn measure(args: &BenchGpuArgs, device: &Device, stdout_used: bool) -> Result<(), Failure> {
    let emulated = args.device == "emulated";
    let scale = match (emulated, args.measure.quick) {
        (true, _) => EMULATED,
        (_, true) => QUICK,
        _ => FULL,
    };
    let cusparse = if emulated { None } else { Cusparse::open() };
    let about = about(device, emulated, cusparse.as_ref());
    report::print_beside(&report::columns(&about), stdout_used)?;
    let wanted = |part| args.only.is_none_or(|only| only == part);
    let (mut accuracy, mut missed, mut speed) = (Vec::new(), 0, Vec::new());
    if wanted(GpuPart::Accuracy) {
        (accuracy, missed) = accuracy::run(device, scale.rows, &args.dtype, stdout_used)?;
    }
    // If a solution is wrong, its time has no meaning.
    if wanted(GpuPart::Speed) && missed == 0 {
        let sizes = setup::sizes(args.n.as_deref(), scale.sizes);
        let budget = setup::budget(&args.measure);
        let bench = Speed { device, cusparse: cusparse.as_ref(), budget, stdout_used };
        speed = bench.run(&sizes, &args.dtype, scale.copy)?;
    }
    let mut sheets = Vec::new();
    sheets.extend((!accuracy.is_empty()).then(|| sheets::accuracy(&accuracy)));
    sheets.extend(sheets::speed(&speed));
    let json = json!({ "bench": "gpu", "device": device.name(), "accuracy": accuracy, "rows": speed });
    let results = Results { bench: "gpu", about, json, sheets };
    results.write(&args.measure, || (!speed.is_empty()).then(|| sheets::picture(&device.name(), &speed)))?;
    match missed + failed(&speed) {
        0 => Ok(()),
        wrong => {
            let wrong = report::counted(wrong, "row");
            Err(Failure::Unsolved(format!(
                "{wrong} of the tables without a solution of the device, or with one that violates the accuracy contract. See \
                 the notes in the tables"
            )))
        }
    }
}

/// Number of rows in which bandsolve returned an error.
fn failed(rows: &[Value]) -> usize {
    let ours = |row: &Value| row["solver"].as_str().is_some_and(|name| name.starts_with(OURS));
    rows.iter().filter(|row| ours(row) && !row["error"].is_null()).count()
}

/// Names and facts: the device and cuSPARSE.
fn about(device: &Device, emulated: bool, cusparse: Option<&Cusparse>) -> Vec<(&'static str, String)> {
    let limits = device.limits();
    let (memory, processors) = (limits.memory >> 30, report::counted(limits.multiprocessors, "multiprocessor"));
    let mut lines = vec![("device", format!("{}, {memory} GiB, {processors}", device.name()))];
    if emulated {
        lines.push(("times", "not meaningful, because this device is an emulation on the CPU".into()));
    } else {
        let path = cusparse.map(|library| library.path.display().to_string());
        lines.push(("cusparse", path.unwrap_or("not found, so there is no comparison".into())));
    }
    lines
}
