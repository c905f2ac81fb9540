#!/usr/bin/env bash
# Command bits compares metrics and adapters of five jobs, in both orders of sums, with the hashes in bench/bits/bits.txt.
# Needs: Python
# Takes: six minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
python3 bench/bits/bits.py --check bench/bits/bits.txt
