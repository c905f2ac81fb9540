#!/usr/bin/env bash
# Command arm64 tests kernels, and the bits of models and engine, on an emulated arm64 with and without FEAT_BF16.
# Needs: Debian's qemu-user-static
# Takes: an hour
set -euo pipefail
cd "$(dirname "$0")/../.."
command -v qemu-aarch64-static >/dev/null || { echo "skipped: qemu-aarch64-static is missing: apt-get install qemu-user-static"; exit; }
.ci/emulated arm64
