package jinja

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// DecodeJSON reads JSON as a Value, with the keys of objects in the order of
// the text. Integers that do not fit 64 bits are refused.
func DecodeJSON(data []byte) (Value, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	v, err := decodeValue(d, 0)
	if err != nil {
		return nil, fmt.Errorf("jinja: %w", err)
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("jinja: text after the JSON value")
	}
	return v, nil
}

func decodeValue(d *json.Decoder, depth int) (Value, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("JSON nests more than %d deep", maxNesting)
	}
	t, err := d.Token()
	if err == io.EOF {
		return nil, io.ErrUnexpectedEOF
	}
	if err != nil {
		return nil, err
	}
	switch t := t.(type) {
	case json.Number:
		return decodeNumber(t)
	case json.Delim:
		if t == '[' {
			return decodeList(d, depth)
		}
		return decodeMap(d, depth)
	}
	return t, nil // nil, bool or string
}

func decodeNumber(n json.Number) (Value, error) {
	if !strings.ContainsAny(n.String(), ".eE") {
		return n.Int64()
	}
	return n.Float64()
}

func decodeList(d *json.Decoder, depth int) (Value, error) {
	list := List{}
	for d.More() {
		v, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token()
	return list, err
}

func decodeMap(d *json.Decoder, depth int) (Value, error) {
	m := &Map{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		v, err := decodeValue(d, depth+1)
		if err != nil {
			return nil, err
		}
		m.set(key, v)
	}
	_, err := d.Token()
	return m, err
}

// jsonStyle is how json.dumps writes: indent "" with newlines false is one line.
type jsonStyle struct {
	newlines     bool
	indent       string
	item, key    string // separators
	ascii, order bool
}

// filterToJSON is the tojson of transformers: json.dumps without escaping HTML.
func filterToJSON(r *run, a args) (Value, error) {
	v, err := a.bind("tojson", "value", "ensure_ascii", "indent", "separators", "sort_keys")
	if err != nil {
		return nil, err
	}
	s := jsonStyle{item: ", ", key: ": ", ascii: truth(or(v[1], false)), order: truth(or(v[4], false))}
	switch indent := or(v[2], nil).(type) {
	case nil:
	case string:
		s.newlines, s.indent, s.item = true, indent, ","
	default:
		n, err := integer(indent)
		if err != nil {
			return nil, err
		}
		s.newlines, s.indent, s.item = true, strings.Repeat(" ", min(max(n, 0), 1000)), ","
	}
	if pair, err := r.items(or(v[3], nil)); err == nil && len(pair) == 2 {
		s.item, _ = pair[0].(string)
		s.key, _ = pair[1].(string)
	}
	b := r.buffer()
	err = r.json(b, &s, v[0], 0)
	return string(b.text), err
}

// json writes v as JSON.
func (r *run) json(b *buffer, s *jsonStyle, v Value, depth int) error {
	if depth > maxNesting {
		return fmt.Errorf("a value nests more than %d deep", maxNesting)
	}
	if err := r.step(); err != nil {
		return err
	}
	switch v := v.(type) {
	case nil:
		return b.write("null")
	case bool:
		return b.write(strconv.FormatBool(v))
	case int64:
		return b.write(strconv.FormatInt(v, 10))
	case float64:
		return b.write(jsonFloat(v))
	case string:
		return r.writeJSONString(b, s, v)
	case List:
		return r.jsonList(b, s, v, depth)
	case Tuple:
		return r.jsonList(b, s, v, depth)
	case *Map:
		return r.jsonMap(b, s, v, depth)
	}
	return fmt.Errorf("tojson: %s is not JSON serializable", typeName(v))
}

func (r *run) jsonList(b *buffer, s *jsonStyle, list []Value, depth int) error {
	if len(list) == 0 {
		return b.write("[]")
	}
	begin := "["
	for _, v := range list {
		s.begin(b, begin, depth+1)
		if err := r.json(b, s, v, depth+1); err != nil {
			return err
		}
		begin = s.item
	}
	s.begin(b, "", depth)
	return b.write("]")
}

func (r *run) jsonMap(b *buffer, s *jsonStyle, m *Map, depth int) error {
	if m.Len() == 0 {
		return b.write("{}")
	}
	if s.order {
		sorted, err := r.sortedByKey(m)
		if err != nil {
			return err
		}
		m = sorted
	}
	begin := "{"
	for k, v := range m.All() {
		name, err := jsonKey(k)
		if err != nil {
			return err
		}
		s.begin(b, begin, depth+1)
		if err := r.writeJSONString(b, s, name); err != nil {
			return err
		}
		b.put(s.key)
		if err := r.json(b, s, v, depth+1); err != nil {
			return err
		}
		begin = s.item
	}
	s.begin(b, "", depth)
	return b.write("}")
}

// begin writes the text before an element: a separator, a new line and its indentation.
func (s *jsonStyle) begin(b *buffer, sep string, depth int) {
	b.put(sep)
	if !s.newlines {
		return
	}
	b.put("\n")
	for range depth {
		b.put(s.indent)
	}
}

func (r *run) writeJSONString(b *buffer, s *jsonStyle, text string) error {
	if err := r.spend("tojson", len(text)/8, len(text)); err != nil {
		return err
	}
	return b.write(jsonString(text, s.ascii))
}

func jsonKey(k Value) (string, error) {
	switch k := k.(type) {
	case string:
		return k, nil
	case nil:
		return "null", nil
	case bool:
		return strconv.FormatBool(k), nil
	case int64:
		return strconv.FormatInt(k, 10), nil
	case float64:
		return jsonFloat(k), nil
	}
	return "", fmt.Errorf("tojson: a key of type %s", typeName(k))
}

func jsonFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "NaN"
	case math.IsInf(f, 1):
		return "Infinity"
	case math.IsInf(f, -1):
		return "-Infinity"
	}
	return formatFloat(f)
}

// jsonString quotes a string; with ascii all but printable ASCII is escaped.
func jsonString(s string, ascii bool) string {
	out := make([]byte, 0, len(s)+2)
	out = append(out, '"')
	for _, r := range s {
		switch i := strings.IndexRune("\"\\\n\r\t\b\f", r); {
		case i >= 0:
			out = append(out, '\\', `"\nrtbf`[i])
		case r < 0x20, ascii && r >= 0x7f && r < 0x10000:
			out = fmt.Appendf(out, `\u%04x`, r)
		case ascii && r >= 0x10000:
			out = fmt.Appendf(out, `\u%04x\u%04x`, 0xd800+(r-0x10000)>>10, 0xdc00+(r-0x10000)&0x3ff)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return string(append(out, '"'))
}

// sortedByKey returns m in the order of its keys.
func (r *run) sortedByKey(m *Map) (*Map, error) {
	if err := r.spend("sorting", m.Len(), 2*entryBytes*m.Len()); err != nil {
		return nil, err
	}
	keys := slices.Clone(m.keys)
	if err := r.sort(keys, false); err != nil {
		return nil, err
	}
	out := &Map{}
	for _, k := range keys {
		v, _ := m.get(k)
		out.set(k, v)
	}
	return out, nil
}
