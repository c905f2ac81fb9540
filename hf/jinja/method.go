package jinja

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// dictMethod returns a method of a dict, nil if it has no such method.
func (r *run) dictMethod(m *Map, name string) Value {
	switch name {
	case "get":
		return function(func(_ *run, a args) (Value, error) {
			v, err := a.bind("get", "key", "default")
			if err != nil {
				return nil, err
			}
			if found, ok := m.get(v[0]); ok {
				return found, nil
			}
			return or(v[1], nil), nil
		})
	case "items":
		return r.entries(m, func() Value { return pairs(m) })
	case "keys":
		return r.entries(m, func() Value { return List(slices.Clone(m.keys)) })
	case "values":
		return r.entries(m, func() Value { return List(slices.Clone(m.values)) })
	case "copy":
		return r.entries(m, func() Value { return m.Clone() })
	case "clear", "fromkeys", "pop", "popitem", "setdefault", "update":
		return forbidden("dict", name)
	}
	return nil
}

// entries is a method that goes through all of m.
func (r *run) entries(m *Map, f func() Value) function {
	return func(_ *run, a args) (Value, error) {
		if err := r.spend("entries of dicts", m.Len(), entryBytes*m.Len()); err != nil {
			return nil, err
		}
		_, err := a.bind("the method")
		return f(), err
	}
}

func noArgs(f func() Value) function {
	return func(_ *run, a args) (Value, error) {
		_, err := a.bind("the method")
		return f(), err
	}
}

// forbidden is a method that would change a value.
func forbidden(of, name string) function {
	return func(*run, args) (Value, error) {
		return nil, fmt.Errorf("%s.%s would change a value, which templates may not", of, name)
	}
}

func pairs(m *Map) List {
	list := List{}
	for k, v := range m.All() {
		list = append(list, Tuple{k, v})
	}
	return list
}

// listMethod returns a method of a list or tuple, nil if there is no such.
func listMethod(list List, name string) Value {
	switch name {
	case "index", "count":
		return function(func(r *run, a args) (Value, error) {
			v, err := a.bind(name, "value")
			if err != nil {
				return nil, err
			}
			n := int64(0)
			for i, item := range list {
				same, err := r.equal(item, v[0], 0)
				if err != nil {
					return nil, err
				}
				if same && name == "index" {
					return int64(i), nil
				}
				if same {
					n++
				}
			}
			if name == "index" {
				return nil, fmt.Errorf("the value is not in the list")
			}
			return n, nil
		})
	case "copy":
		return noArgs(func() Value { return list })
	case "append", "extend", "insert", "pop", "remove", "reverse", "sort", "clear":
		return forbidden("list", name)
	}
	return nil
}

// stringMethod returns a method of a string, nil if there is no such.
func stringMethod(s, name string) Value {
	if f := plainMethod(name); f != nil {
		return function(func(r *run, a args) (Value, error) {
			if err := r.spend(name, len(s)/8, 0); err != nil { // a character may take as long as a step
				return nil, err
			}
			_, err := a.bind("the method")
			return f(s), err
		})
	}
	if f := searchMethod(name); f != nil {
		return function(func(r *run, a args) (Value, error) {
			if err := r.scanned(name, len(s)); err != nil {
				return nil, err
			}
			return f(s, a)
		})
	}
	if f := textMethod(name); f != nil {
		return function(func(r *run, a args) (Value, error) {
			if err := r.scanned(name, 2*len(s)); err != nil {
				return nil, err
			}
			return f(r, s, a)
		})
	}
	return nil
}

// plainMethod returns a string method without arguments.
func plainMethod(name string) func(string) Value {
	switch name {
	case "upper":
		return func(s string) Value { return upper(s) }
	case "lower", "casefold":
		return func(s string) Value { return lower(s) }
	case "title":
		return func(s string) Value { return titleWords(s) }
	case "capitalize":
		return func(s string) Value { return capitalize(s) }
	case "swapcase":
		return func(s string) Value { return strings.Map(swapCase, s) }
	case "isdigit", "isdecimal", "isnumeric":
		return all(unicode.IsDigit)
	case "isalpha":
		return all(unicode.IsLetter)
	case "isalnum":
		return all(func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	case "isspace":
		return all(pySpace)
	case "isupper":
		return func(s string) Value { return s != lower(s) && s == upper(s) }
	case "islower":
		return func(s string) Value { return s != upper(s) && s == lower(s) }
	}
	return nil
}

func all(is func(rune) bool) func(string) Value {
	return func(s string) Value {
		return s != "" && strings.IndexFunc(s, func(r rune) bool { return !is(r) }) < 0
	}
}

// upper is str.upper, which writes ß as SS.
func upper(s string) string {
	return strings.ToUpper(strings.ReplaceAll(s, "ß", "SS"))
}

// lower is str.lower: İ is two characters, and a Σ that ends a word is ς.
func lower(s string) string {
	if !strings.ContainsAny(s, "İΣ") {
		return strings.ToLower(s)
	}
	runes := []rune(s)
	for i, r := range runes {
		if r == 'Σ' && i > 0 && unicode.IsLetter(runes[i-1]) && (i+1 == len(runes) || !unicode.IsLetter(runes[i+1])) {
			runes[i] = 'ς'
		}
	}
	return strings.ToLower(strings.ReplaceAll(string(runes), "İ", "i\u0307"))
}

func capitalize(s string) string {
	_, n := utf8.DecodeRuneInString(s)
	return strings.Map(unicode.ToTitle, s[:n]) + lower(s[n:])
}

func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

// titleWords is str.title: each run of letters begins with a capital.
func titleWords(s string) string {
	inWord := false
	return strings.Map(func(r rune) rune {
		letter := unicode.IsUpper(r) || unicode.IsLower(r) || unicode.IsTitle(r)
		if letter && inWord {
			r = unicode.ToLower(r)
		} else if letter {
			r = unicode.ToTitle(r)
		}
		inWord = letter
		return r
	}, s)
}

// splitLines is str.splitlines without its argument.
func splitLines(r *run, s string, a args) (Value, error) {
	if _, err := a.bind("splitlines"); err != nil {
		return nil, err
	}
	list := List{}
	for s != "" {
		i := strings.IndexFunc(s, func(r rune) bool {
			return r >= '\n' && r <= '\r' || r >= 0x1c && r <= 0x1e || r == 0x85 || r == 0x2028 || r == 0x2029
		})
		if i < 0 {
			return append(list, s), nil
		}
		if err := r.spend("splitlines", 1, pieceBytes); err != nil {
			return nil, err
		}
		list = append(list, s[:i])
		_, n := utf8.DecodeRuneInString(s[i:])
		if strings.HasPrefix(s[i:], "\r\n") {
			n = 2
		}
		s = s[i+n:]
	}
	return list, nil
}
