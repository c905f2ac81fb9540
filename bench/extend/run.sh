#!/usr/bin/env bash
# Command extend stops and extends jobs of every style, offset, interval, stage and mode, on the fake service.
# Needs: nothing but Go
# Takes: a minute
set -euo pipefail
cd "$(dirname "$0")/../.."
TRINITY_TEST_EXTEND=all go test ./run -run 'TestExtend$|TestResumeSays' -count 1 -v | grep -E '^ *--- |^(ok|FAIL|panic)|_test.go:'
