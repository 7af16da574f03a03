//! Gives the shared library the name under which programs will look for it at run time.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let part = |name: &str| std::env::var(format!("CARGO_PKG_VERSION_{name}")).expect("cargo sets it");
    // Versions that a program may exchange for one another: before 1.0 a new minor version may break callers. `install.sh` has the same.
    let compatible = match part("MAJOR").as_str() {
        "0" => format!("0.{}", part("MINOR")),
        major => major.to_string(),
    };
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "freebsd") => println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libbandsolve.so.{compatible}"),
        Ok("macos") => println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libbandsolve.{compatible}.dylib"),
        _ => {}
    }
}
