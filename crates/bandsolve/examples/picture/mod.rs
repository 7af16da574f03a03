//! Write curves to an SVG file that is readable on light and dark pages.

use std::fmt::Write;

/// One curve: its name and its points.
pub type Curve = (String, Vec<(f64, f64)>);

/// A picture with two axes and curves.
#[derive(Default)]
pub struct Picture {
    /// The label of the horizontal axis.
    pub x_label: &'static str,
    /// The label of the vertical axis.
    pub y_label: &'static str,
    /// Whether both axes are logarithmic: the horizontal one to base 2, the vertical one to base 10.
    pub logarithmic: bool,
    /// The curves, at most six.
    pub curves: Vec<Curve>,
}

const STYLE: &str = "text{font:13px sans-serif;fill:#555}.axis{stroke:#888;fill:none}.curve{fill:none;stroke-width:1.8}\
.c0{stroke:#1f6fb4}.c1{stroke:#d2691e}.c2{stroke:#2a8a3c}.c3{stroke:#b03a76}.c4{stroke:#6a51a3}.c5{stroke:#7a7a7a}\
@media(prefers-color-scheme:dark){text{fill:#bbb}\
.c0{stroke:#6cb2f0}.c1{stroke:#f0a060}.c2{stroke:#6cc97c}.c3{stroke:#e884b4}.c4{stroke:#b3a0e8}.c5{stroke:#a0a0a0}}";

/// The left, right, top and bottom ends of the axes.
const FRAME: [f64; 4] = [72.0, 430.0, 16.0, 300.0];

/// A map from numbers to positions on an axis.
struct Axis {
    numbers: [f64; 2],
    places: [f64; 2],
    /// The base of a logarithmic axis; 1 for a linear axis.
    base: f64,
}

impl Axis {
    fn new(numbers: impl Iterator<Item = f64>, places: [f64; 2], base: f64) -> Self {
        let axis = Self { numbers: [0.0; 2], places, base };
        let [low, high] =
            numbers.map(|v| axis.scaled(v)).fold([f64::MAX, f64::MIN], |[low, high], v| [low.min(v), high.max(v)]);
        Self { numbers: if low < high { [low, high] } else { [low - 0.5, high + 0.5] }, ..axis }
    }

    fn scaled(&self, v: f64) -> f64 {
        if self.base == 1.0 { v } else { v.ln() / self.base.ln() }
    }

    fn place(&self, v: f64) -> f64 {
        let [[low, high], [first, last]] = [self.numbers, self.places];
        first + (self.scaled(v) - low) / (high - low) * (last - first)
    }

    /// At most eight round numbers along the axis.
    fn ticks(&self) -> Vec<f64> {
        let [low, high] = self.numbers;
        let least = (high - low) / 7.0;
        let power = 10f64.powf(least.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|step| step * power);
        let step = steps.into_iter().find(|step| *step >= least * 0.999).unwrap_or(least);
        let step = if self.base == 1.0 { step } else { step.max(1.0).ceil() };
        let (first, last) = ((low / step - 1e-9).ceil() as i64, (high / step + 1e-9).floor() as i64);
        (first..=last)
            .map(|k| if self.base == 1.0 { k as f64 * step } else { self.base.powf(k as f64 * step) })
            .collect()
    }

    fn text(&self, v: f64) -> String {
        let rounded = (v * 1e9).round() / 1e9;
        if self.base == 10.0 { format!("{v:.0e}") } else { format!("{rounded}") }
    }
}

impl Picture {
    /// Return the picture as SVG.
    pub fn svg(&self) -> String {
        let [left, right, top, bottom] = FRAME;
        let points = || self.curves.iter().flat_map(|(_, points)| points);
        let x = Axis::new(points().map(|p| p.0), [left, right], if self.logarithmic { 2.0 } else { 1.0 });
        let y = Axis::new(points().map(|p| p.1), [bottom, top], if self.logarithmic { 10.0 } else { 1.0 });
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 600 350\" width=\"600\" height=\"350\">\n\
             <style>{STYLE}</style>\n<path class=\"axis\" d=\"M{left} {top}V{bottom}H{right}\"/>\n"
        );
        let mut line = |text: String| writeln!(svg, "{text}").expect("a string takes everything");
        for v in x.ticks() {
            let (at, text) = (x.place(v), x.text(v));
            line(format!("<path class=\"axis\" d=\"M{at:.1} {bottom}v5\"/>"));
            line(format!("<text x=\"{at:.1}\" y=\"{}\" text-anchor=\"middle\">{text}</text>", bottom + 20.0));
        }
        for v in y.ticks() {
            let (at, text) = (y.place(v), y.text(v));
            line(format!("<path class=\"axis\" d=\"M{left} {at:.1}h-5\"/>"));
            line(format!("<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>", left - 9.0, at + 4.0));
        }
        let (middle, centre) = ((left + right) / 2.0, (top + bottom) / 2.0);
        line(format!("<text x=\"{middle}\" y=\"{}\" text-anchor=\"middle\">{}</text>", bottom + 42.0, self.x_label));
        let turned = format!("text-anchor=\"middle\" transform=\"translate(16 {centre}) rotate(-90)\"");
        line(format!("<text {turned}>{}</text>", self.y_label));
        for (k, (name, points)) in self.curves.iter().enumerate() {
            let path: Vec<String> = points.iter().map(|p| format!("{:.1} {:.1}", x.place(p.0), y.place(p.1))).collect();
            line(format!("<path class=\"curve c{k}\" d=\"M{}\"/>", path.join("L")));
            let at = top + 20.0 * k as f64 + 8.0;
            line(format!("<path class=\"curve c{k}\" d=\"M{} {at}h24\"/>", right + 20.0));
            line(format!("<text x=\"{}\" y=\"{}\">{name}</text>", right + 50.0, at + 4.0));
        }
        svg + "</svg>\n"
    }

    /// Write the picture to the file in the first argument of the program, if there is one.
    pub fn write_if_asked(&self) -> std::io::Result<()> {
        std::env::args().nth(1).map_or(Ok(()), |path| std::fs::write(path, self.svg()))
    }
}
