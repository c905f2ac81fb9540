package carried

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/internal/web"
	"github.com/seed-d9ad8ee0/trinity/rl/dataset"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/workflow"
	"github.com/seed-d9ad8ee0/trinity/tinker"
	"github.com/seed-d9ad8ee0/trinity/tinker/endpoint"
)

// Options say what is carried out, and for whom. Note, Failed and Random may be nil; all else is needed.
type Options struct {
	ID       string            // of the environment, for messages
	Carrying workflow.Carrying // carries an episode out
	Tasks    *dataset.Source   // a row each
	Text     *endpoint.Text    // tokenizer and chat template of the model
	Model    string            // its name; policy is a name of it too
	Params   tinker.SamplingParams
	Now      func() time.Time
	Random   []string          // what the random player says
	Note     func(text string) // tells the user what is found out
	Failed   func(err error)   // is told of each failed episode
}

// Source makes environments of one id. Any number of goroutines may use it. Close it.
type Source struct {
	o      Options
	bodies *web.Bodies
	ctx    context.Context
	end    context.CancelCauseFunc

	mu       sync.Mutex
	url      string // of the server; "": it does not listen yet
	server   *http.Server
	served   chan struct{}
	episodes map[string]*episode // that are carried out, by id
	begun    int
	wait     sync.WaitGroup // of episodes

	once sync.Once
	spec env.Spec
	err  error
}

// errClosed ends what is in progress.
var errClosed = errors.New("carried: the environment is closed")

// New returns a Source. Calls end with ctx.
func New(ctx context.Context, o Options) *Source {
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	if o.Random == nil {
		o.Random = []string{"yes", "no"}
	}
	s := &Source{o: o, bodies: web.NewBodies(web.BodyOptions{Weigh: endpoint.WeighBody}),
		episodes: map[string]*episode{}}
	s.ctx, s.end = context.WithCancelCause(ctx)
	return s
}

// Close ends the episodes in progress and waits for them.
func (s *Source) Close() error {
	s.end(errClosed)
	s.mu.Lock()
	server := s.server
	s.mu.Unlock()
	s.wait.Wait()
	if server == nil {
		return nil
	}
	err := server.Close()
	<-s.served
	return err
}

// Spec begins two episodes of the first task, to see that the environment works and whether a task decides how an
// episode begins, and returns its line of the registry. See env.Finder.
func (s *Source) Spec() (env.Spec, error) {
	s.once.Do(func() { s.spec, s.err = s.describe() })
	return s.spec, s.err
}

func (s *Source) describe() (env.Spec, error) {
	n := s.o.Tasks.Len()
	if n == 0 {
		return env.Spec{}, fmt.Errorf("env: %s has no tasks", s.o.ID)
	}
	var first [2]string
	for i := range first {
		e := &Env{source: s, task: 0}
		o, err := e.Reset(0)
		if err != nil {
			return env.Spec{}, err
		}
		e.leave()
		first[i] = o.Text
	}
	spec := env.Spec{ID: s.o.ID, Params: env.Params{"task": env.Drawn}, Tasks: n, Unsteady: first[0] != first[1],
		New: func(p env.Params) (env.Env, error) {
			if t := p["task"]; t != env.Drawn && (t < 0 || t >= n) {
				return nil, fmt.Errorf("task is %d; it must be 0 to %d", t, n-1)
			}
			return &Env{source: s, task: p["task"]}, nil
		}}
	if spec.Unsteady {
		s.o.Note(fmt.Sprintf("%s: two episodes of one task begin in different ways; the repetitions of a task (a "+
			"group of grpo) are begun each by itself. Let the environment draw everything from its task to compare "+
			"like with like", s.o.ID))
	}
	return spec, nil
}

// begin starts to carry an episode out.
func (s *Source) begin(index int) (*episode, error) {
	row, err := s.o.Tasks.Row(index)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := context.Cause(s.ctx); err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	e := newEpisode(s.ctx, fmt.Sprintf("%d-%d", s.begun, index), s.o.Carrying.Limits())
	work := workflow.Work{ID: e.id, URL: s.url + "/rollouts/" + e.id + "/v1", Model: s.o.Model, Params: s.o.Params,
		Task: workflow.Task{Batch: "gem", ID: e.id, Row: row}, Seed: uint64(index)}
	s.begun++
	s.episodes[e.id] = e
	s.wait.Go(func() {
		parts, err := s.o.Carrying.Carry(e.ctx, work)
		s.mu.Lock()
		delete(s.episodes, e.id)
		s.mu.Unlock()
		e.finish(parts, err)
	})
	return e, nil
}

// listen serves the rollout URLs, once something asks for one. The caller holds mu.
func (s *Source) listen() error {
	if s.url != "" {
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("env: serving rollouts: %w", err)
	}
	s.url, s.served = "http://"+l.Addr().String(), make(chan struct{})
	s.server = web.Server(web.Guard{}.Handler(s.handler()), web.Options{})
	go func() {
		defer close(s.served)
		s.server.Serve(l) // until Close
	}()
	return nil
}
