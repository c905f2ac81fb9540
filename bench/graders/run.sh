#!/usr/bin/env bash
# Command graders compares our graders with those of Trinity-RFT and verl on four thousand answers, and math_reward with math_verify on
# nine thousand pairs of LaTeX that few answers have.
# Needs: Python and pip
# Takes: ten minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
python3 -m venv bin/graders
bin/graders/bin/pip install -q -r rl/reward/testdata/graders.txt
bin/graders/bin/pip install -q --no-deps trinity-rft==0.6.0 verl==0.7.1
bin/graders/bin/python rl/reward/testdata/graders.py rl/reward/testdata/graders.jsonl rl/reward/testdata/detex.jsonl 2>/dev/null | grep .
PYTHONHASHSEED=0 bin/graders/bin/python rl/reward/testdata/constructs.py rl/reward/testdata/constructs.jsonl 2>/dev/null
go test ./rl/reward ./rl/reward/internal/dapo -run 'TestGraders$|TestDetex$|TestConstructs$' -count 1 -v
