#!/usr/bin/env bash
# Command kill-server kills trinity serve a hundred times under mixed load, and simulates as many power failures.
# Needs: nothing; COUNT=25 chooses how often the two tests run, each time with other moments
# Takes: ten minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go test ./cmd/trinity -run 'TestServeKilled$' -count "${COUNT:-25}" -v -timeout 90m
go test ./tinker/server -run 'TestMixedLoadOverCrashes$' -count "${COUNT:-25}" -v -timeout 90m
