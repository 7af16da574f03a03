//! Drawing: the few elements of SVG that our pictures are made of, written as SVG or PNG.

mod axis;
mod png;
mod style;

pub use axis::{Axis, short};
pub use style::{RAMP, SERIES, mix, stylesheet};

use crate::exit::Failure;
use crate::io::output;
use std::fmt::Write;
use std::path::Path;

/// A point, in pixels from the upper left corner.
pub type Point = (f64, f64);

/// A picture in the making. Colours are classes, so that they follow the page; those of data may be attributes.
#[derive(Debug, Default)]
pub struct Svg {
    body: String,
}

impl Svg {
    /// A rectangle from its upper left corner and its size.
    pub fn rect(&mut self, (x, y): Point, (width, height): Point, attributes: &str) {
        let _ = writeln!(
            self.body,
            r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" {attributes}/>"#
        );
    }

    /// A line.
    pub fn line(&mut self, (x1, y1): Point, (x2, y2): Point, attributes: &str) {
        let _ = writeln!(self.body, r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" {attributes}/>"#);
    }

    /// Lines from point to point.
    pub fn polyline(&mut self, points: &[Point], attributes: &str) {
        let _ = writeln!(self.body, r#"<polyline points="{}" fill="none" {attributes}/>"#, list(points));
    }

    /// A closed polygon.
    pub fn polygon(&mut self, points: &[Point], attributes: &str) {
        let _ = writeln!(self.body, r#"<polygon points="{}" {attributes}/>"#, list(points));
    }

    /// A path in SVG's own words.
    pub fn path(&mut self, steps: &str, attributes: &str) {
        let _ = writeln!(self.body, r#"<path d="{steps}" {attributes}/>"#);
    }

    /// A disc around its centre.
    pub fn circle(&mut self, (x, y): Point, radius: f64, attributes: &str) {
        let _ = writeln!(self.body, r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}" {attributes}/>"#);
    }

    /// A cross around its centre.
    pub fn cross(&mut self, (x, y): Point, radius: f64, attributes: &str) {
        self.line((x - radius, y - radius), (x + radius, y + radius), attributes);
        self.line((x - radius, y + radius), (x + radius, y - radius), attributes);
    }

    /// Words that begin at a point, or as the classes say.
    pub fn text(&mut self, (x, y): Point, classes: &str, words: &str) {
        let words = escape(words);
        let _ = writeln!(self.body, r#"<text x="{x:.1}" y="{y:.1}" class="{classes}">{words}</text>"#);
    }

    /// Words that rise to the right from a point.
    pub fn slanted(&mut self, (x, y): Point, words: &str) {
        let (words, degrees) = (escape(words), SLANT);
        let _ = writeln!(self.body, r#"<text transform="translate({x:.1} {y:.1}) rotate(-{degrees})">{words}</text>"#);
    }

    /// Begins a group with a note that browsers show; ended by [`end_group`](Self::end_group).
    pub fn group(&mut self, class: &str, note: &str) {
        let note = escape(note);
        let _ = writeln!(self.body, r#"<g class="{class}"><title>{note}</title>"#);
    }

    /// Ends what [`group`](Self::group) began.
    pub fn end_group(&mut self) {
        self.body += "</g>\n";
    }

    /// The picture on a page of the given size.
    pub fn on_page(self, size: Point) -> Picture {
        Picture { body: self.body, size }
    }
}

fn list(points: &[Point]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    points.join(" ")
}

/// A picture.
#[derive(Debug)]
pub struct Picture {
    body: String,
    size: Point,
}

impl Picture {
    /// Writes it, as PNG where the name ends so.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an unknown ending, [`Failure::Other`] if it cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let bytes = match Format::of(path)? {
            Format::Png => png::render(&self.svg(&style::light()))?,
            Format::Svg => self.svg(&stylesheet()).into_bytes(),
        };
        output::write(path, |out| out.write_all(&bytes))
    }

    /// With its colours, as a document or a part of one.
    fn svg(&self, style: &str) -> String {
        self.element(&format!("<style>{style}</style>\n<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n"))
    }

    /// Without colours and page, for a document that has them.
    pub fn inline(&self) -> String {
        self.element("")
    }

    fn element(&self, head: &str) -> String {
        let (width, height) = self.size;
        let body = &self.body;
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n{head}{body}</svg>\n"
        )
    }
}

/// Formats of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// For browsers; follows the page.
    Svg,
    /// Pixels, for light pages.
    Png,
}

impl Format {
    /// The format that a file name asks for.
    ///
    /// # Errors
    /// [`Failure::Usage`] for an unknown ending.
    pub fn of(path: &Path) -> Result<Format, Failure> {
        let ending = path.extension().and_then(|e| e.to_str()).map(str::to_ascii_lowercase);
        match ending.as_deref() {
            _ if path.as_os_str() == "-" => Ok(Format::Svg),
            Some("svg") => Ok(Format::Svg),
            Some("png") => Ok(Format::Png),
            _ => Err(Failure::Usage(format!("--plot {}: the name must end in .svg or .png", path.display()))),
        }
    }
}

/// Degrees of slanted words.
const SLANT: f64 = 55.0;

/// Width and height that slanted words take.
pub fn slanted_size(words: &str) -> Point {
    let length = length(words);
    (length * SLANT.to_radians().cos(), length * SLANT.to_radians().sin() + 8.0)
}

/// Pixels that words take in a line, about: in DejaVu Sans, which is wider than most.
pub fn length(words: &str) -> f64 {
    let width = |c: char| match c {
        'i' | 'j' | 'l' | '\'' | '|' => 3.1,
        'f' | 'r' | 't' | ' ' | '.' | ',' | ':' | ';' | '-' | '(' | ')' | '/' | 'I' => 4.2,
        'm' | 'w' | 'M' | 'W' | '×' | '−' | '=' | '∞' | '·' => 9.6,
        c if c.is_uppercase() => 7.6,
        _ => 6.8,
    };
    words.chars().map(width).sum()
}

/// The same of a title.
pub fn title_length(words: &str) -> f64 {
    1.65 * length(words)
}

/// Words that cannot end an element or an attribute.
pub fn escape(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_cannot_end_an_element() {
        let mut svg = Svg::default();
        svg.text((1.0, 2.0), "end", "a < b & c > d");
        assert_eq!(svg.body, "<text x=\"1.0\" y=\"2.0\" class=\"end\">a &lt; b &amp; c &gt; d</text>\n");
    }

    #[test]
    fn the_ending_is_the_format() {
        let format = |name: &str| Format::of(Path::new(name)).ok();
        assert_eq!(["a.svg", "-", "a.b.PNG"].map(format), [Format::Svg, Format::Svg, Format::Png].map(Some));
        assert_eq!(["a.gif", "svg", "png", ".png"].map(format), [None; 4]);
    }
}
