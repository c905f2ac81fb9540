// Package trxp reads and writes experiences as Trinity-RFT serialises them (Experience.serialize_many in
// trinity/common/experience.py, version 1, in 0.5.2 and 0.6.0): "TRXP", a version, two lengths, a pickle of what is no
// tensor, and a safetensors file with the tensors. Nothing in a pickle is executed.
package trxp

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/internal/pickle"
)

// Item is one experience: its fields, as package pickle has them, and its tensors by name.
type Item struct {
	Fields  map[string]any
	Tensors map[string]Tensor
}

// Tensor is the bytes of one, little-endian, of a type of safetensors such as F32.
type Tensor struct {
	Type  string
	Shape []int
	Data  []byte
}

const (
	magic   = "TRXP"
	version = 1
	header  = len(magic) + 1 + 8 + 8
)

// Is reports whether data begin as such experiences do.
func Is(data []byte) bool { return strings.HasPrefix(string(data[:min(len(data), len(magic))]), magic) }

// Decode reads all experiences of data. A tensor that the file does not hold whole is an error. Tensors share memory
// with data, and may share it among each other.
func Decode(data []byte) ([]Item, error) {
	if !Is(data) || len(data) < header {
		return nil, errors.New("trxp: no experience of Trinity-RFT begins here")
	}
	if v := data[len(magic)]; v != version {
		return nil, fmt.Errorf("trxp: the experience has version %d; read is version %d", v, version)
	}
	meta, size := binary.LittleEndian.Uint64(data[5:]), binary.LittleEndian.Uint64(data[13:])
	rest := data[header:]
	if meta > uint64(len(rest)) || size > uint64(len(rest))-meta {
		return nil, fmt.Errorf("trxp: %d and %d bytes are announced, and %d are there", meta, size, len(rest))
	}
	root, err := pickle.Decode(rest[:meta])
	if err != nil {
		return nil, fmt.Errorf("trxp: %w", err)
	}
	all, _ := root.(map[string]any)
	fields, _ := all["items"].([]any)
	items := make([]Item, len(fields))
	for i, f := range fields {
		items[i].Tensors = map[string]Tensor{}
		items[i].Fields, _ = f.(map[string]any)
	}
	if err := readTensors(items, rest[meta:meta+size]); err != nil {
		return nil, fmt.Errorf("trxp: %w", err)
	}
	return items, nil
}

// entry is a tensor in the header of a safetensors file.
type entry struct {
	Type  string    `json:"dtype"`
	Shape []int     `json:"shape"`
	At    [2]uint64 `json:"data_offsets"`
}

func readTensors(items []Item, file []byte) error {
	if len(file) < 8 {
		return errors.New("the tensors end too soon")
	}
	n, body := binary.LittleEndian.Uint64(file), file[8:]
	if n > uint64(len(body)) {
		return errors.New("the tensors' header ends too soon")
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(body[:n], &all); err != nil {
		return fmt.Errorf("the tensors' header: %w", err)
	}
	body = body[n:]
	for name, text := range all {
		index, field, ok := strings.Cut(name, ":")
		i, err := strconv.Atoi(index)
		if !ok || err != nil || i < 0 || i >= len(items) {
			continue // __metadata__
		}
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return fmt.Errorf("tensor %q: %w", name, err)
		}
		if e.At[0] > e.At[1] || e.At[1] > uint64(len(body)) {
			return fmt.Errorf("tensor %q lies at %v of %d bytes", name, e.At, len(body))
		}
		items[i].Tensors[field] = Tensor{e.Type, e.Shape, body[e.At[0]:e.At[1]]}
	}
	return nil
}

// Encode writes experiences. Equal ones give equal bytes.
func Encode(items ...Item) []byte {
	fields := make([]any, len(items))
	entries, body := map[string]entry{}, []byte(nil)
	for i, item := range items {
		fields[i] = item.Fields
		for _, name := range slices.Sorted(maps.Keys(item.Tensors)) {
			t := item.Tensors[name]
			at := uint64(len(body))
			entries[fmt.Sprintf("%d:%s", i, name)] = entry{t.Type, t.Shape, [2]uint64{at, at + uint64(len(t.Data))}}
			body = append(body, t.Data...)
		}
	}
	meta := pickle.Append(nil, map[string]any{"version": version, "num_items": len(items), "items": fields})
	head, err := json.Marshal(entries)
	if err != nil {
		panic(err) // names and numbers
	}
	for len(head)%8 != 0 { // as safetensors aligns the tensors
		head = append(head, ' ')
	}
	buf := append([]byte(magic), version)
	buf = binary.LittleEndian.AppendUint64(buf, uint64(len(meta)))
	buf = binary.LittleEndian.AppendUint64(buf, uint64(8+len(head)+len(body)))
	buf = binary.LittleEndian.AppendUint64(append(buf, meta...), uint64(len(head)))
	return append(append(buf, head...), body...)
}

// Int32s is a tensor of one dimension of tokens.
func Int32s(list []int32) Tensor {
	data := make([]byte, 0, 4*len(list))
	for _, v := range list {
		data = binary.LittleEndian.AppendUint32(data, uint32(v))
	}
	return Tensor{"I32", []int{len(list)}, data}
}

// Floats is a tensor of one dimension of log-probabilities and the like.
func Floats(list []float32) Tensor {
	data := make([]byte, 0, 4*len(list))
	for _, v := range list {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return Tensor{"F32", []int{len(list)}, data}
}

// Bools is a tensor of one dimension, such as a mask.
func Bools(list []bool) Tensor {
	data := make([]byte, len(list))
	for i, v := range list {
		if v {
			data[i] = 1
		}
	}
	return Tensor{"BOOL", []int{len(list)}, data}
}

// Int32s reads integers of any size; nil if the tensor is none of them.
func (t Tensor) Int32s() []int32 {
	width := map[string]int{"I64": 8, "I32": 4, "I16": 2, "BOOL": 1, "U8": 1, "I8": 1}[t.Type]
	if width == 0 {
		return nil
	}
	list := make([]int32, 0, len(t.Data)/width)
	for b := t.Data; len(b) >= width; b = b[width:] {
		switch width {
		case 8:
			list = append(list, int32(binary.LittleEndian.Uint64(b)))
		case 4:
			list = append(list, int32(binary.LittleEndian.Uint32(b)))
		case 2:
			list = append(list, int32(int16(binary.LittleEndian.Uint16(b))))
		default:
			list = append(list, int32(b[0]))
		}
	}
	return list
}

// Float32s reads floats; nil if the tensor is none of them.
func (t Tensor) Float32s() []float32 {
	width := map[string]int{"F64": 8, "F32": 4, "BF16": 2}[t.Type]
	if width == 0 {
		return nil
	}
	list := make([]float32, 0, len(t.Data)/width)
	for b := t.Data; len(b) >= width; b = b[width:] {
		switch width {
		case 8:
			list = append(list, float32(math.Float64frombits(binary.LittleEndian.Uint64(b))))
		case 4:
			list = append(list, math.Float32frombits(binary.LittleEndian.Uint32(b)))
		default:
			list = append(list, math.Float32frombits(uint32(binary.LittleEndian.Uint16(b))<<16))
		}
	}
	return list
}
