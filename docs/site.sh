#!/usr/bin/env bash
# Builds the documentation site into target/site. Fails where a link leads to a page, a heading or a file that does not exist, or a public
# Python name, C function or Rust item has no example. Needs cargo and Python 3.10 or later: the reference is made from the built package,
# the program, the C headers and the pages of rustdoc.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 docs/which_method.py "$work/which-method.svg"
cmp "$work/which-method.svg" docs/pictures/which-method.svg || { echo "FAILED: python3 docs/which_method.py draws another figure"; exit 1; }

tests/packages.sh "$work/venv" "mkdocs-material>=9.8,<10" "mkdocstrings-python>=2,<3" black latex2mathml numpy scipy jupytext jax
python/checked.sh "$work"
export PYTHONPATH=$work BANDSOLVE_PROGRAM=${CARGO_TARGET_DIR:-target}/release/bandsolve NO_MKDOCS_2_WARNING=1
"$work/venv/bin/mkdocs" build --clean --quiet
mapfile -t tutorials < <(find docs/tutorials -name "*.md" ! -name index.md)
"$work/venv/bin/python" docs/run.py --notebook target/site/tutorials "${tutorials[@]}"
notebooks=$(find target/site/tutorials -name "*.ipynb" | wc -l)
[ "$notebooks" = "${#tutorials[@]}" ] || { echo "FAILED: $notebooks notebooks"; exit 1; }
# The pages of rustdoc, beside those of MkDocs.
# rustdoc links to another crate only if the folder of its pages exists.
mkdir -p "${CARGO_TARGET_DIR:-target}"/doc/bandsolve{,_kernel,_sparse,_poisson,_eigen,_gpu,_io,_gallery}
RUSTDOCFLAGS="-D warnings" cargo doc --quiet $(tests/cargo.sh members) --no-deps
python3 docs/public_api.py "${CARGO_TARGET_DIR:-target}/doc" >/dev/null
for crate in $(grep -oE 'rust/[a-z_]+/index.html' target/site/reference/rust/index.html | cut -d/ -f2); do
    [ -e "${CARGO_TARGET_DIR:-target}/doc/$crate/index.html" ] || { echo "FAILED: rustdoc has no page of $crate"; exit 1; }
done
pages=$(find target/site -name index.html | wc -l)
formulas=$(cat $(find target/site -name index.html) | grep -o "<math" | wc -l)
if grep -rlE 'class="arithmatex">' target/site --include=index.html; then
    echo "FAILED: formulas of these pages are not understood"
    exit 1
fi
# The theme's scripts end at such a heading, and tables after it are left without lines.
if grep -rlE '<h[1-6] id="[0-9]' target/site --include=index.html; then
    echo "FAILED: a heading of these pages begins with a digit"
    exit 1
fi
mkdir target/site/rust
cp -r "${CARGO_TARGET_DIR:-target}"/doc/* target/site/rust/
echo "1 passed: the figure is what its script draws"
echo "$pages passed: pages of the site, with $formulas formulas and $notebooks notebooks"
