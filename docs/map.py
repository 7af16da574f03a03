#!/usr/bin/env python3
"""The map of the source files, MAP.md: each file with the first sentence of its documentation.

usage: map.py [--write]      compares MAP.md with the files, or writes it
"""

import ast
import sys
from pathlib import Path

from sources import ROOT, listed

PATTERNS = ["crates/*/src/*.rs", "crates/*/kernels/*", "crates/*/emulator/*", "python/bandsolve/*.py"]
# How comment lines begin, by the end of the name.
MARKS = {".rs": "//!", ".cuh": "//", ".cu": "//", ".cpp": "//", ".hpp": "//", ".h": "//"}
HEAD = """# Map of the source files

Each file with the first sentence of its documentation. `python3 docs/map.py --write` writes this page, and a test compares it with the files.
[Architecture](ARCHITECTURE.md) explains how the parts work together.
"""


def documentation(path):
    """The text at the beginning of a file."""
    text = path.read_text()
    if path.suffix == ".py":
        return ast.get_docstring(ast.parse(text)) or ""
    mark = MARKS[path.suffix]
    lines = []
    for line in text.splitlines():
        if not line.startswith(mark):
            break
        lines.append(line[len(mark) :].strip())
    return "\n".join(lines)


def first_sentence(text):
    paragraph = " ".join(text.split("\n\n")[0].split())
    return paragraph.split(". ")[0].rstrip(".:")


def files():
    names = sorted(listed(*PATTERNS), key=lambda name: (Path(name).parent.as_posix(), name))
    return [name for name in names if Path(name).suffix in {".py", *MARKS} and not name.endswith("tests.rs")]


def page():
    lines, folder, missing = [HEAD], None, []
    for name in files():
        sentence = first_sentence(documentation(ROOT / name))
        if not sentence:
            missing.append(name)
        if Path(name).parent.as_posix() != folder:
            folder = Path(name).parent.as_posix()
            lines.append(f"\n## {folder}\n" if lines[1:] else f"## {folder}\n")
        lines.append(f"- [{Path(name).name}]({name}): {sentence}")
    return "\n".join(lines) + "\n", missing


def main():
    text, missing = page()
    for name in missing:
        print(f"FAILED: {name} does not begin with a sentence that says what it is for")
    target = ROOT / "MAP.md"
    if sys.argv[1:] == ["--write"]:
        target.write_text(text)
    elif not target.exists() or target.read_text() != text:
        sys.exit("FAILED: MAP.md differs from the files: python3 docs/map.py --write")
    if missing:
        sys.exit(1)
    print(f"1 passed: MAP.md lists {text.count(chr(10) + '- ')} files")


if __name__ == "__main__":
    main()
