#!/usr/bin/env bash
# Compares adapters and merged models with Python's peft and transformers in a virtual environment of its own. Needs Python 3.10 or
# newer and pip. PYTHON may name an interpreter that has torch, transformers and peft already.
set -euo pipefail
cd "$(dirname "$0")/../../../../.."
python=${PYTHON:-}
if [ -z "$python" ]; then
	venv=.cache/peft-python
	python=$PWD/$venv/bin/python
	if [ ! -x "$python" ]; then
		python3 -m venv "$venv"
		"$venv/bin/pip" install --quiet torch==2.6.0 transformers==5.23.0 peft==0.21.2
	fi
fi
go test ./engine -run 'TestPython$' -count 1 -v -peft.python "$python"
