package plugin

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"

	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// session is one run of a workflow: it answers its requests to the model and records the samples. Calls may come from
// several threads at once.
type session struct {
	set  *Set
	r    *workflow.Rollout
	task workflow.Task
	run  int
	seed uint64

	mu      sync.Mutex
	records []*record
	offered workflow.Offered
	url     string
	taken   int // of its calls
}

// newSession begins a run. Everything that it draws derives from the task's seed and the run's number.
func newSession(set *Set, r *workflow.Rollout, t workflow.Task, run int) *session {
	stream := rng.New(t.Seed).Stream("python", run)
	return &session{set: set, r: r, task: t, run: run, seed: stream.Uint64()}
}

// close ends the rollout of the run's URL, if it has one.
func (s *session) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offered != nil {
		s.offered.Close()
	}
}

// up answers the calls back of a workflow.
func (s *session) up(ctx context.Context, name string, raw json.RawMessage) (any, error) {
	if strings.HasPrefix(name, "reward.") {
		return builtin(ctx, name, raw)
	}
	if name == "judge.chat" {
		return s.judge(ctx, raw)
	}
	var a asking
	if err := json.Unmarshal(raw, &a); err != nil {
		return nil, err
	}
	if len(a.Params) > 0 {
		if err := json.Unmarshal(a.Params, &a.given); err != nil {
			return nil, fmt.Errorf("sampling parameters: %w", err)
		}
	}
	if a.Auxiliary != nil && name != "model.chat" && name != "model.logprobs" {
		return nil, fmt.Errorf("auxiliary models have chat() and logprobs() here; %s is for the model that is trained",
			name)
	}
	switch name {
	case "model.chat":
		if a.Auxiliary != nil {
			return s.chatAuxiliary(ctx, &a)
		}
		return s.chat(ctx, &a)
	case "model.generate":
		return s.generate(ctx, &a)
	case "model.logprobs":
		if a.Auxiliary != nil {
			return s.scoresOf(ctx, &a)
		}
		return s.scores(ctx, &a)
	case "model.convert":
		return s.convert(ctx, &a)
	case "model.count":
		_, tokens, err := s.render(&a, true)
		return len(tokens), err
	case "model.url":
		return s.open()
	case "model.recorded":
		return s.called(a.From), nil
	}
	return nil, fmt.Errorf("there is no call back %s", name)
}

// seedOf is the seed of a request. It depends on the prompt, the parameters and how often the same was asked before,
// not on the order in which requests that run at the same time arrive.
func (s *session) seedOf(a *asking, prompt []int32, i int) uint64 {
	h := fnv.New64a()
	for _, id := range prompt {
		h.Write(binary.LittleEndian.AppendUint32(nil, uint32(id)))
	}
	h.Write(a.Params)
	stream := rng.New(s.seed^h.Sum64()).Stream("call", a.Nth, i)
	return stream.Uint64()
}

// open gives the run a URL with OpenAI's interface.
func (s *session) open() (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offered == nil {
		if s.r.Rollouts == nil || s.r.URL == nil {
			return nil, errors.New("nothing serves URLs of rollouts here, which get_openai_client() needs; ask the " +
				"model with self.model.chat(messages)")
		}
		base, err := s.r.URL()
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("%s-%s-%d", strings.ReplaceAll(s.task.Batch, "/", "-"), s.task.ID, s.run)
		o, err := s.r.Rollouts.Open(workflow.Opening{Name: name, Row: s.task.Row, Sampler: s.r.Sampler,
			Eval: strings.HasPrefix(s.task.Batch, "eval/"), Version: s.r.Version, Params: s.r.Params,
			Context: s.r.Context, Seed: s.seed, Private: true})
		if err != nil {
			return nil, err
		}
		s.offered, s.url = o, base+"/rollouts/"+o.ID()+"/v1"
	}
	return map[string]string{"base_url": s.url, "api_key": "EMPTY", "model": s.r.Model.Name}, nil
}

// takeCalls records the samples of calls below the run's URL. A rollout that is over has forgotten its calls.
func (s *session) takeCalls() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.offered == nil {
		return
	}
	calls := s.offered.Calls()
	for _, c := range calls[min(s.taken, len(calls)):] {
		s.records = append(s.records, &record{ref: len(s.records), text: c.Text, heard: c.Heard, prompt: c.Prompt,
			sampled: c.Sampled, logprobs: c.Logprobs, stop: c.Stop, called: true})
	}
	s.taken = max(s.taken, len(calls))
}

// called are the calls below the run's URL without the first ones.
func (s *session) called(from int) []answer {
	s.takeCalls()
	list := []answer{}
	for _, r := range s.known() {
		if r.called && from <= 0 {
			list = append(list, r.answer())
		} else if r.called {
			from--
		}
	}
	return list
}

// said is the conversation so far, for a person.
func (s *session) said() []string {
	s.takeCalls()
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []string
	for _, r := range s.records {
		if r.mask == nil {
			list = append(list, r.text, r.heard)
		}
	}
	return list
}

// record is a sequence that is known: an answer that was sampled, or a conversation that was converted.
type record struct {
	ref      int
	text     string // of the prompt
	heard    string // the answer
	prompt   []int32
	sampled  []int32
	logprobs []float32 // of sampled
	mask     []bool    // of sampled, which of them are trained; nil: all
	stop     tinker.StopReason
	cut      bool // the prompt was too long: nothing was sampled
	capped   bool // the context ended it
	called   bool // below the run's URL
}

func (r *record) tokens() []int32 {
	return append(append(make([]int32, 0, len(r.prompt)+len(r.sampled)), r.prompt...), r.sampled...)
}

// keep remembers a record.
func (s *session) keep(r *record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.ref = len(s.records)
	s.records = append(s.records, r)
}

// known returns the records so far.
func (s *session) known() []*record {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*record(nil), s.records...)
}
