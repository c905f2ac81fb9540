#!/usr/bin/env bash
# Compares environments of GEM in the host with GEM's own loop: the games and the tasks of one turn, observation by observation and
# reward by reward. EPISODES is how many of each id (200), SLOW how many of those that take seconds to begin (200); GSM8K a folder with
# test.jsonl of openai/grade-school-math, for math:*, else a few rows of our own; IDS compares only those. Needs Python 3.10 to 3.12
# and pip.
set -euo pipefail
cd "$(dirname "$0")/../../../.."
venv=${VENV:-.cache/gem-full}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv"
	"$venv/bin/pip" install --quiet gem-llm==0.1.0 datasets numpy pandas
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$(cd "$venv/bin" && pwd)/python
scripts=rl/env/python/testdata
mkdir -p "$work/nltk/corpora/words"
cp rl/env/game/words/basic.txt "$work/nltk/corpora/words/en-basic"
cp rl/env/game/words/english.txt "$work/nltk/corpora/words/en"
# The lists are there; what GEM would download again on each start must fail at once.
export NLTK_DATA=$work/nltk PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 HF_HUB_OFFLINE=1
"$python" $scripts/gemrows.py "$work" ${GSM8K:+"$GSM8K/test.jsonl"}
"$python" -c 'import importlib.metadata as m; print("; ".join(f"{p} {m.version(p)}" for p in ("gem-llm", "reasoning-gym", "nltk", "datasets")))'

compare() { # name, episodes, ids
	"$python" $scripts/loop.py "$2" "$work" "${@:3}" >"$work/$1.jsonl" 2>"$work/$1.err" || { tail "$work/$1.err"; exit 1; }
	go test ./rl/env/python -count 1 -run 'TestGEM$' -v -timeout 5h -gem.python "$python" -gem.episodes "$work/$1.jsonl" -gem.rows "$work" |
		sed -unE 's/^ *gem_test.go:[0-9]+: //p; /^(---|ok|FAIL)/p'
}
variants() { for n in "$@"; do for v in easy hard random; do echo "game:$n-v0-$v"; done; done; }
episodes=${EPISODES:-200}
if [ -n "${IDS:-}" ]; then
	# shellcheck disable=SC2086
	compare ids "$episodes" $IDS
	exit
fi
# shellcheck disable=SC2046
compare games "$episodes" $(variants GuessTheNumber Mastermind Minesweeper TowerofHanoi Game2048 Wordle Hangman WordSearch FifteenPuzzle) \
	game:Game2048-v0-extreme-hard game:Crosswords-v0-easy game:Crosswords-v0-hard game:Sudoku-v0-easy game:Sokoban-v0-easy
compare rows "$episodes" math:GSM8K math:ASDiv2K qa:NaturalQuestions logic:RuleTaker-d1 eval:MATH500 code:Taco8k
compare reasoning "$episodes" rg
compare slow "${SLOW:-200}" game:Sudoku-v0-hard game:Sudoku-v0-random game:Sokoban-v0-hard game:Sokoban-v0-random
