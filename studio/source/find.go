package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// maxDepth is how deep below a folder runs are looked for: project, group, name and a stage, and one to spare.
const maxDepth = 5

// Find lists the runs below a folder, or the folder itself if it is one. What cannot be read is left out.
func Find(ctx context.Context, dir string) ([]Run, error) {
	var runs []Run
	dir = filepath.Clean(dir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the first run may make it
	}
	err := disk.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || !d.IsDir() {
			return nil
		}
		if path != dir && strings.HasPrefix(d.Name(), ".") {
			return fs.SkipDir
		}
		if r := of(path); r != nil {
			runs = append(runs, r)
		} else if depth(dir, path) < maxDepth {
			return nil
		}
		return fs.SkipDir
	})
	return runs, err
}

func depth(dir, path string) int {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == "." {
		return 0
	}
	return strings.Count(rel, string(filepath.Separator)) + 1
}

// of is the run in a folder, nil if it is none.
func of(path string) Run {
	has := func(names ...string) bool {
		for _, name := range names {
			if _, err := os.Stat(filepath.Join(path, name)); err == nil {
				return true
			}
		}
		return false
	}
	switch {
	case has("gem_state.json"):
		return &gem{path: path}
	case has("run.json"):
		return &job{path: path}
	case has("explorer_meta.json", "trainer_meta.json", "experiences.db"):
		return &upstream{path: path}
	case has("metrics.jsonl") && has("config.json", "checkpoints.jsonl", "logs.log", "iteration_000000"):
		return &cookbook{path: path}
	}
	return nil
}
