#!/usr/bin/env bash
# Command peers-model compares the speed of the engine with other programs on a model's own files.
# Needs: Python and pip, and a GGUF file or model folder as its argument; KERNELS=avx2 holds trinity and PyTorch to AVX2
# Takes: an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -e "${1:-}" ] || { echo "skipped: name a GGUF file or a model folder: go run ./bench peers-model MODEL"; exit; }
[ -n "${PYTHON:-}" ] || bench/peers/venvs.sh bin/peers
go run ./bench/peers -python "${PYTHON:-}" -path "${KERNELS:-}" -model "$1" -out bin/peers/model.md "${@:2}" 2>&1
