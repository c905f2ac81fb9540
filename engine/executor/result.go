package executor

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// EncodeSamples returns the samples of a task as bytes.
func EncodeSamples(list []tinker.SampledSequence) []byte {
	w := writer{b: []byte(resultMagic)}
	w.text(string(KindSample))
	w.count(len(list))
	for _, s := range list {
		ints(&w, s.Tokens)
		w.floats(s.Logprobs)
		w.bool(s.StopReason == tinker.StopStop)
	}
	return w.b
}

// DecodeSamples reads the result of a task and checks that it answers s.
func DecodeSamples(raw []byte, s Sample) ([]tinker.SampledSequence, error) {
	r := reader{b: raw}
	r.begins(KindSample)
	n := r.count(3, "samples")
	if n != s.N {
		r.fail("%d samples, %d were asked for", n, s.N)
	}
	var list []tinker.SampledSequence
	for i := 0; i < n && r.err == nil; i++ {
		q := tinker.SampledSequence{Tokens: r.tokens("a sample"), Logprobs: r.floats("logprobs"),
			StopReason: tinker.StopLength}
		if r.bool() {
			q.StopReason = tinker.StopStop
		}
		if len(q.Tokens) == 0 || len(q.Tokens) > s.MaxTokens || len(q.Tokens) != len(q.Logprobs) {
			r.fail("sample %d has %d tokens and %d logprobs; 1 to %d were asked for", i, len(q.Tokens), len(q.Logprobs),
				s.MaxTokens)
		}
		list = append(list, q)
	}
	if err := r.end(); err != nil {
		return nil, fmt.Errorf("executor: result: %w", err)
	}
	return list, nil
}

// begins reads the beginning of a result.
func (r *reader) begins(k Kind) {
	if string(r.bytes(len(resultMagic), "the beginning")) != resultMagic {
		r.fail("it does not begin with %s", resultMagic)
	}
	if got := r.text("kind"); r.err == nil && got != string(k) {
		r.fail("the answer to %q, not to %q", got, k)
	}
}

// EncodeOutputs returns the outputs of a task and, of a KindGradient, the gradient as bytes. The values of the gradient
// come last, in one stretch.
func EncodeOutputs(k Kind, list []Output, g Gradient) []byte {
	w := writer{b: []byte(resultMagic)}
	w.text(string(k))
	w.count(len(list))
	for _, o := range list {
		w.floats(o.Logprobs)
		w.floats(o.Entropy)
		w.floats(o.Centre)
		w.real(o.Loss)
	}
	if k != KindGradient {
		return w.b
	}
	w.count(len(g))
	n := 0
	for _, t := range g {
		w.count(len(t))
		n += len(t)
	}
	at := len(w.b)
	w.b = append(w.b, make([]byte, 4*n)...)
	for _, t := range g {
		for _, v := range t {
			binary.LittleEndian.PutUint32(w.b[at:], math.Float32bits(v))
			at += 4
		}
	}
	return w.b
}

// DecodeOutputs reads the result of a task and checks that it answers b.
func DecodeOutputs(raw []byte, k Kind, b Batch) ([]Output, Gradient, error) {
	return decodeOutputs(reader{b: raw}, k, b)
}

// CheckOutputs checks the result of a task as DecodeOutputs does, without a copy of the gradient.
func CheckOutputs(raw []byte, k Kind, b Batch) error {
	_, _, err := decodeOutputs(reader{b: raw, brief: true}, k, b)
	return err
}

func decodeOutputs(r reader, k Kind, b Batch) ([]Output, Gradient, error) {
	r.begins(k)
	n := r.count(11, "outputs")
	if n != len(b.Data) {
		r.fail("%d outputs for %d datums", n, len(b.Data))
	}
	_, entropic := b.Config[tinker.EntropyCoef]
	var list []Output
	for i := 0; i < n && r.err == nil; i++ {
		o := Output{Logprobs: r.floats("logprobs"), Entropy: r.floats("entropies"), Centre: r.floats("centres"),
			Loss: r.real()}
		rows, targets := b.Data[i].ModelInput.Len(), b.Data[i].LossFnInputs[tinker.TargetTokens].Len()
		if !entropic {
			rows = 0
		}
		if len(o.Logprobs) != targets || len(o.Entropy) != rows || len(o.Centre) != rows {
			r.fail("output %d has %d logprobs, %d entropies and %d centres; want %d, %d and %d", i, len(o.Logprobs),
				len(o.Entropy), len(o.Centre), targets, rows, rows)
		}
		list = append(list, o)
	}
	var g Gradient
	if k == KindGradient {
		g = r.gradient()
	}
	if err := r.end(); err != nil {
		return nil, nil, fmt.Errorf("executor: result: %w", err)
	}
	return list, g, nil
}

// mostTensors is above what any model trains: a number takes eight times the memory of its byte.
const mostTensors = 1 << 17

func (r *reader) gradient() Gradient {
	lengths := make([]int, r.small(min(mostTensors, len(r.b)), "the number of tensors"))
	n := 0
	for i := range lengths {
		lengths[i] = r.small(len(r.b)/4, "the length of a tensor")
		n += lengths[i]
	}
	if n != len(r.b)/4 || len(r.b)%4 != 0 {
		r.fail("a gradient of %d values in %d bytes", n, len(r.b))
		return nil
	}
	b := r.bytes(4*n, "a gradient")
	if r.brief {
		return nil
	}
	all := make([]float32, n)
	for i := range all {
		all[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
	}
	g := make(Gradient, len(lengths))
	for i, n := range lengths {
		g[i], all = all[:n:n], all[n:]
	}
	return g
}
