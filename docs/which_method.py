"""Draw the figure of which-method.md, how `auto` chooses a method: `python3 docs/which_method.py [FILE]`.

Each row is one kind of system, with its questions from left to right. "Yes" leads down to a method, "no" to the next question.
"""

import html
import pathlib
import sys

PICTURE = pathlib.Path(__file__).parent / "pictures" / "which-method.svg"
TITLE = "A decision diagram from the kind and the size of a system to a method. The table below has the same content."

# kind, questions with the method where they are answered by yes, the method where all are answered by no
KINDS = [
    ("many tridiagonal\nsystems of one size", [], "one system per\nSIMD lane"),
    (
        "one tridiagonal\nsystem, n unknowns",
        [
            ("n < 128", "pivoted"),
            ("n ≥ 4096, and couplings\nbetween partitions\nare below rounding", "spike-truncated"),
        ],
        "rpts",
    ),
    (
        "a banded system,\nl diagonals below, u\nabove, n unknowns",
        [
            ("l and u at most 1", "as tridiagonal"),
            ("solved once,\nl and u from 1 to 4,\nn ≥ 512 · max(l, u)³", "rpts"),
            ("n ≥ 32 (l + u) and\nn (l + u + 1) ≥ 131 072", "spike"),
        ],
        "pivoted",
    ),
    (
        "a block tridiagonal\nsystem, N block rows\nof b rows each",
        [
            ("b = 1", "as tridiagonal"),
            ("b > 8", "block-spike"),
            ("b > 4 (factored: b > 2),\nnot periodic,\nN b (4b − 1) ≥ 131 072", "spike"),
            ("N < 512 b (factored:\nN < 4096, or b > 2)", "pivoted"),
        ],
        "rpts",
    ),
]

STYLE = """
#auto-decides { font: 14px system-ui, sans-serif; --box: #eef1f5; --kind: #dfe6f0; --method: #d9efdd; --text: #1d2530; --edge: #808080 }
@media (prefers-color-scheme: dark) {
  #auto-decides:root { --box: #2c343e; --kind: #34435a; --method: #24512f; --text: #e6eaf0; --edge: #9a9a9a }
}
[data-md-color-scheme=slate] #auto-decides { --box: #2c343e; --kind: #34435a; --method: #24512f; --text: #e6eaf0; --edge: #9a9a9a }
#auto-decides text { fill: var(--text); text-anchor: middle }
#auto-decides .box { fill: var(--box); stroke: var(--edge) }
#auto-decides .kind { fill: var(--kind); stroke: var(--edge) }
#auto-decides .method { fill: var(--method); stroke: var(--edge) }
#auto-decides .name { font-family: ui-monospace, monospace }
#auto-decides .edge { stroke: var(--edge); fill: none }
#auto-decides .tip { fill: var(--edge) }
#auto-decides .answer { fill: var(--edge); font-size: 13px }
"""

KIND, QUESTION, METHOD = 160, 196, 140  # widths
HEIGHT, LOW, GAP, STEP = 60, 30, 38, 34  # of boxes, of methods; between boxes, sideways and down


def text(x, y, words, style=""):
    """Lines around a middle."""
    lines = words.split("\n")
    first = y - 8.5 * (len(lines) - 1) + 5
    of_line = lambda k, line: f'<text class="{style}" x="{x}" y="{first + 17 * k:g}">{html.escape(line)}</text>'
    return "\n".join(of_line(k, line) for k, line in enumerate(lines))


def box(x, y, width, height, style, words):
    """A box whose left edge is at x, with its middle at the height y."""
    corner = height / 2 if style == "method" and height == LOW else 6
    shape = f'<rect class="{style}" x="{x}" y="{y - height / 2:g}" width="{width}" height="{height}" rx="{corner:g}"/>'
    return shape + "\n" + text(x + width / 2, y, words, "name" if style == "method" and "\n" not in words else "")


def arrow(x, y, dx, dy, answer=""):
    """An arrow to the right or down, with an answer beside it."""
    tip = f"M{x + dx} {y + dy}l-7 -4v8z" if dx else f"M{x + dx} {y + dy}l-4 -7h8z"
    beside = text(x + dx / 2 - 3, y - 10, answer, "answer") if dx else text(x + 17, y + dy / 2 - 2, answer, "answer")
    return f'<path class="edge" d="M{x} {y}l{dx} {dy}"/><path class="tip" d="{tip}"/>' + (beside if answer else "")


def row(y, kind, questions, last):
    """The row of one kind, and where it ends on the right."""
    parts, x = [box(1, y, KIND, HEIGHT, "kind", kind)], 1 + KIND
    for number, (question, method) in enumerate(questions):
        parts.append(arrow(x, y, GAP, 0, "no" if number else ""))
        x += GAP
        parts.append(box(x, y, QUESTION, HEIGHT, "box", question))
        middle = x + QUESTION / 2
        parts.append(arrow(middle, y + HEIGHT / 2, 0, STEP, "yes"))
        parts.append(box(middle - METHOD / 2, y + HEIGHT / 2 + STEP + LOW / 2, METHOD, LOW, "method", method))
        x += QUESTION
    parts.append(arrow(x, y, GAP, 0, "no" if questions else ""))
    parts.append(box(x + GAP, y, METHOD, HEIGHT if "\n" in last else LOW, "method", last))
    return "\n".join(parts), x + GAP + METHOD


def drawing():
    y, right, rows = 1 + HEIGHT / 2, 0, []
    for kind, questions, last in KINDS:
        drawn, end = row(y, kind, questions, last)
        rows.append(drawn)
        right = max(right, end)
        y += HEIGHT + 26 + (STEP + LOW if questions else 0)
    bottom = y - HEIGHT / 2 - 25
    head = f'<svg xmlns="http://www.w3.org/2000/svg" id="auto-decides" viewBox="0 0 {right + 1:g} {bottom:g}" role="img" aria-label="{TITLE}">'
    return "\n".join([head, f"<style>{STYLE}</style>", *rows, "</svg>\n"])


if __name__ == "__main__":
    (pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE).write_text(drawing(), encoding="utf-8")
