package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// gem is the folder of a run of trinity gem.
type gem struct{ path string }

func (g *gem) Path() string                { return g.path }
func (g *gem) Kind() Kind                  { return Gem }
func (g *gem) Metrics() (path, key string) { return filepath.Join(g.path, "metrics.jsonl"), "step" }
func (g *gem) Rollouts() rollout.Folder    { return rollout.Dir(filepath.Join(g.path, "rollouts")) }
func (g *gem) Clock() map[int]time.Time    { return written(filepath.Join(g.path, "rollouts")) }
func (g *gem) Settings() []Setting         { return flatJSON(filepath.Join(g.path, "config.json")) }

// Look implements Run.
func (g *gem) Look() Look {
	l := Look{Name: filepath.Base(g.path), Project: filepath.Base(filepath.Dir(g.path)), Step: -1, Mode: "gem"}
	for _, s := range g.Settings() {
		text := fmt.Sprint(s.Value)
		switch s.Key {
		case "model_name":
			l.Model = text
		case "method":
			l.Algorithm = text
		case "max_steps":
			l.Steps, _ = strconv.Atoi(text)
		}
	}
	var state struct {
		Step int `json:"steps_done"`
	}
	if readJSON(filepath.Join(g.path, "gem_state.json"), &state) {
		l.Step = state.Step
	}
	metrics, _ := g.Metrics()
	l.Created = oldest(filepath.Join(g.path, "config.json"), metrics)
	l.Updated = newest(metrics, filepath.Join(g.path, "gem_state.json"), filepath.Join(g.path, "rollouts"))
	l.State, l.Why = locked(g.path, l)
	return l
}

// Checkpoints implements Run: those in folders of this machine. A run on a server has none.
func (g *gem) Checkpoints() []Checkpoint {
	noted := checkpointLog(filepath.Join(g.path, "checkpoints.jsonl"), "policy_iteration_step")
	return append(saved(g.path), slices.DeleteFunc(noted, func(c Checkpoint) bool {
		st, err := os.Stat(c.Path)
		return err != nil || !st.IsDir()
	})...)
}

// flatJSON is a JSON object as settings, with dots between the keys of nested ones.
func flatJSON(path string) []Setting {
	data, err := disk.ReadFile(path, disk.SmallFile)
	var tree any
	if err != nil || json.Unmarshal(data, &tree) != nil {
		return nil
	}
	var list []Setting
	flatten("", tree, filepath.Base(path), &list)
	slices.SortFunc(list, func(a, b Setting) int { return strings.Compare(a.Key, b.Key) })
	return list
}

func flatten(key string, v any, origin string, list *[]Setting) {
	switch v := v.(type) {
	case map[string]any:
		for k, inner := range v {
			flatten(strings.TrimPrefix(key+"."+k, "."), inner, origin, list)
		}
	case []any:
		for i, inner := range v {
			flatten(fmt.Sprintf("%s[%d]", key, i), inner, origin, list)
		}
	default:
		*list = append(*list, Setting{Key: key, Value: v, Origin: origin})
	}
}

// checkpointLog is the checkpoints of a log of them; step is the field with the step.
func checkpointLog(path, step string) []Checkpoint {
	data, err := disk.ReadFile(path, disk.SmallFile)
	if err != nil {
		return nil
	}
	var list []Checkpoint
	for line := range strings.Lines(string(data)) {
		fields := map[string]any{}
		if json.Unmarshal([]byte(line), &fields) != nil {
			continue
		}
		c := Checkpoint{Name: fmt.Sprint(cmp.Or[any](fields["name"], fields["label"], "checkpoint"))}
		if n, ok := fields[step].(float64); ok {
			c.Step = int(n)
		}
		for _, key := range []string{"sampler_path", "state_path"} {
			if text, ok := fields[key].(string); ok && c.Path == "" {
				c.Path = text
			}
		}
		list = append(list, c)
	}
	slices.Reverse(list)
	return list
}

// written is when the files of steps were written.
func written(dir string) map[int]time.Time {
	files, err := rollout.Dir(dir).Files()
	if err != nil {
		return nil
	}
	at := map[int]time.Time{}
	for _, f := range files {
		if f.Set == "" {
			at[f.Step] = time.Unix(0, f.Time)
		}
	}
	return at
}

func oldest(paths ...string) (t time.Time) {
	for _, p := range paths {
		if st, err := os.Stat(p); err == nil && (t.IsZero() || st.ModTime().Before(t)) {
			t = st.ModTime()
		}
	}
	return t
}
