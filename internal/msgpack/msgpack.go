// Package msgpack reads and writes MessagePack (https://github.com/msgpack/msgpack/blob/master/spec.md), as programs
// in Python send it: maps have texts as keys, or whole numbers, which become texts.
package msgpack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// errShort says that a value goes on beyond the end.
var errShort = errors.New("msgpack: the value ends too early")

// Decode reads one value: nil, bool, int64, uint64 (above int64), float64, string, []byte (also of extensions), []any
// or map[string]any. Nothing may follow it. What is beyond the limits is refused before it is made.
func Decode(data []byte, limits bound.Limits) (any, error) {
	if int64(len(data)) > limits.Bytes {
		return nil, fmt.Errorf("msgpack: %w", limits.TooLong())
	}
	d := decoder{data, limits.Count()}
	v, err := d.value()
	if err == nil && len(d.data) > 0 {
		err = fmt.Errorf("msgpack: %d bytes follow the value", len(d.data))
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

type decoder struct {
	data  []byte
	count *bound.Count
}

// take returns the next n bytes.
func (d *decoder) take(n uint64) ([]byte, error) {
	if n > uint64(len(d.data)) {
		return nil, errShort
	}
	b := d.data[:n]
	d.data = d.data[n:]
	return b, nil
}

// number reads an unsigned number of 1, 2, 4 or 8 bytes.
func (d *decoder) number(size uint64) (uint64, error) {
	b, err := d.take(size)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[8-size:], b)
	return binary.BigEndian.Uint64(wide[:]), nil
}

func (d *decoder) value() (any, error) {
	if err := d.count.Add(1); err != nil {
		return nil, fmt.Errorf("msgpack: %w", err)
	}
	first, err := d.take(1)
	if err != nil {
		return nil, err
	}
	switch c := first[0]; {
	case c <= 0x7f, c >= 0xe0:
		return int64(int8(c)), nil
	case c <= 0x8f:
		return d.object(uint64(c & 0x0f))
	case c <= 0x9f:
		return d.list(uint64(c & 0x0f))
	case c <= 0xbf:
		return d.text(uint64(c & 0x1f))
	case c >= 0xcc && c <= 0xd3:
		return d.integer(c)
	default:
		return d.other(c)
	}
}

// integer reads what 0xcc to 0xd3 begin.
func (d *decoder) integer(c byte) (any, error) {
	size := uint64(1) << (c & 3)
	x, err := d.number(size)
	switch {
	case err != nil:
		return nil, err
	case c >= 0xd0: // signed
		shift := 64 - 8*size
		return int64(x<<shift) >> shift, nil
	case x > math.MaxInt64:
		return x, nil
	}
	return int64(x), nil
}

// other reads what the remaining codes begin.
func (d *decoder) other(c byte) (any, error) {
	switch c {
	case 0xc0:
		return nil, nil
	case 0xc2, 0xc3:
		return c == 0xc3, nil
	case 0xca:
		x, err := d.number(4)
		return float64(math.Float32frombits(uint32(x))), err
	case 0xcb:
		x, err := d.number(8)
		return math.Float64frombits(x), err
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8: // extensions: a type, and 1 to 16 bytes
		b, err := d.take(1 + uint64(1)<<(c-0xd4))
		if err != nil {
			return nil, err
		}
		return b[1:], nil
	}
	kinds := map[byte]struct {
		size uint64 // of the length
		read func(n uint64) (any, error)
	}{
		0xc4: {1, d.bytes}, 0xc5: {2, d.bytes}, 0xc6: {4, d.bytes},
		0xc7: {1, d.extension}, 0xc8: {2, d.extension}, 0xc9: {4, d.extension},
		0xd9: {1, d.text}, 0xda: {2, d.text}, 0xdb: {4, d.text},
		0xdc: {2, d.list}, 0xdd: {4, d.list}, 0xde: {2, d.object}, 0xdf: {4, d.object},
	}
	kind, known := kinds[c]
	if !known {
		return nil, fmt.Errorf("msgpack: the byte %#x begins no value", c)
	}
	n, err := d.number(kind.size)
	if err != nil {
		return nil, err
	}
	return kind.read(n)
}

func (d *decoder) text(n uint64) (any, error) {
	b, err := d.take(n)
	return string(b), err
}

func (d *decoder) bytes(n uint64) (any, error) { return d.take(n) }

func (d *decoder) extension(n uint64) (any, error) {
	b, err := d.take(n + 1)
	if err != nil {
		return nil, err
	}
	return b[1:], nil
}

// ahead bounds what is allocated for values before they are read: lengths are only claims, and they may be nested.
const ahead = 64

// enter begins a list or a map.
func (d *decoder) enter(weight int) error {
	if err := d.count.Enter(weight); err != nil {
		return fmt.Errorf("msgpack: %w", err)
	}
	return nil
}

// list reads n values. Each has a byte at least.
func (d *decoder) list(n uint64) (any, error) {
	if n > uint64(len(d.data)) {
		return nil, errShort
	}
	if err := d.enter(bound.List); err != nil {
		return nil, err
	}
	defer d.count.Leave()
	list := make([]any, 0, min(n, ahead))
	for range n {
		v, err := d.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}

// object reads n keys and values.
func (d *decoder) object(n uint64) (any, error) {
	if n > uint64(len(d.data))/2 {
		return nil, errShort
	}
	if err := d.enter(bound.Object); err != nil {
		return nil, err
	}
	defer d.count.Leave()
	m := make(map[string]any, min(n, ahead))
	for range n {
		k, err := d.value()
		if err != nil {
			return nil, err
		}
		name := ""
		switch k := k.(type) {
		case string:
			name = k
		case int64:
			name = strconv.FormatInt(k, 10)
		default:
			return nil, fmt.Errorf("msgpack: a key of a map is a %T; it must be a text or a whole number", k)
		}
		if m[name], err = d.value(); err != nil {
			return nil, err
		}
	}
	return m, nil
}
