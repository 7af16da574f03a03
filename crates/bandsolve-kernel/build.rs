//! Tells the code whether it is compiled without optimisation.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(unoptimised)");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("OPT_LEVEL").as_deref() == Ok("0") {
        println!("cargo::rustc-cfg=unoptimised");
    }
}
