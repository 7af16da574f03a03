//! SVG to pixels.

use crate::exit::Failure;
use resvg::{tiny_skia, usvg};

/// Pixels for each of the SVG's.
const SCALE: f32 = 2.0;

/// Draws a document that has no text.
///
/// # Errors
/// [`Failure::Other`] for a picture beyond memory.
pub fn render(svg: &str) -> Result<Vec<u8>, Failure> {
    let failed = |why: String| Failure::Other(format!("the picture cannot be drawn as PNG: {why}; write it as .svg"));
    let tree = usvg::Tree::from_str(svg, &usvg::Options::default()).map_err(|e| failed(e.to_string()))?;
    let size = tree.size().to_int_size().scale_by(SCALE).ok_or_else(|| failed("it has no size".into()))?;
    let pixmap = tiny_skia::Pixmap::new(size.width(), size.height());
    let mut pixmap = pixmap.ok_or_else(|| failed("it is too large".into()))?;
    resvg::render(&tree, tiny_skia::Transform::from_scale(SCALE, SCALE), &mut pixmap.as_mut());
    pixmap.encode_png().map_err(|e| failed(e.to_string()))
}
