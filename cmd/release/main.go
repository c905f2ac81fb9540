// Command release packs the binaries that .ci/release has built for the ways in which people get a program: an archive
// for each platform, a wheel for each (pip install), scripts that install from an address, and the checksums of all.
// Equal binaries give equal bytes.
//
//	go run ./cmd/release bin/release [ADDRESS]
//
// With ADDRESS, where the folder will be published, there are a Homebrew formula and a Scoop manifest too, and the
// scripts need not be told it.
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 2 || len(os.Args) > 3 {
		fmt.Fprintln(os.Stderr, "usage: release FOLDER [ADDRESS]")
		os.Exit(2)
	}
	address := ""
	if len(os.Args) == 3 {
		address = strings.TrimSuffix(os.Args[2], "/")
	}
	if err := pack(os.Args[1], address); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// binary is the program for one platform.
type binary struct {
	platform
	version string // of semver, without v
	data    []byte
}

// platform is an operating system and a processor, by the names that each channel has for them.
type platform struct{ os, arch, wheel string }

// platforms are those of .ci/release. A static binary runs with any C library, so the wheels of Linux have the tags of
// glibc and of musl. Go 1.26 needs macOS 12.
//
// Source of the tags: https://packaging.python.org/en/latest/specifications/platform-compatibility-tags/.
func platforms() []platform {
	return []platform{
		{"linux", "amd64", "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64"},
		{"linux", "arm64", "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64"},
		{"darwin", "amd64", "macosx_12_0_x86_64"},
		{"darwin", "arm64", "macosx_12_0_arm64"},
		{"windows", "amd64", "win_amd64"},
		{"windows", "arm64", "win_arm64"},
	}
}

// program is the name of the binary for users.
func (p platform) program() string {
	if p.os == "windows" {
		return "trinity.exe"
	}
	return "trinity"
}

// built is the file that .ci/release has made.
func (p platform) built() string {
	return "trinity-" + p.os + "-" + p.arch + strings.TrimPrefix(p.program(), "trinity")
}

// pack writes all packages of the binaries in dir.
func pack(dir, address string) error {
	var all []binary
	for _, p := range platforms() {
		b, err := read(dir, p)
		if os.IsNotExist(err) {
			continue // RELEASE_TARGETS left it out
		}
		if err != nil {
			return err
		}
		all = append(all, b)
	}
	if len(all) == 0 {
		return fmt.Errorf("no binaries in %s; make release builds them", dir)
	}
	sums := map[string]string{}
	for _, b := range all {
		for _, f := range []func(binary) (string, []byte, error){archive, wheel} {
			name, data, err := f(b)
			if err == nil {
				err = write(dir, name, data, sums)
			}
			if err != nil {
				return err
			}
		}
	}
	for name, data := range channels(all[0].version, address, sums) {
		if err := write(dir, name, data, sums); err != nil {
			return err
		}
	}
	return writeSums(dir, sums)
}

// read reads the binary of a platform and the version that the linker recorded in it.
func read(dir string, p platform) (binary, error) {
	path := filepath.Join(dir, p.built())
	data, err := os.ReadFile(path)
	if err != nil {
		return binary{}, err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return binary{}, fmt.Errorf("%s: %w", path, err)
	}
	version := strings.TrimPrefix(info.Main.Version, "v")
	if version == "" || version == "(devel)" || strings.HasSuffix(version, "+dirty") {
		return binary{}, fmt.Errorf("%s has the version %q; build it from a commit, as make release does", path,
			version)
	}
	return binary{p, version, data}, nil
}

// write writes a file of the release and notes its SHA-256.
func write(dir, name string, data []byte, sums map[string]string) error {
	sum := sha256.Sum256(data)
	sums[name] = hex.EncodeToString(sum[:])
	return os.WriteFile(filepath.Join(dir, name), data, 0o644)
}

// writeSums writes SHA256SUMS, in the form of sha256sum, with the binaries and SBOMs that were there.
func writeSums(dir string, sums map[string]string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	var lines []string
	for _, e := range entries {
		if e.Name() == "SHA256SUMS" || e.IsDir() {
			continue
		}
		sum, known := sums[e.Name()]
		if !known {
			data, err := os.ReadFile(filepath.Join(dir, e.Name()))
			if err != nil {
				return err
			}
			s := sha256.Sum256(data)
			sum = hex.EncodeToString(s[:])
		}
		lines = append(lines, sum+"  "+e.Name()+"\n")
	}
	slices.Sort(lines)
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(strings.Join(lines, "")), 0o644)
}
