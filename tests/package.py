#!/usr/bin/env python3
"""What is published is complete: every crate as cargo packages it, and the source distribution of the Python package.

The packaged crates become a workspace of their own, which cargo resolves: so a dependency without a version, a missing feature or a missing
target is an error before anything is uploaded.

usage: package.py [--check]      also compiles the packaged crates (one minute); needs MPI
"""

import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LICENCES = {"LICENSE-MIT", "LICENSE-APACHE"}
# The registry's limits are 10 MiB for a crate, 5 keywords and 5 categories. Sources need much less than 1 MiB.
LARGEST_CRATE = 1 << 20
FIELDS = ["description", "license", "readme", "keywords", "categories", "rust_version"]


def run(*command, folder=ROOT, **environment):
    """The output of a command. Its messages appear only if it fails."""
    done = subprocess.run(command, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{done.stdout}{done.stderr}FAILED: {' '.join(map(str, command))}")
    return done.stdout


def fail_if(wrong):
    """End with a line for each finding, if there are any."""
    if wrong:
        sys.exit("\n".join(f"FAILED: {line}" for line in wrong))


def publishable():
    """The packages of the workspace that are published: by name, what cargo knows about them. And the names of all others."""
    packages = json.loads(run("cargo", "metadata", "--no-deps", "--format-version", "1"))["packages"]
    published = {package["name"]: package for package in packages if package["publish"] is None}
    return published, [package["name"] for package in packages if package["name"] not in published]


def manifest_errors(package, published):
    """What a registry would refuse, or what readers of its page would miss."""
    name = package["name"]
    yield from (f"{name}: Cargo.toml has no {field}" for field in FIELDS if not package[field])
    for dependency in package["dependencies"]:
        # A development dependency without a version is left out of the package.
        if dependency.get("path") and dependency["kind"] != "dev":
            if dependency["req"] == "*":
                yield f"{name}: the dependency {dependency['name']} has no version"
            if dependency["name"] not in published:
                yield f"{name}: the dependency {dependency['name']} is not published"


def crates(published, others, work, compile_them):
    """Package every crate, look at the files, and resolve or compile the packages as a workspace."""
    fail_if([line for package in published.values() for line in manifest_errors(package, published)])
    excluded = [argument for name in others for argument in ("--exclude", name)]
    run("cargo", "package", "--workspace", "--no-verify", "--allow-dirty", *excluded, "--target-dir", work / "target")
    sources = work / "crates"
    sources.mkdir()
    manifest, wrong = ['[workspace]\nresolver = "3"\nmembers = ["*"]\n[patch.crates-io]'], []
    for name, package in published.items():
        folder = f"{name}-{package['version']}"
        file = work / "target/package" / f"{folder}.crate"
        with tarfile.open(file) as archive:
            files = {member.removeprefix(f"{folder}/") for member in archive.getnames()}
        run("tar", "-xzf", file, "-C", sources)
        wrong += [f"{name}: the package has no {missing}" for missing in LICENCES - files]
        if file.stat().st_size > LARGEST_CRATE:
            wrong.append(f"{name}: the package has {file.stat().st_size} bytes")
        manifest.append(f'{name} = {{ path = "{folder}" }}')
    fail_if(wrong)
    (sources / "Cargo.toml").write_text("\n".join(manifest) + "\n")
    (sources / "Cargo.lock").write_bytes((ROOT / "Cargo.lock").read_bytes())
    if compile_them:
        run("cargo", "check", "--workspace", "--target-dir", work / "target", folder=sources)
    else:
        run("cargo", "metadata", "--format-version", "1", folder=sources)
    print(f"{len(published)} passed: packaged crates that cargo {'compiles' if compile_them else 'resolves'} without the repository")


def source_distribution(work):
    """Make the source distribution of the Python package, compare its files with the repository, and resolve its crates."""
    run(ROOT / "tests/packages.sh", work / "venv", "maturin>=1.9,<2")
    run(work / "venv/bin/maturin", "sdist", "--out", work / "sdist")
    [file] = (work / "sdist").glob("*.tar.gz")
    run("tar", "-xzf", file, "-C", work / "sdist")
    folder = work / "sdist" / file.name.removesuffix(".tar.gz")
    packed = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    tracked = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "python/bandsolve", "crates/*/src", "crates/*/kernels").split()
    needed = {"README.md", "pyproject.toml", "Cargo.lock", *LICENCES, *(name for name in tracked if (ROOT / name).exists())}
    # The crates that the compiled part needs; all others are left out.
    with_crate = {name for name in needed if not name.startswith("crates/") or "/".join(name.split("/")[:2]) + "/Cargo.toml" in packed}
    wrong = [f"the source distribution has no {name}" for name in sorted(with_crate - packed)]
    wrong += [f"the source distribution contains {name}" for name in sorted(packed) if name.endswith((".so", ".pyc", ".crate", ".whl"))]
    fail_if(wrong)
    run("cargo", "metadata", "--format-version", "1", folder=folder)
    print(f"1 passed: the source distribution, {len(packed)} files")


def main():
    if sys.argv[1:] not in ([], ["--check"]):
        sys.exit(__doc__)
    published, others = publishable()
    with tempfile.TemporaryDirectory() as work:
        crates(published, others, Path(work), sys.argv[1:] == ["--check"])
        source_distribution(Path(work))


if __name__ == "__main__":
    main()
