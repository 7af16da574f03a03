//! Write the C functions of the number types that have no file in `bandsolve-capi`.

use std::path::Path;

#[path = "../number_types.rs"]
mod number_types;

fn main() -> std::io::Result<()> {
    let out = std::env::var("OUT_DIR").expect("cargo sets it");
    number_types::write_functions(Path::new("../src"), Path::new(&out))
}
