package diagnosis

import (
	"context"
	"os"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// measure loads the model into an engine as a run does, samples and trains for some seconds, and prints the rates.
func (d *Diagnosis) measure(ctx context.Context) error {
	tmp, err := os.MkdirTemp("", "trinity-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	models := map[string]engine.Model{d.Model: {Dir: d.Dir}}
	o := engine.Options{Dir: tmp, Models: models, Threads: d.Threads, BaseDtype: d.Base}
	o.Fit(machine.Memory())
	e, err := engine.Open(o)
	if err != nil {
		return err
	}
	defer e.Close()
	begin := time.Now()
	if err := d.load(ctx, e); err != nil {
		return err
	}
	d.line("load", "%v", time.Since(begin).Round(time.Millisecond))
	r, err := budget.Measure(ctx, e, budget.Work{Base: d.Model, Vocab: d.conf.Vocab, Samples: d.Samples,
		Length: d.Length, LoRA: tinker.LoRA{Rank: d.Rank, Alpha: float64(d.Rank),
			TrainAttn: true, TrainMLP: true, TrainUnembed: true}})
	if err != nil {
		return err
	}
	d.line("speed", "%s tokens/s alone, %s tokens/s with %d samples together, %s tokens/s of training, on %d threads",
		rate(r.Alone), rate(r.Sampled), d.Samples, rate(r.Trained), d.threads())
	if busy := r.Busy(); busy != "" {
		d.line("busy", "%s", busy)
	}
	return nil
}

// load computes a token, for which the engine reads the weights.
func (d *Diagnosis) load(ctx context.Context, e *engine.Engine) error {
	c, err := e.SamplingClient(ctx, tinker.SamplingClientRequest{BaseModel: d.Model})
	if err != nil {
		return err
	}
	p := tinker.DefaultSampling()
	p.MaxTokens = 1
	_, err = tinker.Sample(ctx, c, tinker.SampleRequest{Prompt: tinker.Text([]int32{0}), NumSamples: 1, Params: p})
	return err
}
