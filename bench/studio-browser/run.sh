#!/usr/bin/env bash
# Command studio-browser tries the studio's pages in a real Chromium, long lists too, and takes the pictures of docs/studio.
# Needs: Debian's chromium, and as argument perhaps a folder with the jobs gsm8k and gsm8k-seed2, else it shows recorded ones
# Takes: ten minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v chromium >/dev/null || { echo "skipped: chromium is missing: apt-get install chromium"; exit; }
go build -o bin/trinity ./cmd/trinity
export TRINITY_TEST_STUDIO_SHOTS=$PWD/docs/studio TRINITY_TEST_STUDIO_JOBS=${1:+$(realpath "$1")}
go test ./studio/web -count 1 -v -timeout 20m | grep -E '_test.go:|^ *(---|ok|FAIL|panic)'
