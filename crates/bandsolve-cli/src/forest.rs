//! `bandsolve forest`: find paths of large total weight in the graph of a matrix.

use crate::args::ForestArgs;
use bandsolve::{Complex64, Scalar};
use bandsolve_bench::plot::{self, Picture, RAMP, SERIES, Svg};
use bandsolve_program::csr::csr;
use bandsolve_program::exit::Failure;
use bandsolve_program::{io, report};
use bandsolve_sparse::{Forest, Graph, GraphFactor, GraphFactorOptions};
use serde_json::{Value, json};
use std::time::Instant;

/// Find a linear forest in the graph of a matrix, or a [0, n]-factor for n > 2.
///
/// # Errors
/// [`Failure::Input`] if the matrix cannot be read, [`Failure::Usage`] for `--plot` with n > 2.
pub fn run(args: &ForestArgs) -> Result<(), Failure> {
    let stdout_used = report::check_outputs(&[("--plot", &args.plot), ("--json", &args.json)], &[&args.matrix])?;
    if args.plot.is_some() && args.degree > 2 {
        return Err(Failure::Usage(
            "--plot draws paths, and there are paths only with --degree 1 or 2. Leave out --plot, or use --degree 2"
                .into(),
        ));
    }
    let matrix = io::read_matrix(&args.matrix)?;
    let view = match matrix.values.is_complex() {
        true => ForestView::of::<Complex64>(args, &csr(&matrix)?)?,
        false => ForestView::of::<f64>(args, &csr(&matrix)?)?,
    };
    if let Some(path) = &args.json {
        report::write_json(path, &view.json())?;
    }
    if let Some(path) = &args.plot {
        view.draw().write(path)?;
    }
    report::print_beside(&view.text(), stdout_used)
}

/// The result and the times.
struct ForestView<'a> {
    args: &'a ForestArgs,
    graph: Graph,
    rounds: usize,
    maximal: bool,
    /// The linear forest, if the factor has at most two edges at each vertex.
    forest: Option<Forest>,
    coverage: f64,
    seconds: [f64; 2],
}

impl<'a> ForestView<'a> {
    fn of<T: Scalar>(args: &'a ForestArgs, a: &bandsolve_sparse::Csr<'_, T, u32>) -> Result<Self, Failure> {
        let started = Instant::now();
        let graph = Graph::of(a)?;
        let graph_seconds = started.elapsed().as_secs_f64();
        let mut options = GraphFactorOptions::default();
        (options.degree, options.rounds, options.seed) = (usize::from(args.degree), args.rounds, args.seed);
        let started = Instant::now();
        let factor = GraphFactor::of(&graph, &options)?;
        let forest = (args.degree <= 2).then(|| Forest::heaviest(&graph, &factor)).transpose()?;
        let seconds = [graph_seconds, started.elapsed().as_secs_f64()];
        let coverage = forest.as_ref().map_or_else(|| factor.coverage(&graph), |forest| forest.coverage(&graph));
        let maximal = factor.is_maximal() && forest.as_ref().is_none_or(|forest| forest.is_of(&factor));
        Ok(Self { args, rounds: factor.rounds(), maximal, graph, forest, coverage, seconds })
    }

    fn paths(&self) -> Option<[usize; 3]> {
        let forest = self.forest.as_ref()?;
        let (mut paths, mut longest, mut isolated) = (0, 0, 0);
        for length in forest.lengths() {
            (paths, longest) = (paths + 1, longest.max(length));
            isolated += usize::from(length == 1);
        }
        Some([paths, longest, isolated])
    }

    fn text(&self) -> String {
        let n = self.graph.vertices();
        let [graph, found] = self.seconds.map(report::seconds);
        let maximal = if self.maximal { ", until no edge could be added" } else { "" };
        let mut lines = vec![
            ("coverage", format!("{:.4} of the weight of all off-diagonal entries", self.coverage)),
            ("given order", format!("{:.4} of this weight is in the tridiagonal part", self.graph.coverage_in_order())),
            ("proposals", format!("{}{maximal}", report::counted(self.rounds, "round"))),
        ];
        if let (Some([paths, longest, isolated]), Some(forest)) = (self.paths(), &self.forest) {
            lines.push(("paths", format!("{paths}, the longest with {}", report::counted(longest, "unknown"))));
            lines.push(("isolated", report::counted(isolated, "unknown")));
            lines.push(("cycles", format!("{}, each cut at its weakest edge", forest.cycles())));
        }
        lines.push(("time", format!("{graph} for the graph, {found} for the paths")));
        let what =
            if self.forest.is_some() { "linear forest".into() } else { format!("[0, {}]-factor", self.args.degree) };
        let name = io::name(&self.args.matrix);
        format!("{what} of {name}, {}\n{}", report::counted(n, "unknown"), report::columns(&lines))
    }

