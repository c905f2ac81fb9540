package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/seed-d9ad8ee0/trinity/tinker"
)

// JSON has no NaN and no infinity: the SDK writes null for them. A decoder that reads null as "absent" would replace
// such a number by a default. So null is refused wherever a number is required. Optional fields, in which null means
// "none", have the tag null:"ok".

// refuseNulls returns a User error that names the first number in raw which is null. raw was decoded into v.
func refuseNulls(raw []byte, v any) error {
	if !bytes.Contains(raw, []byte("null")) {
		return nil
	}
	if path := nullNumber(raw, reflect.TypeOf(v)); path != "" {
		return tinker.Userf("%s is null; it must be a number (JSON has no NaN and no infinity, they arrive as null), "+
			"or be left out where it has a default", strings.TrimPrefix(path, "."))
	}
	return nil
}

// nullNumber returns the path of a number that is null, "" if there is none.
func nullNumber(raw json.RawMessage, t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t.Kind() == reflect.Slice && bytes.Contains(raw, []byte("null")):
		return nullElement(raw, t.Elem())
	case t.Kind() != reflect.Struct && t.Kind() != reflect.Map:
		return ""
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return "" // the decoder has reported its error
	}
	for _, key := range slices.Sorted(maps.Keys(members)) {
		to, optional := t, false
		if t.Kind() == reflect.Map {
			to = t.Elem()
		} else if f, ok := fieldOf(t, key); ok {
			to, optional = f.Type, f.Tag.Get("null") == "ok"
		} else {
			continue
		}
		if string(members[key]) == "null" {
			if isNumber(to) && !optional {
				return "." + key
			}
		} else if path := nullNumber(members[key], to); path != "" {
			return "." + key + path
		}
	}
	return ""
}

// nullElement is nullNumber for a list's elements. Bytes are base64, and a type with its own UnmarshalJSON handles
// null itself.
func nullElement(raw json.RawMessage, t reflect.Type) string {
	if t.Kind() == reflect.Uint8 || reflect.PointerTo(t).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := d.Token(); err != nil || begin != json.Delim('[') {
		return ""
	}
	for i := 0; d.More(); i++ {
		var element json.RawMessage
		if d.Decode(&element) != nil {
			return ""
		}
		if string(element) == "null" && isNumber(t) {
			return fmt.Sprintf("[%d]", i)
		}
		if path := nullNumber(element, t); path != "" {
			return fmt.Sprintf("[%d]%s", i, path)
		}
	}
	return ""
}

// fieldOf returns the field into which encoding/json decodes a member; it ignores the case of letters as encoding/json
// does.
func fieldOf(t reflect.Type, key string) (reflect.StructField, bool) {
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !f.Anonymous && name != "" && strings.EqualFold(name, key) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func isNumber(t reflect.Type) bool {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64
}
