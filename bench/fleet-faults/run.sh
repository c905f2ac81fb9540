#!/usr/bin/env bash
# Command fleet-faults repeats the tests of kills, restarts, lost stores, bad networks, liars and a cluster that loses a server.
# Needs: nothing; COUNT=10 chooses how often
# Takes: five minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go test ./engine/fleet -count "${COUNT:-10}" -v -timeout 60m | grep -E '^ *(---|ok|FAIL|panic)|_test.go|latency'
