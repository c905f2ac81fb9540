#!/usr/bin/env bash
# Command gem-python compares the games with GEM itself: it replays fresh episodes, and measures step and reset.
# Needs: Python and pip; SEEDS chooses how many episodes of an id, DATA names a folder with NLTK's word lists en and en-basic
# Takes: half an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
seeds=${SEEDS:-40}
venv=${VENV:-.cache/gem-python}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv"
	"$venv/bin/pip" install --quiet --no-deps gem-llm==0.1.0 numpy pandas python-dateutil pytz six tzdata
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1
python=$venv/bin/python
scripts=rl/env/game/testdata

# The crosswords draw from GEM's clues, which lie in its package.
mkdir "$work/data"
find "$venv/" -name words_clues.jsonl -exec cp {} "$work/data/" \;
tests='TestGolden$'
if [ -n "${DATA:-}" ]; then
	cp "$DATA/en" "$DATA/en-basic" "$work/data/"
	export WORDS=$work/data
	tests="$tests|TestRandomPlayer" # upstream's baselines are of these lists
fi

ids() { for v in easy hard random; do echo "game:$1-v0-$v"; done; }
# shellcheck disable=SC2046
"$python" $scripts/traces.py "$seeds" $(ids GuessTheNumber) $(ids Mastermind) $(ids Minesweeper) $(ids TowerofHanoi) $(ids Game2048) \
	game:Game2048-v0-extreme-hard $(ids Wordle) $(ids Hangman) $(ids WordSearch) game:Crosswords-v0-easy game:Crosswords-v0-hard \
	game:Sudoku-v0-easy game:Sokoban-v0-easy >"$work/traces.jsonl"
"$python" $scripts/traces.py 6 game:Sudoku-v0-hard game:Sudoku-v0-random game:Sokoban-v0-hard game:Sokoban-v0-random >>"$work/traces.jsonl" # slow to begin in Python
echo "replaying $(wc -l <"$work/traces.jsonl") episodes of GEM"
TRINITY_TEST_GEM_TRACES=$work/traces.jsonl TRINITY_TEST_GEM_DATA=$work/data go test ./rl/env/game -count 1 -run "$tests"

go test ./rl/env/game -run '^$' -bench 'Step$' -benchtime 100ms -count 5 >"$work/go.txt"
go test ./rl/env/game -run '^$' -bench 'Reset$' -benchtime 160x -count 5 >>"$work/go.txt"
PYTHONPATH=$scripts "$python" bench/gem-python/speed.py $scripts/gem_traces.jsonl "$work/go.txt"
