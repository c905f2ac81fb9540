#!/usr/bin/env bash
# Command losses compares our losses, KL and entropy terms and advantages with those of Trinity-RFT 0.6.0, gradients and metrics included.
# Needs: Python and pip
# Takes: ten minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
python3 -m venv bin/losses
bin/losses/bin/pip install -q numpy "${TORCH:-torch}"
bin/losses/bin/pip install -q --no-deps --target bin/losses/upstream trinity-rft==0.6.0
bin/losses/bin/python rl/algorithm/testdata/upstream.py bin/losses/upstream 8200 2>/dev/null > bin/losses/cases.jsonl
TRINITY_TEST_LOSSES="$PWD/bin/losses/cases.jsonl" go test ./rl/algorithm -run 'TestUpstream$' -count 1 -v | sed -n 's/^ *upstream_test.go:[0-9]*: //p; /^---/p'
