//! Dot plots of times: one panel per system, one line per solver, one dot per kind of data.

use crate::plot::{self, Axis, Picture, Point, Svg, short};
use crate::row::{BenchRow, distinct};

const MARGIN: f64 = 24.0;
/// Height of the line of one solver.
const LINE: f64 = 20.0;
const PANEL: f64 = 330.0;
/// Distance between two panels.
const GAP: f64 = 30.0;
/// Distance from the names of the solvers to the first panel.
const SPACE: f64 = 16.0;
/// Height of a row of panels without the lines of the solvers.
const HEAD: f64 = 84.0;
/// Largest backward error that the accuracy contract accepts, in units of epsilon.
const ACCEPTED: f64 = 64.0;

/// The content of a dot plot.
pub struct DotChart {
    pub title: String,
    /// The line below the title.
    pub machine: String,
    /// Kinds of data, in the order of their colours. The legend omits them if there is only one.
    pub kinds: Vec<&'static str>,
    /// Number of panels per row.
    pub across: usize,
    pub panels: Vec<DotPanel>,
}

/// One system, or several that differ only in the kind of data.
pub struct DotPanel {
    pub title: String,
    pub dots: Vec<Dot>,
}

/// The time of one solver.
#[derive(Debug, Clone)]
pub struct Dot {
    solver: String,
    threads: usize,
    ns_per_row: f64,
    /// Index into the kinds of the chart.
    kind: usize,
    look: Look,
    /// The tooltip in browsers.
    note: String,
}

impl Dot {
    /// The dot of a table row; `epsilon` is the unit of the accepted backward error.
    pub fn of(row: &BenchRow, kind: usize, epsilon: f64) -> Dot {
        let result = row.error.clone().unwrap_or_else(|| format!("{:.2} ns per row", row.ns_per_row));
        Dot {
            solver: row.method().to_string(),
            threads: row.threads,
            ns_per_row: row.ns_per_row,
            kind,
            look: Look::of(row, epsilon),
            note: format!("{}: {result}", row.solver),
        }
    }

    /// Method and number of threads, which identify a line.
    fn line(&self) -> (&str, usize) {
        (&self.solver, self.threads)
    }
}

impl DotPanel {
    /// A panel with one kind of data.
    pub fn of(title: String, rows: &[BenchRow], epsilon: f64) -> DotPanel {
        DotPanel { title, dots: rows.iter().map(|row| Dot::of(row, 0, epsilon)).collect() }
    }
}

impl DotChart {
    /// Draw the panels.
    pub fn draw(&self) -> Picture {
        let dots = || self.panels.iter().flat_map(|panel| &panel.dots);
        let solvers = distinct(dots().map(Dot::line));
        let axis = Axis::over(dots().map(|dot| dot.ns_per_row), PANEL);
        let longest = solvers.iter().map(|solver| plot::length(solver.0)).fold(0.0, f64::max);
        let left = MARGIN + longest + 74.0 + SPACE;
        let mut svg = Svg::default();
        svg.text((MARGIN, MARGIN + 12.0), "title", &self.title);
        svg.text((MARGIN, MARGIN + 32.0), "soft", &self.machine);
        let legend = self.legend(&mut svg, (MARGIN, MARGIN + 56.0));
        // Without a legend the panels move up.
        let top = MARGIN + if legend > MARGIN + 6.0 { 110.0 } else { 70.0 };
        let height = HEAD + LINE * solvers.len() as f64;
        for (k, panel) in self.panels.iter().enumerate() {
            let corner = (left + (PANEL + GAP) * (k % self.across) as f64, top + height * (k / self.across) as f64);
            if k % self.across == 0 {
                names(&mut svg, corner, &solvers);
            }
            frame(&mut svg, corner, &panel.title, (&axis, solvers.len()));
            panel.dots.iter().for_each(|dot| self.dot(&mut svg, corner, dot, (&axis, &solvers)));
        }
        let width = left + (PANEL + GAP) * self.panels.len().min(self.across) as f64;
        let width =
            width.max(legend).max(MARGIN + plot::title_length(&self.title)).max(MARGIN + plot::length(&self.machine));
        let rows = self.panels.len().div_ceil(self.across) as f64;
        svg.on_page((width + MARGIN, top + height * rows - HEAD + 60.0))
    }

