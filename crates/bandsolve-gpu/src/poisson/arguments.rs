//! The arguments of the kernels for Poisson problems (`box.cuh`, `transform.cuh`, `sweep.cuh`).

/// Maximum number of factors of the length of a complex transform.
pub const MOST_FACTORS: usize = 16;

/// scale·(f + boundary terms)
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct BoxRhs<T> {
    pub f: u64,
    pub shape: [u32; 3],
    /// Whether the right-hand side is f.
    pub plain: u32,
    pub scale: T,
    pub constants: [[T; 2]; 3],
    pub arrays: [[u64; 2]; 3],
}

/// An axis of the matrix.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct BoxAxis {
    /// lower, upper and gap in the number type of the problem.
    pub coefficients: [u64; 3],
    pub couplings: u64,
    /// The volumes divided by their sum, or 0.
    pub weights: u64,
    pub n: u32,
    pub periodic: u32,
}

/// A pass that computes residuals.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct BoxResidual<T> {
    pub rhs: BoxRhs<T>,
    pub axes: [BoxAxis; 3],
    pub shift: f64,
    pub removed: u64,
    /// The largest |uᵢ|, to compute the backward error; otherwise 0.
    pub largest: f64,
    pub u: u64,
    pub rest: u64,
    pub measures: u64,
    pub n: u32,
    pub piece: u32,
}

/// The transform of the lines along an axis.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct LineArguments {
    pub n: u32,
    pub points: u32,
    pub steps: u32,
    pub extended: u32,
    pub radix: [u32; MOST_FACTORS],
    pub roots: u64,
    /// Factors and places of each step with sums.
    pub sums: [[u64; 2]; 4],
    /// The matrices of the transform and of its inverse, or 0.
    pub matrices: [u64; 2],
}

/// The eigenvalues by which coefficients are divided.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SymbolArguments {
    pub along: u64,
    pub others: [u64; 2],
    pub count: u32,
    pub shift: f64,
    pub removed: u64,
    pub of_ones: f64,
    pub mean: f64,
    pub add: u32,
}

/// A pass that transforms all lines along an axis.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct TransformPass<T> {
    pub axis: LineArguments,
    pub from: BoxRhs<T>,
    pub to: u64,
    pub add: u32,
    pub lines: u32,
    pub stride: u32,
    pub tile: u32,
    pub kind: u32,
    pub symbols: SymbolArguments,
}

/// The factors of the tridiagonal systems along an axis.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SweepFactorArguments {
    /// lower, upper and gap in double precision.
    pub coefficients: [u64; 3],
    pub factors: u64,
    pub n: u32,
    pub lines: u32,
    pub stride: u32,
    pub symbols: SymbolArguments,
}

/// A pass that solves the tridiagonal systems along an axis.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
pub struct SweepPass<T> {
    pub from: BoxRhs<T>,
    pub work: u64,
    pub to: u64,
    pub factors: u64,
    /// Quotients of couplings, and reciprocals of couplings.
    pub rows: [u64; 2],
    pub weights: u64,
    pub add: u32,
    pub n: u32,
    pub lines: u32,
    pub stride: u32,
    pub symbols: SymbolArguments,
}
