#!/usr/bin/env bash
# Command studio-beside trains pairs of jobs with and without a studio and a client open and compares their metrics and times.
# Needs: nothing
# Takes: five minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go run ./bench/studio -beside 5
