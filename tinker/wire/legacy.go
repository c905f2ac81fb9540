package wire

import (
	"encoding/json"
	"maps"
	"math"
	"slices"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// The JSON forms of SDK 0.24 and older: forward and forward_backward requests, and the results that newer SDKs get as
// protobuf.

// LegacyForward is the JSON body of forward_backward (Input) and of forward (ForwardInput).
type LegacyForward struct {
	Input        *LegacyInput `json:"forward_backward_input,omitempty"`
	ForwardInput *LegacyInput `json:"forward_input,omitempty"`
	ModelID      string       `json:"model_id"`
	SeqID        int64        `json:"seq_id"`
}

// LegacyInput is a batch.
type LegacyInput struct {
	Data         []LegacyDatum      `json:"data"`
	LossFn       string             `json:"loss_fn"`
	LossFnConfig map[string]float64 `json:"loss_fn_config,omitempty"`
}

// LegacyDatum is a datum.
type LegacyDatum struct {
	ModelInput   ModelInput              `json:"model_input"`
	LossFnInputs map[string]LegacyTensor `json:"loss_fn_inputs"`
}

// LegacyTensor is a tensor whose elements are JSON numbers, row by row; with indices it is sparse.
type LegacyTensor struct {
	Data  []Number `json:"data"`
	DType string   `json:"dtype"` // float32 or int64
	Shape []int64  `json:"shape,omitempty"`
	CRow  []int64  `json:"sparse_crow_indices,omitempty"`
	Col   []int64  `json:"sparse_col_indices,omitempty"`
}

// Number is a JSON number; null stands for NaN.
type Number float64

// UnmarshalJSON reads null as NaN.
func (n *Number) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*n = Number(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(n))
}

