package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/monitor/plot"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

const (
	base     = "tiny"
	perStep  = 4 // groups
	perGroup = 8 // samples
	longest  = 50
	rate     = 5e-4
	warmup   = 5
)

// learner is one run: a loop that starts groups, waits for the oldest and trains on them, while others are sampled.
type learner struct {
	svc    tinker.Service
	ex     *example
	arm    arm
	model  tinker.TrainingClient
	draw   *rand.Rand
	result *result

	sampler tinker.SamplingClient
	steps   int
	saved   map[string]int // the step of each checkpoint
	path    string         // of the newest
}

// group is a problem with its graded answers.
type group struct {
	problem problem
	path    string // of the weights when it was started
	answers []tinker.SampledSequence
	right   []float64
	err     error
}

func newLearner(ctx context.Context, svc tinker.Service, ex *example, a arm, seed uint64) (*learner, error) {
	lora := int64(seed)
	m, err := svc.CreateModel(ctx, tinker.CreateModelRequest{BaseModel: base, LoRA: tinker.LoRA{Rank: 32, Seed: &lora,
		TrainAttn: true, TrainMLP: true, TrainUnembed: true}})
	return &learner{svc: svc, ex: ex, arm: a, model: m, draw: rand.New(rand.NewPCG(seed, 0)), result: &result{},
		saved: map[string]int{}}, err
}

// publish saves the weights and gives them to the sampler.
func (l *learner) publish(ctx context.Context) error {
	f, err := l.model.SaveWeightsForSampler(ctx, tinker.SaveRequest{Name: fmt.Sprint("step-", l.steps)})
	if err != nil {
		return err
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return err
	}
	l.path, l.saved[out.Path] = out.Path, l.steps
	if m, ok := l.sampler.(tinker.Mover); ok {
		return m.Move(ctx, out.Path)
	}
	l.sampler, err = l.svc.SamplingClient(ctx, tinker.SamplingClientRequest{ModelPath: out.Path,
		Inflight: l.arm.inflight})
	return err
}

