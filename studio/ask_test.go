package studio

import (
	"context"
	"errors"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

type scripted struct {
	asked Question
	err   error
}

func (s *scripted) Ask(_ context.Context, q Question, drawn func(Drawn) error) (Answer, error) {
	s.asked = q
	for _, id := range []int32{50, 43} {
		if err := drawn(Drawn{ID: id, Logprob: -1}); err != nil {
			return Answer{}, err
		}
	}
	return Answer{Text: "2+", Stop: "length"}, s.err
}

func (s *scripted) Score(_ context.Context, _ Weights, tokens []int32, _ int) ([]Scored, error) {
	return make([]Scored, len(tokens)), s.err
}

func TestAsk(t *testing.T) {
	root := t.TempDir()
	job(t, root, "a")
	asker := &scripted{}
	s, server := opened(t, Options{Dirs: []string{root}, Ask: asker})
	id := first(t, server)
	for _, e := range s.runs.all() {
		e.refresh(t.Context(), s.events)
	}
	post := func(body string) (int, string) {
		res, err := http.Post(server.URL+"/api/runs/"+id+"/ask", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, string(data)
	}
	status, stream := post(`{"sample":"step_000001.0","checkpoint":"base","seed":3}`)
	if status != 200 || strings.Count(stream, `data: {"token"`) != 2 || !strings.Contains(stream, `"stop":"length"`) ||
		len(asker.asked.Tokens) != 46 || *asker.asked.Seed != 3 {
		t.Errorf("the stream is %d %s of %+v", status, stream, asker.asked)
	}
	for body, want := range map[string]int{`{}`: 400, `{"prompt":"a","temperature":-1}`: 400,
		`{"prompt":"a","max_tokens":-1}`:     400,
		`{"prompt":"a","checkpoint":"none"}`: 404, `{"sample":"none"}`: 404} {
		if status, text := post(body); status != want {
			t.Errorf("%s: %d %s, want %d", body, status, text, want)
		}
	}
	asker.err = errors.New("out of memory")
	if _, stream := post(`{"messages":[{"role":"user","content":"hi"}]}`); !strings.Contains(stream, "out of memory") {
		t.Errorf("a failure is told as %s", stream)
	}
	asker.err = nil
	scores := get[struct{ Logprobs []*float64 }](t, server,
		"/api/runs/"+id+"/samples/step_000001.0/score?checkpoint=base", 200)
	if len(scores.Logprobs) < 47 || scores.Logprobs[0] != nil || scores.Logprobs[1] == nil {
		t.Errorf("the scores are %v", scores.Logprobs)
	}
}

func TestAskGem(t *testing.T) {
	root := t.TempDir()
	for name, text := range map[string]string{"gem_state.json": `{"steps_done":4}`, "config.json": `{"model_name":"m"}`,
		"checkpoints.jsonl": `{"name":"000002","policy_iteration_step":2,"sampler_path":"tinker://r/w/2"}` + "\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, server := opened(t, Options{Dirs: []string{root}, Ask: &scripted{}})
	id := first(t, server)
	s.runs.get(id).refresh(t.Context(), s.events)
	got := get[struct {
		Checkpoints []source.Checkpoint
		Ask         bool
		Why         string
	}](t, server, "/api/runs/"+id+"/checkpoints", 200)
	if got.Ask || len(got.Checkpoints) > 0 || !strings.Contains(got.Why, "no checkpoint") {
		t.Errorf("it may be asked: %+v", got)
	}
}
