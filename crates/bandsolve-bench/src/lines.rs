//! Plots of rows per second and bytes per second over the number of unknowns, with one line per solver.

use crate::plot::{self, Axis, Picture, Point, SERIES, Svg, short};
use crate::row::distinct;
use bandsolve_program::report::counted;

const MARGIN: f64 = 24.0;
/// Size of a panel.
const SIZE: Point = (430.0, 250.0);
/// Space on the left of a panel for the numbers of its axis.
const LEFT: f64 = 62.0;
/// Distance from the lower end of a panel to the upper end of the next.
const BELOW: f64 = 92.0;
/// Distance between two lines of the legend.
const LINE: f64 = 18.0;

/// The caption below the panels.
const READING: [&str; 3] = [
    "Higher is faster. The dashed grey lines are the measured bandwidth.",
    "A partitioned solve moves 9 numbers per row. The right panel shows these bytes divided by the time.",
    "Memory bandwidth limits a partitioned solve of a system that is larger than the caches.",
];

/// The content of a plot.
pub struct LineChart {
    pub title: String,
    /// The line below the title.
    pub machine: String,
    pub pairs: Vec<Pair>,
}

/// Two panels side by side: rows per second and bytes per second.
pub struct Pair {
    pub title: String,
    pub series: Vec<Series>,
    /// Bytes per row that a partitioned solve moves.
    pub bytes: f64,
    /// Names and GB/s of the measured bandwidths.
    pub roofs: Vec<(String, f64)>,
    /// Number of unknowns of the largest system that fits in the caches.
    pub cache: Option<f64>,
}

/// One solver.
pub struct Series {
    pub solver: String,
    /// `None` on a GPU.
    pub threads: Option<usize>,
    /// Whether verification was off.
    pub unverified: bool,
    /// Pairs of the number of unknowns and ns per row.
    pub points: Vec<(f64, f64)>,
}

/// Axes that all panels share.
struct Axes {
    n: Axis,
    rows: Axis,
    bytes: Axis,
}

impl LineChart {
    /// Draw the pairs, one below the other.
    pub fn draw(&self) -> Picture {
        let mut svg = Svg::default();
        let width = 2.0 * (MARGIN + LEFT + SIZE.0) + 24.0;
        svg.text((MARGIN, MARGIN + 12.0), "title", &self.title);
        svg.text((MARGIN, MARGIN + 32.0), "soft", &self.machine);
        let solvers = distinct(self.series().map(Series::colour));
        let mut y = self.legend(&mut svg, width, &solvers) + 62.0;
        let axes = self.axes();
        for pair in &self.pairs {
            svg.text((MARGIN, y - 24.0), "section", &pair.title);
            let left = (MARGIN + LEFT, y);
            let right = (left.0 + SIZE.0 + LEFT + MARGIN, y);
            pair.speed(&mut svg, left, &axes, &solvers);
            pair.roofline(&mut svg, right, &axes, &solvers);
            y += SIZE.1 + BELOW;
        }
        let end = y - BELOW + 62.0;
        for (k, words) in READING.iter().enumerate() {
            svg.text((MARGIN, end + 15.0 * k as f64), "soft", words);
        }
        let width = READING.iter().map(|words| MARGIN + plot::length(words)).fold(width, f64::max);
        svg.on_page((width.max(MARGIN + plot::length(&self.machine)), end + 15.0 * READING.len() as f64 + 8.0))
    }

    fn series(&self) -> impl Iterator<Item = &Series> {
        self.pairs.iter().flat_map(|pair| &pair.series)
    }

    fn axes(&self) -> Axes {
        let points =
            |f: fn(f64, f64) -> f64| self.series().flat_map(move |s| s.points.iter().map(move |p| f(p.0, p.1)));
        let bytes = self.pairs.iter().flat_map(|pair| {
            let moved = pair.series.iter().flat_map(|s| s.points.iter().map(|p| pair.bytes / p.1));
            // Leave space for the name above the line of a bandwidth.
            moved.chain(pair.roofs.iter().map(|roof| 1.4 * roof.1))
        });
        Axes {
            n: Axis::over(points(|n, _| n), SIZE.0),
            rows: Axis::over(points(|_, ns| 1e9 / ns), SIZE.1),
            bytes: Axis::over(bytes, SIZE.1),
        }
    }

    /// Draw a sample of each line. Returns the lower end of the legend.
    fn legend(&self, svg: &mut Svg, width: f64, solvers: &[(&str, Option<usize>)]) -> f64 {
        let (mut x, mut y) = (MARGIN, MARGIN + 58.0);
        let drawn = distinct(self.series().map(|s| (s.colour(), s.unverified, s.name())));
        for (line_colour, unverified, words) in drawn {
            let needed = 36.0 + plot::length(&words);
            if x + needed > width - MARGIN {
                (x, y) = (MARGIN, y + LINE);
            }
            let colour = solvers.iter().position(|other| *other == line_colour).unwrap_or(0);
            let sample = [(x, y - 4.0), (x + 24.0, y - 4.0)];
            line(svg, (&sample, &[(x + 12.0, y - 4.0)]), colour, unverified);
            svg.text((x + 30.0, y), "", &words);
            x += needed + 18.0;
        }
        y
    }
}

impl Series {
    /// The name in the legend.
    fn name(&self) -> String {
        let unverified = if self.unverified { ", unverified" } else { "" };
        let threads = self.threads.map_or(String::new(), |threads| format!(", {}", counted(threads, "thread")));
        format!("{}{unverified}{threads}", self.solver)
    }

