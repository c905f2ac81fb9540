package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strconv"

	"google.golang.org/protobuf/encoding/protowire"
)

// A body of a few kilobytes can encode millions of empty values, each of which takes memory when it is decoded. So a
// body is weighed first: one pass that allocates nothing.

// ErrTooComplex is wrapped by the errors of bodies with more parts, or deeper ones, than Bounds allow.
var ErrTooComplex = errors.New("too complex")

// Bounds are the limits of a body.
type Bounds struct {
	Elements int // JSON objects, arrays and their members; messages and map entries of protobuf
	Depth    int // of nested JSON
}

// Memory of decoded parts in bytes: upper bounds for the types of this package.
const (
	heavy  = 256 // an object, an array, a message, a map entry
	member = 64  // of an object
	scalar = 48  // an element of an array
)

// WeighJSON estimates the bytes that b takes when it is decoded. It does not check that b is JSON.
func WeighJSON(b []byte, most Bounds) (int64, error) {
	w := scan{most: most}
	err := w.run(b)
	return int64(len(b)) + w.weight, err
}

// scan walks over JSON, or the beginning of it.
type scan struct {
	most     Bounds
	elements int
	depth    int
	weight   int64
	// member, if set, is called with the position at which the value of each member of the outermost object begins.
	member func(key []byte, at int)
}

func (w *scan) run(b []byte) error {
	var text []byte // the last string
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			end := textEnd(b, i+1)
			text, i = b[i+1:end], end
		case '{', '[':
			w.depth++
			w.count(heavy)
		case '}', ']':
			w.depth--
		case ':':
			w.count(member)
			if w.depth == 1 && w.member != nil {
				w.member(text, i+1)
			}
		case ',':
			w.weight += scalar
		}
		if w.elements > w.most.Elements {
			return tooComplex("more than %d objects, arrays and members (MaxElements): %w", w.most.Elements,
				ErrTooComplex)
		}
		if w.depth > w.most.Depth {
			return tooComplex("nested deeper than %d (MaxDepth): %w", w.most.Depth, ErrTooComplex)
		}
	}
	return nil
}

func (w *scan) count(weight int64) {
	w.elements++
	w.weight += weight
}

// textEnd is where the string that begins at i ends: at its quotation mark, or at the end of b.
func textEnd(b []byte, i int) int {
	for i < len(b) {
		n := bytes.IndexAny(b[i:], `"\`)
		switch {
		case n < 0:
			return len(b)
		case b[i+n] == '"':
			return i + n
		}
		i += n + 2 // the escaped character
	}
	return len(b)
}

// WeighForwardBackward is WeighJSON for the protobuf message. Bytes that are not a message are weighed as far as they
// can be read.
func WeighForwardBackward(b []byte, most Bounds) (int64, error) {
	w := scan{most: most}
	err := w.each(b, func(f field) error {
		switch {
		case f.is(3, protowire.BytesType):
			return w.datum(f.raw)
		case f.is(5, protowire.BytesType), f.is(7, protowire.BytesType):
			w.count(heavy)
		}
		return nil
	})
	return w.weight, err
}

// each calls visit with the fields of a message until one cannot be read; only errors of visit and of the bounds are
// errors.
func (w *scan) each(b []byte, visit func(field) error) error {
	var stop error
	_ = fields("", b, func(f field) error {
		if stop = visit(f); stop == nil && w.elements > w.most.Elements {
			stop = tooComplex("more than %d messages and map entries (MaxElements): %w", w.most.Elements, ErrTooComplex)
		}
		return stop
	})
	return stop
}

func (w *scan) datum(b []byte) error {
	w.count(heavy)
	return w.each(b, func(f field) error {
		switch {
		case f.is(1, protowire.BytesType):
			w.count(heavy)
			w.weight += int64(len(f.raw)) // its tokens
		case f.is(2, protowire.BytesType):
			w.count(heavy)
			if _, value, err := entry("", f.raw); err == nil {
				w.tensor(value.raw)
			}
		}
		return nil
	})
}

// tensor adds the memory of a decoded tensor.
func (w *scan) tensor(b []byte) {
	var dense, sparse, dims int64
	size, product := int64(1), int64(1)
	_ = fields("", b, func(f field) error {
		switch {
		case f.is(1, protowire.BytesType):
			dense = int64(len(f.raw))
		case f.is(2, protowire.BytesType):
			sparse = int64(len(f.raw))
		case f.is(3, protowire.VarintType) && (DType(f.num) == Int32 || DType(f.num) == BFloat16):
			size = 2 // widened
		case f.id == 4:
			dims += int64(len(f.raw)) + 1
			if len(f.raw) <= 64 {
				product = times(product, f)
			}
		}
		return nil
	})
	w.weight += dense*size + 3*8*dims
	if sparse > 0 {
		w.weight += 2*sparse + 8*min(product, maxDense+1)
	}
}

// times multiplies product by the dimensions in f, up to MaxInt32.
func times(product int64, f field) int64 {
	dims, _ := int64s("", nil, f)
	for _, n := range dims {
		if n < 0 || n > math.MaxInt32 || product > math.MaxInt32 {
			return math.MaxInt32
		}
		product *= max(1, n)
	}
	return min(product, math.MaxInt32)
}

// PeekTraining reads model and sequence number of a training request that cannot be decoded or is cut off. ok is false
// if one of them is missing.
func PeekTraining(b []byte, proto bool) (modelID string, seqID int64, ok bool) {
	if proto {
		_ = fields("", b, func(f field) error {
			switch {
			case f.is(1, protowire.BytesType):
				modelID = string(f.raw)
			case f.is(2, protowire.VarintType):
				seqID = int64(int32(f.num))
			}
			return nil
		})
		return modelID, seqID, modelID != "" && seqID != 0
	}
	w := scan{most: Bounds{math.MaxInt, math.MaxInt}, member: func(key []byte, at int) {
		switch string(key) {
		case "model_id":
			modelID = peekText(b[at:])
		case "seq_id":
			seqID = peekNumber(b[at:])
		}
	}}
	_ = w.run(b)
	return modelID, seqID, modelID != "" && seqID != 0
}

// maxPeek limits the text of a model's id.
const maxPeek = 1 << 10

// peekText returns the string that b begins with, "" if there is none.
func peekText(b []byte) (text string) {
	b = bytes.TrimLeft(b, " \t\r\n")
	if len(b) == 0 || b[0] != '"' {
		return ""
	}
	end := textEnd(b, 1)
	if end >= min(len(b), maxPeek) || json.Unmarshal(b[:end+1], &text) != nil {
		return ""
	}
	return text
}

// peekNumber returns the whole number that b begins with, 0 if there is none.
func peekNumber(b []byte) int64 {
	b = bytes.TrimLeft(b, " \t\r\n")
	end := bytes.IndexAny(b[:min(len(b), 32)], ",} \t\r\n")
	if end < 0 {
		return 0 // the number may be cut off
	}
	n, err := strconv.ParseInt(string(b[:end]), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
