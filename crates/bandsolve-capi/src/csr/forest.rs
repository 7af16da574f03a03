//! Factors of the graph of a matrix, linear forests, and their tridiagonal systems.

use super::{bandsolve_csr_t, csr_of, destroy, named, opened, with_rows};
use crate::memory::{RawArray, apart, elements, room, size};
use crate::status::{CallFailure, CallResult};
use bandsolve::Scalar;
use bandsolve_sparse::{Forest, Graph, GraphFactor, GraphFactorOptions, PreconditionerOptions};

/// Options for factors of graphs, linear forests, and preconditioners that need them.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct bandsolve_forest_options_t {
    /// Set it to `sizeof(bandsolve_forest_options_t)` first, also before `bandsolveForestDefaults`.
    pub size: usize,
    /// Maximum number of edges at a vertex: 1 to 4; 1 or 2 for a forest. Default 2.
    pub degree: i64,
    /// Maximum number of rounds of proposals. Default 5.
    pub rounds: i64,
    /// In every `period`-th round a vertex proposes to all vertices, in other rounds only to vertices of the other charge. Default 5.
    pub period: i64,
    /// The first round without charges, less than `period`. Default 0.
    pub uncharged: i64,
    /// Seed of the random charges. Default 0.
    pub seed: u64,
    /// For preconditioners whose forests may share edges: the factor for the weights of a forest before the search for the next
    /// forest. 0 to 1. Default 0.01.
    pub omega: f64,
}

/// Sizes and coverage of a factor of a graph, or of a linear forest.
#[repr(C)]
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct bandsolve_forest_info_t {
    /// Set it to `sizeof(bandsolve_forest_info_t)` before the call. Later versions of the library add fields at the end, and
    /// write at most `size` bytes.
    pub size: usize,
    /// Number of vertices: the rows of the matrix.
    pub n: i64,
    /// Number of paths, including paths of one vertex. 0 for a factor.
    pub paths: i64,
    /// Number of cycles that were broken. 0 for a factor.
    pub cycles: i64,
    /// Number of rounds of proposals.
    pub rounds: i64,
    /// Coverage: the weight of the chosen edges divided by the weight of all edges of the graph.
    pub coverage: f64,
    /// 1 if the last round showed that no edge can be added, else 0.
    pub maximal: i32,
}

/// A linear forest.
pub struct bandsolve_forest {
    forest: Forest,
    info: bandsolve_forest_info_t,
}

/// A forest that `bandsolve<t>csr_forest` made.
pub type bandsolve_forest_t = *mut bandsolve_forest;

/// Write the default options.
///
/// # Safety
/// `out` is null, or points to a structure whose first field is its size.
pub(crate) unsafe fn forest_defaults(out: *mut bandsolve_forest_options_t) -> CallResult {
    // SAFETY: the caller's promise.
    let size = unsafe { room("options", out)? };
    let PreconditionerOptions { omega, factors, .. } = PreconditionerOptions::default();
    let GraphFactorOptions { degree, rounds, period, uncharged, seed, .. } = factors;
    let [degree, rounds, period, uncharged] = [degree, rounds, period, uncharged].map(|value| value as i64);
    // SAFETY: the size was checked above.
    unsafe { out.write(bandsolve_forest_options_t { size, degree, rounds, period, uncharged, seed, omega }) };
    Ok(())
}

/// Get the options of the caller, or the defaults if the pointer is null.
///
/// # Safety
/// `options` is null, or points to a structure whose first field is its size.
pub(super) unsafe fn options(options: *const bandsolve_forest_options_t) -> CallResult<PreconditionerOptions> {
    let mut chosen = PreconditionerOptions::default();
    if options.is_null() {
        return Ok(chosen);
    }
    // SAFETY: the caller's promise; all bytes are valid numbers.
    let given = unsafe {
        room("options", options)?;
        *options
    };
    chosen.omega = given.omega;
    chosen.factors.degree = size("options->degree", given.degree)?;
    chosen.factors.rounds = size("options->rounds", given.rounds)?;
    chosen.factors.period = size("options->period", given.period)?;
    chosen.factors.uncharged = size("options->uncharged", given.uncharged)?;
    chosen.factors.seed = given.seed;
    if !(0.0..=1.0).contains(&chosen.omega) {
        return Err(CallFailure::argument(format!("options->omega is {}, expected 0 to 1", chosen.omega)));
    }
    Ok(chosen)
}

