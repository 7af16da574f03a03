"""What the site does to pages: links into the project lead to its repository (`repo_url` in mkdocs.yml), or are plain text as long as
there is none; formulas become MathML, and the figure whose text can be selected becomes part of its page."""

import html
import pathlib
import re

import latex2mathml.converter

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#]+)(#[^)]*)?\)")
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
FIGURE = re.compile(r'<img [^>]*src="[^"]*(pictures/which-method\.svg)"[^>]*>')
LETTERS = re.compile(r'(?:<mi mathvariant="monospace">\w</mi>)+')
BAR = re.compile(r'<mo( stretchy="false")?>(&#x0007C;|&#x02016;)</mo>')
DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)


def on_page_markdown(markdown, page, config, **_):
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def outside(match):
        target = (folder / match[2]).resolve()
        if (ROOT / "docs") in target.parents:
            return match[0]
        if not target.exists():
            raise SystemExit(f"{page.file.src_uri}: {match[2]} is not there")
        if not config.repo_url:
            return match[1]
        kind = "tree" if target.is_dir() else "blob"
        return f"[{match[1]}]({config.repo_url}/{kind}/main/{target.relative_to(ROOT)}{match[3] or ''})"

    return LINK.sub(outside, markdown)


def mathml(formula, display):
    # The converter does not know the short name of this bar, nor that it may be larger.
    text = re.sub(r"(\\[bB]igg?[lr])?\\\|", r"\\Vert ", html.unescape(formula).strip())
    converted = latex2mathml.converter.convert(text, display=display)
    if "\\" in re.sub("<[^>]*>", "", converted):
        raise SystemExit(f"not understood in a formula: {text}")
    # Names are one word, and bars around something stand close to it.
    converted = LETTERS.sub(lambda match: f'<mi class="name">{re.sub("<[^>]*>", "", match[0])}</mi>', converted)
    return BAR.sub(r'<mo stretchy="false" lspace="0" rspace="0">\2</mo>', converted)


def on_page_content(content, **_):
    content = FIGURE.sub(lambda match: (ROOT / "docs" / match[1]).read_text(encoding="utf-8"), content)
    content = INLINE.sub(lambda match: mathml(match[1], "inline"), content)
    return DISPLAY.sub(lambda match: mathml(match[1], "block"), content)