    /// Draw a dot. A vertical offset separates the kinds of data.
    fn dot(&self, svg: &mut Svg, (x, y): Point, dot: &Dot, (axis, solvers): (&Axis, &[(&str, usize)])) {
        let line = solvers.iter().position(|solver| *solver == dot.line()).unwrap_or(0);
        let below = 4.5 * (dot.kind as f64 - 0.5 * self.kinds.len().saturating_sub(1) as f64);
        let place =
            if dot.look == Look::Failed { PANEL - 8.0 - 10.0 * dot.kind as f64 } else { axis.place(dot.ns_per_row) };
        let data = self.kinds.get(dot.kind).map_or(String::new(), |kind| format!(" ({kind} data)"));
        svg.group("dot", &format!("{}{data}", dot.note));
        dot.look.draw(svg, (x + place, y + LINE * (line as f64 + 0.5) + below), dot.kind);
        svg.end_group();
    }

    /// Draw the colours of the kinds of data and the marks that occur. Returns the right end of the legend.
    fn legend(&self, svg: &mut Svg, (x, y): Point) -> f64 {
        let kinds = self.kinds.iter().enumerate().filter(|_| self.kinds.len() > 1);
        let mut entries: Vec<_> = kinds.map(|(k, kind)| (k, Look::Plain, format!("{kind} data"))).collect();
        let looks = [
            (Look::Repaired, "repaired: iterative refinement or fallback"),
            (Look::Unverified, "unverified"),
            (Look::Wrong, "backward error above 64 epsilon"),
            (Look::Failed, "the solver returned an error"),
        ];
        let occur = |look: Look| self.panels.iter().any(|panel| panel.dots.iter().any(|dot| dot.look == look));
        let occurring = looks.into_iter().filter(|(look, _)| occur(*look));
        entries.extend(occurring.map(|(look, words)| (0, look, words.to_string())));
        let mut at = x + 6.0;
        for (kind, look, words) in entries {
            look.draw(svg, (at, y), kind);
            svg.text((at + 11.0, y + 4.0), "", &words);
            at += plot::length(&words) + 34.0;
        }
        at
    }
}

/// Draw the solver names and thread numbers on the left of a row of panels. A name that repeats is drawn once.
fn names(svg: &mut Svg, (x, y): Point, solvers: &[(&str, usize)]) {
    for (k, (name, threads)) in solvers.iter().enumerate() {
        let base = y + LINE * (k as f64 + 0.5) + 4.0;
        let again = k > 0 && solvers[k - 1].0 == *name;
        if !again {
            svg.text((MARGIN, base), "", name);
        }
        let threads = bandsolve_program::report::counted(*threads, "thread");
        svg.text((x - SPACE, base), "end soft", &threads);
    }
}

/// Draw title, axis and lines of one panel.
fn frame(svg: &mut Svg, (x, y): Point, title: &str, (axis, solvers): (&Axis, usize)) {
    let height = LINE * solvers as f64;
    svg.text((x, y - 12.0), "section", title);
    for k in (0..solvers).step_by(2) {
        svg.rect((x, y + LINE * k as f64), (PANEL, LINE), r#"class="stripe""#);
    }
    for tick in axis.ticks(30.0) {
        let at = x + axis.place(tick);
        svg.line((at, y), (at, y + height), r#"class="grid""#);
        svg.text((at, y + height + 14.0), "mid soft", &short(tick));
    }
    svg.text((x + 0.5 * PANEL, y + height + 30.0), "mid soft", "ns per row (less is faster)");
}

/// The mark of a dot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Look {
    Plain,
    Repaired,
    Unverified,
    /// The solution violates the accuracy contract.
    Wrong,
    Failed,
}

impl Look {
    fn of(row: &BenchRow, epsilon: f64) -> Look {
        match row.verified() {
            _ if row.error.is_some() => Look::Failed,
            _ if row.backward_error.is_some_and(|eta| !(eta <= ACCEPTED * epsilon)) => Look::Wrong,
            Some(false) => Look::Unverified,
            _ if row.repaired() => Look::Repaired,
            _ => Look::Plain,
        }
    }

    fn draw(self, svg: &mut Svg, at: Point, kind: usize) {
        let full = format!(r#"class="s{kind}""#);
        match self {
            Look::Plain => svg.circle(at, 3.5, &full),
            Look::Unverified => svg.circle(at, 3.0, &format!(r#"class="hollow k{kind}" stroke-width="1.4""#)),
            Look::Repaired => {
                svg.circle(at, 3.5, &full);
                svg.circle(at, 5.5, &format!(r#"fill="none" class="k{kind}""#));
            }
            Look::Wrong => {
                svg.circle(at, 4.5, &format!(r#"class="hollow k{kind}""#));
                svg.cross(at, 2.5, &format!(r#"class="k{kind}""#));
            }
            Look::Failed => svg.cross(at, 3.5, &format!(r#"class="k{kind}" stroke-width="1.6""#)),
        }
    }
}
