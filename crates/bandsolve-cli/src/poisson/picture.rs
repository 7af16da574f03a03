//! A picture of u: a curve in one dimension, otherwise colours on the grid.

use bandsolve::RealScalar;
use bandsolve_bench::plot::{self, CellRun, Picture, Point, RAMP, Svg};
use bandsolve_program::report;

/// Pixels of the longer side of the panel, and maximum number of cells along it.
const SIDE: f64 = 420.0;
const CELLS: usize = 210;
const LEFT: f64 = 60.0;
const TOP: f64 = 68.0;

/// Draw u. In three dimensions, draw the middle plane of the first axis.
pub fn draw<T: RealScalar>(title: &str, shape: &[usize], u: &[T]) -> Picture {
    let mut svg = Svg::default();
    svg.text((24.0, 32.0), "title", title);
    let (planes, rest) = match shape {
        [planes, rows, columns] => (*planes, [*rows, *columns]),
        [rows, columns] => (1, [*rows, *columns]),
        _ => (1, [1, u.len()]),
    };
    let plane = planes / 2 * rest[0] * rest[1];
    let values: Vec<f64> = u.iter().skip(plane).take(rest[0] * rest[1]).map(|value| value.to_f64()).collect();
    let caption = match shape.len() {
        3 => format!("u in plane {} of {planes} of axis 0", planes / 2 + 1),
        2 => "u on the grid".to_string(),
        _ => "u along the axis".to_string(),
    };
    svg.text((24.0, 50.0), "soft", &caption);
    let (least, most) = values.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(*v), b.max(*v)));
    let size = match (values.is_empty(), shape.len()) {
        (true, _) => (SIDE, 0.0),
        (_, 1) => curve(&mut svg, &values, (least, most)),
        _ => {
            let size = colours(&mut svg, &values, rest, (least, most));
            let first = shape.len() - 2;
            grid_axes(&mut svg, size, rest, [format!("axis {}", first + 1), format!("axis {first}")]);
            size
        }
    };
    let width = (LEFT + size.0.max(300.0) + 24.0).max(plot::title_length(title) + 48.0);
    svg.on_page((width.max(plot::length(&caption) + 48.0), TOP + size.1 + 56.0))
}

fn words((least, most): (f64, f64)) -> [String; 2] {
    [least, most].map(|end| report::number(end, 3).replace('-', "−"))
}

/// Label both axes with their names and the indices of the first and last unknown.
fn grid_axes(svg: &mut Svg, (width, height): Point, [rows, columns]: [usize; 2], names: [String; 2]) {
    svg.text((LEFT, TOP - 6.0), "soft", "0");
    svg.text((LEFT - 6.0, TOP + 9.0), "end soft", "0");
    if columns > 1 && width > 160.0 {
        svg.text((LEFT + width, TOP - 6.0), "end soft", &(columns - 1).to_string());
    }
    if rows > 1 && height > 24.0 {
        svg.text((LEFT - 6.0, TOP + height), "end soft", &(rows - 1).to_string());
    }
    svg.axis_names((LEFT, TOP), (width, height), [&names[0], &names[1]]);
}

/// Draw the means over cells of several unknowns, and return the size of the panel.
fn colours(svg: &mut Svg, values: &[f64], [rows, columns]: [usize; 2], range: (f64, f64)) -> Point {
    let most = rows.max(columns);
    let [high, wide] = [rows, columns].map(|n| (n * CELLS.min(most)).div_ceil(most));
    let cell = (SIDE / high.max(wide) as f64 * 2.0).floor().max(1.0) / 2.0;
    let part = |k: usize, cells: usize, n: usize| k * n / cells..((k + 1) * n / cells).max(k * n / cells + 1);
    let mean = |y: usize, x: usize| {
        let (down, across) = (part(y, high, rows), part(x, wide, columns));
        let count = (down.len() * across.len()) as f64;
        down.flat_map(|i| &values[i * columns..][across.clone()]).sum::<f64>() / count
    };
    let span = range.1 - range.0;
    let level = |value: f64| ((((value - range.0) / span) * RAMP as f64) as usize).min(RAMP - 1);
    let mut runs = Vec::new();
    for line in 0..high {
        let levels: Vec<usize> = (0..wide).map(|x| level(mean(line, x))).collect();
        let mut first = 0;
        for run in levels.chunk_by(|a, b| a == b) {
            runs.push(CellRun { line, first, count: run.len(), level: run[0] });
            first += run.len();
        }
    }
    let size = (cell * wide as f64, cell * high as f64);
    svg.cells((LEFT, TOP), (cell, cell), &runs);
    svg.rect((LEFT, TOP), size, r#"class="frame""#);
    svg.ramp((LEFT, TOP + size.1 + 28.0), 0, &words(range));
    size
}

/// Maximum number of points of a curve.
const POINTS: usize = 2000;

/// Draw the curve of the values, and return the size of the panel.
fn curve(svg: &mut Svg, values: &[f64], range: (f64, f64)) -> Point {
    let size = (SIDE, 0.6 * SIDE);
    let span = if range.1 > range.0 { range.1 - range.0 } else { 1.0 };
    let place = |k: usize| {
        let across = size.0 * k as f64 / (values.len() - 1).max(1) as f64;
        (LEFT + across, TOP + size.1 - size.1 * (values[k] - range.0) / span)
    };
    let step = values.len().div_ceil(POINTS);
    let points: Vec<Point> = (0..values.len()).step_by(step).map(place).collect();
    let [least, most] = words(range);
    svg.rect((LEFT, TOP), size, r#"class="frame""#);
    svg.polyline(&points, r#"class="k0" stroke-width="1.6""#);
    svg.text((LEFT, TOP - 6.0), "soft", &most);
    svg.text((LEFT, TOP + size.1 + 16.0), "soft", &least);
    size
}
