package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

const (
	maxValues = 1 << 20 // a value that is referred to twice counts twice
	maxDepth  = 200
)

var errBig = errors.New("it is nested too deeply, or has too many values")

// plainer makes Go values of what a machine leaves behind.
type plainer struct{ left int }

func (p *plainer) plain(v any, depth int) (any, error) {
	if p.left--; p.left < 0 || depth > maxDepth {
		return nil, errBig
	}
	switch x := v.(type) {
	case *list:
		return p.list(x, depth)
	case *dict:
		return p.dict(x, depth)
	case *object:
		switch {
		case len(x.keys) > 0: // a dictionary of another class
			return p.dict(&x.dict, depth)
		case len(x.items) > 0:
			return p.list(&x.list, depth)
		}
		return numpy(x), nil
	}
	return v, nil
}

func (p *plainer) list(x *list, depth int) (any, error) {
	all := []any{}
	for _, item := range x.items {
		v, err := p.plain(item, depth+1)
		if err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

func (p *plainer) dict(x *dict, depth int) (any, error) {
	all := map[string]any{}
	for i, key := range x.keys {
		v, err := p.plain(x.values[i], depth+1)
		if err != nil {
			return nil, err
		}
		switch key.(type) {
		case string, int64, float64, bool, nil:
			all[fmt.Sprint(key)] = v
		}
	}
	return all, nil
}

// numpy is a number of NumPy: scalar(dtype(kind, …), bytes). Anything else is nil.
func numpy(x *object) any {
	args, ok := x.args.(*list)
	if !ok || !strings.HasPrefix(x.name, "numpy.") || !strings.HasSuffix(x.name, ".multiarray.scalar") ||
		len(args.items) != 2 {
		return nil
	}
	kind, ok := args.items[0].(*object)
	data, isBytes := args.items[1].([]byte)
	if !ok || !isBytes || kind.name != "numpy.dtype" {
		return nil
	}
	of, ok := kind.args.(*list)
	if !ok || len(of.items) == 0 {
		return nil
	}
	switch of.items[0] {
	case "f8":
		if len(data) == 8 {
			return math.Float64frombits(binary.LittleEndian.Uint64(data))
		}
	case "f4":
		if len(data) == 4 {
			return float64(math.Float32frombits(binary.LittleEndian.Uint32(data)))
		}
	case "i8", "i4":
		if len(data) == 8 || len(data) == 4 {
			return long(data)
		}
	case "b1":
		if len(data) == 1 {
			return data[0] != 0
		}
	}
	return nil
}
