#!/usr/bin/env bash
# Command cookbook runs unmodified recipes of tinker-cookbook against trinity serve.
# Needs: Python and pip
# Takes: half an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
python3 -B tinker/server/testdata/recipes/run.py cookbook --trinity bin/trinity --work bin/recipes --out bin/cookbook.log >&2
cat bin/cookbook.log
