//! Times of many solvers as a picture: a line for each solver, a panel for each size, a dot for each kind of data.

use super::Row;
use super::machine::Machine;
use super::sweep::Table;
use crate::args::Data;
use crate::exit::Failure;
use crate::plot::{Point, Svg};
use std::path::Path;

const MARGIN: f64 = 24.0;
/// Of one solver.
const LINE: f64 = 20.0;
const PANEL: f64 = 330.0;
/// Between panels.
const GAP: f64 = 30.0;
/// Between the names of the solvers and the first panel.
const SPACE: f64 = 16.0;
/// From one row of panels to the next, beside the lines.
const HEAD: f64 = 84.0;
/// Backward errors that the accuracy contract accepts, in units of epsilon.
const ACCEPTED: f64 = 64.0;
/// Panels side by side.
const ACROSS: usize = 3;

/// Draws the panels, in rows of three, and writes the picture.
///
/// # Errors
/// [`Failure::Other`].
pub fn write(path: &Path, machine: &Machine, tables: &[Table]) -> Result<(), Failure> {
    let solvers = distinct(tables.iter().flat_map(|t| &t.rows).map(solver));
    let panels = distinct(tables.iter().map(|t| (t.n, t.dtype)));
    let axis = Axis::over(tables.iter().flat_map(|t| &t.rows).map(|r| r.ns_per_row));
    let longest = solvers.iter().map(|s| s.0.chars().count()).max().unwrap_or(0);
    let left = MARGIN + 6.2 * longest as f64 + 60.0 + SPACE;
    let mut svg = Svg::default();
    svg.text((MARGIN, MARGIN + 12.0), "title", "Time of every method, factoring and solving: ns per row");
    svg.text((MARGIN, MARGIN + 32.0), "soft", &machine.summary());
    legend(&mut svg, (MARGIN, MARGIN + 56.0), tables);
    let height = HEAD + LINE * solvers.len() as f64;
    for (k, (n, dtype)) in panels.iter().enumerate() {
        let corner = (left + (PANEL + GAP) * (k % ACROSS) as f64, MARGIN + 124.0 + height * (k / ACROSS) as f64);
        if k % ACROSS == 0 {
            names(&mut svg, corner, &solvers);
        }
        frame(&mut svg, corner, &format!("n = {n}, {dtype}"), (&axis, solvers.len()));
        for table in tables.iter().filter(|t| (t.n, t.dtype) == (*n, *dtype)) {
            dots(&mut svg, corner, table, (&axis, &solvers));
        }
    }
    let width = left + (PANEL + GAP) * panels.len().min(ACROSS) as f64;
    let rows = panels.len().div_ceil(ACROSS) as f64;
    svg.write(path, (width.max(960.0), MARGIN + 124.0 + height * rows - HEAD + 60.0))
}

fn distinct<T: PartialEq>(items: impl Iterator<Item = T>) -> Vec<T> {
    let mut kept = Vec::new();
    items.for_each(|item| {
        if !kept.contains(&item) {
            kept.push(item);
        }
    });
    kept
}

/// What has a line of its own: method, threads.
fn solver(row: &Row) -> (&str, usize) {
    (row.method(), row.threads)
}

/// A logarithmic axis.
struct Axis {
    first: f64,
    last: f64,
}

impl Axis {
    /// Covers all values that are numbers, with some space.
    fn over(values: impl Iterator<Item = f64>) -> Axis {
        let finite = values.filter(|v| v.is_finite() && *v > 0.0).map(f64::log10);
        let (first, last) = finite.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
        if first > last { Axis { first: 0.0, last: 1.0 } } else { Axis { first: first - 0.08, last: last + 0.08 } }
    }

    /// Pixels from the left end.
    fn place(&self, value: f64) -> f64 {
        PANEL * (value.log10() - self.first) / (self.last - self.first)
    }

    /// Round numbers that lie on it: a few for each power of ten.
    fn ticks(&self) -> Vec<f64> {
        let steps: &[f64] =
            if self.last - self.first > 1.2 { &[1.0, 2.0, 5.0] } else { &[1.0, 1.5, 2.0, 3.0, 5.0, 7.0] };
        let decades = self.first.floor() as i32..=self.last.ceil() as i32;
        let all = decades.flat_map(|d| steps.iter().map(move |m| m * 10.0_f64.powi(d)));
        all.filter(|v| (self.first..=self.last).contains(&v.log10())).collect()
    }
}

/// Names on the left of a row of panels; the number of threads stands where a method was measured with several.
fn names(svg: &mut Svg, (x, y): Point, solvers: &[(&str, usize)]) {
    for (k, (name, threads)) in solvers.iter().enumerate() {
        let base = y + LINE * (k as f64 + 0.5) + 4.0;
        let again = k > 0 && solvers[k - 1].0 == *name;
        if !again {
            svg.text((MARGIN, base), "", name);
        }
        let threads = crate::report::counted(*threads, "thread");
        svg.text((x - SPACE, base), "end soft", &threads);
    }
}

