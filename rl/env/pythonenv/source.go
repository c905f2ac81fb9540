// Package pythonenv plays environments that are written in Python: GEM's and Gymnasium's, and classes in the user's
// files. They run in the processes of a host (rl/python), and are env.Env here, so that wrappers and loops do not
// know the difference.
//
// An environment lives in one process. When the process is lost, its episode is played again in another
// (rl/env/replay). A fork is a copy by Python's deepcopy if the copy continues like the original, else such a replay.
package pythonenv

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/rl/python"
)

// Module is the Python module with the calls; it belongs into python.Options.Imports.
const Module = "trinity._env"

// Options say how environments are played. The zero value of a field is its default.
type Options struct {
	Timeout time.Duration            // for one reset or step while it runs, ten times that in trials; default 2 minutes
	Stop    <-chan struct{}          // ends trials when it is closed; nil: Close does
	Find    func(path string) string // locates a relative path; default: as given
	Note    func(text string)        // tells the user findings about an environment; default: nobody
	Failed  func(err error)          // is told of the first failed episodes; default: nobody
}

// Source makes environments on a host. Any number of goroutines may use it. Close it before the host.
type Source struct {
	host *python.Host
	opts Options
	user context.Context // trials end with it too
	ctx  context.Context // ends with Close
	end  context.CancelFunc
	wait sync.WaitGroup // releases

	mu     sync.Mutex
	closed bool
	kinds  map[string]*kind // by id

	failures env.Failures
}

// New makes a Source on a host whose Imports have Module. ctx and Options.Stop end the trials of environments;
// episodes end with Close.
func New(ctx context.Context, h *python.Host, o Options) *Source {
	if o.Timeout <= 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.Find == nil {
		o.Find = func(path string) string { return path }
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	s := &Source{host: h, opts: o, user: ctx, kinds: map[string]*kind{}}
	s.failures.Tell = o.Failed
	s.ctx, s.end = context.WithCancel(context.WithoutCancel(ctx))
	return s
}

// Close ends all episodes. It does not close the host.
func (s *Source) Close() {
	s.mu.Lock()
	s.closed = true
	kinds := s.kinds
	s.mu.Unlock()
	s.end()
	s.wait.Wait()
	for _, k := range kinds {
		k.drop()
	}
}

// background runs f on a goroutine that Close waits for.
func (s *Source) background(f func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.wait.Go(f)
	}
}

func (s *Source) noteFailure(err error) {
	if s.ctx.Err() == nil {
		s.failures.Add(err)
	}
}

// kind is the environment of an id: its properties, and its instances that wait for another episode.
type kind struct {
	source *Source
	id     string
	address
	spec   env.Spec
	copies bool // deepcopy works

	once sync.Once
	err  error

	mu   sync.Mutex
	idle map[string][]*remote // by the JSON of the kwargs
}

// Spec makes the environment of an id once, tries it, and returns its line of the registry. See Registry.With.
func (s *Source) Spec(id string) (env.Spec, error) {
	id = strings.TrimSpace(id)
	s.mu.Lock()
	k := s.kinds[id]
	if k == nil {
		k = &kind{source: s, id: id, idle: map[string][]*remote{}}
		s.kinds[id] = k
	}
	s.mu.Unlock()
	k.once.Do(func() { k.err = k.describe() })
	return k.spec, k.err
}

// described is the answer of env.describe.
type described struct {
	Params       env.Params
	First, Again said
	Copies       bool
	Why          string
}

// errStopped is the cause of a trial that Options.Stop ended.
var errStopped = errors.New("it was stopped")

// patience is how many timeouts each step of a trial may take: a constructor may download data.
const patience = 10

// trial is the context of a trial.
func (s *Source) trial() (context.Context, context.CancelFunc) {
	limit := patience * s.opts.Timeout
	ctx, cancel := context.WithCancelCause(python.WithLimit(s.ctx, limit, timedOut(limit)))
	go func() {
		select {
		case <-s.user.Done():
			cancel(context.Cause(s.user))
		case <-s.opts.Stop:
			cancel(errStopped)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

func (k *kind) describe() (err error) {
	if k.address, err = parse(k.id, k.source.opts.Find); err != nil {
		return err
	}
	var d described
	ctx, cancel := k.source.trial()
	defer cancel()
	if err := k.source.host.Call(ctx, "env.describe", k.args(k.kwargs), &d, nil); err != nil {
		return failed(k.id, "cannot be made", err)
	}
	k.copies = d.Copies
	if d.First.heard() != d.Again.heard() {
		if err := k.unsteady(d); err != nil {
			return err
		}
	}
	if _, turns := d.Params["max_turns"]; !turns {
		if d.Params == nil {
			d.Params = env.Params{}
		}
		d.Params["max_turns"] = env.Drawn // not known
	}
	k.spec = env.Spec{ID: k.id, Params: d.Params, Needs: "Python", New: k.make}
	return nil
}

// unsteady says that a seed does not decide how an episode begins.
func (k *kind) unsteady(d described) error {
	text := fmt.Sprintf("env: two resets of %s with one seed do not begin alike: %.200q and %.200q. Draw everything "+
		"from reset's seed", k.id, d.First.Text+d.First.Suffix, d.Again.Text+d.Again.Suffix)
	if !k.copies {
		return fmt.Errorf("%s; it cannot be copied either (%s), so the repetitions of a task would not have one "+
			"beginning", text, d.Why)
	}
	k.source.opts.Note(text + ". The repetitions of a task begin alike, as they are copies; a task that is played " +
		"again does not, and neither does what is played when a process was lost")
	return nil
}

// args are the arguments of env.make and env.describe.
func (k *kind) args(kwargs map[string]any) map[string]any {
	return map[string]any{"kind": k.from, "name": k.name, "kwargs": kwargs, "parallel": k.parallel}
}

// make implements Spec.New: parameters that are not the environment's own go to its constructor.
func (k *kind) make(p env.Params) (env.Env, error) {
	kwargs := map[string]any{}
	maps.Copy(kwargs, k.kwargs)
	for name, v := range p {
		if v == k.spec.Params[name] {
			continue
		}
		if kwargs[name] = v; v == env.Drawn {
			kwargs[name] = nil
		}
	}
	key, err := json.Marshal(kwargs)
	if err != nil {
		return nil, fmt.Errorf("env: %s: %w", k.id, err)
	}
	return &Env{kind: k, kwargs: kwargs, key: string(key)}, nil
}