func (l *learner) learn(ctx context.Context, steps int) (err error) {
	if err = l.publish(ctx); err == nil {
		l.result.before, err = l.heldOut(ctx)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // the groups that are left
	ended, started := make(chan group, perStep*(l.arm.ahead+1)), 0
	var done []group
	for l.steps < steps {
		for ; started < perStep*(l.arm.ahead+1); started++ {
			g := group{problem: l.ex.train[l.draw.IntN(len(l.ex.train))], path: l.path}
			c, seed := l.sampler, l.draw.Uint64()
			go func() { ended <- l.sample(ctx, c, g, perGroup, seed) }()
		}
		for len(done) < perStep || len(ended) > 0 {
			g := <-ended
			if g.err != nil {
				return g.err
			}
			done = append(done, g)
		}
		slices.SortStableFunc(done, func(a, b group) int { return cmp.Compare(l.saved[a.path], l.saved[b.path]) })
		if err := l.step(ctx, done[:perStep]); err != nil {
			return err
		}
		done, started = done[perStep:], started-perStep
		if err := l.publish(ctx); err != nil {
			return err
		}
	}
	cancel()
	l.result.after, err = l.heldOut(context.WithoutCancel(ctx))
	return err
}

// sample draws and grades a group.
func (l *learner) sample(ctx context.Context, c tinker.SamplingClient, g group, n int, seed uint64) group {
	p := tinker.DefaultSampling()
	p.MaxTokens, p.Seed = longest, &seed
	var out tinker.SampleResponse
	out, g.err = tinker.Sample(ctx, c, tinker.SampleRequest{Prompt: tinker.Text(g.problem.prompt), NumSamples: n,
		Params: p})
	g.answers = out.Sequences
	for _, q := range g.answers {
		right, err := l.ex.right(g.problem, q.Tokens)
		g.right, g.err = append(g.right, right), cmp.Or(g.err, err)
	}
	return g
}

func (l *learner) step(ctx context.Context, groups []group) error {
	req := tinker.ForwardRequest{LossFn: tinker.StableReinforce}
	sum := 0.0
	for _, g := range groups {
		advantages, mean := make([]float64, len(g.right)), 0.0
		for _, r := range g.right {
			mean += r / float64(len(g.right))
		}
		for i, r := range g.right {
			advantages[i] = r - mean
		}
		if sum += mean; l.arm.shuffled {
			l.draw.Shuffle(perGroup, func(i, j int) { advantages[i], advantages[j] = advantages[j], advantages[i] })
		}
		for i, q := range g.answers {
			l.count(g, q)
			if advantages[i] != 0 {
				req.Data = append(req.Data, datum(g.problem.prompt, q, float32(advantages[i])))
			}
		}
	}
	l.steps++
	l.result.curve = append(l.result.curve, plot.Point{Step: l.steps, Value: sum / float64(len(groups))})
	if len(req.Data) == 0 {
		return nil
	}
	adam := tinker.DefaultAdam()
	adam.LearningRate, adam.Beta2, adam.Eps = rate*min(1, float64(l.steps)/warmup), 0.999, 1e-8
	adam.GradClipNorm = 1
	f, err := l.model.ForwardBackward(ctx, req)
	if err == nil {
		_, err = f.Wait(ctx)
	}
	if err != nil {
		return err
	}
	o, err := l.model.OptimStep(ctx, tinker.OptimStepRequest{Adam: adam})
	if err == nil {
		_, err = o.Wait(ctx)
	}
	return err
}

// datum is an answer for stable_reinforce.
func datum(prompt []int32, q tinker.SampledSequence, advantage float32) tinker.Datum {
	all, before := slices.Concat(prompt, q.Tokens), make([]float32, len(prompt)-1)
	advantages, mask := slices.Repeat([]float32{advantage}, len(q.Tokens)), slices.Repeat([]float32{1}, len(q.Tokens))
	return tinker.Datum{ModelInput: tinker.Text(all[:len(all)-1]), LossFnInputs: map[string]tinker.Tensor{
		tinker.TargetTokens: tinker.TokenInts(all[1:]),
		tinker.Logprobs:     tinker.Floats(slices.Concat(before, q.Logprobs)),
		tinker.Advantages:   tinker.Floats(slices.Concat(before, advantages)),
		tinker.SampledMask:  tinker.Floats(slices.Concat(before, mask))}}
}

// count counts the steps between drawing and training on an answer's tokens.
func (l *learner) count(g group, q tinker.SampledSequence) {
	list := q.Versions
	if len(list) == 0 {
		list = []tinker.Version{{Path: g.path}}
	}
	r := l.result
	r.answers++
	if len(list) > 1 {
		r.moved++
	}
	for i, v := range list {
		end := len(q.Tokens)
		if i+1 < len(list) {
			end = list[i+1].From
		}
		age := l.steps - l.saved[v.Path]
		r.tokens, r.age, r.oldest = r.tokens+end-v.From, r.age+age*(end-v.From), max(r.oldest, age)
	}
}

// heldOut is the accuracy on the held-out problems, sampled at temperature 1.
func (l *learner) heldOut(ctx context.Context) (mean float64, err error) {
	c, err := l.svc.SamplingClient(ctx, tinker.SamplingClientRequest{ModelPath: l.path})
	if err != nil {
		return 0, err
	}
	defer c.(io.Closer).Close()
	ended := make(chan group)
	for i, p := range l.ex.test {
		go func() { ended <- l.sample(ctx, c, group{problem: p}, 2, uint64(i)) }()
	}
	for range l.ex.test {
		g := <-ended
		err = cmp.Or(err, g.err)
		for _, r := range g.right {
			mean += r / float64(2*len(l.ex.test))
		}
	}
	return mean, err
}
