#!/usr/bin/env bash
# Command kills kills jobs at every operation on the disk that a test names, with and without loss of power.
# Needs: nothing
# Takes: an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
go test ./run -run 'Kill|GoesBackToTheSavedState' -kills.full -count 1 -timeout 60m
