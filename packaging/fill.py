#!/usr/bin/env python3
"""Fill the conda recipe and the Homebrew formula in for a release: version, repository, and the checksums of its files.

usage: fill.py REPOSITORY SHA256SUMS OUT      for example: fill.py owner/name dist/SHA256SUMS dist

SHA256SUMS is what `sha256sum` prints for the archives and the source distribution. Writes recipe.yaml and bandsolve.rb to the folder OUT.
"""

import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
TEMPLATES = ["conda/recipe.yaml", "homebrew/bandsolve.rb"]


def version():
    """The version of the workspace. (Python 3.10 has no module for TOML.)"""
    manifest = (HERE.parent / "Cargo.toml").read_text(encoding="utf-8")
    return re.search(r'^\[workspace\.package\]\nversion = "(.+)"$', manifest, re.MULTILINE)[1]


def values(repository, sums):
    """What replaces each word between @."""
    found = {"VERSION": version(), "REPOSITORY": repository}
    for checksum, name in (line.split() for line in sums.splitlines()):
        # `sha256sum` marks binary files with an asterisk.
        name = Path(name.lstrip("*")).name
        if name == f"bandsolve-{version()}.tar.gz":
            found["SHA256_SDIST"] = checksum
        elif target := re.fullmatch(rf"bandsolve-{re.escape(version())}-(.+)\.tar\.gz", name):
            found["SHA256_" + target[1].upper().replace("-", "_")] = checksum
    return found


def filled(text, words):
    """A template with all words replaced. A word without a value is an error, so that no file is published with a gap."""
    missing = sorted(set(re.findall(r"@([A-Z0-9_]+)@", text)) - set(words))
    if missing:
        sys.exit(f"fill.py: SHA256SUMS has no file for {', '.join(missing)}")
    # The comment about the template.
    text = re.sub(r"^# .*(?:\n# `packaging/fill\.py`.*| `packaging/fill\.py`.*)$\n", "", text, count=1, flags=re.MULTILINE)
    return re.sub(r"@([A-Z0-9_]+)@", lambda word: words[word[1]], text)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    repository, sums, out = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    words = values(repository, sums.read_text(encoding="utf-8"))
    for name in TEMPLATES:
        template = HERE / name
        (out / template.name).write_text(filled(template.read_text(encoding="utf-8"), words), encoding="utf-8")
        print(out / template.name)


if __name__ == "__main__":
    main()
