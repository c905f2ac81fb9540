#!/usr/bin/env bash
# Command openenv-bench times a step of 256 open OpenEnv episodes beside a bare socket, on a server in Go and on servers in Python.
# Needs: Python and pip for REAL=1, the server of examples/openenv, and for FOLDER=the folder envs of OpenEnv's repository, its echo environment
# Takes: a minute, with servers in Python ten
set -uo pipefail
cd "$(dirname "$0")/../.."
go run ./bench/openenv-bench/steps || exit 1
[ -n "${REAL:-}${FOLDER:-}" ] || exit 0
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
	go run ./bench/openenv-bench/steps -n "${STEPS:-1000}" -rounds 2 -url "http://127.0.0.1:$port" $3
	rc=$?
	kill "$server" && wait "$server" 2>/dev/null
	return $rc
}

bench "examples/openenv" examples/openenv '' || exit 1
[ -z "${FOLDER:-}" ] || bench "OpenEnv's echo environment" "$FOLDER/echo_env" -echo
