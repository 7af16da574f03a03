"""Types of `io.py`."""

import os
from typing import Any

def read(path: str | os.PathLike[str]) -> Any: ...
