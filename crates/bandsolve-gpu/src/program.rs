//! The source of the kernels, and its compilation by NVRTC, with a cache on disk.

use bandsolve::{Error, Result, Tuning, host};
use core::hash::{Hash, Hasher};
use cudarc::nvrtc::{result, sys as nvrtc};
use std::collections::hash_map::DefaultHasher;
use std::ffi::CString;
use std::path::PathBuf;

/// Maximum bytes of a cached file. The code of a family of kernels is much shorter.
const LONGEST: u64 = 1 << 26;

/// The kernels and their headers, in the order of their dependencies.
const SOURCES: [&str; 25] = [
    include_str!("../kernels/port.cuh"),
    include_str!("../kernels/element.cuh"),
    include_str!("../kernels/panel.cuh"),
    include_str!("../kernels/system.cuh"),
    include_str!("../kernels/rpts.cuh"),
    include_str!("../kernels/batch.cuh"),
    include_str!("../kernels/card.cuh"),
    include_str!("../kernels/cr.cuh"),
    include_str!("../kernels/factored.cuh"),
    include_str!("../kernels/scan.cuh"),
    include_str!("../kernels/sparse.cuh"),
    include_str!("../kernels/residual.cuh"),
    include_str!("../kernels/product.cuh"),
    include_str!("../kernels/row_reductions.cuh"),
    include_str!("../kernels/vectors.cuh"),
    include_str!("../kernels/graph.cuh"),
    include_str!("../kernels/graph_factor.cuh"),
    include_str!("../kernels/forest.cuh"),
    include_str!("../kernels/diagonal.cuh"),
    include_str!("../kernels/single.cuh"),
    include_str!("../kernels/box.cuh"),
    include_str!("../kernels/transform.cuh"),
    include_str!("../kernels/sweep.cuh"),
    include_str!("../kernels/dense.cuh"),
    include_str!("../kernels/kernels.cu"),
];

/// One line for each family of kernels, which are compiled together.
pub const INSTANCES: &str = include_str!("../kernels/instances.h");

/// The kinds of families, and the names of their kernels (`kernels.cu`).
pub const FAMILIES: [(&str, &[&str]); 21] = [
    ("RPTS", &["reduce", "substitute", "finish"]),
    ("RESIDUAL", &["residual", "repair"]),
    ("CORRECT", &["correct", "summarize"]),
    ("BATCH", &["interleaved", "alone"]),
    ("FACTORED", &["factor", "reducefactored", "substitutefactored"]),
    ("SPARSE", &["check", "scatter", "prune"]),
    ("CARD", &["card"]),
    ("SCAN", &["ludown", "pairsdown", "up"]),
    ("CYCLIC", &["cyclic", "spikereduce", "spikesubstitute"]),
    ("PRODUCT", &["product", "join"]),
    ("LARGEST", &["largest"]),
    ("VECTORS", &["combine", "orthogonalize", "rotate", "gather"]),
    ("GRAPH", &["weights"]),
    ("CONFIRM", &["confirm"]),
    (
        "FOREST",
        &["links", "weakest", "farthest", "breakcycles", "pathlengths", "pathorder", "weaken", "neighbors", "composed"],
    ),
    ("DIAGONAL", &["diagonal", "productfactor"]),
    ("ROUNDED", &["exponent", "rounded", "widened"]),
    ("TRANSFORM", &["transform"]),
    ("SWEEP", &["sweepfactors", "sweep"]),
    ("BOX", &["boxresidual", "boxshift"]),
    (
        "DENSE",
        &[
            "rowsizes",
            "scaledblocks",
            "copyblocks",
            "foldblocks",
            "dropblocks",
            "checkpivots",
            "scalecolumns",
            "blockerrors",
            "blockresidual",
        ],
    ),
];

/// The line of `instances.h` that instantiates a kernel. Its name has the form `template_instance`, as in
/// `reduce_f32_1_1`.
fn instance(kernel: &str) -> Option<&'static str> {
    let (template, suffix) = kernel.split_once('_')?;
    let (family, _) = FAMILIES.iter().find(|(_, templates)| templates.contains(&template))?;
    let begins = format!("{family}({suffix},");
    INSTANCES.lines().find(|line| line.starts_with(&begins))
}

/// The source text of a kernel and its family.
fn source(kernel: &str) -> Option<String> {
    let is_code = |line: &&str| !line.starts_with("#include \"") && !line.starts_with("#pragma once");
    let text = SOURCES.iter().flat_map(|text| text.lines().filter(is_code)).chain([instance(kernel)?]);
    Some(text.flat_map(|line| [line, "\n"]).collect())
}

