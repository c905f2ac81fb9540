package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// maxHeader is the format's limit on the JSON header, in bytes.
const maxHeader = 100_000_000

// header is the first part of a file, checked against the length of the rest.
type header struct {
	tensors  []Tensor // in the order of their bytes
	metadata map[string]string
}

// entry is one tensor's value in the JSON header.
type entry struct {
	DType   DType   `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// parse reads the header of a whole file. The tensors' Data are slices of file.
func parse(file []byte) (header, error) {
	if len(file) < 8 {
		return header{}, fmt.Errorf("%w: %d bytes, the header length alone has 8", ErrTruncated, len(file))
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeader {
		return header{}, fmt.Errorf("%w: header length %d exceeds %d", ErrFormat, n, maxHeader)
	}
	if n > uint64(len(file)-8) {
		return header{}, fmt.Errorf("%w: header of %d bytes in a file of %d", ErrTruncated, n, len(file))
	}
	entries, names, meta, err := decodeHeader(file[8 : 8+n])
	if err != nil {
		return header{}, err
	}
	body := file[8+n:]
	h := header{metadata: meta}
	for i, e := range entries {
		if err := e.check(int64(len(body))); err != nil {
			return header{}, fmt.Errorf("tensor %q: %w", names[i], err)
		}
		t := Tensor{Name: names[i], DType: e.DType, Shape: make([]int, len(e.Shape)),
			Data: body[e.Offsets[0]:e.Offsets[1]:e.Offsets[1]]}
		for d, s := range e.Shape {
			t.Shape[d] = int(s)
		}
		h.tensors = append(h.tensors, t)
	}
	return h, checkCover(entries, names, int64(len(body)), h.tensors)
}

// check tests one entry: known dtype, sane shape, offsets inside the body and as long as the shape says.
func (e entry) check(body int64) error {
	size := int64(e.DType.Size())
	if size == 0 {
		return fmt.Errorf("%w: unknown dtype %q", ErrFormat, string(e.DType))
	}
	want := size
	for _, d := range e.Shape {
		if d < 0 || (d > 0 && want > math.MaxInt64/d) {
			return fmt.Errorf("%w: shape %v", ErrFormat, e.Shape)
		}
		want *= d
	}
	if len(e.Offsets) != 2 {
		return fmt.Errorf("%w: data_offsets %v, want two", ErrFormat, e.Offsets)
	}
	begin, end := e.Offsets[0], e.Offsets[1]
	if begin < 0 || end < begin {
		return fmt.Errorf("%w: data_offsets [%d, %d]", ErrFormat, begin, end)
	}
	if end-begin != want {
		return fmt.Errorf("%w: %s of shape %v needs %d bytes, data_offsets [%d, %d] give %d", ErrFormat, e.DType,
			e.Shape, want, begin, end, end-begin)
	}
	if end > body {
		return fmt.Errorf("%w: its bytes end at %d, the file's at %d", ErrTruncated, end, body)
	}
	return nil
}

// checkCover tests that the tensors' bytes neither overlap nor leave a gap, and sorts tensors by their place.
func checkCover(entries []entry, names []string, body int64, tensors []Tensor) error {
	order := make([]int, len(entries))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		if d := entries[a].Offsets[0] - entries[b].Offsets[0]; d != 0 {
			return int(max(-1, min(1, d)))
		}
		return int(max(-1, min(1, entries[a].Offsets[1]-entries[b].Offsets[1])))
	})
	sorted := make([]Tensor, 0, len(tensors))
	at := int64(0)
	for _, i := range order {
		switch begin := entries[i].Offsets[0]; {
		case begin < at:
			return fmt.Errorf("tensor %q: %w: overlaps the tensor before it", names[i], ErrFormat)
		case begin > at:
			return fmt.Errorf("tensor %q: %w: %d unused bytes before it", names[i], ErrFormat, begin-at)
		}
		at = entries[i].Offsets[1]
		sorted = append(sorted, tensors[i])
	}
	if at != body {
		return fmt.Errorf("%w: %d bytes after the last tensor", ErrFormat, body-at)
	}
	copy(tensors, sorted)
	return nil
}

// decodeHeader decodes the JSON object, key by key so that a name that occurs twice is refused.
func decodeHeader(data []byte) (entries []entry, names []string, meta map[string]string, err error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if t, err := d.Token(); err != nil || t != json.Delim('{') || data[0] != '{' {
		return nil, nil, nil, fmt.Errorf("%w: the header does not begin a JSON object", ErrFormat)
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		name, ok := key.(string)
		if err != nil || !ok {
			return nil, nil, nil, fmt.Errorf("%w: header: %v", ErrFormat, err)
		}
		if seen[name] {
			return nil, nil, nil, fmt.Errorf("%w: tensor %q occurs twice in the header", ErrFormat, name)
		}
		seen[name] = true
		if name == "__metadata__" {
			if err := d.Decode(&meta); err != nil {
				return nil, nil, nil, fmt.Errorf("%w: __metadata__: %v", ErrFormat, err)
			}
			continue
		}
		var e entry
		if err := d.Decode(&e); err != nil {
			return nil, nil, nil, fmt.Errorf("%w: tensor %q: %v", ErrFormat, name, err)
		}
		entries, names = append(entries, e), append(names, name)
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, nil, fmt.Errorf("%w: header: %v", ErrFormat, err)
	}
	if rest := bytes.TrimRight(data[d.InputOffset():], " "); len(rest) > 0 {
		return nil, nil, nil, fmt.Errorf("%w: %d bytes after the header's object", ErrFormat, len(rest))
	}
	return entries, names, meta, nil
}
