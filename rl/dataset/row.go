// Package dataset reads tasks and examples from files: JSON lines, JSON arrays, CSV and parquet, alone, several by a
// pattern, or in the folders Hugging Face uses, in the order a selector asks for, in batches that can be resumed.
package dataset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Field is one column of a row.
type Field struct {
	Key   string
	Value any // nil, bool, json.Number, string, []any or, for an object, Row
}

// Row is one row of a dataset, its columns in the order they were written. Numbers keep their digits.
type Row []Field

// Get returns the value of a column and whether there is one.
func (r Row) Get(key string) (any, bool) {
	for _, f := range r {
		if f.Key == key {
			return f.Value, true
		}
	}
	return nil, false
}

// Columns returns the names of the row's columns.
func (r Row) Columns() []string {
	names := make([]string, len(r))
	for i, f := range r {
		names[i] = f.Key
	}
	return names
}

// MarshalJSON writes the columns in their order.
func (r Row) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range r {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := plainJSON(f.Key)
		if err != nil {
			return nil, err
		}
		value, err := plainJSON(f.Value)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// UnmarshalJSON reads an object; of columns named twice the last counts.
func (r *Row) UnmarshalJSON(data []byte) error {
	v, err := Value(data)
	if err != nil {
		return err
	}
	row, ok := v.(Row)
	if !ok {
		return fmt.Errorf("a row must be a JSON object")
	}
	*r = row
	return nil
}

// Value reads JSON text as the value of a Field, with the order of keys and the digits of numbers kept.
func Value(text []byte) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	v, err := decodeValue(dec)
	if err == nil && dec.More() {
		err = fmt.Errorf("something follows the value")
	}
	return v, err
}

// decodeValue reads one JSON value, keeping the order of keys.
func decodeValue(dec *json.Decoder) (any, error) {
	token, err := dec.Token()
	if err != nil {
		return nil, noEOF(err)
	}
	switch token {
	case json.Delim('{'):
		row := Row{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return nil, noEOF(err)
			}
			value, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			row = row.with(key.(string), value)
		}
		_, err = dec.Token()
		return row, noEOF(err)
	case json.Delim('['):
		list := []any{}
		for dec.More() {
			value, err := decodeValue(dec)
			if err != nil {
				return nil, err
			}
			list = append(list, value)
		}
		_, err = dec.Token()
		return list, noEOF(err)
	}
	return token, nil
}

func (r Row) with(key string, value any) Row {
	for i := range r {
		if r[i].Key == key {
			r[i].Value = value
			return r
		}
	}
	return append(r, Field{key, value})
}

// noEOF makes the end of the text inside a value the error it is.
func noEOF(err error) error {
	if err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}

// text is a value as a prompt or a truth: strings as they are, null as nothing, the rest as JSON.
func text(value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", nil
	case string:
		return v, nil
	}
	raw, err := plainJSON(value)
	return string(raw), err
}

// plainJSON writes a value without escaping what only HTML minds.
func plainJSON(value any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
