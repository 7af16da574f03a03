"""Steps of the site build.

Pages of the reference are made from the installed package and program: one for every public Python name and for every command. Links into
the project lead to its repository (`repo_url` in mkdocs.yml), or are plain text while there is none. Formulas become MathML. The figure whose
text can be selected becomes part of its page.
"""

import html
import importlib
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess

import latex2mathml.converter
from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)+[^)#]+)(#[^)]*)?\)")
TABS = re.compile(r"^<!-- tabs -->\n(.*?)^<!-- end of tabs -->$", re.DOTALL | re.MULTILINE)
TAB = re.compile(r"^\*\*(.+)\*\*$\n", re.MULTILINE)
FENCE = re.compile(r"^```rust,.*$", re.MULTILINE)
INLINE = re.compile(r'<span class="arithmatex">\\\((.*?)\\\)</span>', re.DOTALL)
FIGURE = re.compile(r'<img [^>]*src="[^"]*(pictures/which-method\.svg)"[^>]*>')
LETTERS = re.compile(r'(?:<mi mathvariant="monospace">\w</mi>)+')
BAR = re.compile(r'<mo( stretchy="false")?>(&#x0007C;|&#x02016;)</mo>')
DISPLAY = re.compile(r'<div class="arithmatex">\\\[(.*?)\\\]</div>', re.DOTALL)


def public_names():
    """Every public module of the package with its public functions and classes."""
    import bandsolve

    modules = [bandsolve] + [
        importlib.import_module(f"bandsolve.{found.name}") for found in pkgutil.iter_modules(bandsolve.__path__) if not found.name.startswith("_")
    ]
    for module in modules:
        # Without `__all__`, what the module itself defines is public.
        own = [name for name, item in vars(module).items() if getattr(item, "__module__", "") == module.__name__ and not name.startswith("_")]
        names = [name for name in getattr(module, "__all__", own) if not inspect.ismodule(getattr(module, name))]
        if names:
            yield module, sorted(names)


def first_sentence(item):
    """The first line of a docstring."""
    return (inspect.getdoc(item) or "").partition("\n")[0]


def directive(path, item):
    """What puts the docstring of a name on a page. Functions that take any arguments have parameters that no signature names."""
    open_ended = not inspect.isclass(item) and any(parameter.kind == parameter.VAR_POSITIONAL for parameter in inspect.signature(item).parameters.values())
    options = "    options:\n      docstring_options: { warn_unknown_params: false }\n" if open_ended else ""
    return f"::: {path}.{item.__name__}\n{options}"


def rows(entries):
    """A table of links: (text, address, what it is)."""
    return "\n".join(["| name | purpose |", "| --- | --- |"] + [f"| [`{name}`]({address}) | {about} |" for name, address, about in entries])


def python_reference():
    """The menu of the Python reference, and its pages by address."""
    index, menu, pages = ["# Python reference"], ["reference/python/index.md"], {}
    public = list(public_names())
    silent = [f"{module.__name__}.{name}" for module, names in public for name in names if ">>> " not in (inspect.getdoc(getattr(module, name)) or "")]
    if silent:
        raise SystemExit(f"no example in the docstring of {', '.join(silent)}")
    for module, names in public:
        path = module.__name__
        addresses = {name: f"{path}.{name}.md" for name in names}
        index += [f"## {path}", first_sentence(module), rows((name, addresses[name], first_sentence(getattr(module, name))) for name in names)]
        menu.append({path: [{name: f"reference/python/{addresses[name]}"} for name in names]})
        pages |= {f"reference/python/{addresses[name]}": directive(path, getattr(module, name)) for name in names}
    pages["reference/python/index.md"] = "\n\n".join(index)
    return {"Python": menu}, pages


def definitions(said):
    """The help of a command as Markdown: headings, and every argument and option with its description."""
    lines = []
    for line in re.sub(r"([<*\[])", r"\\\1", said).splitlines():
        indent = len(line) - len(line.lstrip())
        if line.startswith("Usage: "):
            lines += ["```text", line.removeprefix("Usage: ").replace("\\", ""), "```"]
        elif indent == 0 and line.endswith(":"):
            lines += [f"## {line[:-1]}", ""]
        elif 0 < indent < 10:
            entry = line.strip().replace("\\", "")
            lines += ["", f"`{entry}`"] if not lines[-1].startswith("`") else [f"`{entry}`"]
            lines.append("")
        elif indent >= 10:
            if lines[-1] == "" and lines[-2].startswith("`"):
                lines[-1] = f":   {line.strip()}"
            else:
                lines.append("    " + line[10:])
        else:
            lines.append(line)
    return "\n".join(lines)


def command_reference():
    """The menu of the commands, and their pages by address."""

    def said(*arguments):
        done = subprocess.run(["bandsolve", *arguments, "--help"], executable=os.environ["BANDSOLVE_PROGRAM"], capture_output=True, text=True, check=True)
        return done.stdout.rstrip()

    overview = said()
    commands = re.findall(r"^  ([a-z]+)  +(\S.*)$", overview.partition("Commands:")[2].partition("Options:")[0], re.MULTILINE)
    commands = [(name, about) for name, about in commands if name != "help"]
    index = rows((f"bandsolve {name}", f"{name}.md", about) for name, about in commands)
    pages = {f"reference/commands/{name}.md": f"# bandsolve {name}\n\n{definitions(said(name))}\n" for name, _ in commands}
    menu = ["reference/commands/index.md"] + [{name: f"reference/commands/{name}.md"} for name, _ in commands]
    return {"Command line": menu}, {"reference/commands/index.md": f"# Commands\n\n{index}\n\n```text\n{overview}\n```\n", **pages}


def on_config(config):
    parts = [python_reference(), command_reference()]
    config.reference_pages = {address: text for _, pages in parts for address, text in pages.items()}
    place = next(entry for entry in config.nav if "Reference" in entry)
    place["Reference"] = [menu for menu, _ in parts] + place["Reference"]
    return config


def on_files(files, config):
    for address, text in config.reference_pages.items():
        files.append(File.generated(config, address, content=text))
    return files


def tabbed(region):
    """Tabs of languages, from a region whose parts begin with the name of the language in bold."""
    before, *parts = TAB.split(region[1])
    if before.strip():
        raise SystemExit(f"a region of tabs begins with {before.strip()!r}, not with the name of the first tab")
    indented = [re.sub(r"^(?=.)", "    ", text.strip(), flags=re.MULTILINE) for text in parts[1::2]]
    return "\n\n".join(f'=== "{name}"\n\n{text}' for name, text in zip(parts[::2], indented))


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

    # The attributes of a fence are for rustdoc.
    return TABS.sub(tabbed, LINK.sub(outside, FENCE.sub("```rust", markdown)))


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
