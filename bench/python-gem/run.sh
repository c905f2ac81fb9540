#!/usr/bin/env bash
# Command python-gem compares GEM's environments in the Python host with GEM's own loop, 200 episodes of each id.
# Needs: Python 3.10 to 3.12 and pip
# Takes: hours; the next call goes on with the ids that are missing
#
# It compares every observation, reward and flag. EPISODES is how many of each id (200), SLOW how many of those that take seconds to begin (200);
# GSM8K a folder with test.jsonl of openai/grade-school-math, for math:*, else a few rows of our own; IDS compares only those. What was
# compared with the same versions is in bin/python-gem.log; FRESH=1 begins again.
set -euo pipefail
cd "$(dirname "$0")/../.."
log=bin/python-gem.log
mkdir -p bin
venv=${VENV:-.cache/gem-full}
episodes=${EPISODES:-200}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv"
	"$venv/bin/pip" install --quiet gem-llm==0.1.0 datasets numpy pandas pylatexenc
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python=$(cd "$venv/bin" && pwd)/python
scripts=bench/python-gem
mkdir -p "$work/nltk/corpora/words"
cp rl/env/game/words/basic.txt "$work/nltk/corpora/words/en-basic"
cp rl/env/game/words/english.txt "$work/nltk/corpora/words/en"
# The lists are there; what GEM would download again on each start must fail at once.
# Programs that GEM runs (code:*) are run by the same Python.
export PATH="$(dirname "$python"):$PATH" NLTK_DATA=$work/nltk PYTHONHASHSEED=0 PYTHONDONTWRITEBYTECODE=1 http_proxy=http://127.0.0.1:9 https_proxy=http://127.0.0.1:9 HF_HUB_OFFLINE=1
"$python" $scripts/gemrows.py "$work" ${GSM8K:+"$GSM8K/test.jsonl"}
versions=$("$python" -c 'import importlib.metadata as m; print("; ".join(f"{p} {m.version(p)}" for p in ("gem-llm", "reasoning-gym", "nltk", "datasets")))')
go build -o "$work/compare" ./bench/python-gem/compare

# What was compared so far, of the same versions: ids that differed are compared again.
equal='^[^ ]+ +([0-9]+) of \1 episodes equal|cannot be made'
state=$work/compared
touch "$state"
if [ -z "${FRESH:-}" ] && [ -f "$log" ] && [ "$(head -n 1 "$log")" = "$versions" ]; then
	grep -E "$equal" "$log" >"$state" || true
fi
report() { # of how many ids
	local all
	all=$(grep -c . "$state" || true)
	{
		echo "$versions"
		if [ "$all" -lt "$1" ]; then
			echo "an unfinished run: $all of $1 ids; the next call goes on with the others"
		fi
		cat "$state"
		echo "$(grep -c -E "$equal" "$state") of $all ids are equal"
		echo "not compared: math:Geometry3K, which shows images, as models here read text alone"
	} >"$work/log"
	cp "$work/log" "$log"
}
compare() { # ids
	"$python" $scripts/loop.py "$n" "$work" "$@" >"$work/episodes.jsonl" 2>"$work/loop.err" || { tail "$work/loop.err"; exit 1; }
	"$work/compare" "$python" "$work/episodes.jsonl" "$work" >"$work/said" || true
	grep -E 'episodes equal|cannot be made' "$work/said" >>"$state"
	cat "$work/said" >&2
}
variants() { for n in "$@"; do for v in easy hard random; do echo "game:$n-v0-$v"; done; done; }
quick=$(
	variants GuessTheNumber Mastermind Minesweeper TowerofHanoi Game2048 Wordle Hangman WordSearch FifteenPuzzle Crosswords
	printf '%s\n' game:Game2048-v0-extreme-hard game:Sudoku-v0-easy game:Sokoban-v0-easy
	"$python" -c 'import sys, os
out = os.fdopen(os.dup(1), "w"); os.dup2(2, 1)
import gem.envs
out.writelines(i + "\n" for i in gem.envs.registration.ENV_REGISTRY if not i.startswith("game:") and i != "math:Geometry3K"); out.flush(); os._exit(0)' 2>"$work/ids.err"
)
slow=$(printf '%s\n' game:Sudoku-v0-hard game:Sudoku-v0-random game:Sokoban-v0-hard game:Sokoban-v0-random)
if [ -n "${IDS:-}" ]; then quick=$(printf '%s\n' $IDS) slow=; fi
total=$(printf '%s\n' $quick $slow | wc -l)
for part in "$quick" "$slow"; do
	n=$episodes at_once=6
	[ "$part" != "$slow" ] || n=${SLOW:-200} at_once=1
	left=$(for id in $part; do grep -q "^$id " "$state" || echo "$id"; done)
	while [ -n "$left" ]; do
		# shellcheck disable=SC2046
		compare $(head -n "$at_once" <<<"$left")
		report "$total"
		left=$(tail -n "+$((at_once + 1))" <<<"$left")
	done
done
report "$total"
cat "$log"
