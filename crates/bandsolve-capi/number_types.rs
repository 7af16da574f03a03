//! The C functions of the other number types are the text of those in `double` with other names and types.
//!
//! cbindgen cannot see functions inside a macro, so the text is written to files, for the library and for its header.

use std::path::Path;

/// The letter of a number type in the names of C functions, its Rust type, and its real type in C.
type NumberType = (char, &'static str, &'static str);

const OTHERS: [NumberType; 3] =
    [('s', "f32", "c_float"), ('c', "Complex32", "c_float"), ('z', "Complex64", "c_double")];

/// The folders of `src` whose file `d.rs` has the functions in `double`, and the other types that have the same functions.
const TYPED: [(&str, &[NumberType]); 8] = [
    ("entry", &OTHERS),
    ("entry/csr", &OTHERS),
    ("entry/gpu", &OTHERS),
    ("entry/gpu/enqueue", &OTHERS),
    ("entry/lapack", &OTHERS),
    ("entry/lapack/batches", &OTHERS),
    ("entry/lapack/symmetric", &[OTHERS[0]]),
    ("entry/poisson", &[OTHERS[0]]),
];

/// Write `s.rs`, `c.rs` and `z.rs` of every folder below `out`, from its `d.rs` below `src`. Cargo runs the build script again if one of those
/// changes.
pub fn write_functions(src: &Path, out: &Path) -> std::io::Result<()> {
    for (folder, types) in TYPED {
        let source = src.join(folder).join("d.rs");
        println!("cargo:rerun-if-changed={}", source.display());
        let double = std::fs::read_to_string(source)?;
        std::fs::create_dir_all(out.join(folder))?;
        for &number_type in types {
            let file = out.join(folder).join(format!("{}.rs", number_type.0));
            std::fs::write(file, functions(&double, number_type))?;
        }
    }
    Ok(())
}

/// The functions of one type. The description of the file is left out: text that is included in a module cannot have one.
fn functions(double: &str, (letter, rust, real): NumberType) -> String {
    let lines = double.lines().filter(|line| !line.starts_with("//!"));
    let text: String = lines.flat_map(|line| [line, "\n"]).collect();
    let upper = letter.to_ascii_uppercase();
    let text = text
        .replace("bandsolveD", &format!("bandsolve{upper}"))
        .replace("bandsolveGpuD", &format!("bandsolveGpu{upper}"))
        .replace("bandsolve_d", &format!("bandsolve_{letter}"));
    text.replace("f64", rust).replace("c_double", real)
}
