package hub

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/hf/hub/hubtest"
)

// python has huggingface_hub; bench/hub-python makes and names one. The test is here since the hub that both ask is
// hubtest's, a server for tests.
func python() string { return os.Getenv("TRINITY_TEST_PYTHON") }

// runPython calls testdata/python.py with the environment that a user would set.
func runPython(t *testing.T, home, endpoint string, offline bool, args ...string) string {
	t.Helper()
	cmd := exec.Command(python(), append([]string{"testdata/python.py"}, args...)...)
	cmd.Env = append(os.Environ(), "HF_HOME="+home, "HF_ENDPOINT="+endpoint, "HF_HUB_DISABLE_PROGRESS_BARS=1",
		"HF_HUB_DISABLE_TELEMETRY=1")
	if offline {
		cmd.Env = append(cmd.Env, "HF_HUB_OFFLINE=1")
	}
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("python %v: %v\n%s", args, err, problems.String())
	}
	return strings.TrimSpace(out.String())
}

// TestPython: a cache that Python's huggingface_hub filled is read here without a request, and the other way round.
func TestPython(t *testing.T) {
	if python() == "" {
		t.Skip("needs Python: go run ./bench hub-python")
	}
	repo := llama()
	s := server(t, repo)
	open := func(home string, offline bool) *Hub {
		return New(Options{Cache: filepath.Join(home, "hub"), Endpoint: s.URL, Offline: offline})
	}
	t.Run("Python writes, trinity reads", func(t *testing.T) {
		home := t.TempDir()
		theirs := runPython(t, home, s.URL, false, "snapshot", llamaName)
		before := len(s.Requests())
		dir, err := open(home, true).Model(context.Background(), llamaName)
		if err != nil || dir != theirs {
			t.Fatalf("folder %s, %v, Python says %s", dir, err, theirs)
		}
		l, err := listFolder(dir)
		if err != nil {
			t.Fatal(err)
		}
		holds(t, dir, repo, l.Names)
		if len(l.Names) != len(repo.Files) || len(s.Requests()) != before {
			t.Errorf("%d files of %d, %d requests", len(l.Names), len(repo.Files), len(s.Requests())-before)
		}
	})
	t.Run("trinity writes, Python reads", func(t *testing.T) {
		home := t.TempDir()
		dir, err := open(home, false).Model(context.Background(), llamaName)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range wanted {
			if got, want := runPython(t, home, "http://127.0.0.1:1", true, "file", llamaName, name),
				filepath.Join(dir, name); got != want {
				t.Errorf("Python finds %s at %s, want %s", name, got, want)
			}
		}
		if got := runPython(t, home, "http://127.0.0.1:1", true, "scan"); got != llamaName+" model 9 "+repo.Commit()+
			" main" {
			t.Errorf("Python's scan of the cache says %q", got)
		}
	})
	t.Run("one resumes where the other stopped", func(t *testing.T) {
		home := t.TempDir()
		runPython(t, home, s.URL, false, "snapshot", llamaName, "*.json")
		dir, err := open(home, false).Model(context.Background(), llamaName)
		if err != nil {
			t.Fatal(err)
		}
		if got := runPython(t, home, s.URL, false, "snapshot", llamaName); got != dir {
			t.Errorf("Python's folder is %s, ours %s", got, dir)
		}
		l, err := listFolder(dir)
		if err != nil || len(l.Names) != len(repo.Files) {
			t.Errorf("%d files, %v, want %d", len(l.Names), err, len(repo.Files))
		}
		holds(t, dir, repo, l.Names)
	})
	t.Run("a data set", func(t *testing.T) {
		home := t.TempDir()
		files := map[string][]byte{"README.md": []byte("x"), "main/train-00000-of-00001.parquet": noise(9000)}
		s := hubtest.New(t, map[string]hubtest.Repo{"datasets/openai/gsm8k": {Files: files}})
		theirs := runPython(t, home, s.URL, false, "dataset", "openai/gsm8k")
		all := func(_ context.Context, l Listing) ([]string, error) { return l.Names, nil }
		h := New(Options{Cache: filepath.Join(home, "hub"), Offline: true})
		if dir, err := h.Dataset(context.Background(), "openai/gsm8k", all); err != nil || dir != theirs {
			t.Errorf("folder %s, %v, Python says %s", dir, err, theirs)
		}
	})
}
