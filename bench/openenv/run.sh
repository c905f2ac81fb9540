#!/usr/bin/env bash
# Command openenv plays OpenEnv's environments on their real servers, three turns each, and trains on the example's.
# Needs: Python 3.10 to 3.12 and pip; FOLDER names the folder envs of OpenEnv's repository, ENVS selects some, PACKAGES are installed for them
# Takes: half an hour
set -uo pipefail
cd "$(dirname "$0")/../.."
venv=${VENV:-bin/openenv-venv}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv" || exit 1
	# shellcheck disable=SC2086
	"$venv/bin/pip" install --quiet ${PACKAGES:-openenv textarena nltk smolagents<2 reasoning-gym gymnasium python-chess open_spiel} || exit 1
fi
python=$(cd "$venv/bin" && pwd)/python
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
go build -o "$work/trinity" ./cmd/trinity || exit 1
export PYTHONDONTWRITEBYTECODE=1 HF_HUB_OFFLINE=1 NLTK_DATA=$work/nltk

# Wordle asks NLTK for its words and for a tagger, which it downloads. Here are our own words, and a tagger that takes each for a noun.
words=$NLTK_DATA/corpora/words tagger=$NLTK_DATA/taggers/averaged_perceptron_tagger_eng
mkdir -p "$words" "$tagger"
cp rl/env/game/words/basic.txt "$words/en-basic"
cp rl/env/game/words/english.txt "$words/en"
for part in weights tagdict; do echo '{}' >"$tagger/averaged_perceptron_tagger_eng.$part.json"; done
echo '["NN"]' >"$tagger/averaged_perceptron_tagger_eng.classes.json"

"$python" -c 'import importlib.metadata as m; print("; ".join(f"{p} {m.version(p)}" for p in ("openenv", "fastapi", "uvicorn")))'

play() { # name, id, arguments
	local out=$work/out
	timeout "${LIMIT:-180}" "$work/trinity" gem play --python "$python" --random --seed 3 "$2?start_timeout=120&max_turns=3&$3" >"$out" 2>&1
	local rc=$?
	local end
	end=$(sed -n 's/^the end after \(.*\)/played: \1/p' "$out")
	if [ -z "$end" ]; then
		end="not played: $(grep -E '(Error|error|exist|answers|missing|not )' "$out" | tail -1 |
			sed "s#^.*env: openenv:[^ ]*: ##; s#$work#…#g; s#$PWD/##g" | cut -c1-220)"
		[ $rc = 124 ] && end="not played: it took more than ${LIMIT:-180} seconds"
	fi
	printf '%-36s %s\n' "$1" "$end"
	grep -q 'The server ignores seeds' "$out" && printf '%-36s   note: the server ignores seeds, or shows what differs between resets\n' ''
	grep -q 'without any reward' "$out" && printf '%-36s   note: no reward in the episode\n' ''
	return 0
}

if [ -n "${FOLDER:-}" ]; then
	for folder in ${ENVS:-$(cd "$FOLDER" && echo *_env kernrl)}; do
		id=openenv:$FOLDER/$folder
		case $folder in
		textarena_env)
			play "$folder (Wordle-v0)" "$id" 'show=prompt,messages.*.content&fill=message&random=[crane]|[stone]'
			TEXTARENA_ENV_ID=GuessTheNumber-v0 play "$folder (GuessTheNumber-v0)" "$id" 'show=messages.*.content&fill=message&random=[7]|[12]'
			;;
		coding_env) play "$folder" "$id" 'show=stdout,stderr&fill=code&random=print(6*7)' ;;
		openspiel_env)
			for game in catch tic_tac_toe kuhn_poker; do OPENSPIEL_GAME=$game play "$folder ($game)" "$id" ''; done
			;;
		*) play "$folder" "$id" '' ;;
		esac
	done
fi
play 'examples/openenv' openenv:examples/openenv 'template=examples/openenv/template.yaml'
play 'examples/openenv, split test' openenv:examples/openenv 'template=examples/openenv/template.yaml&split=test'
go run ./bench/openenv-learn -compare -python "$python"
