package source

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A log that is long enough loses its older half.
func TestHostLogIsBounded(t *testing.T) {
	h := &host{log: hostLog(t.TempDir()), begun: true, times: map[int]time.Time{}}
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, `{"sessions":2,"step":%d}`+"\n", i)
		h.times[i] = time.Now()
	}
	h.step, h.size = 100, hostLogSize
	if err := os.WriteFile(h.log, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := h.note(map[string]float64{"sessions": 3}); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(h.log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if n := len(lines); n < 40 || n > 60 || lines[n-1] != `{"sessions":3,"step":100}` || len(h.Clock()) != n {
		t.Errorf("%d lines are left, the last is %s; %d times", n, lines[n-1], len(h.Clock()))
	}
	if err := h.note(map[string]float64{"sessions": 3}); err != nil || h.step != 102 || h.size > hostLogSize/2 {
		t.Errorf("step %d, %d bytes: %v", h.step, h.size, err)
	}
}

// A server's queues and rates become a log of metrics.
func TestHost(t *testing.T) {
	decoded := 100
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/api/v1/training_runs":
			fmt.Fprint(w, `{"training_runs":[]}`)
		case "/api/v1/get_server_capabilities":
			fmt.Fprint(w, `{"supported_models":[{"model_name":"m"}]}`)
		case "/api/v1/sessions":
			fmt.Fprint(w, `{"sessions":["a","b"]}`)
		case "/tenants":
			fmt.Fprintf(w, `{"tenants":[{"tenant":"key-1","name":"ann","sessions":3,"samples_waiting":4,`+
				`"tokens":{"sample":%d}},{"tenant":"key-2"}]}`, decoded)
		case "/version":
			fmt.Fprint(w, "1.2.3\n")
		case "/metrics":
			fmt.Fprintf(w, "# HELP trinity_sessions Sessions known.\ntrinity_sessions 2\ngo_threads 9\n"+
				"trinity_engine_queue_requests{work=\"sampling\"} 7\ntrinity_fsync_seconds_bucket{le=\"1\"} 3\n"+
				"trinity_log_cut_bytes NaN\ntrinity_engine_tokens_total{phase=\"decode\"} %d\n", decoded)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	old := filepath.Join(dir, "server.jsonl")
	if err := os.WriteFile(old, []byte("of a studio before\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	long := time.Now().Add(-2 * hostLogKept)
	if err := os.Chtimes(old, long, long); err != nil {
		t.Fatal(err)
	}
	find := func() *host {
		runs, err := (&Tinker{URL: server.URL, Notes: dir}).Find(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return runs[0].(*host)
	}
	h := find()
	rate := 0.0
	for range 2 {
		h.asked = time.Now().Add(-3 * time.Second) // the answers before the last one failed
		read := time.Now().Add(-10 * time.Second)
		h.read = read
		if err := h.Refresh(t.Context()); err != nil {
			t.Fatal(err)
		}
		decoded += 500
		rate = 500 / h.asked.Sub(read).Seconds() // 50, or less if the test is slow
	}
	if err := find().Refresh(t.Context()); err != nil { // another studio
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("the log of a studio before is still there")
	}
	path, _ := h.Metrics()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 2 || lines[0] != `{"engine/queue_requests/sampling":7,"sessions":2,"step":0,`+
		`"tenants/samples_waiting/ann":4,"tenants/samples_waiting/key-2":0,"tenants/training_waiting/ann":0,`+
		`"tenants/training_waiting/key-2":0}` ||
		!strings.Contains(lines[1], `"tenants/tokens_per_second/sample/ann":`) ||
		!strings.Contains(lines[1], fmt.Sprintf(`"engine/tokens_per_second/decode":%v,`, rate)) {
		t.Errorf("the log is %s", data)
	}
	if l := h.Look(); l.State != Running || !strings.Contains(l.Why, "2 sessions") || len(h.Clock()) != 2 {
		t.Errorf("the server is %+v", l)
	}
	if s := h.Settings(); len(s) != 4 || s[0].Value != "m" || s[1].Value != "1.2.3" || s[2].Key != "tenants.ann" ||
		!strings.Contains(fmt.Sprint(s[2].Value), "3 sessions") {
		t.Errorf("the server can %+v", s)
	}
}
