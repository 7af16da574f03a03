//! Tables and plot of the results of a device.

use super::system::COPY;
use crate::lines::{LineChart, Pair, Series};
use crate::plot::Picture;
use crate::row::{UNVERIFIED, distinct, ratio};
use crate::sheet::{BACKWARD, Line, SOLVER, Sheet, SheetColumn, column};
use crate::yardstick::Passes;
use bandsolve_program::report;
use serde_json::Value;

const SYSTEM: SheetColumn = column("system", 28, "");
const ROWS: SheetColumn = column("rows", 9, "");
const TYPE: SheetColumn = column("type", 5, "");

/// The table of backward errors on the device and on the CPU.
pub fn accuracy(lines: &[Value]) -> Sheet {
    let line = |line: &Value| Line {
        cells: vec![
            word(&line["system"]),
            line["n"].to_string(),
            line["n_rhs"].to_string(),
            word(&line["dtype"]),
            error(&line["backward_error"]),
            error(&line["backward_error_cpu"]),
        ],
        note: word(&line["note"]),
    };
    Sheet {
        title: "Backward errors on the device and on the CPU".into(),
        columns: vec![
            SYSTEM,
            ROWS,
            column("rhs", 4, "number of right-hand sides"),
            TYPE,
            BACKWARD,
            column("on CPU", 9, "backward error of the solution on the CPU"),
        ],
        lines: lines.iter().map(line).collect(),
    }
}

/// One table of times per system.
pub fn speed(rows: &[Value]) -> Vec<Sheet> {
    let facts = |row: &Value| (word(&row["system"]), row["n"].as_u64(), word(&row["dtype"]));
    let line = |row: &Value| Line {
        cells: vec![
            word(&row["solver"]),
            row["ns_per_row"].as_f64().map_or("-".into(), |ns| format!("{ns:.3}")),
            if row["solver"] == COPY { "-".into() } else { ratio(row["speedup_over_gtsv"].as_f64()) },
            row["share_of_copy"].as_f64().map_or("-".into(), |share| format!("{:.0}%", 100.0 * share)),
            error(&row["backward_error"]),
        ],
        note: word(&row["note"]),
    };
    let sheet = |key: (String, Option<u64>, String)| Sheet {
        title: format!("{}, n = {}, {}", key.0, key.1.unwrap_or(0), key.2),
        columns: vec![
            SheetColumn { width: 30, ..SOLVER },
            column(
                "ns per row",
                10,
                "median time divided by the number of rows, in nanoseconds. The clock of the device measures the kernels. `host time` \
                 is the whole solve by the clock of the host.",
            ),
            column("speedup vs cuSPARSE", 19, "time of the fastest routine of cuSPARSE divided by this time"),
            column(
                "of copy",
                8,
                "bandwidth of the solve relative to the bandwidth of a large copy; the solve counts the numbers that it must move",
            ),
            BACKWARD,
        ],
        lines: rows.iter().filter(|row| facts(row) == key).map(line).collect(),
    };
    distinct(rows.iter().map(facts)).into_iter().map(sheet).collect()
}

/// Plot the speed of one tridiagonal system over n.
pub fn picture(device: &str, rows: &[Value]) -> Picture {
    let own: Vec<&Value> = rows.iter().filter(|row| row["system"] == "tridiagonal" && row["error"].is_null()).collect();
    let pair = |dtype: String| {
        let own: Vec<&Value> = own.iter().copied().filter(|row| row["dtype"] == *dtype).collect();
        let bytes = if dtype == "f32" { 4.0 } else { 8.0 };
        let points = |solver: &str| -> Vec<(f64, f64)> {
            let rows = own.iter().filter(|row| row["solver"] == solver);
            rows.filter_map(|row| Some((row["n"].as_f64()?, row["ns_per_row"].as_f64()?))).collect()
        };
        let solvers = distinct(own.iter().map(|row| word(&row["solver"]))).into_iter().filter(|name| name != COPY);
        let series = |name: String| Series {
            points: points(&name),
            threads: None,
            unverified: name.ends_with(UNVERIFIED),
            solver: name.trim_end_matches(UNVERIFIED).into(),
        };
        let largest = points(COPY).into_iter().max_by(|a, b| a.0.total_cmp(&b.0));
        Pair {
            title: format!("{dtype}, random data"),
            series: solvers.map(series).collect(),
            bytes: Passes::Two.words() as f64 * bytes,
            roofs: largest.map(|(_, ns)| ("large copy".to_string(), 2.0 * bytes / ns)).into_iter().collect(),
            cache: None,
        }
    };
    LineChart {
        title: "One tridiagonal system in GPU memory: rows per second and memory bandwidth".into(),
        machine: device.into(),
        pairs: distinct(own.iter().map(|row| word(&row["dtype"]))).into_iter().map(pair).collect(),
    }
    .draw()
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or_default().into()
}

fn error(value: &Value) -> String {
    report::error(value.as_f64())
}
