//! `bandsolve bench gpu`: what a device computes, and how fast.

mod accuracy;
mod shown;
mod speed;
mod system;

use crate::args::{BenchGpuArgs, GpuPart};
use crate::bench::{self, results::Results};
use crate::cusparse::Cusparse;
use crate::exit::Failure;
use crate::report;
use bandsolve_gpu::Device;
use serde_json::{Value, json};
use speed::Speed;
use system::OURS;

/// How much is done.
struct Scale {
    /// Rows of the systems that are compared with the CPU.
    rows: usize,
    /// Unknowns of the systems that are timed, where none are asked for: powers of two.
    sizes: &'static [u32],
    /// Rows of the system whose right-hand side is copied as the yardstick.
    copy: usize,
}

const FULL: Scale = Scale { rows: 100_003, sizes: &[14, 16, 18, 20, 22, 24, 26, 28], copy: 1 << 26 };
const QUICK: Scale = Scale { rows: 5003, sizes: &[14, 18], copy: 1 << 24 };
const EMULATED: Scale = Scale { rows: 203, sizes: &[8], copy: 1 << 10 };

/// Compares with the CPU, then measures.
///
/// # Errors
/// [`Failure::Other`] where there is no such device, [`Failure::Unsolved`] if an answer is missing or not within the
/// contract.
pub fn run(args: &BenchGpuArgs) -> Result<(), Failure> {
    let outputs = &args.measure;
    let taken = bench::results::taken(outputs, None)?;
    let timed = args.only != Some(GpuPart::Accuracy) && args.dtype.iter().any(|dtype| !dtype.is_complex());
    if !timed && (outputs.plot.is_some() || args.only == Some(GpuPart::Speed)) {
        return Err(Failure::Usage("times are measured of f32 and f64, without --only accuracy".into()));
    }
    let device = Device::open(&args.device)?;
    let emulated = args.device == "emulated";
    let scale = match (emulated, args.measure.quick) {
        (true, _) => EMULATED,
        (_, true) => QUICK,
        _ => FULL,
    };
    // It works with the context of the device, which is there by now.
    let cusparse = if emulated { None } else { Cusparse::open() };
    let about = about(&device, emulated, cusparse.as_ref());
    report::print_beside(&report::columns(&about), taken)?;
    let wanted = |part| args.only.is_none_or(|only| only == part);
    let (mut accuracy, mut missed, mut speed) = (Vec::new(), 0, Vec::new());
    if wanted(GpuPart::Accuracy) {
        (accuracy, missed) = accuracy::run(&device, scale.rows, &args.dtype, taken)?;
    }
    // Times of wrong answers mean nothing.
    if wanted(GpuPart::Speed) && missed == 0 {
        let sizes = super::sizes(args.n.as_deref(), scale.sizes);
        let budget = super::budget(&args.measure);
        let bench = Speed { device: &device, cusparse: cusparse.as_ref(), budget, taken };
        speed = bench.run(&sizes, &args.dtype, scale.copy)?;
    }
    let mut sheets = Vec::new();
    sheets.extend((!accuracy.is_empty()).then(|| shown::accuracy(&accuracy)));
    sheets.extend(shown::speed(&speed));
    let json = json!({ "bench": "gpu", "device": device.name(), "accuracy": accuracy, "rows": speed });
    let results = Results { bench: "gpu", about, json, sheets };
    results.write(&args.measure, || (!speed.is_empty()).then(|| shown::picture(&device.name(), &speed)))?;
    match missed + failed(&speed) {
        0 => Ok(()),
        wrong => {
            let wrong = report::counted(wrong, "answer");
            Err(Failure::Unsolved(format!("{wrong} of the device missing, or not within the accuracy contract")))
        }
    }
}

/// Of how many solvers of ours there is no answer.
fn failed(rows: &[Value]) -> usize {
    let ours = |row: &Value| row["solver"].as_str().is_some_and(|name| name.starts_with(OURS));
    rows.iter().filter(|row| ours(row) && !row["error"].is_null()).count()
}

/// What is measured, and beside what.
fn about(device: &Device, emulated: bool, cusparse: Option<&Cusparse>) -> Vec<(&'static str, String)> {
    let limits = device.limits();
    let (memory, processors) = (limits.memory >> 30, report::counted(limits.multiprocessors, "multiprocessor"));
    let mut lines = vec![("device", format!("{}, {memory} GiB, {processors}", device.name()))];
    if emulated {
        lines.push(("times", "mean nothing on an emulation".into()));
    } else {
        let found = cusparse.map(|library| library.path.display().to_string());
        lines.push(("cusparse", found.unwrap_or("not found: left out".into())));
    }
    lines
}
