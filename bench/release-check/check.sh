#!/usr/bin/env bash
# Starts what .ci/release wrote: the linux binaries train the example for two steps (arm64 under QEMU), the image's files do so in a
# chroot, and `go install` works from a module proxy that has the commit as version $1.
set -euo pipefail
cd "$(dirname "$0")/../.."
version=${1:-v0.2.0}
out=$PWD/bin/release
work=$(mktemp -d)
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
two='buffer.total_steps=2 buffer.batch_size=4 algorithm.repeat_times=4 buffer.explorer_input.eval_tasksets=[]'

train() { # what runs the binary, folder
	mkdir -p "$2"
	(cd "$2" && $1 version && $1 run --config examples/tiny/gsm8k.yaml $two checkpoint_root_dir="$2/jobs" | tail -n 3 | head -n 2)
	[ "$(find "$2/jobs" -name metrics.jsonl -exec cat {} + | wc -l)" = 2 ]
}
echo "== linux/amd64"; train "$out/trinity-linux-amd64" "$work/amd64"
if [ -e "$out/trinity-linux-arm64" ]; then
	echo "== linux/arm64 on $(qemu-aarch64-static --version | head -n 1)"
	train "qemu-aarch64-static $out/trinity-linux-arm64" "$work/arm64"
fi

echo "== the files of the image, alone in a chroot"
root=$work/root
mkdir -p "$root/etc/ssl/certs" "$root/work"
cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
cp "$out/trinity-linux-amd64" "$root/trinity"
chroot "$root" /trinity version
chroot "$root" /trinity run --config examples/tiny/gsm8k.yaml $two checkpoint_root_dir=/work | tail -n 3 | head -n 2

echo "== go install through a module proxy"
module=$(go list -m)
at=$work/proxy/$module/@v
mkdir -p "$at"
git archive --format=zip --prefix="$module@$version/" -o "$at/$version.zip" HEAD -- . ':!examples/plugin'
cp go.mod "$at/$version.mod"
echo "$version" >"$at/list"
echo "{\"Version\":\"$version\",\"Time\":\"$(TZ=UTC git log -1 --format=%cd --date=format-local:%Y-%m-%dT%H:%M:%SZ)\"}" >"$at/$version.info"
! grep -q '^replace' go.mod
(cd "$work" && GOFLAGS=-modcacherw GOPROXY="file://$work/proxy,$(go env GOPROXY)" GONOSUMDB="$module" GOMODCACHE="${RELEASE_MODCACHE:-$work/mod}" \
	GOBIN="$work/bin" CGO_ENABLED=0 go install "$module/cmd/trinity@$version" 2> >(grep -v "^go: downloading" >&2))
"$work/bin/trinity" version | grep -F "$version"
