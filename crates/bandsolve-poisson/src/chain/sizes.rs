//! How many tridiagonal systems are solved at the same time.

/// Number of systems in a group. The ρ of a group and a row are contiguous.
pub(crate) const GROUP: usize = 16;
/// Maximum number of systems that are solved together.
pub(crate) const BLOCK: usize = 128;

/// The number of systems with this many rows that are solved together.
///
/// Their numbers stay in the second-level cache between the two sweeps, and each row fills a few cache lines.
pub(crate) fn block_of<T>(rows: usize) -> usize {
    const CACHE: usize = 1 << 18;
    (CACHE / (rows.max(1) * size_of::<T>()) / GROUP * GROUP).clamp(2 * GROUP, BLOCK)
}
