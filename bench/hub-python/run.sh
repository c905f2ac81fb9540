#!/usr/bin/env bash
# Command hub-python reads and writes the Hugging Face cache in turn with huggingface_hub, which also pushes to the test hub.
# Needs: Python and pip
# Takes: a minute
set -euo pipefail
cd "$(dirname "$0")/../.."
venv=${VENV:-.cache/hub-python}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv"
	"$venv/bin/pip" install --quiet huggingface_hub==2.4.0
fi
TRINITY_TEST_PYTHON=$(realpath -s "$venv")/bin/python go test ./hf/hub -run 'TestPython' -count 1 -v | grep -E '^ *--- |^(ok|FAIL|panic)|_test.go:'
