package studio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/monitor/rollout"
	"github.com/seed-d9ad8ee0/trinity/studio/source"
)

// Asker samples from checkpoints of runs. Implementations are safe for concurrent use. Users see their errors.
type Asker interface {
	// Ask calls drawn with each token as it is drawn.
	Ask(ctx context.Context, q Question, drawn func(Drawn) error) (Answer, error)
	// Score gives the logprob of each token after those before it, and the likeliest tokens there. The first token has
	// neither.
	Score(ctx context.Context, w Weights, tokens []int32, likeliest int) ([]Scored, error)
}

// Weights are the checkpoint that is asked.
type Weights struct {
	Job        string // the run's folder
	Checkpoint string // the folder of the weights; "" for the model that the run began with
	Model      string // that model's name
}

// Question is a prompt with its parameters. One of Messages, Prompt and Tokens is given.
type Question struct {
	Weights
	Messages    []rollout.Message
	Prompt      string
	Tokens      []int32
	Temperature float64
	MaxTokens   int
	Seed        *uint64
}

// Drawn is a token that was drawn.
type Drawn struct {
	ID      int32
	Logprob float64
	Likely  []Alternative // without text
}

// Scored is a token's logprob, and what else might have stood in its place.
type Scored struct {
	Logprob float64
	Likely  []Alternative
}

// Answer is a sampled answer.
type Answer struct {
	Text string
	Stop string
}

// base is the name of the weights that a run began with.
const base = "base"

// checkpoints is GET /api/runs/{run}/checkpoints.
func (s *Studio) checkpoints(e *entry, w http.ResponseWriter, _ *http.Request) error {
	list := e.run.Checkpoints()
	why := s.mute(e)
	if why == "" {
		list = append(list, source.Checkpoint{Name: base, Step: 0})
	}
	if list == nil {
		list = []source.Checkpoint{}
	}
	return answer(w, map[string]any{"checkpoints": list, "ask": why == "", "score": why == "", "why": why})
}

// mute is why a run's weights cannot be asked, "" if they can.
func (s *Studio) mute(e *entry) string {
	switch {
	case s.opts.Ask == nil:
		return "this studio was started without an engine"
	case e.run.Kind() != source.Trinity && e.run.Kind() != source.Gem:
		return "the weights of this run are not on this machine"
	case e.run.Kind() == source.Gem && len(e.run.Checkpoints()) == 0: // its model may be a server's alone
		return "no checkpoint of this run is on this machine"
	case e.seen().look.Model == "":
		return "the run does not say which model it trains"
	}
	return ""
}

// weights finds a checkpoint by name; "" is the newest.
func (s *Studio) weights(e *entry, name string) (Weights, error) {
	if why := s.mute(e); why != "" {
		return Weights{}, refusal{http.StatusConflict, "not_available", "studio: " + why}
	}
	w := Weights{Job: e.run.Path(), Model: e.seen().look.Model}
	list := e.run.Checkpoints()
	if name == base || name == "" && len(list) == 0 {
		return w, nil
	}
	i := slices.IndexFunc(list, func(c source.Checkpoint) bool { return c.Name == name || name == "" })
	if i < 0 {
		return w, refusal{http.StatusNotFound, "not_found", fmt.Sprintf("studio: run %s has no checkpoint %q; the run "+
			"keeps only some of them", e.id, name)}
	}
	w.Checkpoint = list[i].Path
	return w, nil
}

// question is the body of POST /api/runs/{run}/ask.
type question struct {
	Sample      *string           `json:"sample"`
	Continue    bool              `json:"continue"` // continue the sample's answer; else sample it again
	Messages    []rollout.Message `json:"messages"`
	Prompt      *string           `json:"prompt"`
	Checkpoint  string            `json:"checkpoint"`
	Temperature *float64          `json:"temperature"`
	MaxTokens   int               `json:"max_tokens"`
	Seed        *uint64           `json:"seed"`
}

