#!/usr/bin/env bash
# Command foreign trains on SkyRL's JAX server, TuFT's test server and trinity serve, with kill -9 of either side.
# Needs: pip, Python 3.12 to 3.14 or PYTHON=python, and 7 GB of disk
# Takes: an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
python3 -B tinker/client/testdata/foreign/run.py --trinity bin/trinity --model examples/tiny/model --work bin/foreign --python "${PYTHON:-}" \
	--record tinker/client/testdata/foreign/answers.json --out bin/foreign.log >&2
cat bin/foreign.log