/// Bytes at an address that the driver accepts for a fat binary.
#[cfg(prebuilt)]
#[repr(C, align(64))]
struct AlignedImage<B: ?Sized>(B);

/// All kernels, if a compiler was named when this crate was built.
#[cfg(prebuilt)]
pub const PREBUILT: Option<&[u8]> = {
    static KERNELS: &AlignedImage<[u8]> = &AlignedImage(*include_bytes!(concat!(env!("OUT_DIR"), "/kernels.fatbin")));
    Some(&KERNELS.0)
};
/// All kernels: none, because no compiler was named when this crate was built.
#[cfg(not(prebuilt))]
pub const PREBUILT: Option<&[u8]> = None;

/// Whether NVRTC exists. Without it, calls of NVRTC would panic.
pub fn compiler_is_present() -> bool {
    // SAFETY: the call only looks for the library.
    unsafe { nvrtc::is_culib_present() }
}

/// What NVRTC compiles for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// Machine code for this compute capability: 90 for 9.0.
    Machine(i32),
    /// PTX, which the driver compiles for a GPU that is newer than NVRTC.
    Portable(i32),
}

impl Architecture {
    /// The target for a GPU of this compute capability.
    ///
    /// # Errors
    /// [`Error::NoDevice`] if NVRTC supports neither the GPU nor an older one.
    pub fn of(capability: i32) -> Result<Self> {
        let mut count = 0;
        // SAFETY: NVRTC writes one number.
        check("nvrtcGetNumSupportedArchs", unsafe { nvrtc::nvrtcGetNumSupportedArchs(&raw mut count) })?;
        let mut supported = vec![0; count as usize];
        // SAFETY: NVRTC writes `count` numbers.
        check("nvrtcGetSupportedArchs", unsafe { nvrtc::nvrtcGetSupportedArchs(supported.as_mut_ptr()) })?;
        if supported.contains(&capability) {
            return Ok(Self::Machine(capability));
        }
        let older = supported.into_iter().filter(|known| *known < capability).max();
        older.map(Self::Portable).ok_or_else(|| {
            let [major, minor] = [capability / 10, capability % 10];
            let reason = format!(
                "the installed NVRTC does not support GPUs of compute capability {major}.{minor}; install an older CUDA version"
            );
            Error::NoDevice { reason }
        })
    }

    fn option(self) -> String {
        match self {
            Self::Machine(capability) => format!("--gpu-architecture=sm_{capability}"),
            Self::Portable(capability) => format!("--gpu-architecture=compute_{capability}"),
        }
    }
}

fn check(call: &'static str, status: nvrtc::nvrtcResult) -> Result<()> {
    status.result().map_err(|error| Error::Device { call, message: format!("{:?}", error.0) })
}

/// The path of the cached code, in the directory of the file of [`Tuning`].
fn cached_at(source: &str, target: Architecture) -> Result<Option<PathBuf>> {
    let [mut major, mut minor] = [0; 2];
    // SAFETY: NVRTC writes two numbers.
    check("nvrtcVersion", unsafe { nvrtc::nvrtcVersion(&raw mut major, &raw mut minor) })?;
    let number = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        (seed, source, target, [major, minor], env!("CARGO_PKG_VERSION")).hash(&mut hasher);
        hasher.finish()
    };
    let name = format!("{:016x}{:016x}.bin", number(1), number(2));
    Ok(Tuning::path().map(|path| path.with_file_name("kernels").join(name)))
}

/// The code of a kernel and its family, in the form that `cuModuleLoadData` takes.
///
/// # Errors
/// [`Error::Device`] if NVRTC cannot compile the kernel.
///
/// # Panics
/// If no kernel has this name.
pub fn compile(kernel: &str, target: Architecture) -> Result<Vec<u8>> {
    let source = source(kernel).unwrap_or_else(|| panic!("no kernel has the name {kernel}"));
    let path = cached_at(&source, target)?;
    // The driver reads PTX up to its zero byte, which a damaged file may lack.
    let complete = |code: &Vec<u8>| matches!(target, Architecture::Machine(_)) || code.ends_with(&[0]);
    if let Some(code) = path.as_ref().and_then(|path| host::read_bytes(path, LONGEST).ok()).filter(complete) {
        return Ok(code);
    }
    let code = compile_source(&source, target)?;
    if let Some(path) = path {
        // If the cache cannot be written, the next run compiles again.
        _ = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| host::write_file(&path, &code));
    }
    Ok(code)
}

