package jinja

import (
	"fmt"
	"strconv"
	"strings"
)

// formatBraces is str.format with {}, {0} and {name}; format specifications
// after a colon are refused.
func formatBraces(r *run, s string, a args) (Value, error) {
	b := &buffer{max: r.opts.MaxOutput}
	next := 0
	for s != "" {
		i := strings.IndexAny(s, "{}")
		if i < 0 {
			i = len(s)
		}
		if err := b.write(s[:i]); err != nil {
			return nil, err
		}
		s = s[i:]
		if len(s) > 1 && s[0] == s[1] {
			if err := b.write(s[:1]); err != nil {
				return nil, err
			}
			s = s[2:]
			continue
		}
		if s == "" {
			break
		}
		end := strings.IndexByte(s, '}')
		if s[0] == '}' || end < 0 {
			return nil, fmt.Errorf("format: a single %c", s[0])
		}
		v, err := a.field(s[1:end], &next)
		if err != nil {
			return nil, err
		}
		item, err := r.str(v)
		if err != nil {
			return nil, err
		}
		if err := b.write(item); err != nil {
			return nil, err
		}
		s = s[end+1:]
	}
	return string(b.text), nil
}

// field finds the argument of a replacement field.
func (a args) field(name string, next *int) (Value, error) {
	i, err := strconv.Atoi(name)
	if name == "" {
		i, err = *next, nil
		*next++
	}
	if err == nil {
		if i < 0 || i >= len(a.pos) {
			return nil, fmt.Errorf("format: there is no argument %d", i)
		}
		return a.pos[i], nil
	}
	for _, n := range a.named {
		if n.name == name {
			return n.v, nil
		}
	}
	return nil, fmt.Errorf("format: there is no argument {%s}", name)
}

// percent is format % v with the conversions s r d i f x e g and %.
func (r *run) percent(format string, v Value) (Value, error) {
	list, ok := v.(Tuple)
	if !ok {
		list = Tuple{v}
	}
	b := &buffer{max: r.opts.MaxOutput}
	for {
		plain, rest, found := strings.Cut(format, "%")
		if err := b.write(plain); err != nil {
			return nil, err
		}
		if !found {
			break
		}
		n := span(rest, func(c byte) bool { return isDigit(c) || strings.IndexByte("-+ #.", c) >= 0 })
		if n == len(rest) || n > 8 {
			return nil, fmt.Errorf("incomplete format")
		}
		flags, verb := rest[:n], rest[n]
		format = rest[n+1:]
		if verb == '%' {
			if err := b.write("%"); err != nil {
				return nil, err
			}
			continue
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("not enough arguments for the format string")
		}
		item, err := r.convert(flags, verb, list[0])
		if err != nil {
			return nil, err
		}
		list = list[1:]
		if err := b.write(item); err != nil {
			return nil, err
		}
	}
	if len(list) > 0 {
		return nil, fmt.Errorf("not all arguments converted during string formatting")
	}
	return string(b.text), nil
}

// maxWidth bounds the width and precision of a conversion.
const maxWidth = 1000

func (r *run) convert(flags string, verb byte, v Value) (string, error) {
	for part := range strings.SplitSeq(strings.Trim(flags, "-+ #0"), ".") {
		if n, err := strconv.Atoi(part); err == nil && n > maxWidth {
			return "", fmt.Errorf("a format wider than %d", maxWidth)
		}
	}
	n, isNumber := number(v)
	switch verb {
	case 's':
		s, err := r.str(v)
		return fmt.Sprintf("%"+flags+"s", s), err
	case 'r':
		b := &buffer{max: r.opts.MaxOutput}
		err := r.repr(b, v, 0)
		return fmt.Sprintf("%"+flags+"s", b.text), err
	case 'd', 'i':
		if f, ok := n.(float64); ok {
			n = int64(f)
		}
		if isNumber {
			return fmt.Sprintf("%"+flags+"d", n), nil
		}
	case 'x', 'X', 'o':
		if i, ok := n.(int64); ok {
			return fmt.Sprintf("%"+flags+string(verb), i), nil
		}
	case 'f', 'F', 'e', 'E', 'g', 'G':
		if isNumber {
			return fmt.Sprintf("%"+flags+string(verb), toFloat(n)), nil
		}
	}
	return "", fmt.Errorf("format %%%c does not take %s", verb, typeName(v))
}
