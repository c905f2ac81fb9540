#!/usr/bin/env bash
# Command plugins runs plug-in files of Trinity-RFT's packages, of public repositories and of folders, which are its arguments.
# Needs: Python and pip, or PYTHON=python; PACKAGES and PUBLIC choose sources, RESUME=1 continues
# Takes: half an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
go build -o bin/trinity ./cmd/trinity
packages=()
for p in ${PACKAGES:-trinity-rft==0.5.2 trinity-rft==0.6.0}; do packages+=(--package "$p"); done
python3 -B rl/plugin/testdata/existing/run.py --trinity bin/trinity --python "${PYTHON:-python3}" --work bin/plugins --out bin/plugins.log \
	${RESUME:+--resume} --public "${PUBLIC:-https://github.com}" "${packages[@]}" "$@" >&2
cat bin/plugins.log
