#!/usr/bin/env python3
"""Print the licences of all crates that are compiled into a program or a library, as their authors ask of whoever distributes it.

Equal texts are printed once, with the crates that they belong to. Needs cargo, and its downloads.

usage: licences.py CRATE [FEATURES] > LICENSE-THIRD-PARTY      for example: licences.py bandsolve-cli cuda
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Of the font in pictures, which is in one of our crates.
OURS = ["LICENSE-DejaVu"]
NAMES = ("LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE")


def host():
    lines = subprocess.run(["rustc", "-vV"], capture_output=True, text=True, check=True).stdout.splitlines()
    return next(line.removeprefix("host: ") for line in lines if line.startswith("host: "))


def compiled(crate, features):
    """The packages that are compiled into a crate of the workspace: those of cargo's tree of normal dependencies."""
    options = ["--filter-platform", host(), "--format-version", "1"]
    metadata = json.loads(subprocess.run(["cargo", "metadata", *options], cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    named = {(package["name"], package["version"]): package for package in metadata["packages"]}
    # `cargo metadata` turns on the features of the whole workspace, `cargo tree` those of one crate.
    tree = ["cargo", "tree", "--package", crate, "--features", features, "--edges", "normal", "--prefix", "none", "--format", "{p}"]
    lines = subprocess.run(tree, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    keys = sorted({(words[0], words[1].removeprefix("v")) for words in map(str.split, lines) if len(words) > 1})
    return [named[key] for key in keys]


def texts(package):
    """The licence files of a package; for one of ours, those of others' work alone, because the archive has our own."""
    folder = Path(package["manifest_path"]).parent
    ours = folder.is_relative_to(ROOT)
    files = [folder / name for name in OURS] if ours else sorted(folder.iterdir())
    return [file.read_text(encoding="utf-8").strip() for file in files if file.is_file() and (ours or file.name.upper().startswith(NAMES))]


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    by_text, title = {}, "The crates in this list are parts of this program or library. Their licenses follow the list."
    print(f"{title}\n")
    for package in compiled(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else ""):
        name = f"{package['name']} {package['version']}"
        found = texts(package)
        for text in found:
            by_text.setdefault(text, []).append(name)
        if found or package["source"]:
            print(f"{name}: {package['license']}" + ("" if found else " (the package contains no text of it)"))
    print("the standard library of Rust: MIT OR Apache-2.0")
    for text, names in by_text.items():
        print(f"\n{'-' * 80}\n{', '.join(names)}\n{'-' * 80}\n{text}")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8")
    main()
