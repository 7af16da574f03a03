//! Write the C functions of the other number types, and set the name under which programs load the shared library at run time.

use std::path::Path;

mod number_types;

fn main() -> std::io::Result<()> {
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    number_types::write_functions(Path::new("src"), Path::new(&out))?;
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
    Ok(())
}
