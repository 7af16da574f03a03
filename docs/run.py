"""Run the Python blocks of a page and compare what they print with the page.

A ```text block that directly follows a ```python block is its output. The blocks of a tutorial are one program; on all other pages
every block is a program of its own. Blocks that need JAX or PyTorch are left out where it is not installed. Times vary: numbers before a unit of time, or before "times", are not compared.

usage: run.py PAGE...            report the blocks whose output differs
       run.py --write PAGE...    run the blocks and write their output, and the pictures they save, into the page
       run.py --notebook FOLDER PAGE...    write every page as a notebook
"""

import contextlib
import importlib.util
import io
import os
import pathlib
import re
import shutil
import sys
import tempfile

DOCS = pathlib.Path(__file__).resolve().parent
BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```\n(?:\n?```text\n(?P<output>.*?)^```\n)?", re.DOTALL | re.MULTILINE)
OPTIONAL = re.compile(r"^(?:import|from) (jax|torch)\b", re.MULTILINE)
VARIES = re.compile(r"\d[\d.,]*(e[-+]?\d+)?(?= ?(ns|µs|ms|s|seconds|times)\b)")


def compared(output):
    """The output without what varies."""
    return [VARIES.sub("#", line).rstrip() for line in output.rstrip().splitlines()]


def missing(code):
    """The optional packages that are not installed, but imported."""
    return sorted(name for name in set(OPTIONAL.findall(code)) if importlib.util.find_spec(name) is None)


def run(page):
    """Run the blocks of a page in a folder of their own; yield each block with what it printed."""
    page = pathlib.Path(page).resolve()
    text = page.read_text(encoding="utf-8")
    one_program, before = page.parent.name == "tutorials", os.getcwd()
    names = {"__name__": "example"}
    with tempfile.TemporaryDirectory() as folder:
        # The same picture has the same bytes.
        pathlib.Path(folder, "matplotlibrc").write_text("backend: svg\nsvg.hashsalt: bandsolve\n", encoding="utf-8")
        os.environ["SOURCE_DATE_EPOCH"] = "0"
        os.chdir(folder)
        try:
            for block in BLOCK.finditer(text):
                if missing(block["code"]):
                    continue
                if not one_program:
                    names = {"__name__": "example"}
                # The lines in a traceback are those of the page.
                code = "\n" * text[: block.start("code")].count("\n") + block["code"]
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile(code, str(page), "exec"), names)
                yield block, printed.getvalue(), pathlib.Path(folder)
        finally:
            os.chdir(before)


def differences(page):
    """The blocks whose output is not the one on the page, as text. A block without an output on the page is only run."""
    for block, printed, _ in run(page):
        if block["output"] is not None and compared(printed) != compared(block["output"]):
            yield f"{page}: this block\n{block['code']}prints\n{printed}but the page says\n{block['output']}"


def write(page):
    """Write the output of the blocks of a page into it, and the pictures that they save into docs/pictures."""
    page = pathlib.Path(page)
    text, made, end = page.read_text(encoding="utf-8"), "", 0
    for block, printed, folder in run(page):
        made += text[end : block.start()] + f"```python\n{block['code']}```\n"
        if printed:
            made += f"\n```text\n{printed.rstrip()}\n```\n"
        end = block.end()
        for picture in folder.glob("*.svg"):
            shutil.move(picture, DOCS / "pictures" / picture.name)
    page.write_text(made + text[end:], encoding="utf-8")


def notebook(page, folder):
    """Write a page as a notebook, without the outputs."""
    import jupytext

    text = BLOCK.sub(lambda block: f"```python\n{block['code']}```\n", pathlib.Path(page).read_text(encoding="utf-8"))
    cells = jupytext.reads(text, fmt="md")
    jupytext.write(cells, pathlib.Path(folder) / f"{pathlib.Path(page).stem}.ipynb")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--write", *pages]:
            for page in pages:
                write(page)
        case ["--notebook", folder, *pages]:
            for page in pages:
                notebook(page, folder)
        case pages:
            found = [difference for page in pages for difference in differences(page)]
            print("\n".join(found))
            sys.exit(bool(found))
