#!/usr/bin/env bash
# Command million-rows measures how soon a million rows of each format are open, and the first and last read.
# Needs: a gigabyte of disk
# Takes: two minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go test ./rl/dataset -run '^$' -bench MillionRows -benchtime 4x
