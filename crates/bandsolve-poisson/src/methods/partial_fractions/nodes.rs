//! Nodes and their partial fractions, as the methods describe them.

/// One partial fraction of a node.
#[derive(Debug, Clone)]
pub(crate) struct FractionRoot {
    /// In one class, coefficients and weights are equal or opposite at the same indices for all roots.
    pub class: usize,
    /// λⱼ
    pub root: f64,
    /// One coefficient per input of the piece.
    pub coefficients: Vec<f64>,
    /// One weight per target of the group.
    pub weights: Vec<f64>,
}

/// Partial fractions with the same inputs.
#[derive(Debug, Clone)]
pub(crate) struct FractionPiece {
    /// Input block rows, relative to the base of the node.
    pub ins: Vec<isize>,
    pub roots: Vec<FractionRoot>,
}

/// Nodes with the same partial fractions. Their bases are `stride` block rows apart.
#[derive(Debug, Clone)]
pub(crate) struct NodeGroup {
    pub base: usize,
    pub stride: usize,
    pub count: usize,
    pub pieces: Vec<FractionPiece>,
    /// Output block rows, relative to the base of the node.
    pub targets: Vec<isize>,
    /// Whether outputs are added to their targets. Otherwise, they replace the targets.
    pub keep: bool,
}
