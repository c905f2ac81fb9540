#!/usr/bin/env bash
# Command sandbox tests the sandbox for code that models write, each in namespaces and in bubblewrap.
# Needs: Debian's bubblewrap, and a user other than root
# Takes: a minute
set -euo pipefail
cd "$(dirname "$0")/../.."
uname -sr | sed 's/-.*//'
bwrap --version
go test ./internal/sandbox -count 1 -v | grep -E '^ *(---|ok|FAIL|PASS|panic)|_test.go'
