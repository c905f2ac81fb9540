#!/usr/bin/env bash
# Compares the ids of a large mixed corpus, and of texts made by fuzzing, with those of Hugging Face tokenizers, and times files
# of full size. Makes a virtual environment of its own; needs Python 3.10 or newer and pip. FUZZTIME is how long to fuzz.
set -euo pipefail
cd "$(dirname "$0")/../../.."
venv=${VENV:-.cache/tokenizer-python}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv"
	"$venv/bin/pip" install --quiet tokenizers==0.23.3
fi
python=$(realpath -s "$venv/bin/python")
big=$(realpath -m "${BIG:-.cache/tokenizer-big}")
"$python" hf/tokenizer/testdata/big.py "$big"
go test ./hf/tokenizer -run 'Big' -bench 'Big' -count 1 -v -timeout 30m -tokenizer.big "$big"
go test ./hf/tokenizer -run '^$' -fuzz 'FuzzPython$' -fuzztime "${FUZZTIME:-60s}" -tokenizer.python "$python"
