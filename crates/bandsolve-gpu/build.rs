//! Compile the emulator if its feature is on, and the kernels for GPUs if a compiler is named.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(prebuilt)");
    prebuild();
    #[cfg(feature = "emulator")]
    emulator();
}

/// Compile all kernels for GPUs from 2020 on, for machines without NVRTC. The environment variable `BANDSOLVE_NVCC`
/// names the compiler.
fn prebuild() {
    println!("cargo::rerun-if-env-changed=BANDSOLVE_NVCC");
    let Some(nvcc) = std::env::var_os("BANDSOLVE_NVCC").filter(|path| !path.is_empty()) else { return };
    println!("cargo::rerun-if-changed=kernels");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR")).join("kernels.fatbin");
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
    // Lints need no compiled code.
    println!("cargo::rerun-if-env-changed=CLIPPY_ARGS");
    if std::env::var_os("CLIPPY_ARGS").is_some() {
        return;
    }
    println!("cargo::rerun-if-changed=emulator");
    println!("cargo::rerun-if-changed=kernels");
    let mut build = cc::Build::new();
    build.cpp(true).std("c++17").include("kernels").define("EMULATOR", None);
    #[cfg(feature = "races")]
    races(build.clone());
    let kernels = kernels(&build)
        // Undefined behavior of a kernel ends the emulation. (So does every memory access out of bounds.)
        .flag("-fsanitize=undefined")
        .flag("-fsanitize-undefined-trap-on-error")
        .compile_intermediates();
    build.opt_level(2).objects(kernels).file("emulator/emulator.cpp").compile("bandsolve_emulator");
}

/// Compile the kernels of each number type separately, and those with bugs.
#[cfg(feature = "emulator")]
fn kernels(build: &cc::Build) -> cc::Build {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let here = std::env::current_dir().expect("there is a current directory");
    let all = std::fs::read_to_string("kernels/instances.h").expect("kernels/instances.h must be readable");
    // The longest come first, because several compilers run at the same time.
    let sources = ["c64", "c32", "f64", "f32"].map(|number| {
        let (instances, source) = (out.join(format!("{number}.h")), out.join(format!("{number}.cpp")));
        let lines = all.lines().filter(|line| line.contains(&format!("({number}"))).map(|line| format!("{line}\n"));
        let text = format!(
            "#define INSTANCES {instances:?}\n#define TYPE {number}\n#include {:?}\n",
            here.join("emulator/kernels.hpp")
        );
        std::fs::write(&instances, lines.collect::<String>()).expect("OUT_DIR must be writable");
        std::fs::write(&source, text).expect("OUT_DIR must be writable");
        source
    });
    let mut build = build.clone();
    build
        // This level compiles in half the time of higher levels, and the code is nearly as fast.
        .opt_level(1)
        // Fuse products and sums only where the kernels request it.
        .flag("-ffp-contract=off")
        .files(sources)
        .file("emulator/broken.cpp");
    build
}

/// Compile the emulator again, as a library in which the kernels report each memory access to the detector of data races.
#[cfg(feature = "races")]
fn races(mut build: cc::Build) {
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    build.define("RACES", None).pic(true).flag("-fvisibility=hidden").out_dir(out.join("races"));
    // The lines of the source appear in messages.
    let mut objects = kernels(&build).flag("-fsanitize=thread").flag("-g1").compile_intermediates();
    let emulator = build.opt_level(2).files(["emulator/emulator.cpp", "emulator/race.cpp"]).compile_intermediates();
    objects.extend(emulator);
    let mut link = build.get_compiler().to_command();
    let status = link.arg("-shared").arg("-o").arg(out.join("libraces.so")).args(&objects).arg("-ldl").status();
    assert!(status.as_ref().is_ok_and(std::process::ExitStatus::success), "could not link the kernels: {status:?}");
}
