#!/usr/bin/env python3
"""Import circles: files or modules of a crate that import each other, directly or over others.

A file imports another if a `use` or a path names an item that the other defines. Names that a module only passes on (`pub use`) count as imports
of the file that defines them. Tests are left out.

usage: circles.py [CRATE]      fails if there are circles, and lists their imports
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
DEFINITION = re.compile(r"(?:fn|struct|enum|trait|type|const|static|union|macro_rules!)\s+(\w+)")
PUBLIC_USE = re.compile(r"\bpub(?:\([^)]*\))? use ([^;]+);")
USE = re.compile(r"\buse ([^;]+);")


def paths(tree):
    """The paths of a `use` tree, such as `a::{b, c::d}`."""
    start, brace, rest = tree.strip().partition("{")
    if not brace:
        return [re.sub(r"\s+as\s+\w+", "", start).split("::")] if start else []
    branches, depth, branch = [], 0, ""
    for char in rest.rpartition("}")[0] + ",":
        depth += (char == "{") - (char == "}")
        if char == "," and depth == 0:
            branches.append(branch)
            branch = ""
        else:
            branch += char
    return [path for branch in branches if branch.strip() for path in paths(start + branch.strip())]


class Crate:
    """The modules of a crate, as tuples of names, with what they define, pass on and import."""

    def __init__(self, folder):
        self.texts = {}
        for file in (folder / "src").rglob("*.rs"):
            if file.stem in {"tests", "testing"} or file.name == "main.rs" and (folder / "src/lib.rs").exists():
                continue
            parts = file.relative_to(folder / "src").with_suffix("").parts
            module = parts[:-1] if parts[-1] in {"mod", "lib", "main"} else parts
            code = re.split(r"\n#\[cfg\(test\)\]\n(?:pub\(crate\) )?mod ", file.read_text())[0]
            self.texts[module] = re.sub(r"//[^\n]*", "", code)
        self.defined = {module: set(DEFINITION.findall(text)) for module, text in self.texts.items()}
        self.passed_on = {
            module: {path[-1]: path for tree in PUBLIC_USE.findall(text) for path in paths(tree)} for module, text in self.texts.items()
        }
        self.imports = {module: self.imports_of(module) for module in self.texts}

    def file_of(self, module, path, depth=0):
        """The module that defines the item that `path` names in `module`; None if it is outside of the crate."""
        path = [name.strip() for name in path]
        if depth > 8:
            return None
        if path[0] == "crate":
            at, path = (), path[1:]
        elif path[0] in {"super", "self"}:
            at = module
            while path and path[0] in {"super", "self"}:
                at, path = (at[:-1] if path[0] == "super" else at), path[1:]
        elif (*module, path[0]) in self.texts:
            at = module
        else:
            return None
        while path and (*at, path[0]) in self.texts:
            at, path = (*at, path[0]), path[1:]
        if not path or path[0] in {"self", "*"} or path[0] in self.defined.get(at, ()):
            return at
        onward = self.passed_on.get(at, {})
        if path[0] in onward:
            return self.file_of(at, onward[path[0]], depth + 1) or at
        if "*" in onward:
            found = self.file_of(at, onward["*"][:-1], depth + 1)
            if found is not None and path[0] in self.defined[found]:
                return found
        return at

    def imports_of(self, module):
        """The modules that a module imports, each with one of the paths."""
        text = PUBLIC_USE.sub("", self.texts[module])
        rest = USE.sub("", text)
        named = [path for tree in USE.findall(text) for path in paths(tree)]
        named += [path.split("::") for path in re.findall(r"\b((?:crate|super)(?:::\w+)+)", rest)]
        named += [path.split("::") for path in re.findall(r"\b\w+::\w+", rest) if (*module, path.split("::")[0]) in self.texts]
        found = {}
        for path in named:
            file = self.file_of(module, path)
            if file in self.texts and file != module:
                found.setdefault(file, "::".join(name.strip() for name in path))
        return found

    def circles(self, depth):
        """The sets of modules, cut to `depth` names, that import each other: the strongly connected components of more than one (Tarjan)."""
        graph = defaultdict(dict)
        for module, imports in self.imports.items():
            graph[module[:depth]].update((other[:depth], path) for other, path in imports.items())
        index, low, stack, found = {}, {}, [], []

        def visit(module):
            index[module] = low[module] = len(index)
            stack.append(module)
            for other in graph.get(module, ()):
                if other not in index:
                    visit(other)
                    low[module] = min(low[module], low[other])
                elif other in stack:
                    low[module] = min(low[module], index[other])
            if low[module] == index[module]:
                circle = stack[stack.index(module):]
                del stack[stack.index(module):]
                if len(circle) > 1:
                    found.append({one: {other: path for other, path in graph[one].items() if other in circle} for one in circle})

        for module in list(graph):
            if module not in index:
                visit(module)
        return found


def main(asked):
    folders = [folder for folder in sorted((ROOT / "crates").iterdir()) if (folder / "src").exists() and asked in {None, folder.name}]
    # Files in circles, and modules of the crate (files and folders in `src`) in circles.
    circles = [(folder.name, circle) for folder in folders for crate in [Crate(folder)] for depth in (1, None) for circle in crate.circles(depth)]
    for name, circle in circles:
        for module, imports in sorted(circle.items()):
            for other, path in imports.items():
                print(f"FAILED: {name}: {'/'.join(module) or 'lib'} imports {'/'.join(other) or 'lib'} ({path}), which imports it again")
    if circles:
        sys.exit(1)
    print("1 passed: no file and no module imports itself over others")


if __name__ == "__main__":
    sys.setrecursionlimit(10_000)
    main(sys.argv[1] if sys.argv[1:] else None)
