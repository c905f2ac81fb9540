#!/usr/bin/env bash
# Command bench-server measures the server under load with round trips, 24 runs, 256 samples and 4,096 pending requests.
# Needs: nothing
# Takes: five minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
bin/trinity bench --strict --data bin
