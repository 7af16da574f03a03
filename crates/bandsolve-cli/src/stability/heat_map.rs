//! The stability tables as a picture: a cell for each matrix and solver, coloured by the logarithm of its error.

use super::columns::{Cell, Column, Mark, Measure, Section};
use super::{Row, Table};
use crate::exit::Failure;
use crate::plot::{Point, Svg, slanted_size};
use std::path::Path;

const CELL: Point = (28.0, 18.0);
/// Space on the left for the names of the matrices and their conditions.
const LABEL: f64 = 140.0;
const MARGIN: f64 = 24.0;
/// Between panels, and between sections.
const GAP: f64 = 26.0;

/// What the legend needs.
const MIN_WIDTH: f64 = 720.0;

/// Colours from small errors to large ones; a scale that colour-blind people can read.
const RAMP: [[u8; 3]; 7] =
    [[69, 117, 180], [145, 191, 219], [224, 243, 248], [255, 255, 191], [254, 224, 144], [252, 141, 89], [215, 48, 39]];
/// Decades at the ends of the ramp.
const DECADES: (f64, f64) = (-16.0, 0.0);
/// Of what is not a number or infinite.
const LOST: &str = "#4d4d4d";

/// Draws all sections, one below the other, and writes the picture.
///
/// # Errors
/// [`Failure::Other`].
pub fn write(path: &Path, table: &Table) -> Result<(), Failure> {
    let mut svg = Svg::default();
    let title = format!("Errors of every method, n = {}, seed {}: decimal exponents", table.n, table.seed);
    svg.text((MARGIN, MARGIN + 12.0), "title", &title);
    legend(&mut svg, (MARGIN, MARGIN + 34.0));
    let (mut y, mut width) = (MARGIN + 140.0, MIN_WIDTH);
    for section in Section::all(&table.rows) {
        let panels = Panel::all(&section, table.lapack.is_some());
        let drawn = section_at(&mut svg, y, &section, &panels);
        y = drawn.1 + 2.0 * GAP;
        width = width.max(drawn.0);
    }
    svg.write(path, (width + MARGIN, y - GAP))
}

/// Columns side by side under one title.
struct Panel {
    title: &'static str,
    columns: Vec<Column>,
}

impl Panel {
    /// In the measure of the paper; our own matrices have no paper and show the row-wise backward error.
    fn all(section: &Section<'_>, lapack: bool) -> Vec<Panel> {
        let measure: Measure = if section.paper.is_some() { |j| j.error } else { |j| j.backward_error };
        let panels = [
            Panel { title: "unverified", columns: section.raw(measure, lapack) },
            Panel { title: "verified", columns: section.verified(measure) },
            Panel { title: "published", columns: section.published() },
        ];
        panels.into_iter().filter(|p| !p.columns.is_empty()).collect()
    }

    fn width(&self) -> f64 {
        CELL.0 * self.columns.len() as f64
    }
}

/// Draws a section from `top` down; returns its right and lower ends.
fn section_at(svg: &mut Svg, top: f64, section: &Section<'_>, panels: &[Panel]) -> Point {
    let heads = panels.iter().flat_map(|p| &p.columns).map(|c| slanted_size(&c.head));
    let slant = heads.fold((0.0_f64, 0.0_f64), |max, size| (max.0.max(size.0), max.1.max(size.1)));
    let measure = section.paper.map_or("row-wise backward error", |p| p.measure());
    svg.text((MARGIN, top), "section", &format!("{}: {measure}", section.source()));
    let first = top + GAP + slant.1 + 8.0;
    for (k, row) in section.rows.iter().enumerate() {
        label(svg, first + CELL.1 * k as f64, row);
    }
    svg.text((MARGIN + LABEL - 8.0, first - 7.0), "end soft", "condition");
    let mut x = MARGIN + LABEL;
    for panel in panels {
        svg.text((x, top + GAP - 4.0), "soft", panel.title);
        for (k, column) in panel.columns.iter().enumerate() {
            column_at(svg, (x + CELL.0 * k as f64, first), section, column);
        }
        x += panel.width() + GAP;
    }
    (x - GAP + slant.0, first + CELL.1 * section.rows.len() as f64)
}

fn label(svg: &mut Svg, y: f64, row: &Row) {
    let base = y + 0.5 * CELL.1 + 4.0;
    svg.text((MARGIN, base), "", &row.problem.name);
    if let Some(case) = row.problem.case {
        svg.text((MARGIN + LABEL - 8.0, base), "end soft", &format!("{:.0e}", case.condition));
    }
}

