//! `bandsolve generate`: a matrix of a known family, as a Matrix Market file.

use crate::args::GenerateArgs;
use crate::exit::Failure;
use crate::io::output;
use crate::progress;
use crate::report;
use bandsolve_gallery::families::{System, families};
use std::io::{self, Write};
use std::path::Path;

/// Lists the families or writes one matrix.
///
/// # Errors
/// [`Failure::Usage`] for an unknown family, [`Failure::Other`] if the file cannot be written.
pub fn run(args: &GenerateArgs) -> Result<(), Failure> {
    let (Some(name), Some(n)) = (&args.family, args.n) else {
        let lines: Vec<_> = families().iter().map(|f| (f.name, f.description.to_string())).collect();
        return report::print(&report::columns(&lines));
    };
    let Some(family) = families().iter().find(|f| f.name == *name) else {
        let known: Vec<_> = families().iter().map(|f| f.name).collect();
        return Err(Failure::Usage(format!("no family `{name}`; there are: {}", known.join(", "))));
    };
    let path = args.out.as_deref().unwrap_or(Path::new("-"));
    if path.extension().is_some_and(|ending| ["gz", "npy", "npz"].iter().any(|other| ending == *other)) {
        return Err(Failure::Usage(format!("--out {}: matrices are written as plain .mtx", path.display())));
    }
    let system = family.generate(n as usize, args.seed);
    let description = family.description.replace('\n', " ");
    let comment = format!("{description}: bandsolve generate {} {n} --seed {}", family.name, args.seed);
    output::write(path, |out| write(out, (path, n), &comment, &system))
}

/// Every entry that is not zero, with the shortest digits that read back as the same number.
fn write(out: &mut dyn Write, (path, n): (&Path, u32), comment: &str, system: &System<f64>) -> io::Result<()> {
    let mut entries = 0_usize;
    system.for_each(|_, _, value| entries += usize::from(value != 0.0));
    writeln!(out, "%%MatrixMarket matrix coordinate real general\n% {comment}\n{n} {n} {entries}")?;
    let mut result = Ok(());
    let (bar, mut written) = (progress::writing(path, entries as u64), 0_u64);
    system.for_each(|i, j, value| {
        if value != 0.0 && result.is_ok() {
            written += 1;
            if written.is_multiple_of(1 << 12) {
                bar.set_position(written);
            }
            result = write!(out, "{} {} ", i + 1, j + 1).and_then(|()| output::write_number(out, value));
        }
    });
    result
}
