//! The stability tables as comma-separated values, with one line per matrix and solver.

use super::errors::{Attempt, ErrorTable, Judgement, ProblemRow};
use bandsolve::Error;

const HEAD: &str = "matrix,condition,source,solver,raw_backward_error,raw_forward_error,raw_error,\
verified_backward_error,verified_forward_error,verified_error,refinement_steps,fallback,failure\n";

/// All lines: bandsolve, LAPACK if the machine has it, then the published errors. `error` is the measure of the paper. A published line
/// has only `raw_error`.
pub fn lines(table: &ErrorTable) -> String {
    let matrices = table.rows.iter().map(|row| of_matrix(row, table.lapack.is_some()));
    HEAD.to_string() + &matrices.collect::<String>()
}

fn of_matrix(row: &ProblemRow, lapack: bool) -> String {
    let case = row.problem.case;
    let mut text = String::new();
    let mut line = |source: &str, solver: &str, [raw, verified, outcome]: [[String; 3]; 3]| {
        let condition = row.problem.condition().map_or(String::new(), |c| c.to_string());
        let head = [row.problem.name.clone(), condition, source.into(), solver.into()];
        let fields: Vec<String> = head.iter().chain(&raw).chain(&verified).chain(&outcome).map(|f| quoted(f)).collect();
        text += &format!("{}\n", fields.join(","));
    };
    for attempt in &row.attempts {
        line("bandsolve", attempt.solver, [numbers(&attempt.raw), numbers(&attempt.verified), outcome(attempt)]);
    }
    if lapack {
        let failure = if row.lapack.is_some() { "" } else { "zero pivot" };
        let outcome = [String::new(), String::new(), failure.into()];
        line("lapack", "gtsv", [row.lapack.as_ref().map(numbers).unwrap_or_default(), nothing(), outcome]);
    }
    if let Some(case) = case {
        for (solver, error) in case.columns() {
            let published = [String::new(), String::new(), format!("{error:e}")];
            line(case.paper.name(), solver, [published, nothing(), nothing()]);
        }
    }
    text
}

fn nothing() -> [String; 3] {
    Default::default()
}

fn numbers(judgement: &Judgement) -> [String; 3] {
    [judgement.backward_error, judgement.forward_error, judgement.error].map(|v| format!("{v:e}"))
}

fn outcome(attempt: &Attempt) -> [String; 3] {
    match &attempt.outcome {
        Ok((steps, fallback)) => [steps.to_string(), fallback.to_string(), String::new()],
        Err(error) => [String::new(), String::new(), Error::to_string(error)],
    }
}

/// Quote a field that contains commas, quotation marks or line breaks.
fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n']) { format!("\"{}\"", field.replace('"', "\"\"")) } else { field.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_and_quotation_marks_do_not_end_a_field() {
        assert_eq!(["a-1", "a, b", "say \"x\""].map(quoted), ["a-1", "\"a, b\"", "\"say \"\"x\"\"\""]);
    }
}