fn column_at(svg: &mut Svg, (x, y): Point, section: &Section<'_>, column: &Column) {
    svg.slanted((x + 0.5 * CELL.0 + 3.0, y - 6.0), &column.head);
    for (k, (row, cell)) in section.rows.iter().zip(&column.cells).enumerate() {
        let error = cell.error.map_or("no answer".to_string(), |error| format!("{error:.2e}"));
        svg.group("cell", &format!("{}, {}: {error}", row.problem.name, column.head));
        cell_at(svg, (x, y + CELL.1 * k as f64), *cell);
        svg.end_group();
    }
}

/// Repairs show in the upper right corner.
fn cell_at(svg: &mut Svg, (x, y): Point, cell: Cell) {
    let (fill, class) = match cell.error {
        _ if cell.mark == Mark::Failed => ("#f2f2f2".to_string(), "mid num"),
        Some(error) if error.is_finite() => colour(error.log10()),
        _ => (LOST.to_string(), "mid num pale"),
    };
    svg.rect((x, y), CELL, &format!(r##"fill="{fill}" stroke="#fff""##));
    let centre = (x + 0.5 * CELL.0, y + 0.5 * CELL.1);
    match cell.error {
        _ if cell.mark == Mark::Failed => svg.cross(centre, 4.0, r##"stroke="#b2182b" stroke-width="1.6""##),
        Some(error) => svg.text((centre.0, centre.1 + 3.2), class, &exponent(error)),
        None => {}
    }
    let ink = if class.ends_with("pale") { "fill=\"#fff\"" } else { "fill=\"#222\"" };
    match cell.mark {
        Mark::Refined => svg.circle((x + CELL.0 - 4.0, y + 4.0), 1.7, ink),
        Mark::Fallback => {
            svg.polygon(&[(-8.0, 1.0), (-1.0, 1.0), (-1.0, 8.0)].map(|p| (x + CELL.0 + p.0, y + p.1)), ink)
        }
        Mark::Plain | Mark::Failed => {}
    }
}

/// `−16`: the decimal exponent, rounded.
fn exponent(error: f64) -> String {
    match error {
        e if e.is_nan() => "NaN".into(),
        e if e.is_infinite() => "∞".into(),
        0.0 => "0".into(),
        e => format!("{:.0}", e.log10().round() + 0.0).replace('-', "−"),
    }
}

/// Colour of a decade, and the classes of words upon it.
fn colour(decade: f64) -> (String, &'static str) {
    let t = ((decade - DECADES.0) / (DECADES.1 - DECADES.0)).clamp(0.0, 1.0) * (RAMP.len() - 1) as f64;
    let below = (t as usize).min(RAMP.len() - 2);
    let mix = |k: usize| {
        let [a, b] = [below, below + 1].map(|i| f64::from(RAMP[i][k]));
        (a + (b - a) * (t - below as f64)).round() as u8
    };
    let ends = t < 0.5 || t > RAMP.len() as f64 - 1.5;
    (format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2)), if ends { "mid num pale" } else { "mid num" })
}

/// The scale of colours and what the marks mean.
fn legend(svg: &mut Svg, (x, y): Point) {
    let step = 14.0;
    let decades = DECADES.0 as i32..=DECADES.1 as i32;
    for (k, decade) in decades.enumerate() {
        let at = x + step * k as f64;
        svg.rect((at, y), (step, 12.0), &format!(r#"fill="{}""#, colour(f64::from(decade)).0));
        if decade % 4 == 0 {
            svg.text((at + 0.5 * step, y + 25.0), "mid num", &format!("1e{decade}").replace('-', "−"));
        }
    }
    let samples = [
        (Some(f64::NAN), Mark::Plain, "not a number; ∞: infinite"),
        (Some(1e-16), Mark::Refined, "refined"),
        (Some(1e-16), Mark::Fallback, "solved again by the pivoted method"),
        (None, Mark::Failed, "returned as an error"),
    ];
    let mut at = x;
    for (error, mark, words) in samples {
        cell_at(svg, (at, y + 40.0), Cell { error, mark });
        svg.text((at + CELL.0 + 6.0, y + 53.0), "", words);
        at += CELL.0 + 6.2 * words.chars().count() as f64 + 24.0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_exponents_of_the_ends() {
        assert_eq!(colour(-300.0), ("#4575b4".to_string(), "mid num pale"));
        assert_eq!(colour(171.0), ("#d73027".to_string(), "mid num pale"));
        assert_eq!(colour(-8.0), ("#ffffbf".to_string(), "mid num"));
        let words = [2e-16, 0.9, 0.0, f64::INFINITY, f64::NAN].map(exponent);
        assert_eq!(words, ["−16", "0", "0", "∞", "NaN"]);
    }
}
