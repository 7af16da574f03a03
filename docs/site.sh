#!/usr/bin/env bash
# Builds the documentation site into target/site: strictly, so that a link to a page, a heading or a file that is not there fails.
# Needs Python 3.10 or later.
set -euo pipefail
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

python3 docs/which_method.py "$work/which-method.svg"
cmp "$work/which-method.svg" docs/pictures/which-method.svg || { echo "FAILED: python3 docs/which_method.py draws another figure"; exit 1; }

tests/packages.sh "$work/venv" "mkdocs>=1.6,<2" pymdown-extensions latex2mathml
"$work/venv/bin/mkdocs" build --clean --quiet
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
echo "1 passed: the figure is what its script draws"
echo "$pages passed: pages of the site, with $formulas formulas"
