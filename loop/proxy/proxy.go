// Package proxy is serve mode: an HTTP server that speaks OpenAI's interface (package endpoint) over the run's sampling
// client and records every answer as experiences. So any program that uses this API can be the agent that is trained:
// it asks, rewards the answers afterwards by their ids (POST /feedback), and commits the rewarded answers as a step
// (POST /commit).
//
// The endpoints are Trinity-RFT's proxy's.
package proxy

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/seed-d9ad8ee0/trinity/loop/buffer"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// Options set a Server up.
type Options struct {
	Name    string // of the model, as clients see it
	Text    *endpoint.Text
	Params  tinker.SamplingParams // defaults of requests; the temperature always counts, as training needs it
	Context int                   // the most tokens of prompt and answer together; 0: no limit here
	Now     func() time.Time
	History *buffer.History
	// Commit hands on the experiences of a step and returns its metrics. It is called for one step at a time, in order,
	// and may come again with the same experiences after a restart.
	Commit func(ctx context.Context, step int, list []*experience.Experience) (map[string]float64, error)
	Log    func(string) // of requests that failed; called from several goroutines
}

// Server is the proxy. It answers once Use has given it a sampler.
type Server struct {
	Options
	asked   atomic.Int64
	recall  *recall
	handler *handler

	mu      sync.RWMutex
	sampler tinker.SamplingClient
	version int

	committing sync.Mutex
	step       int // committed
}

// New makes a Server.
func New(ctx context.Context, o Options) (*Server, error) {
	last, err := o.History.Last(ctx)
	if err != nil {
		return nil, err
	}
	s := &Server{Options: o, step: last, recall: newRecall(), handler: newHandler(o.Name, o.Text, o.Now, o.Log)}
	s.handler.calls.begin = s.begin
	recent, err := o.History.Recent(ctx, recallBytes)
	for _, e := range recent {
		if e.TrainableTokens() == e.ResponseLength() { // others are rollouts of several calls
			s.recall.add(sequenceOf(e))
		}
	}
	return s, err
}

// Use makes requests from now on sample from weights of this version.
func (s *Server) Use(version int, sampler tinker.SamplingClient) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.sampler = version, sampler
}

// Replay hands the steps from first on to Commit again.
func (s *Server) Replay(ctx context.Context, first int) error {
	for step := max(1, first); step <= s.step; step++ {
		list, err := s.History.Step(ctx, step)
		if err != nil {
			return err
		}
		if _, err := s.Options.Commit(ctx, step, list); err != nil {
			return err
		}
	}
	return nil
}

// Handler returns the endpoints.
func (s *Server) Handler() http.Handler {
	m := http.NewServeMux()
	api := endpoint.New(newest{s}, s.Now)
	for _, r := range api.Routes() {
		m.HandleFunc("POST "+r.Path, s.handler.inSession(belowV1(r), s.handler.post(r.Answer)))
	}
	m.HandleFunc("GET /v1/models", s.handler.models)
	m.HandleFunc("GET /health", health)
	s.handler.routes(m)
	m.HandleFunc("GET /metrics", s.metrics)
	m.HandleFunc("POST /feedback", s.feedback)
	m.HandleFunc("POST /commit", s.commit)
	return s.handler.bodies.Handler(m)
}

func (s *Server) feedback(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Reward *float64 `json:"reward"`
		IDs    []string `json:"msg_ids"`
		Task   string   `json:"task_id"`
		Run    int      `json:"run_id"`
	}
	if err := s.handler.read(r, &in); err != nil {
		s.handler.fail(w, err)
		return
	}
	if in.Reward == nil || len(in.IDs) == 0 {
		s.handler.fail(w, bad("reward and msg_ids are needed: the ids are ids of answers"))
		return
	}
	if !experience.Finite(*in.Reward) {
		s.handler.fail(w, bad("reward is %v; it must be a finite number", *in.Reward))
		return
	}
	one, err := s.handler.calls.ofAnswers(in.IDs)
	if err == nil && one != nil {
		err = s.handler.reward(r.Context(), one, grade{reward: *in.Reward, task: in.Task, run: in.Run})
	}
	if err != nil || one != nil {
		s.handler.answerReward(w, err)
		return
	}
	in.Task = cmp.Or(in.Task, in.IDs[0])
	n, err := s.History.Feedback(r.Context(), in.IDs, in.Task, in.Run, *in.Reward)
	var wrong *buffer.FeedbackError
	if errors.As(err, &wrong) {
		err = refused(wrong)
	}
	if err != nil {
		s.handler.fail(w, err)
		return
	}
	reply(w, http.StatusOK, map[string]any{"status": "success", "experiences": n})
}

// refused is the error for ids that cannot be given a reward: 404 if one of them is unknown, else 409.
func refused(e *buffer.FeedbackError) error {
	if len(e.Unknown) > 0 {
		return problem(http.StatusNotFound, "unknown_msg_id", "msg_ids: %v", e)
	}
	return problem(http.StatusConflict, "used_msg_id", "msg_ids: %v", e)
}

func (s *Server) commit(w http.ResponseWriter, r *http.Request) {
	ctx := context.WithoutCancel(r.Context()) // a step is made whole or not at all
	s.committing.Lock()
	defer s.committing.Unlock()
	n, err := s.History.Commit(ctx, s.step+1)
	if err == nil && n > 0 {
		var list []*experience.Experience
		if list, err = s.History.Step(ctx, s.step+1); err == nil {
			if _, err = s.Options.Commit(ctx, s.step+1, list); err == nil {
				s.step++
			}
		}
	}
	if err != nil {
		s.handler.fail(w, err)
		return
	}
	reply(w, http.StatusOK, map[string]any{"status": "success", "experiences": n, "explore_step_num": s.step})
}
