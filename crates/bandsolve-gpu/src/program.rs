//! The source of the kernels, and its compilation by NVRTC, with a cache on disk.

use bandsolve::{Error, Result, Tuning, host};
use core::hash::{Hash, Hasher};
use cudarc::nvrtc::{CompileError, CompileOptions, Ptx, compile_ptx_with_opts};
use std::collections::hash_map::DefaultHasher;
use std::path::PathBuf;

/// Maximum bytes of a cached file. The text of a kernel is much shorter.
const LONGEST: u64 = 1 << 26;

/// The kernels and their headers, in the order of their dependencies.
const SOURCES: [&str; 13] = [
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
    include_str!("../kernels/kernels.cu"),
];

/// One line for each family of kernels, which are compiled together.
const INSTANCES: &str = include_str!("../kernels/instances.h");

/// The line of `instances.h` that instantiates a kernel. Its name has the form `template_instance`, as in
/// `reduce_f32_1_1`.
fn instance(kernel: &str) -> Option<&'static str> {
    let suffix = &kernel[kernel.find('_')? + 1..];
    let family = match &kernel[..kernel.find('_')?] {
        "residual" | "mend" => "RESIDUAL",
        "correct" => "CORRECT",
        "interleaved" | "alone" => "BATCH",
        "card" => "CARD",
        "cyclic" | "spikereduce" | "spikesubstitute" => "CYCLIC",
        "ludown" | "pairsdown" | "up" => "SCAN",
        "check" | "scatter" | "prune" => "SPARSE",
        "factor" | "reducefactored" | "substitutefactored" => "FACTORED",
        _ => "RPTS",
    };
    let begins = format!("{family}({suffix},");
    INSTANCES.lines().find(|line| line.starts_with(&begins))
}

/// The source text of a kernel and its family.
fn source(kernel: &str) -> Option<String> {
    let kept = |line: &&str| !line.starts_with("#include \"") && !line.starts_with("#pragma once");
    let text = SOURCES.iter().flat_map(|text| text.lines().filter(kept)).chain([instance(kernel)?]);
    Some(text.flat_map(|line| [line, "\n"]).collect())
}

/// All kernels, if a compiler was named when this crate was built.
#[cfg(prebuilt)]
pub const PREBUILT: Option<&[u8]> = Some(include_bytes!(concat!(env!("OUT_DIR"), "/kernels.fatbin")));
/// All kernels: none, because no compiler was named when this crate was built.
#[cfg(not(prebuilt))]
pub const PREBUILT: Option<&[u8]> = None;

/// Whether NVRTC exists. Without it, calls of NVRTC would panic.
pub fn compiler_is_present() -> bool {
    // SAFETY: the call only looks for the library.
    unsafe { cudarc::nvrtc::sys::is_culib_present() }
}

/// The path of the cached text, in the directory of the file of [`Tuning`].
fn kept_at(source: &str, architecture: &str) -> Option<PathBuf> {
    let number = |seed: u64| {
        let mut hasher = DefaultHasher::new();
        (seed, source, architecture, env!("CARGO_PKG_VERSION")).hash(&mut hasher);
        hasher.finish()
    };
    Some(Tuning::path()?.with_file_name("kernels").join(format!("{:016x}{:016x}.ptx", number(1), number(2))))
}

/// The PTX of a kernel and its family for an architecture with NVRTC's name, such as `compute_90`.
///
/// # Errors
/// [`Error::Device`] if NVRTC cannot compile the kernel.
///
/// # Panics
/// If no kernel has this name.
pub fn compile(kernel: &str, architecture: &str) -> Result<String> {
    let source = source(kernel).unwrap_or_else(|| panic!("no kernel has the name {kernel}"));
    let path = kept_at(&source, architecture);
    if let Some(text) = path.as_ref().and_then(|path| host::read_file(path, LONGEST).ok()) {
        return Ok(text);
    }
    let options = CompileOptions {
        // Use fused multiply-add only where the kernels call it.
        fmad: Some(false),
        options: vec!["--std=c++17".into(), format!("--gpu-architecture={architecture}")],
        ..Default::default()
    };
    let text = compile_ptx_with_opts(source, options).as_ref().map(Ptx::to_src).map_err(|error| Error::Device {
        call: "compiling a kernel by NVRTC",
        message: match error {
            CompileError::CompileError { log, .. } => log.to_string_lossy().into_owned(),
            other => format!("{other:?}"),
        },
    })?;
    if let Some(path) = path {
        // If the cache cannot be written, the next run compiles again.
        _ = path.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| host::write_file(&path, &text));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_instance_is_found_and_stands_for_itself() {
        for line in INSTANCES.lines().filter(|line| line.contains('(')) {
            let (family, rest) = line.split_once('(').unwrap();
            let (suffix, _) = rest.split_once(',').unwrap();
            let template = match family {
                "RPTS" => "reduce",
                "BATCH" => "alone",
                "SPARSE" => "prune",
                "CYCLIC" => "cyclic",
                "SCAN" => "up",
                "FACTORED" => "factor",
                other => &other.to_lowercase(),
            };
            let source = source(&format!("{template}_{suffix}")).unwrap();
            assert!(!source.contains("#include \"") && source.ends_with(&format!("{line}\n")));
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
            "alone_c32",
            "pairsdown_c64",
        ] {
            assert!(compile(kernel, "compute_80").unwrap().contains(&format!(".entry {kernel}")));
        }
    }
}
