//! A drawing of a matrix in the terminal: its entries as dots, its band as shades.

use super::grid::{SpyGrid, level};
use super::view::SpyView;
use bandsolve_program::report;

/// Maximum number of lines for the entries.
const LINES: usize = 32;
/// Maximum number of lines for the diagonals.
const DIAGONALS: usize = 17;
/// Largest number of unknowns for which each entry is two characters wide.
const SMALL: usize = 24;
/// Shades for small to large entries.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// Width if the output is not a terminal.
const USUAL_WIDTH: usize = 80;

/// Number of characters in a line of the terminal.
pub fn width() -> usize {
    let (_, columns) = console::Term::stdout().size_checked().unwrap_or((0, 0));
    if columns == 0 { USUAL_WIDTH } else { usize::from(columns).max(20) }
}

/// The text of the whole drawing: facts, entries and band.
pub fn draw(view: &SpyView, width: usize) -> String {
    let entries = if view.n <= SMALL && 2 * view.n + 4 <= width { blocks(view) } else { dots(view, width - 4) };
    format!("{}\n{}\n\n{}\n{}", view.name, wrapped(&view.measures(), width), framed(&entries), band(view, width))
}

/// Break lines longer than `width` after commas.
fn wrapped(words: &str, width: usize) -> String {
    let (mut text, mut used) = (String::new(), 0);
    for part in words.split_inclusive(", ") {
        let length = part.trim_end().chars().count();
        if used > 0 && used + length > width {
            text.truncate(text.trim_end().len());
            text.push('\n');
            used = 0;
        }
        text += part;
        used += part.chars().count();
    }
    text
}

/// Draw each entry with two characters.
fn blocks(view: &SpyView) -> Vec<String> {
    let grid = SpyGrid::entries(view, SMALL);
    let line = |y| grid.row(y).iter().map(|count| if *count > 0.0 { "██" } else { "· " }).collect();
    (0..grid.height).map(line).collect()
}

/// Draw the entries with Braille characters, each of which has two by four dots.
fn dots(view: &SpyView, width: usize) -> Vec<String> {
    /// Bits of the dots of a Braille character, line by line.
    const BITS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
    let grid = SpyGrid::entries(view, (2 * width).min(4 * LINES));
    let letter = |x: usize, y: usize| {
        let mut bits = 0;
        for (k, pair) in BITS.iter().enumerate().filter(|(k, _)| 4 * y + k < grid.height) {
            let row = &grid.row(4 * y + k)[2 * x..];
            row.iter().zip(pair).filter(|(count, _)| **count > 0.0).for_each(|(_, bit)| bits |= bit);
        }
        char::from_u32(0x2800 + bits).unwrap_or(' ')
    };
    let line = |y| (0..grid.width.div_ceil(2)).map(|x| letter(x, y)).collect();
    (0..grid.height.div_ceil(4)).map(line).collect()
}

fn framed(lines: &[String]) -> String {
    let width = lines.first().map_or(0, |line| line.chars().count());
    let edge = "─".repeat(width);
    let body: String = lines.iter().map(|line| format!(" │{line}│\n")).collect();
    format!(" ┌{edge}┐\n{body} └{edge}┘\n")
}

/// Draw the band with a line per diagonal, or per several diagonals. Rows go from left to right.
fn band(view: &SpyView, width: usize) -> String {
    let (lower, upper) = view.diagonals();
    let all = lower + upper + 1;
    // The number of the first diagonal in a line.
    let offset = |line: usize, lines: usize| match upper as i64 - (line * all).div_ceil(lines) as i64 {
        0 => "0".to_string(),
        offset => format!("{offset:+}"),
    };
    let margin = offset(0, 1).len().max(offset(all - 1, all).len());
    let grid = SpyGrid::sizes(view, (width.saturating_sub(margin + 4), DIAGONALS));
    let range = grid.range();
    let shade = |size: &f64| if *size > 0.0 { SHADES[level(*size, range, SHADES.len())] } else { ' ' };
    let mut text = "diagonals, from the first row (left) to the last row (right):\n".to_string();
    for y in 0..grid.height {
        let cells: String = grid.row(y).iter().map(shade).collect();
        text += &format!(" {:>margin$} │{cells}│\n", offset(y, grid.height));
    }
    let (least, most) = range;
    let scale: String = SHADES.iter().collect();
    text + &format!(" largest |a|: {} {scale} {}\n", report::number(least, 2), report::number(most, 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_break_after_commas() {
        assert_eq!(wrapped("one, two, three", 9), "one, two,\nthree");
        assert_eq!(wrapped("one, two, three", 15), "one, two, three");
        assert_eq!(wrapped("nothing to break", 5), "nothing to break");
    }
}
