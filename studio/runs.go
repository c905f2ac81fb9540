package studio

import (
	"cmp"
	"encoding/json"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/studio/curve"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// Run is a run as the list shows it.
type Run struct {
	ID         string       `json:"id"`
	Name       string       `json:"name"`
	Project    string       `json:"project"`
	Group      string       `json:"group"`
	Path       string       `json:"path"`
	Kind       source.Kind  `json:"kind"`
	State      source.State `json:"state"`
	Why        string       `json:"why"`
	Model      string       `json:"model"`
	Algorithm  string       `json:"algorithm"`
	Mode       string       `json:"mode"`
	Step       int          `json:"step"`
	Steps      *int         `json:"steps"`
	Speed      *float64     `json:"tokens_per_second"`
	Reward     [][2]float64 `json:"reward"`
	Loss       [][2]float64 `json:"loss"` // of a run without rewards
	Evaluation *evaluation  `json:"evaluation"`
	Left       *float64     `json:"seconds_left"`
	Disk       int64        `json:"disk_bytes"`
	Tags       []string     `json:"tags"`
	Created    *time.Time   `json:"created"`
	Updated    *time.Time   `json:"updated"`
	Indexed    float64      `json:"indexed"`
}

// line is the run as the list shows it.
func (e *entry) line() Run {
	s := e.seen()
	l := s.look
	r := Run{ID: e.id, Name: cmp.Or(l.Name, filepath.Base(e.run.Path())), Project: l.Project, Group: l.Group,
		Path: e.run.Path(), Kind: e.run.Kind(), State: cmp.Or(l.State, source.Unknown), Why: l.Why, Model: l.Model,
		Algorithm: l.Algorithm, Mode: l.Mode, Step: max(s.step, 0), Speed: s.speed, Reward: s.reward, Loss: s.loss,
		Evaluation: s.evaluation, Left: s.left, Disk: s.disk, Tags: s.tags, Indexed: 1}
	if l.Steps > 0 {
		r.Steps = &l.Steps
	}
	if !l.Created.IsZero() {
		r.Created = &l.Created
	}
	if !l.Updated.IsZero() {
		r.Updated = &l.Updated
	}
	if r.Reward == nil {
		r.Reward = [][2]float64{}
	}
	if r.Loss == nil {
		r.Loss = [][2]float64{}
	}
	if r.Tags == nil {
		r.Tags = []string{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.index != nil {
		r.Indexed = indexedShare(e.index.Table())
	}
	return r
}

// list is GET /api/runs.
func (s *Studio) list(w http.ResponseWriter, _ *http.Request) error {
	runs := []Run{}
	for _, e := range s.runs.all() {
		runs = append(runs, e.line())
	}
	folders := slices.Concat(s.opts.Dirs, s.opts.URLs)
	for _, t := range s.opts.Tables {
		folders = append(folders, t.Path())
	}
	return answer(w, map[string]any{"runs": runs, "folders": folders, "version": s.opts.Version})
}

// detail is GET /api/runs/{run}.
func (s *Studio) detail(e *entry, w http.ResponseWriter, r *http.Request) error {
	e.touch()
	if e.seen().at.IsZero() {
		e.refresh(r.Context(), s.events)
	}
	log := e.curves()
	type metric struct {
		Name  string   `json:"name"`
		Group string   `json:"group"`
		Last  *float64 `json:"last"`
	}
	metrics := []metric{}
	for _, name := range log.Names() {
		_, values := log.Series(name)
		metrics = append(metrics, metric{name, groupOf(name), mean(lastOf(values, 1))})
	}
	settings := e.run.Settings()
	if settings == nil {
		settings = []source.Setting{}
	}
	return answer(w, struct {
		Run
		Config   []source.Setting `json:"config"`
		Health   []Light          `json:"health"`
		Metrics  []metric         `json:"metrics"`
		Siblings []string         `json:"siblings"`
	}{e.line(), settings, health(e, log, s.table(r.Context(), e), s.opts.Now()), metrics, s.siblings(e, settings)})
}

// groupOf is the group under which a metric is shown.
func groupOf(name string) string {
	if first, _, found := strings.Cut(name, "/"); found {
		return first
	}
	return "other"
}

// siblings are the runs that differ from a run in nothing but seed and name.
func (s *Studio) siblings(e *entry, settings []source.Setting) []string {
	ids := []string{}
	own := but(settings)
	if len(own) == 0 {
		return ids
	}
	for _, other := range s.runs.all() {
		if other != e && reflect.DeepEqual(own, but(other.run.Settings())) {
			ids = append(ids, other.id)
		}
	}
	return ids
}

// but is a configuration without what tells runs of one experiment apart. Derived values follow from the others, and
// those that name a file follow from the run's name.
func but(settings []source.Setting) map[string]any {
	m := map[string]any{}
	for _, s := range settings {
		switch last := s.Key[strings.LastIndexByte(s.Key, '.')+1:]; {
		case last == "seed", strings.HasPrefix(s.Origin, "derived"):
		case s.Key == "name", s.Key == "group", s.Key == "project", s.Key == "checkpoint_root_dir":
		default:
			m[s.Key] = s.Value
		}
	}
	return m
}

// metrics is GET /api/runs/{run}/metrics.
func (s *Studio) metrics(e *entry, w http.ResponseWriter, r *http.Request) error {
	q := asked{values: r.URL.Query()}
	points, from, to := min(max(q.int("points", 2000), 1), 20000), q.int("from", 0), q.int("to", math.MaxInt)
	if q.err != nil {
		return q.err
	}
	e.touch()
	log := e.curves()
	clock := e.times()
	at := func(step int) (float64, bool) {
		t, ok := clock[step]
		return float64(t.UnixMilli()) / 1000, ok
	}
	series := map[string]curve.Curve{}
	for _, name := range q.values["name"] {
		steps, values := log.Series(name)
		series[name] = curve.Thin(steps, values, points, from, to, at)
	}
	return answer(w, map[string]any{"series": series})
}

// compare is GET /api/compare.
func (s *Studio) compare(w http.ResponseWriter, r *http.Request) error {
	values := map[string]map[string]any{}
	own := map[string]bool{} // keys that some run was given
	ids := r.URL.Query()["run"]
	for _, id := range ids {
		e := s.runs.get(id)
		if e == nil {
			return noRun(id)
		}
		for _, set := range e.run.Settings() {
			if values[set.Key] == nil {
				values[set.Key] = map[string]any{}
			}
			values[set.Key][id] = set.Value
			derived := strings.HasPrefix(set.Origin, "derived")
			own[set.Key] = own[set.Key] || !derived && set.Origin != "default"
		}
	}
	type key struct {
		Key    string         `json:"key"`
		Values map[string]any `json:"values"`
	}
	list := []key{}
	for name, v := range values {
		differs := false
		for _, id := range ids {
			differs = differs || !reflect.DeepEqual(v[id], v[ids[0]])
		}
		// defaults follow from the rest; the name heads the columns
		if differs && own[name] && name != "name" {
			list = append(list, key{name, v})
		}
	}
	slices.SortFunc(list, func(a, b key) int { return strings.Compare(a.Key, b.Key) })
	return answer(w, map[string]any{"config": list})
}

// tasks is GET /api/tasks: one task across steps and runs.
func (s *Studio) tasks(w http.ResponseWriter, r *http.Request) error {
	type sample struct {
		Row
		Response string `json:"response"`
	}
	type step struct {
		Set     string   `json:"set"`
		Step    int      `json:"step"`
		Samples []sample `json:"samples"`
	}
	type run struct {
		Run   string `json:"run"`
		Name  string `json:"name"`
		Steps []step `json:"steps"`
	}
	q := asked{values: r.URL.Query()}
	if key := q.values.Get("task"); key != "" {
		q.values["key"], q.values["task"] = []string{key}, nil
	}
	filter := q.filter()
	if q.err != nil {
		return q.err
	}
	if len(filter.Keys) == 0 {
		return invalid("task is missing: it is the key of a sample")
	}
	if !q.values.Has("set") {
		filter.Set = "*"
	}
	list, prompt := []run{}, ""
	for _, id := range q.values["run"] {
		e := s.runs.get(id)
		if e == nil {
			return noRun(id)
		}
		t := s.table(r.Context(), e)
		places := t.Select(filter)
		found, _, err := s.whole(e, t, places[:min(len(places), maxTask)])
		if err != nil {
			return err
		}
		one := run{Run: id, Name: e.line().Name, Steps: []step{}}
		for _, f := range found {
			prompt = f.Prompt
			if n := len(one.Steps); n == 0 || one.Steps[n-1].Step != f.Step || one.Steps[n-1].Set != f.Set {
				one.Steps = append(one.Steps, step{Set: f.Set, Step: f.Step})
			}
			at := &one.Steps[len(one.Steps)-1]
			at.Samples = append(at.Samples, sample{f.Row, f.Response})
		}
		list = append(list, one)
	}
	return answer(w, map[string]any{"runs": list, "prompt": prompt})
}

// maxTask is how many samples of a task are sent for a run.
const maxTask = 1000

// setTags is PUT /api/runs/{run}/tags.
func (s *Studio) setTags(e *entry, w http.ResponseWriter, r *http.Request) error {
	var given struct {
		Tags []string `json:"tags"`
	}
	if err := body(r, &given); err != nil {
		return err
	}
	tags := []string{}
	for _, tag := range given.Tags {
		if tag = strings.TrimSpace(tag); tag != "" && !slices.Contains(tags, tag) {
			tags = append(tags, tag)
		}
	}
	if len(tags) > 50 || slices.ContainsFunc(tags, func(t string) bool { return len(t) > 100 }) {
		return invalid("a run has at most 50 tags of 100 bytes each")
	}
	if err := e.writeTags(tags); err != nil {
		return err
	}
	e.mu.Lock()
	e.now.tags = tags
	e.mu.Unlock()
	s.events.send(event{Type: "runs"})
	return answer(w, map[string]any{"tags": tags})
}

const tagsFile = "tags.json"

func (e *entry) readTags() []string {
	for _, dir := range e.notes {
		data, err := disk.ReadFile(filepath.Join(dir, tagsFile), disk.SmallFile)
		var tags []string
		if err == nil && json.Unmarshal(data, &tags) == nil {
			return tags
		}
	}
	return nil
}

// writeTags writes to the first folder that can be written to.
func (e *entry) writeTags(tags []string) error {
	data, err := json.Marshal(tags)
	if err != nil {
		return err
	}
	err = refusal{http.StatusConflict, "read_only", "studio: there is nowhere to keep tags"}
	for _, dir := range e.notes {
		if err = os.MkdirAll(dir, 0o755); err != nil {
			continue
		}
		if err = disk.WriteFile(disk.OS(), filepath.Join(dir, tagsFile), data); err == nil {
			return nil
		}
	}
	return err
}
