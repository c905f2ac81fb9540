package msgpack

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
)

// Encode appends a value to dst: nil, bool, int, int64, uint64, float64, json.Number, string, []byte, []any, []string,
// map[string]any or map[string]string. Maps are written in the order of their keys.
func Encode(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, 0xc0), nil
	case bool:
		if v {
			return append(dst, 0xc3), nil
		}
		return append(dst, 0xc2), nil
	case int:
		return appendInt(dst, int64(v)), nil
	case int64:
		return appendInt(dst, v), nil
	case uint64:
		return binary.BigEndian.AppendUint64(append(dst, 0xcf), v), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(dst, 0xcb), math.Float64bits(v)), nil
	case json.Number:
		return appendNumber(dst, v)
	case string:
		return append(appendLength(dst, len(v), 0xa0, 32, 0xd9), v...), nil
	case []byte:
		return append(appendLength(dst, len(v), 0, 0, 0xc4), v...), nil
	case []any:
		dst = appendLength(dst, len(v), 0x90, 16, 0xdb)
		return appendAll(dst, slices.Values(v))
	case []string:
		list := make([]any, len(v))
		for i, s := range v {
			list[i] = s
		}
		return Encode(dst, list)
	case map[string]any:
		dst = appendLength(dst, len(v), 0x80, 16, 0xdd)
		return appendAll(dst, func(yield func(any) bool) {
			for _, k := range slices.Sorted(maps.Keys(v)) {
				if !yield(k) || !yield(v[k]) {
					return
				}
			}
		})
	case map[string]string:
		m := make(map[string]any, len(v))
		for k, s := range v {
			m[k] = s
		}
		return Encode(dst, m)
	}
	return nil, fmt.Errorf("msgpack: a %T cannot be written", v)
}

func appendAll(dst []byte, values func(func(any) bool)) (out []byte, err error) {
	for v := range values {
		if dst, err = Encode(dst, v); err != nil {
			return nil, err
		}
	}
	return dst, nil
}

func appendInt(dst []byte, x int64) []byte {
	if x >= -32 && x <= 127 {
		return append(dst, byte(x))
	}
	return binary.BigEndian.AppendUint64(append(dst, 0xd3), uint64(x))
}

// appendNumber writes a number of JSON: as a whole one if it is one.
func appendNumber(dst []byte, n json.Number) ([]byte, error) {
	if x, err := strconv.ParseInt(n.String(), 10, 64); err == nil {
		return appendInt(dst, x), nil
	}
	if x, err := strconv.ParseUint(n.String(), 10, 64); err == nil {
		return Encode(dst, x)
	}
	x, err := n.Float64()
	if err != nil {
		return nil, fmt.Errorf("msgpack: %q is not a number", n)
	}
	return Encode(dst, x)
}

// appendLength writes a length below few into the code small. A longer one has a code of its own: code for 1 byte (of
// texts and bytes alone), the next for 2 and the next for 4.
func appendLength(dst []byte, n int, small byte, few int, code byte) []byte {
	bytes := code == 0xc4 || code == 0xd9
	switch {
	case n < few:
		return append(dst, small|byte(n))
	case bytes && n <= math.MaxUint8:
		return append(dst, code, byte(n))
	case n <= math.MaxUint16:
		return binary.BigEndian.AppendUint16(append(dst, code+1), uint16(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, code+2), uint32(n))
}
