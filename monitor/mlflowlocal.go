package monitor

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// mlflowStore is where MLflow keeps runs without a server: a folder or an SQLite file, which `mlflow server
// --backend-store-uri` shows.
type mlflowStore interface {
	// create begins a run with its tags and parameters, in an experiment that is made if it is not there.
	create(r mlflowRun) error
	// log adds the metrics of a step.
	log(run string, list []mlflowMetric) error
	// forget removes the metrics after a step, which are made again.
	forget(run string, step int) error
	// update sets the status of a run, RUNNING or FINISHED; end is when it ended, nil while it runs.
	update(run, status string, end *int64) error
	close() error
}

// mlflowRun is a run that begins. Times are milliseconds since 1970.
type mlflowRun struct {
	id, experiment, name, user string
	start                      int64
	tags, params               []mlflowPair
}

type mlflowMetric struct {
	Key       string  `json:"key"`
	Value     float64 `json:"value"`
	Timestamp int64   `json:"timestamp"` // milliseconds
	Step      int     `json:"step"`
}

// mlflowLocal is a run in a local store. As with a server, the run does not depend on it: what fails is said once.
type mlflowLocal struct {
	store mlflowStore
	run   string
	now   func() time.Time
	warn  func(string)
	told  bool
}

// localMLflow opens the store of a URI; nil is an address of a server.
func localMLflow(uri string) (mlflowStore, error) {
	path, isFile := strings.CutPrefix(uri, "sqlite:///")
	if isFile && path != "" && !strings.Contains(path, "?") {
		return openMLflowTables(path)
	}
	if strings.HasPrefix(uri, "sqlite:") {
		return nil, fmt.Errorf("monitor: monitor_args.uri %q names no SQLite file; "+
			"write sqlite:///mlflow.db, and a fourth slash for a path from the root", uri)
	}
	u, err := url.Parse(uri)
	switch {
	case strings.HasPrefix(uri, "/"), strings.HasPrefix(uri, "./"), strings.HasPrefix(uri, "../"):
		return openMLflowFolder(uri)
	case err != nil || u.Scheme != "file":
		return nil, nil
	case u.Host != "" && u.Host != "localhost" || u.Path == "" && u.Opaque == "":
		return nil, fmt.Errorf("monitor: monitor_args.uri %q names no folder of this machine; "+
			"write file:///path/to/mlruns or file:mlruns", uri)
	}
	return openMLflowFolder(first(u.Path, u.Opaque))
}

// openMLflowLocal begins the run of a role in a store, or continues with it.
func openMLflowLocal(c Config, role string, store mlflowStore) (*mlflowLocal, error) {
	m := &mlflowLocal{store: store, now: c.Now, warn: c.Warn}
	path := filepath.Join(c.Dir, "monitor", "mlflow", role+".json")
	if raw, err := os.ReadFile(path); err == nil && json.Unmarshal(raw, &m.run) == nil && m.run != "" {
		m.say(store.forget(m.run, c.Keep))
		m.say(store.update(m.run, "RUNNING", nil))
		return m, nil
	}
	var id [16]byte
	rand.Read(id[:]) // never fails
	m.run = hex.EncodeToString(id[:])
	r := mlflowRun{id: m.run, experiment: first(c.Project, "Default"), name: c.Name + "_" + role,
		user: first(c.env("USER"), "unknown"), start: c.Now().UnixMilli(), params: parameters(c.Settings)}
	r.tags = []mlflowPair{{"group", first(c.Group, c.Name)}, {"role", role}, {"mlflow.runName", r.name}}
	if err := store.create(r); err != nil {
		return nil, fmt.Errorf("monitor: MLflow: %w", err)
	}
	if err := keepMLflowRun(path, m.run); err != nil {
		return nil, err
	}
	return m, nil
}

// keepMLflowRun notes the run of a role for the next start.
func keepMLflowRun(path, run string) error {
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(jsonText(run)), 0o644)
	}
	if err != nil {
		return fmt.Errorf("monitor: %w", err)
	}
	return nil
}

// Write implements Sink.
func (m *mlflowLocal) Write(at time.Time, step int, metrics Metrics) error {
	m.say(m.store.log(m.run, mlflowMetricsOf(at, step, metrics)))
	return nil
}

func mlflowMetricsOf(at time.Time, step int, metrics Metrics) []mlflowMetric {
	var list []mlflowMetric
	for _, k := range metrics.Keys() {
		list = append(list, mlflowMetric{mlflowKey(k), metrics[k], at.UnixMilli(), step})
	}
	return list
}

// Close implements Sink.
func (m *mlflowLocal) Close(finished bool) error {
	if finished {
		end := m.now().UnixMilli()
		m.say(m.store.update(m.run, "FINISHED", &end))
	}
	return m.store.close()
}

// say tells the user once that the store does not take what it is given.
func (m *mlflowLocal) say(err error) {
	if err == nil || m.told {
		return
	}
	m.told = true
	if m.warn != nil {
		m.warn(fmt.Sprintf("monitor: MLflow: %v; the run continues, and metrics.jsonl has what the store misses", err))
	}
}
