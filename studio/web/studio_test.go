package web_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"math"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/studio"
)

// shots is the folder for the pictures of every view, "" for none, and jobs one with finished jobs for them, "" for the
// recorded ones. bench/studio-browser names them in the environment: what drives Chromium is in this package. With
// shots the tests try longer lists too.
func shots() string { return os.Getenv("TRINITY_TEST_STUDIO_SHOTS") }
func jobs() string  { return os.Getenv("TRINITY_TEST_STUDIO_JOBS") }

// startStudio serves the runs below a folder for as long as the test lasts.
func startStudio(t *testing.T, dir string) (base string) {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	model := func(_, name string) (string, error) {
		if filepath.IsAbs(name) {
			return name, nil
		}
		return filepath.Join(root, name), nil
	}
	s := studio.New(studio.Options{Dirs: []string{dir}, Version: "test", Ask: replay{dir}, Model: model})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx) }()
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		cancel()
		server.CloseClientConnections()
		server.Close()
		if err := <-done; err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	return server.URL
}

// startTrinity serves the runs below a folder with bin/trinity, whose engine answers questions in the pictures.
func startTrinity(t *testing.T, dir string) (base string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "bin/trinity", "studio", dir, "--addr", "127.0.0.1:0")
	c.Dir = "../.." // names of models and the program are relative to it
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	at := strings.Index(line, "http://")
	if err != nil || at < 0 {
		t.Fatalf("bin/trinity studio printed %q: %v", line, err)
	}
	return strings.TrimRight(line[at:], "/\n")
}

// replay answers questions with the tokens of the first sample that the recorded job has.
type replay struct{ dir string }

func (r replay) first() (*rollout.Record, error) {
	data, err := os.ReadFile(filepath.Join(r.dir, "trinity-tiny", "gsm8k", "rollouts", "step_000001.jsonl"))
	if err != nil {
		return nil, err
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	return rollout.Decode(line)
}

// Ask implements studio.Asker.
func (r replay) Ask(_ context.Context, _ studio.Question, drawn func(studio.Drawn) error) (studio.Answer, error) {
	rec, err := r.first()
	if err != nil {
		return studio.Answer{}, err
	}
	for i, id := range rec.Tokens {
		if err := drawn(studio.Drawn{ID: id, Logprob: float64(rec.Logprobs[i])}); err != nil {
			return studio.Answer{}, err
		}
	}
	return studio.Answer{Stop: rec.StopReason}, nil
}

// Score implements studio.Asker: every token was half as likely.
func (r replay) Score(_ context.Context, _ studio.Weights, tokens []int32, _ int) ([]studio.Scored, error) {
	rec, err := r.first()
	if err != nil {
		return nil, err
	}
	scored := make([]studio.Scored, len(tokens))
	for i := range rec.Tokens {
		if at := len(rec.PromptTokens) + i; at < len(tokens) {
			scored[at].Logprob = float64(rec.Logprobs[i]) - math.Ln2
		}
	}
	return scored, nil
}

// recorded copies the recorded job, once for each name, into a folder of the test.
func recorded(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		if err := os.CopyFS(filepath.Join(dir, "trinity-tiny", name), os.DirFS("testdata/job")); err != nil {
			t.Fatal(err)
		}
		settings := filepath.Join(dir, "trinity-tiny", name, ".studio", "settings.json")
		data, err := os.ReadFile(settings)
		if err != nil {
			t.Fatal(err)
		}
		data = bytes.Replace(data, []byte(`"value": "gsm8k"`), []byte(`"value": `+quote(name)), 1)
		if err := os.WriteFile(settings, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// listing is what a test needs to know of the runs.
type listing struct {
	Runs []struct{ ID, Name, State string }
}

// id finds a run by its name.
func (p *tab) run(name string) string {
	p.t.Helper()
	var l listing
	p.js(`fetch("api/runs").then(r => r.json())`, &l)
	for _, r := range l.Runs {
		if r.Name == name {
			return r.ID
		}
	}
	p.t.Fatalf("there is no run %s: %v", name, l)
	return ""
}

// row is what a test needs to know of a sample.
type row struct {
	ID, Task, Key string
	Set           string
	Step          int
	Reward        float64
}

// samples asks for rows of a run.
func (p *tab) samples(run, query string) []row {
	p.t.Helper()
	var answer struct{ Samples []row }
	p.js(`window.some = 0`, nil)
	p.until(`fetch("api/runs/` + run + `/samples?` + query + `").then(r => r.json())
		.then(r => window.some = r.samples.length), window.some`)
	p.js(`fetch("api/runs/`+run+`/samples?`+query+`").then(r => r.json())`, &answer)
	if len(answer.Samples) == 0 {
		var text string
		p.js(`fetch("api/runs/`+run+`/samples?`+query+`").then(r => r.text())`, &text)
		p.t.Fatalf("no samples for %s: %.500s", query, text)
	}
	return answer.Samples
}

// unlikely is the place of a sample's least likely token.
func (p *tab) unlikely(run, sample string) string {
	p.t.Helper()
	var at int
	p.js(`fetch("api/runs/`+run+`/samples/`+sample+`").then(r => r.json()).then(({tokens}) =>
		tokens.reduce((best, t, i) => (t.logprob ?? 0) < (tokens[best].logprob ?? 0) ? i : best, 0))`, &at)
	return strconv.Itoa(at)
}

// appendTo adds text to a file, as a run does.
func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

func quote(text string) string {
	data, _ := json.Marshal(text)
	return string(data)
}

func lines(t *testing.T, path string) []string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}
