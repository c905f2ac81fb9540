#!/usr/bin/env bash
# Command sdk-torch runs the SDK with torch too, for forward_backward_custom, and writes docs/reference/sdk.md.
# Needs: Python and pip
# Takes: fifteen minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
python3 tinker/server/testdata/sdk/run.py --trinity bin/trinity --work bin/sdk --out docs/reference/sdk.md --torch
