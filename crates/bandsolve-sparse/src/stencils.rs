//! Matrices of stencils on grids, and the model problems on which preconditioners are compared.

use crate::csr::Csr;
use crate::row_builder::make_rows;

/// The message of the panic if the memory does not suffice.
const MEMORY: &str = "memory for a model problem";

/// The matrix of a nine-point stencil on a grid of `nx` × `ny` unknowns.
///
/// The unknowns are numbered row by row. `stencil[dy + 1][dx + 1]` is the entry that couples unknown (x, y) with (x + dx, y + dy). The function
/// omits zeros, and couplings that leave the grid.
///
/// # Examples
/// ```
/// use bandsolve_sparse::nine_point;
/// let a = nine_point([[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]], (2, 2));
/// assert_eq!(a.row(3).collect::<Vec<_>>(), [(1, -1.0), (2, -1.0), (3, 4.0)]);
/// ```
///
/// # Panics
/// If the grid has (2³² − 1)/27 unknowns or more, or the memory does not suffice.
pub fn nine_point(stencil: [[f64; 3]; 3], (nx, ny): (usize, usize)) -> Csr<'static, f64, u32> {
    let mut all = [[[0.0; 3]; 3]; 3];
    all[1] = stencil;
    twenty_seven_point(all, (nx, ny, 1))
}

/// The matrix of a 27-point stencil on a grid of `nx` × `ny` × `nz` unknowns.
///
/// The unknowns are numbered along x first, then y, then z. `stencil[dz + 1][dy + 1][dx + 1]` is the entry that couples unknown (x, y, z) with
/// (x + dx, y + dy, z + dz). The function omits zeros, and couplings that leave the grid.
///
/// # Examples
/// ```
/// use bandsolve_sparse::twenty_seven_point;
/// let mut stencil = [[[-1.0; 3]; 3]; 3];
/// stencil[1][1][1] = 26.0;
/// let a = twenty_seven_point(stencil, (3, 3, 3));
/// // The unknown in the middle has 26 neighbors, the one in a corner has 7.
/// assert_eq!(a.row(13).count(), 27);
/// assert_eq!(a.row(0).count(), 8);
/// ```
///
/// # Panics
/// As [`nine_point`].
pub fn twenty_seven_point(stencil: [[[f64; 3]; 3]; 3], (nx, ny, nz): (usize, usize, usize)) -> Csr<'static, f64, u32> {
    let n = nx * ny * nz;
    assert!(
        n < u32::MAX as usize / 27,
        "the grid has {n} unknowns, but at most {} are possible. Use a smaller grid.",
        u32::MAX / 27 - 1
    );
    let places = (0..27).map(|k| [k / 9, k / 3 % 3, k % 3]);
    let entries: Vec<_> = places.map(|[z, y, x]| ([z, y, x], stencil[z][y][x])).filter(|(_, v)| *v != 0.0).collect();
    make_rows((n, n), n * entries.len(), &|rows, built| {
        for i in rows {
            let at = [i / (nx * ny), i / nx % ny, i % nx];
            let mut length = 0;
            for (d, value) in &entries {
                let to: [usize; 3] = core::array::from_fn(|k| (at[k] + d[k]).wrapping_sub(1));
                if to[0] < nz && to[1] < ny && to[2] < nx {
                    built.columns.push(((to[0] * ny + to[1]) * nx + to[2]) as u32);
                    built.values.push(*value);
                    length += 1;
                }
            }
            built.lengths.push(length);
        }
        Ok(())
    })
    .expect(MEMORY)
}

