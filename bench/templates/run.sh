#!/usr/bin/env bash
# Command templates compares every chat template below a folder with Python's transformers, in text, ids and masks.
# Needs: Python and pip, and as argument a folder of *.jinja files or model folders
# Takes: five minutes
set -euo pipefail
[ -d "${1:-}" ] || { echo "skipped: name a folder of templates: go run ./bench templates DIR"; exit; }
dir=$(realpath "$1")
cd "$(dirname "$0")/../.."
venv=${VENV:-.cache/templates-python}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv"
	"$venv/bin/pip" install --quiet transformers==5.23.0 jinja2==3.1.6
fi
cases=$(mktemp)
trap 'rm -f "$cases"' EXIT
"$venv/bin/python" bench/templates/templates.py "$dir" "$cases"
TRINITY_TEST_TEMPLATES=$cases go test ./hf/chat -run 'TestTemplates$' -count 1 -v -timeout 30m | sed -n -e 's/^ *templates_test.go:[0-9]*: //p' -e 's/^\(ok\|FAIL\)\t\(.*\)\t.*/\1 \2/p'
