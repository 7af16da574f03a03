#!/usr/bin/env bash
# Installs Python packages in an environment, which is made if it is not there: by uv, in seconds, where pip takes minutes.
#
# usage: packages.sh ENVIRONMENT PACKAGE...
set -euo pipefail
environment=$1
shift
tool=${CARGO_TARGET_DIR:-$(cd "$(dirname "$0")/.." && pwd)/target}/uv
if ! [ -x "$tool/bin/uv" ]; then
    if ! python3 -m venv "$tool" >/dev/null 2>&1 && command -v apt-get >/dev/null && [ "$(id -u)" = 0 ]; then
        apt-get install -y --no-install-recommends python3-venv >/dev/null 2>&1 ||
            { apt-get update && apt-get install -y --no-install-recommends python3-venv; } >/dev/null
        python3 -m venv "$tool" >/dev/null
    fi
    "$tool/bin/pip" install --quiet --disable-pip-version-check uv
fi
# Where pip would look.
[ -z "${PIP_INDEX_URL:-}" ] || export UV_DEFAULT_INDEX=${UV_DEFAULT_INDEX:-$PIP_INDEX_URL}
[ -x "$environment/bin/python" ] || "$tool/bin/uv" venv --quiet "$environment"
"$tool/bin/uv" pip install --quiet --python "$environment/bin/python" "$@"
