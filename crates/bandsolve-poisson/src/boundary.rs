//! What is given at the sides of the box, and where the unknowns stand.

/// What is given at a side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BoundaryKind {
    /// The value of u.
    Dirichlet,
    /// The derivative of u along the outward normal.
    Neumann,
    /// Nothing: the other side follows.
    Periodic,
}

impl BoundaryKind {
    /// Every kind.
    pub const ALL: [BoundaryKind; 3] = [BoundaryKind::Dirichlet, BoundaryKind::Neumann, BoundaryKind::Periodic];

    /// `"dirichlet"`, `"neumann"`, `"periodic"`.
    pub fn name(self) -> &'static str {
        match self {
            BoundaryKind::Dirichlet => "dirichlet",
            BoundaryKind::Neumann => "neumann",
            BoundaryKind::Periodic => "periodic",
        }
    }

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// The kind of a side, and the value there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Boundary {
    /// What is given.
    pub kind: BoundaryKind,
    /// It, the same all over the side.
    pub value: f64,
}

impl Boundary {
    /// u = value
    pub fn dirichlet(value: f64) -> Self {
        Self { kind: BoundaryKind::Dirichlet, value }
    }

    /// ∂u/∂n = value, n being the outward normal.
    pub fn neumann(value: f64) -> Self {
        Self { kind: BoundaryKind::Neumann, value }
    }

    /// u goes on at the other side. Both sides of an axis are periodic, or neither.
    pub fn periodic() -> Self {
        Self { kind: BoundaryKind::Periodic, value: 0.0 }
    }
}

impl From<BoundaryKind> for Boundary {
    fn from(kind: BoundaryKind) -> Self {
        Self { kind, value: 0.0 }
    }
}

/// Where the unknowns of an axis stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Grid {
    /// At nodes. A Dirichlet side is one spacing beyond the last unknown; a Neumann side is where the last unknown is, whose volume is
    /// half a spacing. A period is n spacings.
    #[default]
    Node,
    /// In the middle of cells. Sides are half a spacing beyond the last unknown.
    Cell,
}

impl Grid {
    /// `"node"`, `"cell"`.
    pub fn name(self) -> &'static str {
        match self {
            Grid::Node => "node",
            Grid::Cell => "cell",
        }
    }
}

/// One of the two ends of an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Side {
    /// Where the index is 0.
    Low,
    /// Where the index is n − 1.
    High,
}
