package wire

import (
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// maxSpans limits the provenance spans of one request: each takes 48 bytes in memory and may take 4 on the wire.
const maxSpans = 1 << 20

// Span is a run of positions of a datum: Length tokens that begin at Offset among the sampled tokens of the sequence,
// or of the prompt that it was asked with (messages SampledProvenanceSpan and PromptProvenanceSpan).
type Span struct {
	Sequence       string // as named in a sample's promise
	Sampled        bool
	Offset, Length int64
}

// Provenance names the sources of a datum's tokens. Each list covers all positions of its input, in order.
type Provenance struct {
	Input  []Span // of model_input
	Target []Span // of loss_fn_inputs["target_tokens"]
}

// Empty reports whether the datum came without provenance.
func (p Provenance) Empty() bool { return len(p.Input) == 0 && len(p.Target) == 0 }

// read collects fields 3 and 4 of message Datum.
func (p *Provenance) read(f field, room *int) error {
	if !f.is(3, protowire.BytesType) && !f.is(4, protowire.BytesType) {
		return nil
	}
	if *room--; *room < 0 {
		return tinker.Userf("the request has more than %d provenance spans; send smaller batches", maxSpans)
	}
	s, err := readSpan(f.raw)
	if f.id == 3 {
		p.Input = append(p.Input, s)
	} else {
		p.Target = append(p.Target, s)
	}
	return err
}

func readSpan(b []byte) (s Span, err error) {
	err = fields("ProvenanceSpan", b, func(f field) error {
		if !f.is(1, protowire.BytesType) && !f.is(2, protowire.BytesType) {
			return nil
		}
		s = Span{Sampled: f.id == 2}
		return fields("ProvenanceSpan", f.raw, func(f field) error {
			switch {
			case f.is(1, protowire.BytesType):
				s.Sequence = string(f.raw)
			case f.is(2, protowire.VarintType):
				s.Offset = int64(f.num)
			case f.is(3, protowire.VarintType):
				s.Length = int64(f.num)
			}
			return nil
		})
	})
	return s, err
}

func appendSpan(b []byte, id protowire.Number, s Span) []byte {
	e := appendString(nil, 1, s.Sequence)
	e = appendVarint(e, 2, uint64(s.Offset))
	e = appendVarint(e, 3, uint64(s.Length))
	arm := protowire.Number(1)
	if s.Sampled {
		arm = 2
	}
	return appendBytes(b, id, appendBytes(nil, arm, e))
}

func appendProvenance(b []byte, p Provenance) []byte {
	for _, s := range p.Input {
		b = appendSpan(b, 3, s)
	}
	for _, s := range p.Target {
		b = appendSpan(b, 4, s)
	}
	return b
}
