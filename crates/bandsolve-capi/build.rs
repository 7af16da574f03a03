//! Set the name under which programs load the shared library at run time.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let part = |name: &str| std::env::var(format!("CARGO_PKG_VERSION_{name}")).expect("cargo sets it");
    // The part of the version that must match: before 1.0, a new minor version may break callers. `install.sh` uses the same rule.
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
