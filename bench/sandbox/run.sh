#!/usr/bin/env bash
# Command sandbox tests the sandbox for code that models write: as this user, as another one, and where the kernel
# gives the user no namespaces.
# Needs: root (to become another user)
# Takes: a minute
set -euo pipefail
cd "$(dirname "$0")/../.."
uname -sr | sed 's/-.*//'
test=$(mktemp -d)/sandbox.test
trap 'rm -r "$(dirname "$test")"' EXIT
go test -c -o "$test" ./internal/sandbox
chmod -R go+rX "$(dirname "$test")"
cd internal/sandbox
echo "as $(id -un)"
"$test" -test.v | grep -E '^ *(---|ok|FAIL|PASS|panic)|_test.go'
echo "as user 1000"
setpriv --reuid 1000 --regid 1000 --clear-groups env HOME=/home "$test" -test.v | grep -E '^ *(---|ok|FAIL|PASS|panic)|_test.go'
