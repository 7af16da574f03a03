//! Compiles the emulator, if it is asked for.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    #[cfg(feature = "emulator")]
    {
        println!("cargo:rerun-if-changed=emulator");
        println!("cargo:rerun-if-changed=kernels");
        cc::Build::new()
            .cpp(true)
            .std("c++17")
            .include("kernels")
            // Nearly as fast as when more is done, and compiled in half the time.
            .opt_level(1)
            .define("EMULATOR", None)
            // A product and a sum are fused where the kernels say so, and nowhere else.
            .flag("-ffp-contract=off")
            .file("emulator/emulator.cpp")
            .compile("bandsolve_emulator");
    }
}
