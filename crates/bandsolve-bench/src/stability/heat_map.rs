//! Heat maps of errors: one cell per matrix and solver, coloured by the logarithm of the error.

use super::cells::{Cell, ErrorColumn, Mark};
use crate::plot::{self, Picture, Point, Svg, slanted_size};

const CELL: Point = (28.0, 18.0);
/// Minimum width for the names of the matrices and their condition numbers.
const LABEL: f64 = 140.0;
const MARGIN: f64 = 24.0;
/// Distance between panels, and between sections.
const GAP: f64 = 26.0;

/// Width of the legend.
const MIN_WIDTH: f64 = 720.0;

/// The colours of viridis from small to large errors, the same on light and dark pages. Their lightness rises evenly, and colour-blind
/// readers can tell them apart.
const SCALE: [[u8; 3]; 9] = [
    [68, 1, 84],
    [71, 45, 123],
    [59, 82, 139],
    [44, 114, 142],
    [33, 145, 140],
    [40, 174, 128],
    [94, 201, 98],
    [173, 220, 48],
    [253, 231, 37],
];
/// Steps per decade of the colour scale in the legend.
const STEPS_PER_DECADE: u32 = 4;
/// From this fraction of the scale on, dark text has more contrast than white text.
const BRIGHT: f64 = 0.48;
/// Decades at the ends of the scale.
const DECADES: (f64, f64) = (-16.0, 0.0);
/// Colour of NaN and infinity.
const LOST: &str = "#4d4d4d";

/// Matrices of the same source.
pub struct HeatPart {
    /// The source of the matrices and the error measure.
    pub title: String,
    /// Names of the matrices, and their condition numbers if known.
    pub rows: Vec<(String, Option<f64>)>,
    pub panels: Vec<HeatPanel>,
}

/// Columns side by side under one title.
pub struct HeatPanel {
    pub title: &'static str,
    pub columns: Vec<ErrorColumn>,
}

/// Draw all parts, one below the other.
pub fn draw(title: &str, parts: &[HeatPart]) -> Picture {
    let mut svg = Svg::default();
    svg.text((MARGIN, MARGIN + 12.0), "title", title);
    legend(&mut svg, (MARGIN, MARGIN + 34.0));
    let (mut y, mut width) = (MARGIN + 140.0, MIN_WIDTH.max(MARGIN + plot::title_length(title)));
    for part in parts {
        let drawn = part.draw(&mut svg, y);
        y = drawn.1 + 2.0 * GAP;
        width = width.max(drawn.0).max(MARGIN + 1.3 * plot::length(&part.title));
    }
    svg.on_page((width + MARGIN, y - GAP))
}

impl HeatPart {
    /// Draw the part from `top` down. Returns its right and lower ends.
    fn draw(&self, svg: &mut Svg, top: f64) -> Point {
        let panels = || self.panels.iter().filter(|panel| !panel.columns.is_empty());
        let heads = panels().flat_map(|panel| &panel.columns).map(|column| slanted_size(&column.head));
        let slant = heads.fold((0.0_f64, 0.0_f64), |max, size| (max.0.max(size.0), max.1.max(size.1)));
        let names = self.rows.iter().map(|(name, _)| plot::length(name) + 70.0);
        let left = MARGIN + names.fold(LABEL, f64::max);
        svg.text((MARGIN, top), "section", &self.title);
        let first = top + GAP + slant.1 + 8.0;
        for (k, (name, condition)) in self.rows.iter().enumerate() {
            let base = first + CELL.1 * (k as f64 + 0.5) + 4.0;
            svg.text((MARGIN, base), "", name);
            if let Some(condition) = condition {
                svg.text((left - 8.0, base), "end soft", &format!("{condition:.0e}"));
            }
        }
        svg.text((MARGIN, first - 7.0), "soft", "matrix");
        if self.rows.iter().any(|(_, condition)| condition.is_some()) {
            svg.text((left - 8.0, first - 7.0), "end soft", "condition");
        }
        let mut x = left;
        for panel in panels() {
            svg.text((x, top + GAP - 4.0), "soft", panel.title);
            for (k, column) in panel.columns.iter().enumerate() {
                self.column(svg, (x + CELL.0 * k as f64, first), column);
            }
            x += (CELL.0 * panel.columns.len() as f64).max(plot::length(panel.title)) + GAP;
        }
        (x - GAP + slant.0, first + CELL.1 * self.rows.len() as f64)
    }

