// Package wire encodes and decodes the messages of the Tinker protocol in both directions, for tinker/client and
// tinker/server.
//
// Three messages are protobuf (package tinker_public of the Python SDK, proto3): the request of forward_backward
// (forward.go), its result (output.go) and the result of asample (sample.go). They are few and small, so they are
// written and read by hand: limits are checked while reading, unknown fields are skipped, and the fields of a map are
// written in the order of their keys. Everything else is JSON (json.go, rest.go); unknown keys are ignored, as newer
// clients send more.
//
// An error that the sender can correct is a User error of package tinker that names the datum and the field. Bytes
// that are not a message are ErrMalformed.
package wire

import (
	"errors"
	"fmt"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// Content types and headers of the protocol.
const (
	JSON  = "application/json"
	Proto = "application/x-protobuf"

	HeaderKey          = "X-API-Key"
	HeaderBackpressure = "X-Tinker-Sampling-Backpressure" // the client understands 429 as "later"
	HeaderIteration    = "X-Tinker-Request-Iteration"
	HeaderRequestType  = "X-Tinker-Request-Type"
	HeaderIdempotency  = "X-Idempotency-Key"
)

// Prefix is the path of the protocol below the base URL.
const Prefix = "/api/v1"

// ErrMalformed is wrapped by errors about bytes that are not a message.
var ErrMalformed = errors.New("malformed message")

func malformed(what string, err error) error {
	if err == nil {
		return fmt.Errorf("wire: %s: %w", what, ErrMalformed)
	}
	return fmt.Errorf("wire: %s: %w: %w", what, ErrMalformed, err)
}

func tooComplex(format string, args ...any) error {
	return fmt.Errorf("wire: request body: %w: %w", ErrMalformed, fmt.Errorf(format, args...))
}

// field is one field of a message: raw for length-delimited ones, num for the others.
type field struct {
	id  protowire.Number
	typ protowire.Type
	raw []byte
	num uint64
}

// is reports whether the field has this number and type; another type under a known number is an unknown field.
func (f field) is(id protowire.Number, typ protowire.Type) bool { return f.id == id && f.typ == typ }

// double returns the value of a fixed64 field.
func (f field) double() float64 { return math.Float64frombits(f.num) }

// fields calls each with every field of message b, in order. what names the message in errors.
func fields(what string, b []byte, each func(field) error) error {
	for len(b) > 0 {
		id, typ, n := protowire.ConsumeTag(b)
		if n < 0 {
			return malformed(what, protowire.ParseError(n))
		}
		b = b[n:]
		f := field{id: id, typ: typ}
		switch typ {
		case protowire.VarintType:
			f.num, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.num, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.raw, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(id, typ, b)
		}
		if n < 0 {
			return malformed(what, protowire.ParseError(n))
		}
		b = b[n:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

// entry reads a map entry: field 1 is the key, field 2 the value.
func entry(what string, b []byte) (key string, value field, err error) {
	err = fields(what, b, func(f field) error {
		switch {
		case f.is(1, protowire.BytesType):
			key = string(f.raw)
		case f.id == 2:
			value = f
		}
		return nil
	})
	return key, value, err
}

// appendBytes appends a length-delimited field.
func appendBytes(b []byte, id protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, id, protowire.BytesType), v)
}

// appendString appends a string unless it is empty, as proto3 does.
func appendString(b []byte, id protowire.Number, v string) []byte {
	if v == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, id, protowire.BytesType), v)
}

// appendVarint appends a number unless it is 0, as proto3 does.
func appendVarint(b []byte, id protowire.Number, v uint64) []byte {
	if v == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, id, protowire.VarintType), v)
}

// appendMetric appends an entry of a map<string,double>.
func appendMetric(b []byte, id protowire.Number, key string, v float64) []byte {
	e := protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), key)
	e = protowire.AppendFixed64(protowire.AppendTag(e, 2, protowire.Fixed64Type), math.Float64bits(v))
	return appendBytes(b, id, e)
}

// int64s reads a repeated int64 field, packed or not, onto v.
func int64s(what string, v []int64, f field) ([]int64, error) {
	if f.typ == protowire.VarintType {
		return append(v, int64(f.num)), nil
	}
	for b := f.raw; len(b) > 0; {
		x, n := protowire.ConsumeVarint(b)
		if n < 0 {
			return v, malformed(what, protowire.ParseError(n))
		}
		v, b = append(v, int64(x)), b[n:]
	}
	return v, nil
}

// appendInt64s appends a packed repeated int64 field.
func appendInt64s(b []byte, id protowire.Number, v []int64) []byte {
	if len(v) == 0 {
		return b
	}
	var packed []byte
	for _, x := range v {
		packed = protowire.AppendVarint(packed, uint64(x))
	}
	return appendBytes(b, id, packed)
}
