#!/usr/bin/env bash
# Command extend stops, extends and kills jobs of every style, offset, interval, stage and mode, and prints a table.
# Needs: nothing
# Takes: half an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
go test ./run -run 'TestExtend|TestResumeSays' -extend.full -count 1 -v -timeout 60m |
	sed -nE 's/^ *extendtable_test.go:[0-9]+: //p; /^ *--- FAIL|^--- |^(ok|FAIL|panic)|_test.go:/{/extendtable/!p}'