    fn json(&self) -> Value {
        let [paths, longest, isolated] = self.paths().map_or([None; 3], |counts| counts.map(Some));
        json!({
            "file": io::name(&self.args.matrix),
            "n": self.graph.vertices(),
            "degree": self.args.degree,
            "coverage": self.coverage,
            "coverage_in_order": self.graph.coverage_in_order(),
            "cycles": self.forest.as_ref().map(Forest::cycles),
            "paths": paths,
            "longest_path": longest,
            "isolated": isolated,
            "rounds": self.rounds,
            "maximal": self.maximal,
            "seconds_graph": self.seconds[0],
            "seconds": self.seconds[1],
        })
    }

    fn draw(&self) -> Picture {
        let forest = self.forest.as_ref().expect("checked by `run`");
        let mut svg = Svg::default();
        let title = format!("Linear forest of {}", io::short_name(&self.args.matrix));
        svg.text((MARGIN, 32.0), "title", &title);
        let facts = format!("{:.1} % of the weight of all off-diagonal entries is on its paths", 100.0 * self.coverage);
        svg.text((MARGIN, 52.0), "soft", &facts);
        self.draw_matrix(&mut svg, forest);
        let side = self.grid_side();
        if let Some(side) = side {
            self.draw_grid(&mut svg, forest, side);
        }
        let width = if side.is_some() { 2.0 * (SIZE + MARGIN) + MARGIN } else { SIZE + 2.0 * MARGIN };
        let words = plot::length(&facts).max(plot::title_length(&title));
        svg.on_page((width.max(words + 2.0 * MARGIN), TOP + SIZE + 40.0))
    }

    /// Draw the entries of the matrix, darker if they are on paths.
    fn draw_matrix(&self, svg: &mut Svg, forest: &Forest) {
        let n = self.graph.vertices().max(1);
        let cells = n.min(CELLS);
        let size = SIZE / cells as f64;
        let mut weights = vec![[0.0; 2]; cells * cells];
        for v in 0..self.graph.vertices() {
            for (u, weight) in self.graph.edges(v) {
                let cell = &mut weights[v * cells / n * cells + u * cells / n];
                cell[usize::from(forest.are_linked(v, u))] += weight;
            }
        }
        svg.rect((MARGIN, TOP), (SIZE, SIZE), r#"class="frame""#);
        for (k, [other, own]) in weights.iter().enumerate().filter(|(_, [other, own])| other + own > 0.0) {
            let at = (MARGIN + (k % cells) as f64 * size, TOP + (k / cells) as f64 * size);
            let step = (own / (own + other) * (RAMP - 1) as f64).round();
            let colour = &format!(r#"class="r{step}""#);
            svg.rect(at, (size.max(1.0), size.max(1.0)), colour);
        }
        let words = "the matrix: darker cells have more of their weight on paths";
        svg.text((MARGIN, TOP + SIZE + 20.0), "soft", words);
    }

    /// The side of a square grid in which all edges connect neighbors, if there is one.
    fn grid_side(&self) -> Option<usize> {
        let n = self.graph.vertices();
        let side = n.isqrt();
        let near = |v: usize, u: usize| (v / side).abs_diff(u / side) <= 1 && (v % side).abs_diff(u % side) <= 1;
        let square = side > 1 && side * side == n;
        (square && (0..n).all(|v| self.graph.edges(v).all(|(u, _)| near(v, u)))).then_some(side)
    }

    /// Draw the paths in the grid, or in its upper left corner if the grid is large.
    fn draw_grid(&self, svg: &mut Svg, forest: &Forest, side: usize) {
        let shown = side.min(GRID);
        let step = SIZE / shown as f64;
        let left = 2.0 * MARGIN + SIZE;
        let at = |v: usize| {
            let place = |k: usize| (k as f64 + 0.5) * step;
            (left + place(v % side), TOP + place(v / side))
        };
        let seen = |v: usize| v % side < shown && v / side < shown;
        for v in (0..side * side).filter(|v| seen(*v)) {
            svg.circle(at(v), (step / 8.0).clamp(0.8, 3.0), r#"class="empty""#);
        }
        let order: Vec<usize> = forest.order().collect();
        for link in order.windows(2) {
            if seen(link[0]) && seen(link[1]) && forest.are_linked(link[0], link[1]) {
                let (colour, width) = (forest.path(link[0]) % SERIES, (step / 4.0).clamp(1.0, 4.0));
                let class = format!(r#"class="k{colour}" stroke-width="{width:.1}""#);
                svg.line(at(link[0]), at(link[1]), &class);
            }
        }
        let words = if shown < side {
            format!("the paths in the upper left {shown} x {shown} part of the {side} x {side} grid")
        } else {
            format!("the paths in the {side} x {side} grid")
        };
        svg.text((left, TOP + SIZE + 20.0), "soft", &words);
    }
}

const MARGIN: f64 = 24.0;
const TOP: f64 = 70.0;
/// Pixels of a panel.
const SIZE: f64 = 400.0;
/// Maximum number of cells along a side of the matrix.
const CELLS: usize = 100;
/// Maximum number of points along a side of the grid.
const GRID: usize = 32;
