#!/usr/bin/env bash
# Command release-check builds the release and runs its binaries here, in a chroot and on an emulated arm64, and tries go install.
# Needs: root and Debian's qemu-user-static
# Takes: half an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
[ "$(id -u)" = 0 ] || { echo "skipped: chroot needs root"; exit; }
exec 2>&1
.ci/release
bench/release-check/check.sh
