package source

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
)

// job is the folder of a job of trinity run.
type job struct{ path string }

func (j *job) Path() string             { return j.path }
func (j *job) Kind() Kind               { return Trinity }
func (j *job) Rollouts() rollout.Folder { return rollout.Dir(filepath.Join(j.path, "rollouts")) }

// Metrics implements Run: the trainer's log, else an explorer's or a benchmark's.
func (j *job) Metrics() (path, key string) {
	path = filepath.Join(j.path, "metrics.jsonl")
	if _, err := os.Stat(path); err == nil {
		return path, "step"
	}
	if names := glob(j.path, "metrics-*.jsonl"); len(names) > 0 {
		return names[0], "step"
	}
	return path, "step"
}

// glob lists files by the elements of a pattern below a folder.
func glob(dir string, pattern ...string) []string {
	names, err := disk.Glob(dir, strings.Join(pattern, "/"))
	if err != nil {
		return nil
	}
	slices.Sort(names)
	return names
}

// readJSON reads a small file into v and reports whether that was possible.
func readJSON(path string, v any) bool {
	data, err := disk.ReadFile(path, disk.SmallFile)
	return err == nil && json.Unmarshal(data, v) == nil
}

// Look implements Run.
func (j *job) Look() Look {
	l := Look{Name: filepath.Base(j.path), Step: -1}
	l.Project, l.Group = above(j.path)
	var identity struct {
		Date   time.Time `json:"date"`
		Trains struct {
			Model string `json:"model"`
		} `json:"trains"`
	}
	if readJSON(filepath.Join(j.path, "run.json"), &identity) {
		l.Created, l.Model = identity.Date, identity.Trains.Model
	}
	var meta struct {
		Step    int `json:"latest_iteration"`
		Planned int `json:"planned_steps"`
	}
	metas := glob(j.path, "*_meta.json")
	for _, name := range metas {
		if base := filepath.Base(name); base != "explorer_meta.json" && base != "stage_meta.json" && readJSON(name,
			&meta) {
			l.Step, l.Steps = meta.Step, meta.Planned
		}
	}
	j.configured(&l)
	path, _ := j.Metrics()
	l.Updated = newest(append(metas, path, filepath.Join(j.path, "rollouts"), filepath.Join(j.path, "run.json"))...)
	l.State, l.Why = locked(j.path, l)
	return l
}

// above is the project and the group, as far as a job's folder tells: <project>/<group>/<name> or <project>/<name>.
func above(path string) (project, group string) {
	parent := filepath.Dir(path)
	return filepath.Base(parent), ""
}

// configured fills in what the run noted of its configuration.
func (j *job) configured(l *Look) {
	settings := j.Settings()
	for _, s := range settings {
		text := fmt.Sprint(s.Value)
		switch s.Key {
		case "project":
			l.Project = text
		case "group":
			l.Group = text
		case "name":
			l.Name = text
		}
	}
	l.method(settings)
}

// method fills in what a configuration says of the model, the algorithm and the steps.
func (l *Look) method(settings []Setting) {
	for _, s := range settings {
		text := fmt.Sprint(s.Value)
		switch s.Key {
		case "mode":
			l.Mode = text
		case "algorithm.algorithm_type":
			l.Algorithm = text
		case "model.model_path":
			l.Model = cmp.Or(l.Model, text)
		case "trainer.total_steps", "buffer.total_steps":
			if n, err := strconv.Atoi(text); err == nil {
				l.Steps = cmp.Or(l.Steps, n)
			}
		}
	}
}

func newest(paths ...string) (t time.Time) {
	for _, p := range paths {
		if st, err := os.Stat(p); err == nil && st.ModTime().After(t) {
			t = st.ModTime()
		}
	}
	return t
}

