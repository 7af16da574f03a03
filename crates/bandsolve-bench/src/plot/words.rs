//! Text in pictures: as SVG text, which readers can search, or as outlines of a font that the program contains.

use super::style;
use std::fmt::Write;
use ttf_parser::{Face, OutlineBuilder};

/// A point, in pixels from the upper left corner.
pub type Point = (f64, f64);

/// A text at a position.
#[derive(Debug)]
pub struct Words {
    /// Position of the beginning, middle or end, depending on the classes.
    pub at: Point,
    /// Angle in degrees by which the text rises.
    pub rise: f64,
    pub classes: String,
    pub words: String,
}

impl Words {
    /// An SVG text element in the fonts of the viewer.
    pub fn text(&self) -> String {
        let (Words { at: (x, y), rise, classes, .. }, words) = (self, escape(&self.words));
        match *rise {
            0.0 => format!("<text x=\"{x:.1}\" y=\"{y:.1}\" class=\"{classes}\">{words}</text>\n"),
            rise => format!(
                "<text transform=\"translate({x:.1} {y:.1}) rotate(-{rise})\" class=\"{classes}\">{words}</text>\n"
            ),
        }
    }

    /// A path with the outlines of the letters, for PNG.
    pub fn outline(&self) -> String {
        let Words { at: (x, y), rise, classes, words } = self;
        let font = Font::of(classes);
        let before = match style::anchor(classes) {
            style::Anchor::Start => 0.0,
            style::Anchor::Middle => 0.5,
            style::Anchor::End => 1.0,
        };
        let mut pen = Pen { x: -before * font.length(words), scale: font.scale, steps: String::new() };
        for letter in words.chars() {
            // Glyph 0 is the replacement for letters that the font does not have.
            let glyph = font.face.glyph_index(letter).unwrap_or_default();
            font.face.outline_glyph(glyph, &mut pen);
            pen.x += font.advance(letter);
        }
        let (place, steps) = (format!("translate({x:.1} {y:.1}) rotate(-{rise})"), pen.steps);
        format!("<path transform=\"{place}\" class=\"ink {classes}\" d=\"{steps}\"/>\n")
    }
}

/// Width of a text with these classes in pixels. It holds for DejaVu Sans, which is wider than most fonts.
pub fn length(words: &str, classes: &str) -> f64 {
    Font::of(classes).length(words)
}

/// DejaVu Sans in one size.
struct Font {
    face: Face<'static>,
    /// Pixels per font unit.
    scale: f64,
}

impl Font {
    fn of(classes: &str) -> Font {
        let (size, bold) = style::font(classes);
        let data = if bold { dejavu::sans::bold() } else { dejavu::sans::regular() };
        let face = Face::parse(data, 0).expect("a font");
        let scale = size / f64::from(face.units_per_em());
        Font { face, scale }
    }

    fn advance(&self, letter: char) -> f64 {
        let glyph = self.face.glyph_index(letter).unwrap_or_default();
        self.scale * f64::from(self.face.glyph_hor_advance(glyph).unwrap_or(0))
    }

    fn length(&self, words: &str) -> f64 {
        words.chars().map(|letter| self.advance(letter)).sum()
    }
}

/// Writes letters as an SVG path. The y-axis of fonts points up, the one of SVG points down.
struct Pen {
    x: f64,
    scale: f64,
    steps: String,
}

impl Pen {
    fn step(&mut self, name: char, points: &[(f32, f32)]) {
        self.steps.push(name);
        for (k, (x, y)) in points.iter().enumerate() {
            let (x, y) = (self.x + self.scale * f64::from(*x), -self.scale * f64::from(*y));
            let _ = write!(self.steps, "{}{x:.2} {y:.2}", if k > 0 { " " } else { "" });
        }
    }
}

impl OutlineBuilder for Pen {
    fn move_to(&mut self, x: f32, y: f32) {
        self.step('M', &[(x, y)]);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        self.step('L', &[(x, y)]);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        self.step('Q', &[(x1, y1), (x, y)]);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        self.step('C', &[(x1, y1), (x2, y2), (x, y)]);
    }

    fn close(&mut self) {
        self.steps.push('Z');
    }
}

/// Escape the characters that could end an element or an attribute.
pub fn escape(words: &str) -> String {
    words.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &str, classes: &str) -> Words {
        Words { at: (1.0, 2.0), rise: 0.0, classes: classes.into(), words: words.into() }
    }

    #[test]
    fn words_cannot_end_an_element() {
        let text = words("a < b & c > d", "end").text();
        assert_eq!(text, "<text x=\"1.0\" y=\"2.0\" class=\"end\">a &lt; b &amp; c &gt; d</text>\n");
    }

    #[test]
    fn letters_are_as_wide_as_the_font_says() {
        // DejaVu Sans: 1255 of 2048 units for an a, 651 for a space; the minus is as wide as a plus.
        assert!((length("a a", "") - 11.0 * (2.0 * 1255.0 + 651.0) / 2048.0).abs() < 1e-9);
        assert_eq!(length("−", "num"), length("+", "num"));
        assert!(length("rpts", "title") > 16.0 / 11.0 * length("rpts", ""));
    }

    #[test]
    fn outlines_begin_where_the_anchor_says() {
        let first = |classes: &str| {
            let outline = words("ll", classes).outline();
            let steps = outline.split(" d=\"M").nth(1).expect("a path").to_string();
            steps.split(' ').next().unwrap().parse::<f64>().expect("a number")
        };
        let width = length("ll", "");
        assert!(
            (first("") - first("mid") - 0.5 * width).abs() < 0.02 && (first("") - first("end") - width).abs() < 0.02
        );
    }
}