// MarshalJSON writes a value that is not finite as null.
func (n Number) MarshalJSON() ([]byte, error) {
	if v := float64(n); math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

// Tinker converts to the protobuf request. Errors are User errors; model and sequence number are always set.
func (l LegacyForward) Tinker() (ForwardBackward, error) {
	r := ForwardBackward{ModelID: l.ModelID, SeqID: l.SeqID}
	in := l.Input
	if in == nil {
		in, r.ForwardOnly = l.ForwardInput, true
	}
	if in == nil {
		return r, tinker.Userf("the body has neither forward_backward_input nor forward_input")
	}
	r.LossFn, r.LossFnConfig = in.LossFn, in.LossFnConfig
	room := MaxDense
	for i, d := range in.Data {
		input, err := d.ModelInput.Tinker()
		if err != nil {
			return r, about(err, "datum %d: model_input", i)
		}
		datum := tinker.Datum{ModelInput: input, LossFnInputs: map[string]tinker.Tensor{}}
		for _, name := range slices.Sorted(maps.Keys(d.LossFnInputs)) {
			if datum.LossFnInputs[name], err = d.LossFnInputs[name].tensor(&room); err != nil {
				return r, about(err, "datum %d: loss_fn_inputs[%q]", i, name)
			}
		}
		r.Data = append(r.Data, datum)
	}
	return r, nil
}

func (t LegacyTensor) tensor(room *int) (tinker.Tensor, error) {
	out, err := newShape(t.Shape)
	if err != nil {
		return out, err
	}
	var raw []byte
	dtype := Float32
	switch t.DType {
	case "float32":
		v := make([]float32, len(t.Data))
		for i, x := range t.Data {
			v[i] = float32(x)
		}
		raw = writeFloats(nil, v)
	case "int64":
		v := make([]int64, len(t.Data))
		for i, x := range t.Data {
			if v[i] = int64(x); Number(v[i]) != x {
				return out, tinker.Userf("element %d is %v, no integer", i, float64(x))
			}
		}
		raw, dtype = writeInts(nil, v), Int64
	default:
		return out, tinker.Userf("dtype %q is neither float32 nor int64", t.DType)
	}
	if t.CRow != nil {
		return (&csr{values: raw, crow: t.CRow, col: t.Col}).dense(out, dtype, room)
	}
	return fill(out, raw, dtype)
}

// LegacyOutput is the JSON result of forward and forward_backward.
type LegacyOutput struct {
	Type    string                    `json:"loss_fn_output_type"`
	Outputs []map[string]LegacyTensor `json:"loss_fn_outputs"`
	Metrics map[string]float64        `json:"metrics"`
}

// FromOutput makes the JSON result. Metrics that are not finite have no JSON and are left out.
func FromOutput(o tinker.ForwardOutput) LegacyOutput {
	l := LegacyOutput{Type: outputType, Outputs: []map[string]LegacyTensor{}, Metrics: FiniteMetrics(o.Metrics)}
	for _, rec := range o.LossFnOutputs {
		m := map[string]LegacyTensor{}
		for name, t := range rec {
			m[name] = fromTensor(t)
		}
		l.Outputs = append(l.Outputs, m)
	}
	return l
}

func fromTensor(t tinker.Tensor) LegacyTensor {
	l := LegacyTensor{Data: make([]Number, 0, t.Len()), DType: "float32"}
	for _, n := range t.Shape {
		l.Shape = append(l.Shape, int64(n))
	}
	for _, v := range t.Float {
		l.Data = append(l.Data, Number(v))
	}
	if t.Int != nil {
		l.DType = "int64"
	}
	for _, v := range t.Int {
		l.Data = append(l.Data, Number(v))
	}
	return l
}

// FiniteMetrics leaves out metrics that are not finite, which JSON cannot represent.
func FiniteMetrics(m map[string]float64) map[string]float64 {
	out := map[string]float64{}
	for k, v := range m {
		if !math.IsNaN(v) && !math.IsInf(v, 0) {
			out[k] = v
		}
	}
	return out
}

// LegacySample is the JSON result of asample.
type LegacySample struct {
	Type      string           `json:"type"` // sample
	Sequences []LegacySequence `json:"sequences"`
	Prompt    []Number         `json:"prompt_logprobs"`
	TopK      [][][2]Number    `json:"topk_prompt_logprobs"` // per position pairs of token and logprob
	Targets   *LegacyTensor    `json:"target_prompt_logprobs,omitempty"`
	Alt       *LegacyAlt       `json:"prompt_alt_tokens,omitempty"`
}

// LegacyAlt is the tokens drawn at the positions of a prompt after the first, and their logprobs: two tensors
// [prompt-1, k].
type LegacyAlt struct {
	Tokens   LegacyTensor `json:"tokens"`
	Logprobs LegacyTensor `json:"logprobs"`
}

// LegacySequence is one sample.
type LegacySequence struct {
	Tokens     []int32           `json:"tokens"`
	Logprobs   []Number          `json:"logprobs"`
	StopReason tinker.StopReason `json:"stop_reason"`
	TopK       [][][2]Number     `json:"topk_logprobs,omitempty"` // per token pairs of token and logprob
}

// FromSample makes the JSON result.
func FromSample(r tinker.SampleResponse) LegacySample {
	l := LegacySample{Type: "sample", Sequences: []LegacySequence{}, Prompt: numbers(r.PromptLogprobs)}
	for _, s := range r.Sequences {
		l.Sequences = append(l.Sequences, LegacySequence{Tokens: append([]int32{}, s.Tokens...),
			Logprobs:   numbers(s.Logprobs),
			StopReason: s.StopReason, TopK: pairs(s.TopKLogprobs)})
	}
	l.TopK = pairs(r.TopKPromptLogprobs)
	if r.TargetPromptLogprobs != nil {
		t := fromMatrix(r.TargetPromptLogprobs)
		l.Targets = &t
	}
	if r.PromptAltTokens != nil {
		tokens, logprobs := alternatives(r.PromptAltTokens)
		l.Alt = &LegacyAlt{Tokens: fromTensor(tokens), Logprobs: fromTensor(logprobs)}
	}
	return l
}

func pairs(rows [][]tinker.TokenLogprob) (out [][][2]Number) {
	for _, row := range rows {
		var line [][2]Number
		for _, c := range row {
			line = append(line, [2]Number{Number(c.Token), Number(c.Logprob)})
		}
		out = append(out, line)
	}
	return out
}

func numbers(v []float32) []Number {
	if v == nil {
		return nil
	}
	out := make([]Number, len(v))
	for i, x := range v {
		out[i] = Number(x)
	}
	return out
}
