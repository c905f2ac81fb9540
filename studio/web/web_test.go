package web_test

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/studio/web"
)

// Every vendored file is what its checksum says, and every one has a checksum.
func TestChecksums(t *testing.T) {
	for _, dir := range []string{"npm", "testdata"} {
		sums, err := os.Open(filepath.Join(dir, "SHA256SUMS"))
		if err != nil {
			t.Fatal(err)
		}
		defer sums.Close()
		known := map[string]string{}
		for lines := bufio.NewScanner(sums); lines.Scan(); {
			sum, file, _ := strings.Cut(lines.Text(), "  ")
			known[file] = sum
		}
		for file, sum := range known {
			data, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				t.Error(err)
				continue
			}
			if got := sha256.Sum256(data); hex.EncodeToString(got[:]) != sum {
				t.Errorf("%s/%s has SHA-256 %x, SHA256SUMS says %s", dir, file, got, sum)
			}
		}
		for _, library := range []string{"uplot", "katex", "axe-core"} {
			err := filepath.WalkDir(filepath.Join(dir, library), func(path string, d fs.DirEntry, err error) error {
				if name, _ := filepath.Rel(dir, path); err == nil && !d.IsDir() && known[filepath.ToSlash(name)] == "" {
					t.Errorf("%s has no checksum in %s/SHA256SUMS", path, dir)
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// Whatever a page names is in the binary, and nothing in a page needs another host or an inline script.
func TestFiles(t *testing.T) {
	page, err := fs.ReadFile(web.Files, "index.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?:href|src)="([^"#]+)"`).FindAllStringSubmatch(string(page), -1) {
		if _, err := fs.Stat(web.Files, m[1]); err != nil {
			t.Errorf("index.html names %s: %v", m[1], err)
		}
	}
	for _, bad := range []string{"<style", "style=", "onclick=", "//cdn", "https://"} {
		if strings.Contains(string(page), bad) {
			t.Errorf("index.html has %q", bad)
		}
	}
	unsafe := regexp.MustCompile(`\.(innerHTML|outerHTML)\b|insertAdjacentHTML|document\.write|\beval\(|new Function`)
	err = fs.WalkDir(web.Files, "js", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		code, err := fs.ReadFile(web.Files, path)
		if found := unsafe.Find(code); found != nil {
			t.Errorf("%s uses %s: texts of models must stay texts", path, found)
		}
		for _, m := range regexp.MustCompile(`from "(\.[^"]+)"`).FindAllStringSubmatch(string(code), -1) {
			if _, err := fs.Stat(web.Files, filepath.ToSlash(filepath.Join(filepath.Dir(path), m[1]))); err != nil {
				t.Errorf("%s imports %s: %v", path, m[1], err)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
