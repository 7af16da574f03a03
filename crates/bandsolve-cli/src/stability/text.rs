//! The stability tables for people, at most 140 columns wide.

use super::{Attempt, Judgement, Row, largest_verified};
use bandsolve::Error;
use bandsolve_testkit::tables::Paper;

/// All tables: for each paper our backward errors, then its own measure beside the published numbers.
pub fn tables(n: usize, rows: &[Row]) -> String {
    let mut text = String::new();
    for paper in [Paper::Chang, Paper::Klein] {
        let own: Vec<&Row> = rows.iter().filter(|r| r.problem.case.is_some_and(|c| c.paper == paper)).collect();
        let source = match paper {
            Paper::Chang => "Chang 2014, Tables 6.1 and 6.2",
            Paper::Klein => "Klein 2022, Tables 4 and 5",
        };
        text += &format!("\n{source}, n = {n}: row-wise backward error\n{}", backward_table(&own));
        text += &format!("\n{source}: {}; on the right as published for n = 512\n", paper.measure());
        text += &published_table(paper, &own);
    }
    let scaled: Vec<&Row> = rows.iter().filter(|r| r.problem.case.is_none()).collect();
    text += &format!(
        "\nRandom rows (some: a tenth, rows: all) scaled up to the given power of ten, n = {n}: backward error\n"
    );
    text += &backward_table(&scaled);
    text += "\nsteps: of refinement; fallback: solved again by the pivoted method; failed: returned as an error\n";
    let largest = largest_verified(rows);
    text += &format!("Largest verified backward error: {largest:.1e} = {:.1} epsilon\n", largest / f64::EPSILON);
    text
}

/// Raw and verified backward errors, 8 characters a number.
fn backward_table(rows: &[&Row]) -> String {
    let columns = |row: &Row, of: fn(&Attempt) -> f64| -> String {
        row.attempts.iter().map(|a| format!(" {:>8}", number(of(a)))).collect()
    };
    let mut text = format!("{:20} {:^36} |{:^27}\n", "", "unverified", "verified");
    text += &format!("{:11} {:>8} {}", "matrix", "cond.", heading(&["rpts", "partial", "pivoted", "gtsv"], 8));
    text += &format!(" |{}  repaired\n", heading(&["rpts", "partial", "pivoted"], 8));
    for row in rows {
        let condition = row.problem.case.map_or("-".to_string(), |c| number(c.condition));
        let gtsv = lapack(row, |j| j.backward_error);
        let raw = columns(row, |a| a.raw.backward_error);
        let verified = columns(row, |a| a.verified.backward_error);
        let repairs = repairs(&row.attempts);
        let line = format!("{:11} {condition:>8} {raw} {gtsv:>8} |{verified}  {repairs}", row.problem.name);
        text += line.trim_end();
        text += "\n";
    }
    text
}

/// Errors in the measure of the paper, beside its columns.
fn published_table(paper: Paper, rows: &[&Row]) -> String {
    let ours = ["rpts raw", "rpts", "partial", "pivoted", "gtsv"];
    let theirs: Vec<&str> = paper.solvers().iter().map(|s| short(s)).collect();
    let mut text = format!("{:12} {} | {}\n", "matrix", heading(&ours, 9), heading(&theirs, 9));
    for row in rows {
        let raw = row.attempts.first().map(|a| a.raw.error);
        let verified = row.attempts.iter().map(|a| a.verified.error);
        let ours: String = raw.into_iter().chain(verified).map(|e| format!(" {:>9}", number(e))).collect();
        let gtsv = lapack(row, |j| j.error);
        let published = row.problem.case.map(|c| c.published).unwrap_or_default();
        let published: String = published.iter().map(|e| format!(" {:>9}", number(*e))).collect();
        text += &format!("{:12} {ours} {gtsv:>9} | {published}\n", row.problem.name);
    }
    text
}

fn heading(names: &[&str], width: usize) -> String {
    names.iter().map(|name| format!(" {name:>width$}")).collect()
}

/// Column heads of the papers' solvers.
fn short(solver: &str) -> &str {
    match solver {
        "SPIKE-Diagonal Pivoting" => "SPIKE-DP",
        "Parallel Diagonal Pivoting" => "par. DP",
        other => other,
    }
}

fn lapack(row: &Row, error: fn(&Judgement) -> f64) -> String {
    row.lapack.as_ref().map_or("-".to_string(), |j| number(error(j)))
}

fn number(v: f64) -> String {
    if v.is_finite() { format!("{v:.1e}") } else { v.to_string() }
}

/// `rpts: 2 steps; partial: fallback`: what verification had to do.
fn repairs(attempts: &[Attempt]) -> String {
    let notes = attempts.iter().filter_map(|a| {
        let what = match &a.outcome {
            Ok((_, true)) => "fallback".to_string(),
            Ok((0, false)) => return None,
            Ok((steps, false)) => crate::report::counted(*steps, "step"),
            Err(Error::Singular { .. }) => "singular".to_string(),
            Err(Error::NotConverged { .. }) => "failed".to_string(),
            Err(_) => "error".to_string(),
        };
        Some(format!("{}: {what}", a.solver.trim_start_matches("rpts-")))
    });
    notes.collect::<Vec<_>>().join("; ")
}
