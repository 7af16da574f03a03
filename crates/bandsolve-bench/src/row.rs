//! The result of one solver for one system, and its ratios to other results.

use crate::yardstick;
use serde_json::{Value, json};

/// Suffix of the name of a method that runs without verification.
pub const UNVERIFIED: &str = " unverified";

/// Repairs that one solve needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RepairCounts {
    pub refinement_steps: usize,
    pub fallback: bool,
}

impl RepairCounts {
    pub fn of(report: &bandsolve::Report) -> RepairCounts {
        RepairCounts { refinement_steps: report.refinement_steps, fallback: report.fallback }
    }

    /// The note at the end of a table line.
    pub fn note(self) -> &'static str {
        match self {
            RepairCounts { fallback: true, .. } => "fallback to the pivoted solver",
            RepairCounts { refinement_steps: 1.., .. } => "iterative refinement",
            _ => "",
        }
    }
}

/// The result of one solver for one system.
#[derive(Debug, Clone)]
pub struct BenchRow {
    pub solver: String,
    pub threads: usize,
    pub ns_per_row: f64,
    pub ns_per_row_min: f64,
    pub repetitions: usize,
    pub backward_error: Option<f64>,
    /// `None` for solvers of other libraries.
    pub repair: Option<RepairCounts>,
    /// Why the solver returned no solution.
    pub error: Option<String>,
    /// Time of the fastest `gtsv` divided by this time.
    pub speedup_over_gtsv: Option<f64>,
    /// This time divided by the time of the yardstick with the same number of threads.
    pub times_yardstick: Option<f64>,
}

impl BenchRow {
    /// Whether this is the LAPACK routine of any library, or the corresponding routine of cuSPARSE.
    pub fn is_gtsv(&self) -> bool {
        ["gtsv", "gbsv", "ptsv", "pbsv", "gtsv2", "InterleavedBatch"]
            .iter()
            .any(|routine| self.solver.ends_with(routine))
    }

    pub fn is_yardstick(&self) -> bool {
        self.solver == yardstick::NAME
    }

    /// The name of the solver without the suffix [`UNVERIFIED`].
    pub fn method(&self) -> &str {
        self.solver.strip_suffix(UNVERIFIED).unwrap_or(&self.solver)
    }

    /// Whether the solution was verified; `None` for solvers of other libraries.
    pub fn verified(&self) -> Option<bool> {
        self.repair.map(|_| !self.solver.ends_with(UNVERIFIED))
    }

    pub fn repaired(&self) -> bool {
        self.repair.is_some_and(|r| r.fallback || r.refinement_steps > 0)
    }

    pub fn json(&self, system: &Value) -> Value {
        let mut row = json!({ "solver": self.solver });
        let fields = row.as_object_mut().expect("an object");
        fields.extend(system.as_object().cloned().into_iter().flatten());
        let rest = json!({
            "threads": self.threads,
            "ns_per_row": self.ns_per_row,
            "ns_per_row_min": self.ns_per_row_min,
            "repetitions": self.repetitions,
            "backward_error": self.backward_error,
            "verified": self.verified(),
            "refinement_steps": self.repair.map(|r| r.refinement_steps),
            "fallback": self.repair.map(|r| r.fallback),
            "error": self.error,
            "speedup_over_gtsv": self.speedup_over_gtsv,
            "times_yardstick": self.times_yardstick,
        });
        fields.extend(rest.as_object().cloned().into_iter().flatten());
        row
    }
}

pub fn ratio(r: Option<f64>) -> String {
    r.map_or("-".to_string(), |r| format!("{r:.2}"))
}

/// Compute both ratios: to the fastest `gtsv`, and to the yardstick with the same number of threads.
pub fn compare(rows: &mut [BenchRow]) {
    let solved = rows.iter().filter(|r| r.error.is_none());
    let gtsv = solved.filter(|r| r.is_gtsv()).map(|r| r.ns_per_row).min_by(f64::total_cmp);
    let bus: Vec<(usize, f64)> = rows.iter().filter(|r| r.is_yardstick()).map(|r| (r.threads, r.ns_per_row)).collect();
    for row in rows.iter_mut().filter(|r| r.error.is_none()) {
        let yardstick = bus.iter().find(|(threads, _)| *threads == row.threads);
        row.times_yardstick = yardstick.map(|(_, ns)| row.ns_per_row / ns);
        row.speedup_over_gtsv = gtsv.filter(|_| !row.is_yardstick()).map(|ns| ns / row.ns_per_row);
    }
}

/// Keep only the faster way to write x, for each number of threads.
pub fn keep_best_yardstick(rows: &mut Vec<BenchRow>) {
    let all = rows.clone();
    let beaten =
        |r: &BenchRow| all.iter().any(|o| o.is_yardstick() && o.threads == r.threads && o.ns_per_row < r.ns_per_row);
    rows.retain(|r| !r.is_yardstick() || !beaten(r));
}

/// Remove duplicates, and keep the order of first appearance.
pub fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut firsts = Vec::new();
    items.for_each(|item| {
        if !firsts.contains(&item) {
            firsts.push(item);
        }
    });
    firsts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(solver: &str, threads: usize, ns_per_row: f64) -> BenchRow {
        BenchRow {
            solver: solver.into(),
            threads,
            ns_per_row,
            ns_per_row_min: ns_per_row,
            repetitions: 1,
            backward_error: None,
            repair: None,
            error: None,
            speedup_over_gtsv: None,
            times_yardstick: None,
        }
    }

    #[test]
    fn ratios_are_to_the_fastest_gtsv_and_the_bus_at_the_same_threads() {
        let mut rows = [
            row("rpts", 1, 4.0),
            row("rpts", 2, 3.0),
            row("lapack gtsv", 1, 20.0),
            row("mkl gtsv", 1, 16.0),
            row(yardstick::NAME, 1, 2.0),
        ];
        compare(&mut rows);
        assert_eq!(rows[0].speedup_over_gtsv, Some(4.0));
        assert_eq!(rows[0].times_yardstick, Some(2.0));
        assert_eq!(rows[1].times_yardstick, None);
        assert_eq!(rows[2].speedup_over_gtsv, Some(0.8));
        assert_eq!(rows[4].speedup_over_gtsv, None);
    }
}
