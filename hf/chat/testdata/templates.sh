#!/usr/bin/env bash
# Renders every chat template below a folder with Python's transformers and with this program, and compares text, ids and masks.
# DIR holds *.jinja files or model folders with a tokenizer_config.json. Makes a virtual environment of its own; needs Python 3.10
# or newer and pip. The log names templates and counts cases; it holds no template's text.
set -euo pipefail
dir=$(realpath "${1:?usage: templates.sh DIR}")
cd "$(dirname "$0")/../../.."
venv=${VENV:-.cache/templates-python}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv"
	"$venv/bin/pip" install --quiet transformers==5.23.0 jinja2==3.1.6
fi
cases=$(mktemp)
trap 'rm -f "$cases"' EXIT
"$venv/bin/python" hf/chat/testdata/templates.py "$dir" "$cases"
go test ./hf/chat -run 'TestTemplates$' -count 1 -v -timeout 30m -chat.templates "$cases" | sed -n -e 's/^ *templates_test.go:[0-9]*: //p' -e 's/^\(ok\|FAIL\)\t\(.*\)\t.*/\1 \2/p' | tee docs/results/templates.log
exit "${PIPESTATUS[0]}"
