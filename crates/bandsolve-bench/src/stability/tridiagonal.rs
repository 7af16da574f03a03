//! `bandsolve stability tridiagonal`: every method on tridiagonal test matrices.

use super::columns::Section;
use super::errors::ErrorTable;
use super::{csv, heat_map, text};
use crate::args::StabilityTridiagonalArgs;
use crate::plot::Picture;
use bandsolve_program::exit::Failure;
use bandsolve_program::report;

/// Print the table of tridiagonal matrices.
///
/// # Errors
/// [`Failure::Other`] if a report cannot be written.
pub fn run(args: &StabilityTridiagonalArgs) -> Result<(), Failure> {
    let [json, plot] = args.outputs.named();
    let stdout_used = report::check_outputs(&[json, ("--csv", &args.csv), plot], &[])?;
    let table = ErrorTable::new(args.n as usize, args.seed);
    if let Some(path) = &args.outputs.json {
        report::write_json(path, &table.json())?;
    }
    if let Some(path) = &args.csv {
        report::write_text(path, &csv::lines(&table))?;
    }
    if let Some(path) = &args.outputs.plot {
        picture(&table).write(path)?;
    }
    report::print_beside(&text::tables(&table), stdout_used)
}

fn picture(table: &ErrorTable) -> Picture {
    let parts: Vec<_> = Section::all(&table.rows).iter().map(|s| s.part(table.lapack.is_some())).collect();
    let title = format!("Decimal exponents of the errors of every method, n = {}, seed {}", table.n, table.seed);
    heat_map::draw(&title, &parts)
}