/// A program of NVRTC, which is destroyed on drop.
struct Program(nvrtc::nvrtcProgram);

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: `create_program` returned this program. Errors can no longer be reported.
        _ = unsafe { result::destroy_program(self.0) };
    }
}

fn compile_source(source: &str, target: Architecture) -> Result<Vec<u8>> {
    let failed = |call| move |error: result::NvrtcError| Error::Device { call, message: format!("{:?}", error.0) };
    let source = CString::new(source).expect("the source has no zero bytes");
    let program = Program(result::create_program(&source, None).map_err(failed("nvrtcCreateProgram"))?);
    // Use fused multiply-add only where the kernels call it.
    let options = ["--std=c++17".into(), "--fmad=false".into(), target.option()];
    // SAFETY: here and below, the program exists.
    if unsafe { result::compile_program(program.0, &options) }.is_err() {
        // SAFETY: see above.
        let log = unsafe { result::get_program_log(program.0) }.map_err(failed("nvrtcGetProgramLog"))?;
        let log: Vec<u8> = log.into_iter().map(|byte| byte as u8).take_while(|byte| *byte != 0).collect();
        let message = String::from_utf8_lossy(&log).into_owned();
        return Err(Error::Device { call: "compiling a kernel by NVRTC", message });
    }
    let Architecture::Machine(_) = target else {
        // SAFETY: see above. The text ends with a zero byte, as the driver requires.
        let text = unsafe { result::get_ptx(program.0) }.map_err(failed("nvrtcGetPTX"))?;
        return Ok(text.into_iter().map(|byte| byte as u8).collect());
    };
    let mut bytes = 0;
    // SAFETY: see above.
    check("nvrtcGetCUBINSize", unsafe { nvrtc::nvrtcGetCUBINSize(program.0, &raw mut bytes) })?;
    let mut code = vec![0_u8; bytes];
    // SAFETY: NVRTC writes this number of bytes.
    check("nvrtcGetCUBIN", unsafe { nvrtc::nvrtcGetCUBIN(program.0, code.as_mut_ptr().cast()) })?;
    Ok(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instance_is_found_and_stands_for_itself() {
        for line in INSTANCES.lines().filter(|line| line.contains('(')) {
            let (family, rest) = line.split_once('(').unwrap();
            let (suffix, _) = rest.split_once(',').unwrap();
            let (_, templates) = FAMILIES.iter().find(|(kind, _)| *kind == family).unwrap();
            for template in *templates {
                let source = source(&format!("{template}_{suffix}")).unwrap();
                assert!(!source.contains("#include \"") && source.ends_with(&format!("{line}\n")));
            }
        }
        assert_eq!(instance("reduce_f32_1_7"), None);
    }

    #[test]
    fn nvrtc_compiles_them() {
        if !compiler_is_present() {
            return bandsolve_testkit::skipped("no NVRTC to compile kernels with");
        }
        for kernel in [
            "reduce_f32_1_1",
            "substitute_c64_1_4",
            "finish_f64_2_1_band",
            "residual_c32_3",
            "correct_f64",
            "reduce_f64_1_1_larger",
            "alone_c32",
            "pairsdown_c64",
            "join_f32",
            "product_c64_residual",
            "product_f64_argmax2",
            "combine_c32",
            "orthogonalize_c64",
            "rotate_f32",
            "weights_c64",
            "product_f64_propose4",
            "confirm_f64_2",
            "breakcycles_f64",
            "product_c64_paths",
            "product_f64_coverage",
            "weaken_f64",
            "diagonal_c64",
            "productfactor_c32",
            "rounded_c64",
            "transform_f64",
            "sweep_f32",
            "boxresidual_f32",
            "blockresidual_c64",
        ] {
            let text = compile(kernel, Architecture::Portable(80)).unwrap();
            assert!(String::from_utf8(text).unwrap().contains(&format!(".entry {kernel}")));
            // Machine code is an ELF file.
            assert!(compile(kernel, Architecture::Machine(90)).unwrap().starts_with(b"\x7fELF"));
        }
        assert_eq!(Architecture::of(90).unwrap(), Architecture::Machine(90));
        assert!(matches!(Architecture::of(999).unwrap(), Architecture::Portable(newest) if newest >= 90));
        assert!(matches!(Architecture::of(1), Err(Error::NoDevice { .. })));
    }
}
