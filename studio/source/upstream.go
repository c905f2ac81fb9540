package source

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// upstream is the job folder of Trinity-RFT itself: its metrics are TensorBoard's, its samples are in databases.
type upstream struct{ path string }

func (u *upstream) Path() string { return u.path }
func (u *upstream) Kind() Kind   { return Upstream }

// Metrics implements Run: a folder of event files.
func (u *upstream) Metrics() (path, key string) {
	return filepath.Join(u.path, "monitor", "tensorboard"), ""
}

// Rollouts implements Run.
func (u *upstream) Rollouts() rollout.Folder { return databases{dir: u.path} }

// Look implements Run.
func (u *upstream) Look() Look {
	l := Look{Name: filepath.Base(u.path), Step: -1}
	l.Project = filepath.Base(filepath.Dir(u.path))
	var meta struct {
		Step int `json:"latest_iteration"`
	}
	path := filepath.Join(u.path, "trainer_meta.json")
	if readJSON(path, &meta) {
		l.Step = meta.Step
	}
	l.method(u.Settings())
	l.Updated = newest(append(glob(u.path, "buffer", "*.db"), path, filepath.Join(u.path, "explorer_meta.json"),
		filepath.Join(u.path, "experiences.db"), filepath.Join(u.path, "log"))...)
	l.Created = oldest(append(glob(u.path, "*.yaml"), path)...)
	l.State, l.Why = aged(l.Updated, l.Steps > 0 && l.Step >= l.Steps)
	return l
}

// Settings implements Run: the configuration, if the folder contains one.
func (u *upstream) Settings() []Setting {
	for _, path := range append(glob(u.path, "*.yaml"), glob(u.path, "*.yml")...) {
		data, err := disk.ReadFile(path, disk.SmallFile)
		var tree map[string]any
		if err != nil || yaml.Unmarshal(data, &tree) != nil || tree["buffer"] == nil && tree["model"] == nil {
			continue
		}
		plain, err := json.Marshal(tree)
		var again any
		if err != nil || json.Unmarshal(plain, &again) != nil {
			continue
		}
		var list []Setting
		flatten("", again, filepath.Base(path), &list)
		slices.SortFunc(list, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
		return list
	}
	return nil
}

// Checkpoints implements Run.
func (u *upstream) Checkpoints() []Checkpoint { return (&job{path: u.path}).Checkpoints() }

// Clock implements Run.
func (u *upstream) Clock() map[int]time.Time {
	at := map[int]time.Time{}
	for _, c := range u.Checkpoints() {
		if st, err := os.Stat(c.Path); err == nil {
			at[c.Step] = st.ModTime()
		}
	}
	return at
}
