#!/usr/bin/env bash
# Compares a real GGUF file with other programs: real.sh FILE.gguf [GSM8K folder]. transformers makes a folder of it, whose tensors and logits
# must be ours to the bit; llama.cpp tokenises some 19,000 lines with its vocabulary, and with a SentencePiece vocabulary trained here, as ours must.
# Makes a virtual environment of its own, or takes PYTHON. Needs Python 3.10 or newer, pip and a C++ compiler. Writes docs/results/gguf.log.
set -euo pipefail
if [ ! -f "$1" ]; then
	echo "skipped: there is no GGUF file '$1'; name one: make gguf GGUF=FILE.gguf [GSM8K=FOLDER]"
	exit 0
fi
file=$(realpath "$1")
gsm8k=${2:+$(realpath "$2")}
cd "$(dirname "$0")/../../.."
work=$PWD/.cache/gguf
python=${PYTHON:-$work/venv/bin/python}
mkdir -p "$work" docs/results
if [ -z "${PYTHON:-}" ] && [ ! -x "$python" ]; then
	python3 -m venv "$work/venv"
	"$python" -m pip install -q ${TORCH:-torch} transformers==5.23.0 accelerate gguf==0.19.0 sentencepiece
	CMAKE_ARGS="-DLLAVA_BUILD=OFF" nice "$python" -m pip install -q llama-cpp-python==0.3.36
fi
rm -rf "$work/out"
compare() {
	local failed=0
	echo "# $(basename "$file"), $(stat -c %s "$file") bytes; the comparisons of make gguf"
	nice "$python" hf/gguf/testdata/real.py "$file" "$work/out" $gsm8k 2>"$work/errors" || { cat "$work/errors"; return 1; }
	echo "# the folder that transformers makes of it"
	go test ./engine/internal/model -run 'TestGGUFLikeTransformers$' -count 1 -v -timeout 30m -gguf.file "$file" \
		-gguf.folder "$work/out/folder" || failed=1
	echo "# lines as llama.cpp tokenises them, special tokens parsed; memory; damaged heads"
	go test ./hf/gguf/modeldir -run 'TestRealLines$|TestRealMemory$|TestMutations$' -count 1 -v -timeout 30m \
		-gguf.file "$file" -gguf.lines "$work/out/lines.jsonl" || failed=1
	echo "# the same lines with a SentencePiece vocabulary"
	go test ./hf/gguf/modeldir -run 'TestRealLines$' -count 1 -v -timeout 30m -gguf.file "$work/out/pieces.gguf" \
		-gguf.lines "$work/out/pieces.jsonl" || failed=1
	echo "# the same lines with the file's vocabulary and other ways to cut words"
	echo "# (llama.cpp's patterns for gpt-4o and tekken leave out combining marks and the case of letters beyond ASCII, and those of deepseek join some rare spaces; where it differs, ours must be the ids of Hugging Face's tokenizers)"
	for lines in "$work"/out/pre-*.jsonl; do
		[ -f "$lines" ] || continue
		go test ./hf/gguf/modeldir -run 'TestRealTokenizer$' -count 1 -gguf.file "${lines%.jsonl}.gguf" \
			-gguf.json "$work/out/tokenizer.json" >/dev/null || failed=1
		nice "$python" hf/gguf/testdata/real.py --hf "$work/out/tokenizer.json" "$lines" || failed=1
		go test ./hf/gguf/modeldir -run 'TestRealLines$' -count 1 -v -timeout 30m \
			-gguf.file "${lines%.jsonl}.gguf" -gguf.lines "$lines" || failed=1
	done
	echo "# blocks and containers"
	go test ./hf/gguf -run 'TestMutations$|TestBlocks$|TestContainers$' -count 1 -v || failed=1
	return $failed
}
result=0
compare >"$work/log" 2>&1 || result=1
grep -v '^=== \|^PASS$' "$work/log" | tee docs/results/gguf.log
exit $result
