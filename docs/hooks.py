"""What the site does to pages: links into the project lead to its repository, formulas become MathML, and the figure whose text
can be selected becomes part of its page."""

import html
import pathlib
import re

import latex2mathml.converter

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\]\(((?:\.\./)+[^)#]+)(#[^)]*)?\)")
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
FIGURE = re.compile(r'<img [^>]*src="[^"]*(pictures/which-method\.svg)"[^>]*>')
DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)


def on_page_markdown(markdown, page, config, **_):
    folder = (ROOT / "docs" / page.file.src_uri).parent

    def outside(match):
        target = (folder / match[1]).resolve()
        if (ROOT / "docs") in target.parents:
            return match[0]
        if not target.exists():
            raise SystemExit(f"{page.file.src_uri}: {match[1]} is not there")
        kind = "tree" if target.is_dir() else "blob"
        return f"]({config.repo_url}/{kind}/main/{target.relative_to(ROOT)}{match[2] or ''})"

    return LINK.sub(outside, markdown)


def on_page_content(content, **_):
    def formula(display):
        # The converter does not know the short name of this bar.
        text = lambda match: html.unescape(match[1]).strip().replace(r"\|", r"\Vert ")
        return lambda match: latex2mathml.converter.convert(text(match), display=display)

    content = FIGURE.sub(lambda match: (ROOT / "docs" / match[1]).read_text(encoding="utf-8"), content)
    return DISPLAY.sub(formula("block"), INLINE.sub(formula("inline"), content))