    /// Solver and number of threads, which determine the colour.
    fn colour(&self) -> (&str, Option<usize>) {
        (&self.solver, self.threads)
    }
}

impl Pair {
    /// Draw rows per second.
    fn speed(&self, svg: &mut Svg, corner: Point, axes: &Axes, solvers: &[(&str, Option<usize>)]) {
        frame(svg, corner, (&axes.n, &axes.rows), "rows per second");
        self.caches(svg, corner, axes);
        self.lines(svg, corner, solvers, |n, ns| (axes.n.place(n), axes.rows.place(1e9 / ns)));
    }

    /// Draw bytes per second and the measured bandwidths.
    fn roofline(&self, svg: &mut Svg, corner: Point, axes: &Axes, solvers: &[(&str, Option<usize>)]) {
        frame(svg, corner, (&axes.n, &axes.bytes), "GB/s at 9 numbers per row");
        self.caches(svg, corner, axes);
        self.roofs(svg, corner, axes);
        self.lines(svg, corner, solvers, |n, ns| (axes.n.place(n), axes.bytes.place(self.bytes / ns)));
    }

    fn lines(
        &self,
        svg: &mut Svg,
        (x, y): Point,
        solvers: &[(&str, Option<usize>)],
        place: impl Fn(f64, f64) -> Point,
    ) {
        for series in &self.series {
            let places = series.points.iter().map(|(n, ns)| place(*n, *ns));
            let mut points: Vec<Point> = places.map(|(right, up)| (x + right, y + SIZE.1 - up)).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            let colour = solvers.iter().position(|other| *other == series.colour()).unwrap_or(0);
            svg.group("series", &format!("{}, {}", series.name(), self.title));
            line(svg, (&points, &points), colour, series.unverified);
            svg.end_group();
        }
    }

    /// Mark the size from which systems exceed the caches.
    fn caches(&self, svg: &mut Svg, (x, y): Point, axes: &Axes) {
        let Some(at) = self.cache.map(|n| axes.n.place(n)).filter(|at| (0.0..=SIZE.0).contains(at)) else { return };
        svg.line((x + at, y), (x + at, y + SIZE.1), r#"class="frame" stroke-dasharray="2 3""#);
        let words = "larger than the caches →";
        // Write on the side with enough space.
        let (class, at) = if at + plot::length(words) + 12.0 > SIZE.0 {
            ("end soft num halo", at)
        } else {
            ("soft num halo", at + 5.0)
        };
        let words = if class.starts_with("end") { "larger than the caches → " } else { words };
        svg.text((x + at, y + SIZE.1 - 6.0), class, words);
    }

    /// Draw the bandwidths with their names. If the two lowest are close, the name of the lowest goes below its line.
    fn roofs(&self, svg: &mut Svg, (x, y): Point, axes: &Axes) {
        let mut roofs: Vec<_> = self.roofs.iter().collect();
        roofs.sort_by(|a, b| a.1.total_cmp(&b.1));
        let height = |roof: &(String, f64)| y + SIZE.1 - axes.bytes.place(roof.1);
        let crowded = roofs.len() > 1 && height(roofs[0]) - height(roofs[1]) < 16.0;
        let mut last_label = f64::MAX;
        for (k, roof) in roofs.into_iter().enumerate() {
            let at = height(roof);
            svg.line((x, at), (x + SIZE.0, at), r#"class="frame roof" stroke-dasharray="7 3""#);
            let below = crowded && k == 0;
            last_label = if below { at + 11.0 } else { (at - 4.0).min(last_label - 12.0) };
            svg.text((x + 5.0, last_label), "soft num halo", &format!("{}: {:.1} GB/s", roof.0, roof.1));
        }
    }
}

/// Draw a line through points, with marks.
fn line(svg: &mut Svg, (points, marks): (&[Point], &[Point]), colour: usize, unverified: bool) {
    let colour = colour % SERIES;
    let dashes = if unverified { r#" stroke-dasharray="4 3""# } else { "" };
    svg.polyline(points, &format!(r#"class="k{colour}" stroke-width="1.6"{dashes}"#));
    for point in marks {
        if unverified {
            svg.circle(*point, 2.8, &format!(r#"class="hollow k{colour}" stroke-width="1.3""#));
        } else {
            svg.circle(*point, 3.0, &format!(r#"class="s{colour}""#));
        }
    }
}

/// Draw grid, numbers and names of the axes.
fn frame(svg: &mut Svg, (x, y): Point, (right, up): (&Axis, &Axis), name: &str) {
    for tick in right.ticks(40.0) {
        let at = x + right.place(tick);
        svg.line((at, y), (at, y + SIZE.1), r#"class="grid""#);
        svg.text((at, y + SIZE.1 + 15.0), "mid soft", &short(tick));
    }
    for tick in up.ticks(16.0) {
        let at = y + SIZE.1 - up.place(tick);
        svg.line((x, at), (x + SIZE.0, at), r#"class="grid""#);
        svg.text((x - 6.0, at + 4.0), "end soft", &short(tick));
    }
    svg.rect((x, y), SIZE, r#"class="frame""#);
    svg.text((x + 0.5 * SIZE.0, y + SIZE.1 + 31.0), "mid soft", "number of unknowns n");
    svg.text((x, y - 7.0), "soft", name);
}
