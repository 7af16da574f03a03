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
    println!("cargo::rerun-if-changed=emulator");
    println!("cargo::rerun-if-changed=kernels");
    cc::Build::new()
        .cpp(true)
        .std("c++17")
        .include("kernels")
        // Nearly as fast as when more is done, and compiled in half the time.
        .opt_level(1)
        .define("EMULATOR", None)
        // A product and a sum are fused where the kernels say so, and nowhere else.
        .flag("-ffp-contract=off")
        // An emulation that ends where the behaviour of a kernel is undefined. (Memory out of bounds ends it anyway.)
        .flag("-fsanitize=undefined")
        .flag("-fsanitize-undefined-trap-on-error")
        .file("emulator/emulator.cpp")
        .compile("bandsolve_emulator");
}
