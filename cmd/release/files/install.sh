#!/bin/sh
# Installs trinity for this user, from the folder of a release:
#   sh install.sh ADDRESS [FOLDER]
# ADDRESS is where the release lies<<with .address>> (by default <<.>>)<<end>>, FOLDER where the program goes (~/.local/bin). Nothing else is
# changed.
set -eu
fail() { echo "install.sh: $1" >&2; exit 1; }
address=${1:-<<.address>>}
[ -n "$address" ] || fail "name the address of a release: sh install.sh https://…"
folder=${2:-$HOME/.local/bin}

get() { # an address, a file
	if command -v curl >/dev/null; then curl -fsSL "$1" -o "$2"; elif command -v wget >/dev/null; then wget -q "$1" -O "$2"
	else fail "neither curl nor wget is here; install one of them"; fi || fail "cannot read $1"
}
sum() { if command -v sha256sum >/dev/null; then sha256sum "$1"; else shasum -a 256 "$1"; fi | cut -d' ' -f1; }

case $(uname -s) in
Linux) system=linux ;;
Darwin) system=darwin ;;
*) fail "no binary for $(uname -s); Windows has install.ps1, and elsewhere go install builds one" ;;
esac
case $(uname -m) in
x86_64 | amd64) processor=amd64 ;;
aarch64 | arm64) processor=arm64 ;;
*) fail "no binary for the processor $(uname -m); there are amd64 and arm64" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
get "$address/SHA256SUMS" "$work/sums"
line=$(grep -E "  trinity-[^ ]*-$system-$processor\.tar\.gz\$" "$work/sums") || fail "$address has no archive for $system-$processor"
archive=${line##* }
get "$address/$archive" "$work/$archive"
[ "$(sum "$work/$archive")" = "${line%% *}" ] || fail "$archive does not have the checksum that SHA256SUMS states; nothing was installed"
tar -xzf "$work/$archive" -C "$work"
mkdir -p "$folder"
mv "$work/${archive%.tar.gz}/trinity" "$folder/trinity"

echo "installed: $folder/trinity"
"$folder/trinity" version
case ":$PATH:" in *":$folder:"*) ;; *) echo "$folder is not in PATH; add it: export PATH=\"$folder:\$PATH\"" ;; esac
echo "try: trinity run --config examples/tiny/gsm8k.yaml"
echo "remove: rm $folder/trinity"
