package mlflow

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/monitortest"
)

// fakeServer answers as MLflow 3 does and keeps what it was sent.
type fakeServer struct {
	mu       sync.Mutex
	down     bool
	requests []string // "path body"
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	path := strings.TrimPrefix(r.URL.Path, "/api/2.0/mlflow/")
	if s.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	s.requests = append(s.requests, path+" "+string(body))
	switch path {
	case "experiments/get-by-name":
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"error_code": "RESOURCE_DOES_NOT_EXIST", "message": "No experiment"}`)
	case "experiments/create":
		io.WriteString(w, `{"experiment_id": "7"}`)
	case "runs/create":
		io.WriteString(w, `{"run": {"info": {"run_id": "r1"}}}`)
	default:
		io.WriteString(w, `{}`)
	}
}

// batches joins the metrics that were sent, as step:key=value.
func (s *fakeServer) batches(t *testing.T) string {
	t.Helper()
	var out []string
	for _, r := range s.requests {
		path, body, _ := strings.Cut(r, " ")
		var b struct {
			Metrics []struct {
				Key   string
				Value float64
				Step  int
			}
		}
		if err := json.Unmarshal([]byte(body), &b); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, m := range b.Metrics {
			out = append(out, fmt.Sprintf("%d:%s=%g", m.Step, m.Key, m.Value))
		}
	}
	return strings.Join(out, " ")
}

func TestMLflow(t *testing.T) {
	service := &fakeServer{}
	server := httptest.NewServer(service)
	defer server.Close()
	clock := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	c := monitor.Config{Dir: t.TempDir(), Open: Open, Keep: -1, Now: func() time.Time { return clock },
		Project: "project", Name: "name",
		Args: map[string]any{"uri": server.URL}, Settings: map[string]any{"model": map[string]any{"rank": 8}},
		Roles: []string{"trainer"}}
	m, err := monitor.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	m.Add(1, "trainer", monitor.Metrics{"loss": 0.5, "eval/x/mean@4": 1})
	if _, err := m.Commit(1); err != nil {
		t.Fatal(err)
	}
	if err := m.Close(); err != nil { // stopped
		t.Fatal(err)
	}
	c.Keep = 1
	monitortest.RecordMetrics(t, c, 2, 2, true)
	if got, want := service.batches(t), "1:eval/x/mean_at_4=1 1:loss=0.5 2:a/b=2 2:loss=0.5"; got != want {
		t.Errorf("metrics %s, want %s", got, want)
	}
	all := strings.Join(service.requests, "\n")
	for _, want := range []string{`experiments/create {"name":"project"}`, `"run_name":"name_trainer"`,
		`"params":[{"key":"model.rank","value":"8"}]`,
		`runs/update {"run_id":"r1","status":"RUNNING"}`, `runs/update {"run_id":"r1","status":"FINISHED"}`} {
		if strings.Count(all, want) != 1 {
			t.Errorf("%q was sent %d times in\n%s", want, strings.Count(all, want), all)
		}
	}
}

// A server that stops answering costs its metrics and one line for the user; the run and metrics.jsonl continue.
func TestMLflowGoesAway(t *testing.T) {
	service := &fakeServer{}
	server := httptest.NewServer(service)
	defer server.Close()
	var warned []string
	c := monitor.Config{Dir: t.TempDir(), Open: Open, Keep: -1, Args: map[string]any{"uri": server.URL},
		Roles: []string{"trainer"}, Warn: func(s string) { warned = append(warned, s) }}
	m, err := monitor.Open(c)
	if err != nil {
		t.Fatal(err)
	}
	service.down = true
	for step := 1; step <= 3; step++ {
		m.Add(step, "trainer", monitor.Metrics{"loss": 1})
		if _, err := m.Commit(step); err != nil {
			t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		t.Fatal(err)
	}
	if len(warned) != 1 || !strings.Contains(warned[0], "503 Service Unavailable") {
		t.Errorf("warnings: %q", warned)
	}
	if lines, err := os.ReadFile(filepath.Join(c.Dir, "metrics.jsonl")); err != nil ||
		strings.Count(string(lines), "\n") != 3 {
		t.Errorf("metrics.jsonl: %q, %v", lines, err)
	}
	c.Dir = t.TempDir()
	if _, err := monitor.Open(c); err == nil || !strings.Contains(err.Error(), "start one with mlflow server") {
		t.Errorf("without a server Open gives %v", err)
	}
	c.Args = map[string]any{"uri": "localhost"}
	if _, err := monitor.Open(c); err == nil || !strings.Contains(err.Error(), `monitor_args.uri "localhost"`) {
		t.Errorf("without an address Open gives %v", err)
	}
}