// locked tells what a job does from the locks of its processes.
func locked(dir string, l Look) (State, string) {
	locks := glob(dir, "lock", "*")
	for _, path := range locks {
		h, gone, held := disk.Held(path)
		if !held {
			continue
		}
		role := filepath.Base(path)
		if gone {
			return Killed, fmt.Sprintf("%v, its %s, ended without releasing the lock; the same command resumes", h,
				role)
		}
		return Running, fmt.Sprintf("%v is its %s", h, role)
	}
	switch {
	case l.Steps > 0 && l.Step >= l.Steps:
		return Finished, fmt.Sprintf("all %d steps are committed", l.Steps)
	case l.Step >= 0 && l.Steps > 0:
		return Stopped, fmt.Sprintf("no process is at work, and %d of %d steps are committed", l.Step, l.Steps)
	case len(locks) > 0:
		return Stopped, "no process is at work"
	}
	return Unknown, "the folder has no locks"
}

// settingsFile is where a run notes its configuration, below rollout.Notes.
const settingsFile = "settings.json"

// noted is the content of settingsFile.
type noted struct {
	Settings []Setting `json:"settings"`
}

// NoteSettings writes the configuration of a job into its folder, for Settings.
func NoteSettings(dir string, list []Setting) error {
	data, err := json.MarshalIndent(noted{list}, "", " ")
	if err != nil {
		return fmt.Errorf("source: %w", err)
	}
	path := filepath.Join(dir, rollout.Notes, settingsFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("source: %w", err)
	}
	return rollout.Replace(path, append(data, '\n'))
}

// NotedSettings reads the configuration that NoteSettings wrote into a job's folder, by key.
func NotedSettings(dir string) map[string]Setting {
	all := map[string]Setting{}
	for _, s := range (&job{dir}).Settings() {
		all[s.Key] = s
	}
	return all
}

// Settings implements Run.
func (j *job) Settings() []Setting {
	var n noted
	readJSON(filepath.Join(j.path, rollout.Notes, settingsFile), &n)
	return n.Settings
}

var stepFolder = regexp.MustCompile(`^global_step_(\d+)$`)

// Checkpoints implements Run: the saved weights of the local engine, newest first, else the folders of upstream's
// names.
func (j *job) Checkpoints() []Checkpoint {
	if list := saved(j.path); len(list) > 0 {
		return list
	}
	var list []Checkpoint
	for _, dir := range glob(j.path, "global_step_*") {
		if m := stepFolder.FindStringSubmatch(filepath.Base(dir)); m != nil {
			step, _ := strconv.Atoi(m[1])
			list = append(list, Checkpoint{Name: filepath.Base(dir), Step: step, Path: dir})
		}
	}
	newestFirst(list)
	return list
}

func newestFirst(list []Checkpoint) {
	slices.SortStableFunc(list, func(a, b Checkpoint) int { return cmp.Compare(b.Step, a.Step) })
}

// saved is the weights that the local engine saved in a job's folder.
func saved(dir string) []Checkpoint {
	var list []Checkpoint
	for _, note := range glob(dir, "tinker", "checkpoints", "*", "*", "*", "trinity.json") {
		dir := filepath.Dir(note)
		var n struct {
			Step int `json:"step"`
		}
		if readJSON(note, &n) {
			kind := filepath.Base(filepath.Dir(dir))
			list = append(list, Checkpoint{Name: kind + "/" + filepath.Base(dir), Step: n.Step, Path: dir})
		}
	}
	newestFirst(list)
	return list
}

var logLine = regexp.MustCompile(`(?m)^[A-Z]+ (\d\d-\d\d \d\d:\d\d:\d\d) .* step=(\d+)$`)

// Clock implements Run: log/run.log has a line for each step, without the year.
func (j *job) Clock() map[int]time.Time {
	path := filepath.Join(j.path, "log", "run.log")
	data, err := disk.ReadFile(path, 64<<20)
	st, serr := os.Stat(path)
	if err != nil || serr != nil {
		return nil
	}
	at := map[int]time.Time{}
	year := st.ModTime().Year()
	for _, m := range logLine.FindAllStringSubmatch(string(data), -1) {
		t, err := time.ParseInLocation("2006-01-02 15:04:05", fmt.Sprint(year, "-", m[1]), time.Local)
		step, serr := strconv.Atoi(m[2])
		if err != nil || serr != nil {
			continue
		}
		if t.After(st.ModTime().Add(24 * time.Hour)) { // before the turn of the year
			t = t.AddDate(-1, 0, 0)
		}
		at[step] = t
	}
	return at
}
