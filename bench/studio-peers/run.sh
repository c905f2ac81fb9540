#!/usr/bin/env bash
# Command studio-peers times the curves of 10,000 steps in TensorBoard, Trackio and trinity studio, in turns.
# Needs: Python and pip, and the folder of go run ./bench studio
# Takes: five minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
[ -d bin/bench-studio/big ] || { echo "skipped: go run ./bench studio makes the folder bin/bench-studio/big"; exit; }
go build -o bin/trinity ./cmd/trinity
python3 -m venv bin/studio-peers
bin/studio-peers/bin/pip install -q tensorboard trackio
bin/studio-peers/bin/python -B bench/studio/peers.py bin/bench-studio/big bin/trinity bin/studio-peers/data
