//! Pictures from a few SVG elements, written as SVG or PNG.

mod axis;
mod png;
mod style;
mod words;

pub use axis::{Axis, short};
pub use style::{RAMP, SERIES, mix, stylesheet};
pub use words::{Point, escape};

use bandsolve_program::exit::Failure;
use bandsolve_program::io::output::{self, PictureFormat};
use std::fmt::Write as _;
use std::path::Path;
use words::Words;

/// A picture under construction. Colours are CSS classes, so they follow the light or dark theme of the page. Colours of data may be
/// attributes.
#[derive(Debug, Default)]
pub struct Svg {
    pieces: Vec<Piece>,
}

/// Neighboring cells of the same colour in a line of cells.
#[derive(Debug, Clone, Copy)]
pub struct CellRun {
    /// Index of the line from the top.
    pub line: usize,
    /// Index of the first cell from the left.
    pub first: usize,
    /// Number of cells.
    pub count: usize,
    /// Step of the colour scale.
    pub level: usize,
}

/// A part of a picture.
#[derive(Debug)]
enum Piece {
    /// SVG elements.
    Markup(String),
    Words(Words),
}

impl Svg {
    fn add(&mut self, markup: String) {
        self.pieces.push(Piece::Markup(markup + "\n"));
    }

    /// Add a rectangle from its upper left corner and its size.
    pub fn rect(&mut self, (x, y): Point, (width, height): Point, attributes: &str) {
        self.add(format!(r#"<rect x="{x:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" {attributes}/>"#));
    }

    /// Add a line.
    pub fn line(&mut self, (x1, y1): Point, (x2, y2): Point, attributes: &str) {
        self.add(format!(r#"<line x1="{x1:.1}" y1="{y1:.1}" x2="{x2:.1}" y2="{y2:.1}" {attributes}/>"#));
    }

    /// Add lines from point to point.
    pub fn polyline(&mut self, points: &[Point], attributes: &str) {
        self.add(format!(r#"<polyline points="{}" fill="none" {attributes}/>"#, list(points)));
    }

    /// Add a closed polygon.
    pub fn polygon(&mut self, points: &[Point], attributes: &str) {
        self.add(format!(r#"<polygon points="{}" {attributes}/>"#, list(points)));
    }

    /// Add a path from the commands of an SVG `d` attribute.
    pub fn path(&mut self, steps: &str, attributes: &str) {
        self.add(format!(r#"<path d="{steps}" {attributes}/>"#));
    }

    /// Add a disc from its centre and radius.
    pub fn circle(&mut self, (x, y): Point, radius: f64, attributes: &str) {
        self.add(format!(r#"<circle cx="{x:.1}" cy="{y:.1}" r="{radius:.1}" {attributes}/>"#));
    }

    /// Add a cross from its centre and radius.
    pub fn cross(&mut self, (x, y): Point, radius: f64, attributes: &str) {
        self.line((x - radius, y - radius), (x + radius, y + radius), attributes);
        self.line((x - radius, y + radius), (x + radius, y - radius), attributes);
    }

    /// Add text at a point. The classes `end` and `mid` align its end or middle to the point.
    pub fn text(&mut self, at: Point, classes: &str, words: &str) {
        self.words(at, 0.0, classes, words);
    }

    /// Add slanted text that begins at a point and rises to the right.
    pub fn slanted(&mut self, at: Point, words: &str) {
        self.words(at, SLANT, "", words);
    }

    /// Add the names of the axes of a panel, above it and on its left. A small panel gets no names, for lack of space.
    pub fn axis_names(&mut self, (x, y): Point, (width, height): Point, [across, down]: [&str; 2]) {
        if width > 160.0 && height > 60.0 {
            self.text((x + 0.5 * width, y - 6.0), "mid soft", across);
            self.words((x - AXIS_NAME, y + 0.5 * height), 90.0, "mid soft", down);
        }
    }

    fn words(&mut self, at: Point, rise: f64, classes: &str, words: &str) {
        self.pieces.push(Piece::Words(Words { at, rise, classes: classes.into(), words: words.into() }));
    }

    /// Begin a group with a tooltip. [`end_group`](Self::end_group) ends it.
    pub fn group(&mut self, class: &str, note: &str) {
        let note = escape(note);
        self.add(format!(r#"<g class="{class}"><title>{note}</title>"#));
    }

    /// End the last group of [`group`](Self::group).
    pub fn end_group(&mut self) {
        self.add("</g>".into());
    }

    /// Add cells, coloured by the scale. One path per colour keeps the file small.
    pub fn cells(&mut self, (x, y): Point, (width, height): Point, runs: &[CellRun]) {
        let mut paths = vec![String::new(); RAMP];
        for run in runs {
            let (left, top) = (x + width * run.first as f64, y + height * run.line as f64);
            let _ = write!(paths[run.level], "M{left} {top}h{0}v{height}h-{0}z", width * run.count as f64);
        }
        for (k, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            self.path(path, &format!(r#"class="cells crisp r{k}""#));
        }
    }

    /// Add the colour scale from step `first` on, between the labels of its ends.
    pub fn ramp(&mut self, (x, y): Point, first: usize, [least, most]: &[String; 2]) {
        self.text((x, y), "soft", least);
        let mut at = x + length(least) + 8.0;
        for k in first..RAMP {
            self.rect((at, y - 9.0), (SCALE_STEP, 11.0), &format!(r#"class="crisp r{k}""#));
            at += SCALE_STEP;
        }
        self.text((at + 8.0, y), "soft", most);
    }

    /// Finish the picture with the given size.
    pub fn on_page(self, size: Point) -> Picture {
        Picture { pieces: self.pieces, size }
    }
}

fn list(points: &[Point]) -> String {
    let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    points.join(" ")
}

/// A finished picture.
#[derive(Debug)]
pub struct Picture {
    pieces: Vec<Piece>,
    size: Point,
}

impl Picture {
    /// Write the picture in the format of the file name.
    ///
    /// # Errors
    /// [`Failure::Usage`] if the file extension is unknown, [`Failure::Other`] if the file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), Failure> {
        let bytes = match PictureFormat::of(path)? {
            PictureFormat::Png => png::render(&self.element(&framed(&style::light()), Words::outline))?,
            PictureFormat::Svg => self.element(&framed(&stylesheet()), Words::text).into_bytes(),
        };
        output::write(path, |out| out.write_all(&bytes))
    }

    /// The SVG element without style sheet and background, for an HTML page that has them.
    pub fn inline(&self) -> String {
        self.element("", Words::text)
    }

    fn element(&self, head: &str, draw: fn(&Words) -> String) -> String {
        let (width, height) = self.size;
        let pieces = self.pieces.iter().map(|piece| match piece {
            Piece::Markup(markup) => markup.clone(),
            Piece::Words(words) => draw(words),
        });
        let body: String = pieces.collect();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">\n{head}{body}</svg>\n"
        )
    }
}

/// Style sheet and background.
fn framed(style: &str) -> String {
    format!("<style>{style}</style>\n<rect width=\"100%\" height=\"100%\" class=\"paper\"/>\n")
}

/// Width in pixels of a step of the colour scale.
const SCALE_STEP: f64 = 2.5;

/// Distance in pixels from a panel to the name of its vertical axis.
const AXIS_NAME: f64 = 40.0;

/// Angle of slanted text in degrees.
const SLANT: f64 = 55.0;

/// Width and height of slanted text in pixels.
pub fn slanted_size(words: &str) -> Point {
    let length = length(words);
    (length * SLANT.to_radians().cos(), length * SLANT.to_radians().sin() + 8.0)
}

/// Width of a text in pixels.
pub fn length(words: &str) -> f64 {
    words::length(words, "")
}

/// Width of a title in pixels.
pub fn title_length(words: &str) -> f64 {
    words::length(words, "title")
}
