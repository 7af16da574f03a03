#!/usr/bin/env python3
"""All texts of the library and its programs that a user can see, messages.txt: so that their wording is reviewed as a whole.

A text is a string of at least two words in the source code, except those of tests, assertions and panics.

usage: messages.py [--write]      compares messages.txt with the sources, or writes it
"""

import ast
import re
import sys
from pathlib import Path

from sources import ROOT, listed

PAGE = Path(__file__).with_name("messages.txt")
PATTERNS = ["crates/*/src/*.rs", "python/bandsolve/*.py"]
LEFT_OUT = {"bandsolve-testkit", "bandsolve-bench", "bandsolve-gallery", "header"}
HEAD = "# Texts that a user can see, by source file. Written by docs/messages.py; a test compares this file with the sources.\n"
# A Rust token: a comment, a string, a raw string, a character, a lifetime, or a word with an opening parenthesis.
TOKENS = re.compile(
    r"""//[^\n]*|/\*.*?\*/|b?r(?P<hash>\#*)"(?P<raw>.*?)"(?P=hash)|b?"(?P<text>(?:\\.|[^"\\])*)"|'(?:\\.[^']*|[^'\\])'|'\w+|(?P<word>\w+!?)\s*\(|[()]""",
    re.DOTALL | re.VERBOSE,
)
# Their texts are for developers.
INTERNAL = {"expect", "unreachable!", "panic!", "assert!", "assert_eq!", "assert_ne!", "debug_assert!", "debug_assert_eq!", "doc", "concat!", "cfg", "feature"}


def is_text(text):
    """Whether a string contains two words."""
    return re.search(r"[A-Za-z]{2,}[,:;.]? [A-Za-z{`]", text) is not None


def plain(text):
    """A string literal of Rust without line continuations."""
    return re.sub(r"\\\n\s*", "", text).replace('\\"', '"')


def of_rust(source):
    source = re.split(r"\n#\[cfg\(test\)\]\nmod tests", source)[0]
    # Attributes of clap and serde contain texts; those of the compiler do not.
    calls, texts = [], []
    for token in TOKENS.finditer(source):
        piece = token[0]
        if token["word"]:
            calls.append(token["word"])
        elif piece == "(":
            calls.append("")
        elif piece == ")" and calls:
            calls.pop()
        else:
            text = token["raw"] if token["raw"] is not None else token["text"]
            if text and is_text(text) and not INTERNAL & set(calls):
                texts.append(plain(text))
    return texts


def of_python(source):
    tree = ast.parse(source)
    documentation = {id(node.body[0].value) for node in ast.walk(tree)
                     if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node, clean=False) is not None}
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    texts = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            texts.append((node.lineno, "".join(part.value if isinstance(part, ast.Constant) else "{" + ast.unparse(part.value) + "}" for part in node.values)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation | inner:
            texts.append((node.lineno, node.value))
    return [text for _, text in sorted(texts, key=lambda pair: pair[0]) if is_text(text)]


def page():
    blocks = [HEAD]
    for name in listed(*PATTERNS):
        path = ROOT / name
        if path.stem in {"tests", "testing"} or (LEFT_OUT | {"tests"}) & set(path.parts):
            continue
        source = path.read_text()
        texts = dict.fromkeys(of_python(source) if path.suffix == ".py" else of_rust(source))
        if texts:
            blocks.append("\n".join([name, *("  " + text.replace("\n", "\\n") for text in texts)]) + "\n")
    return "\n".join(blocks)


if __name__ == "__main__":
    if "--write" in sys.argv[1:]:
        PAGE.write_text(page())
    elif not PAGE.exists() or PAGE.read_text() != page():
        sys.exit("FAILED: docs/messages.txt does not have the texts of the sources. Run `python3 docs/messages.py --write`, and read the changes")
    else:
        print("1 passed: docs/messages.txt has the texts of the sources")
