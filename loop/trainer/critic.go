package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/seed-d9ad8ee0/trinity/internal/disk"
	"github.com/seed-d9ad8ee0/trinity/rl/algorithm"
	"github.com/seed-d9ad8ee0/trinity/rl/experience"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// critic is a second model that tells the value before each token, trained beside the first over the same API. It is
// read from reserved tokens as algorithm.Critic describes.
type critic struct {
	algorithm.Critic
	rate   float64 // its learning rate over the first model's
	keep   priorFile
	client tinker.TrainingClient
	seq    int64 // of its next request
}

// CriticState is the critic's part of State.
type CriticState struct {
	ModelID   string `json:"model_id,omitempty"`
	NextSeqID int64  `json:"next_seq_id,omitempty"`
	Saving    int64  `json:"saving,omitempty"` // SeqID of a save that was begun outside a step
}

// openCritic connects to the critic's model, making it at the first start: the same base model and adapter as the first
// model's, under the next number of the session. saved says to continue from its last saved state instead.
func (t *Trainer) openCritic(ctx context.Context, saved bool) error {
	head, rate, err := t.Method.Critic(t.Vocab)
	if err != nil {
		return err
	}
	t.critic = &critic{Critic: head, rate: rate,
		keep: priorFile{t.FS, filepath.Join(t.JobDir, t.Name+"_critic_prior.json")}}
	if t.critic.Prior, err = t.critic.keep.read(len(head.Tokens)); err != nil {
		return err
	}
	if saved {
		if t.critic.client, err = t.fromSaved(ctx, Critic); err != nil {
			return fmt.Errorf("critic: %w", err)
		}
	} else {
		create := t.Create
		create.ModelSeqID++
		if t.critic.client, err = t.service.CreateModel(ctx, create); err != nil {
			return fmt.Errorf("critic: %w", err)
		}
	}
	info, err := t.critic.client.Info(ctx)
	if err != nil {
		return fmt.Errorf("critic: %w", err)
	}
	known := &t.state.Critic
	switch {
	case saved:
		known.NextSeqID = info.NextSeqID
	case known.ModelID == "":
		t.critic.seq = 1
		if err := t.critic.probe(ctx); err != nil {
			return err
		}
		known.NextSeqID = t.critic.seq
	case info.ModelID != known.ModelID || info.NextSeqID < sent(known.NextSeqID, known.Saving):
		return fmt.Errorf("the job trains critic %s up to request %d, but the service has %s at %d; remove the job "+
			"directory to start over",
			known.ModelID, sent(known.NextSeqID, known.Saving)-1, info.ModelID, info.NextSeqID-1)
	}
	known.ModelID = info.ModelID
	return nil
}

// probe asks for the targets of one position, so that a service that cannot give them is known at the start.
func (c *critic) probe(ctx context.Context) error {
	K := len(c.Tokens)
	f, err := c.client.Forward(ctx, tinker.ForwardRequest{SeqID: c.seq, LossFn: tinker.CrossEntropy,
		Data: []tinker.Datum{{
			ModelInput: tinker.Text([]int32{0}),
			LossFnInputs: map[string]tinker.Tensor{
				tinker.TargetTokens: {Shape: []int{1, K}, Int: c.Targets(1)},
				tinker.Weights:      {Shape: []int{1, K}, Float: make([]float32, K)},
			}}}})
	c.seq++
	if err != nil {
		return fmt.Errorf("critic: %w", err)
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return fmt.Errorf("the critic of algorithm ppo needs cross_entropy with %d targets a position, which the "+
			"service refuses: %w", K, err)
	}
	if lp := recorded(out, tinker.Logprobs); len(lp) != 1 || len(lp[0]) != K {
		return fmt.Errorf("the critic of algorithm ppo needs cross_entropy with targets of two dimensions; the "+
			"service did not answer for each of %d targets", K)
	}
	return nil
}

// foresight is a critic's values and logprobs of a batch, by experience.
type foresight struct {
	values   [][]float32 // before each response token, [R]
	logprobs [][]float32 // of the reserved tokens there, row-major [R,K]
}

// values asks for the values of a batch under the critic's present weights.
func (c *critic) values(ctx context.Context, batch []*experience.Experience) (foresight, error) {
	var v foresight
	K := len(c.Tokens)
	req, err := c.request(batch, func(i int) []float32 { return make([]float32, batch[i].ResponseLength()*K) })
	if err != nil {
		return v, err
	}
	f, used, err := tinker.Submit(ctx, c.client, req, false)
	c.seq += used
	if err != nil {
		return v, fmt.Errorf("critic: %w", err)
	}
	out, err := f.Wait(ctx)
	if err != nil {
		return v, fmt.Errorf("critic: %w", err)
	}
	rows, err := joined(batch, recorded(out, tinker.Logprobs), K)
	if err != nil {
		return v, fmt.Errorf("critic: %w", err)
	}
	for i, e := range batch {
		for _, at := range e.Starts { // nothing is predicted there: the value stays what it was
			copy(rows[i][(at-1)*K:at*K], rows[i][(at-2)*K:])
		}
		v.logprobs = append(v.logprobs, rows[i][(e.PromptLength-1)*K:])
	}
	if err := c.learnPrior(batch, v.logprobs); err != nil {
		return v, err
	}
	for _, lp := range v.logprobs {
		v.values = append(v.values, c.Values(lp))
	}
	return v, nil
}

