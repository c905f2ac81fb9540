package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// indexFile, in a folder of tasks, names the tasks in their order, one a line.
const indexFile = "index.txt"

// OpenFolders opens a data set whose tasks are folders, Trinity-RFT's storage_type task_dir: each folder below path
// whose name does not begin with a dot, by name, or those that index.txt there names, in its order. A row has the
// columns task_id, task_name, task_dir, taskset_name and source_type; what the folders hold is for the workflow.
func OpenFolders(path, name string) (*Source, error) {
	root, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	dirs, err := indexed(root)
	if errors.Is(err, fs.ErrNotExist) {
		dirs, err = folders(root)
	}
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("dataset: %s has no folders, and each task is one; name another path", path)
	}
	rows := make([]Row, len(dirs))
	for i, dir := range dirs {
		task := filepath.Base(dir)
		rows[i] = Row{{"task_id", fmt.Sprintf("%s:%d:%s", name, i, task)}, {"task_name", task}, {"task_dir", dir},
			{"taskset_name", name}, {"source_type", "task_dir"}}
	}
	return Of(&List{Rows: rows, Where: func(i int) string { return dirs[i] }}), nil
}

// folders lists the folders in root, links to folders among them.
func folders(root string) (dirs []string, err error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, fmt.Errorf("dataset: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(root, e.Name())
		if info, err := os.Stat(path); err == nil && info.IsDir() && !strings.HasPrefix(e.Name(), ".") {
			dirs = append(dirs, path)
		}
	}
	return dirs, nil
}

// indexed lists the folders that the index in root names. Empty lines and those that begin with # name none.
func indexed(root string) (dirs []string, err error) {
	index := filepath.Join(root, indexFile)
	text, err := disk.ReadFile(index, disk.SmallFile)
	if err != nil {
		return nil, err
	}
	n := 0
	for line := range strings.Lines(string(text)) {
		n++
		name := strings.TrimSpace(line)
		if name == "" || name[0] == '#' {
			continue
		}
		dir := filepath.Join(root, filepath.FromSlash(name))
		if !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, fmt.Errorf("dataset: %s:%d names %q, which is not below the folder; write a path below it",
				index, n, name)
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("dataset: %s:%d names %q, and there is no such folder", index, n, name)
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}
