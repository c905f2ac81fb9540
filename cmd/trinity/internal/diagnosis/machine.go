package diagnosis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine"
	"github.com/seed-d9ad8ee0/trinity/internal/machine"
	"github.com/seed-d9ad8ee0/trinity/run/budget"
	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// night is the time of which the last column tells.
const night = 8 * time.Hour

// fewLayers are the layers of a model that is measured of each shape.
const fewLayers = 4

// Machine prints what the models that people train need and how fast they are on this machine: a row for each. No
// model is needed here: one of the same shape with random weights and few layers is measured, and the time of a token
// grows with the parameters. The difference of two such models would tell layers from the head, but other programs on
// the machine disturb it more than the head does.
func (d *Diagnosis) Machine(ctx context.Context) error {
	return d.table(ctx, shapes)
}

// table prints the rows of some shapes.
func (d *Diagnosis) table(ctx context.Context, list []shape) error {
	fmt.Fprintf(d.Out, "Each model with random weights and %d layers is measured, and its rates are computed for all "+
		"layers by the\nparameters: roughly. It takes minutes. %d threads, LoRA of rank %d, %s free. A step is %d "+
		"samples of %d\ntokens, half of them the answer, on all of which it trains; a night is %v.\n\n", fewLayers,
		d.threads(), d.Rank, budget.Size(budget.FreeMemory()), d.Samples, d.Length, night)
	const row = "%-13s %16s %16s %13s %13s %14s\n"
	fmt.Fprintf(d.Out, row, "model", "tokens/s sampled", "tokens/s trained", "to sample", "to train", "steps a night")
	waited := 0.0
	for _, s := range list {
		conf, err := describe(s)
		if err != nil {
			return err
		}
		r, err := d.compute(ctx, s, conf.Parameters)
		if err != nil {
			return fmt.Errorf("doctor: %s: %w", s.name, err)
		}
		m := conf.InBase(d.Base).Memory(machine.Memory(), d.Samples, d.Length, d.Rank)
		waited = max(waited, r.Waited)
		fmt.Fprintf(d.Out, row, s.name, rate(r.Sampled), rate(r.Trained), budget.Size(m.Sampling()),
			budget.Size(m.Training()), steps(r, d.Samples, d.Length))
	}
	if busy := (budget.Rates{Waited: waited}).Busy(); busy != "" {
		d.line("busy", "%s", busy)
	}
	return nil
}

// steps is how many steps a night has.
func steps(r budget.Rates, samples, length int) string {
	tokens := float64(samples * length)
	return fmt.Sprintf("%.0f", night.Seconds()/(tokens/2/r.Sampled+tokens/r.Trained))
}

// describe describes a shape.
func describe(s shape) (conf engine.Description, err error) {
	err = inFolder(s, false, func(dir string) (err error) {
		conf, err = engine.Describe(dir)
		return err
	})
	return conf, err
}

// compute is the rates of a shape with so many parameters, from those of a model with fewer layers.
func (d *Diagnosis) compute(ctx context.Context, s shape, parameters int64) (r budget.Rates, err error) {
	s.layers = fewLayers
	some, err := describe(s)
	if err != nil {
		return r, err
	}
	err = inFolder(s, true, func(dir string) (err error) {
		r, err = d.rates(ctx, s.name, dir, s.vocab)
		return err
	})
	part := float64(some.Parameters) / float64(parameters)
	r.Sampled, r.Trained = r.Sampled*part, r.Trained*part
	return r, err
}

// inFolder runs use with a temporary folder of the shape.
func inFolder(s shape, weights bool, use func(dir string) error) error {
	tmp, err := os.MkdirTemp("", "trinity-doctor-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	dir := filepath.Join(tmp, "model")
	if err := s.folder(dir, weights); err != nil {
		return fmt.Errorf("%w; doctor needs up to 1.6 GB for a model in the temporary folder, which TMPDIR names", err)
	}
	return use(dir)
}

// rates measures a model that an engine loads as a run does.
func (d *Diagnosis) rates(ctx context.Context, name, dir string, vocab int) (r budget.Rates, err error) {
	err = d.withEngine(name, dir, func(e *engine.Engine) (err error) {
		r, err = budget.Measure(ctx, e, d.work(name, vocab))
		return err
	})
	return r, err
}

// work is the load that rates are measured with.
func (d *Diagnosis) work(base string, vocab int) budget.Work {
	return budget.Work{Base: base, Vocab: vocab, Samples: d.Samples, Length: d.Length, LoRA: tinker.LoRA{Rank: d.Rank,
		Alpha: float64(d.Rank), TrainAttn: true, TrainMLP: true, TrainUnembed: true}}
}
