//! A picture of a matrix with two panels: the positions of all entries, and the sizes of the entries along the band.

use super::grid::{SpyGrid, level};
use super::view::SpyView;
use bandsolve_bench::plot::{self, Picture, Point, RAMP, Svg};
use bandsolve_program::report;

const MARGIN: f64 = 24.0;
/// Width of the space left of a panel, for its numbers.
const LEFT: f64 = 56.0;
/// Height of the space above the panels.
const TOP: f64 = 110.0;
/// Pixels of a side, and maximum number of cells.
const SIDE: usize = 480;
/// Maximum number of cells for the diagonals.
const DIAGONALS: usize = 240;
/// Distance in pixels from the diagonal below which the line of a band end is not drawn, because it would hide the diagonal.
const VISIBLE: f64 = 3.0;
/// Height of the space below a panel, for its legend.
const LEGEND: f64 = 62.0;
/// The level of all cells if they have the same value.
const ALIKE: usize = 6 * RAMP / 10;
/// The level of cells with one entry, because paler levels are hard to see.
const FIRST: usize = 3 * RAMP / 10;

/// Draw both panels.
pub fn draw(view: &SpyView) -> Picture {
    let mut svg = Svg::default();
    svg.text((MARGIN, MARGIN + 12.0), "title", &view.name);
    svg.text((MARGIN, MARGIN + 32.0), "soft", &view.measures());
    let left = (MARGIN + LEFT, TOP);
    let entries = entries(&mut svg, left, view);
    let right = (left.0 + entries.0.max(250.0) + LEFT + MARGIN, TOP);
    let sizes = sizes(&mut svg, right, view);
    let width = (right.0 + sizes.0.max(250.0)).max(MARGIN + plot::length(&view.measures()));
    let width = width.max(MARGIN + plot::title_length(&view.name));
    svg.on_page((width + MARGIN, TOP + entries.1.max(sizes.1) + LEGEND))
}

/// Pixels of a cell, a multiple of 1/2 and at most `most`. Small matrices do not fill the panel.
fn pixels(cells: usize, panel: usize, most: f64) -> f64 {
    ((2 * panel / cells.max(1)) as f64 / 2.0).min(most)
}

/// Draw the panel of the positions, and return its size.
fn entries(svg: &mut Svg, (x, y): Point, view: &SpyView) -> Point {
    let grid = SpyGrid::entries(view, SIDE);
    let cell = pixels(grid.width, SIDE, 40.0);
    let side = cell * grid.width as f64;
    svg.text((x, y - 22.0), "section", "Entries");
    svg.rect((x, y), (side, side), r#"class="empty""#);
    let range = grid.range();
    let runs = grid.runs(|count| match range.1 {
        1.0 => ALIKE,
        most => FIRST + level(count, (1.0, most), RAMP - FIRST),
    });
    svg.cells((x, y), (cell, cell), &runs);
    bounds(svg, (x, y), side, view);
    svg.rect((x, y), (side, side), r#"class="frame""#);
    ends(svg, (x, y), (side, side), view.n, ["1".into(), view.n.to_string()]);
    svg.axis_names((x, y), (side, side), ["column", "row"]);
    if range.1 > 1.0 {
        let words = [format!("1 entry per cell of {0} × {0}", rounded(view.n, grid.width)), format!("{}", range.1)];
        svg.ramp((x, y + side + 34.0), FIRST, &words);
    }
    (side, side)
}

/// Approximate number of rows of a cell.
fn rounded(n: usize, cells: usize) -> String {
    let rows = n as f64 / cells as f64;
    if rows < 10.0 { format!("{rows:.1}") } else { format!("{rows:.0}") }
}

/// Draw both ends of the band as lines, if they are far enough from the diagonal, and rings around corner entries.
fn bounds(svg: &mut Svg, (x, y): Point, side: f64, view: &SpyView) {
    let row = side / view.n.max(1) as f64;
    let [lower, upper] = [view.bands.0, view.bands.1].map(|width| (width + 1) as f64 * row);
    let seen = |width: &f64| (VISIBLE..side).contains(width);
    let line = r#"class="k1 bound" stroke-width="1""#;
    if seen(&upper) {
        svg.line((x + upper, y), (x + side, y + side - upper), line);
    }
    if seen(&lower) {
        svg.line((x, y + lower), (x + side - lower, y + side), line);
    }
    let corners = [(0, view.n.saturating_sub(1)), (view.n.saturating_sub(1), 0)];
    for (i, j) in corners.into_iter().filter(|(i, j)| view.is_periodic() && view.entries.has(*i, *j)) {
        let place = |k: usize| (k as f64 + 0.5) * row;
        svg.circle((x + place(j), y + place(i)), 6.0_f64.max(0.8 * row), r#"class="k1 corner" fill="none""#);
    }
}

/// Draw the panel of the sizes, and return its size.
fn sizes(svg: &mut Svg, (x, y): Point, view: &SpyView) -> Point {
    let grid = SpyGrid::sizes(view, (SIDE, DIAGONALS));
    let cell = (pixels(grid.width, SIDE, 40.0), pixels(grid.height, DIAGONALS, 24.0));
    let size = (cell.0 * grid.width as f64, cell.1 * grid.height as f64);
    svg.text((x, y - 22.0), "section", "Band, row by row: largest |a| in each cell");
    svg.rect((x, y), size, r#"class="empty""#);
    let range = grid.range();
    let runs = grid.runs(|value| if range.0 < range.1 { level(value, range, RAMP) } else { ALIKE });
    svg.cells((x, y), cell, &runs);
    svg.rect((x, y), size, r#"class="frame""#);
    let signed = |offset: i64| format!("{offset:+}").replace('-', "−");
    let (lower, upper) = view.diagonals();
    ends(svg, (x, y), size, view.n, [signed(upper as i64), signed(-(lower as i64))]);
    svg.axis_names((x, y), size, ["row", "diagonal"]);
    // Label the main diagonal if there is room between the labels of the ends.
    let middle = (upper as f64 + 0.5) / (lower + upper + 1) as f64 * size.1;
    if middle > 18.0 && size.1 - middle > 18.0 {
        svg.text((x - 10.0, y + middle + 4.0), "end soft", "0");
    }
    let words = [range.0, range.1].map(|end| report::number(end, 2).replace('-', "−"));
    if range.0 < range.1 {
        svg.ramp((x, y + size.1 + 34.0), 0, &words);
    } else {
        svg.text((x, y + size.1 + 24.0), "soft", &format!("all entries: {}", words[0]));
    }
    size
}

/// Write the first and last row above a panel, and the labels at its upper and lower end.
fn ends(svg: &mut Svg, (x, y): Point, (width, height): Point, n: usize, [first, last]: [String; 2]) {
    svg.text((x, y - 6.0), "soft", if n > 1 { "1" } else { "" });
    svg.text((x + width, y - 6.0), "end soft", &n.to_string());
    svg.text((x - 10.0, y + 9.0), "end soft", &first);
    if height > 24.0 {
        svg.text((x - 10.0, y + height), "end soft", &last);
    }
}
