package tool

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// encodeQuery writes a query of the search tool as MessagePack.
func encodeQuery(query string, topK int) []byte {
	b := []byte{0x83} // a map of three
	b = appendText(b, "query")
	b = appendText(b, query)
	b = appendText(b, "topk")
	b = binary.BigEndian.AppendUint32(append(b, 0xce), uint32(topK))
	b = appendText(b, "return_scores")
	return append(b, 0xc3)
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(append(b, 0xdb), uint32(len(s))), s...)
}

// readDocuments reads the contents of the documents of an answer.
func readDocuments(data []byte) ([]string, error) {
	d := decoder{data: data}
	v, err := d.value(0)
	if err == nil && d.at < len(data) {
		err = fmt.Errorf("%d bytes follow it", len(data)-d.at)
	}
	if err != nil {
		return nil, fmt.Errorf("the answer is no MessagePack: %w", err)
	}
	answer, _ := v.(map[string]any)
	list, ok := answer["result"].([]any)
	if !ok {
		return nil, errors.New("the answer has no list named result")
	}
	documents := make([]string, len(list))
	for i, item := range list {
		found, _ := item.(map[string]any)
		document, _ := found["document"].(map[string]any)
		if documents[i], ok = document["contents"].(string); !ok {
			return nil, fmt.Errorf("result %d has no document with contents", i)
		}
	}
	return documents, nil
}

// decoder reads MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md) into nil, bool, int64, uint64,
// float64, string (also of binary data), []any and map[string]any.
type decoder struct {
	data []byte
	at   int
}

// deepest is how deep values may be nested.
const deepest = 64

var errShort = errors.New("it ends early")

// take returns the next n bytes.
func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.data)-d.at) {
		return nil, errShort
	}
	part := d.data[d.at : d.at+int(n)]
	d.at += int(n)
	return part, nil
}

// number reads a big-endian number of 1, 2, 4 or 8 bytes.
func (d *decoder) number(size uint64) (n uint64, err error) {
	part, err := d.take(size)
	for _, b := range part {
		n = n<<8 | uint64(b)
	}
	return n, err
}

// value reads a value.
func (d *decoder) value(depth int) (any, error) {
	if depth > deepest {
		return nil, fmt.Errorf("it is nested more than %d deep", deepest)
	}
	kind, err := d.number(1)
	if err != nil {
		return nil, err
	}
	switch {
	case kind < 0x80:
		return int64(kind), nil
	case kind < 0x90:
		return d.object(kind&15, depth)
	case kind < 0xa0:
		return d.list(kind&15, depth)
	case kind < 0xc0:
		return d.text(kind & 31)
	case kind >= 0xe0:
		return int64(int8(kind)), nil
	case kind >= 0xcc && kind <= 0xd3:
		return d.integer(kind)
	}
	return d.other(kind, depth)
}

// integer reads 0xcc–0xcf, unsigned, and 0xd0–0xd3, signed, of 1, 2, 4 and 8 bytes.
func (d *decoder) integer(kind uint64) (any, error) {
	size := uint64(1) << (kind & 3)
	n, err := d.number(size)
	if kind < 0xd0 {
		return n, err
	}
	shift := 64 - 8*size
	return int64(n<<shift) >> shift, err
}

// other reads the remaining kinds. Lengths are of 1, 2 or 4 bytes.
func (d *decoder) other(kind uint64, depth int) (any, error) {
	switch kind {
	case 0xc0:
		return nil, nil
	case 0xc2, 0xc3:
		return kind == 0xc3, nil
	case 0xca:
		n, err := d.number(4)
		return float64(math.Float32frombits(uint32(n))), err
	case 0xcb:
		n, err := d.number(8)
		return math.Float64frombits(n), err
	}
	size := map[uint64]uint64{0xc4: 1, 0xc5: 2, 0xc6: 4, 0xd9: 1, 0xda: 2, 0xdb: 4, 0xdc: 2, 0xdd: 4, 0xde: 2,
		0xdf: 4}[kind]
	if size == 0 {
		return nil, fmt.Errorf("the kind 0x%x is not read", kind)
	}
	n, err := d.number(size)
	switch {
	case err != nil:
		return nil, err
	case kind >= 0xde:
		return d.object(n, depth)
	case kind >= 0xdc:
		return d.list(n, depth)
	}
	return d.text(n)
}

func (d *decoder) text(n uint64) (any, error) {
	part, err := d.take(n)
	return string(part), err
}

func (d *decoder) list(n uint64, depth int) (any, error) {
	list := []any{}
	for range n { // every item takes at least a byte, so this ends with the data
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

func (d *decoder) object(n uint64, depth int) (any, error) {
	object := map[string]any{}
	for range n {
		key, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		if name, ok := key.(string); ok {
			object[name] = v
		}
	}
	return object, nil
}
