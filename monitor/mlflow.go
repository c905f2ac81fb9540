package monitor

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// mlflow is a run on an MLflow server (mlflow.org/docs, REST API 2.0), as Trinity-RFT makes it: the project is the
// experiment, the role ends the run's name, the configuration is its parameters. A run is one through all starts of a
// job: its id is kept in monitor/mlflow/<role>.json.
//
// The records of this program do not depend on the server: when it stops answering, that is said once, and what it
// missed is in metrics.jsonl.
type mlflow struct {
	client         http.Client
	api            string
	user, password string
	warn           func(string)
	run            string
	now            func() time.Time
	told           bool      // that the server did not answer
	quiet          time.Time // until when it is not asked again
}

// The server's limits for one request.
const (
	mlflowMetrics = 1000
	mlflowParams  = 100
	mlflowValue   = 500 // characters of a parameter
)

// mlflowPause is how long a server that did not answer is left alone, so that it does not hold up every step.
const mlflowPause = time.Minute

func openMLflow(c Config, role string) (Sink, error) {
	base := first(c.text("uri"), c.env("MLFLOW_TRACKING_URI"), "http://localhost:5000")
	store, err := localMLflow(base)
	if err != nil {
		return nil, err
	}
	if store != nil {
		m, err := openMLflowLocal(c, role, store)
		if err != nil {
			return nil, errors.Join(err, store.close())
		}
		return m, nil
	}
	if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("monitor: monitor_args.uri %q is neither the address of an MLflow server nor a store; "+
			"write one such as http://localhost:5000, file:///path/to/mlruns or sqlite:///mlflow.db", base)
	}
	m := &mlflow{client: http.Client{Timeout: 10 * time.Second}, api: strings.TrimSuffix(base, "/") +
		"/api/2.0/mlflow/", warn: c.Warn, now: c.Now,
		user:     first(c.text("username"), c.env("MLFLOW_TRACKING_USERNAME")),
		password: first(c.text("password"), c.env("MLFLOW_TRACKING_PASSWORD"))}
	path := filepath.Join(c.Dir, "monitor", "mlflow", role+".json")
	if raw, err := os.ReadFile(path); err == nil && json.Unmarshal(raw, &m.run) == nil && m.run != "" {
		m.update("RUNNING")
		return m, nil
	}
	if err := m.create(c, role); err != nil {
		return nil, fmt.Errorf("monitor: the MLflow server %s: %w; start one with mlflow server, or choose another "+
			"monitor_type", base, err)
	}
	if err := keepMLflowRun(path, m.run); err != nil {
		return nil, err
	}
	return m, nil
}

type mlflowPair struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// create makes the experiment, unless it exists, and the run with its parameters.
func (m *mlflow) create(c Config, role string) error {
	var experiment struct {
		ID         string `json:"experiment_id"`
		Experiment struct {
			ID string `json:"experiment_id"`
		} `json:"experiment"`
	}
	project := first(c.Project, "Default")
	err := m.call(http.MethodGet, "experiments/get-by-name?experiment_name="+url.QueryEscape(project), nil, &experiment)
	if status := (*mlflowError)(nil); errors.As(err, &status) && status.code == http.StatusNotFound {
		err = m.call(http.MethodPost, "experiments/create", map[string]any{"name": project}, &experiment)
	}
	if err != nil {
		return err
	}
	var created struct {
		Run struct {
			Info struct {
				ID string `json:"run_id"`
			} `json:"info"`
		} `json:"run"`
	}
	tags := []mlflowPair{{"group", first(c.Group, c.Name)}, {"role", role}}
	err = m.call(http.MethodPost, "runs/create",
		map[string]any{"experiment_id": first(experiment.ID, experiment.Experiment.ID),
			"run_name": c.Name + "_" + role, "start_time": c.Now().UnixMilli(), "tags": tags}, &created)
	if err != nil {
		return err
	}
	m.run = created.Run.Info.ID
	for part := range slices.Chunk(parameters(c.Settings), mlflowParams) {
		if err := m.call(http.MethodPost, "runs/log-batch", map[string]any{"run_id": m.run, "params": part},
			nil); err != nil {
			return err
		}
	}
	return nil
}

// parameters flattens a configuration into dotted keys, in their order.
func parameters(settings map[string]any) []mlflowPair {
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
		flat[strings.TrimPrefix(prefix, ".")] = string(text[:min(len(text), mlflowValue)])
	}
	walk("", settings)
	var out []mlflowPair
	for _, k := range slices.Sorted(maps.Keys(flat)) {
		if k != "" {
			out = append(out, mlflowPair{mlflowKey(k), flat[k]})
		}
	}
	return out
}

// parameter is a value as text: what has parts is JSON, and so is what is not given.
func parameter(v any) string {
	switch reflect.ValueOf(v).Kind() {
	case reflect.Map, reflect.Slice, reflect.Array, reflect.Struct, reflect.Pointer, reflect.Invalid:
		return jsonText(v)
	}
	return fmt.Sprint(v)
}

// mlflowKey is a name that the server takes: it knows no @ and few other signs.
func mlflowKey(k string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("_-. :/", r) {
			return r
		}
		return '_'
	}, strings.ReplaceAll(k, "@", "_at_"))
}

// Write implements Sink.
func (m *mlflow) Write(at time.Time, step int, metrics Metrics) error {
	for part := range slices.Chunk(mlflowMetricsOf(at, step, metrics), mlflowMetrics) {
		m.tell("runs/log-batch", map[string]any{"run_id": m.run, "metrics": part})
	}
	return nil
}

// Close implements Sink.
func (m *mlflow) Close(finished bool) error {
	if finished {
		m.update("FINISHED")
	}
	return nil
}

func (m *mlflow) update(status string) {
	m.tell("runs/update", map[string]any{"run_id": m.run, "status": status})
}

// tell sends what the run does not depend on. The first time that fails is said.
func (m *mlflow) tell(path string, body any) {
	if m.now().Before(m.quiet) {
		return
	}
	err := m.call(http.MethodPost, path, body, nil)
	if err == nil {
		return
	}
	m.quiet = m.now().Add(mlflowPause)
	if !m.told && m.warn != nil {
		m.warn(fmt.Sprintf("monitor: MLflow: %v; the run continues, and metrics.jsonl has what the server misses", err))
	}
	m.told = true
}

// mlflowError is an answer that is not a success.
type mlflowError struct {
	code int
	text string
}

func (e *mlflowError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.code, http.StatusText(e.code), e.text)
}

// call sends a request and reads its answer into out, if that is not nil.
func (m *mlflow) call(method, path string, body, out any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, m.api+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if m.user != "" {
		req.SetBasicAuth(m.user, m.password)
	}
	resp, err := m.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	raw, err = bound.Of(1 << 20).Read(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return &mlflowError{resp.StatusCode, string(raw[:min(len(raw), 300)])}
	}
	if out == nil {
		return nil
	}
	return bound.Of(1<<20).Unmarshal(raw, out)
}
