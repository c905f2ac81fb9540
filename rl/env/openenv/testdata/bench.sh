#!/usr/bin/env bash
# Times a step of 256 open episodes on real servers in Python, beside the same messages over sockets that do nothing else: that of
# examples/openenv, and OpenEnv's echo environment, whose steps are calls of MCP tools, unmodified. FOLDER is the folder envs of OpenEnv's
# repository ("": without echo), VENV has the package openenv (bin/openenv-venv, as make openenv makes it), STEPS how many steps.
set -uo pipefail
cd "$(dirname "$0")/../../../.."
venv=${VENV:-bin/openenv-venv}
if [ ! -x "$venv/bin/python" ]; then
	"${PYTHON:-python3}" -m venv "$venv" && "$venv/bin/pip" install --quiet openenv || exit 1
fi
python=$(cd "$venv/bin" && pwd)/python

bench() { # name, folder, flags
	local port server rc
	port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	(cd "$2" && MAX_CONCURRENT_ENVS=600 PYTHONDONTWRITEBYTECODE=1 exec "$python" -m uvicorn server.app:app --host 127.0.0.1 --port "$port" \
		--log-level error) &
	server=$!
	until "$python" -c "import urllib.request as u; u.urlopen('http://127.0.0.1:$port/health')" 2>/dev/null; do
		kill -0 "$server" 2>/dev/null || exit 1
		sleep 0.2
	done
	echo "# $1, in Python"
	go test ./rl/env/openenv -run xxx -bench Steps -benchtime "${STEPS:-1000x}" -count 2 -timeout 40m -openenv.url "http://127.0.0.1:$port" $3
	rc=$?
	kill "$server" && wait "$server" 2>/dev/null
	return $rc
}

bench "examples/openenv" examples/openenv '' || exit 1
[ -z "${FOLDER:-}" ] || bench "OpenEnv's echo environment" "$FOLDER/echo_env" -openenv.echo
