#!/usr/bin/env bash
# Command bench-python measures calls of Python, a thousand episodes open at once, and what a reward in Python adds to a step.
# Needs: Python
# Takes: ten minutes
set -euo pipefail
cd "$(dirname "$0")/../.."
go test ./rl/python -run 'TestManyEpisodes$' -bench 'BenchmarkCall$' -count 1 -v
go test ./rl/plugin -run '^$' -bench Reward -benchtime 3s
go test ./rl/env/pythonenv -run 'TestThousandEpisodes$' -count 1 -v
