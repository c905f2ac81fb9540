package wandb

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/monitor/monitortest"
)

// records are the records of a wandb file, as this package reads it.
func records(t *testing.T, file string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(data, []byte(":W&B\xe1\xbe\x00")) {
		t.Fatalf("%s begins with %q", file, data[:7])
	}
	var out [][]byte
	for at := int64(headSize); ; {
		rec, end, ok := unframe(data, at)
		if !ok {
			if at != int64(len(data)) {
				t.Errorf("%s: %d bytes after the last record", file, int64(len(data))-at)
			}
			return out
		}
		out, at = append(out, rec), end
	}
}

// history is the lines of a file's history: step, and the items as JSON texts.
func history(t *testing.T, file string) (steps []int, items []map[string]string) {
	t.Helper()
	for _, rec := range records(t, file) {
		h, ok := subfield(rec, recordHistory)
		if !ok {
			continue
		}
		line := map[string]string{}
		for len(h) > 0 {
			field, _, n := protowire.ConsumeTag(h)
			body, m := protowire.ConsumeBytes(h[n:])
			h = h[n+m:]
			if field != historyItem {
				continue
			}
			key, _ := subfield(body, historyNested)
			value, _ := subfield(body, historyValue)
			line[string(key)] = string(value)
		}
		var step int
		if _, err := fmt.Sscan(line["_step"], &step); err != nil {
			t.Fatal(err)
		}
		steps, items = append(steps, step), append(items, line)
	}
	return steps, items
}

// The library's own file, with records longer than a block, is read to its end.
func TestReadsTheLibrarysFile(t *testing.T) {
	steps, items := history(t, filepath.Join("testdata", "offline.wandb"))
	if fmt.Sprint(steps) != "[1 2]" || items[0]["loss"] != "1.5" || len(items[0]["text"]) != 40002 ||
		items[1]["loss"] != "0.5" {
		t.Errorf("steps %v, losses %s and %s", steps, items[0]["loss"], items[1]["loss"])
	}
	recs := records(t, filepath.Join("testdata", "offline.wandb"))
	for i, rec := range recs {
		_, _, n := protowire.ConsumeTag(rec)
		if num, _ := protowire.ConsumeVarint(rec[n:]); int(num) != i+1 {
			t.Errorf("record %d has the number %d", i+1, num)
		}
	}
	if last := recs[len(recs)-1]; !goesBeyond(last, 100) {
		t.Errorf("the last record does not end the run: %q", last)
	}
}

// Framing the library's records again gives the library's bytes.
func TestFrames(t *testing.T) {
	want, err := os.ReadFile(filepath.Join("testdata", "offline.wandb"))
	if err != nil {
		t.Fatal(err)
	}
	got := append([]byte{}, want[:headSize]...)
	for _, rec := range records(t, filepath.Join("testdata", "offline.wandb")) {
		got = append(got, frames(int64(len(got)), rec)...)
	}
	if !bytes.Equal(got, want) {
		t.Error("the bytes differ")
	}
}

func TestFramesOfEveryLength(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var file []byte
	var want [][]byte
	for n := range 300 {
		rec := make([]byte, n*blockSize/150+r.IntN(9))
		for i := range rec {
			rec[i] = byte(r.Uint32())
		}
		want = append(want, rec)
		file = append(file, frames(int64(len(file)), rec)...)
	}
	at := int64(0)
	for i, w := range want {
		rec, end, ok := unframe(file, at)
		if !ok || !bytes.Equal(rec, w) {
			t.Fatalf("record %d of %d bytes is read as %d bytes, %v", i, len(w), len(rec), ok)
		}
		at = end
	}
}

func FuzzUnframe(f *testing.F) {
	f.Add(frames(0, []byte("text")), 3)
	f.Fuzz(func(t *testing.T, file []byte, keep int) {
		at := int64(0)
		for {
			rec, end, ok := unframe(file, at)
			if !ok {
				return
			}
			if end <= at {
				t.Fatalf("a record from %d ends at %d", at, end)
			}
			goesBeyond(rec, keep)
			at = end
		}
	})
}

func config(dir string, keep int) monitor.Config {
	clock := time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)
	return monitor.Config{Dir: dir, Open: Open, Keep: keep, Now: func() time.Time { return clock }, Project: "project",
		Name:     "name",
		Settings: map[string]any{"model": map[string]any{"rank": 8}}}
}

func runOf(t *testing.T, dir string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "monitor", "wandb", "trainer", "offline-run-*", "run-*.wandb"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%d wandb files, %v", len(files), err)
	}
	return files[0]
}

