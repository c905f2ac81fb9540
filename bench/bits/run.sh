#!/usr/bin/env bash
# Command bits compares metrics and adapters of five jobs with the hashes in bench/bits/bits.txt.
# Needs: Python
# Takes: three minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
python3 bench/bits/bits.py --check bench/bits/bits.txt
