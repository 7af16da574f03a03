//! `bandsolve generate`: write a matrix of a known family as a Matrix Market file.

use crate::args::GenerateArgs;
use bandsolve_gallery::families::families;
use bandsolve_gallery::radiative::RadiativeSlab;
use bandsolve_program::exit::Failure;
use bandsolve_program::io::output;
use bandsolve_program::memory::affordable;
use bandsolve_program::names::suggesting;
use bandsolve_program::{progress, report};
use bandsolve_sparse::MODEL_PROBLEMS;
use std::io::{self, Write};
use std::path::Path;

/// List the families, or write one matrix.
///
/// # Errors
/// [`Failure::Usage`] for an unknown family, [`Failure::Other`] if the file cannot be written.
pub fn run(args: &GenerateArgs) -> Result<(), Failure> {
    let narrow = families().iter().map(|f| (f.name, f.description));
    let grids = MODEL_PROBLEMS.iter().map(|f| (f.name, f.description));
    let (Some(name), Some(n)) = (&args.family, args.n) else {
        let lines: Vec<_> =
            narrow.chain(grids).chain([RADIATIVE]).map(|(name, description)| (name, description.to_string())).collect();
        return report::print(&report::columns(&lines));
    };
    let Some((_, description)) =
        narrow.clone().chain(grids.clone()).chain([RADIATIVE]).find(|(known, _)| known == name)
    else {
        let known: Vec<_> = narrow.chain(grids).chain([RADIATIVE]).map(|(name, _)| name).collect();
        let why = format!("unknown family `{name}`. Choose one of: {}", known.join(", "));
        return Err(Failure::Usage(suggesting(name, why)));
    };
    let path = args.out.as_deref().unwrap_or(Path::new("-"));
    if path.extension().is_some_and(|ending| ["gz", "npy", "npz"].iter().any(|other| ending == *other)) {
        return Err(Failure::Usage(format!(
            "--out {}: the command writes plain .mtx files. Choose a name that ends in .mtx",
            path.display()
        )));
    }
    let description = description.replace('\n', " ");
    if name == RADIATIVE.0 {
        return radiative(path, &description, (n, args.block));
    }
    if args.block.is_some() {
        return Err(Failure::Usage(format!("{name} has no blocks. Pass a second number only with {}", RADIATIVE.0)));
    }
    if let Some(problem) = MODEL_PROBLEMS.iter().find(|problem| problem.name == name) {
        let unknowns = u128::from(n).pow(if name.ends_with("3d") { 3 } else { 2 });
        if unknowns > u128::from(u32::MAX / 27) {
            return Err(Failure::Usage(format!(
                "{name} {n}: {unknowns} unknowns are too many, more than {}. Pass a smaller N",
                u32::MAX / 27
            )));
        }
        // At most 9 or 27 entries per row, 40 bytes each: the list of entries, and the matrix by rows.
        affordable(&[unknowns as usize, if name.ends_with("3d") { 27 } else { 9 }], 40)
            .map_err(|why| Failure::Usage(format!("{name} {n}: {unknowns} unknowns are too many: {why}")))?;
        let a = (problem.make)(n as usize);
        let comment = format!("{description}: bandsolve generate {name} {n}");
        let each = |f: &mut dyn FnMut(usize, usize, f64)| {
            (0..a.rows()).for_each(|i| a.row(i).for_each(|(j, value)| f(i, j, value)));
        };
        return output::write(path, |out| write(out, (path, a.rows()), &comment, &each));
    }
    let family = families().iter().find(|f| f.name == name).expect("found before");
    // The diagonals and the temporary arrays that they are computed from.
    affordable(&[n as usize, 8], size_of::<f64>())
        .map_err(|why| Failure::Usage(format!("{name} {n}: {n} unknowns are too many: {why}")))?;
    let system = family.generate(n as usize, args.seed);
    let comment = format!("{description}: bandsolve generate {name} {n} --seed {}", args.seed);
    let each = |f: &mut dyn FnMut(usize, usize, f64)| system.for_each(f);
    output::write(path, |out| write(out, (path, n as usize), &comment, &each))
}

/// The radiative transfer operator: name and description.
const RADIATIVE: (&str, &str) =
    ("radiative", "radiative transfer in a slab, N blocks of K rows: symmetric, block tridiagonal");

/// Write the radiative transfer operator with L blocks of K rows.
fn radiative(path: &Path, description: &str, (blocks, block): (u32, Option<u32>)) -> Result<(), Failure> {
    let Some(block) = block.filter(|block| *block > 0) else {
        return Err(Failure::Usage(
            "radiative N K: the number of rows K of a block is missing. Pass it after the number of blocks N".into(),
        ));
    };
    if blocks < 2 {
        return Err(Failure::Usage(format!("radiative {blocks} {block}: the matrix needs at least 2 blocks")));
    }
    let (l, k) = (u64::from(blocks), u64::from(block));
    let entries = (3 * l - 2).checked_mul(k * k).filter(|entries| *entries <= u64::from(u32::MAX));
    if entries.is_none() || l * k > u64::from(u32::MAX) {
        return Err(Failure::Usage(format!(
            "radiative {blocks} {block}: the matrix has too many entries, more than 4294967295. Pass smaller numbers"
        )));
    }
    let slab = RadiativeSlab::new(blocks as usize, block as usize);
    let comment = format!("{description}: bandsolve generate radiative {blocks} {block}");
    let each = |f: &mut dyn FnMut(usize, usize, f64)| slab.for_each(f);
    output::write(path, |out| write(out, (path, slab.n()), &comment, &each))
}

/// A function that calls its argument with every entry.
type EachEntry<'a> = &'a dyn Fn(&mut dyn FnMut(usize, usize, f64));

/// Write all non-zero entries, each with the fewest digits that read back as the same number.
fn write(out: &mut dyn Write, (path, n): (&Path, usize), comment: &str, each: EachEntry<'_>) -> io::Result<()> {
    let mut entries = 0_usize;
    each(&mut |_, _, value| entries += usize::from(value != 0.0));
    writeln!(out, "%%MatrixMarket matrix coordinate real general\n% {comment}\n{n} {n} {entries}")?;
    let mut result = Ok(());
    let (bar, mut written) = (progress::writing(path, entries as u64), 0_u64);
    each(&mut |i, j, value| {
        if value != 0.0 && result.is_ok() {
            written += 1;
            if written.is_multiple_of(1 << 12) {
                bar.set_position(written);
            }
            result = write!(out, "{} {} ", i + 1, j + 1).and_then(|()| output::write_number(out, value));
        }
    });
    result
}
