//! Writes the C header to standard output: what cbindgen makes of the entries of `bandsolve-capi`.

use std::path::Path;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml"))?;
    let files = ["status", "settings", "report", "entry/general", "entry/s", "entry/d", "entry/c", "entry/z"];
    let builder = files.iter().fold(cbindgen::Builder::new().with_config(config), |builder, file| {
        builder.with_src(root.join("src").join(file).with_extension("rs"))
    });
    builder.generate()?.write(std::io::stdout());
    Ok(())
}