/// Get the information about a factor with this coverage.
fn factor_info(factor: &GraphFactor, coverage: f64) -> bandsolve_forest_info_t {
    bandsolve_forest_info_t {
        size: size_of::<bandsolve_forest_info_t>(),
        n: factor.vertices() as i64,
        paths: 0,
        cycles: 0,
        rounds: factor.rounds() as i64,
        coverage,
        maximal: i32::from(factor.is_maximal()),
    }
}

/// Write the information, unless `out` is null.
///
/// # Safety
/// `out` is null, or points to a structure whose first field is its size.
unsafe fn tell(info: bandsolve_forest_info_t, out: *mut bandsolve_forest_info_t) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe {
        let size = room("info", out)?;
        out.write(bandsolve_forest_info_t { size, ..info });
    }
    Ok(())
}

/// Compute a [0, n]-factor of the graph of a matrix (`csr_factor`). `partners` has `degree` numbers for each vertex, with −1 after the last partner.
///
/// # Safety
/// `matrix` is null, or is not destroyed during the call; pointers that are not null point to arrays of the given sizes. Written arrays belong
/// to this call alone.
pub(crate) unsafe fn factor<T: Scalar>(
    matrix: bandsolve_csr_t,
    asked: *const bandsolve_forest_options_t,
    partners: *mut i64,
    info: *mut bandsolve_forest_info_t,
) -> CallResult {
    // SAFETY: the caller's promise.
    let (csr, options) = unsafe { (csr_of::<T>(matrix)?, options(asked)?.factors) };
    let len = elements::<i64>("partners", &[csr.sizes().0, options.degree])?;
    let partners = RawArray::new("partners", partners, len)?;
    csr.apart(&[partners.place()], &[])?;
    if !info.is_null() {
        // SAFETY: the caller's promise.
        unsafe { room("info", info)? };
    }
    let graph = with_rows!(csr, rows => Graph::of(&rows.a)).map_err(named)?;
    let factor = GraphFactor::of(&graph, &options)?;
    // SAFETY: the caller's promise; overlaps no array that is read.
    let out = unsafe { partners.write() };
    for (v, row) in out.chunks_exact_mut(options.degree).enumerate() {
        row.fill(-1);
        row.iter_mut().zip(factor.partners(v)).for_each(|(partner, u)| *partner = u as i64);
    }
    if info.is_null() {
        return Ok(());
    }
    // SAFETY: as above.
    unsafe { tell(factor_info(&factor, factor.coverage(&graph)), info) }
}

/// Compute the linear forest of a matrix (`csr_forest`).
///
/// # Safety
/// As [`factor`].
pub(crate) unsafe fn forest<T: Scalar>(
    matrix: bandsolve_csr_t,
    asked: *const bandsolve_forest_options_t,
    out: *mut bandsolve_forest_t,
) -> CallResult {
    let out = RawArray::new("forest", out, 1)?;
    // SAFETY: the caller's promise.
    let (csr, options) = unsafe { (csr_of::<T>(matrix)?, options(asked)?.factors) };
    let graph = with_rows!(csr, rows => Graph::of(&rows.a)).map_err(named)?;
    let factor = GraphFactor::of(&graph, &options)?;
    let forest = Forest::heaviest(&graph, &factor)?;
    let (paths, cycles) = (forest.lengths().count() as i64, forest.cycles() as i64);
    let maximal = i32::from(factor.is_maximal() && forest.is_of(&factor));
    let info = bandsolve_forest_info_t { paths, cycles, maximal, ..factor_info(&factor, forest.coverage(&graph)) };
    // SAFETY: the pointer is not null and aligned; the rest is the caller's promise.
    unsafe { out.write()[0] = Box::into_raw(Box::new(bandsolve_forest { forest, info })) };
    Ok(())
}

