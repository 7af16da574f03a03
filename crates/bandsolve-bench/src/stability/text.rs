//! The stability tables for terminals, at most 160 characters wide.

use super::cells::{Cell, ErrorColumn, Mark};
use super::columns::{Section, mark};
use super::errors::{ErrorTable, Judgement};
use bandsolve_program::report::largest;

/// Maximum number of characters per line.
const WIDTH: usize = 160;
/// Width of a column, with the space before its number and the mark after it.
const COLUMN: usize = 10;
/// Width of the name and the condition number of a matrix.
const LABEL: usize = 20;

/// All tables: for each paper the backward errors of bandsolve, then the measure of the paper with the published errors.
pub fn tables(table: &ErrorTable) -> String {
    let lapack = table.lapack.is_some();
    let mut text = String::new();
    for section in Section::all(&table.rows) {
        let title = format!("\n{}, n = {}: row-wise backward error", section.source(), table.n);
        text += &format!("{title}, unverified\n{}", blocks(&section, &section.raw(|j| j.backward_error, lapack), &[]));
        text += &format!("{title}, verified\n{}", blocks(&section, &section.verified(|j| j.backward_error), &[]));
        let Some(paper) = section.paper else { continue };
        let title = format!("\n{}: {}", section.source(), paper.measure());
        let (published, right) = (section.published(), "right of the bar: published for n = 512");
        text += &format!("{title}, unverified; {right}\n");
        text += &blocks(&section, &section.raw(|j| j.error, lapack), &published);
        text += &format!("{title}, verified; {right}\n");
        text += &blocks(&section, &section.verified(|j| j.error), &published);
    }
    text += "\n+ needed iterative refinement, * fallback to the pivoted solver, ! the solver returned an error, - no value\n";
    text + &summary(table)
}

/// The columns of bandsolve in as many blocks as fit the line width. Each block repeats the published columns on its right.
fn blocks(section: &Section<'_>, ours: &[ErrorColumn], published: &[ErrorColumn]) -> String {
    let fit = (WIDTH - LABEL - " |".len()) / COLUMN - published.len();
    let even = ours.len().div_ceil(ours.len().div_ceil(fit));
    ours.chunks(even).map(|ours| block(section, ours, published)).collect::<Vec<_>>().join("\n")
}

fn block(section: &Section<'_>, ours: &[ErrorColumn], published: &[ErrorColumn]) -> String {
    let height = ours.iter().chain(published).map(|c| wrapped(&c.head).len()).max().unwrap_or(1);
    let line = |label: String, cell: &dyn Fn(&ErrorColumn) -> String| {
        let cells =
            |columns: &[ErrorColumn]| columns.iter().map(|c| format!("{:>COLUMN$}", cell(c))).collect::<String>();
        let bar = if published.is_empty() { "" } else { " |" };
        let line = format!("{label:LABEL$}{}{bar}{}", cells(ours), cells(published));
        line.trim_end().to_string() + "\n"
    };
    let heads = (0..height).map(|k| {
        let label = if k + 1 == height { format!("{:11} {:>8}", "matrix", "cond.") } else { String::new() };
        // Headings are aligned to the bottom.
        line(label, &|c| {
            let words = wrapped(&c.head);
            (k + words.len()).checked_sub(height).map_or(String::new(), |k| words[k].clone() + " ")
        })
    });
    let rows = section.rows.iter().enumerate().map(|(k, row)| {
        let condition = row.problem.condition().map_or("-".to_string(), number);
        line(format!("{:11} {condition:>8}", row.problem.name), &|c| cell(c.cells[k]))
    });
    heads.chain(rows).collect()
}

/// Break a name into lines that fit a column, at spaces and after hyphens.
fn wrapped(name: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in name.split_inclusive(['-', ' ']) {
        match lines.last_mut() {
            Some(line) if line.len() + word.trim_end().len() < COLUMN => line.push_str(word),
            _ => lines.push(word.to_string()),
        }
    }
    lines.iter().map(|line| line.trim_end().to_string()).collect()
}

fn cell(cell: Cell) -> String {
    let mark = match cell.mark {
        Mark::Plain | Mark::Absent => ' ',
        Mark::Refined => '+',
        Mark::Fallback => '*',
        Mark::Failed => '!',
    };
    cell.error.map_or("- ".to_string(), |error| format!("{}{mark}", number(error)))
}

fn number(v: f64) -> String {
    if v.is_finite() { format!("{v:.1e}") } else { v.to_string() }
}

/// One line per solver, over all matrices.
fn summary(table: &ErrorTable) -> String {
    let count = table.rows.len();
    let mut text = format!("\nAll {count} matrices, row-wise backward error\n");
    text += format!("{:27}{:^20}{:^50}", "", "unverified", "verified").trim_end();
    let heads = ["<= 8 eps", "largest", "no repair", "refined", "fallback", "error", "largest"];
    text += &format!("\n{:27}{}\n", "solver", heads.map(|head| format!("{head:>10}")).concat());
    let solvers = table.rows.first().map_or(0, |row| row.attempts.len());
    for k in 0..solvers {
        let attempts = || table.rows.iter().map(|row| &row.attempts[k]);
        let marked = |wanted| attempts().filter(|a| mark(a) == wanted).count();
        let answers = attempts().filter(|a| a.outcome.is_ok());
        let numbers = [Mark::Plain, Mark::Refined, Mark::Fallback, Mark::Failed].map(|m| format!("{:>10}", marked(m)));
        let name = &table.rows[0].attempts[k].solver;
        text += &format!("{name:27}{}{}", unverified(attempts().map(|a| &a.raw)), numbers.concat());
        text += &format!("{:>10}\n", number(largest(answers.map(|a| a.verified.backward_error))));
    }
    if table.lapack.is_some() {
        text +=
            &format!("{:27}{}\n", "LAPACK gtsv", unverified(table.rows.iter().filter_map(|row| row.lapack.as_ref())));
    }
    let largest = table.largest_verified();
    text + &format!("Largest verified backward error: {largest:.1e} = {:.1} epsilon\n", largest / f64::EPSILON)
}

/// The number of unverified solutions with a backward error of at most 8 epsilon, and the largest error.
fn unverified<'a>(judgements: impl Iterator<Item = &'a Judgement>) -> String {
    let errors: Vec<f64> = judgements.map(|j| j.backward_error).collect();
    let good = errors.iter().filter(|eta| **eta <= bandsolve::good::<f64>()).count();
    format!("{good:>10}{:>10}", number(largest(errors.into_iter())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_broken_into_lines_that_fit() {
        assert_eq!(wrapped("spike-diagonal-pivoting"), ["spike-", "diagonal-", "pivoting"]);
        assert_eq!(wrapped("Parallel Diagonal Pivoting"), ["Parallel", "Diagonal", "Pivoting"]);
        assert_eq!([wrapped("A-R-CR"), wrapped("cf-lu")], [["A-R-CR"], ["cf-lu"]]);
    }
}
