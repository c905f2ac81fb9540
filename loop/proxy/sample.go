package proxy

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/hf/jinja"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// common are the fields that both kinds of request have. What is not here is accepted and does nothing, as such APIs
// do.
type common struct {
	Model     string         `json:"model"`
	N         int            `json:"n"`
	MaxTokens int            `json:"max_tokens"`
	MaxNew    int            `json:"max_completion_tokens"`
	TopP      *float64       `json:"top_p"`
	TopK      *int           `json:"top_k"`
	Seed      *int64         `json:"seed"`
	Stop      stops          `json:"stop"`
	Stream    bool           `json:"stream"`
	TokenIDs  bool           `json:"return_token_ids"`
	Logprobs  any            `json:"logprobs"` // true or a number
	Options   *streamOptions `json:"stream_options"`
}

type streamOptions struct {
	Usage bool `json:"include_usage"`
}

// stops is one stop string or a list of them.
type stops []string

func (s *stops) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*s = nil
		if one != "" {
			*s = stops{one}
		}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(s))
}

// wantsLogprobs reports whether the request asks for logprobs.
func (c *common) wantsLogprobs() bool {
	switch v := c.Logprobs.(type) {
	case bool:
		return v
	case float64:
		return true
	}
	return false
}

// request is what either kind of request comes to.
type request struct {
	common
	text   string // of the prompt
	prompt []int32
	chat   *chatRequest // nil for plain completions
	tools  jinja.List   // that are offered

	continues bool // the prompt begins with a sequence that was recorded
	anew      bool // it has answers and continues none: a new sequence
}

// resume sets the tokens of a request's text, which are whole unless the text continues a recorded sequence
// (chat.Sequence.Next).
func (s *Server) resume(req *request, whole []int32) (err error) {
	known := s.recall.find(req.text)
	req.prompt, req.continues, err = known.Next(req.text, func(part string) ([]int32, error) {
		if part == req.text {
			return whole, nil
		}
		return s.Model.Encode(part)
	})
	return err
}

// sequenceOf is an answer as what a later request may continue.
func sequenceOf(e *experience.Experience) *chat.Sequence {
	return &chat.Sequence{Tokens: e.Tokens, Text: e.PromptText + e.ResponseText,
		Ended: e.StopReason == experience.StopStop}
}

// answered is the answer to a request.
type answered struct {
	id      string
	created int64
	choices []choice
}

type choice struct {
	tinker.SampledSequence
	text string
}

// answer serves one kind of request.
func (s *Server) answer(parse func(http.ResponseWriter, *http.Request) (*request, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		req, err := parse(w, r)
		var a *answered
		if err == nil {
			a, err = s.sample(r.Context(), req)
		}
		switch {
		case err != nil:
			s.fail(w, err)
		case req.Stream:
			s.stream(w, req, a)
		default:
			reply(w, http.StatusOK, s.body(req, a))
		}
	}
}

// sample asks the model and records the answer before anybody hears of it.
func (s *Server) sample(ctx context.Context, req *request) (*answered, error) {
	s.asked.Add(1)
	s.mu.RLock()
	sampler, version := s.sampler, s.version
	s.mu.RUnlock()
	if sampler == nil {
		return nil, &problem{http.StatusServiceUnavailable, "server_error", "not_ready",
			"the model is not loaded yet; try again"}
	}
	kind := "cmpl-"
	if req.chat != nil {
		kind = "chatcmpl-"
	}
	a := &answered{id: newID(kind), created: s.Now().Unix()}
	params, err := s.params(req, a.id)
	if err != nil {
		return nil, err
	}
	res, err := tinker.Sample(ctx, sampler, tinker.SampleRequest{Prompt: tinker.Text(req.prompt),
		NumSamples: max(1, req.N), Params: params})
	if err != nil {
		return nil, err
	}
	if len(res.Sequences) == 0 {
		return nil, errors.New("proxy: the sampler returned no sequence")
	}
	var list []*experience.Experience
	for i, seq := range res.Sequences {
		c := choice{seq, s.Model.Decode(seq.Tokens)}
		// the tokens that complete a stop are part of the experience, and not of the answer
		for _, stop := range params.StopStrings {
			if at := strings.Index(c.text, stop); at >= 0 {
				c.text = c.text[:at]
			}
		}
		a.choices = append(a.choices, c)
		turn := experience.Turn{Prompt: req.prompt, Response: seq.Tokens, Logprobs: seq.Logprobs,
			Text: s.Model.Decode(seq.Tokens), Stop: experience.StopReason(seq.StopReason)}
		e := turn.Experience(experience.EID{Task: a.id, Run: i, Suffix: a.id[len(a.id)-6:]})
		e.PromptText, e.Info.ModelVersion = req.text, version
		if seq.StopReason == tinker.StopLength {
			e.TruncateStatus = experience.ResponseTruncated
		}
		if req.chat != nil {
			e.MessagesJSON = string(req.chat.RawMessages)
		}
		if req.anew {
			e.Metrics = map[string]float64{workflow.NewSequences: 1}
		}
		list = append(list, e)
	}
	if err := s.History.Record(context.WithoutCancel(ctx), a.id, list); err != nil {
		return nil, err
	}
	for _, e := range list {
		s.recall.add(sequenceOf(e))
	}
	return a, nil
}

// params are the sampling parameters of a request.
func (s *Server) params(req *request, id string) (tinker.SamplingParams, error) {
	p := s.Params
	if n := max(req.MaxTokens, req.MaxNew); n > 0 {
		p.MaxTokens = n
	}
	if s.Context > 0 {
		room := s.Context - len(req.prompt)
		if room <= 0 {
			return p, &problem{http.StatusBadRequest, "invalid_request_error", "context_length_exceeded",
				"the prompt leaves no room for an answer within max_model_len"}
		}
		if p.MaxTokens == 0 || p.MaxTokens > room {
			p.MaxTokens = room
		}
	}
	if req.TopP != nil {
		p.TopP = *req.TopP
	}
	if req.TopK != nil && *req.TopK > 0 {
		p.TopK = *req.TopK
	}
	p.StopStrings = append(slices.Clone(p.StopStrings), req.Stop...)
	seed, err := seedOf(req.Seed, id)
	p.Seed = &seed
	return p, err
}

// seedOf is the seed that a request gives, or one made of its id.
func seedOf(given *int64, id string) (uint64, error) {
	if given != nil {
		return uint64(*given), nil
	}
	raw, err := hex.DecodeString(id[len(id)-16:])
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint64(raw), nil
}

// completionRequest is the body of POST /v1/completions.
type completionRequest struct {
	common
	Prompt json.RawMessage `json:"prompt"`
}

// complete parses a plain completion.
func (s *Server) complete(w http.ResponseWriter, r *http.Request) (*request, error) {
	var in completionRequest
	if err := read(w, r, &in); err != nil {
		return nil, err
	}
	req := &request{common: in.common}
	var texts []string
	switch {
	case json.Unmarshal(in.Prompt, &req.text) == nil && req.text != "":
	case json.Unmarshal(in.Prompt, &texts) == nil && len(texts) == 1:
		req.text = texts[0]
	case json.Unmarshal(in.Prompt, &req.prompt) == nil && len(req.prompt) > 0:
		req.text = s.Model.Decode(req.prompt)
		return req, nil
	default:
		return nil, bad("prompt must be a text that is not empty or a list of token ids; of several prompts each is " +
			"a request of its own")
	}
	whole, err := s.Model.Encode(req.text)
	if err != nil {
		return nil, err
	}
	return req, s.resume(req, whole)
}
