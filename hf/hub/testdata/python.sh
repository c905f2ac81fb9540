#!/usr/bin/env bash
# Compares the cache with Python's huggingface_hub in a virtual environment of its own. Needs Python 3.10 or newer and pip.
set -euo pipefail
cd "$(dirname "$0")/../../.."
venv=${VENV:-.cache/hub-python}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv"
	"$venv/bin/pip" install --quiet huggingface_hub==2.4.0
fi
go test ./hf/hub -run 'TestPython$' -count 1 -v -hub.python "$(realpath -s "$venv")/bin/python"
