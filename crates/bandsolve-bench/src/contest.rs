//! Solvers that run alternately within a time budget.

use crate::row::{BenchRow, RepairCounts};
use std::time::{Duration, Instant};

/// A solver to measure.
pub struct Contestant<'a, W> {
    /// Name in the table.
    pub name: String,
    /// Number of threads.
    pub threads: usize,
    /// Restores the inputs that it overwrites, then solves once. Returns the time of the solve only.
    pub solve: TimedSolve<'a, W>,
}

/// One repetition in the memory `W`, which all solvers share.
pub type TimedSolve<'a, W> = Box<dyn FnMut(&mut W) -> Result<Duration, String> + 'a>;

/// The duration of a measurement.
#[derive(Debug, Clone, Copy)]
pub struct Budget {
    /// Wall-clock seconds for all solvers in total.
    pub seconds: f64,
    /// Minimum number of rounds, however long they take.
    pub min_rounds: usize,
}

/// Time that each solver runs per round. A core needs half a millisecond to change its clock between scalar and vector code, threads must
/// wake up and caches must fill. 5 ms are long compared with these effects.
const TURN: Duration = Duration::from_millis(5);

/// Run all solvers alternately. Returns one row per solver, without ratios. `check` measures the solution in `W`.
pub fn run<W>(
    contestants: &mut [Contestant<'_, W>],
    rows: usize,
    budget: Budget,
    work: &mut W,
    check: impl Fn(&W) -> MeasuredAnswer,
) -> Vec<BenchRow> {
    let mut records: Vec<Record> = contestants
        .iter_mut()
        .map(|c| match (c.solve)(work) {
            Ok(_) => Record { verdict: check(work), ..Record::default() },
            Err(error) => Record { error: Some(error), ..Record::default() },
        })
        .collect();
    let started = Instant::now();
    let mut round = 0;
    while round < budget.min_rounds || started.elapsed().as_secs_f64() < budget.seconds {
        for (contestant, record) in contestants.iter_mut().zip(&mut records) {
            turn(contestant, record, work);
        }
        round += 1;
    }
    contestants.iter().zip(records).map(|(c, record)| record.row(c, rows)).collect()
}

/// The backward error and the repairs of a solution, as far as they are known.
pub type MeasuredAnswer = (Option<f64>, Option<RepairCounts>);

#[derive(Debug, Default)]
struct Record {
    times: Vec<Duration>,
    verdict: MeasuredAnswer,
    error: Option<String>,
}

fn turn<W>(contestant: &mut Contestant<'_, W>, record: &mut Record, work: &mut W) {
    let mut measured = Duration::ZERO;
    while record.error.is_none() && measured < TURN {
        match (contestant.solve)(work) {
            Ok(time) => {
                // A coarse clock may return zero; the minimum makes the loop end.
                measured += time.max(Duration::from_nanos(100));
                record.times.push(time);
            }
            Err(error) => record.error = Some(error),
        }
    }
}

impl Record {
    fn row<W>(mut self, contestant: &Contestant<'_, W>, rows: usize) -> BenchRow {
        self.times.sort();
        let per_row = |time: Option<&Duration>| time.map_or(f64::NAN, |t| t.as_secs_f64() * 1e9 / rows as f64);
        BenchRow {
            solver: contestant.name.clone(),
            threads: contestant.threads,
            ns_per_row: per_row(self.times.get(self.times.len() / 2)),
            ns_per_row_min: per_row(self.times.first()),
            repetitions: self.times.len(),
            backward_error: self.verdict.0,
            repair: self.verdict.1,
            error: self.error,
            speedup_over_gtsv: None,
            times_yardstick: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solvers_take_turns_and_medians_are_reported() {
        let order = std::cell::RefCell::new(Vec::new());
        let order = &order;
        let contestant = |name: &str, milliseconds: u64| Contestant {
            name: name.to_string(),
            threads: 1,
            solve: Box::new(move |calls: &mut usize| {
                *calls += 1;
                order.borrow_mut().push(milliseconds);
                if milliseconds == 9 { Err("no".into()) } else { Ok(Duration::from_millis(milliseconds)) }
            }),
        };
        let mut contestants = [contestant("a", 10), contestant("b", 2), contestant("c", 9)];
        let mut calls = 0;
        let budget = Budget { seconds: 0.0, min_rounds: 3 };
        let rows = run(&mut contestants, 1000, budget, &mut calls, |calls| (Some(*calls as f64), None));
        let round = [10, 2, 2, 2];
        let expected = [&[10, 2, 9][..], &round, &round, &round].concat();
        assert_eq!(*order.borrow(), expected, "a warm-up, three rounds with turns of 5 ms or more, failures drop out");
        assert_eq!((rows[1].ns_per_row, rows[1].ns_per_row_min, rows[1].repetitions), (2000.0, 2000.0, 9));
        assert_eq!((rows[0].backward_error, rows[2].error.as_deref()), (Some(1.0), Some("no")));
    }
}
