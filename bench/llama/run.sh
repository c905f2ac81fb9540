#!/usr/bin/env bash
# Command llama makes the small Llama of examples/llama again from random weights, in bin/llama.
# Needs: nothing
# Takes: an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
rm -rf bin/llama
go run ./examples/tiny/gen llama-pretrain
bin/trinity run --config examples/llama/pretrain.yaml checkpoint_root_dir=bin/llama
go run ./examples/tiny/gen llama-gain -from bin/llama/trinity-llama/pretrain/global_step_2400/actor/huggingface -out bin/llama/model