// A run that is stopped after its committed step, with a torn record at the end, continues as if it had never been
// stopped.
func TestWandbResumes(t *testing.T) {
	whole, broken := t.TempDir(), t.TempDir()
	monitortest.RecordMetrics(t, config(whole, -1), 1, 4, true)
	monitortest.RecordMetrics(t, config(broken, -1), 1, 3, false)
	file := runOf(t, broken)
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("torn record"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	monitortest.RecordMetrics(t, config(broken, 2), 3, 4, true)
	gotSteps, got := history(t, runOf(t, broken))
	wantSteps, want := history(t, runOf(t, whole))
	if fmt.Sprint(gotSteps, got) != fmt.Sprint(wantSteps, want) {
		t.Errorf("got %v %v\nwant %v %v", gotSteps, got, wantSteps, want)
	}
	a, b := records(t, runOf(t, broken)), records(t, runOf(t, whole))
	if len(a) != len(b) || !bytes.Equal(a[len(a)-1], b[len(b)-1]) {
		t.Errorf("%d records and %d", len(a), len(b))
	}
}

// fakeService answers as the service does and keeps what it was sent.
type fakeService struct {
	mu       sync.Mutex
	status   int
	requests []map[string]any
}

func (s *fakeService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	if r.Method == http.MethodPut && r.Header.Get("X-Signed") == "yes" {
		s.requests = append(s.requests, map[string]any{"path": r.URL.Path, "put": string(body),
			"key": r.Header.Get("Authorization") != ""})
		return
	}
	var v map[string]any
	if user, key, _ := r.BasicAuth(); user != "api" || key != "the-key" || json.Unmarshal(body, &v) != nil {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	v["path"] = r.URL.Path
	s.requests = append(s.requests, v)
	if s.status != 0 && r.URL.Path != "/graphql" {
		w.WriteHeader(s.status)
		return
	}
	if strings.Contains(fmt.Sprint(v["query"]), "createRunFiles") {
		name := v["variables"].(map[string]any)["files"].([]any)[0].(string)
		fmt.Fprintf(w, `{"data":{"createRunFiles":{"runID":"UnVu","uploadHeaders":["X-Signed:yes"],`+
			`"files":[{"name":%q,"uploadUrl":"/storage/%s?signature=x"}]}}}`, name, name)
		return
	}
	if r.URL.Path == "/graphql" {
		io.WriteString(w, `{"data":{"upsertBucket":{"bucket":{"name":"abc","project":{"name":"project",`+
			`"entity":{"name":"me"}}}}}}`)
		return
	}
	io.WriteString(w, `{"exitcode":null,"limits":{}}`)
}

func TestWandbOnline(t *testing.T) {
	service := &fakeService{}
	server := httptest.NewServer(service)
	defer server.Close()
	c := config(t.TempDir(), -1)
	c.Args = map[string]any{"base_url": server.URL, "api_key": "the-key"}
	monitortest.RecordMetrics(t, c, 1, 3, true)
	first := service.requests[0]["variables"].(map[string]any)
	if first["project"] != "project" || first["title"] != "name_trainer" ||
		first["config"] != `{"model":{"value":{"rank":8}}}` {
		t.Errorf("the run was made with %v", first)
	}
	var lines []any
	ended := false
	for _, r := range service.requests[1:] {
		if r["path"] != "/files/me/project/abc/file_stream" {
			t.Errorf("a request to %v", r["path"])
		}
		if files, ok := r["files"].(map[string]any); ok {
			h := files["wandb-history.jsonl"].(map[string]any)
			if int(h["offset"].(float64)) != len(lines) {
				t.Errorf("lines at %v after %d", h["offset"], len(lines))
			}
			lines = append(lines, h["content"].([]any)...)
		}
		ended = ended || r["complete"] == true
	}
	if len(lines) != 3 || !ended || !strings.Contains(lines[2].(string), `"loss":0.3333333333333333`) ||
		!strings.Contains(lines[2].(string), `"_step":3`) {
		t.Errorf("ended %v with the lines %v", ended, lines)
	}
}

func TestWandbServiceFails(t *testing.T) {
	service := &fakeService{status: http.StatusBadGateway}
	server := httptest.NewServer(service)
	defer server.Close()
	c := config(t.TempDir(), -1)
	var warned []string
	c.Args, c.Warn = map[string]any{"base_url": server.URL, "api_key": "the-key"},
		func(s string) { warned = append(warned, s) }
	monitortest.RecordMetrics(t, c, 1, 3, true)
	if len(warned) != 1 || !strings.Contains(warned[0], "502 Bad Gateway") ||
		!strings.Contains(warned[0], "wandb sync") {
		t.Errorf("warnings: %q", warned)
	}
	if got, _ := history(t, runOf(t, c.Dir)); fmt.Sprint(got) != "[1 2 3]" {
		t.Errorf("the file has the steps %v", got)
	}
	c = config(t.TempDir(), -1)
	c.Args = map[string]any{"base_url": server.URL, "api_key": "another"}
	c.Roles = []string{"trainer"}
	if _, err := monitor.Open(c); err == nil || !strings.Contains(err.Error(), "401 Unauthorized") ||
		!strings.Contains(err.Error(), "WANDB_API_KEY") {
		t.Errorf("a wrong key gives %v", err)
	}
}
