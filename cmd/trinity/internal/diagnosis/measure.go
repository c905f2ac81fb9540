package diagnosis

import (
	"context"
	"errors"
	"os"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// measure loads the model into an engine as a run does, samples and trains for some seconds, and prints the rates.
func (d *Diagnosis) measure(ctx context.Context) error {
	return d.withEngine(d.Model, d.Dir, func(e *engine.Engine) error {
		begin := time.Now()
		if err := d.load(ctx, e); err != nil {
			return err
		}
		d.line("load", "%v", time.Since(begin).Round(time.Millisecond))
		r, err := budget.Measure(ctx, e, d.work(d.Model, d.conf.Vocab))
		if err != nil {
			return err
		}
		d.line("speed", "%s tokens/s alone, %s tokens/s with %d samples together, %s tokens/s of training, "+
			"on %d threads", rate(r.Alone), rate(r.Sampled), d.Samples, rate(r.Trained), d.threads())
		if busy := r.Busy(); busy != "" {
			d.line("busy", "%s", busy)
		}
		return nil
	})
}

// withEngine runs use with an engine of one model, whose files are removed again.
func (d *Diagnosis) withEngine(name, dir string, use func(*engine.Engine) error) (err error) {
	tmp, err := os.MkdirTemp("", "trinity-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	o := engine.Options{Dir: tmp, Models: map[string]engine.Model{name: {Dir: dir}}, Threads: d.Threads,
		BaseDtype: d.Base}
	o.Fit(machine.Memory())
	e, err := engine.Open(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return use(e)
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
