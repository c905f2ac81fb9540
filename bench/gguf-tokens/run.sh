#!/usr/bin/env bash
# Command gguf-tokens compares the tokenizer of a GGUF file, whatever its model, with llama.cpp's and Hugging Face's on 20,000 lines.
# Needs: a GGUF file as its argument, Python and pip and a C++ compiler, or PYTHON=python
# Takes: ten minutes
set -euo pipefail
if [ ! -f "${1:-}" ]; then
	echo "skipped: there is no GGUF file '${1:-}'; name one: go run ./bench gguf-tokens FILE.gguf"
	exit 0
fi
file=$(realpath "$1")
cd "$(dirname "$0")/../.."
work=$PWD/.cache/gguf-tokens
python=${PYTHON:-$work/venv/bin/python}
mkdir -p "$work"
if [ -z "${PYTHON:-}" ] && [ ! -x "$python" ]; then
	python3 -m venv "$work/venv"
	"$python" -m pip install -q tokenizers==0.23.3
	CMAKE_ARGS="-DLLAVA_BUILD=OFF" nice "$python" -m pip install -q llama-cpp-python==0.3.36
fi
compare() {
	echo "# $(basename "$file"), $(stat -c %s "$file") bytes"
	nice "$python" bench/gguf/tokens.py "$file" "$work/lines.jsonl" 2>"$work/errors" || { cat "$work/errors"; return 1; }
	export TRINITY_TEST_GGUF=$file TRINITY_TEST_GGUF_LINES=$work/lines.jsonl
	TRINITY_TEST_GGUF_JSON=$work/tokenizer.json go test ./hf/gguf/modeldir -run 'TestRealTokenizer$' -count 1 >/dev/null || return 1
	nice "$python" bench/gguf/tokens.py --hf "$work/tokenizer.json" "$work/lines.jsonl" || return 1
	go test ./hf/gguf/modeldir -run 'TestRealLines$|TestRealRoundTrip$|TestRealRate$' -count 1 -v -timeout 30m || return 1
}
result=0
compare >"$work/log" 2>&1 || result=1
grep -v '^=== \|^PASS$' "$work/log"
exit $result
