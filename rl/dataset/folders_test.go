package dataset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOpenFolders(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"b", "a", ".git", "deep/c"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "notes.txt"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ index, want string }{ // the names in order, or the error
		{"", "a b deep"},
		{"# first\n\n b \ndeep/c\nb", "b c b"},
		{"b\n../x", `index.txt:2 names "../x", which is not below the folder`},
		{"/etc", "is not below the folder"},
		{"# all\n\nzz", `index.txt:3 names "zz", and there is no such folder`},
		{"notes.txt", "there is no such folder"},
		{"# none", "has no folders"},
	} {
		if tt.index != "" {
			if err := os.WriteFile(filepath.Join(root, indexFile), []byte(tt.index), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		src, err := OpenFolders(root, "set")
		if err != nil {
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("index %q: %v, want %q", tt.index, err, tt.want)
			}
			continue
		}
		var names []string
		for i := range src.Len() {
			row, err := src.Row(i)
			if err != nil {
				t.Fatal(err)
			}
			name, _ := row.Get("task_name")
			names = append(names, name.(string))
		}
		if got := strings.Join(names, " "); got != tt.want {
			t.Errorf("index %q: got %s, want %s", tt.index, got, tt.want)
		}
		row, _ := src.Row(1)
		id, _ := row.Get("task_id")
		dir, _ := row.Get("task_dir")
		if info, err := os.Stat(dir.(string)); err != nil || !info.IsDir() || !filepath.IsAbs(dir.(string)) ||
			!strings.HasPrefix(id.(string), "set:1:") {
			t.Errorf("row 1 is %v", row)
		}
	}
	if _, err := OpenFolders(filepath.Join(root, "none"), "set"); err == nil {
		t.Error("a folder that is not there was opened")
	}
}
