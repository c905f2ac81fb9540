package modelname

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/gguf"
	"github.com/seed-d9ad8ee0/trinity/hf/gguf/modeldir"
	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// version is part of the names of folders made of GGUF files; it changes when they are made differently.
const version = "4"

// made returns the Hugging Face folder made of a GGUF file: the one in the cache, or a new one. A new one gets its name
// when it is complete and synced. One process makes it while others wait, and what a killed one left is removed.
func (f Finder) made(ctx context.Context, path, name string) (string, error) {
	if f.Cache == "" {
		return "", fmt.Errorf("modelname: %s is a GGUF file, and there is no cache for the model folder made of it; "+
			"set HOME or XDG_CACHE_HOME", path)
	}
	id, err := identity(path)
	if err != nil {
		return "", fmt.Errorf("modelname: %w", err)
	}
	if len(name) > 100 { // names of files have limits
		name = strings.ToValidUTF8(name[:100], "")
	}
	dir := filepath.Join(f.Cache, "trinity", "gguf", name+"-"+id)
	if isMade(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return "", fmt.Errorf("modelname: %w", err)
	}
	waiting := func(h disk.Holder) { f.note("%v makes the model folder of %s; waiting for it", h, path) }
	unlock, err := disk.Lock{Path: dir + ".lock", Grace: math.MaxInt64, Wait: waiting}.Take(ctx)
	if err != nil {
		return "", fmt.Errorf("modelname: %w", err)
	}
	defer unlock() // the file tells users which process has the lock
	if isMade(dir) {
		return dir, nil
	}
	f.note("%s: making its model folder %s, once", path, dir)
	if err := makeDir(ctx, path, dir); err != nil {
		return "", err
	}
	if now, err := identity(path); err != nil || now != id {
		os.RemoveAll(dir)
		return "", fmt.Errorf("modelname: %s changed while it was read; try again when it is complete", path)
	}
	os.Remove(dir + ".lock") // a process that waits for it finds the folder
	return dir, nil
}

// isMade reports whether a folder is complete.
func isMade(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, "config.json"))
	return err == nil
}

// makeDir writes the folder under another name and renames it.
func makeDir(ctx context.Context, path, dir string) error {
	file, err := gguf.Open(path)
	if err != nil {
		return err
	}
	defer file.Close()
	tmp := dir + ".making"
	if err := os.RemoveAll(tmp); err != nil {
		return fmt.Errorf("modelname: %w", err)
	}
	if err := os.Mkdir(tmp, 0o755); err != nil {
		return fmt.Errorf("modelname: %w", err)
	}
	if err := modeldir.WriteContext(ctx, file, tmp); err != nil {
		os.RemoveAll(tmp)
		return err
	}
	if err := os.Rename(tmp, dir); err != nil {
		os.RemoveAll(tmp)
		return fmt.Errorf("modelname: %w", err)
	}
	return disk.OS().SyncDir(filepath.Dir(dir))
}

// identity tells a file from others and from itself at another time: by place, size and time of change, of all parts.
func identity(path string) (string, error) {
	paths := []string{path}
	if prefix, i, n, ok := gguf.ParseSplit(path); ok && i == 1 {
		paths = nil
		for i := range n {
			paths = append(paths, gguf.SplitName(prefix, i+1, n))
		}
	}
	sum := sha256.New()
	io.WriteString(sum, version)
	for i, p := range paths {
		abs, err := filepath.Abs(p)
		if err != nil {
			return "", err
		}
		st, err := os.Stat(abs)
		if err != nil && len(paths) > 1 {
			return "", fmt.Errorf("part %d of %d: %w; all parts must be in one folder", i+1, len(paths), err)
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "\x00%s\x00%d\x00%d", abs, st.Size(), st.ModTime().UnixNano())
	}
	return hex.EncodeToString(sum.Sum(nil)[:6]), nil
}
