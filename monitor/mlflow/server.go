package mlflow

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
	"github.com/seed-d9ad8ee0/trinity/monitor"
)

// server is an MLflow server, over its REST API 2.0.
type server struct {
	client         http.Client
	base           string
	user, password string
	now            func() time.Time
	quiet          time.Time // until when it is not asked again
}

// The server's limits for one request.
const (
	maxMetrics = 1000
	maxParams  = 100
)

// pause is how long a server that did not answer is left alone, so that it does not hold up every step.
const pause = time.Minute

func openServer(c monitor.Config, base string) *server {
	return &server{client: http.Client{Timeout: 10 * time.Second}, base: strings.TrimSuffix(base, "/"), now: c.Now,
		user:     cmp.Or(c.Text("username"), c.Env("MLFLOW_TRACKING_USERNAME")),
		password: cmp.Or(c.Text("password"), c.Env("MLFLOW_TRACKING_PASSWORD"))}
}

func (s *server) close() error { return nil }

func (s *server) create(r run) (id string, err error) {
	if id, err = s.begin(r); err != nil {
		return "", fmt.Errorf("the server %s: %w; start one with mlflow server, or choose another monitor_type", s.base,
			err)
	}
	return id, nil
}

func (s *server) begin(r run) (id string, err error) {
	experiment, err := s.experiment(r.experiment)
	if err != nil {
		return "", err
	}
	var created struct {
		Run struct {
			Info struct {
				ID string `json:"run_id"`
			} `json:"info"`
		} `json:"run"`
	}
	if err := s.call(http.MethodPost, "runs/create", map[string]any{"experiment_id": experiment, "run_name": r.name,
		"start_time": r.start, "tags": r.tags}, &created); err != nil {
		return "", err
	}
	id = created.Run.Info.ID
	for part := range slices.Chunk(r.params, maxParams) {
		if err := s.call(http.MethodPost, "runs/log-batch", map[string]any{"run_id": id, "params": part},
			nil); err != nil {
			return "", err
		}
	}
	return id, nil
}

// experiment finds an experiment by its name, or makes it.
func (s *server) experiment(name string) (id string, err error) {
	var answer struct {
		ID         string `json:"experiment_id"`
		Experiment struct {
			ID string `json:"experiment_id"`
		} `json:"experiment"`
	}
	err = s.call(http.MethodGet, "experiments/get-by-name?experiment_name="+url.QueryEscape(name), nil, &answer)
	if status := (*statusError)(nil); errors.As(err, &status) && status.code == http.StatusNotFound {
		err = s.call(http.MethodPost, "experiments/create", map[string]any{"name": name}, &answer)
	}
	return cmp.Or(answer.ID, answer.Experiment.ID), err
}

func (s *server) log(id string, list []metric) error {
	var errs []error
	for part := range slices.Chunk(list, maxMetrics) {
		errs = append(errs, s.tell("runs/log-batch", map[string]any{"run_id": id, "metrics": part}))
	}
	return errors.Join(errs...)
}

// forget does nothing: the server keeps all values of a step and shows the last.
func (s *server) forget(string, int) error { return nil }

func (s *server) update(id, status string, _ *int64) error {
	return s.tell("runs/update", map[string]any{"run_id": id, "status": status})
}

// tell sends a request, unless the server failed to answer just now.
func (s *server) tell(path string, body any) error {
	if s.now().Before(s.quiet) {
		return nil
	}
	err := s.call(http.MethodPost, path, body, nil)
	if err != nil {
		s.quiet = s.now().Add(pause)
	}
	return err
}

// statusError is an answer that is not a success.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%d %s: %s", e.code, http.StatusText(e.code), e.text)
}

// call sends a request and reads its answer into out, if that is not nil.
func (s *server) call(method, path string, body, out any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequest(method, s.base+"/api/2.0/mlflow/"+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.user != "" {
		req.SetBasicAuth(s.user, s.password)
	}
	resp, raw, err := bound.Of(1<<20).Do(&s.client, req)
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK {
		return &statusError{resp.StatusCode, string(raw[:min(len(raw), 300)])}
	}
	if out == nil {
		return nil
	}
	return bound.Of(1<<20).Unmarshal(raw, out)
}