    fn column(&self, svg: &mut Svg, (x, y): Point, column: &ErrorColumn) {
        svg.slanted((x + 0.5 * CELL.0 + 3.0, y - 6.0), &column.head);
        for (k, ((name, _), cell)) in self.rows.iter().zip(&column.cells).enumerate() {
            let error = cell.error.map_or("no solution".to_string(), |error| format!("{error:.2e}"));
            svg.group("cell", &format!("{name}, {}: {error}", column.head));
            cell_at(svg, (x, y + CELL.1 * k as f64), *cell);
            svg.end_group();
        }
    }
}

/// Draw a cell. A mark in the upper right corner shows a repair.
fn cell_at(svg: &mut Svg, (x, y): Point, cell: Cell) {
    let centre = (x + 0.5 * CELL.0, y + 0.5 * CELL.1);
    if cell.mark == Mark::Failed {
        svg.rect((x, y), CELL, r#"class="empty edge""#);
        return svg.cross(centre, 4.0, r#"class="alarm" stroke-width="1.6""#);
    }
    if cell.mark == Mark::Absent {
        return svg.rect((x, y), CELL, r#"class="empty edge""#);
    }
    let (fill, class) = match cell.error {
        Some(error) if error.is_finite() => colour(error.log10()),
        _ => (LOST.to_string(), "mid num pale"),
    };
    svg.rect((x, y), CELL, &format!(r#"class="edge" fill="{fill}""#));
    if let Some(error) = cell.error {
        svg.text((centre.0, centre.1 + 3.2), class, &exponent(error));
    }
    let ink = if class.ends_with("pale") { r#"class="pale""# } else { r#"class="mark""# };
    match cell.mark {
        Mark::Refined => svg.circle((x + CELL.0 - 4.0, y + 4.0), 1.7, ink),
        Mark::Fallback => {
            svg.polygon(&[(-8.0, 1.0), (-1.0, 1.0), (-1.0, 8.0)].map(|p| (x + CELL.0 + p.0, y + p.1)), ink)
        }
        Mark::Plain | Mark::Failed | Mark::Absent => {}
    }
}

/// The rounded decimal exponent, such as `−16`.
fn exponent(error: f64) -> String {
    match error {
        e if e.is_nan() => "NaN".into(),
        e if e.is_infinite() => "∞".into(),
        0.0 => "0".into(),
        e => format!("{:.0}", e.log10().round() + 0.0).replace('-', "−"),
    }
}

/// Colour of a decimal exponent, and the classes of text on it.
fn colour(decade: f64) -> (String, &'static str) {
    let t = ((decade - DECADES.0) / (DECADES.1 - DECADES.0)).clamp(0.0, 1.0);
    (plot::mix(&SCALE, t), if t < BRIGHT { "mid num pale" } else { "mid num on" })
}

/// Draw the colour scale and the meaning of the marks.
fn legend(svg: &mut Svg, (x, y): Point) {
    let steps = (DECADES.1 - DECADES.0) as u32 * STEPS_PER_DECADE;
    let step = 14.0 / f64::from(STEPS_PER_DECADE);
    for k in 0..=steps {
        let (at, decade) = (x + step * f64::from(k), DECADES.0 + f64::from(k) / f64::from(STEPS_PER_DECADE));
        svg.rect((at, y), (step, 12.0), &format!(r#"fill="{}""#, colour(decade).0));
        if k % (4 * STEPS_PER_DECADE) == 0 {
            svg.text((at + 0.5 * step, y + 25.0), "mid num", &format!("1e{decade:.0}").replace('-', "−"));
        }
    }
    svg.text((x + step * f64::from(steps) + 24.0, y + 10.0), "soft", "error of each matrix (row) and solver (column)");
    let samples = [
        (Some(f64::NAN), Mark::Plain, "NaN; ∞ is infinity"),
        (Some(1e-16), Mark::Refined, "needed iterative refinement"),
        (Some(1e-16), Mark::Fallback, "fallback to the pivoted solver"),
        (None, Mark::Failed, "the solver returned an error"),
    ];
    let mut at = x;
    for (error, mark, words) in samples {
        cell_at(svg, (at, y + 40.0), Cell { error, mark });
        svg.text((at + CELL.0 + 6.0, y + 53.0), "", words);
        at += CELL.0 + plot::length(words) + 24.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_exponents_of_the_ends() {
        assert_eq!(colour(-300.0), ("#440154".to_string(), "mid num pale"));
        assert_eq!(colour(171.0), ("#fde725".to_string(), "mid num on"));
        assert_eq!(colour(-8.0), ("#21918c".to_string(), "mid num on"));
        let words = [2e-16, 0.9, 0.0, f64::INFINITY, f64::NAN].map(exponent);
        assert_eq!(words, ["−16", "0", "0", "∞", "NaN"]);
    }
}
