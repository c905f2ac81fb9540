#!/usr/bin/env bash
# Command bench-vectors measures the shapes of bench-engine on AVX-512 alone, beside the bound of the vector units.
# Needs: 12 GiB of memory and AVX-512
# Takes: half an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
only='-X github.com/seed-d9ad8ee0/trinity/engine/internal/kernel.only=avx512'
go test -ldflags "$only" ./engine/internal/model -run '^$' -bench 'Real/./(train512|decode64|prefill512)' -benchtime 5x -timeout 60m
