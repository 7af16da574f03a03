//! Drawing: the few elements of SVG that our pictures are made of.

use crate::exit::Failure;
use crate::io::output;
use std::fmt::Write;
use std::path::Path;

/// A point, in pixels from the upper left corner.
pub type Point = (f64, f64);

/// A picture in the making.
#[derive(Debug, Default)]
pub struct Svg {
    body: String,
}

/// Classes that all pictures share.
const STYLE: &str = "text{font-family:'Helvetica Neue',Arial,'DejaVu Sans',sans-serif;font-size:11px;fill:#222}\
.title{font-size:16px;font-weight:600}.section{font-size:13px;font-weight:600}.soft{fill:#666}\
.end{text-anchor:end}.mid{text-anchor:middle}.num{font-size:9px}.pale{fill:#fff}.grid{stroke:#e4e4e4}";

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

    /// A closed polygon.
    pub fn polygon(&mut self, points: &[Point], attributes: &str) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let _ = writeln!(self.body, r#"<polygon points="{}" {attributes}/>"#, points.join(" "));
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

    /// Writes the picture on a white page of the given size.
    ///
    /// # Errors
    /// [`Failure::Other`].
    pub fn write(&self, path: &Path, (width, height): Point) -> Result<(), Failure> {
        let body = &self.body;
        output::write(path, |out| {
            write!(
                out,
                "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
                 viewBox=\"0 0 {width:.0} {height:.0}\">\n<style>{STYLE}</style>\n\
                 <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{body}</svg>\n"
            )
        })
    }
}

/// Degrees of slanted words.
const SLANT: f64 = 55.0;

/// Width and height that slanted words take.
pub fn slanted_size(words: &str) -> Point {
    let length = 5.9 * words.chars().count() as f64;
    (length * SLANT.to_radians().cos(), length * SLANT.to_radians().sin() + 8.0)
}

fn escape(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
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
}
