#!/usr/bin/env bash
# Command record-cost measures what the record of rollouts costs a step, in processor time and bytes.
# Needs: nothing
# Takes: five minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go test ./loop/buffer -run '^$' -bench Record -benchtime 200x
