//! Compile and run every Rust example in the README and in `docs/`, as a documentation test of this crate.

macro_rules! pages {
    ($($page:literal)*) => {
        /// The pages whose examples run.
        #[cfg(test)]
        const PAGES: &[&str] = &[$($page),*];

        $(
            #[cfg(doctest)]
            #[doc = include_str!(concat!("../../../", $page))]
            const _: () = ();
        )*
    };
}

pages! {
    "README.md"
    "docs/accuracy.md"
    "docs/adding-a-preconditioner.md"
    "docs/coming-from/lapack.md"
    "docs/eigenvalues.md"
    "docs/getting-started.md"
    "docs/how-to/reuse-a-factorisation.md"
    "docs/index.md"
    "docs/poisson-problems.md"
    "docs/sparse-systems.md"
    "docs/which-method.md"
}

#[cfg(test)]
mod tests {
    use super::PAGES;
    use std::path::Path;

    #[test]
    fn every_page_with_rust_is_run() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut pages = vec!["README.md".to_string()];
        let names = |folder: &str| -> Vec<String> {
            let files = std::fs::read_dir(root.join(folder)).expect("the documentation");
            files.map(|file| format!("{folder}/{}", file.unwrap().file_name().into_string().expect("UTF-8"))).collect()
        };
        let folders = names("docs").into_iter().filter(|name| root.join(name).is_dir());
        for folder in folders.chain(["docs".into()]) {
            pages.extend(names(&folder).into_iter().filter(|name| name.ends_with(".md")));
        }
        pages.retain(|page| std::fs::read_to_string(root.join(page)).expect("a page").contains("\n```rust\n"));
        pages.sort();
        assert_eq!(pages, PAGES);
    }
}