/// Title, axis and lines of one panel.
fn frame(svg: &mut Svg, (x, y): Point, title: &str, (axis, solvers): (&Axis, usize)) {
    let height = LINE * solvers as f64;
    svg.text((x, y - 12.0), "section", title);
    for k in (0..solvers).step_by(2) {
        svg.rect((x, y + LINE * k as f64), (PANEL, LINE), r##"fill="#f6f6f6""##);
    }
    for tick in axis.ticks() {
        let at = x + axis.place(tick);
        svg.line((at, y), (at, y + height), r#"class="grid""#);
        svg.text((at, y + height + 14.0), "mid soft", &tick.to_string());
    }
    svg.text((x + 0.5 * PANEL, y + height + 30.0), "mid soft", "ns per row");
}

/// The dots of one kind of data; kinds lie a little below each other.
fn dots(svg: &mut Svg, (x, y): Point, table: &Table, (axis, solvers): (&Axis, &[(&str, usize)])) {
    let kind = Data::ALL.iter().position(|d| *d == table.data).unwrap_or(0);
    for row in &table.rows {
        let line = solvers.iter().position(|s| *s == solver(row)).unwrap_or(0);
        let at = y + LINE * (line as f64 + 0.5) + 4.5 * (kind as f64 - 1.0);
        let place = if row.error.is_none() { axis.place(row.ns_per_row) } else { PANEL - 8.0 - 10.0 * kind as f64 };
        svg.group("dot", &note(row, table));
        dot(svg, (x + place, at), table.data, Look::of(row, table));
        svg.end_group();
    }
}

fn note(row: &Row, table: &Table) -> String {
    let result = row.error.clone().unwrap_or_else(|| format!("{:.2} ns per row", row.ns_per_row));
    format!("{}, {} data: {result}", row.solver, table.data.name())
}

/// How a dot is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    Repaired,
    Unverified,
    /// The answer is not within the accuracy contract.
    Wrong,
    Failed,
}

impl Look {
    fn of(row: &Row, table: &Table) -> Look {
        match row.verified() {
            _ if row.error.is_some() => Look::Failed,
            _ if row.backward_error.is_some_and(|eta| !(eta <= ACCEPTED * table.epsilon)) => Look::Wrong,
            Some(false) => Look::Unverified,
            _ if row.repaired() => Look::Repaired,
            _ => Look::Plain,
        }
    }
}

fn dot(svg: &mut Svg, at: Point, data: Data, look: Look) {
    let colour = match data {
        Data::Random => "#4575b4",
        Data::Dominant => "#1a9850",
        Data::Chang17 => "#d73027",
        Data::Scaled => "#7b3294",
    };
    match look {
        Look::Plain => svg.circle(at, 3.5, &format!(r#"fill="{colour}""#)),
        Look::Unverified => svg.circle(at, 3.0, &format!(r##"fill="#fff" stroke="{colour}" stroke-width="1.4""##)),
        Look::Repaired => {
            svg.circle(at, 3.5, &format!(r#"fill="{colour}""#));
            svg.circle(at, 5.5, &format!(r#"fill="none" stroke="{colour}""#));
        }
        Look::Wrong => {
            svg.circle(at, 4.5, &format!(r##"fill="#fff" stroke="{colour}""##));
            svg.cross(at, 2.5, &format!(r#"stroke="{colour}""#));
        }
        Look::Failed => svg.cross(at, 3.5, &format!(r#"stroke="{colour}" stroke-width="1.6""#)),
    }
}

/// Colours of the kinds of data and the looks that occur.
fn legend(svg: &mut Svg, (x, y): Point, tables: &[Table]) {
    let data = distinct(tables.iter().map(|t| t.data));
    let mut entries: Vec<_> = data.iter().map(|d| (*d, Look::Plain, format!("{} data", d.name()))).collect();
    let looks = [
        (Look::Repaired, "repaired: refined or solved again"),
        (Look::Unverified, "unverified"),
        (Look::Wrong, "answer with a backward error above 64 epsilon"),
        (Look::Failed, "no answer"),
    ];
    let occur = |look: Look| tables.iter().any(|t| t.rows.iter().any(|row| Look::of(row, t) == look));
    let occurring = looks.into_iter().filter(|(look, _)| occur(*look));
    entries.extend(occurring.map(|(look, words)| (data[0], look, words.to_string())));
    let mut at = x + 6.0;
    for (data, look, words) in entries {
        dot(svg, (at, y), data, look);
        svg.text((at + 11.0, y + 4.0), "", &words);
        at += 5.8 * words.chars().count() as f64 + 34.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_covers_its_values() {
        let axis = Axis::over([3.0, f64::NAN, 240.0].into_iter());
        assert_eq!(axis.ticks(), [5.0, 10.0, 20.0, 50.0, 100.0, 200.0]);
        let short = Axis::over([8.0, 40.0].into_iter());
        assert_eq!(short.ticks(), [7.0, 10.0, 15.0, 20.0, 30.0]);
        assert!(axis.place(3.0) > 0.0 && axis.place(240.0) < PANEL);
        assert_eq!(Axis::over([].into_iter()).ticks().first(), Some(&1.0));
    }
}
