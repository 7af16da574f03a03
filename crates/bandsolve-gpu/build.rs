//! Compiles the emulator, if it is asked for, and the kernels for cards, if there is a compiler.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(prebuilt)");
    prebuild();
    #[cfg(feature = "emulator")]
    emulator();
}

/// All kernels for cards from 2020 on, where the environment variable `BANDSOLVE_NVCC` says which compiler to take: for machines
/// without NVRTC.
fn prebuild() {
    println!("cargo::rerun-if-env-changed=BANDSOLVE_NVCC");
    let Some(nvcc) = std::env::var_os("BANDSOLVE_NVCC").filter(|path| !path.is_empty()) else { return };
    println!("cargo::rerun-if-changed=kernels");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where to")).join("kernels.fatbin");
    let mut command = Command::new(&nvcc);
    command.args(["-std=c++17", "--fmad=false", "-fatbin", "--threads=0", "-DINSTANCES=\"instances.h\""]);
    command.args(["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=[sm_90,compute_90]"]);
    let status = command.arg("-o").arg(out).arg("kernels/kernels.cu").status();
    let good = status.as_ref().is_ok_and(std::process::ExitStatus::success);
    assert!(good, "{} could not compile the kernels: {status:?}", nvcc.display());
    println!("cargo::rustc-cfg=prebuilt");
}

#[cfg(feature = "emulator")]
fn emulator() {
    // Lints need nothing that is compiled.
    println!("cargo::rerun-if-env-changed=CLIPPY_ARGS");
    if std::env::var_os("CLIPPY_ARGS").is_some() {
        return;
    }
    println!("cargo::rerun-if-changed=emulator");
    println!("cargo::rerun-if-changed=kernels");
    // The kernels of every number type by themselves, so that several compilers have something to do at a time; the longest first.
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo says where to"));
    let here = std::env::current_dir().expect("cargo says where to");
    let all = std::fs::read_to_string("kernels/instances.h").expect("instances of the kernels");
    let kernels = ["c64", "c32", "f64", "f32"].map(|number| {
        let (instances, source) = (out.join(format!("{number}.h")), out.join(format!("{number}.cpp")));
        let lines = all.lines().filter(|line| line.contains(&format!("({number}"))).map(|line| format!("{line}\n"));
        let text = format!(
            "#define INSTANCES {instances:?}\n#define TYPE {number}\n#include {:?}\n",
            here.join("emulator/kernels.hpp")
        );
        std::fs::write(&instances, lines.collect::<String>()).expect("a file in OUT_DIR");
        std::fs::write(&source, text).expect("a file in OUT_DIR");
        source
    });
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").include("kernels").define("EMULATOR", None);
    let kernels = build
        .clone()
        // Nearly as fast as when more is done, and compiled in half the time.
        .opt_level(1)
        // A product and a sum are fused where the kernels say so, and nowhere else.
        .flag("-ffp-contract=off")
        // An emulation that ends where the behaviour of a kernel is undefined. (Memory out of bounds ends it anyway.)
        .flag("-fsanitize=undefined")
        .flag("-fsanitize-undefined-trap-on-error")
        .files(kernels)
        .file("emulator/broken.cpp")
        .compile_intermediates();
    build.opt_level(2).objects(kernels).file("emulator/emulator.cpp").compile("bandsolve_emulator");
}
