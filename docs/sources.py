"""The source files of the repository, for the scripts that write MAP.md and messages.txt."""

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def listed(*patterns):
    """Return the existing files that git tracks or would add, as sorted paths relative to ROOT."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    return sorted(name for name in set(names) if (ROOT / name).exists())
