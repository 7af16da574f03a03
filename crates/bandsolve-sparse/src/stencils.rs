//! Matrices of stencils on grids: the model problems that preconditioners are compared on.

use crate::csr::Csr;
use crate::rows::make_rows;

/// What a model problem cannot do without.
const MEMORY: &str = "memory for a model problem";

/// A square matrix by a stencil on a grid of `nx` · `ny` unknowns, numbered row by row: unknown (x, y) is coupled with (x + dx, y + dy) by
/// `stencil[dy + 1][dx + 1]`. What leaves the grid is dropped, as are zeros.
///
/// # Example
/// ```
/// use bandsolve_sparse::nine_point;
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (2, 2));
/// assert_eq!(a.row(3).collect::<Vec<_>>(), [(1, -1.0), (2, -1.0), (3, 4.0)]);
/// ```
///
/// # Panics
/// If there are 2³² unknowns or entries, or more.
pub fn nine_point(stencil: [[f64; 3]; 3], (nx, ny): (usize, usize)) -> Csr<'static, f64, u32> {
    let mut all = [[[0.0; 3]; 3]; 3];
    all[1] = stencil;
    twenty_seven_point(all, (nx, ny, 1))
}

/// The same on a grid of `nx` · `ny` · `nz` unknowns, with `stencil[dz + 1][dy + 1][dx + 1]`.
///
/// # Panics
/// As [`nine_point`].
pub fn twenty_seven_point(stencil: [[[f64; 3]; 3]; 3], (nx, ny, nz): (usize, usize, usize)) -> Csr<'static, f64, u32> {
    let n = nx * ny * nz;
    assert!(n < u32::MAX as usize / 27, "{n} unknowns are too many");
    let places = (0..27).map(|k| [k / 9, k / 3 % 3, k % 3]);
    let entries: Vec<_> = places.map(|[z, y, x]| ([z, y, x], stencil[z][y][x])).filter(|(_, v)| *v != 0.0).collect();
    make_rows((n, n), n * entries.len(), &|rows, made| {
        for i in rows {
            let at = [i / (nx * ny), i / nx % ny, i % nx];
            let mut length = 0;
            for (d, value) in &entries {
                let to: [usize; 3] = core::array::from_fn(|k| (at[k] + d[k]).wrapping_sub(1));
                if to[0] < nz && to[1] < ny && to[2] < nx {
                    made.columns.push(((to[0] * ny + to[1]) * nx + to[2]) as u32);
                    made.values.push(*value);
                    length += 1;
                }
            }
            made.lengths.push(length);
        }
        Ok(())
    })
    .expect(MEMORY)
}

/// A matrix of known properties, on a grid of any size.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ModelProblem {
    /// What it is called.
    pub name: &'static str,
    /// What it is.
    pub description: &'static str,
    /// The matrix for a grid with so many unknowns along each of its sides.
    pub make: fn(usize) -> Csr<'static, f64, u32>,
}

/// Strong couplings along the rows of the grid, weak ones along its diagonals.
const ANISO1: [[f64; 3]; 3] = [[-0.2, -0.1, -0.2], [-1.0, 3.0, -1.0], [-0.2, -0.1, -0.2]];
/// Strong couplings along one diagonal of the grid.
const ANISO2: [[f64; 3]; 3] = [[-1.0, -0.2, -0.1], [-0.2, 3.0, -0.2], [-0.1, -0.2, -1.0]];
/// Strong couplings along the other.
const MIRRORED: [[f64; 3]; 3] = [[-0.1, -0.2, -1.0], [-0.2, 3.0, -0.2], [-1.0, -0.2, -0.1]];
const FIVE_POINT: [[f64; 3]; 3] = [[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]];

/// The model problems; `aniso1` to `fem7` are those of C. J. Klein, dissertation, Heidelberg 2022, chapter 4 and 5.
pub const MODEL_PROBLEMS: &[ModelProblem] = &[
    ModelProblem {
        name: "aniso1",
        description: "N x N grid, nine points, strong along the rows of the grid",
        make: |n| nine_point(ANISO1, (n, n)),
    },
    ModelProblem {
        name: "aniso2",
        description: "N x N grid, nine points, strong along a diagonal",
        make: |n| nine_point(ANISO2, (n, n)),
    },
    ModelProblem {
        name: "aniso3",
        description: "N x N grid, nine points, strong along a diagonal, numbered along it",
        make: along_diagonals,
    },
    ModelProblem {
        name: "model8",
        description: "N x N grid, five points, 4 and -1, isotropic",
        make: |n| nine_point(FIVE_POINT, (n, n)),
    },
    ModelProblem {
        name: "fem7",
        description: "N x N grid, bilinear elements for u_xx + 0.001 u_yy: weakly dominant",
        make: |n| nine_point(bilinear(1.0, 1e-3), (n, n)),
    },
    ModelProblem {
        name: "laplace2d",
        description: "N x N grid, five points: the same as model8",
        make: |n| nine_point(FIVE_POINT, (n, n)),
    },
    ModelProblem {
        name: "laplace3d",
        description: "N x N x N grid, seven points, 6 and -1",
        make: |n| seven_point([1.0; 3], (n, n, n)),
    },
];

/// −(c₀·∂ₓₓ + c₁·∂ᵧᵧ + c₂·∂_zz) by second differences of spacing 1.
///
/// # Panics
/// As [`nine_point`].
pub fn seven_point([x, y, z]: [f64; 3], grid: (usize, usize, usize)) -> Csr<'static, f64, u32> {
    let mut stencil = [[[0.0; 3]; 3]; 3];
    stencil[1][1] = [-x, 2.0 * (x + y + z), -x];
    (stencil[1][0][1], stencil[1][2][1]) = (-y, -y);
    (stencil[0][1][1], stencil[2][1][1]) = (-z, -z);
    twenty_seven_point(stencil, grid)
}

/// −(a·∂ₓₓ + b·∂ᵧᵧ) by bilinear elements on squares.
fn bilinear(a: f64, b: f64) -> [[f64; 3]; 3] {
    let (stiffness, mass) = ([-1.0, 2.0, -1.0], [1.0, 4.0, 1.0].map(|v| v / 6.0));
    core::array::from_fn(|y| core::array::from_fn(|x| a * (mass[y] * stiffness[x]) + b * (stiffness[y] * mass[x])))
}

/// ANISO2 with its unknowns numbered along the strong diagonals, one after the other.
fn along_diagonals(n: usize) -> Csr<'static, f64, u32> {
    let a = nine_point(MIRRORED, (n, n));
    let mut order: Vec<usize> = (0..n * n).collect();
    order.sort_by_key(|v| (v % n + v / n, v % n));
    let mut places = vec![0; n * n];
    order.iter().enumerate().for_each(|(place, v)| places[*v] = place as u32);
    make_rows((n * n, n * n), a.entries(), &|rows, made| {
        for place in rows {
            let mut row: Vec<(u32, f64)> = a.row(order[place]).map(|(j, value)| (places[j], value)).collect();
            row.sort_unstable_by_key(|(j, _)| *j);
            made.columns.extend(row.iter().map(|(j, _)| *j));
            made.values.extend(row.iter().map(|(_, value)| *value));
            made.lengths.push(row.len() as u32);
        }
        Ok(())
    })
    .expect(MEMORY)
}