// learnPrior takes the prior from the first batch, before the critic is trained at all, and keeps it with the job.
func (c *critic) learnPrior(batch []*experience.Experience, logprobs [][]float32) error {
	if c.Prior != nil {
		return nil
	}
	masks := make([][]bool, len(batch))
	for i, e := range batch {
		masks[i] = e.ActionMask
	}
	prior := c.PriorOf(logprobs, masks)
	if prior == nil {
		return nil // nothing to train, and nothing to read a prior from
	}
	c.Prior = prior
	return c.keep.write(prior)
}

// priorFile is where a job keeps its critic's prior, written once.
type priorFile struct {
	fs   disk.FS
	path string
}

func (f priorFile) read(K int) (prior []float64, err error) {
	err = disk.ReadJSON(f.path, &prior)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err == nil && len(prior) != K {
		err = fmt.Errorf("it has %d numbers for %d values", len(prior), K)
	}
	if err != nil {
		return nil, fmt.Errorf("trainer: critic's prior %s: %w; critic_bins must stay as the job was begun", f.path,
			err)
	}
	return prior, nil
}

func (f priorFile) write(prior []float64) error {
	data, err := json.Marshal(prior)
	if err != nil {
		return err
	}
	return disk.WriteFile(f.fs, f.path, append(data, '\n'))
}

// learn trains the critic epochs times on the returns of a batch; v is what values gave for it. wait returns the means
// of the metrics.
func (c *critic) learn(ctx context.Context, adam tinker.AdamParams, batch []*experience.Experience, v foresight,
	epochs int) (
	wait func(context.Context) (map[string]float64, error), err error) {
	waits := make([]func(context.Context) (map[string]float64, error), max(1, epochs))
	for i := range waits {
		if i > 0 {
			if v, err = c.values(ctx, batch); err != nil {
				return nil, err
			}
		}
		if waits[i], err = c.train(ctx, adam, batch, v.logprobs); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) (map[string]float64, error) {
		all := make([]map[string]float64, len(waits))
		for i, wait := range waits {
			if all[i], err = wait(ctx); err != nil {
				return nil, err
			}
		}
		return means(all), nil
	}, nil
}

// train sends the gradient of the batch's returns and an optimizer step right after it, with the first model's
// parameters but for the rate. logprobs are what values gave under the same weights. wait returns when they are done.
func (c *critic) train(ctx context.Context, adam tinker.AdamParams, batch []*experience.Experience,
	logprobs [][]float32) (
	wait func(context.Context) (map[string]float64, error), err error) {
	adam.LearningRate *= c.rate
	trained := 0
	for _, e := range batch {
		trained += e.TrainableTokens()
	}
	loss := 0.0
	req, err := c.request(batch, func(i int) []float32 {
		w, part := c.Weights(batch[i].Returns, logprobs[i], batch[i].ActionMask, max(1, trained))
		loss += part
		return w
	})
	if err != nil {
		return nil, err
	}
	f, used, err := tinker.Submit(ctx, c.client, req, true)
	c.seq += used
	if err != nil {
		return nil, fmt.Errorf("critic: %w", err)
	}
	o, err := sendStep(ctx, c.client, &c.seq, adam)
	if err != nil {
		return nil, fmt.Errorf("critic: %w", err)
	}
	return func(ctx context.Context) (map[string]float64, error) {
		if _, err := f.Wait(ctx); err != nil {
			return nil, fmt.Errorf("critic: %w", err)
		}
		if _, err := o.Wait(ctx); err != nil {
			return nil, fmt.Errorf("critic: %w", err)
		}
		return map[string]float64{"critic/cross_entropy": loss, "critic/lr": adam.LearningRate}, nil
	}, nil
}

// request lays a batch out with the K reserved tokens as targets of every position; weights gives those of the i-th
// response, [R,K].
func (c *critic) request(batch []*experience.Experience, weights func(i int) []float32) (tinker.ForwardRequest, error) {
	K := len(c.Tokens)
	req := tinker.ForwardRequest{SeqID: c.seq, LossFn: tinker.CrossEntropy}
	var err error
	if req.Data, err = data(batch); err != nil {
		return req, err
	}
	rows := make([][]float32, len(batch))
	for i, e := range batch {
		rows[i] = append(make([]float32, (e.PromptLength-1)*K, (len(e.Tokens)-1)*K), weights(i)...)
	}
	for i, w := range apart(batch, rows, K) {
		n := len(w) / K
		req.Data[i].LossFnInputs = map[string]tinker.Tensor{
			tinker.TargetTokens: {Shape: []int{n, K}, Int: c.Targets(n)},
			tinker.Weights:      {Shape: []int{n, K}, Float: w},
		}
	}
	return req, nil
}
