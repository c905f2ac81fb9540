package gem

import (
	"context"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"

	"github.com/seed-d9ad8ee0/trinity/hf/chat"
	"github.com/seed-d9ad8ee0/trinity/internal/rng"
	"github.com/seed-d9ad8ee0/trinity/monitor"
	"github.com/seed-d9ad8ee0/trinity/rl/env"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// heldOut is the root of the seeds that episodes of an evaluation have: the same for every run, and no run trains on
// them.
const heldOut = 0x68656c646f7574

// episodesAtOnce is how many episodes of an evaluation are played side by side.
const episodesAtOnce = 64

// Evaluation plays episodes of one environment on held-out seeds.
type Evaluation struct {
	EnvID    string
	Episodes int
	Make     func() (env.Env, error)
	Policy   *Policy // nil plays at random
	Seed     uint64  // of a random policy's draws
}

// Result is the result of an evaluation. The errors are standard errors of the means.
type Result struct {
	EnvID     string  `json:"env_id"`
	Episodes  int     `json:"episodes"` // played to the end
	Failed    int     `json:"failed"`   // lost to a failed sample
	Return    float64 `json:"return"`
	ReturnSE  float64 `json:"return_se"`
	Turns     float64 `json:"turns"`
	TurnsSE   float64 `json:"turns_se"`
	Success   float64 `json:"success"` // the share of episodes with a return of 1 or more
	SuccessSE float64 `json:"success_se"`
}

// outcome is one episode of an evaluation.
type outcome struct {
	sum   float64
	turns int
	err   error
}

// Run plays the episodes. It fails when ctx ends, when the service is closed, and when no episode came to its end.
func (x *Evaluation) Run(ctx context.Context) (Result, error) {
	all := make([]outcome, x.Episodes)
	g, gctx := errgroup.WithContext(ctx)
	g.SetLimit(episodesAtOnce)
	for i := range all {
		g.Go(func() error {
			all[i] = x.episode(gctx, i)
			return context.Cause(gctx)
		})
	}
	if err := g.Wait(); err != nil {
		return Result{}, err
	}
	r := Result{EnvID: x.EnvID}
	var sums, turns, wins []float64
	var err error
	for _, o := range all {
		if o.err != nil {
			r.Failed++
			err = o.err
			continue
		}
		win := 0.0
		if o.sum >= 1-1e-9 {
			win = 1
		}
		sums, turns, wins = append(sums, o.sum), append(turns, float64(o.turns)), append(wins, win)
	}
	if r.Episodes = len(sums); r.Episodes == 0 {
		return r, fmt.Errorf("gem: all %d episodes of %s failed: %w", r.Failed, x.EnvID, err)
	}
	r.Return, r.ReturnSE = meanError(sums)
	r.Turns, r.TurnsSE = meanError(turns)
	r.Success, r.SuccessSE = meanError(wins)
	return r, nil
}

// meanError is the mean and its standard error.
func meanError(values []float64) (mean, err float64) {
	mean, std := moments(values)
	return mean, std / math.Sqrt(float64(len(values)))
}

func (x *Evaluation) episode(ctx context.Context, number int) (o outcome) {
	e, err := x.Make()
	if err != nil {
		return outcome{err: err}
	}
	draw := rng.New(heldOut).Stream("environment", number)
	obs, err := e.Reset(draw.Uint64())
	if err != nil {
		return outcome{err: err}
	}
	var seq chat.Sequence
	random := rng.New(x.Seed).Stream("random player", number)
	for {
		var action string
		if x.Policy == nil {
			action = e.SampleAction(&random)
		} else {
			turn, _, err := x.Policy.Answer(ctx, &seq, obs, "evaluation", number, o.turns)
			if err != nil {
				return outcome{err: err}
			}
			action = x.Policy.Action(turn.Response)
		}
		next, err := e.Step(action)
		if err != nil {
			return outcome{err: err}
		}
		o.sum += next.Reward
		o.turns++
		if next.Done() {
			return o
		}
		obs = next.Observation
	}
}

// evaluate evaluates the weights behind a sampler and adds what it finds to m.
func (t *Trainer) evaluate(ctx context.Context, s tinker.SamplingClient, m monitor.Metrics) error {
	t.busy("evaluating: %d episodes", t.Config.EvalEpisodes)
	p := t.policy
	p.Sampler = s
	x := Evaluation{EnvID: t.Config.EnvID, Episodes: t.Config.EvalEpisodes, Make: t.Make, Policy: &p}
	begin := t.Now()
	r, err := x.Run(ctx)
	if err != nil {
		return err
	}
	m["time/eval"] = t.Now().Sub(begin).Seconds()
	prefix := "eval/" + r.EnvID + "/"
	m[prefix+"return"], m[prefix+"return_se"] = r.Return, r.ReturnSE
	m[prefix+"num_turns"], m[prefix+"success"] = r.Turns, r.Success
	m[prefix+"num_failed_episodes"] = float64(r.Failed)
	t.say("held out: return %.3f ± %.3f, success %.3f, %.2f turns (%d episodes)",
		r.Return, r.ReturnSE, r.Success, r.Turns, r.Episodes)
	return nil
}

// evaluateResult evaluates the weights of a run that is done, if that was not done. Its line in metrics.jsonl has the
// number of updates as step.
func (t *Trainer) evaluateResult(ctx context.Context) error {
	c := &t.Config
	if !c.Metrics || c.EvalEvery == 0 || t.done == 0 || t.done != c.MaxSteps || t.monitor.Last() >= t.done {
		return nil
	}
	path, err := LastSampler(t.Dir)
	if err != nil {
		return err
	}
	s, err := t.Service.SamplingClient(ctx, tinker.SamplingClientRequest{ModelPath: path})
	if err != nil {
		return fmt.Errorf("gem: evaluation at the end: %w", err)
	}
	m := monitor.Metrics{}
	if err := t.evaluate(ctx, s, m); err != nil {
		return fmt.Errorf("gem: evaluation at the end: %w", err)
	}
	t.monitor.Add(t.done, role, m)
	_, err = t.monitor.Commit(t.done)
	return err
}
