// Package msgpack reads and writes MessagePack, as programs in Python send it: maps have texts as keys, or whole
// numbers, which become texts. Input is bounded in bytes, values and depth.
package msgpack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"

	"github.com/seed-d9ad8ee0/trinity/internal/bound"
)

// Encode writes a value: nil, bool, int, int64, uint64, float64, json.Number, string, []byte, and lists and maps of
// these. Maps are written in the order of their keys.
func Encode(v any) ([]byte, error) {
	v, err := numbered(v)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	e := msgpack.NewEncoder(&b)
	e.UseCompactInts(true)
	e.SetSortMapKeys(true)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// numbered replaces the numbers of JSON: by a whole one if it is one.
func numbered(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		if x, err := strconv.ParseInt(v.String(), 10, 64); err == nil {
			return x, nil
		}
		if x, err := strconv.ParseUint(v.String(), 10, 64); err == nil {
			return x, nil
		}
		x, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("msgpack: %q is not a number", v)
		}
		return x, nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			if list[i], err = numbered(v[i]); err != nil {
				return nil, err
			}
		}
		return list, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for k := range v {
			if m[k], err = numbered(v[k]); err != nil {
				return nil, err
			}
		}
		return m, nil
	}
	return v, nil
}

// errShort says that a value is longer than the data.
var errShort = errors.New("msgpack: the value ends too early")

// Decode reads one value: nil, bool, int64, uint64 (above int64), float64, string, []byte (also of extensions), []any
// or map[string]any. Nothing may follow it. Input beyond the limits is refused before it is allocated.
func Decode(data []byte, limits bound.Limits) (any, error) {
	if int64(len(data)) > limits.Bytes {
		return nil, fmt.Errorf("msgpack: %w", limits.TooLong())
	}
	r := bytes.NewReader(data)
	d := decoder{msgpack.NewDecoder(r), r, limits.Count()}
	v, err := d.value()
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return nil, errShort
	case err != nil:
		return nil, err
	case r.Len() > 0:
		return nil, fmt.Errorf("msgpack: %d bytes follow the value", r.Len())
	}
	return v, nil
}

type decoder struct {
	in    *msgpack.Decoder
	left  *bytes.Reader
	count *bound.Count
}

func (d *decoder) value() (any, error) {
	if err := d.count.Add(1); err != nil {
		return nil, fmt.Errorf("msgpack: %w", err)
	}
	c, err := d.in.PeekCode()
	if err != nil {
		return nil, err
	}
	switch {
	case msgpcode.IsFixedArray(c), c == msgpcode.Array16, c == msgpcode.Array32:
		return d.list()
	case msgpcode.IsFixedMap(c), c == msgpcode.Map16, c == msgpcode.Map32:
		return d.object()
	case msgpcode.IsBin(c):
		return d.in.DecodeBytes()
	case msgpcode.IsExt(c):
		_, n, err := d.in.DecodeExtHeader()
		if err != nil {
			return nil, err
		}
		if n > d.left.Len() {
			return nil, errShort
		}
		b := make([]byte, n)
		return b, d.in.ReadFull(b)
	}
	v, err := d.in.DecodeInterfaceLoose()
	if x, is := v.(uint64); is && x <= math.MaxInt64 {
		return int64(x), err
	}
	return v, err
}

// ahead bounds allocation for values that are not read yet: lengths are only claims, and they may be nested.
const ahead = 64

// enter begins a list or a map of n parts, each of which has a byte at least.
func (d *decoder) enter(n, weight int) error {
	if n > d.left.Len() {
		return errShort
	}
	if err := d.count.Enter(weight); err != nil {
		return fmt.Errorf("msgpack: %w", err)
	}
	return nil
}

func (d *decoder) list() (any, error) {
	n, err := d.in.DecodeArrayLen()
	if err == nil {
		err = d.enter(n, bound.List)
	}
	if err != nil {
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

func (d *decoder) object() (any, error) {
	n, err := d.in.DecodeMapLen()
	if err == nil {
		err = d.enter(2*n, bound.Object)
	}
	if err != nil {
		return nil, err
	}
	defer d.count.Leave()
	m := make(map[string]any, min(n, ahead))
	for range n {
		k, err := d.value()
		if err != nil {
			return nil, err
		}
		name, is := k.(string)
		if x, whole := k.(int64); whole {
			name, is = strconv.FormatInt(x, 10), true
		}
		if !is {
			return nil, fmt.Errorf("msgpack: a key of a map is a %T; it must be a text or a whole number", k)
		}
		if m[name], err = d.value(); err != nil {
			return nil, err
		}
	}
	return m, nil
}
