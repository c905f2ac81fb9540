#!/bin/sh
# Starts a Postgres server of Debian's packages (apt-get install postgresql) in a folder of its own, runs the tests of package buffer
# against it, and stops it. Postgres does not run as root: then it runs as nobody.
set -eu
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1 || true)
[ -n "$bin" ] || bin=$(dirname "$(readlink -f "$(command -v initdb)")")
dir=$(mktemp -d)
port=${PORT:-54329}
as=""
if [ "$(id -u)" = 0 ]; then
	chown nobody "$dir"
	as="setpriv --reuid=nobody --clear-groups"
fi
stop() {
	$as "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null || true
	rm -rf "$dir"
}
trap stop EXIT
(cd "$dir" && $as "$bin/initdb" -D "$dir/data" -U trinity -A trust >/dev/null)
(cd "$dir" && $as "$bin/pg_ctl" -w -D "$dir/data" -o "-p $port -k $dir -c listen_addresses=127.0.0.1" -l "$dir/log" start >/dev/null)
"$bin/postgres" --version
go test "${1:-./buffer}" -run "${2:-SQL}" -count 1 -v -postgres "postgresql://trinity@127.0.0.1:$port/postgres?sslmode=disable"
