#!/usr/bin/env bash
# Command benchmarks measures kernels, model, engine and tokenizer beside the bounds of the same run.
# Needs: nothing
# Takes: ten minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go test -run '^$' -bench . -skip Real -benchtime 1s ./engine/internal/kernel ./engine/internal/model ./engine ./hf/tokenizer
