//! Boundary conditions at the sides of the box, and the positions of the unknowns.

/// The kind of boundary condition at one side of the box.
///
/// A kind converts into a [`Boundary`] with the value 0.
///
/// # Examples
/// ```
/// use bandsolve_poisson::{BoundaryKind, Poisson};
/// assert_eq!(BoundaryKind::from_name("neumann"), Some(BoundaryKind::Neumann));
/// // Periodic along axis 0; u = 0 at both sides of axis 1.
/// let problem = Poisson::new(&[8, 8]).axis_boundary(0, BoundaryKind::Periodic, BoundaryKind::Periodic);
/// assert_eq!(problem.plan::<f64>()?.shape(), [8, 8]);
/// // u + 2 ∂u/∂n = 0 at both sides of both axes.
/// let problem = Poisson::new(&[8, 8]).boundary(BoundaryKind::Robin { alpha: 1.0, beta: 2.0 });
/// assert!(problem.plan::<f64>()?.rcond() > 0.0);
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum BoundaryKind {
    /// The value of u is given.
    Dirichlet,
    /// The derivative ∂u/∂n of u along the outward normal is given.
    Neumann,
    /// The sum α·u + β·∂u/∂n is given.
    ///
    /// β must not be 0. With α = 0, the side is a Neumann side. If α/β is negative, −Δ can have negative eigenvalues, or be singular.
    Robin {
        /// The factor α of u.
        alpha: f64,
        /// The factor β of the derivative ∂u/∂n of u along the outward normal.
        beta: f64,
    },
    /// The two sides of the axis are connected. No value is given.
    Periodic,
}

impl BoundaryKind {
    /// All kinds without coefficients: all except [`Robin`](Self::Robin).
    pub const ALL: [BoundaryKind; 3] = [BoundaryKind::Dirichlet, BoundaryKind::Neumann, BoundaryKind::Periodic];

    /// The name of this kind: `"dirichlet"`, `"neumann"`, `"robin"` or `"periodic"`.
    pub fn name(self) -> &'static str {
        match self {
            BoundaryKind::Dirichlet => "dirichlet",
            BoundaryKind::Neumann => "neumann",
            BoundaryKind::Robin { .. } => "robin",
            BoundaryKind::Periodic => "periodic",
        }
    }

    /// The kind without coefficients with this name; `None` if the name is unknown, and for `"robin"`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A boundary condition at one side: its kind and its value.
///
/// The value is the same at all points of the side. For a value that varies, use
/// [`Poisson::boundary_values`](crate::Poisson::boundary_values).
///
/// # Examples
/// ```
/// use bandsolve_poisson::{Boundary, Poisson};
/// // −u″ = 0 with u = 1 at the low side and u = 3 at the high side: a straight line.
/// let problem = Poisson::new(&[3]).axis_boundary(0, Boundary::dirichlet(1.0), Boundary::dirichlet(3.0));
/// let u = problem.plan::<f64>()?.solve(&[0.0; 3])?.values;
/// assert!(u.iter().zip([1.5, 2.0, 2.5]).all(|(u, exact)| (u - exact).abs() < 1e-12));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boundary {
    /// The kind of the condition.
    pub kind: BoundaryKind,
    /// u at a Dirichlet side, ∂u/∂n at a Neumann side, or α·u + β·∂u/∂n at a Robin side. Periodic sides ignore the value.
    pub value: f64,
}

impl Boundary {
    /// The condition u = `value`.
    pub fn dirichlet(value: f64) -> Self {
        Self { kind: BoundaryKind::Dirichlet, value }
    }

    /// The condition ∂u/∂n = `value`, where n is the outward normal.
    pub fn neumann(value: f64) -> Self {
        Self { kind: BoundaryKind::Neumann, value }
    }

    /// The condition `alpha`·u + `beta`·∂u/∂n = `value`, where n is the outward normal. `beta` must not be 0.
    ///
    /// # Examples
    /// ```
    /// use bandsolve_poisson::{Boundary, Poisson};
    /// // −u″ = 0 with u = 1 at x = 0 and u + ∂u/∂n = 4 at x = 1: u = 1 + 1.5 x.
    /// let problem = Poisson::new(&[4]).spacing(0.25);
    /// let problem = problem.axis_boundary(0, Boundary::dirichlet(1.0), Boundary::robin(1.0, 1.0, 4.0));
    /// let u = problem.plan::<f64>()?.solve(&[0.0; 4])?.values;
    /// assert!(u.iter().zip([1.375, 1.75, 2.125, 2.5]).all(|(u, exact)| (u - exact).abs() < 1e-12));
    /// # Ok::<(), bandsolve::Error>(())
    /// ```
    pub fn robin(alpha: f64, beta: f64, value: f64) -> Self {
        Self { kind: BoundaryKind::Robin { alpha, beta }, value }
    }

    /// The periodic condition. Use it at both sides of an axis.
    pub fn periodic() -> Self {
        Self { kind: BoundaryKind::Periodic, value: 0.0 }
    }
}

impl From<BoundaryKind> for Boundary {
    fn from(kind: BoundaryKind) -> Self {
        Self { kind, value: 0.0 }
    }
}

/// The positions of the unknowns along an axis: nodes or centers of cells.
///
/// # Examples
/// ```
/// use bandsolve_poisson::{Boundary, Grid, Poisson};
/// // −u″ = 2 on (0, 1), u = 0 at both ends, 4 cells of width 1/4 with centers x = 1/8, 3/8, 5/8, 7/8.
/// let problem = Poisson::new(&[4]).grid(Grid::Cell).spacing(0.25).boundary(Boundary::dirichlet(0.0));
/// let u = problem.plan::<f64>()?.solve(&[2.0; 4])?.values;
/// assert!(u.iter().zip([0.125, 0.25, 0.25, 0.125]).all(|(u, expected)| (u - expected).abs() < 1e-12));
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Grid {
    /// Unknowns at nodes. A Dirichlet side is one spacing beyond the last unknown. A Neumann or Robin side is at the last unknown, and the
    /// volume of this unknown is half a spacing. A period is n spacings.
    #[default]
    Node,
    /// Unknowns in the centers of cells. Sides are half a spacing beyond the last unknown.
    Cell,
}

impl Grid {
    /// The name of this grid: `"node"` or `"cell"`.
    pub fn name(self) -> &'static str {
        match self {
            Grid::Node => "node",
            Grid::Cell => "cell",
        }
    }
}

/// One of the two sides of the box along an axis.
///
/// # Examples
/// ```
/// use bandsolve_poisson::{Poisson, Side};
/// // u = 0, 1, 2 along the low side of axis 0, and u = 0 at all other sides.
/// let problem = Poisson::new(&[5, 3]).boundary_values(0, Side::Low, &[0.0, 1.0, 2.0]);
/// let u = problem.plan::<f64>()?.solve(&[0.0; 15])?.values;
/// assert!(u.iter().all(|u| 0.0 < *u && *u < 2.0)); // the maximum principle
/// # Ok::<(), bandsolve::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// The side next to index 0.
    Low,
    /// The side next to index n − 1.
    High,
}
