package wire

import (
	"maps"
	"math"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// ForwardBackward is message ForwardBackwardRequest, with dense tensors.
type ForwardBackward struct {
	ModelID      string
	SeqID        int64
	Data         []tinker.Datum
	LossFn       string
	LossFnConfig map[string]float64
	LossFnText   map[string]string // text values of loss_fn_config; no loss of the protocol has any
	ForwardOnly  bool
	Provenance   []Provenance // one per datum; nil when no datum has any
}

// EncodeForwardBackward writes the message as the SDK does: numbers of the configuration are in both of its fields.
func EncodeForwardBackward(r ForwardBackward) []byte {
	b := appendString(nil, 1, r.ModelID)
	b = appendVarint(b, 2, uint64(r.SeqID))
	for i, d := range r.Data {
		m := appendDatum(nil, d)
		if r.Provenance != nil {
			m = appendProvenance(m, r.Provenance[i])
		}
		b = appendBytes(b, 3, m)
	}
	b = appendString(b, 4, r.LossFn)
	keys := slices.Sorted(maps.Keys(r.LossFnConfig))
	for _, k := range keys {
		b = appendMetric(b, 5, k, r.LossFnConfig[k])
	}
	if r.ForwardOnly {
		b = appendVarint(b, 6, 1)
	}
	for _, k := range keys {
		e := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), k)
		v := protowire.AppendFixed64(protowire.AppendTag(nil, 1, protowire.Fixed64Type),
			math.Float64bits(r.LossFnConfig[k]))
		b = appendBytes(b, 7, appendBytes(e, 2, v))
	}
	return b
}

func appendDatum(b []byte, d tinker.Datum) []byte {
	for _, c := range d.ModelInput.Chunks {
		b = appendBytes(b, 1, appendChunk(nil, c))
	}
	for _, name := range slices.Sorted(maps.Keys(d.LossFnInputs)) {
		e := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), name)
		b = appendBytes(b, 2, appendBytes(e, 2, appendTensor(nil, d.LossFnInputs[name])))
	}
	return b
}

func appendChunk(b []byte, c tinker.Chunk) []byte {
	if c.Image == nil {
		return appendBytes(b, 1, appendBytes(nil, 1, writeTokens(nil, c.Tokens)))
	}
	m := appendBytes(nil, 1, c.Image.Data)
	m = appendString(m, 2, c.Image.Format)
	if c.Image.ExpectedTokens > 0 {
		m = protowire.AppendVarint(protowire.AppendTag(m, 3, protowire.VarintType), uint64(c.Image.ExpectedTokens))
	}
	return appendBytes(b, 2, m)
}

// DecodeForwardBackward reads the message. If only its contents are wrong, the error is a User error, and the fields
// that could be read are returned with it, above all model and sequence number.
func DecodeForwardBackward(b []byte) (ForwardBackward, error) {
	var r ForwardBackward
	var bad error // the first User error
	room, spans := maxDense, maxSpans
	err := fields("ForwardBackwardRequest", b, func(f field) error {
		var err error
		switch {
		case f.is(1, protowire.BytesType):
			r.ModelID = string(f.raw)
		case f.is(2, protowire.VarintType):
			r.SeqID = int64(int32(f.num))
		case f.is(3, protowire.BytesType):
			var d tinker.Datum
			var from Provenance
			if d, from, err = readDatum(f.raw, &room, &spans); err == nil {
				r.add(d, from)
			}
			err = about(err, "datum %d", len(r.Data))
		case f.is(4, protowire.BytesType):
			r.LossFn = string(f.raw)
		case f.is(5, protowire.BytesType):
			var k string
			var v field
			if k, v, err = entry("loss_fn_config", f.raw); err == nil {
				err = r.number(k, v.double())
			}
		case f.is(6, protowire.VarintType):
			r.ForwardOnly = f.num != 0
		case f.is(7, protowire.BytesType):
			err = r.configValue(f.raw)
		}
		if tinker.CategoryOf(err) == tinker.User {
			if bad == nil {
				bad = err
			}
			return nil
		}
		return err
	})
	if err != nil {
		return r, err
	}
	return r, bad
}

