package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// program is a binary that says its version.
const program = "#!/bin/sh\necho trinity 1.2.3 \"$@\"\n"

// released packs that program for this platform in a folder, as pack does. It skips where sh cannot run it.
func released(t *testing.T) (dir string) {
	t.Helper()
	here := func(p platform) bool { return p.os == runtime.GOOS && p.arch == runtime.GOARCH }
	i := slices.IndexFunc(platforms(), here)
	if i < 0 || runtime.GOOS == "windows" {
		t.Skip("no release of a script for this platform")
	}
	t.Chdir("../..") // to LICENSE
	b, sums, dir := binary{platforms()[i], "1.2.3", []byte(program)}, map[string]string{}, t.TempDir()
	for _, f := range []func(binary) (string, []byte, error){archive, wheel} {
		name, data, err := f(b)
		if err != nil {
			t.Fatal(err)
		}
		if again, same, _ := f(b); again != name || !bytes.Equal(same, data) {
			t.Errorf("%s has other bytes when it is packed again", name)
		}
		if err := write(dir, name, data, sums); err != nil {
			t.Fatal(err)
		}
	}
	for name, data := range channels("1.2.3", "", sums) {
		if err := write(dir, name, data, sums); err != nil {
			t.Fatal(err)
		}
	}
	if err := writeSums(dir, sums); err != nil {
		t.Fatal(err)
	}
	return dir
}

// install.sh installs the program from an address, and nothing if the checksum is another one.
func TestInstallScript(t *testing.T) {
	dir := released(t)
	server := httptest.NewServer(http.FileServer(http.Dir(dir)))
	defer server.Close()
	run := func(to string) (string, error) {
		out, err := exec.Command("sh", filepath.Join(dir, "install.sh"), server.URL, to).CombinedOutput()
		return string(out), err
	}
	nowhere, err := exec.Command("sh", filepath.Join(dir, "install.sh")).CombinedOutput()
	if err == nil || !strings.Contains(string(nowhere), "name the address") {
		t.Errorf("without an address: %v\n%s", err, nowhere)
	}
	to := filepath.Join(t.TempDir(), "a b")
	out, err := run(to)
	if err != nil || !strings.Contains(out, "trinity 1.2.3 version") ||
		!strings.Contains(out, "remove: rm "+to+"/trinity") {
		t.Fatalf("%v\n%s", err, out)
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatal(archives, err)
	}
	if err := os.WriteFile(archives[0], []byte("another"), 0o644); err != nil {
		t.Fatal(err)
	}
	to = t.TempDir()
	if out, err := run(to); err == nil || !strings.Contains(out, "nothing was installed") {
		t.Errorf("a wrong archive: %v\n%s", err, out)
	}
	if list, _ := os.ReadDir(to); len(list) > 0 {
		t.Errorf("it left %v", list)
	}
}

// pip installs the wheel. Its command is the program, and its package finds it.
func TestWheel(t *testing.T) {
	dir := released(t)
	if err := exec.Command("python3", "-m", "pip", "--version").Run(); err != nil {
		t.Skip("no pip here")
	}
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != 1 {
		t.Fatal(wheels, err)
	}
	to := t.TempDir()
	pip := exec.Command("python3", "-m", "pip", "install", "--no-index", "--target", to, wheels[0])
	out, err := pip.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	said, err := exec.Command(filepath.Join(to, "bin", "trinity"), "version").Output()
	if err != nil || string(said) != "trinity 1.2.3 version\n" {
		t.Errorf("%v %q", err, said)
	}
	python := exec.Command("python3", "-c", "import trinity_go as t; print(t.binary(), t._binary.call('hi'))")
	python.Env = append(os.Environ(), "PYTHONPATH="+to)
	said, err = python.CombinedOutput()
	if want := filepath.Join(to, "bin", "trinity") + " trinity 1.2.3 hi\n\n"; err != nil || string(said) != want {
		t.Errorf("%v %q, want %q", err, said, want)
	}
}

// The archive has one folder, with the program executable.
func TestArchive(t *testing.T) {
	dir := released(t)
	archives, err := filepath.Glob(filepath.Join(dir, "*.tar.gz"))
	if err != nil || len(archives) != 1 {
		t.Fatal(archives, err)
	}
	f, err := os.Open(archives[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	folder, r := strings.TrimSuffix(filepath.Base(archives[0]), ".tar.gz"), tar.NewReader(z)
	modes := map[string]int64{}
	for h, err := r.Next(); err != io.EOF; h, err = r.Next() {
		if err != nil {
			t.Fatal(err)
		}
		modes[h.Name] = h.Mode
	}
	if len(modes) != 3 || modes[folder+"/trinity"] != 0o755 || modes[folder+"/LICENSE"] != 0o644 {
		t.Errorf("files %v", modes)
	}
}

// The manifest and the formula name the archives of all platforms with their checksums.
func TestChannels(t *testing.T) {
	sums := map[string]string{}
	for _, p := range platforms() {
		end := ".tar.gz"
		if p.os == "windows" {
			end = ".zip"
		}
		sums["trinity-1.2.3-"+p.os+"-"+p.arch+end] = p.os + p.arch
	}
	all := channels("1.2.3", "https://example.org/r", sums)
	var manifest struct {
		Architecture map[string]struct{ URL, Hash string }
	}
	if err := json.Unmarshal(all["trinity.json"], &manifest); err != nil {
		t.Fatal(err)
	}
	arm := manifest.Architecture["arm64"]
	if arm.Hash != "windowsarm64" || arm.URL != "https://example.org/r/trinity-1.2.3-windows-arm64.zip" {
		t.Errorf("the manifest has %+v", manifest)
	}
	for name, sum := range sums {
		if strings.HasSuffix(name, ".zip") {
			continue
		}
		if formula := string(all["trinity.rb"]); !strings.Contains(formula, name+`"`) ||
			!strings.Contains(formula, `sha256 "`+sum+`"`) {
			t.Errorf("the formula lacks %s:\n%s", name, formula)
		}
	}
}

func TestPythonVersion(t *testing.T) {
	for version, want := range map[string]string{
		"1.2.3": "1.2.3", "0.4.0-rc.1": "0.4.0rc1",
		"0.3.1-0.20261128132156-af992b84c0de":      "0.3.1.dev20261128132156",
		"0.0.0-20261128132156-af992b84c0de":        "0.0.0.dev20261128132156",
		"0.4.0-rc.1.0.20261128132156-af992b84c0de": "0.4.0.dev20261128132156",
	} {
		if got := pythonVersion(version); got != want {
			t.Errorf("%s is %s for pip, want %s", version, got, want)
		}
	}
}
