#!/usr/bin/env bash
# Command avx2 tests kernels, and the bits of models and engine, on an emulated amd64 without AVX-512.
# Needs: Debian's qemu-user-static
# Takes: an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v qemu-x86_64-static >/dev/null || { echo "skipped: qemu-x86_64-static is missing: apt-get install qemu-user-static"; exit; }
.ci/emulated amd64
