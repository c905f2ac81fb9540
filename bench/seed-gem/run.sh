#!/usr/bin/env bash
# Command seed-gem runs GEM's unmodified trainer with the real gem-llm against trinity serve.
# Needs: Python and pip
# Takes: ten minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
python3 -B tinker/server/testdata/recipes/run.py gem --trinity bin/trinity --work bin/recipes --out bin/seed-gem.log >&2
cat bin/seed-gem.log
