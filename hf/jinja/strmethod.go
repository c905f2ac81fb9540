package jinja

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// text returns v as a string argument.
func text(v Value) (string, error) {
	s, ok := v.(string)
	if !ok {
		return "", fmt.Errorf("%s where a string is needed", typeName(or(v, undefined{})))
	}
	return s, nil
}

// searchMethod returns a string method that looks for other strings.
func searchMethod(name string) func(s string, a args) (Value, error) {
	switch name {
	case "startswith":
		return affix(name, strings.HasPrefix)
	case "endswith":
		return affix(name, strings.HasSuffix)
	case "removeprefix":
		return one(name, func(s, x string) (Value, error) { return strings.TrimPrefix(s, x), nil })
	case "removesuffix":
		return one(name, func(s, x string) (Value, error) { return strings.TrimSuffix(s, x), nil })
	case "count":
		return one(name, func(s, x string) (Value, error) { return int64(strings.Count(s, x)), nil })
	case "find", "index":
		return one(name, func(s, x string) (Value, error) { return place(s, strings.Index(s, x), name == "index") })
	case "rfind", "rindex":
		return one(name, func(s, x string) (Value, error) {
			return place(s, strings.LastIndex(s, x), name == "rindex")
		})
	case "partition":
		return one(name, func(s, x string) (Value, error) {
			before, after, found := strings.Cut(s, x)
			if !found {
				return Tuple{s, "", ""}, nil
			}
			return Tuple{before, x, after}, nil
		})
	case "rpartition":
		return one(name, func(s, x string) (Value, error) {
			i := strings.LastIndex(s, x)
			if i < 0 {
				return Tuple{"", "", s}, nil
			}
			return Tuple{s[:i], x, s[i+len(x):]}, nil
		})
	}
	return nil
}

// one makes a method of one string argument.
func one(name string, f func(s, x string) (Value, error)) func(string, args) (Value, error) {
	return func(s string, a args) (Value, error) {
		v, err := a.bind(name, "sub")
		if err != nil {
			return nil, err
		}
		x, err := text(v[0])
		if err != nil {
			return nil, err
		}
		return f(s, x)
	}
}

// affix makes startswith or endswith, which take a string or a tuple of them.
func affix(name string, has func(s, x string) bool) func(string, args) (Value, error) {
	return func(s string, a args) (Value, error) {
		v, err := a.bind(name, "affix")
		if err != nil {
			return nil, err
		}
		all, ok := v[0].(Tuple)
		if !ok {
			all = Tuple{v[0]}
		}
		for _, one := range all {
			x, err := text(one)
			if err != nil {
				return nil, err
			}
			if has(s, x) {
				return true, nil
			}
		}
		return false, nil
	}
}

// place turns a byte offset into one in characters.
func place(s string, i int, must bool) (Value, error) {
	if i < 0 {
		if must {
			return nil, fmt.Errorf("substring not found")
		}
		return int64(-1), nil
	}
	return int64(utf8.RuneCountInString(s[:i])), nil
}

// textMethod returns the other string methods with arguments.
func textMethod(name string) func(r *run, s string, a args) (Value, error) {
	switch name {
	case "strip", "lstrip", "rstrip":
		return func(r *run, s string, a args) (Value, error) { return r.strip(s, name, a) }
	case "split", "rsplit":
		return func(r *run, s string, a args) (Value, error) { return r.split(s, name == "rsplit", a) }
	case "splitlines":
		return splitLines
	case "replace":
		return replaceText
	case "join":
		return func(r *run, s string, a args) (Value, error) {
			v, err := a.bind(name, "iterable")
			if err != nil {
				return nil, err
			}
			list, err := r.items(v[0])
			if err != nil {
				return nil, err
			}
			for _, item := range list {
				if _, err := text(item); err != nil {
					return nil, err
				}
			}
			return r.joinText(list, s)
		}
	case "format":
		return formatBraces
	case "ljust", "rjust", "center", "zfill":
		return func(r *run, s string, a args) (Value, error) { return pad(r, s, name, a) }
	}
	return nil
}

func (r *run) strip(s, name string, a args) (Value, error) {
	v, err := a.bind(name, "chars")
	if err != nil {
		return nil, err
	}
	in := pySpace
	if chars := or(v[0], nil); chars != nil {
		set, err := text(chars)
		if err != nil {
			return nil, err
		}
		if err := r.spend(name, textSteps(len(s))*(1+textSteps(len(set))), 0); err != nil {
			return nil, err
		}
		in = func(r rune) bool { return strings.ContainsRune(set, r) }
	}
	if name != "rstrip" {
		s = strings.TrimLeftFunc(s, in)
	}
	if name != "lstrip" {
		s = strings.TrimRightFunc(s, in)
	}
	return s, nil
}

func replaceText(r *run, s string, a args) (Value, error) {
	v, err := a.bind("replace", "old", "new", "count")
	if err != nil {
		return nil, err
	}
	from, err := text(v[0])
	if err != nil {
		return nil, err
	}
	to, err := text(v[1])
	if err != nil {
		return nil, err
	}
	count := -1
	if limit := or(v[2], nil); limit != nil {
		if count, err = integer(limit); err != nil {
			return nil, err
		}
	}
	size := len(s) + strings.Count(s, from)*len(to)
	if err := r.fits(size); err != nil {
		return nil, err
	}
	if err := r.spend("replace", textSteps(size), 0); err != nil {
		return nil, err
	}
	return strings.Replace(s, from, to, count), nil
}

// joinText joins the texts of a list.
func (r *run) joinText(list []Value, sep string) (Value, error) {
	b := r.buffer()
	for i, v := range list {
		s, err := r.str(v)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			b.put(sep)
		}
		if err := b.write(s); err != nil {
			return nil, err
		}
	}
	return string(b.text), nil
}

// pad is ljust, rjust, center and zfill.
func pad(r *run, s, name string, a args) (Value, error) {
	v, err := a.bind(name, "width", "fillchar")
	if err != nil {
		return nil, err
	}
	width, err := integer(v[0])
	if err != nil {
		return nil, err
	}
	fill, err := text(or(v[1], " "))
	if err != nil || utf8.RuneCountInString(fill) != 1 {
		return nil, fmt.Errorf("%s needs one character to fill with", name)
	}
	n := width - utf8.RuneCountInString(s)
	if n <= 0 {
		return s, nil
	}
	if err := r.fits(width * len(fill)); err != nil {
		return nil, err
	}
	if err := r.spend(name, 0, width*len(fill)); err != nil {
		return nil, err
	}
	switch name {
	case "ljust":
		return s + strings.Repeat(fill, n), nil
	case "rjust":
		return strings.Repeat(fill, n) + s, nil
	case "zfill":
		sign := ""
		if s != "" && (s[0] == '-' || s[0] == '+') {
			sign, s = s[:1], s[1:]
		}
		return sign + strings.Repeat("0", n) + s, nil
	}
	left := n/2 + n&width&1
	return strings.Repeat(fill, left) + s + strings.Repeat(fill, n-left), nil
}
