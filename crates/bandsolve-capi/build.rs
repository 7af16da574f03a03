//! Gives the shared library the name under which programs will look for it at run time.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let major = std::env::var("CARGO_PKG_VERSION_MAJOR").expect("cargo sets it");
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "freebsd") => println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libbandsolve.so.{major}"),
        Ok("macos") => println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libbandsolve.{major}.dylib"),
        _ => {}
    }
}