// read checks a question and fills in its defaults.
func (s *Studio) read(ctx context.Context, e *entry, q question) (out Question, err error) {
	if out.Weights, err = s.weights(e, q.Checkpoint); err != nil {
		return out, err
	}
	out.Temperature, out.MaxTokens, out.Seed = 1, cmp.Or(q.MaxTokens, 512), q.Seed
	if q.Temperature != nil {
		out.Temperature = *q.Temperature
	}
	if !(out.Temperature >= 0 && out.Temperature <= 100) || out.MaxTokens < 1 || out.MaxTokens > 1<<20 {
		return out, invalid("temperature must be from 0 to 100 and max_tokens from 1 to %d, got %g and %d", 1<<20,
			out.Temperature, out.MaxTokens)
	}
	switch {
	case len(q.Messages) > 0:
		out.Messages = q.Messages
	case q.Prompt != nil && *q.Prompt != "":
		out.Prompt = *q.Prompt
	case q.Sample != nil:
		_, _, rec, err := s.record(ctx, e, *q.Sample)
		if err != nil {
			return out, err
		}
		out.Tokens = slices.Clone(rec.PromptTokens)
		if q.Continue {
			out.Tokens = append(out.Tokens, rec.Tokens...)
		}
		if out.Prompt = rec.Prompt; len(out.Tokens) > 0 {
			out.Prompt = ""
		}
	default:
		return out, invalid("one of sample, messages and prompt must be given")
	}
	return out, nil
}

// ask is POST /api/runs/{run}/ask.
func (s *Studio) ask(e *entry, w http.ResponseWriter, r *http.Request) error {
	var given question
	if err := body(r, &given); err != nil {
		return err
	}
	q, err := s.read(r.Context(), e, given)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	send := func(kind string, v any) error {
		data, err := json.Marshal(map[string]any{kind: v})
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(w, "data: %s\n\n", data); err != nil {
			return err
		}
		return out.Flush()
	}
	words := e.words(r.Context(), nil)
	said, err := s.opts.Ask.Ask(r.Context(), q, func(d Drawn) error {
		t := words.token(d.ID)
		t.Logprob, t.Mask = rollout.Finite(d.Logprob), 1
		t.Alternatives = words.name(d.Likely)
		return send("token", t)
	})
	if err == nil {
		err = send("done", map[string]any{"stop": said.Stop, "text": said.Text, "reward": nil})
	} else if r.Context().Err() == nil {
		err = send("error", map[string]string{"message": err.Error()})
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		s.opts.Log.Info("an answer ended early", "run", e.id, "error", err)
	}
	return nil
}

// maxScored is the longest sample that is scored, in tokens.
const maxScored = 32768

// score is GET /api/runs/{run}/samples/{sample}/score: the sample's tokens under other weights.
func (s *Studio) score(e *entry, w http.ResponseWriter, r *http.Request) error {
	weights, err := s.weights(e, r.URL.Query().Get("checkpoint"))
	if err != nil {
		return err
	}
	f, _, rec, err := s.record(r.Context(), e, r.PathValue("sample"))
	if err != nil {
		return err
	}
	tokens := append(slices.Clone(rec.PromptTokens), rec.Tokens...)
	if len(rec.Starts) > 0 || len(tokens) > maxScored || len(tokens) == 0 {
		return refusal{http.StatusConflict, "not_available", fmt.Sprintf("studio: a sample of %d tokens in %d "+
			"sequences cannot be scored; one sequence of at most %d can", len(tokens), len(rec.Starts)+1, maxScored)}
	}
	list, err := s.opts.Ask.Score(r.Context(), weights, tokens, 5)
	if err != nil {
		return refusal{http.StatusBadGateway, "engine", err.Error()}
	}
	words := e.words(r.Context(), f)
	logprobs, likely := make([]*float64, len(tokens)), make([][]Alternative, len(tokens))
	for i, t := range list[:min(len(list), len(tokens))] {
		if i > 0 {
			logprobs[i], likely[i] = rollout.Finite(t.Logprob), words.name(t.Likely)
		}
	}
	return answer(w, map[string]any{"logprobs": logprobs, "alternatives": likely})
}
