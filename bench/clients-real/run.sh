#!/usr/bin/env bash
# Command clients-real compares lm-evaluation-harness's log-likelihoods over trinity serve with transformers'.
# Needs: Python and pip, a model folder or GGUF file as its argument, and TORCH=python with torch
# Takes: half an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -e "${1:-}" ] || { echo "skipped: name a model folder or GGUF file: go run ./bench clients-real MODEL"; exit; }
go build -o bin/trinity ./cmd/trinity
python3 -B tinker/server/testdata/clients/run.py --trinity bin/trinity --work bin/clients --model "$1" --torch "${TORCH:-python3}" \
	--out bin/clients-real.log >&2
cat bin/clients-real.log
