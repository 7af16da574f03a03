#!/usr/bin/env python3
"""The public interface of each crate as text, from the pages that `cargo doc` has written.

usage: public_api.py DOC [--write]      DOC is the folder `doc` of the target directory

The pages must contain all features, as `cargo doc --workspace --no-deps` makes them. The script compares docs/public-api/<crate>.txt
with the pages, or writes it. Each line has the path of an item and its declaration. The script leaves out the methods of traits that
a type implements, and traits that every type has (`Send`, `Into`, …). It also fails if the page of an item has no example, or if a page of
any crate of the workspace has a formula that rustdoc does not render: LaTeX, or subscripts such as x_i outside of code.
"""

import difflib
import html
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

CRATES = ["bandsolve", "bandsolve_sparse", "bandsolve_poisson", "bandsolve_eigen", "bandsolve_mpi"]
# Ends without a beginning, in HTML.
VOID = {"br", "hr", "img", "input", "link", "meta", "wbr"}
# Sections about traits that every type has, and of what a dereferenced type or an implementor brings.
SKIPPED = {
    "synthetic-implementations-list",
    "blanket-implementations-list",
    "implementors-list",
    "foreign-impls",
}


class Page(HTMLParser):
    """Declarations of one page: that of the item, of methods, and of traits that are implemented."""

    def __init__(self):
        super().__init__()
        self.found = []
        self.text = None
        # Of every open element: its tag, and whether it begins what is skipped, a declaration, or implementations.
        self.open = []

    def inside(self, what):
        return any(kind == what for _, kind in self.open)

    def handle_starttag(self, tag, attributes):
        if tag in ("br", "div") and self.text is not None:
            self.text.append(" ")
        if tag in VOID:
            return
        attributes = dict(attributes)
        classes = set((attributes.get("class") or "").split())
        kind = None
        if attributes.get("id") in SKIPPED or tag == "summary" and "hideme" in classes or {"src", "variant"} & classes:
            # Variants stand in the declaration of their enum, as methods in that of their trait.
            kind = "skipped"
        elif attributes.get("id") == "trait-implementations-list":
            kind = "implementations"
        elif "docblock" in classes or "tooltip" in classes:
            kind = "skipped"
        elif tag == "pre" and "item-decl" in classes:
            kind = "declaration"
        elif "code-header" in classes and not (self.inside("implementations") and tag == "h4"):
            kind = "declaration"
        if kind == "declaration" and not self.inside("skipped"):
            self.text = []
        self.open.append((tag, kind))

    def handle_endtag(self, tag):
        if tag in VOID or not any(tag == open_tag for open_tag, _ in self.open):
            return
        while self.open:
            open_tag, kind = self.open.pop()
            if open_tag == "div" and self.text is not None:
                self.text.append(" ")
            if kind == "declaration" and self.text is not None:
                self.found.append(" ".join("".join(self.text).split()))
                self.text = None
            if open_tag == tag:
                break

    def handle_data(self, data):
        if self.text is not None and not self.inside("skipped"):
            self.text.append(data)


def listing(folder):
    """All declarations of the pages in `folder`, sorted by where they are found."""
    lines = []
    for path in sorted(folder.rglob("*.html")):
        place = path.relative_to(folder.parent)
        kind, _, name = place.stem.partition(".")
        if place.name == "all.html" or kind == "macro" and name.endswith("!"):
            continue
        where = "::".join([*place.parent.parts, name] if name else place.parent.parts)
        page = Page()
        page.feed(path.read_text(encoding="utf-8"))
        if place.name == "index.html":
            # Modules show what they hold; only what they take from elsewhere has no page of its own.
            text = path.read_text(encoding="utf-8")
            exports = re.findall(r'id="reexport\.[^"]*"[^>]*>(.*?)</(?:dt|div|li)>', text, re.S)
            lines += [f"{where}: {' '.join(re.sub('<[^>]*>', '', export).split())}" for export in exports]
        else:
            found = page.found[:1] if kind == "trait" else page.found
            lines += [f"{where}: {line}" for line in found if not line.startswith("impl StructuralPartialEq")]
    # A module's own lines before those of what it holds; else in the order of the pages.
    return sorted(dict.fromkeys(lines), key=lambda line: line.split(": ")[0])


def without_example(folder):
    """The items whose page has no example."""
    items = [path for path in sorted(folder.rglob("*.html")) if re.match(r"(struct|enum|trait|fn|macro|type|constant)\.\w+\.html", path.name)]
    pages = {path: path.read_text(encoding="utf-8") for path in items}
    return [path.stem for path, text in pages.items() if "rust-example-rendered" not in text and 'http-equiv="refresh"' not in text]


# LaTeX, and indices of one-letter symbols such as x_i. rustdoc shows these characters as they are.
FORMULA = re.compile(r"\$|\\|[_^]\{|(?<!\w)[^\W\d_]_[0-9a-z](?!\w)|[|)Σ]_[a-z](?!\w)")


def unrendered(pages):
    """Formulas in the text of the pages, outside of code, with a name of the page."""
    found = []
    for path in sorted(pages.glob("*bandsolve*/**/*.html")):
        text = re.sub(r"<pre.*?</pre>|<code.*?</code>", " ", path.read_text(encoding="utf-8"), flags=re.S)
        for block in re.findall(r'<div class="docblock[^>]*>(.*?)</div>', text, re.S):
            # `*` and `_` that were part of a formula.
            mangled = [part for part in re.findall(r"<em>(.*?)</em>", block, re.S) if re.search(r"[·=+−‖|/]", re.sub("<[^>]*>", "", part))]
            words = html.unescape(re.sub("<[^>]*>", "", block)).split()
            mangled += [word for word in words if FORMULA.search(word)]
            found += [f"{path.relative_to(pages)}: {part}" for part in mangled]
    return found


def main():
    pages = Path(sys.argv[1])
    write = "--write" in sys.argv[2:]
    for crate in CRATES:
        kept = Path(__file__).parent / "public-api" / f"{crate}.txt"
        if not (pages / crate).exists() and crate == "bandsolve_mpi":
            print(f"1 skipped: {crate}, for which MPI is not installed")
            continue
        found = listing(pages / crate)
        # Fewer would mean that the pages have another form.
        assert len(found) > 50, f"{pages / crate}: {len(found)} declarations"
        if write:
            kept.parent.mkdir(exist_ok=True)
            kept.write_text("\n".join(found) + "\n", encoding="utf-8")
            continue
        before = kept.read_text(encoding="utf-8").splitlines()
        changes = list(difflib.unified_diff(before, found, kept.name, "now", lineterm="", n=0))
        if changes:
            print("\n".join(changes))
            print(f"FAILED: the public interface of {crate} is not as listed; after a change that is meant: {sys.argv[0]} {pages} --write")
            sys.exit(1)
        silent = without_example(pages / crate)
        if silent:
            print(f"FAILED: no example on the pages of {crate}: {', '.join(silent)}")
            sys.exit(1)
        print(f"1 passed: the public interface of {crate} is as listed, {len(found)} declarations")
    formulas = [] if write else unrendered(pages)
    if formulas:
        print("\n".join(formulas))
        print("FAILED: rustdoc does not render these formulas. Write them with Unicode (xᵢ, ‖x‖₂), or as code")
        sys.exit(1)


main()
