package gem

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
)

// Continue is the configuration of the run in a folder, with the pairs over it. Only some keys may change.
func Continue(dir string, pairs []string) (Config, error) {
	before, now := Default(), Default()
	kept, err := ReadKeys(dir)
	if err == nil {
		err = before.SetAll(kept)
	}
	if err == nil {
		err = now.SetAll(append(kept, pairs...))
	}
	if err != nil || len(kept) == 0 {
		return now, err
	}
	return now, sameRun(&before, &now, dir)
}

// sameRun refuses changes of keys that define a run: no one configuration would give its metrics.
func sameRun(before, now *Config, dir string) error {
	may := []string{"max_steps", "save_every", "eval_every", "resume", "wandb_project", "wandb_name", "log_dir",
		"output_dir", "keep_samplers", "base_url", "metrics", "search_url", "python", "sandbox"}
	old := before.Keys()
	for i, k := range now.Keys() {
		if !slices.Contains(may, k.Name) && k.Value != old[i].Value {
			return fmt.Errorf("gem: the run in %s has %s=%s and cannot continue with %s=%s; leave the key out, or "+
				"begin a new run", dir, k.Name, old[i].Value, k.Name, k.Value)
		}
	}
	return nil
}

// stamp is how the name of a run's folder ends.
var stamp = regexp.MustCompile(`^_\d{4}T\d\d:\d\d:\d\d(-\d+)?$`)

// Latest is the folder of the run with the configuration's title that was at work last, "" if there is none. One that
// was killed before it had written anything counts too.
func Latest(c *Config) string {
	entries, err := os.ReadDir(c.OutputDir)
	if err != nil {
		return ""
	}
	best, at := "", time.Time{}
	for _, e := range entries {
		rest, ok := strings.CutPrefix(e.Name(), c.Title())
		if !ok || !e.IsDir() || !stamp.MatchString(rest) {
			continue
		}
		dir := filepath.Join(c.OutputDir, e.Name())
		if when := worked(dir); best == "" || when.After(at) {
			best, at = dir, when
		}
	}
	return best
}

// worked is when a run committed something last.
func worked(dir string) time.Time {
	for _, path := range []string{filepath.Join(dir, stateFile), dir} {
		if st, err := os.Stat(path); err == nil {
			return st.ModTime()
		}
	}
	return time.Time{}
}

// keysFile is the file with the keys of a run.
const keysFile = "config.json"

// Write writes the keys to the folder of a run, for resume and for readers.
func (c *Config) Write(fs disk.FS, dir string) error {
	keys := map[string]string{}
	for _, k := range c.Keys() {
		keys[k.Name] = k.Value
	}
	data, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	return disk.WriteFile(fs, filepath.Join(dir, keysFile), append(data, '\n'))
}

// ReadKeys returns the keys of a run as pairs, without resume; none if it was killed before they were written.
func ReadKeys(dir string) ([]string, error) {
	path := filepath.Join(dir, keysFile)
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("gem: resume: %w", err)
	}
	keys := map[string]string{}
	if err := json.Unmarshal(data, &keys); err != nil {
		return nil, fmt.Errorf("gem: %s cannot be read: %w; restore it, or begin a new run", path, err)
	}
	delete(keys, "resume")
	var pairs []string
	for k, v := range keys {
		pairs = append(pairs, k+"="+v)
	}
	return pairs, nil
}
