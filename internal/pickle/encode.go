package pickle

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// Append appends a pickle of protocol 4 and returns the longer slice. It writes what Decode returns, and an int as an
// int64; keys are in their order, so that equal values give equal bytes. Any other kind of value is None.
func Append(buf []byte, v any) []byte {
	return append(appendValue(append(buf, 0x80, 4), v), '.')
}

func appendValue(buf []byte, v any) []byte {
	switch x := v.(type) {
	case bool:
		if x {
			return append(buf, 0x88)
		}
		return append(buf, 0x89)
	case int:
		return appendLong(buf, int64(x))
	case int64:
		return appendLong(buf, x)
	case float64:
		return binary.BigEndian.AppendUint64(append(buf, 'G'), math.Float64bits(x))
	case string: // BINUNICODE
		return append(binary.LittleEndian.AppendUint32(append(buf, 'X'), uint32(len(x))), x...)
	case []byte: // BINBYTES
		return append(binary.LittleEndian.AppendUint32(append(buf, 'B'), uint32(len(x))), x...)
	case []any: // EMPTY_LIST, MARK, …, APPENDS
		buf = append(buf, ']', '(')
		for _, item := range x {
			buf = appendValue(buf, item)
		}
		return append(buf, 'e')
	case map[string]any: // EMPTY_DICT, MARK, …, SETITEMS
		buf = append(buf, '}', '(')
		for _, key := range slices.Sorted(maps.Keys(x)) {
			buf = appendValue(appendValue(buf, key), x[key])
		}
		return append(buf, 'u')
	}
	return append(buf, 'N')
}

// appendLong writes BININT, or LONG1 if the number has more than 32 bits.
func appendLong(buf []byte, v int64) []byte {
	if v == int64(int32(v)) {
		return binary.LittleEndian.AppendUint32(append(buf, 'J'), uint32(v))
	}
	return binary.LittleEndian.AppendUint64(append(buf, 0x8a, 8), uint64(v))
}