/// A matrix with known properties, on a grid of any size.
///
/// # Examples
/// ```
/// use bandsolve_sparse::MODEL_PROBLEMS;
/// let problem = MODEL_PROBLEMS.iter().find(|problem| problem.name == "laplace3d").expect("a name");
/// let a = (problem.make)(4);
/// assert_eq!(a.rows(), 4 * 4 * 4);
/// ```
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ModelProblem {
    /// The name, such as `aniso1`.
    pub name: &'static str,
    /// The grid, the stencil and the strong direction, in words.
    pub description: &'static str,
    /// Makes the matrix. The argument is the number of unknowns along each side of the grid.
    pub make: fn(usize) -> Csr<'static, f64, u32>,
}

/// Strong couplings along the rows of the grid, weak ones along its diagonals.
const ANISO1: [[f64; 3]; 3] = [[-0.2, -0.1, -0.2], [-1.0, 3.0, -1.0], [-0.2, -0.1, -0.2]];
/// Strong couplings along one diagonal of the grid.
const ANISO2: [[f64; 3]; 3] = [[-1.0, -0.2, -0.1], [-0.2, 3.0, -0.2], [-0.1, -0.2, -1.0]];
/// Strong couplings along the other diagonal of the grid.
const MIRRORED: [[f64; 3]; 3] = [[-0.1, -0.2, -1.0], [-0.2, 3.0, -0.2], [-1.0, -0.2, -0.1]];
const FIVE_POINT: [[f64; 3]; 3] = [[0.0, -1.0, 0.0], [-1.0, 4.0, -1.0], [0.0, -1.0, 0.0]];

/// The model problems on which this crate compares preconditioners.
///
/// # Examples
/// ```
/// use bandsolve_sparse::MODEL_PROBLEMS;
/// let names: Vec<_> = MODEL_PROBLEMS.iter().map(|problem| problem.name).collect();
/// assert!(names.contains(&"aniso1") && names.contains(&"laplace2d"));
/// ```
///
/// # Source
/// `aniso1` to `fem7`: C. J. Klein, dissertation, Heidelberg 2022, chapters 4 and 5.
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

/// The seven-point matrix of −(c₀·∂²/∂x² + c₁·∂²/∂y² + c₂·∂²/∂z²), by second differences with spacing 1.
///
/// Values outside the grid are zero (Dirichlet boundary conditions). The unknowns are numbered along x first, then y, then z.
///
/// # Examples
/// ```
/// use bandsolve_sparse::seven_point;
/// let a = seven_point([1.0, 1.0, 0.5], (2, 1, 2));
/// assert_eq!(a.row(0).collect::<Vec<_>>(), [(0, 5.0), (1, -1.0), (2, -0.5)]);
/// ```
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

/// The stencil of −(a·∂²/∂x² + b·∂²/∂y²) by bilinear finite elements on squares.
fn bilinear(a: f64, b: f64) -> [[f64; 3]; 3] {
    let (stiffness, mass) = ([-1.0, 2.0, -1.0], [1.0, 4.0, 1.0].map(|v| v / 6.0));
    core::array::from_fn(|y| core::array::from_fn(|x| a * (mass[y] * stiffness[x]) + b * (stiffness[y] * mass[x])))
}

/// ANISO2 with the unknowns numbered along the strong diagonals of the grid.
fn along_diagonals(n: usize) -> Csr<'static, f64, u32> {
    let a = nine_point(MIRRORED, (n, n));
    let mut order: Vec<usize> = (0..n * n).collect();
    order.sort_by_key(|v| (v % n + v / n, v % n));
    let mut places = vec![0; n * n];
    order.iter().enumerate().for_each(|(place, v)| places[*v] = place as u32);
    make_rows((n * n, n * n), a.entries(), &|rows, built| {
        for place in rows {
            let mut row: Vec<(u32, f64)> = a.row(order[place]).map(|(j, value)| (places[j], value)).collect();
            row.sort_unstable_by_key(|(j, _)| *j);
            built.columns.extend(row.iter().map(|(j, _)| *j));
            built.values.extend(row.iter().map(|(_, value)| *value));
            built.lengths.push(row.len() as u32);
        }
        Ok(())
    })
    .expect(MEMORY)
}
