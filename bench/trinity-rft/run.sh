#!/usr/bin/env bash
# Command trinity-rft trains with the real Trinity-RFT over its Tinker backend against trinity serve.
# Needs: Python 3.10 to 3.12, pip and 8 GB of disk
# Takes: ten minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
python3 -B tinker/server/testdata/recipes/run.py rft --trinity bin/trinity --work bin/recipes --out bin/trinity-rft.log >&2
cat bin/trinity-rft.log
