package carried

import (
	"context"
	"errors"
	"math"
	"net/http"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// handler serves the model's interfaces below /rollouts/{id}/v1/.
func (s *Source) handler() http.Handler {
	return s.bodies.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.answer(w, r); err != nil {
			endpoint.ErrorOf(err).Write(w)
		}
	}))
}

func (s *Source) answer(w http.ResponseWriter, r *http.Request) error {
	id, below, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/rollouts/"), "/v1/")
	s.mu.Lock()
	e := s.episodes[id]
	s.mu.Unlock()
	if e == nil {
		return refused(http.StatusNotFound, "rollout_not_found", "there is no episode %q, or it is over", id)
	}
	api := endpoint.New(&models{source: s, episode: e}, s.o.Now)
	if r.Method == http.MethodGet && below == "models" {
		return api.List(r.Context(), w, "")
	}
	h := map[string]func(context.Context, http.ResponseWriter, string, []byte) error{"chat/completions": api.Chat,
		"completions": api.Complete, "responses": api.Respond, "messages": api.Messages}[below]
	if r.Method != http.MethodPost || h == nil {
		return refused(http.StatusNotFound, "unknown_url", "%s %s is not served; below the URL of an episode there "+
			"are v1/chat/completions, v1/completions, v1/responses, v1/messages and v1/models", r.Method, r.URL.Path)
	}
	if err := e.comes(r.Header.Get("X-Session-ID")); err != nil {
		return err
	}
	body, err := s.bodies.ReadWeighed(r, endpoint.MaxBody)
	if err != nil {
		return err
	}
	return h(r.Context(), w, "", body)
}

// models is the player as the model of one request. It implements endpoint.Models, endpoint.Keeper and
// tinker.SamplingClient.
type models struct {
	source  *Source
	episode *episode
	prompt  string
}

// Open implements endpoint.Models.
func (m *models) Open(_ context.Context, _, name string) (*endpoint.Model, error) {
	if name == m.source.o.Model {
		name = "policy"
	}
	if err := m.episode.enter(name); err != nil {
		return nil, err
	}
	return &endpoint.Model{Text: m.source.o.Text, Context: math.MaxInt32, Sampler: m, Keeper: m, Close: func() {},
		Name: m.source.o.Model}, nil
}

// List implements endpoint.Models.
func (m *models) List(context.Context, string) ([]endpoint.Card, error) {
	return []endpoint.Card{{ID: m.source.o.Model, Context: math.MaxInt32, Kind: "base"}}, nil
}

// Prompt implements endpoint.Keeper: it keeps the text for the player.
func (m *models) Prompt(text string, encode func(string) ([]int32, error)) ([]int32, error) {
	m.prompt = text
	return encode(text)
}

// Params implements endpoint.Keeper: sampling is the trainer's, and what it does is not known here.
func (m *models) Params(a *endpoint.Asked) (overrode []string, err error) {
	if a.N > 1 || len(a.Prompts) > 1 {
		return nil, refused(http.StatusBadRequest, "", "a call of an episode gets one answer to one prompt")
	}
	if a.Gives("logprobs", "top_logprobs", "prompt_logprobs", "echo") {
		return nil, refused(http.StatusBadRequest, "", "logprobs are not known where an episode is played for trinity "+
			"gem; trinity run, with verifiers_workflow, answers with them")
	}
	for _, name := range []string{"temperature", "top_p", "top_k", "min_p", "seed", "max_tokens",
		"max_completion_tokens"} {
		if a.Gives(name) {
			overrode = append(overrode, name)
		}
	}
	return overrode, nil
}

// Record implements endpoint.Keeper: the trainer has its own record.
func (m *models) Record(context.Context, endpoint.Kept) error { return nil }

// Sample implements tinker.SamplingClient: the player answers.
func (m *models) Sample(ctx context.Context,
	req tinker.SampleRequest) (*tinker.Future[tinker.SampleResponse], error) {
	if len(req.Prompt.Chunks) != 1 || req.Prompt.Chunks[0].Image != nil {
		return nil, errors.New("carried: the prompt is no text")
	}
	text := m.source.o.Text
	if m.prompt == "" { // it was given as ids
		m.prompt = text.Tokenizer.Decode(req.Prompt.Chunks[0].Tokens, false)
	}
	future, resolve := tinker.NewFuture[tinker.SampleResponse]()
	go func() {
		answer, err := m.episode.ask(ctx, m.prompt)
		if err != nil {
			resolve(tinker.SampleResponse{}, err)
			return
		}
		q := tinker.SampledSequence{Tokens: text.Tokenizer.Encode(answer, false), StopReason: tinker.StopStop}
		m.episode.spend(len(q.Tokens))
		if len(text.Ends) > 0 {
			q.Tokens = append(q.Tokens, text.Ends[0])
		}
		q.Logprobs = make([]float32, len(q.Tokens)) // nobody is shown them
		resolve(tinker.SampleResponse{Sequences: []tinker.SampledSequence{q}}, nil)
	}()
	return future, nil
}
