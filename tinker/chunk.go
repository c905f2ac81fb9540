package tinker

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Limits bound one chunk of a batch. The estimate of a datum's bytes is the SDK's: 4 per text token, the length of an
// image, and the bytes of its tensors.
type Limits struct {
	Datums int
	Bytes  int
}

// DefaultLimits returns the SDK's limits.
func DefaultLimits() Limits { return Limits{Datums: 1024, Bytes: 5_000_000} }

// limitsOf returns a client's own limits, or the SDK's if it has none; a server may set lower ones.
func limitsOf(c TrainingClient) Limits {
	if l, ok := c.(interface{ Limits() Limits }); ok {
		return l.Limits()
	}
	return DefaultLimits()
}

// split cuts a batch as the SDK does: a chunk is closed when it is full or when the next datum would pass the byte
// limit.
func split(data []Datum, lim Limits) [][]Datum {
	var chunks [][]Datum
	start, bytes := 0, 0
	for i, d := range data {
		n := d.bytes()
		if i > start && (i-start >= lim.Datums || bytes+n > lim.Bytes) {
			chunks = append(chunks, data[start:i])
			start, bytes = i, 0
		}
		bytes += n
	}
	return append(chunks, data[start:])
}

func (d Datum) bytes() int {
	n := 0
	for _, c := range d.ModelInput.Chunks {
		n += 4 * len(c.Tokens)
		if c.Image != nil {
			n += len(c.Image.Data)
		}
	}
	for _, t := range d.LossFnInputs {
		n += 4*len(t.Float) + 8*len(t.Int)
	}
	return n
}

// Numbered sends a training request under the number *seq, or the next one that is not spent, and sets *seq to the
// number behind it. 0 stays 0: the service numbers the request.
func Numbered[T any](seq *int64, send func(seq int64) (*Future[T], error)) (*Future[T], error) {
	for {
		f, err := send(*seq)
		spent := errors.Is(err, ErrSpent)
		if *seq > 0 && (err == nil || spent) {
			*seq++
		}
		if !spent || *seq == 0 {
			return f, err
		}
	}
}

// Submit sends a batch of any size, forward only or with gradients, and combines the results. It sends chunks that
// each take one SeqID; the first is req.SeqID if that is set, or the next one that is not spent. used is the number of
// SeqIDs.
func Submit(ctx context.Context, c TrainingClient, req ForwardRequest,
	backward bool) (f *Future[ForwardOutput], used int64, err error) {
	if len(req.Data) == 0 {
		return nil, 0, Userf("tinker: the batch has no data; send at least one datum")
	}
	var parts []*Future[ForwardOutput]
	send := c.Forward
	if backward {
		send = c.ForwardBackward
	}
	seq := req.SeqID
	for i, data := range split(req.Data, limitsOf(c)) {
		r := req
		r.Data = data
		p, err := Numbered(&seq, func(n int64) (*Future[ForwardOutput], error) {
			r.SeqID = n
			return send(ctx, r)
		})
		if err != nil {
			return nil, used, fmt.Errorf("tinker: chunk %d of the batch: %w", i+1, err)
		}
		parts = append(parts, p)
		used = max(int64(len(parts)), seq-req.SeqID)
	}
	if len(parts) == 1 {
		one := Then(parts[0], func(o ForwardOutput) (ForwardOutput, error) { return combine([]ForwardOutput{o}) })
		return one, used, nil
	}
	g, resolve := NewFuture[ForwardOutput]()
	go func() {
		outs := make([]ForwardOutput, len(parts))
		for i, p := range parts {
			<-p.done
			if p.err != nil {
				resolve(ForwardOutput{}, p.err)
				return
			}
			outs[i] = p.val
		}
		resolve(combine(outs))
	}()
	return g, used, nil
}

// combine joins the results of a batch's chunks: outputs in order, metrics by the reduction named after their colon
// (sum, min, max, mean and slack weighted by outputs, unique). A metric that a chunk lacks is dropped; one without a
// reduction is an error, as in the SDK.
func combine(chunks []ForwardOutput) (ForwardOutput, error) {
	out := ForwardOutput{Metrics: map[string]float64{}}
	for _, c := range chunks {
		out.LossFnOutputs = append(out.LossFnOutputs, c.LossFnOutputs...)
	}
	for key := range chunks[0].Metrics {
		name, how, ok := strings.Cut(key, ":")
		if !ok || name == "" || strings.Contains(how, ":") {
			return out, fmt.Errorf("tinker: metric %q of the service does not have the form name:reduction", key)
		}
		vals, weights, all := make([]float64, 0, len(chunks)), make([]float64, 0, len(chunks)), true
		for _, c := range chunks {
			v, ok := c.Metrics[key]
			all = all && ok
			vals, weights = append(vals, v), append(weights, float64(len(c.LossFnOutputs)))
		}
		if all {
			reduce(out.Metrics, key, how, vals, weights)
		}
	}
	return out, nil
}

func reduce(into map[string]float64, key, how string, vals, weights []float64) {
	sum, lo, hi, wsum, wn := 0.0, math.Inf(1), math.Inf(-1), 0.0, 0.0
	for i, v := range vals {
		sum, lo, hi = sum+v, min(lo, v), max(hi, v)
		wsum, wn = wsum+float64(v*weights[i]), wn+weights[i]
	}
	mean := wsum / wn
	if lo == hi {
		mean = lo // exactly, and no slack
	}
	switch how {
	case "sum":
		into[key] = sum
	case "min":
		into[key] = lo
	case "max":
		into[key] = hi
	case "mean":
		into[key] = mean
	case "slack":
		into[key] = hi - mean
	case "unique":
		into[key] = vals[0]
		for i, v := range vals[1:] {
			into[fmt.Sprintf("%s_%d", key, i+1)] = v
		}
	}
}
