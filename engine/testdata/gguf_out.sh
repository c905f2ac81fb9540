#!/usr/bin/env bash
# Trains a real model for a few steps, writes its GGUF files, and has llama.cpp and peft compute them: gguf_out.sh MODEL.gguf. It needs
# bin/trinity. PYTHON may name an interpreter that has llama-cpp-python, gguf, torch, transformers and peft; else one is made, which compiles
# llama.cpp for some minutes. KEEP=folder keeps the files.
set -euo pipefail
cd "$(dirname "$0")/../.."
model=${1:-}
if [ ! -f "$model" ]; then
	echo "gguf-out: skipped: name a GGUF file of a Llama, Qwen2, Qwen3 or Gemma 3 model: make gguf-out GGUF=/path/to/model.gguf"
	exit 0
fi
python=${PYTHON:-}
if [ -z "$python" ]; then
	python=$PWD/.cache/gguf-out/bin/python
	if [ ! -x "$python" ]; then
		python3 -m venv .cache/gguf-out
		.cache/gguf-out/bin/pip install --quiet llama-cpp-python==0.3.36 gguf==0.19.0 torch transformers==5.23.0 peft==0.21.2 || true
	fi
fi
if ! "$python" -c 'import llama_cpp, gguf, torch, transformers, peft'; then
	echo "gguf-out: skipped: $python lacks one of llama-cpp-python, gguf, torch, transformers, peft"
	exit 0
fi
work=${KEEP:-$(mktemp -d)}
[ -n "${KEEP:-}" ] || trap 'rm -rf "$work"' EXIT
exec > >(sed -u "s#$work#WORK#g") 2>&1
export XDG_CACHE_HOME=$work/cache # where the model folder is made
bin/trinity run --config engine/testdata/gguf_out.yaml model.model_path="$(realpath "$model")" checkpoint_root_dir="$work/job"
rm -f "$work"/*.gguf "$work"/*.Modelfile
for kind in f16 bf16 q8_0 q4_k_m lora; do
	bin/trinity convert -c "$work/job" --gguf $kind -o "$work/$kind.gguf"
done
base=$(echo "$work"/cache/trinity/gguf/*)
bin/trinity convert -c "$base" --gguf f32 -o "$work/base-f32.gguf"
adapter=$(dirname "$work"/job/gguf-out/job/tinker/checkpoints/*/weights/*/adapter_config.json)
go test ./engine -run 'TestGGUFOut$' -count 1 -v -timeout 30m -gguf.python "$python" -gguf.base "$base" -gguf.job "$adapter" -gguf.work "$work"
