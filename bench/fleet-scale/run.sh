#!/usr/bin/env bash
# Command fleet-scale measures how the head of a fleet scales, with the real head and NATS and simulated workers, and draws docs/results/fleet.svg.
# Needs: nothing; WORKERS=10,100,1000 chooses
# Takes: ten minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
bin/trinity bench fleet --simulate "${WORKERS:-10,100,1000}" --tasks 10 --spread 0 --picture docs/results/fleet.svg 2>&1 | grep -v 'has not been heard of'
