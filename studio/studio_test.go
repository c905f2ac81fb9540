package studio

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// job copies the job of testdata, which trinity run wrote, to a folder of its own.
func job(t testing.TB, root, name string) string {
	t.Helper()
	dir := filepath.Join(root, "project", name)
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "job"))); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tinyModel is the folder of the model that made the job of testdata.
var tinyModel = filepath.Join("..", "examples", "tiny", "model")

// opened is a studio over folders, which has looked once. Without Options.Model every model is tinyModel.
func opened(t testing.TB, o Options) (*Studio, *httptest.Server) {
	t.Helper()
	if o.Model == nil {
		o.Model = func(_, _ string) (string, error) { return tinyModel, nil }
	}
	s := New(o)
	if err := s.Look(context.Background()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	t.Cleanup(http.DefaultClient.CloseIdleConnections)
	return s, server
}

// get asks for JSON and checks the status.
func get[T any](t testing.TB, server *httptest.Server, path string, status int) (out T) {
	t.Helper()
	res, err := http.Get(server.URL + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != status {
		t.Fatalf("%s answered %s, want %d: %s", path, res.Status, status, data)
	}
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatalf("%s: %v: %.300s", path, err, data)
	}
	return out
}

type rows struct {
	Samples []Row
	Total   *int
	Cursor  *string
	Scanned int
	Of      int
}

// first is the id of the only run.
func first(t testing.TB, server *httptest.Server) string {
	t.Helper()
	list := get[struct{ Runs []Run }](t, server, "/api/runs", 200)
	if len(list.Runs) == 0 {
		t.Fatal("there is no run")
	}
	return list.Runs[0].ID
}

// What takes much memory is let go of, but not the metrics that the next look at a running run reads.
func TestDropKeepsRunning(t *testing.T) {
	root := t.TempDir()
	job(t, root, "a")
	s, server := opened(t, Options{Dirs: []string{root}})
	e := s.runs.get(first(t, server))
	for state, want := range map[source.State]bool{source.Running: true, source.Finished: false} {
		e.curves()
		e.opened()
		e.now.look.State = state
		e.drop()
		if kept := e.log != nil; kept != want || e.index != nil {
			t.Errorf("%s: metrics are kept: %v; the index is: %v", state, kept, e.index != nil)
		}
	}
}

// A run whose numbers broke has a page, and its lights say so.
func TestNotFinite(t *testing.T) {
	root := t.TempDir()
	line := `{"step":%d,"actor/entropy":NaN,"grad_norm":NaN,"train/kl_sample_train_v1":null,"critic/rewards/mean":1}` +
		"\n"
	text := fmt.Sprintf(line, 1) + fmt.Sprintf(line, 2)
	if err := os.WriteFile(filepath.Join(job(t, root, "a"), "metrics.jsonl"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	_, server := opened(t, Options{Dirs: []string{root}})
	run := get[struct{ Health []Light }](t, server, "/api/runs/"+first(t, server), 200)
	want := map[string]string{"sampler–trainer gap": bad, "gradient norm": bad, "entropy": unknown}
	for _, l := range run.Health {
		if state, ok := want[l.Name]; ok && l.State != state {
			t.Errorf("%s is %s (%s), want %s", l.Name, l.State, l.Reason, state)
		}
	}
}

func TestRun(t *testing.T) {
	root := t.TempDir()
	job(t, root, "a")
	_, server := opened(t, Options{Dirs: []string{root}})
	id := first(t, server)
	run := get[struct {
		Run
		Config  []source.Setting
		Health  []Light
		Metrics []struct{ Name, Group string }
	}](t, server, "/api/runs/"+id, 200)
	if run.State != source.Finished || run.Algorithm != "grpo" || run.Step != 4 || *run.Steps != 4 ||
		run.Model != "examples/tiny/model" || len(run.Reward) != 4 || len(run.Config) != 9 {
		t.Errorf("the run is %+v", run.Run)
	}
	lights := map[string]string{}
	for _, l := range run.Health {
		lights[l.Name] = l.State
	}
	if lights["sampler–trainer gap"] != good || lights["groups without signal"] == unknown || len(lights) != 8 {
		t.Errorf("the lights are %v", lights)
	}
	curves := get[struct {
		Series map[string]struct {
			Step  []int
			Value []float64
		}
	}](t, server, "/api/runs/"+id+"/metrics?name=critic/rewards/mean&points=2&from=1", 200)
	if got := curves.Series["critic/rewards/mean"]; len(got.Step) != 2 || got.Step[1] != 4 {
		t.Errorf("the curve is %+v", got)
	}
	line := get[struct{ Steps []span }](t, server, "/api/runs/"+id+"/timeline", 200)
	if len(line.Steps) < 4 || len(line.Steps[0].Parts) < 2 {
		t.Errorf("the timeline is %+v", line.Steps)
	}
}
