#!/usr/bin/env bash
# Command gguf compares a real GGUF file with transformers and llama.cpp in tensors, logprobs, and the ids of 19,000 lines.
# Needs: a GGUF file and perhaps a folder with GSM8K as arguments, Python and pip and a C++ compiler, or PYTHON=python
# Takes: half an hour
set -euo pipefail
if [ ! -f "${1:-}" ]; then
	echo "skipped: there is no GGUF file '${1:-}'; name one: go run ./bench gguf FILE.gguf [GSM8K]"
	exit 0
fi
file=$(realpath "$1")
gsm8k=${2:+$(realpath "$2")}
cd "$(dirname "$0")/../.."
work=$PWD/.cache/gguf
python=${PYTHON:-$work/venv/bin/python}
mkdir -p "$work"
if [ -z "${PYTHON:-}" ] && [ ! -x "$python" ]; then
	python3 -m venv "$work/venv"
	"$python" -m pip install -q ${TORCH:-torch} transformers==5.23.0 accelerate gguf==0.19.0 sentencepiece
	CMAKE_ARGS="-DLLAVA_BUILD=OFF" nice "$python" -m pip install -q llama-cpp-python==0.3.36
fi
rm -rf "$work/out"
lines() { # GGUF file, its lines, more tests
	TRINITY_TEST_GGUF=$1 TRINITY_TEST_GGUF_LINES=$2 go test ./hf/gguf/modeldir -run "TestRealLines\$${3:-}" -count 1 -v -timeout 30m
}
compare() {
	local failed=0
	echo "# $(basename "$file"), $(stat -c %s "$file") bytes"
	nice "$python" bench/gguf/real.py "$file" "$work/out" $gsm8k 2>"$work/errors" || { cat "$work/errors"; return 1; }
	echo "# the folder that transformers makes of it"
	go run ./bench/gguf-logprobs -folder "$work/out/folder" "$file" || failed=1
	echo "# lines as llama.cpp tokenises them, special tokens parsed; memory; damaged heads"
	lines "$file" "$work/out/lines.jsonl" '|TestRealMemory$|TestMutations$' || failed=1
	echo "# the same lines with a SentencePiece vocabulary"
	lines "$work/out/pieces.gguf" "$work/out/pieces.jsonl" || failed=1
	echo "# the same lines with the file's vocabulary and other ways to cut words"
	echo "# (llama.cpp's patterns for gpt-4o and tekken leave out combining marks and the case of letters beyond ASCII, and those of deepseek join some rare spaces; where it differs, ours must be the ids of Hugging Face's tokenizers)"
	for lines in "$work"/out/pre-*.jsonl; do
		[ -f "$lines" ] || continue
		TRINITY_TEST_GGUF=${lines%.jsonl}.gguf TRINITY_TEST_GGUF_JSON=$work/out/tokenizer.json \
			go test ./hf/gguf/modeldir -run 'TestRealTokenizer$' -count 1 >/dev/null || failed=1
		nice "$python" bench/gguf/real.py --hf "$work/out/tokenizer.json" "$lines" || failed=1
		lines "${lines%.jsonl}.gguf" "$lines" || failed=1
	done
	echo "# blocks and containers"
	go test ./hf/gguf -run 'TestMutations$|TestBlocks$|TestContainers$' -count 1 -v || failed=1
	return $failed
}
result=0
compare >"$work/log" 2>&1 || result=1
grep -v '^=== \|^PASS$' "$work/log"
exit $result
