#!/usr/bin/env bash
# Compares the tokenizer of a GGUF file with llama.cpp's and, as a tokenizer.json, with Hugging Face's tokenizers, on some 20,000 lines,
# and decodes them again: tokens.sh FILE.gguf. The model's architecture does not matter, its weights are not read. Makes a virtual
# environment of its own, or takes PYTHON. Needs Python 3.10 or newer, pip and a C++ compiler. Writes docs/results/gguf-tokens.log.
set -euo pipefail
if [ ! -f "$1" ]; then
	echo "skipped: there is no GGUF file '$1'; name one: make gguf-tokens GGUF=FILE.gguf"
	exit 0
fi
file=$(realpath "$1")
cd "$(dirname "$0")/../../.."
work=$PWD/.cache/gguf-tokens
python=${PYTHON:-$work/venv/bin/python}
mkdir -p "$work" docs/results
if [ -z "${PYTHON:-}" ] && [ ! -x "$python" ]; then
	python3 -m venv "$work/venv"
	"$python" -m pip install -q tokenizers==0.23.3
	CMAKE_ARGS="-DLLAVA_BUILD=OFF" nice "$python" -m pip install -q llama-cpp-python==0.3.36
fi
compare() {
	echo "# $(basename "$file"), $(stat -c %s "$file") bytes; the comparisons of make gguf-tokens"
	nice "$python" hf/gguf/testdata/tokens.py "$file" "$work/lines.jsonl" 2>"$work/errors" || { cat "$work/errors"; return 1; }
	go test ./hf/gguf/modeldir -run 'TestRealTokenizer$' -count 1 -gguf.file "$file" -gguf.json "$work/tokenizer.json" >/dev/null || return 1
	nice "$python" hf/gguf/testdata/tokens.py --hf "$work/tokenizer.json" "$work/lines.jsonl" || return 1
	go test ./hf/gguf/modeldir -run 'TestRealLines$|TestRealRoundTrip$|TestRealRate$' -count 1 -v -timeout 30m -gguf.file "$file" \
		-gguf.lines "$work/lines.jsonl" || return 1
}
result=0
compare >"$work/log" 2>&1 || result=1
grep -v '^=== \|^PASS$' "$work/log" | tee docs/results/gguf-tokens.log
exit $result
