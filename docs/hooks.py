"""Steps of the site build.

Pages of the reference are made from the installed package, the program and the C headers: one for every public Python name, every command
and every subject of the C library. Rust items have the pages of rustdoc. Links into
the project lead to its repository (`repo_url` in mkdocs.yml), or are plain text while there is none. Formulas become MathML. The figure whose
text can be selected becomes part of its page.
"""

import html
import importlib.util
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import types

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


def stand_in_for_torch():
    """Let `bandsolve.torch` be imported without PyTorch, which is large: the reference needs no more than its docstrings."""
    if importlib.util.find_spec("torch") is None:
        sys.modules["torch"] = types.SimpleNamespace(autograd=types.SimpleNamespace(Function=object))


def public_names():
    """Every public module of the package with its public functions and classes."""
    import bandsolve

    stand_in_for_torch()
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
    """What puts the docstring of a name on a page.

    Functions that take any arguments have parameters that no signature names. The docstring of a named tuple describes its fields.
    """
    if hasattr(item, "_fields"):
        return f"::: {path}.{item.__name__}\n    options:\n      members: false\n"
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


C_FOLDER = ROOT / "crates/bandsolve-capi"
C_PROGRAMS = ["systems.c", "lapack.c", "iterate.c", "poisson.c"]
# Subjects of the C reference: the address of a page, its title, and which functions it describes.
C_PAGES = [
    ("settings", "Statuses, reports and settings", r"bandsolve(Version|StatusName|Last\w+|Set\w+)$"),
    ("tridiagonal", "Tridiagonal systems", r"bandsolve<t>c?gtsv(_bufferSizeExt)?$"),
    ("lapack", "LAPACK's names", r"bandsolve_"),
    ("sparse-right-hand-sides", "Sparse right-hand sides", r"bandsolve<t>gtsv_csc\w+$"),
    ("block-tridiagonal", "Block tridiagonal systems", r"bandsolve<t>c?bgt\w+$"),
    ("banded", "Banded systems", r"bandsolve<t>gbsv\w*$"),
    ("sparse-matrices", "Sparse matrices and forests", r"bandsolve(<t>csr(mv|_create\w*|_prepare|_factor|_forest|_tridiagonal)|Csr\w+|Forest\w+)$"),
    ("iterative-solvers", "Preconditioners and iterative solvers", r"bandsolve(<t>csr_(precond|krylov)\w*|<t>precond\w+|Precond\w+|Iteration\w+)$"),
    ("poisson", "Poisson problems", r"bandsolve(<t>poisson\w+|Poisson\w+)$"),
    ("gpu", "Functions for GPUs", r"bandsolveGpu"),
]
C_DECLARATION = re.compile(r"/\*\*\n((?: \*.*\n)+?) \*/\n((?:const )?\w+ \*?(bandsolve\w+)\([^;]*\);)")
C_PART = re.compile(r"^(?:/\*(?:(?!\*/).)*\*/\n)?(?:static|int) [^;\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
C_TYPED = re.compile(r"bandsolve(Gpu|_)?([SDCZ]|(?<=_)[sdcz])(c?b?gt|c?gb|pt|c?pb|st(?:e|c)|factor_det|csr|precond_|poisson_|status_)")


def c_functions():
    """Every function of the C headers by its name with `<t>` for the number type: (description, declaration in double precision)."""
    found = {}
    for header in ["bandsolve.h", "bandsolve_gpu.h"]:
        text = (C_FOLDER / "include" / header).read_text(encoding="utf-8")
        documented = C_DECLARATION.findall(text)
        declared = re.findall(r"^(?:const )?\w+ \*?(bandsolve\w+)\(", text, re.MULTILINE)
        silent = set(declared) - {name for _, _, name in documented}
        if silent:
            raise SystemExit(f"{header}: no description of {', '.join(sorted(silent))}")
        for comment, declaration, name in documented:
            typed = C_TYPED.match(name)
            if not typed or typed[2] in "Dd":
                family = C_TYPED.sub(r"bandsolve\1<t>\3", name)
                found[family] = re.sub(r"^ \* ?", "", comment, flags=re.MULTILINE), declaration
    return found


def c_types():
    """Every enum and structure of the C header by its name: (description, [(declaration, description) of each member])."""
    plain = lambda comment: " ".join(line.strip().removeprefix("*").strip() for line in comment.splitlines())
    found = {}
    for part in (C_FOLDER / "include" / "bandsolve.h").read_text(encoding="utf-8").split("\n/**\n"):
        comment, _, declaration = part.partition("\n */\n")
        if declaration.startswith(("typedef enum {", "typedef struct {")):
            body, _, name = declaration.partition("\n} ")
            members = [member.partition("\n   */\n") for member in body.split("\n  /**\n")[1:]]
            members = [(member.splitlines()[0].strip(" ,;"), plain(text)) for text, _, member in members]
            found[name[: name.index(";")]] = plain(comment), members
    return found


def c_type_section(name, description, members):
    """The section of an enum or a structure: a table of its members."""
    escaped = [(declaration, text.replace("|", "\\|")) for declaration, text in members]
    table = ["| member | meaning |", "| --- | --- |"] + [f"| `{declaration}` | {text} |" for declaration, text in escaped]
    return f"## `{name}`\n\n{description}\n\n" + "\n".join(table)


def c_examples(family):
    """The functions of the example programs that call a function of the library: (text, program)."""
    call = re.compile(re.escape(family).replace("<t>", "[SDCZsdcz]") + r"\(")
    found = []
    for program in C_PROGRAMS:
        parts = C_PART.findall((C_FOLDER / "examples" / program).read_text(encoding="utf-8"))
        found += [(part.strip(), program) for part in parts if call.search(part)]
    return found


def c_reference():
    """The menu of the C reference, and its pages by address."""
    functions, c_declared = c_functions(), c_types()
    pages, menu = {}, ["reference/c/index.md"]
    types = "`<t>` is `S` (`float`), `D` (`double`), `C` (`float _Complex`) or `Z` (`double _Complex`). The pages show the declarations for `double`."
    types += " The argument `p` chooses the pivoting; pass `BANDSOLVE_DEFAULT_PIVOTING`."
    index = ["# C reference", f"{types} The [guide](../../c-api.md) explains installation, storage, memory and errors."]
    for address, title, names in C_PAGES:
        own = {name: functions.pop(name) for name in list(functions) if re.match(names, name)}
        used = " ".join(declaration for _, declaration in own.values())
        said, shown = [f"# {title}"], {}
        # List each function before the function that returns the size of its buffer.
        for name in sorted(own, key=lambda name: [*own].index(name) + ("uffer" in name) * 1.5):
            description, declaration = own[name]
            said += [f"## `{name}` {{ #{anchor(name)} }}", description.strip(), f"```c\n{indented(declaration)}\n```"]
            examples = c_examples(name)
            before = next((text for text, _ in examples if text in shown), None)
            if before:
                said.append(f"Example: see [`{shown[before]}`](#{anchor(shown[before])}).")
            elif examples:
                text, program = examples[0]
                shown[text] = name
                said.append(f"Example, from [{program}]({program}), which contains the helper functions:\n\n```c\n{text}\n```")
            elif address != "gpu":
                raise SystemExit(f"no example program calls {name}")
        # List each type on the first page whose functions use it, also as a member of another type.
        while name := next((name for name in c_declared if re.search(rf"\b{name}\b", used)), None):
            description, members = c_declared.pop(name)
            said.append(c_type_section(name, description, members))
            used += f" {description} {members}"
        if address == "gpu":
            program = "The [guide](../../c-api.md#on-a-gpu) has a complete program."
            said.insert(1, f"The arguments are those of the functions for CPU memory, after the device and before the stream. {program}")
        pages[f"reference/c/{address}.md"] = "\n\n".join(said)
        menu.append({title: f"reference/c/{address}.md"})
        index += [f"## {title}", rows((name, f"{address}.md#{anchor(name)}", first_line(text)) for name, (text, _) in own.items())]
    if functions or c_declared:
        raise SystemExit(f"no page of the C reference has {', '.join([*functions, *c_declared])}")
    pages["reference/c/index.md"] = "\n\n".join(index)
    pages |= {f"reference/c/{program}": (C_FOLDER / "examples" / program).read_text(encoding="utf-8") for program in C_PROGRAMS}
    return {"C": menu}, pages


def indented(declaration):
    """A declaration in one line if it is short, otherwise with one argument per line."""
    begin, arguments = re.sub(r"\s+", " ", declaration).removesuffix(");").split("(", 1)
    line = f"{begin}({arguments});"
    return line if len(line) <= 88 else f"{begin}(\n    " + ",\n    ".join(arguments.split(", ")) + ");"


# Crates of the Rust reference, and what to find there.
RUST_CRATES = [
    ("bandsolve", "tridiagonal, periodic, block tridiagonal and banded systems, batches, linear recurrences"),
    ("bandsolve_sparse", "sparse matrices, preconditioners, iterative solvers, linear forests"),
    ("bandsolve_poisson", "Poisson and Helmholtz problems on boxes"),
    ("bandsolve_eigen", "eigenvalues of banded matrices and pencils"),
    ("bandsolve_mpi", "systems, eigenvalues and Poisson problems over MPI ranks"),
    ("bandsolve_gpu", "systems on NVIDIA GPUs"),
    ("bandsolve_io", "Matrix Market, `.npy` and `.npz` files"),
    ("bandsolve_gallery", "test matrices and reference solutions"),
]


def rust_reference():
    """The page that leads to the pages of rustdoc, which the site contains in the folder `rust`."""
    table = ["| crate | purpose |", "| --- | --- |"]
    table += [f'| <a href="../../rust/{name}/index.html"><code>{name}</code></a> | {purpose} |' for name, purpose in RUST_CRATES]
    text = "# Rust reference\n\nEach crate has a page with an example, a table of its types and its cargo features.\n\n" + "\n".join(table) + "\n"
    return {"Rust": "reference/rust.md"}, {"reference/rust.md": text}


def anchor(function):
    """The anchor of a C function on its page."""
    return function.replace("<t>", "-")


def first_line(text):
    """The first paragraph of a description, in one line."""
    return " ".join(text.strip().partition("\n\n")[0].split())


def plain(line):
    """A line of Markdown without escapes, for use inside code."""
    return line.replace("\\", "").replace("&lt;", "<")


def definitions(said):
    """The help of a command as Markdown: headings, and every argument and option with its description."""
    lines = []
    for line in re.sub(r"([*\[])", r"\\\1", said).replace("<", "&lt;").splitlines():
        indent = len(line) - len(line.lstrip())
        if line.startswith("Usage: "):
            lines += ["```text", plain(line.removeprefix("Usage: ")), "```"]
        elif indent == 0 and line.endswith(":"):
            lines += [f"## {line[:-1]}", ""]
        elif 0 < indent < 10:
            # Short descriptions stand in the line of their option.
            entry, _, about = re.sub(r"(?<=\S) {2,}", "\0", line.strip(), count=1).partition("\0")
            lines += ["", f"`{plain(entry)}`"] if not lines[-1].startswith("`") else [f"`{plain(entry)}`"]
            lines.append(f":   {about}" if about else "")
        elif indent >= 10:
            if lines[-1] == "" and lines[-2].startswith("`"):
                lines[-1] = f":   {line.strip()}"
            else:
                lines.append("    " + line[10:])
        else:
            lines.append(line)
    return "\n".join(lines)


def command_reference():
    """The menu of the commands of each program, and their pages by address. The program for MPI exists where MPI is installed."""
    folder = pathlib.Path(os.environ["BANDSOLVE_PROGRAM"]).parent
    pages, menu, index = {}, ["reference/commands/index.md"], ["# Commands"]
    for program in ["bandsolve", "bandsolve-mpi"]:
        if not (folder / program).exists():
            continue

        def said(*arguments):
            done = subprocess.run([program, *arguments, "--help"], executable=folder / program, capture_output=True, text=True, check=True)
            return done.stdout.rstrip()

        overview = said()
        commands = re.findall(r"^  ([a-z]+)  +(\S.*)$", overview.partition("Commands:")[2].partition("Options:")[0], re.MULTILINE)
        commands = [(f"{program} {name}", name, f"{program}-{name}.md", about) for name, about in commands if name != "help"]
        index += [f"## {program}", rows((title, address, about) for title, _, address, about in commands), f"```text\n{overview}\n```"]
        menu.append({program: [{name: f"reference/commands/{address}"} for _, name, address, _ in commands]})
        pages |= {f"reference/commands/{address}": f"# {title}\n\n{definitions(said(name))}\n" for title, name, address, _ in commands}
    return {"Command line": menu}, {"reference/commands/index.md": "\n\n".join(index) + "\n", **pages}


def on_config(config):
    parts = [python_reference(), rust_reference(), c_reference(), command_reference()]
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
