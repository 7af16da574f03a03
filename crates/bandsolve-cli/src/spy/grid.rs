//! The cells of a drawing, each for many entries.

use super::view::SpyView;
use bandsolve_bench::plot::CellRun;

/// One number per cell of a picture, 0 for cells without entries.
pub struct SpyGrid {
    /// Number of cells in a line.
    pub width: usize,
    /// Number of lines.
    pub height: usize,
    cells: Vec<f64>,
}

impl SpyGrid {
    fn new(width: usize, height: usize) -> SpyGrid {
        SpyGrid { width, height, cells: vec![0.0; width * height] }
    }

    /// The number of entries in each cell, with at most `most` cells in each direction.
    pub fn entries(view: &SpyView, most: usize) -> SpyGrid {
        let side = view.n.min(most);
        let mut grid = SpyGrid::new(side, side);
        view.entries.for_each(|i, j, _| {
            let place = |k: usize| k * side / view.n;
            grid.cells[place(i) * side + place(j)] += 1.0;
        });
        grid
    }

    /// The largest |a| in each cell. Rows go from left to right, and diagonals from the uppermost down.
    pub fn sizes(view: &SpyView, (rows, diagonals): (usize, usize)) -> SpyGrid {
        let (lower, upper) = view.diagonals();
        let all = lower + upper + 1;
        let mut grid = SpyGrid::new(view.n.min(rows), all.min(diagonals));
        let SpyGrid { width, height, .. } = grid;
        view.entries.for_each(|i, j, size| {
            let from_top = (upper as i64 - view.offset(i, j)) as usize;
            let cell = &mut grid.cells[from_top * height / all * width + i * width / view.n];
            *cell = cell.max(size);
        });
        grid
    }

    /// A line of cells.
    pub fn row(&self, y: usize) -> &[f64] {
        &self.cells[y * self.width..][..self.width]
    }

    /// The smallest and the largest positive number of all cells, or 1 if there is none.
    pub fn range(&self) -> (f64, f64) {
        let positive = self.cells.iter().filter(|v| **v > 0.0);
        let (least, most) = positive.fold((f64::MAX, 0.0_f64), |(a, b), v| (a.min(*v), b.max(*v)));
        if most > 0.0 { (least, most) } else { (1.0, 1.0) }
    }

    /// Runs of neighboring cells in a line that have the same level.
    pub fn runs(&self, level: impl Fn(f64) -> usize) -> Vec<CellRun> {
        let mut runs = Vec::new();
        for y in 0..self.height {
            let mut x = 0;
            for run in self.row(y).chunk_by(|a, b| (*a > 0.0) == (*b > 0.0) && level(*a) == level(*b)) {
                if run[0] > 0.0 {
                    runs.push(CellRun { line: y, first: x, count: run.len(), level: level(run[0]) });
                }
                x += run.len();
            }
        }
        runs
    }
}

/// The level of a number on a logarithmic scale from `least` to `most`. If both are equal, the highest level.
pub fn level(value: f64, (least, most): (f64, f64), levels: usize) -> usize {
    let share = (value.log10() - least.log10()) / (most.log10() - least.log10());
    if share.is_finite() { ((share * levels as f64) as usize).min(levels - 1) } else { levels - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_share_the_decades() {
        let of = |value| level(value, (1e-4, 1.0), 4);
        assert_eq!([1e-4, 0.9e-3, 2e-3, 0.5, 1.0].map(of), [0, 0, 1, 3, 3]);
        assert_eq!(level(5.0, (5.0, 5.0), 4), 3);
        let wide = |value| level(value, (1e-200, 1e200), 4);
        assert_eq!([1e-200, 1e-150, 0.9, 1e150, 1e200].map(wide), [0, 0, 1, 3, 3]);
    }
}
