// Package mlflow writes runs of MLflow (mlflow.org/docs) as Trinity-RFT makes them: the project is the experiment, the
// role ends the run's name, and the configuration is its parameters. All starts of a job are one run: its id is kept in
// monitor/mlflow/<role>.json.
//
// A store is a server (server.go), a folder (folder.go) or an SQLite file (tables.go).
package mlflow

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// store keeps runs.
type store interface {
	// create begins a run with its tags and parameters, in an experiment that is made if it is not there.
	create(r run) (id string, err error)
	// log adds the metrics of a step.
	log(id string, list []metric) error
	// forget removes the metrics after a step, which are computed again.
	forget(id string, step int) error
	// update sets the status of a run, RUNNING or FINISHED; end is when it ended, nil while it runs.
	update(id, status string, end *int64) error
	close() error
}

// run is a run that begins. Times are milliseconds since 1970.
type run struct {
	experiment, name, user string
	start                  int64
	tags, params           []pair
}

// newID draws the id of a run, for stores that do not draw it.
func newID() string {
	var id [16]byte
	rand.Read(id[:]) // never fails
	return hex.EncodeToString(id[:])
}

// named are the tags with the run's name, which a server adds.
func (r *run) named() []pair { return append(slices.Clip(r.tags), pair{"mlflow.runName", r.name}) }

type pair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

type metric struct {
	Key       string  `json:"key"`
	Value     float64 `json:"value"`
	Timestamp int64   `json:"timestamp"` // milliseconds
	Step      int     `json:"step"`
}

// recorder writes a role's metrics to a store. The job does not depend on the store: the first failure is reported, and
// metrics.jsonl has what the store misses.
type recorder struct {
	store store
	id    string
	now   func() time.Time
	warn  func(string)
	told  bool
}

// Open begins the run of a role, or continues it after step c.Keep.
func Open(c monitor.Config, role string) (monitor.Sink, error) {
	s, err := openStore(c)
	if err != nil {
		return nil, err
	}
	r := &recorder{store: s, now: c.Now, warn: c.Warn}
	if err := r.begin(c, role); err != nil {
		return nil, errors.Join(fmt.Errorf("monitor: MLflow: %w", err), s.close())
	}
	return r, nil
}

// openStore opens the store of monitor_args.uri.
func openStore(c monitor.Config) (store, error) {
	uri := cmp.Or(c.Text("uri"), c.Env("MLFLOW_TRACKING_URI"), "http://localhost:5000")
	if strings.HasPrefix(uri, "sqlite:") {
		path, ok := strings.CutPrefix(uri, "sqlite:///")
		if !ok || path == "" || strings.Contains(path, "?") {
			return nil, fmt.Errorf("monitor: monitor_args.uri %q names no SQLite file; write sqlite:///mlflow.db, and "+
				"a fourth slash for a path from the root", uri)
		}
		return openTables(path)
	}
	u, err := url.Parse(uri)
	switch {
	case strings.HasPrefix(uri, "/"), strings.HasPrefix(uri, "./"), strings.HasPrefix(uri, "../"):
		return openFolder(uri)
	case err == nil && u.Scheme == "file":
		if u.Host != "" && u.Host != "localhost" || u.Path == "" && u.Opaque == "" {
			return nil, fmt.Errorf("monitor: monitor_args.uri %q names no folder of this machine; "+
				"write file:///path/to/mlruns or file:mlruns", uri)
		}
		return openFolder(cmp.Or(u.Path, u.Opaque))
	case err == nil && (u.Scheme == "http" || u.Scheme == "https"):
		return openServer(c, uri), nil
	}
	return nil, fmt.Errorf("monitor: monitor_args.uri %q is neither the address of an MLflow server nor a store; "+
		"write one such as http://localhost:5000, file:///path/to/mlruns or sqlite:///mlflow.db", uri)
}

// begin continues the run that the job has noted, or makes one and notes it.
func (r *recorder) begin(c monitor.Config, role string) error {
	path := filepath.Join(c.Dir, "monitor", "mlflow", role+".json")
	if raw, err := os.ReadFile(path); err == nil && json.Unmarshal(raw, &r.id) == nil && r.id != "" {
		r.say(r.store.forget(r.id, c.Keep))
		r.say(r.store.update(r.id, "RUNNING", nil))
		return nil
	}
	fresh := run{experiment: cmp.Or(c.Project, "Default"), name: c.Name + "_" + role,
		user: cmp.Or(c.Env("USER"), "unknown"), start: c.Now().UnixMilli(), params: parameters(c.Settings),
		tags: []pair{{"group", cmp.Or(c.Group, c.Name)}, {"role", role}}}
	var err error
	if r.id, err = r.store.create(fresh); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(monitor.JSON(r.id)), 0o644)
}

// Write implements monitor.Sink.
func (r *recorder) Write(at time.Time, step int, metrics monitor.Metrics) error {
	var list []metric
	for _, k := range metrics.Keys() {
		list = append(list, metric{key(k), metrics[k], at.UnixMilli(), step})
	}
	r.say(r.store.log(r.id, list))
	return nil
}

// Close implements monitor.Sink.
func (r *recorder) Close(finished bool) error {
	if finished {
		end := r.now().UnixMilli()
		r.say(r.store.update(r.id, "FINISHED", &end))
	}
	return r.store.close()
}

// say reports the first failure of the store.
func (r *recorder) say(err error) {
	if err == nil || r.told {
		return
	}
	r.told = true
	if r.warn != nil {
		r.warn(fmt.Sprintf("monitor: MLflow: %v; the run continues, and metrics.jsonl has what MLflow misses", err))
	}
}

// maxValue is MLflow's limit for a parameter, in characters.
const maxValue = 500

// parameters flattens a configuration into dotted keys, sorted.
func parameters(settings map[string]any) []pair {
	flat := map[string]string{}
	var walk func(prefix string, v any)
	walk = func(prefix string, v any) {
		if inner, ok := v.(map[string]any); ok && len(inner) > 0 {
			for k, v := range inner {
				walk(prefix+"."+k, v)
			}
			return
		}
		text := []rune(parameter(v))
		flat[strings.TrimPrefix(prefix, ".")] = string(text[:min(len(text), maxValue)])
	}
	walk("", settings)
	var out []pair
	for _, k := range slices.Sorted(maps.Keys(flat)) {
		if k != "" {
			out = append(out, pair{key(k), flat[k]})
		}
	}
	return out
}

// parameter is a value as text. Lists, maps and missing values are JSON.
func parameter(v any) string {
	switch reflect.ValueOf(v).Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct, reflect.Pointer, reflect.Invalid:
		return monitor.JSON(v)
	}
	return fmt.Sprint(v)
}

// key is a name that MLflow accepts: it allows no @ and few other signs.
func key(k string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-. :/", r) {
			return r
		}
		return '_'
	}, strings.ReplaceAll(k, "@", "_at_"))
}
