#!/usr/bin/env bash
# Command clients runs unmodified clients of OpenAI's, Anthropic's and Ollama's interfaces against trinity serve.
# Needs: Python and pip or uv
# Takes: fifteen minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
python3 -B tinker/server/testdata/clients/run.py --trinity bin/trinity --work bin/clients --all --out bin/clients.log >&2
cat bin/clients.log
