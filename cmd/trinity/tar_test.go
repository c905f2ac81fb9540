package main

import (
	"archive/tar"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// An archive's files are unpacked with their folders, and nothing outside the folder for them.
func TestFetchTar(t *testing.T) {
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		out := tar.NewWriter(w)
		for _, name := range []string{"config.json", "templates/tool_use.jinja", "../escaped", "a/../../escaped",
			"/escaped"} {
			out.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: 1})
			out.Write([]byte("x"))
		}
		out.WriteHeader(&tar.Header{Name: "link", Typeflag: tar.TypeSymlink, Linkname: ".."})
		out.Close()
	}))
	defer web.Close()
	above := t.TempDir()
	if err := fetchTar(t.Context(), web.URL, filepath.Join(above, "new")); err != nil {
		t.Fatal(err)
	}
	got, err := disk.Files(above)
	if want := []string{"new/config.json", "new/templates/tool_use.jinja"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}
