//! Dot plots of set-up time and solve time: one line per preconditioner, with the result at its end.

use crate::plot::{self, Axis, Picture, Point, Svg, short};

const MARGIN: f64 = 24.0;
const LINE: f64 = 20.0;
const PANEL: f64 = 420.0;
const GAP: f64 = 16.0;
/// Space above the lines of a panel, and below them.
const HEAD: f64 = 30.0;
const FOOT: f64 = 48.0;

/// The content of a plot: panels one below the other.
pub struct SpanChart {
    pub title: String,
    /// The line below the title.
    pub machine: String,
    pub panels: Vec<SpanPanel>,
}

/// Lines with a title.
pub struct SpanPanel {
    pub title: String,
    pub spans: Vec<SpanLine>,
}

/// One line.
pub struct SpanLine {
    pub name: String,
    /// Set-up time and solve time in milliseconds; `None` if the set-up failed.
    pub times: Option<[f64; 2]>,
    /// The result.
    pub note: String,
    /// Whether the iteration did not converge or returned an error.
    pub failed: bool,
}

/// Colours of the two times.
const PARTS: [(usize, &str); 2] = [(4, "set-up time"), (0, "solve time")];

impl SpanChart {
    /// Draw the panels.
    pub fn draw(&self) -> Picture {
        let spans = || self.panels.iter().flat_map(|panel| &panel.spans);
        // Times below one microsecond are drawn at one microsecond.
        let axis = Axis::over(spans().filter_map(|span| span.times).flatten().map(|t| t.max(1e-3)), PANEL);
        let widest = |words: fn(&SpanLine) -> &str| spans().map(|span| plot::length(words(span))).fold(0.0, f64::max);
        let left = MARGIN + widest(|span| &span.name) + GAP;
        let mut svg = Svg::default();
        svg.text((MARGIN, MARGIN + 12.0), "title", &self.title);
        svg.text((MARGIN, MARGIN + 32.0), "soft", &self.machine);
        let legend = legend(&mut svg, (MARGIN, MARGIN + 56.0));
        let mut top = MARGIN + 80.0;
        for panel in &self.panels {
            top += HEAD;
            panel.draw(&mut svg, (left, top), &axis);
            top += LINE * panel.spans.len() as f64 + FOOT;
        }
        let words = plot::title_length(&self.title).max(plot::length(&self.machine)) + MARGIN;
        let width = (left + PANEL + GAP + widest(|span| &span.note)).max(words).max(legend);
        svg.on_page((width + MARGIN, top))
    }
}

/// Draw the meaning of the colours. Returns the right end of the legend.
fn legend(svg: &mut Svg, (x, y): Point) -> f64 {
    let mut at = x + 6.0;
    for (colour, words) in PARTS {
        svg.circle((at, y), 3.5, &format!(r#"class="s{colour}""#));
        svg.text((at + 11.0, y + 4.0), "", words);
        at += plot::length(words) + 34.0;
    }
    svg.cross((at, y), 3.5, r#"class="k1" stroke-width="1.6""#);
    svg.text((at + 11.0, y + 4.0), "", "not converged");
    at + plot::length("not converged") + 34.0
}

impl SpanPanel {
    fn draw(&self, svg: &mut Svg, (x, y): Point, axis: &Axis) {
        let height = LINE * self.spans.len() as f64;
        svg.text((x, y - 10.0), "section", &self.title);
        for k in (0..self.spans.len()).step_by(2) {
            svg.rect((x, y + LINE * k as f64), (PANEL, LINE), r#"class="stripe""#);
        }
        for tick in axis.ticks(34.0) {
            let at = x + axis.place(tick);
            svg.line((at, y), (at, y + height), r#"class="grid""#);
            svg.text((at, y + height + 14.0), "mid soft", &short(tick));
        }
        svg.text((x + 0.5 * PANEL, y + height + 30.0), "mid soft", "milliseconds (less is faster)");
        for (k, span) in self.spans.iter().enumerate() {
            span.draw(svg, (x, y + LINE * (k as f64 + 0.5)), axis);
        }
    }
}

impl SpanLine {
    fn draw(&self, svg: &mut Svg, (x, y): Point, axis: &Axis) {
        svg.text((x - GAP, y + 4.0), "end", &self.name);
        svg.text((x + PANEL + GAP, y + 4.0), "", &self.note);
        let Some(times) = self.times else { return };
        svg.group("dot", &format!("{}: set-up {:.3} ms, solve {:.3} ms; {}", self.name, times[0], times[1], self.note));
        for (part, ((colour, _), time)) in PARTS.into_iter().zip(times).enumerate() {
            let at = (x + axis.place(time.max(1e-3)), y);
            if part == 1 && self.failed {
                svg.cross(at, 3.5, r#"class="k1" stroke-width="1.6""#);
            } else {
                svg.circle(at, 3.5, &format!(r#"class="s{colour}""#));
            }
        }
        svg.end_group();
    }
}
