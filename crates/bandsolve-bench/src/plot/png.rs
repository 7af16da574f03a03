//! Conversion of SVG to PNG.

use bandsolve_program::exit::Failure;
use resvg::{tiny_skia, usvg};

/// Pixels of the PNG per pixel of the SVG.
const SCALE: f32 = 2.0;

/// Convert an SVG document without text elements.
///
/// # Errors
/// [`Failure::Other`] if the picture does not fit in memory.
pub fn render(svg: &str) -> Result<Vec<u8>, Failure> {
    let failed =
        |why: String| Failure::Other(format!("cannot convert the picture to PNG: {why}. Write an .svg file instead"));
    let tree = usvg::Tree::from_str(svg, &usvg::Options::default()).map_err(|e| failed(e.to_string()))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| failed("it has no size".into()))?;
    let pixmap = tiny_skia::Pixmap::new(size.width(), size.height());
    let mut pixmap = pixmap.ok_or_else(|| failed("it is too large".into()))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|e| failed(e.to_string()))
}
