package executor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// Protocol names the encoding of tasks and results together with what they mean. It changes with either, so that
// programs of different versions do not compute for each other.
const Protocol = "trinity-executor-1"

// Kind is the function that a task calls.
type Kind string

// The kinds of tasks.
const (
	KindSample   Kind = "sample"
	KindForward  Kind = "forward"
	KindGradient Kind = "gradient"
)

func kinds() []Kind { return []Kind{KindSample, KindForward, KindGradient} }

// Task is one call of an Executor.
type Task struct {
	Kind    Kind
	Version Version
	Sample  Sample // of KindSample
	Batch   Batch  // of the others
}

// magic begins every task and every result.
const (
	taskMagic   = "TRNT1"
	resultMagic = "TRNR1"
)

// Encode returns the task as bytes: equal tasks give equal bytes. An image in a datum is an error.
func (t Task) Encode() ([]byte, error) {
	w := writer{b: []byte(taskMagic)}
	w.text(string(t.Kind))
	w.version(t.Version)
	if t.Kind == KindSample {
		w.sample(t.Sample)
		return w.b, nil
	}
	if err := w.batch(t.Batch); err != nil {
		return nil, fmt.Errorf("executor: %w", err)
	}
	return w.b, nil
}

// DecodeTask reads what Encode wrote. Whatever the bytes are, it allocates little more memory than they take.
func DecodeTask(raw []byte) (Task, error) {
	r := reader{b: raw}
	if string(r.bytes(len(taskMagic), "the beginning")) != taskMagic {
		r.fail("it does not begin with %s; it is of another version of trinity", taskMagic)
	}
	t := Task{Kind: Kind(r.text("kind"))}
	if r.err == nil && !slices.Contains(kinds(), t.Kind) {
		r.fail("kind %q is unknown", t.Kind)
	}
	t.Version = r.version()
	if t.Kind == KindSample {
		t.Sample = r.sample()
	} else {
		t.Batch = r.batch()
	}
	if err := r.end(); err != nil {
		return Task{}, fmt.Errorf("executor: task: %w", err)
	}
	return t, nil
}

func (w *writer) version(v Version) {
	w.text(v.Numerics)
	w.bool(v.BF16)
	w.text(v.Base)
	w.text(v.Manifest)
	w.count(v.LoRA.Rank)
	w.real(v.LoRA.Alpha)
	w.bool(v.LoRA.TrainAttn)
	w.bool(v.LoRA.TrainMLP)
	w.bool(v.LoRA.TrainUnembed)
	w.text(v.LoRA.Modules)
	w.text(v.Params)
}

// maxRank is the highest rank of an adapter that the engine accepts.
const maxRank = 1 << 12

func (r *reader) version() Version {
	v := Version{Numerics: r.text("numerics"), BF16: r.bool(), Base: r.text("base"), Manifest: r.text("manifest")}
	v.LoRA = tinker.LoRA{Rank: r.small(maxRank, "rank"), Alpha: r.real(), TrainAttn: r.bool(), TrainMLP: r.bool(),
		TrainUnembed: r.bool(), Modules: r.text("modules")}
	v.Params = r.text("params")
	for _, h := range []string{v.Manifest, v.Params} {
		if r.err == nil && h != "" && !IsHash(h) {
			r.fail("%q is not a hash", h)
		}
	}
	return v
}

// maxSamples bounds the samples of a task and their indices.
const maxSamples = 1 << 16

func (w *writer) sample(s Sample) {
	ints(w, s.Prompt)
	w.count(s.First)
	w.count(s.N)
	w.word(s.Seed)
	w.count(s.MaxTokens)
	w.real(s.Temperature)
	w.real(s.TopP)
	w.real(s.MinP)
	w.count(s.TopK)
	ints(w, s.StopTokens)
	w.count(len(s.StopStrings))
	for _, str := range s.StopStrings {
		w.text(str)
	}
	w.text(s.Tokens)
}

func (r *reader) sample() Sample {
	s := Sample{Prompt: r.tokens("the prompt"), First: r.small(maxSamples, "the first sample"),
		N: r.small(maxSamples, "the number of samples"), Seed: r.word(),
		MaxTokens: r.small(1<<24, "max_tokens"), Temperature: r.real(), TopP: r.real(), MinP: r.real(),
		TopK: r.small(1<<30, "top_k"), StopTokens: r.tokens("stop tokens")}
	for range r.count(1, "stop strings") {
		s.StopStrings = append(s.StopStrings, r.text("a stop string"))
	}
	if s.Tokens = r.text("the table of tokens"); r.err == nil && s.Tokens != "" && !IsHash(s.Tokens) {
		r.fail("%q is not a hash", s.Tokens)
	}
	return s
}

func (w *writer) batch(b Batch) error {
	w.text(b.Loss)
	w.count(len(b.Config))
	for _, key := range slices.Sorted(maps.Keys(b.Config)) {
		w.text(key)
		w.real(b.Config[key])
	}
	w.count(len(b.Data))
	for i, d := range b.Data {
		tokens, ok := d.ModelInput.Tokens()
		if !ok {
			return fmt.Errorf("datum %d has an image; only text is computed elsewhere", i)
		}
		ints(w, tokens)
		w.count(len(d.LossFnInputs))
		for _, key := range slices.Sorted(maps.Keys(d.LossFnInputs)) {
			w.text(key)
			w.tensor(d.LossFnInputs[key])
		}
	}
	return nil
}

func (r *reader) batch() Batch {
	b := Batch{Loss: r.text("loss")}
	r.sorted("settings of the loss", func(key string) {
		if b.Config == nil {
			b.Config = map[string]float64{}
		}
		b.Config[key] = r.real()
	})
	for range r.count(2, "datums") {
		d := tinker.Datum{ModelInput: tinker.Text(r.tokens("a datum")), LossFnInputs: map[string]tinker.Tensor{}}
		r.sorted("inputs", func(key string) { d.LossFnInputs[key] = r.tensor() })
		if r.err != nil {
			return Batch{}
		}
		b.Data = append(b.Data, d)
	}
	return b
}

// sorted reads a map, whose keys must be in order: there is one encoding.
func (r *reader) sorted(what string, value func(key string)) {
	last := ""
	for i := range r.count(1, what) {
		key := r.text(what)
		if i > 0 && key <= last {
			r.fail("%s: %q follows %q", what, key, last)
		}
		if r.err != nil {
			return
		}
		last = key
		value(key)
	}
}

// tensor appends a tensor: its dtype, its shape (an empty one is one dimension) and its values.
func (w *writer) tensor(t tinker.Tensor) {
	shape := t.Shape
	if len(shape) == 0 {
		shape = []int{t.Len()}
	}
	w.bool(len(t.Int) > 0)
	ints(w, shape)
	if len(t.Int) > 0 {
		ints(w, t.Int)
	} else {
		w.floats(t.Float)
	}
}

func (r *reader) tensor() (t tinker.Tensor) {
	whole := r.bool()
	for _, d := range r.longs("a shape") {
		if d < 0 || d > 1<<31 {
			r.fail("a tensor of shape %d", d)
		}
		t.Shape = append(t.Shape, int(d))
	}
	if whole {
		t.Int = r.longs("values")
	} else {
		t.Float = r.floats("values")
	}
	if len(t.Shape) == 0 || whole && len(t.Int) == 0 {
		r.fail("a tensor of shape %v with %d values", t.Shape, t.Len())
	}
	return t
}