func (r *ForwardBackward) number(key string, v float64) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return tinker.Userf("loss_fn_config[%q] is %v; it must be a finite number", key, v)
	}
	if r.LossFnConfig == nil {
		r.LossFnConfig = map[string]float64{}
	}
	r.LossFnConfig[key] = v
	return nil
}

// configValue reads an entry of loss_fn_config_v2, whose values are numbers (field 1) or text (field 2).
func (r *ForwardBackward) configValue(b []byte) error {
	key, value, err := entry("loss_fn_config_v2", b)
	if err != nil {
		return err
	}
	return fields("LossConfigValue", value.raw, func(f field) error {
		switch {
		case f.is(1, protowire.Fixed64Type):
			return r.number(key, f.double())
		case f.is(2, protowire.BytesType):
			if r.LossFnText == nil {
				r.LossFnText = map[string]string{}
			}
			r.LossFnText[key] = string(f.raw)
		}
		return nil
	})
}

// add appends a datum and its provenance.
func (r *ForwardBackward) add(d tinker.Datum, from Provenance) {
	r.Data = append(r.Data, d)
	if !from.Empty() && r.Provenance == nil {
		r.Provenance = make([]Provenance, len(r.Data)-1)
	}
	if r.Provenance != nil {
		r.Provenance = append(r.Provenance, from)
	}
}

// readDatum reads message Datum.
func readDatum(b []byte, room, spans *int) (tinker.Datum, Provenance, error) {
	d := tinker.Datum{LossFnInputs: map[string]tinker.Tensor{}}
	var from Provenance
	var bad error
	err := fields("Datum", b, func(f field) error {
		switch {
		case f.is(1, protowire.BytesType):
			c, err := readChunk(f.raw)
			d.ModelInput.Chunks = append(d.ModelInput.Chunks, c)
			return keep(&bad, about(err, "chunk %d of model_input", len(d.ModelInput.Chunks)-1))
		case f.is(2, protowire.BytesType):
			name, value, err := entry("loss_fn_inputs", f.raw)
			if err != nil {
				return err
			}
			t, err := readTensor(value.raw, room)
			d.LossFnInputs[name] = t
			return keep(&bad, about(err, "loss_fn_inputs[%q]", name))
		}
		return keep(&bad, from.read(f, spans))
	})
	if err == nil {
		err = bad
	}
	return d, from, err
}

// keep stores the first User error and returns every other error.
func keep(bad *error, err error) error {
	if tinker.CategoryOf(err) != tinker.User {
		return err
	}
	if *bad == nil {
		*bad = err
	}
	return nil
}

func readChunk(b []byte) (tinker.Chunk, error) {
	var c tinker.Chunk
	err := fields("Chunk", b, func(f field) error {
		switch {
		case f.is(1, protowire.BytesType):
			return fields("EncodedTextChunk", f.raw, func(f field) error {
				if f.is(1, protowire.BytesType) {
					if len(f.raw)%4 != 0 {
						return tinker.Userf("%d bytes are not a whole number of int32 tokens", len(f.raw))
					}
					c.Tokens = readTokens(f.raw)
				}
				return nil
			})
		case f.is(2, protowire.BytesType):
			c.Image = &tinker.Image{}
			return readImage(c.Image, f.raw)
		case f.is(3, protowire.BytesType):
			return tinker.Userf("it is dmel audio, which no model here reads; send encoded_text")
		}
		return tinker.Userf("it is of a kind (field %d) that this version does not know; send encoded_text", f.id)
	})
	return c, err
}

func readImage(m *tinker.Image, b []byte) error {
	return fields("ImageChunk", b, func(f field) error {
		switch {
		case f.is(1, protowire.BytesType):
			m.Data = f.raw
		case f.is(2, protowire.BytesType):
			m.Format = string(f.raw)
		case f.is(3, protowire.VarintType):
			m.ExpectedTokens = int(int32(f.num))
		}
		return nil
	})
}
