#!/usr/bin/env bash
# Command sdk runs the unmodified Python SDK, newest and 0.25, against trinity serve.
# Needs: Python and pip
# Takes: five minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
python3 tinker/server/testdata/sdk/run.py --trinity bin/trinity --work bin/sdk --out bin/sdk.md
