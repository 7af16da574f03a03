//! Writes a C header to standard output: what cbindgen makes of the entries of `bandsolve-capi`. Without an argument
//! `bandsolve.h`, with the argument `gpu` `bandsolve_gpu.h`.

use cbindgen::{Builder, Config};
use std::path::Path;

const TYPES: [&str; 4] = ["s", "d", "c", "z"];

/// The configuration of `bandsolve_gpu.h`, made of that of `bandsolve.h`.
fn for_gpus(config: Config) -> Config {
    let text = "
/*
 * bandsolve on NVIDIA GPUs: the solvers of bandsolve.h as bandsolveGpu<t><operation>, with arrays in the memory of a device.
 *
 * For libraries that were built with the feature `gpu`. docs/c-api.md explains the rest.
 *
 * Made by cbindgen from crates/bandsolve-capi: do not edit.
 */";
    Config {
        header: Some(text.into()),
        include_guard: Some("BANDSOLVE_GPU_H".into()),
        sys_includes: Vec::new(),
        includes: vec!["bandsolve.h".into()],
        after_includes: None,
        ..config
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let config = Config::from_file(root.join("cbindgen.toml"))?;
    let gpu = std::env::args().nth(1).as_deref() == Some("gpu");
    // Files, and folders of entries by type.
    let (config, first, entries) = if gpu {
        (for_gpus(config), &["gpu/handle", "entry/gpu/general"][..], &["entry/gpu"][..])
    } else {
        let types = ["status", "settings", "report", "csr/mod", "csr/forest", "csr/precond", "csr/krylov", "poisson", "poisson/pencils"];
        let general = ["entry/general", "entry/csr/general", "entry/poisson/general"];
        (config, &[&types[..], &general].concat()[..], &["entry", "entry/csr", "entry/poisson"][..])
    };
    let typed = entries.iter().flat_map(|folder| TYPES.map(|name| format!("{folder}/{name}")));
    // Some are of real numbers alone.
    let typed = typed.filter(|file| root.join("src").join(file).with_extension("rs").exists());
    let files = first.iter().map(|file| file.to_string()).chain(typed);
    let builder = files.fold(Builder::new().with_config(config), |builder, file| {
        builder.with_src(root.join("src").join(file).with_extension("rs"))
    });
    builder.generate()?.write(std::io::stdout());
    Ok(())
}
