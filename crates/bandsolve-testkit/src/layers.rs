//! A test of the table of layers in ARCHITECTURE.md: a file may import only from its own layer and from earlier ones.

use std::collections::HashMap;
use std::fs::{read_dir, read_to_string};
use std::path::{Path, PathBuf};

/// The crates in order, and the order of their modules if the table has one.
struct Layers {
    crates: HashMap<String, usize>,
    /// The place of each module of a crate.
    modules: HashMap<String, HashMap<String, usize>>,
}

impl Layers {
    /// Parse the table. It has one line per crate: `name: module module < module < …`.
    fn of(architecture: &str) -> Self {
        let table = architecture.split("```layers\n").nth(1).and_then(|rest| rest.split("```").next());
        let (mut crates, mut modules) = (HashMap::new(), HashMap::new());
        for (place, line) in table.expect("ARCHITECTURE.md has a block `layers`").lines().enumerate() {
            let (name, layers) = line.split_once(':').unwrap_or((line, ""));
            crates.insert(name.trim().replace('-', "_"), place);
            let places = layers
                .split('<')
                .enumerate()
                .flat_map(|(k, layer)| layer.split_whitespace().map(move |module| (module.to_owned(), k)));
            modules.insert(name.trim().replace('-', "_"), places.collect::<HashMap<_, _>>());
        }
        Self { crates, modules }
    }

    /// The forbidden imports of `code`, which is a file of a module without its tests.
    fn broken(&self, (name, module): (&str, &str), code: &str) -> Vec<String> {
        let mut broken = Vec::new();
        for (name_of_other, place) in &self.crates {
            if *place > self.crates[name] && words_before_colons(code).any(|word| word == name_of_other) {
                broken.push(format!("imports from {name_of_other}"));
            }
        }
        let places = &self.modules[name];
        let Some(layer) = places.get(module) else { return broken };
        for import in code.split("crate::").skip(1) {
            let names = match import.strip_prefix('{') {
                Some(list) => list.split('}').next().unwrap_or("").split(',').map(str::trim).collect(),
                None => vec![import],
            };
            for path in names {
                let first: String = path.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                match places.get(&first) {
                    Some(place) if place <= layer => {}
                    Some(_) => broken.push(format!("imports from `{first}`, which is a later layer")),
                    None => {
                        broken.push(format!("imports `{first}` from the root of its crate. Import from the module"))
                    }
                }
            }
        }
        broken
    }
}

/// Names followed by `::`.
fn words_before_colons(code: &str) -> impl Iterator<Item = &str> {
    code.split("::").filter_map(|before| before.rsplit(|c: char| !c.is_alphanumeric() && c != '_').next())
}

/// All Rust files in a folder and its subfolders.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("a file of it").path();
        if path.is_dir() {
            all.extend(files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(path);
        }
    }
    all
}

/// A source without comments and without the tests at its end.
fn code(source: &str) -> String {
    let code = source.split("\n#[cfg(test)]\nmod tests").next().unwrap_or("");
    let code = code.split("\n#[cfg(test)]\npub(crate) mod testing").next().unwrap_or("");
    code.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect()
}

#[test]
fn arrows_point_one_way() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let layers = Layers::of(&read_to_string(root.join("ARCHITECTURE.md")).expect("ARCHITECTURE.md"));
    let (mut broken, mut seen) = (Vec::new(), 0);
    for folder in read_dir(root.join("crates")).expect("crates") {
        let folder = folder.expect("a crate").path();
        let name = folder.file_name().expect("its name").to_string_lossy().replace('-', "_");
        assert!(layers.crates.contains_key(&name), "ARCHITECTURE.md has no layer for {name}");
        for file in files(&folder.join("src")) {
            let inside = file.strip_prefix(folder.join("src")).expect("a file of it");
            let module = inside.components().next().expect("its name").as_os_str().to_string_lossy().replace(".rs", "");
            let named = matches!(&*module, "lib" | "prelude" | "main") || layers.modules[&name].contains_key(&module);
            assert!(layers.modules[&name].is_empty() || named, "ARCHITECTURE.md has no layer for {name}::{module}");
            if file.ends_with("testing.rs") || file.ends_with("tests.rs") {
                continue;
            }
            let source = code(&read_to_string(&file).expect("a source"));
            let imports = layers.broken((&name, &module), &source);
            broken.extend(imports.iter().map(|what| format!("{}: {what}", file.display())));
            seen += 1;
        }
    }
    assert!(broken.is_empty(), "imports from a later layer:\n{}", broken.join("\n"));
    assert!(seen > 100, "{seen} files");
}

#[test]
fn arrows_that_point_back_are_seen() {
    let layers = Layers::of("```layers\nbandsolve-kernel\nbandsolve: error < matrix < plan\nbandsolve-cli\n```\n");
    let broken = |of, code: &str| layers.broken(of, code).len();
    assert_eq!(broken(("bandsolve", "matrix"), "use crate::error::Error;\nuse bandsolve_kernel::Scalar;\n"), 0);
    assert_eq!(broken(("bandsolve", "matrix"), "use crate::plan::Plan;\n"), 1);
    assert_eq!(broken(("bandsolve", "matrix"), "fn f(p: &crate::plan::Plan) {}\n"), 1);
    assert_eq!(broken(("bandsolve", "matrix"), "use crate::{error::Error, plan::Plan};\n"), 1);
    assert_eq!(broken(("bandsolve", "matrix"), "use crate::Plan;\n"), 1);
    assert_eq!(broken(("bandsolve_kernel", "tile"), "use bandsolve::Plan;\n"), 1);
    assert_eq!(broken(("bandsolve_kernel", "tile"), "use std::fmt;\n"), 0);
    assert_eq!(broken(("bandsolve_cli", "main"), "use bandsolve::Plan;\n"), 0);
}

/// The type, trait or alias that a line at the root of a module defines.
fn defined(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub").map_or(line, |rest| match rest.strip_prefix('(') {
        Some(scope) => scope.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    });
    let line = line.trim_start_matches(' ');
    let (_, name) =
        line.split_once(' ').filter(|(word, _)| ["struct", "enum", "trait", "type", "union"].contains(word))?;
    name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
}

#[test]
fn a_name_means_one_type() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates");
    let (mut places, mut twice) = (HashMap::<String, PathBuf>::new(), Vec::new());
    for file in files(&root).into_iter().filter(|file| file.components().any(|folder| folder.as_os_str() == "src")) {
        let source = read_to_string(&file).expect("a source");
        for name in source.lines().filter(|line| !line.starts_with(' ')).filter_map(defined) {
            // The same file may define a type once per platform.
            let first = places.entry(name.to_owned()).or_insert_with(|| file.clone());
            if *first != file {
                twice.push(format!("{name}: {} and {}", first.display(), file.display()));
            }
        }
    }
    assert!(twice.is_empty(), "types with the same name:\n{}", twice.join("\n"));
    assert!(places.len() > 500, "{} types", places.len());
}

#[test]
fn definitions_are_seen() {
    assert_eq!(defined("pub(crate) struct Level<'a, T: Scalar> {"), Some("Level"));
    assert_eq!(defined("pub trait Lanes: Copy {"), Some("Lanes"));
    assert_eq!(defined("type Output = f64;"), Some("Output"));
    assert_eq!(defined("struct Found;"), Some("Found"));
    assert_eq!(defined("pub use level::Level;"), None);
    assert_eq!(defined("impl Level {"), None);
}
