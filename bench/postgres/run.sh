#!/usr/bin/env bash
# Command postgres tests the SQL buffer, a table in the studio, and a run in two processes, on a Postgres server.
# Needs: Postgres, such as Debian's postgresql
# Takes: a minute
#
# The server is in a folder of its own and is stopped at the end. Postgres does not run as root: then it runs as nobody.
set -euo pipefail
cd "$(dirname "$0")/../.."
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | tail -1 || true)
if [ ! -x "$bin/initdb" ]; then
	command -v initdb >/dev/null || { echo "skipped: initdb is missing: apt-get install postgresql"; exit; }
	bin=$(dirname "$(readlink -f "$(command -v initdb)")")
fi
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
export TRINITY_TEST_POSTGRES="postgresql://trinity@127.0.0.1:$port/postgres?sslmode=disable"
go test ./loop/buffer -run SQL -count 1 -v | grep -E '^ *--- |^(ok|FAIL|panic)|_test.go:'
go test ./studio/source -run 'TestPostgres$' -count 1 -v | grep -E '^ *--- |^(ok|FAIL|panic)|_test.go:'
go test ./run -run 'TestPostgres$' -count 1 -v | grep -E '^ *--- |^(ok|FAIL|panic)|_test.go:'
