#!/usr/bin/env bash
# Command neon-mca models how well the inner loops of NEON use the multiply-add pipes, with llvm-mca 19.
# Needs: Python and Debian's llvm-19
# Takes: a minute
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v llvm-mca-19 >/dev/null || { echo "skipped: llvm-mca-19 is missing: apt-get install llvm-19"; exit; }
python3 bench/neon-mca/loops.py
