#!/usr/bin/env bash
# Command bench-engine measures training, decoding and prefill of real shapes, many adapters, and groups, beside the bounds of the same run.
# Needs: 12 GiB of memory
# Takes: an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
go test ./engine/internal/model -run '^$' -bench Real -benchtime 5x -timeout 60m
go test ./engine -run '^$' -bench 'TrainShared|Group' -benchtime 9x
