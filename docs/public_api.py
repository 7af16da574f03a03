#!/usr/bin/env python3
"""The public interface of a crate as text, from the pages that `cargo doc` has written.

usage: public_api.py DOC [--write]      DOC is the folder `doc` of the target directory

Compares docs/public-api/<crate>.txt with what the pages say, or writes it. A line is a declaration: what stands at its beginning is
where it is found. Methods of traits that a type implements, and what every type has by itself (`Send`, `Into`, …), are left out.
"""

import difflib
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

CRATES = ["bandsolve"]
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
        if tag in VOID:
            if tag == "br" and self.text is not None:
                self.text.append(" ")
            return
        attributes = dict(attributes)
        classes = set((attributes.get("class") or "").split())
        kind = None
        if attributes.get("id") in SKIPPED or tag == "summary" and "hideme" in classes or "src" in classes:
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
        if place.name == "all.html" or "macro" == kind and name.endswith("!"):
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
            lines += [f"{where}: {declaration}" for declaration in page.found]
    return list(dict.fromkeys(lines))


def main():
    pages = Path(sys.argv[1])
    write = "--write" in sys.argv[2:]
    for crate in CRATES:
        kept = Path(__file__).parent / "public-api" / f"{crate}.txt"
        found = listing(pages / crate)
        assert len(found) > 100, f"{pages / crate}: {len(found)} declarations"
        if write:
            kept.parent.mkdir(exist_ok=True)
            kept.write_text("\n".join(found) + "\n", encoding="utf-8")
            continue
        before = kept.read_text(encoding="utf-8").splitlines()
        changes = list(difflib.unified_diff(before, found, str(kept), "now", lineterm="", n=0))
        if changes:
            print("\n".join(changes))
            sys.exit(f"FAILED: the public interface of {crate} is not what {kept} says; after a change that is meant: {sys.argv[0]} {pages} --write")
        print(f"1 passed: the public interface of {crate} is as listed, {len(found)} declarations")


main()