/// Get the object of a handle.
///
/// # Safety
/// As [`opened`].
unsafe fn handle<'a>(forest: bandsolve_forest_t) -> CallResult<&'a bandsolve_forest> {
    // SAFETY: the caller's promise.
    unsafe { opened(forest, "forest", "csr_forest") }
}

/// Get sizes and coverage (`bandsolveForestInfo`).
///
/// # Safety
/// `forest` is null, or is not destroyed during the call; `out` is null, or points to a structure whose first field is its size.
pub(crate) unsafe fn info(forest: bandsolve_forest_t, out: *mut bandsolve_forest_info_t) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe { tell(handle(forest)?.info, out) }
}

/// Get an optional output array.
fn optional<T>(name: &'static str, start: *mut T, len: usize) -> CallResult<RawArray<T>> {
    RawArray::new(name, start, if start.is_null() { 0 } else { len })
}

/// Get the path of every vertex and its position in the path, the vertices path by path, and the lengths of the paths (`bandsolveForestArrays`).
///
/// # Safety
/// As [`info`]; pointers that are not null point to arrays of the given sizes, for this call alone.
pub(crate) unsafe fn arrays(forest: bandsolve_forest_t, arrays: [*mut i64; 4]) -> CallResult {
    // SAFETY: the caller's promise.
    let bandsolve_forest { forest, info } = unsafe { handle(forest)? };
    let [paths, positions, order, lengths] = arrays;
    let n = forest.vertices();
    let arrays = [
        optional("paths", paths, n)?,
        optional("positions", positions, n)?,
        optional("order", order, n)?,
        optional("lengths", lengths, info.paths as usize)?,
    ];
    apart(&arrays.each_ref().map(RawArray::place), &[])?;
    // SAFETY: the caller's promise; they share no byte.
    let [paths, positions, order, lengths] = unsafe { arrays.each_ref().map(|array| array.write()) };
    let position = |v: usize| forest.place(v) - forest.place(forest.path(v));
    paths.iter_mut().enumerate().for_each(|(v, path)| *path = forest.path(v) as i64);
    positions.iter_mut().enumerate().for_each(|(v, out)| *out = position(v) as i64);
    order.iter_mut().zip(forest.order()).for_each(|(out, v)| *out = v as i64);
    lengths.iter_mut().zip(forest.lengths()).for_each(|(out, length)| *out = length as i64);
    Ok(())
}

/// Get the tridiagonal system of the paths, in the order of the forest (`csr_tridiagonal`).
///
/// # Safety
/// As [`factor`]; `forest` is null, or is not destroyed during the call.
pub(crate) unsafe fn tridiagonal<T: Scalar>(
    matrix: bandsolve_csr_t,
    forest: bandsolve_forest_t,
    [sub, diag, sup]: [*mut T; 3],
) -> CallResult {
    // SAFETY: the caller's promise.
    let (csr, forest) = unsafe { (csr_of::<T>(matrix)?, &handle(forest)?.forest) };
    let n = elements::<T>("diag", &[forest.vertices()])?;
    let out = [RawArray::new("sub", sub, n)?, RawArray::new("diag", diag, n)?, RawArray::new("sup", sup, n)?];
    csr.apart(&out.each_ref().map(RawArray::place), &[])?;
    let diagonals = with_rows!(csr, rows => forest.tridiagonal(&rows.a))?;
    for (out, diagonal) in out.iter().zip(diagonals.arrays()) {
        // SAFETY: the caller's promise; overlaps no other array.
        unsafe { out.write() }.copy_from_slice(diagonal);
    }
    Ok(())
}

/// Free a forest (`bandsolveForestDestroy`).
///
/// # Safety
/// As [`destroy`].
pub(crate) unsafe fn destroy_forest(forest: bandsolve_forest_t) -> CallResult {
    // SAFETY: the caller's promise.
    unsafe { destroy(forest) }
}
