// Package measure times single passes of the engine: one training pass, one prefill, some decoding steps. It runs
// without queue, scheduler and durability, so that the rates can be compared with those of other programs and with the
// bounds of the machine.
package measure

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/seed-d9ad8ee0/trinity/engine/internal/kernel"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/model"
	"github.com/seed-d9ad8ee0/trinity/engine/internal/nn"
)

// Result is the time of one pass.
type Result struct {
	Seconds float64
	Check   float64 // a number to compare with another program's; each pass documents its own
}

// Bench runs passes on one model at a time. It keeps the weights and what the last kind of pass allocated, so that a
// repeated pass measures computing alone. It is for one goroutine.
type Bench struct {
	kernels *kernel.Set
	compute nn.Compute
	folder  string // of the loaded model
	w       *model.Weights
	runner  *model.Runner

	training *training
	decoding *decoding
}

// New returns a bench that computes with the kernels of a path, such as avx2, or with the best ones of this processor
// if path is empty. A fast kernel that fails its self-test is an error.
func New(path string) (*Bench, error) {
	if path == "" {
		k, warning := kernel.Best(kernel.Native())
		if warning != nil {
			return nil, fmt.Errorf("measure: %w", warning)
		}
		return &Bench{kernels: k}, nil
	}
	p, err := kernel.ParsePath(path)
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	order := kernel.Sequential
	if p == kernel.AMX {
		order = kernel.Blocked
	}
	k, err := kernel.New(p, order)
	if err != nil {
		return nil, fmt.Errorf("measure: %w", err)
	}
	return &Bench{kernels: k}, nil
}

// Kernels names the kernel path in use, such as avx512.
func (b *Bench) Kernels() string { return b.kernels.Path().String() }

// Load computes with that many threads on the model in the folder dir from now on. Another number of threads loads the
// model again.
func (b *Bench) Load(dir string, threads int) error {
	if b.compute.P == nil || b.compute.P.N() != threads {
		b.Close()
		b.compute = nn.Compute{K: b.kernels, P: kernel.NewPool(threads)}
	}
	if b.folder == dir {
		return nil
	}
	b.folder, b.w, b.runner, b.training, b.decoding = "", nil, nil, nil, nil
	debug.FreeOSMemory()
	w, err := model.Load(dir, b.compute)
	if err != nil {
		return fmt.Errorf("measure: %w", err)
	}
	b.folder, b.w, b.runner = dir, w, model.NewRunner(b.compute)
	return nil
}

// Close ends the threads. The bench can load again.
func (b *Bench) Close() {
	if b.compute.P != nil {
		b.compute.P.Close()
	}
	*b = Bench{kernels: b.kernels}
}

// Prefill computes a prompt and the logits after it. Check is the log-probability of token 0 there.
func (b *Bench) Prefill(prompt []int32) (Result, error) {
	b.drop(true, true)
	seqs := []model.Seq{{Tokens: prompt, Pages: b.pages(len(prompt))}}
	logits := make([]float32, b.w.Config.Vocab)
	start := time.Now()
	hidden := b.runner.Forward(b.w, seqs, nil)
	b.runner.Logits(b.w, seqs, hidden, []int{len(prompt) - 1}, logits)
	lse := b.compute.K.LogSumExp(logits)
	return Result{Seconds: time.Since(start).Seconds(), Check: float64(logits[0] - lse)}, b.runner.Err()
}

// memory is that of a sequence without positions, nil if the model has none.
func (b *Bench) memory() *nn.Memory {
	if shape := b.w.Config.Memory(); shape.Layers > 0 {
		return shape.New()
	}
	return nil
}

// drop releases the memory of other kinds of passes, so that a model of billions of parameters fits into memory
// together with another program's.
func (b *Bench) drop(training, decoding bool) {
	training, decoding = training && b.training != nil, decoding && b.decoding != nil
	if training {
		b.training, b.runner = nil, model.NewRunner(b.compute)
	}
	if decoding {
		b.decoding = nil
	}
	if training || decoding {
		debug.FreeOSMemory()
	}
}

// pages are empty pages for that many tokens.
func (b *Bench) pages(tokens int) []*nn.Page {
	pages := make([]*nn.Page, (tokens+kernel.PageLen-1)/kernel.PageLen)
	for i := range pages {
		pages[i] = &nn.Page{Data: kernel.Aligned(b.w.Config.Pages().Floats())}
	}
	return pages
}
